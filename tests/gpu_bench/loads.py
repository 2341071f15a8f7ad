# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The loads of the GPU benchmark: which requests, how long, how many at once. All of a load's requests are sent at the same moment."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

FIRST_ID, LAST_ID = 1000, 200000
"""Ordinary token ids of Qwen's vocabulary: prompts go in as ids, so that their length is exact and no tokenizer takes part."""
LONGEST = 65536
"""Tokens of the worst case's longest prompt: more would cost only time, as a prompt is computed in chunks of one size."""


@dataclass(frozen=True)
class Request:
    """Tokens in and out; the end token is ignored, so that both are exact."""

    tokens_in: int
    tokens_out: int


@dataclass(frozen=True)
class Load:
    """Some requests, and what they are for."""

    name: str
    what: str
    requests: tuple[Request, ...]


def _same(name: str, what: str, count: int, tokens_in: int, tokens_out: int) -> Load:
    return Load(name, what, (Request(tokens_in, tokens_out),) * count)


LOADS = {
    load.name: load
    for load in (
        _same("96", "96 requests of 1024 in / 512 out", 96, 1024, 512),
        _same("8k", "32 requests of 7680 in / 512 out", 32, 7680, 512),
        *(_same(f"at-{count}", f"{count} at once, 1024 in / 256 out", count, 1024, 256) for count in (1, 4, 16, 43)),
    )
}
WORST = "worst"
WARM_UP = _same("warm-up", "what is compiled at the first request", 2, 1024, 16)


def worst_case(figures: Mapping[str, Any]) -> Load:
    """Every place busy while the longest prompt is computed in full chunks. ``figures``: max_running_requests, max_total_num_tokens and
    context_len, as the engine logged them."""
    places, tokens = int(figures["max_running_requests"]), int(figures["max_total_num_tokens"])
    each = Request(min(1024, max(16, tokens // (2 * places) - 256)), 256)
    left = tokens - (places - 1) * (each.tokens_in + each.tokens_out) - 1024
    longest = Request(max(each.tokens_in, min(LONGEST, int(figures["context_len"]) - 1024, left)), 64)
    # The longest goes in between, so that some of the others are decoded meanwhile and some wait for it.
    half = (places - 1) // 2
    requests = (each,) * half + (longest,) + (each,) * (places - 1 - half)
    return Load(WORST, f"{places - 1} requests of {each.tokens_in} in and one of {longest.tokens_in}", requests)


def load_named(name: str, figures: Mapping[str, Any]) -> Load:
    """A load by its name; the worst case depends on the server."""
    return worst_case(figures) if name == WORST else LOADS[name]


def prompts(load: Load, seed: int) -> list[list[int]]:
    """The ids of each prompt, different in each request and each seed: nothing of one can be found in a cache for another."""
    chance = random.Random(f"{load.name} {seed}")
    return [[chance.randrange(FIRST_ID, LAST_ID) for _token in range(request.tokens_in)] for request in load.requests]
