# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The memory section of a plan: the verdict, the sum behind it, and what would fit instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils import _memory
from ansible_collections.inference.sglang.plugins.module_utils._calibration import CALIBRATION, MEASURED_CARD, MEASURED_RANKS
from ansible_collections.inference.sglang.plugins.module_utils._memory import Setup, Sized, Workload
from ansible_collections.inference.sglang.plugins.module_utils._model_profile import ModelProfile
from ansible_collections.inference.sglang.plugins.module_utils._plain import Fields
from ansible_collections.inference.sglang.plugins.module_utils._pools import GIB, Split
from ansible_collections.inference.sglang.plugins.module_utils._releases import Release
from ansible_collections.inference.sglang.plugins.module_utils._speculative import Speculation
from ansible_collections.inference.sglang.plugins.module_utils._weights import Evidence, RankWeights, rank_weights

DEFAULT_RATIO = 0.9
"""The engine's own state/KV ratio, in both releases."""


@dataclass(frozen=True)
class Case:
    """One complete sizing question."""

    profile: ModelProfile
    release: Release
    settings: Fields
    size: int
    memory_mib: int
    available_gib: Optional[float]
    evidence: Evidence
    speculation: Speculation
    workload: Workload
    page_size: int


@dataclass(frozen=True)
class Answer:
    """Its answer."""

    setup: Setup
    weights: RankWeights
    sized: Sized
    fits: Optional[bool]
    why: str


OVERRIDES = {
    "mem_fraction_static": "fraction",
    "max_running_requests": "running",
    "mamba_full_memory_ratio": "ratio",
    "max_mamba_cache_size": "pinned",
}
"""Settings that replace what the plan would choose."""


def fixed_numbers(settings: Fields) -> dict[str, Any]:
    found: dict[str, Any] = {}
    fraction = settings.number("mem_fraction_static", 0.01, 0.999)
    running = settings.integer("max_running_requests", 1, 1 << 16)
    ratio = settings.number("mamba_full_memory_ratio", 0.0001, 10000.0)
    pinned = settings.integer("max_mamba_cache_size", 1, 1 << 24)
    for name, value in (("fraction", fraction), ("running", running), ("ratio", ratio), ("pinned", pinned)):
        if value is not None:
            found[name] = value
    return found


def setup_of(case: Case) -> tuple[Setup, RankWeights]:
    """The rank that a case describes."""
    weights = rank_weights(case.profile, case.size, case.evidence, case.settings.text("dtype"))
    setup = _memory.make_setup(
        case.profile,
        case.release,
        case.settings,
        case.size,
        case.memory_mib,
        case.available_gib,
        weights,
        case.speculation,
        case.page_size,
    )
    return setup, weights


def given_split(settings: Fields) -> Split:
    """The engine's own division, but for what the operator pinned."""
    return Split(
        running=None,
        ratio=DEFAULT_RATIO,
        pinned_slots=settings.integer("max_mamba_cache_size", 1, 1 << 24),
        maximum_tokens=settings.integer("max_total_tokens", 1),
    )


def _verdict(setup: Setup, sized: Sized, workload: Workload) -> tuple[bool, str]:
    if setup.after <= 0:
        return False, f"the weights alone exceed the card by {-setup.after:.2f} GiB a rank"
    if not sized.pools.works:
        return False, f"nothing is left for the pools (rest {sized.rest:.2f} GiB a rank): the engine ends with Not enough memory"
    if sized.lowest_at_start < 0:
        return False, f"the draft's weights do not fit while it loads: {-sized.lowest_at_start:.2f} GiB short a rank"
    if sized.free < setup.activation:
        return False, f"{sized.free:.2f} GiB a rank stay free, a prefill needs {setup.activation:.2f}"
    needed = workload.concurrency or 1
    if not sized.serves(needed, workload.context_tokens):
        room = min(sized.pools.running, sized.pools.tokens // workload.context_tokens)
        return False, f"{room} requests of {workload.context_tokens} tokens fit at once, {needed} are wanted"
    return True, f"{sized.pools.running} requests at once, {sized.free:.2f} GiB a rank stay free"


def answer(case: Case, ignore: tuple[str, ...] = ()) -> Answer:
    """Size a case. `ignore` leaves out overrides, to learn what would have been derived."""
    setup, weights = setup_of(case)
    fixed = {name: value for name, value in fixed_numbers(case.settings).items() if name not in ignore}
    sized = _memory.choose(setup, case.workload, given_split(case.settings), fixed)
    if not weights.certain:
        return Answer(setup, weights, sized, None, weights.note + ": only the shards' headers can")
    fits, why = _verdict(setup, sized, case.workload)
    return Answer(setup, weights, sized, fits, why)


def _gib(value: float) -> float:
    return round(value, 2)


def _loaded(found: Answer) -> float:
    """What the engine's log calls the memory usage of loading the weights."""
    return found.weights.target / GIB


def the_sum(found: Answer) -> list[dict[str, Any]]:
    """The arithmetic of one rank, in the order in which the engine spends it."""
    setup, pools, shapes = found.setup, found.sized.pools, found.setup.shapes
    target_graphs, draft_graphs = _memory.graphs_gib(setup, pools.running)
    weights = found.weights.target / GIB
    rows = [
        ("free before the weights load", setup.before),
        ("weights and rotary cache, as the allocator rounds them", -weights),
        ("beside the weights", -_memory.beside_gib(found.weights)),
    ]
    if setup.counted_first and setup.draft:
        rows.append(("draft weights, with their own embedding and head", -setup.draft - setup.draft_embedding))
    if shapes.slot_bytes:
        mib = f"{shapes.slot_bytes / 2**20:.1f} MiB"
        rows.append((f"({pools.slots} + 1 padding) state slots of {mib}", -(pools.slots + 1) * shapes.slot_bytes / GIB))
        if shapes.draft_tokens:
            amount = (pools.running + 1) * shapes.draft_tokens
            what = f"({pools.running} + 1 padding) x {shapes.draft_tokens} states of {mib} while drafts are verified"
            rows.append((what, -amount * shapes.slot_bytes / GIB))
    cell = shapes.held_bytes
    rows.append((f"KV cache of {pools.tokens} tokens, {cell} bytes each", -pools.tokens * cell / GIB))
    rows.append((f"table of {pools.running} requests", -pools.running * setup.table_row))
    rows.append(("workspace and CUDA graphs", -(CALIBRATION.workspace + target_graphs + draft_graphs)))
    if setup.draft and setup.counted_first:
        rows.append(("embedding and head of the draft, given back after the sizing", setup.draft_embedding))
    elif setup.draft:
        rows.append(("draft weights, sharing the target's embedding and head", -setup.draft))
    if setup.draft and not shapes.draft_budgeted:
        rows.append(("KV cache of the draft layer", -pools.tokens * shapes.draft_token_bytes / GIB))
    rows.append(("free after the start", found.sized.free))
    return [{"what": what, "gib": _gib(value)} for what, value in rows]


def basis(case: Case, cards: Sequence[str]) -> str:
    """Whether these rules have met recorded starts of such a model on such cards, or follow the engine's source alone."""
    met = case.release.memory_measured and case.profile.recurrent_family == "gdn" and case.size <= MEASURED_RANKS
    return "measured" if met and all(MEASURED_CARD in card for card in cards) else "calculated"


def section(case: Case, found: Answer, alternatives: list[dict[str, Any]], cards: Sequence[str]) -> dict[str, Any]:
    """The plan's `memory`, with the names of its cards."""
    setup, pools = found.setup, found.sized.pools
    known = found.weights.certain
    return {
        "fits": found.fits,
        "why": found.why,
        "basis": basis(case, cards),
        "evidence": found.weights.source,
        "keep_free_gib": _gib(_memory.keep_free(setup)),
        "workload": {
            "context_tokens": case.workload.context_tokens,
            "concurrency": case.workload.concurrency,
            "profile": case.workload.profile,
        },
        "alternatives": alternatives,
        "sum": the_sum(found) if known else [],
        "per_rank": {
            "available_gib": _gib(setup.before),
            "weights_gib": _gib(_loaded(found)) if known else None,
            "draft_gib": _gib(setup.draft),
            "slot_mib": round(setup.shapes.slot_bytes / 2**20, 2),
            "token_bytes": setup.shapes.token_bytes,
            "state_slots": pools.slots if known else None,
            "kv_tokens": pools.tokens if known else None,
            "max_running_requests": pools.running if known else None,
            "mem_fraction_static": found.sized.fraction,
            "after_pools_gib": _gib(found.sized.free_after_pools) if known else None,
            "free_gib": _gib(found.sized.free) if known else None,
        },
    }
