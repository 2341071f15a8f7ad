# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The plan beside what came of it: slots, tokens, requests, memory, backend, page size, and what the engine changed by itself. Pure.

Figures are flat mappings of the names below. GB are the engine's own (2**30 bytes), of one rank, the lowest of all ranks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._plain import as_mapping
from ansible_collections.inference.sglang.plugins.module_utils._releases import strategy_options

UNEXPLAINED = "its log does not say why"


@dataclass(frozen=True)
class Figure:
    """One thing that a plan says and a start shows. A setting is exact; a figure is near at best."""

    name: str
    what: str
    setting: bool = False
    inverted: bool = False  # the engine's name says what is off


FIGURES: tuple[Figure, ...] = (
    Figure("attention_backend", "attention backend", setting=True),
    Figure("page_size", "page size", setting=True),
    Figure("tp_size", "tensor parallel size", setting=True),
    Figure("speculative_algorithm", "speculation", setting=True),
    Figure("speculative_num_steps", "draft steps", setting=True),
    Figure("speculative_eagle_topk", "draft top-k", setting=True),
    Figure("speculative_num_draft_tokens", "draft tokens", setting=True),
    *(Figure(name, "state strategy", setting=True) for name in strategy_options()),
    Figure("mem_fraction_static", "memory fraction", setting=True),
    Figure("disable_radix_cache", "radix cache", setting=True, inverted=True),
    Figure("disable_overlap_schedule", "overlap schedule", setting=True, inverted=True),
    Figure("max_running_requests", "running requests", setting=True),
    Figure("state_slots", "state slots"),
    Figure("kv_tokens", "KV tokens"),
    Figure("weights_gb", "weights, GB"),
    Figure("free_after_pools_gb", "free after the pools, GB"),
    Figure("available_gpu_mem_gb", "free after the start, GB"),
)
_SWITCHES = tuple(figure.name for figure in FIGURES if figure.inverted)
# The plan's names for one rank's figures, and the log's.
_PER_RANK = {
    "max_running_requests": "max_running_requests",
    "state_slots": "state_slots",
    "kv_tokens": "kv_tokens",
    "weights_gib": "weights_gb",
    "after_pools_gib": "free_after_pools_gb",
    "free_gib": "available_gpu_mem_gb",
}


def planned_figures(plan: Mapping[str, Any]) -> dict[str, Any]:
    """What a launch plan says of the start that follows it."""
    argv = [str(word) for word in plan.get("argv") or []]
    found: dict[str, Any] = {name: f"--{name.replace('_', '-')}" in argv for name in _SWITCHES}
    found.update(as_mapping(plan.get("predicted")))
    per_rank = as_mapping(as_mapping(plan.get("memory")).get("per_rank"))
    found.update({ours: per_rank[theirs] for theirs, ours in _PER_RANK.items() if per_rank.get(theirs) is not None})
    return {figure.name: found[figure.name] for figure in FIGURES if found.get(figure.name) is not None}


def started_figures(figures: Mapping[str, Any]) -> dict[str, Any]:
    """The log gate's figures, flat: of what each rank logs, the lowest."""
    found = {figure.name: figures[figure.name] for figure in FIGURES if figures.get(figure.name) is not None}
    ranks = [as_mapping(rank) for rank in as_mapping(figures.get("ranks")).values()]
    for name in ("state_slots", "kv_tokens", "free_after_pools_gb"):
        known = [rank[name] for rank in ranks if rank.get(name) is not None]
        if known:
            found[name] = min(known)
    weights = [rank["weights_gb"] for rank in ranks if rank.get("weights_gb") is not None]
    if weights:
        found["weights_gb"] = max(weights)
    return found


def served_figures(info: object) -> dict[str, Any]:
    """The same from /server_info, which also holds every key of the server: what is not named here is not looked at.

    SGLang 0.5.11 managers/scheduler.py, get_internal_state; the settings stand at the top as resolved (entrypoints/http_server.py).
    """
    document = as_mapping(info)
    settings = {figure.name for figure in FIGURES if figure.setting} - {"max_running_requests"}
    found = {name: document[name] for name in settings if isinstance(document.get(name), (str, int, float))}
    states = document.get("internal_states")
    states = [as_mapping(state) for state in states] if isinstance(states, list) else []
    for name, values in (
        ("max_running_requests", [state.get("effective_max_running_requests_per_dp") for state in states]),
        ("kv_tokens", [as_mapping(state.get("memory_usage")).get("token_capacity") for state in states]),
        ("weights_gb", [as_mapping(state.get("memory_usage")).get("weight") for state in states]),
    ):
        known = [value for value in values if isinstance(value, (int, float))]
        if known:
            found[name] = min(known)
    return found


def _same(planned: Any, found: Any) -> bool:
    if isinstance(planned, bool) or isinstance(found, bool):
        return bool(planned) == bool(found)
    if isinstance(planned, (int, float)) and isinstance(found, (int, float)):
        return abs(planned - found) <= 0.0006 * max(1.0, abs(planned))  # the engine rounds its fraction
    return str(planned) == str(found)


def _shown(figure: Figure, value: Any) -> str:
    if figure.inverted:
        return "off" if value else "on"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _change(figure: Figure, planned: Any, found: Any, started: Mapping[str, Any], said: Mapping[str, str]) -> str:
    reason = said.get(figure.name) or ""
    if not reason and figure.name == "max_running_requests":
        room = [f"{started[name]} {what}" for name, what in (("state_slots", "state slots"), ("kv_tokens", "KV tokens")) if name in started]
        reason = f"its pools hold {' and '.join(room)}" if room else ""
    return f"the engine changed {figure.what} from {_shown(figure, planned)} to {_shown(figure, found)}: {reason or UNEXPLAINED}"


def compare(planned: Mapping[str, Any], started: Mapping[str, Any], said: Optional[Mapping[str, str]] = None) -> dict[str, Any]:
    """``rows`` (name, what, planned, found, same) of all that the plan tells, and ``changes``: the engine's own, each with its reason."""
    rows, changes = [], []
    for figure in FIGURES:
        if planned.get(figure.name) is None:
            continue
        wanted, found = planned[figure.name], started.get(figure.name)
        same = None if found is None else _same(wanted, found)
        rows.append({"name": figure.name, "what": figure.what, "planned": wanted, "found": found, "same": same})
        if figure.setting and same is False:
            changes.append(_change(figure, wanted, found, started, said or {}))
    return {"rows": rows, "changes": changes}


def comparison_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A few lines for a person: what is as planned, and what differs with both values."""
    known = {figure.name: figure for figure in FIGURES}
    same, other = [], []
    for row in rows:
        figure = known[row["name"]]
        planned = f"{figure.what} {_shown(figure, row['planned'])}"
        if row["same"]:
            same.append(planned)
        elif row["same"] is False:
            other.append(f"{planned} planned, {_shown(figure, row['found'])} found")
    return [f"{head}: {', '.join(parts)}" for head, parts in (("as planned", same), ("otherwise", other)) if parts]
