# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The rows of the release table: the oldest release in full, each later one as what changed since the one before.

Read in the wheels from PyPI; _releases_places.py says where each fact stands in each of them, and scripts/release-row --check holds the
rows against the wheels. docs/releases.md tells how to add one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ansible_collections.inference.sglang.plugins.module_utils._releases_types import UNVERIFIED, VERIFIED, CardDefaults, Release

_QWEN_HYBRIDS = frozenset({"Qwen3_5ForConditionalGeneration", "Qwen3_5MoeForConditionalGeneration", "Qwen3NextForCausalLM"})
_QWEN_TEXT_ONLY = frozenset({"Qwen3_5ForCausalLM", "Qwen3_5MoeForCausalLM"})
_DEEPSEEK = frozenset({"DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM", "DeepseekV32ForCausalLM", "GlmMoeDsaForCausalLM"})
_PLAIN = frozenset(
    {"GptOssForCausalLM", "LlamaForCausalLM", "MistralForCausalLM", "Phi3ForCausalLM", "Qwen3ForCausalLM", "Qwen3MoeForCausalLM"}
)
_EAGLE3 = (
    _DEEPSEEK | _PLAIN | {"Glm4MoeForCausalLM", "MiniMaxM2ForCausalLM", "Qwen2ForCausalLM", "Qwen2MoeForCausalLM", "Qwen3NextForCausalLM"}
)
_UNREAD = frozenset({"kimi_k2", "mimo", "mimo_v2_flash"})
_CAPABILITIES = {
    "awq_marlin": 80,
    "bitsandbytes": 70,
    "compressed-tensors": 70,
    "fp8": 80,
    "gptq_marlin": 80,
    "modelopt_fp4": 100,
    "modelopt_fp8": 89,
    "mxfp4": 80,
    "petit_nvfp4": 90,
    "w4afp8": 90,
    "w8a8_fp8": 89,
    "w8a8_int8": 75,
}
_CARDS = (
    CardDefaults(20 * 1024, 2048, 8, 8),
    CardDefaults(35 * 1024, 2048, 24, 80),
    CardDefaults(60 * 1024, 4096, 32, 160),
    CardDefaults(160 * 1024, 8192, 256, 512),
    CardDefaults(0, 16384, 512, 512),
)
_LOG_LINES = {
    "ranks": r"Init torch distributed begin",
    "weights": r"Load weight begin",
    "state": r"Mamba Cache is allocated",
    "pools": r"Memory pool end",
    "backend": r"Using hybrid linear attention backend",
    "kernels": r"Linear attention kernel backend",
    "graphs": r"Capture cuda graph begin",
    "draft graphs": r"Capture draft (?:\w+ )*cuda graph begin",
    "scheduler": r"max_total_num_tokens=\d+",
}
_EVERYWHERE = ("triton", "trtllm_mha", "fa4", "flashinfer")
_SM120 = ("triton", "trtllm_mha", "flashinfer")


def _pairs(values: dict[str, Any], **changes: Any) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted({**values, **changes}.items()))


_OLDEST = Release(
    version="0.5.9",
    status=UNVERIFIED,
    source="SGLang 0.5.9 server_args.py",
    options="0.5.9",
    gdn_architectures=_QWEN_HYBRIDS,
    mtp_architectures=_QWEN_HYBRIDS,
    extra_buffer_architectures=_QWEN_HYBRIDS,
    radix_off_architectures=frozenset({"KimiLinearForCausalLM"}),
    oldest_card=75,
    bfloat16_card=80,
    minimum_capability=_pairs(_CAPABILITIES),
    modelopt_mixed="none",
    nvfp4_group_assumed=False,
    unread_types=_UNREAD | {"glm_moe_dsa", "minimax_m2", "qwen3_5_moe_text", "qwen3_5_text"},
    strategy_option="mamba_scheduler_strategy",
    strategy_auto="no_buffer",
    strategy_needs_flag=True,
    no_buffer_refuses_speculation=False,
    no_buffer_turns_radix_off=True,
    no_buffer_needs_overlap_off=False,
    extra_buffer_refuses_radix_off=False,
    lazy_strategy=False,
    lazy_with_speculation=False,
    verification_dies=False,
    track_interval=256,
    recurrent_chunk=64,
    sm100_pages_with_speculation=False,
    sm100_pages_without_speculation=False,
    blackwell_backends=_pairs({"sm100": ("triton", "trtllm_mha"), "sm120": ("triton", "trtllm_mha")}),
    sparse_backend="nsa",
    running_cap_with_speculation=48,
    algorithm_shown="EAGLE",
    algorithms=("EAGLE", "EAGLE3", "NEXTN", "STANDALONE", "NGRAM"),
    speculation_environment=(("SGLANG_ENABLE_SPEC_V2", "1"),),
    dflash_targets=frozenset(),
    eagle3_targets=_EAGLE3,
    dflash_overlap_off=False,
    dflash_exact_cell=False,
    joint_pool_rule=False,
    joint_pool_padding=False,
    draft_counted_first=False,
    draft_in_cell=False,
    speculation_reserve_mib=2048,
    multimodal_reserve_mib=0,
    slots_base=3,
    slots_extra_buffer_overlap=2,
    slots_extra_buffer_no_overlap=1,
    slots_follow_speculation=True,
    card_defaults=_CARDS,
    memory_measured=False,
    piecewise_off_for_vision=True,
    graph_requests_option="cuda_graph_max_bs",
    allreduce_off_option="",
    renamed_options=(),
    removed_environment=(),
    log_lines=_pairs(_LOG_LINES),
    dispatcher_lines=(),
    ready_line="The server is fired up and ready to roll!",
    ready_path="",
    stops_by_killing_itself=True,
    python_minimum="3.10",
    torch="2.9.1",
    cuda="12.8",  # of torch's own wheel; NVIDIA's table gives driver 570 for it, and 525 for older kernels only
    driver_minimum="570",
    glibc_minimum="2.28",  # torch's wheel; SGLang's own is pure Python up to 0.5.10.post1
    transformers="4.57.1",
    flashinfer="0.6.3",
    kernel="0.3.21",
    torchcodec="0.8.0",
)

_ROWS = [_OLDEST]


def _next(version: str, file: str = "", **changes: Any) -> None:
    """Add the release after the last one; a status is never inherited."""
    source = f"SGLang {version} {file or _ROWS[-1].source.rsplit(' ', 1)[1]}"
    fresh = {"status": UNVERIFIED, "memory_measured": False, **changes}
    _ROWS.append(replace(_ROWS[-1], version=version, options=version, source=source, **fresh))


_next(
    "0.5.10",
    no_buffer_refuses_speculation=True,
    no_buffer_turns_radix_off=False,
    extra_buffer_refuses_radix_off=True,
    sm100_pages_with_speculation=True,
    sm100_pages_without_speculation=True,
    blackwell_backends=_pairs({"sm100": _EVERYWHERE, "sm120": _EVERYWHERE}),
    minimum_capability=_pairs(_CAPABILITIES, modelopt_mixed=100),
    modelopt_mixed="nemotron_h",
    unread_types=_UNREAD,
    speculation_reserve_mib=4096,
    slots_follow_speculation=False,
    allreduce_off_option="enforce_disable_flashinfer_allreduce_fusion",
    dispatcher_lines=(("gdn", "GDN kernel dispatcher"), ("kda", "KDA kernel dispatcher")),
    transformers="5.3.0",
    flashinfer="0.6.7.post2",
    kernel="0.4.1",
    torchcodec="0.9.1",
)
_next("0.5.10.post1", flashinfer="0.6.7.post3")
_next(
    "0.5.11",
    status=VERIFIED,
    algorithms=("DFLASH", *_OLDEST.algorithms),
    speculation_environment=(),
    # Qwen3.5 inherits set_eagle3_layers_to_capture from Qwen3-VL, but honours it from 0.5.22 on only.
    dflash_targets=_QWEN_HYBRIDS | _DEEPSEEK | _PLAIN,
    dflash_overlap_off=True,
    memory_measured=True,
    torch="2.11.0",
    cuda="13.0",
    driver_minimum="580",
    glibc_minimum="2.34",
    transformers="5.6.0",
    flashinfer="0.6.8.post1",
    kernel="0.4.2",
    torchcodec="0.11.1",
)
_next(
    "0.5.12",
    algorithms=(*_ROWS[-1].algorithms, "FROZEN_KV_MTP"),
    unread_types=_UNREAD - {"kimi_k2"},
    flashinfer="0.6.11.post1",
    kernel="0.4.2.post2",
)
_next("0.5.12.post1")
_next(
    "0.5.13",
    extra_buffer_architectures=_QWEN_HYBRIDS | {"FalconH1ForCausalLM", "GraniteMoeHybridForCausalLM", "NemotronHForCausalLM"},
    lazy_strategy=True,
    verification_dies=True,
    sparse_backend="dsa",
    minimum_capability=_pairs(_CAPABILITIES, modelopt_fp4=80, modelopt_mixed=80),
    joint_pool_rule=True,
    transformers="5.8.1",
    flashinfer="0.6.12",
    kernel="0.4.3",
)
_next("0.5.13.post1")
_next(
    "0.5.14",
    radix_off_architectures=frozenset(),
    strategy_option="mamba_radix_cache_strategy",
    strategy_auto="extra_buffer",
    strategy_needs_flag=False,
    no_buffer_refuses_speculation=False,
    no_buffer_needs_overlap_off=True,
    extra_buffer_refuses_radix_off=False,
    sm100_pages_without_speculation=False,
    dflash_overlap_off=False,
    draft_counted_first=True,
    draft_in_cell=True,
    memory_measured=True,
    speculation_reserve_mib=0,
    piecewise_off_for_vision=False,
    graph_requests_option="cuda_graph_max_bs_decode",
    removed_environment=(("SGLANG_ENABLE_SPEC_V2", "speculation always overlaps; --disable-overlap-schedule turns that off"),),
    log_lines=_pairs(_LOG_LINES, graphs=r"Capture (?!draft).*CUDA graph begin", **{"draft graphs": r"Capture draft .*CUDA graph begin"}),
    kernel="0.4.4",
)
_next("0.5.15", "arg_groups", modelopt_mixed="listed", transformers="5.12.1")
_next("0.5.15.post1", memory_measured=True)
_next(
    "0.5.16",
    verification_dies=False,
    extra_buffer_architectures=_ROWS[-1].extra_buffer_architectures | {"KimiLinearForCausalLM"},
    blackwell_backends=_pairs({"sm100": ("triton", "trtllm_mha", "fa4"), "sm120": _SM120}),
    algorithms=(*_ROWS[-1].algorithms, "DSPARK"),
    flashinfer="0.6.14",
    kernel="0.4.5",
)
# 0.5.17 and 0.5.18 load the text-only classes too, but do not list them for the radix cache of hybrid models (overrides.py): not planned.
_next("0.5.17", lazy_with_speculation=True, joint_pool_padding=True, nvfp4_group_assumed=True, flashinfer="0.6.15.post1")
_next(
    "0.5.18",
    dflash_exact_cell=True,
    multimodal_reserve_mib=100,
    torch="2.13.0",
    flashinfer="0.6.17",
    kernel="0.4.6.post1",
    torchcodec="0.15.0",
)
_next(
    "0.5.19",
    gdn_architectures=_QWEN_HYBRIDS | _QWEN_TEXT_ONLY,
    mtp_architectures=_QWEN_HYBRIDS | _QWEN_TEXT_ONLY,
    extra_buffer_architectures=_ROWS[-1].extra_buffer_architectures | _QWEN_TEXT_ONLY,
    dflash_targets=_ROWS[-1].dflash_targets | _QWEN_TEXT_ONLY | {"Lfm2ForCausalLM", "Lfm2MoeForCausalLM", "NemotronHForCausalLM"},
    stops_by_killing_itself=False,
    flashinfer="0.6.18",
)
_next(
    "0.5.20",
    algorithms=(*_ROWS[-1].algorithms, "UNO"),
    dflash_targets=_ROWS[-1].dflash_targets | {"MiMoV2FlashForCausalLM"},
    card_defaults=(_CARDS[0], CardDefaults(35 * 1024, 4096, 48, 160), *_CARDS[2:]),
    ready_path="/ready",
    kernel="0.4.7",
)
_next(
    "0.5.21",
    blackwell_backends=_pairs({"sm100": _EVERYWHERE, "sm120": _SM120}),
    log_lines=_pairs(dict(_ROWS[-1].log_lines), ranks=r"Init parallel begin"),
)
_next(
    "0.5.22",
    eagle3_targets=_EAGLE3 | _QWEN_HYBRIDS | _QWEN_TEXT_ONLY,
    unread_types=frozenset({"mimo"}),
    python_minimum="3.11",
    torch="2.14.1",
    transformers="5.19.0",
    flashinfer="0.7.1",
    kernel="0.4.9",
    torchcodec="0.17.0",
)
_next("0.5.23", status=VERIFIED, flashinfer="0.7.2", kernel="0.4.10")

RELEASES: dict[str, Release] = {row.version: row for row in _ROWS}
