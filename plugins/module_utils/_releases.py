# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The release table: what differs between SGLang releases, one row a release. No such fact stands anywhere else."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils import _options_0_5_11, _options_0_5_23
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._plain import shown


@dataclass(frozen=True)
class CardDefaults:
    """What the engine picks for cards of less than `below_mib` MiB (0: all larger ones)."""

    below_mib: int
    chunked_prefill_size: int
    graph_requests_small_tp: int
    graph_requests_large_tp: int


@dataclass(frozen=True)
class Release:
    """One SGLang release as the derivation needs it."""

    version: str
    source: str
    """Where these facts were read, for the reasons in a plan."""
    options: ModuleType
    # Models
    gdn_architectures: frozenset[str]
    mtp_architectures: frozenset[str]
    extra_buffer_architectures: frozenset[str]
    minimum_capability: tuple[tuple[str, int], ...]
    """Quantisation method -> compute capability times ten, as the loader checks it."""
    # Speculation and the state cache
    strategy_option: str
    strategy_auto: str
    strategy_needs_flag: bool
    no_buffer_refuses_speculation: bool
    no_buffer_needs_overlap_off: bool
    extra_buffer_refuses_radix_off: bool
    track_interval: int
    recurrent_chunk: int
    sm100_pages_without_speculation: bool
    """Whether trtllm_mha with pages of 64 is picked on compute capability 10.x for extra_buffer alone, too."""
    running_cap_with_speculation: int
    algorithm_shown: str
    """What the engine calls NEXTN once resolved."""
    # Memory
    joint_pool_rule: bool
    draft_counted_first: bool
    speculation_reserve_mib: int
    multimodal_reserve_mib: int
    slots_base: int
    slots_extra_buffer_overlap: int
    slots_extra_buffer_no_overlap: int
    card_defaults: tuple[CardDefaults, ...]
    memory_measured: bool
    piecewise_off_for_vision: bool
    # Names
    renamed_options: tuple[tuple[str, str], ...]
    removed_environment: tuple[tuple[str, str], ...]
    # Log wording
    dispatcher_lines: tuple[tuple[str, str], ...]
    ready_line: str
    # What it has to be installed beside
    python_minimum: str
    torch: str
    cuda: str
    driver_minimum: str
    glibc_minimum: str
    transformers: str

    def as_dict(self) -> dict[str, Any]:
        """The facts that roles read."""
        return {
            "version": self.version,
            "python_minimum": self.python_minimum,
            "torch": self.torch,
            "cuda": self.cuda,
            "driver_minimum": self.driver_minimum,
            "glibc_minimum": self.glibc_minimum,
            "transformers": self.transformers,
            "strategy_option": self.strategy_option,
            "ready_line": self.ready_line,
            "dispatcher_lines": dict(self.dispatcher_lines),
            "removed_environment": dict(self.removed_environment),
        }


_READY = "The server is fired up and ready to roll!"
_DISPATCHERS = (("gdn", "GDN kernel dispatcher"), ("kda", "KDA kernel dispatcher"))
_QWEN_HYBRIDS = frozenset({"Qwen3_5ForConditionalGeneration", "Qwen3_5MoeForConditionalGeneration", "Qwen3NextForCausalLM"})
_QWEN_TEXT_ONLY = frozenset({"Qwen3_5ForCausalLM", "Qwen3_5MoeForCausalLM"})
_CAPABILITIES = (
    ("awq_marlin", 80),
    ("compressed-tensors", 70),
    ("gptq_marlin", 80),
    ("modelopt_fp8", 89),
    ("mxfp4", 80),
)
_CARDS_0_5_11 = (
    CardDefaults(20 * 1024, 2048, 8, 8),
    CardDefaults(35 * 1024, 2048, 24, 80),
    CardDefaults(60 * 1024, 4096, 32, 160),
    CardDefaults(160 * 1024, 8192, 256, 512),
    CardDefaults(0, 16384, 512, 512),
)

RELEASES: dict[str, Release] = {
    row.version: row
    for row in (
        Release(
            version="0.5.11",
            source="SGLang 0.5.11 server_args.py",
            options=_options_0_5_11,
            gdn_architectures=_QWEN_HYBRIDS,
            mtp_architectures=_QWEN_HYBRIDS,
            extra_buffer_architectures=_QWEN_HYBRIDS,
            minimum_capability=(*_CAPABILITIES, ("modelopt_fp4", 100), ("modelopt_mixed", 100)),
            strategy_option="mamba_scheduler_strategy",
            strategy_auto="no_buffer",
            strategy_needs_flag=True,
            no_buffer_refuses_speculation=True,
            no_buffer_needs_overlap_off=False,
            extra_buffer_refuses_radix_off=True,
            track_interval=256,
            recurrent_chunk=64,
            sm100_pages_without_speculation=True,
            running_cap_with_speculation=48,
            algorithm_shown="EAGLE",
            joint_pool_rule=False,
            draft_counted_first=False,
            speculation_reserve_mib=4096,
            multimodal_reserve_mib=0,
            slots_base=3,
            slots_extra_buffer_overlap=2,
            slots_extra_buffer_no_overlap=1,
            card_defaults=_CARDS_0_5_11,
            memory_measured=True,
            piecewise_off_for_vision=True,
            renamed_options=(
                ("mamba-radix-cache-strategy", "mamba-scheduler-strategy"),
                ("cuda-graph-max-bs-decode", "cuda-graph-max-bs"),
            ),
            removed_environment=(),
            dispatcher_lines=_DISPATCHERS,
            ready_line=_READY,
            python_minimum="3.10",
            torch="2.11.0",
            cuda="13.0",
            driver_minimum="580",
            glibc_minimum="2.34",
            transformers="5.6.0",
        ),
        Release(
            version="0.5.23",
            source="SGLang 0.5.23 arg_groups",
            options=_options_0_5_23,
            gdn_architectures=_QWEN_HYBRIDS | _QWEN_TEXT_ONLY,
            mtp_architectures=_QWEN_HYBRIDS | _QWEN_TEXT_ONLY,
            extra_buffer_architectures=_QWEN_HYBRIDS | _QWEN_TEXT_ONLY,
            minimum_capability=(*_CAPABILITIES, ("modelopt_fp4", 80), ("modelopt_mixed", 80)),
            strategy_option="mamba_radix_cache_strategy",
            strategy_auto="extra_buffer",
            strategy_needs_flag=False,
            no_buffer_refuses_speculation=False,
            no_buffer_needs_overlap_off=True,
            extra_buffer_refuses_radix_off=False,
            track_interval=256,
            recurrent_chunk=64,
            sm100_pages_without_speculation=False,
            running_cap_with_speculation=48,
            algorithm_shown="EAGLE",
            joint_pool_rule=True,
            draft_counted_first=True,
            speculation_reserve_mib=0,
            multimodal_reserve_mib=100,
            slots_base=3,
            slots_extra_buffer_overlap=2,
            slots_extra_buffer_no_overlap=1,
            card_defaults=(_CARDS_0_5_11[0], CardDefaults(35 * 1024, 4096, 48, 160), *_CARDS_0_5_11[2:]),
            memory_measured=False,
            piecewise_off_for_vision=False,
            renamed_options=(
                ("mamba-scheduler-strategy", "mamba-radix-cache-strategy"),
                ("cuda-graph-max-bs", "cuda-graph-max-bs-decode"),
                ("cuda-graph-bs", "cuda-graph-bs-decode"),
                ("disable-piecewise-cuda-graph", "cuda-graph-backend-prefill=disabled"),
            ),
            removed_environment=(("SGLANG_ENABLE_SPEC_V2", "speculation always overlaps; --disable-overlap-schedule turns that off"),),
            dispatcher_lines=_DISPATCHERS,
            ready_line=_READY,
            python_minimum="3.11",
            torch="2.14.1",
            cuda="13.0",
            driver_minimum="580",
            glibc_minimum="2.34",
            transformers="5.19.0",
        ),
    )
}


def supported_releases() -> list[str]:
    """Versions of the table, oldest first."""
    return sorted(RELEASES, key=lambda version: [int(part) for part in version.split(".")])


def release_of(version: object) -> Release:
    """The row of a version, or a refusal that lists the table."""
    row: Optional[Release] = RELEASES.get(version) if isinstance(version, str) else None
    if row is None:
        raise SglangError(
            f"SGLang {shown(version)} is not in the release table.",
            found=f"sglang_version: {shown(version)}",
            wanted="supported: " + ", ".join(supported_releases()),
            next_step="Set ml_env_sglang_version to a supported release.",
        )
    return row


def release_facts(version: object) -> dict[str, Any]:
    """What a release needs around it, as plain data."""
    return release_of(version).as_dict()
