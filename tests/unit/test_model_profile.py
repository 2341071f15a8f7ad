# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._model_profile import model_profile

from tests.unit.core_helpers import config, hf_quant, names, rows

ROWS = {row["config"]: row for row in rows("profiles.json")}


def test_every_recorded_config_has_a_row():
    assert sorted(ROWS) == names()


@pytest.mark.parametrize("name", sorted(ROWS))
def test_profile_is_what_a_careful_reader_derives(name):
    row = dict(ROWS[name])
    found = model_profile(config(name), hf_quant(name))
    del row["config"]
    state, quantization = row.pop("state"), row.pop("quantization")
    assert {key: found[key] for key in row} == row
    assert {key: found["state"][key] for key in state} == state
    assert (found["quantization"] is None) == (quantization is None)
    if quantization is not None:
        assert {key: found["quantization"][key] for key in quantization} == quantization
    assert found["is_moe"] == (found["num_experts"] > 0)


def test_counts_use_our_own_words():
    assert model_profile(config("Qwen3.6-27B"))["layer_counts"] == {
        "full_attention": 16,
        "sliding_attention": 0,
        "recurrent": 48,
        "mlp": 0,
        "moe": 0,
    }
    ultra = model_profile(config("NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16"))
    assert (ultra["layer_counts"]["recurrent"], ultra["layer_counts"]["moe"], ultra["num_layers"]) == (48, 48, 108)
    falcon = model_profile(config("Falcon-H1-0.5B-Instruct"))
    assert falcon["layers_parallel"] is True
    assert falcon["layer_counts"]["recurrent"] == falcon["layer_counts"]["full_attention"] == 36


def test_a_hybrid_class_with_attention_only_is_not_recurrent():
    assert model_profile(config("Granite-4.0-micro-attention-only"))["recurrent_family"] == "none"


def test_mtp_left_unquantised_is_seen():
    found = model_profile(config("Qwen3.6-27B-NVFP4"), hf_quant("Qwen3.6-27B-NVFP4"))
    assert found["quantization"]["mtp_unquantized"] is True
    assert found["quantization"]["engine_method"] == "modelopt_mixed"
    assert found["quantization"]["source"] == "config.json and hf_quant_config.json"


def change(name, **changes):
    values = config(name)
    target = values.get("text_config", values)
    for key, value in changes.items():
        if value is KeyError:
            target.pop(key, None)
        else:
            target[key] = value
    return values


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (None, "config.json"),
        ({}, "config.json"),
        ([], "config.json"),
        ({"model_type": "llama"}, "architectures"),
        ({"architectures": ["NoSuchModel"]}, "NoSuchModel"),
        (change("Qwen3.6-27B", layer_types=["linear_attention"] * 63 + ["new_attention"]), "layer_types"),
        (change("Qwen3.6-27B", layer_types=["linear_attention"] * 63), "num_hidden_layers"),
        (change("Qwen3.6-27B", linear_num_value_heads="48"), "linear_num_value_heads"),
        (change("Qwen3.6-27B", linear_num_value_heads=KeyError), "linear_num_value_heads"),
        (change("Qwen3.6-27B", vocab_size=float("nan")), "vocab_size"),
        (change("Qwen3.6-27B", hidden_size=True), "hidden_size"),
        (change("Qwen3.6-27B", num_attention_heads=10**400), "num_attention_heads"),
        (change("Qwen3-8B", layer_types=["linear_attention"] * 36), "recurrent"),
        (change("Qwen3-8B", attn_layer_period=4), "attn_layer_period"),
        (change("NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", hybrid_override_pattern="MEX*"), "hybrid_override_pattern"),
        (change("NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", hybrid_override_pattern=KeyError), "NemotronHForCausalLM"),
        (change("MiniMax-Text-01", attn_type_list=[0, 1, 2] + [0] * 77), "attn_type_list"),
        (change("Kimi-Linear-48B-A3B-Instruct", linear_attn_config={"kda_layers": [0, 1], "full_attn_layers": [2]}), "kda_layers"),
        (change("Kimi-Linear-48B-A3B-Instruct", linear_attn_config={"kda_layers": [1, 2], "full_attn_layers": [2]}), "kda_layers"),
        (change("Qwen3-8B", torch_dtype="int3"), "torch_dtype"),
        (change("LFM2-1.2B-finetune", layer_types=KeyError, full_attn_idxs=[2, 16]), "full_attn_idxs"),
        (change("MiMo-V2-Flash", moe_layer_freq=[0, 1]), "moe_layer_freq"),
        (change("gpt-oss-20b", layer_types=["full_attention", "chunked_attention"] * 12), "layer_types"),
    ],
)
def test_what_is_not_known_is_refused_by_name(values, said):
    with pytest.raises(SglangError) as caught:
        model_profile(values)
    assert said in str(caught.value)
    assert caught.value.wanted


def test_deep_nesting_is_refused():
    deep: list = []
    for _level in range(100):
        deep = [deep]
    with pytest.raises(SglangError, match="nested too deeply"):
        model_profile({**config("Qwen3-8B"), "extra": deep})


def test_interval_spells_the_layers_where_no_list_does():
    found = model_profile(change("Qwen3.6-27B", layer_types=KeyError))
    assert found["layers_from"] == "full_attention_interval"
    assert found["layer_counts"]["full_attention"] == 16


def test_sliding_window_in_every_layer_is_seen():
    found = model_profile(change("Meta-Llama-3.1-8B", sliding_window=4096))
    assert found["layer_counts"]["sliding_attention"] == 32
    assert model_profile(change("Qwen3-8B", sliding_window=4096))["layer_counts"]["sliding_attention"] == 0


def test_the_older_spelling_of_lfm2():
    """Its first files list the attention layers by number, from 0."""
    found = model_profile(change("LFM2-1.2B-finetune", layer_types=KeyError, full_attn_idxs=[2, 5, 8, 10, 12, 14]))
    assert found["layers_as_spelled"] == {"conv": 10, "full_attention": 6}
    assert found["layers_from"] == "full_attn_idxs"


def test_an_mtp_key_beside_the_text_config_counts():
    values = change("Qwen3.6-27B", mtp_num_hidden_layers=KeyError)
    assert model_profile({**values, "num_nextn_predict_layers": 1})["mtp_key"] == "num_nextn_predict_layers"
    assert model_profile(values)["mtp_key"] is None
