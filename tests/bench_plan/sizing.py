# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Requests at once of a command that an engine accepted: the memory rules of docs/memory.md, with what the engine resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._memory import Workload, size_with
from ansible_collections.inference.sglang.plugins.module_utils._model_profile import profile_model
from ansible_collections.inference.sglang.plugins.module_utils._plain import Fields
from ansible_collections.inference.sglang.plugins.module_utils._plan_memory import DEFAULT_RATIO, Case, setup_of
from ansible_collections.inference.sglang.plugins.module_utils._pools import Split
from ansible_collections.inference.sglang.plugins.module_utils._releases import Release, release_of
from ansible_collections.inference.sglang.plugins.module_utils._speculative import Speculation
from ansible_collections.inference.sglang.plugins.module_utils._tensor_parallel import check
from ansible_collections.inference.sglang.plugins.module_utils._weights import read_evidence

_SIZING = (
    "chunked_prefill_size",
    "context_length",
    "disable_cuda_graph",
    "disable_overlap_schedule",
    "disable_radix_cache",
    "dtype",
    "kv_cache_dtype",
    "mamba_ssm_dtype",
    "max_mamba_cache_size",
    "max_prefill_tokens",
    "max_total_tokens",
)


@dataclass(frozen=True)
class Served:
    """Requests of the workload's length at once; None where the weights are not known well enough to say."""

    requests: Optional[int]
    drafts: bool
    why: str


def speculation_of(release: Release, resolved: Mapping[str, Any], recurrent: bool) -> Speculation:
    """What the engine made of the speculative settings and of the state cache."""
    enabled = resolved.get("speculative_algorithm") is not None
    strategy = "none"
    if recurrent:
        strategy = "radix_off" if resolved.get("disable_radix_cache") else str(resolved.get(release.strategy_option) or "no_buffer")
    if strategy == "auto":
        strategy = release.strategy_auto
    return Speculation(
        enabled=enabled,
        provisional=False,
        num_steps=resolved.get("speculative_num_steps") if enabled else None,
        num_draft_tokens=resolved.get("speculative_num_draft_tokens") if enabled else None,
        strategy=strategy,
        algorithm=resolved.get("speculative_algorithm"),
    )


def served(
    config: Any, hf_quant_config: Any, version: str, memory_mib: int, size: int, context_tokens: int, resolved: Mapping[str, Any]
) -> Served:
    """Size one rank with the engine's own resolution of a command."""
    release = release_of(version, allow_unverified=True)
    profile = profile_model(config, hf_quant_config)
    speculation = speculation_of(release, resolved, profile.recurrent_family != "none")
    values = {key: resolved[key] for key in (*_SIZING, release.graph_requests_option) if resolved.get(key) is not None}
    settings, load = Fields(values, "the engine's resolution"), Workload(context_tokens, None, True)
    try:
        check(profile, size, size)
        case = Case(
            profile,
            release,
            settings,
            size,
            memory_mib,
            None,
            read_evidence(None),
            speculation,
            load,
            int(resolved.get("page_size") or 1),
        )
        setup, weights = setup_of(case)
    except SglangError as error:
        return Served(0, speculation.enabled, str(error).splitlines()[0])
    if not weights.certain:
        return Served(None, speculation.enabled, "the weights' size is not certain")
    ratio = resolved.get("mamba_full_memory_ratio") or DEFAULT_RATIO
    split = Split(
        resolved.get("max_running_requests"), float(ratio), resolved.get("max_mamba_cache_size"), resolved.get("max_total_tokens")
    )
    sized = size_with(setup, float(resolved["mem_fraction_static"]), split)
    for wrong, why in (
        (setup.after <= 0, "the weights exceed the card"),
        (not sized.pools.works, "Not enough memory: no room for a request"),
        (sized.lowest_at_start < 0, "the draft's weights do not fit while it loads"),
        (sized.free < 0, "out of memory while the CUDA graphs are captured"),
    ):
        if wrong:
            return Served(0, speculation.enabled, why)
    requests = min(sized.pools.running, sized.pools.tokens // context_tokens)
    why = f"{sized.pools.running} running, {sized.pools.tokens} tokens, {sized.free:.1f} GiB stay free"
    return Served(requests, speculation.enabled, why)
