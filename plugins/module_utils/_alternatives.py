# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What would fit where a plan does not: the nearest change of each kind, every one of them sized before it is said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable, Optional

from ansible_collections.inference.sglang.plugins.module_utils import _memory, _tensor_parallel
from ansible_collections.inference.sglang.plugins.module_utils._memory import Setup
from ansible_collections.inference.sglang.plugins.module_utils._plain import Fields
from ansible_collections.inference.sglang.plugins.module_utils._plan_memory import OVERRIDES, Answer, Case, answer, fixed_numbers

_ROUND_TOKENS = 256
_SMALLEST_CONTEXT = 256
_MOST_GPUS = 64


def _with_settings(case: Case, changes: dict[str, Any]) -> Case:
    values = {key: value for key, value in case.settings.values.items() if key not in changes}
    return replace(case, settings=Fields({**values, **{k: v for k, v in changes.items() if v is not None}}, case.settings.where))


def _requests(found: Answer) -> str:
    return f"{found.sized.pools.running} requests at once"


def _fewer(case: Case) -> Optional[dict[str, Any]]:
    wanted, context = case.workload.concurrency or 1, case.workload.context_tokens
    other = answer(replace(case, workload=replace(case.workload, concurrency=None)))
    count = other.sized.pools.running
    if wanted <= 1 or not other.fits or count >= wanted:
        return None
    return {"text": f"concurrency {count} at {context} tokens a request", "workload": {"concurrency": count, "context_tokens": context}}


def _longest_context(case: Case, setup: Setup, requests: int) -> int:
    low, high = 0, case.workload.context_tokens
    while low < high:
        middle = (low + high + 1) // 2
        if _memory.most_requests(setup, middle, requests, fixed_numbers(case.settings).get("fraction")) >= requests:
            low = middle
        else:
            high = middle - 1
    return low // _ROUND_TOKENS * _ROUND_TOKENS


def _shorter(case: Case, setup: Setup) -> Optional[dict[str, Any]]:
    wanted = case.workload.concurrency or 1
    context = _longest_context(case, setup, wanted)
    if context < _SMALLEST_CONTEXT or not answer(replace(case, workload=replace(case.workload, context_tokens=context))).fits:
        return None
    many = f"{wanted} requests at once" if wanted > 1 else "one request"
    return {"text": f"context_tokens {context} with {many}", "workload": {"concurrency": wanted, "context_tokens": context}}


def _types(case: Case, setup: Setup) -> list[dict[str, Any]]:
    """Smaller types of the two caches: each alone, and both where neither is enough."""
    kinds: dict[str, Any] = {}
    if case.settings.text("kv_cache_dtype") in (None, "auto", "bf16", "bfloat16") and setup.shapes.token_bytes > 1:
        kinds["kv_cache_dtype"] = "fp8_e4m3"
    if setup.shapes.slot_bytes and case.settings.text("mamba_ssm_dtype") != "bfloat16":
        kinds["mamba_ssm_dtype"] = "bfloat16"
    tried: list[dict[str, Any]] = [{key: value} for key, value in kinds.items()]
    found: list[dict[str, Any]] = []
    for changes in (*tried, kinds) if len(kinds) > 1 else tried:
        if len(changes) > 1 and found:
            continue
        other = answer(_with_settings(case, changes))
        if other.fits:
            text = ", ".join(f"{key}: {value}" for key, value in changes.items())
            found.append({"text": f"{text} ({_requests(other)})", "settings": changes})
    return found


def _without_overrides(case: Case) -> Optional[dict[str, Any]]:
    """What the operator pinned, left to the plan."""
    given = [key for key in OVERRIDES if case.settings.has(key)]
    if not given:
        return None
    other = answer(_with_settings(case, dict.fromkeys(given)))
    if not other.fits:
        return None
    return {
        "text": f"without {', '.join(given)}: fraction {other.sized.fraction}, {_requests(other)}",
        "settings": dict.fromkeys(given),
    }


def _more_gpus(case: Case) -> Optional[dict[str, Any]]:
    for size in _tensor_parallel.working_sizes(case.profile, max(_MOST_GPUS, case.size * 4)):
        if size > case.size:
            other = answer(replace(case, size=size))
            if other.fits:
                return {"text": f"{size} such GPUs ({_requests(other)})", "gpus": size}
    return None


def alternatives(case: Case, given: Answer, without_speculation: Callable[[], Case]) -> list[dict[str, Any]]:
    """The nearest changes that make it fit; each has a `text` and the arguments that it changes."""
    found: list[Optional[dict[str, Any]]] = []
    if given.setup.after > 0 and "running" not in fixed_numbers(case.settings):
        found += [_fewer(case), _shorter(case, given.setup)]
    found.append(_without_overrides(case))
    found += _types(case, given.setup)
    if case.speculation.enabled:
        other = answer(without_speculation())
        if other.fits:
            text = f"speculative_algorithm: none ({_requests(other)})"
            found.append({"text": text, "settings": {"speculative_algorithm": "none"}})
    found.append(_more_gpus(case))
    return [item for item in found if item is not None]
