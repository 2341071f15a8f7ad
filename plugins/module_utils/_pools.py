# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""How the engine divides one rank's memory into state slots and KV tokens: its two rules, forwards.

Reserve rule (up to 0.5.12.post1): SGLang 0.5.11 model_executor/model_runner_kv_cache_mixin.py, handle_max_mamba_cache.
Joint rule (from 0.5.13; with padding slots from 0.5.17): SGLang 0.5.14 model_runner_kv_cache_mixin.py and 0.5.23 mem_cache/
kv_cache_configurator.py, _handle_max_mamba_cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

GIB = 1 << 30
# The engine's own bounds of requests when no cap is given; with one they only ever cut at 2048 to 4096.
_ESTIMATE_LOW, _ESTIMATE_HIGH = 2048, 4096


@dataclass(frozen=True)
class Shapes:
    """Sizes that follow from the model, the split and the cache types."""

    slot_bytes: int
    """One recurrent state; 0 for a model without."""
    token_bytes: int
    """KV cache of one token, target layers only."""
    draft_token_bytes: int
    """KV cache of one token in the draft's layers; 0 without speculation."""
    cell_bytes: int
    """What the engine budgets for one token: with the draft's part or without, by release and algorithm."""
    draft_tokens: int
    """Tokens verified at once; 0 without speculation."""
    slots_per_request: int
    radix: bool
    context_length: int
    page_size: int
    joint: bool
    padding: int = 1
    """Slots that the joint rule keeps for padding in both state pools; where it keeps none, the pools take them all the same."""

    @property
    def draft_budgeted(self) -> bool:
        """Whether the draft's KV cache is inside the budget of a token."""
        return self.cell_bytes > self.token_bytes

    @property
    def held_bytes(self) -> int:
        """What a token takes of the pools' memory."""
        return self.token_bytes + (self.draft_token_bytes if self.draft_budgeted else 0)


@dataclass(frozen=True)
class Split:
    """The three numbers that steer the division."""

    running: Optional[int]
    ratio: float
    pinned_slots: Optional[int] = None
    maximum_tokens: Optional[int] = None


@dataclass(frozen=True)
class Pools:
    """What the engine makes of it."""

    slots: int
    tokens: int
    running: int
    bytes_used: float

    @property
    def works(self) -> bool:
        """Whether a server with these pools can run a request."""
        return self.tokens > 0 and self.running > 0


def _page(tokens: float, shapes: Shapes) -> int:
    return int(tokens) // shapes.page_size * shapes.page_size


def _running(shapes: Shapes, split: Split, tokens: int, slots: int) -> int:
    estimate = max(min(int(tokens / max(1, shapes.context_length) * 512), _ESTIMATE_HIGH), _ESTIMATE_LOW)
    limit = min(estimate, tokens // 2) if split.running is None else min(split.running, tokens // 2 if shapes.joint else estimate)
    if shapes.slot_bytes:
        limit = min(limit, slots // shapes.slots_per_request)
    return max(0, limit)


def _finish(shapes: Shapes, split: Split, slots: int, kv_bytes: float) -> Pools:
    tokens = _page(max(0.0, kv_bytes) // shapes.cell_bytes, shapes)
    if split.maximum_tokens is not None:
        tokens = min(tokens, _page(split.maximum_tokens, shapes))
    running = _running(shapes, split, tokens, slots)
    used = float(tokens) * shapes.held_bytes
    if shapes.slot_bytes:
        used += shapes.slot_bytes * (slots + 1.0)
        if shapes.draft_tokens:
            used += float(shapes.slot_bytes) * shapes.draft_tokens * (running + 1)
    return Pools(slots, tokens, running, used)


def _reserve_rule(shapes: Shapes, split: Split, rest: float) -> Pools:
    slot = shapes.slot_bytes
    if shapes.draft_tokens and slot:
        # Reserved for every request of the cap, whether or not so many will run.
        rest -= float(slot) * (split.running or 0) * shapes.draft_tokens
    if not slot:
        slots = 0
    elif split.pinned_slots is not None:
        slots = split.pinned_slots
    elif not shapes.radix and split.running is not None:
        slots = split.running
    else:
        slots = int(rest * split.ratio / (1 + split.ratio) // slot)
    return _finish(shapes, split, slots, rest - float(slots) * slot)


def _joint_rule(shapes: Shapes, split: Split, rest: float) -> Pools:
    slot, draft, per, pad = float(shapes.slot_bytes), shapes.draft_tokens, shapes.slots_per_request, shapes.padding
    if not shapes.slot_bytes:
        return _finish(shapes, split, 0, rest)
    if split.pinned_slots is not None:
        slots = split.pinned_slots
    elif not shapes.radix and split.running is not None:
        slots = max(1, split.running)
    else:
        budget = rest * split.ratio / (1 + split.ratio)
        # States and, with speculation, what is held while drafts are verified, each with its padding.
        slots = int((budget - pad * slot * (1 + draft)) // (slot * (1 + draft / per)))
    if draft:
        running = min(max(1, split.running or 1), slots // per)
        rest -= slot * (running + pad) * draft
    return _finish(shapes, split, slots, rest - (slots + pad) * slot)


def divide(shapes: Shapes, split: Split, rest: float) -> Pools:
    """Divide `rest` bytes as the release does it. Pools that do not work come back as such, never as an exception."""
    if rest <= 0:
        return Pools(0, 0, 0, 0.0)
    pools = _joint_rule(shapes, split, rest) if shapes.joint else _reserve_rule(shapes, split, rest)
    if pools.slots < 0 or (shapes.slot_bytes and pools.slots == 0):
        return Pools(min(pools.slots, 0), 0, 0, 0.0)
    return pools


def demand(shapes: Shapes, running: int, context_tokens: int) -> float:
    """Bytes that so many requests of such a length need."""
    cell = shapes.cell_bytes
    tokens = -(-context_tokens // shapes.page_size) * shapes.page_size
    needed = float(running) * tokens * cell
    if shapes.slot_bytes:
        needed += float(shapes.slot_bytes) * running * shapes.slots_per_request
        pad = shapes.padding if shapes.joint else 0
        extra = (running + pad) * shapes.draft_tokens + pad
        needed += float(shapes.slot_bytes) * extra
    return needed


def ratio_for(shapes: Shapes, running: int, context_tokens: int, rest: float) -> Optional[float]:
    """A state/KV ratio with which `running` requests of that length fit, what is left over shared in proportion to need.

    None when they do not fit into `rest`.
    """
    if not shapes.slot_bytes or not shapes.radix:
        return None
    slot = float(shapes.slot_bytes)
    spare = rest - demand(shapes, running, context_tokens)
    if spare < 0:
        return None
    cell = shapes.cell_bytes
    state_need, token_need = slot * running * shapes.slots_per_request, float(running) * context_tokens * cell
    slots = running * shapes.slots_per_request + int(spare * state_need / (state_need + token_need) // slot)
    while slots >= running * shapes.slots_per_request:
        # Half a slot of room on both sides, so that rounding the ratio cannot lose one.
        if shapes.joint:
            draft, per, pad = shapes.draft_tokens, shapes.slots_per_request, shapes.padding
            budget = slot * ((slots + 0.5) * (1 + draft / per) + pad * (1 + draft))
            base = rest
        else:
            budget, base = slot * (slots + 0.5), rest - slot * running * shapes.draft_tokens
        if 0 < budget < base:
            ratio = round(budget / (base - budget), 6)
            pools = divide(shapes, Split(running, ratio), rest)
            if pools.slots >= running * shapes.slots_per_request and pools.tokens >= running * context_tokens:
                return ratio
        slots -= 1
    return None
