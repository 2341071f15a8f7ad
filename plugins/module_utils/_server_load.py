# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""How many requests a server has in flight, by its own ``/v1/loads``. Pure.

Shape (SGLang 0.5.9 to 0.5.23, srt/entrypoints/v1_loads.py): {"loads": [{"num_running_reqs": int, "num_waiting_reqs": int, …}]}, one
each data-parallel rank. The sums under "aggregate" are gone since 0.5.14. A prompt that is read in pieces stands in neither for a while,
and the last words of an answer may still be on their way when its request is counted out: hence more than one look.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError

LOADS_PATH = "/v1/loads?include=core"


@dataclass(frozen=True)
class Load:
    """Requests in flight."""

    running: int
    waiting: int

    @property
    def total(self) -> int:
        """Both."""
        return self.running + self.waiting

    def describe(self) -> str:
        """For a person."""
        return f"{self.running} running, {self.waiting} waiting"


def parse_load(body: bytes) -> Load:
    """Summed over the ranks."""
    try:
        ranks = json.loads(body)["loads"]
        if not ranks:
            raise ValueError("no rank")
        return Load(sum(int(rank["num_running_reqs"]) for rank in ranks), sum(int(rank["num_waiting_reqs"]) for rank in ranks))
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise SglangError(
            "the server does not say how many requests it has",
            found=body[:200].decode("utf-8", "replace"),
            wanted="num_running_reqs and num_waiting_reqs of each rank under /v1/loads",
            next_step="every release in the table has it; look at what listens on the server's port",
        ) from error


class IdleWatch:
    """Idle is what was seen idle several times in a row."""

    def __init__(self, looks: int) -> None:
        self._looks = looks
        self._seen = 0

    def see(self, total: int) -> bool:
        """One look; whether that is enough."""
        self._seen = self._seen + 1 if total == 0 else 0
        return self._seen >= self._looks
