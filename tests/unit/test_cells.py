# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""States and KV cache of every family, worked out by hand from the configs' published numbers."""

from __future__ import annotations

import pytest
from ansible_collections.inference.sglang.plugins.module_utils import _cells, _tensor_parallel
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._model_profile import profile_model

from tests.unit.core_helpers import H200, config, plan, why


def profile(name, **changes):
    return profile_model({**config(name), **changes})


@pytest.mark.parametrize(
    ("name", "size", "layers", "channels", "kernel", "state"),
    [
        # layers with a state, channels of the convolution on one rank, its kernel, values of the temporal state on one rank
        ("Qwen3.6-27B", 1, 48, 2 * 16 * 128 + 48 * 128, 4, 48 * 128 * 128),
        ("Qwen3.6-27B", 2, 48, 10240 // 2, 4, 24 * 128 * 128),
        ("NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", 1, 23, 64 * 64 + 2 * 8 * 128, 4, 64 * 64 * 128),
        ("NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", 8, 23, (64 * 64 + 2 * 8 * 128) // 8, 4, 8 * 64 * 128),
        ("Granite-4.0-h-3B-hybrid", 1, 36, 4096 + 2 * 128, 4, 64 * 64 * 128),
        # one group serves all heads, so that each of two ranks keeps one
        ("Granite-4.0-h-3B-hybrid", 2, 36, (4096 + 2 * 2 * 128) // 2, 4, 32 * 64 * 128),
        ("Falcon-H1-0.5B-Instruct", 1, 36, 1536 + 2 * 128, 4, 24 * 64 * 128),
        ("Kimi-Linear-48B-A3B-Instruct", 1, 20, 3 * 32 * 128, 4, 32 * 128 * 128),
        ("Kimi-Linear-48B-A3B-Instruct", 4, 20, 3 * 8 * 128, 4, 8 * 128 * 128),
        ("LFM2-1.2B-finetune", 1, 10, 2048, 3, 0),
    ],
)
def test_one_state(name, size, layers, channels, kernel, state):
    found = profile(name)
    assert _cells.slot_bytes(found, size, "float32") == layers * (channels * (kernel - 1) * 2 + state * 4)
    assert _cells.slot_bytes(found, size, "bfloat16") == layers * (channels * (kernel - 1) * 2 + state * 2)


@pytest.mark.parametrize(
    ("name", "size", "expected"),
    [
        ("Qwen3.6-27B", 1, 16 * 4 * 512 * 2),
        ("Qwen3.6-27B", 8, 16 * 1 * 512 * 2),
        ("DeepSeek-V3", 1, 61 * (512 + 64) * 2),
        ("DeepSeek-V3", 8, 61 * (512 + 64) * 2),
        ("GLM-5", 8, 78 * ((512 + 64) * 2 + 128 + 4)),
        ("Kimi-Linear-48B-A3B-Instruct", 2, 7 * (512 + 64) * 2),
        ("MiniMax-M2.5", 4, 62 * 2 * 256 * 2),
        ("Falcon-H1-0.5B-Instruct", 2, 36 * 1 * 128 * 2),
    ],
)
def test_one_token(name, size, expected):
    found = profile(name)
    assert _cells.token_bytes(found, size, 2, found.layers.count("full_attention")) == expected


def test_sliding_layers_have_a_smaller_pool_of_their_own():
    oss, mimo = profile("gpt-oss-20b"), profile("MiMo-V2-Flash")
    assert _cells.window_bytes(oss, 1, 2, 0.8) == pytest.approx(0.8 * 12 * 8 * 128 * 2)
    # its sliding layers have twice the heads, and values narrower than keys
    assert _cells.window_bytes(mimo, 1, 2, 0.8) == pytest.approx(0.8 * 39 * 8 * (192 + 128) * 2)
    mistral = profile("Qwen3-8B", architectures=["MistralForCausalLM"], sliding_window=4096, use_sliding_window=True)
    assert _cells.window_bytes(mistral, 1, 2, 0.8) == 36 * 8 * 256 * 2


def test_the_type_of_the_state_as_the_engine_reads_it():
    qwen, granite = profile("Qwen3.6-27B"), profile("Granite-4.0-h-3B-hybrid", mamba_ssm_dtype="bfloat16")
    assert _cells.state_dtype(qwen, None) == "float32"
    assert _cells.state_dtype(qwen, "bfloat16") == "bfloat16"
    assert _cells.state_dtype(granite, None) == "float32"
    nemotron = profile("NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4", mamba_ssm_cache_dtype="bfloat16", time_step_limit=None)
    assert _cells.state_dtype(nemotron, None) == "float32"


def test_slots_a_request_by_strategy():
    """Radix off 1, no_buffer 3, extra_buffer 3 + 2; SGLang 0.5.11 knows extra_buffer for Gated DeltaNet only."""
    for name, version, strategy, slots in (
        ("Qwen3.6-27B", "0.5.11", "extra_buffer", 5),
        ("NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "0.5.11", "no_buffer", 3),
        ("NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "0.5.23", "extra_buffer", 5),
        ("LFM2-1.2B-finetune", "0.5.23", "no_buffer", 3),
        ("Kimi-Linear-48B-A3B-Instruct", "0.5.11", "radix_off", 1),
        ("Kimi-Linear-48B-A3B-Instruct", "0.5.23", "extra_buffer", 5),
    ):
        found = plan(name, version, (H200,), workload={"context_tokens": 4096, "concurrency": 4})
        rank = found["memory"]["per_rank"]
        assert found["speculative"]["mamba_strategy"] == strategy
        assert found["memory"]["fits"] is True
        assert rank["state_slots"] >= slots * 4
        assert ("--mamba-full-memory-ratio" in found["argv"]) is (strategy != "radix_off")


def test_slots_of_the_oldest_release_follow_speculation():
    """0.5.9: 3 + 1 with speculation, 3 + 2 without, whatever the overlap schedule does; and no_buffer with it turns the radix cache off."""
    load = {"workload": {"context_tokens": 4096, "concurrency": 4}, "gpus": (H200,), "allow_unverified_release": True}
    for settings, slots in (({}, 4), ({"speculative_algorithm": "none"}, 5)):
        text = why(plan(version="0.5.9", settings=settings, **load), "--max-running-requests")
        assert f"one request takes {slots} state slots" in text
    off = plan(version="0.5.9", settings={"mamba_scheduler_strategy": "no_buffer"}, **load)
    assert off["speculative"]["mamba_strategy"] == "radix_off"


@pytest.mark.parametrize(
    ("name", "size", "said"),
    [
        ("Falcon-H1-0.5B-Instruct", 16, "num_attention_heads 8 is not divisible by 16"),
        ("NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", 16, "mamba_n_groups 8 is not divisible by 16"),
        ("Kimi-Linear-48B-A3B-Instruct", 3, "linear_attn_config.num_heads 32 is not divisible by 3"),
        ("DeepSeek-V3", 32, "is not a multiple of the weight block 128"),
        ("MiniMax-M2.5", 8, "moe_intermediate_size 1536 / 8 = 192 is not a multiple of the weight block 128"),
        ("Qwen3-32B-FP8", 16, "intermediate_size 25600 / 16 = 1600 is not a multiple of the weight block 128"),
        ("Qwen3.6-27B", 3, "linear_num_key_heads 16 is not divisible by 3"),
    ],
)
def test_sizes_that_do_not_divide(name, size, said):
    with pytest.raises(SglangError) as caught:
        _tensor_parallel.check(profile(name), size, size)
    assert said in str(caught.value)


def test_latent_caches_are_not_cut():
    """64 ranks would be a multiple of no KV head count; there are none to cut."""
    assert not _tensor_parallel.problems(profile("Kimi-K2-Instruct", quantization_config=None), 16)
