# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""External drafters: their settings, their memory, and what does not fit together."""

from __future__ import annotations

import json

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._drafter import read_drafter
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._model_files import read_drafter_config
from ansible_collections.inference.sglang.plugins.module_utils._model_profile import profile_model
from ansible_collections.inference.sglang.plugins.module_utils._releases import release_of

from tests.unit.core_helpers import A6000, H200, RELEASES, config, plan, values, why

# Five states of the 27B's layers go through a projection of 25,600 to 5,120, as published drafters of it have it.
DFLASH = {
    "architectures": ["DFlashDraftModel"],
    "block_size": 16,
    "dflash_config": {"mask_token_id": 248077, "target_layer_ids": [1, 16, 31, 46, 61]},
    "dtype": "bfloat16",
    "head_dim": 128,
    "hidden_size": 5120,
    "intermediate_size": 17408,
    "num_attention_heads": 32,
    "num_hidden_layers": 5,
    "num_key_value_heads": 8,
    "num_target_layers": 64,
    "vocab_size": 248320,
}
EAGLE3 = {
    "architectures": ["LlamaForCausalLMEagle3"],
    "draft_vocab_size": 32000,
    "head_dim": 128,
    "hidden_size": 4096,
    "intermediate_size": 12288,
    "num_attention_heads": 32,
    "num_hidden_layers": 1,
    "num_key_value_heads": 8,
    "torch_dtype": "bfloat16",
    "vocab_size": 151936,
}
PATH = {"speculative_draft_model_path": "/srv/drafter"}
LOAD = {"context_tokens": 4096, "concurrency": 4}


def drafted(version="0.5.11", gpus=(A6000, A6000), drafter=DFLASH, name="Qwen3.6-27B", settings=None, **more):
    return plan(name, version, gpus, drafter_config=drafter, settings={**PATH, **(settings or {})}, workload=LOAD, **more)


@pytest.mark.parametrize("version", RELEASES)
def test_a_drafter_is_one_setting_away_from_mtp(version):
    own, external = plan(version=version, workload=LOAD), drafted(version)
    assert values(own["argv"])["--speculative-algorithm"] == "NEXTN"
    flags = values(external["argv"])
    assert flags["--speculative-algorithm"] == "DFLASH"
    assert flags["--speculative-draft-model-path"] == "/srv/drafter"
    assert [flags[f"--speculative-{name}"] for name in ("num-steps", "eagle-topk", "num-draft-tokens")] == ["1", "1", "16"]
    assert external["predicted"]["speculative_algorithm"] == "DFLASH"
    assert external["memory"]["fits"] is True
    assert (own["gate"]["dispatcher_count"], external["gate"]["dispatcher_count"]) == (2, 1)


def test_sixteen_tokens_are_verified_at_once():
    """Four times the states of MTP 3/1/4, so that fewer requests run."""
    own, external = (
        plan(gpus=(H200,), workload={"context_tokens": 2048}),
        plan(gpus=(H200,), drafter_config=DFLASH, settings=PATH, workload={"context_tokens": 2048}),
    )
    assert external["memory"]["per_rank"]["max_running_requests"] < own["memory"]["per_rank"]["max_running_requests"]
    row = next(row["what"] for row in external["memory"]["sum"] if "are verified" in row["what"])
    assert ") x 16 states of " in row


def test_slots_without_the_overlap_schedule():
    """0.5.11 turns it off for DFLASH, and extra_buffer then keeps four slots a request instead of five."""
    for version, slots in (("0.5.11", 4), ("0.5.23", 5)):
        text = why(drafted(version), "--max-running-requests")
        assert f"one request takes {slots} state slots and 16 states" in text


def test_bytes_of_a_drafter_by_hand():
    found = read_drafter(DFLASH, profile_model(config("Qwen3.6-27B")), release_of("0.5.11"))
    each = 5120 * (32 + 2 * 8) * 128 + 32 * 128 * 5120 + 3 * 5120 * 17408
    weights, given_back = found.rank_bytes(profile_model(config("Qwen3.6-27B")), 1)
    assert weights == pytest.approx(2 * (5 * each + 5 * 5120 * 5120), rel=0.002)
    assert given_back == 0
    assert found.token_bytes(1, 2) == 5 * 8 * 2 * 128 * 2
    assert found.token_bytes(16, 2) == 5 * 1 * 2 * 128 * 2


def test_a_token_is_budgeted_as_the_release_does_it():
    """0.5.11: the target's bytes by (16 + 5) / 16 layers; 0.5.23: with the drafter's own."""
    pinned = {"mem_fraction_static": 0.8, "max_running_requests": 4, "mamba_full_memory_ratio": 1.0}
    for version in RELEASES:
        rank = drafted(version, (H200,), settings=pinned)["memory"]["per_rank"]
        alone = plan(version=version, gpus=(H200,), settings={**pinned, "speculative_algorithm": "none"}, workload=LOAD)["memory"][
            "per_rank"
        ]
        assert rank["kv_tokens"] < alone["kv_tokens"]


def test_eagle3_for_a_plain_model():
    found = drafted(drafter=EAGLE3, name="Qwen3-8B", gpus=(H200,))
    flags = values(found["argv"])
    assert flags["--speculative-algorithm"] == "EAGLE3"
    assert [flags[f"--speculative-{name}"] for name in ("num-steps", "eagle-topk", "num-draft-tokens")] == ["3", "1", "4"]
    assert found["gate"]["dispatcher_count"] == 0
    assert found["memory"]["fits"] is True


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"architectures": ["DFlash2DraftModel"]}, "DFlash2DraftModel"),
        ({"architectures": []}, "architecture is not planned"),
        ({"num_target_layers": 36}, "num_target_layers: 36"),
        ({"hidden_size": 4096}, "the hidden size differs"),
        ({"vocab_size": 151936}, "the vocabulary differs"),
        ({"dflash_config": {"target_layer_ids": [1, 64]}}, "target_layer_ids"),
        ({"num_hidden_layers": None}, "num_hidden_layers is missing"),
        ({"quantization_config": {"quant_method": "fp8"}}, "quantised drafter"),
    ],
)
def test_drafters_that_do_not_fit(changes, said):
    with pytest.raises(SglangError) as caught:
        drafted(drafter={**DFLASH, **changes})
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"drafter_config": None, "settings": PATH}, "needs its config.json"),
        ({"drafter_config": DFLASH, "settings": {}}, "not where it lies"),
        ({"drafter_config": DFLASH, "settings": {**PATH, "speculative_algorithm": "NEXTN"}}, "contradict one another"),
        ({"settings": {"speculative_algorithm": "DFLASH"}}, "needs an external drafter"),
        ({"drafter_config": DFLASH, "settings": {**PATH, "speculative_num_draft_tokens": 8}}, "together, or not at all"),
        ({"settings": {"speculative_algorithm": "NGRAM"}}, "not planned"),
    ],
)
def test_settings_that_do_not_fit(more, said):
    with pytest.raises(SglangError) as caught:
        plan(**more)
    assert said in str(caught.value)


def test_a_release_that_cannot():
    """Qwen3.5's class honours an EAGLE3 head from 0.5.22 on."""
    head = {**EAGLE3, "hidden_size": 5120, "vocab_size": 248320}
    with pytest.raises(SglangError, match="cannot draft for Qwen3_5ForConditionalGeneration with EAGLE3"):
        drafted("0.5.11", drafter=head)
    assert drafted("0.5.23", drafter=head)["speculative"]["algorithm"] == "EAGLE3"


def test_a_shorter_block_and_no_drafting_at_all():
    numbers = {"speculative_num_steps": 1, "speculative_eagle_topk": 1, "speculative_num_draft_tokens": 8}
    assert values(drafted(settings=numbers)["argv"])["--speculative-num-draft-tokens"] == "8"
    off = drafted(settings={"speculative_algorithm": "none"})
    assert off["speculative"]["enabled"] is False
    assert off["memory"]["per_rank"]["draft_gib"] == 0


def test_a_drafter_without_a_block_takes_the_engines_default():
    found = drafted(drafter={key: value for key, value in DFLASH.items() if key != "block_size"})
    assert values(found["argv"])["--speculative-num-draft-tokens"] == "16"


def test_the_drafter_is_read_where_the_settings_say_it_lies(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(DFLASH))
    assert read_drafter_config({"speculative_draft_model_path": str(tmp_path)}) == DFLASH
    assert read_drafter_config({"speculative_draft_model_path": str(tmp_path / "absent")}) is None
    assert read_drafter_config({}) is None
    (tmp_path / "config.json").unlink()
    with pytest.raises(SglangError, match=r"no config\.json"):
        read_drafter_config({"speculative_draft_model_path": str(tmp_path)})
