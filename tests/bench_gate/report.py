# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Percentiles of the verdicts, as a table for docs/benchmarks.md."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

OURS = "log_gate, journal"
EVENTS = {"ready": "the ready line is written", "killed": "the main process is killed"}


def percentile(values: Iterable[float], share: float) -> float:
    """The nearest rank: the smallest value that so great a share of all values does not exceed."""
    every = sorted(values)
    return every[max(0, math.ceil(share * len(every)) - 1)]


def table(verdicts: Iterable[Mapping[str, Any]]) -> list[str]:
    """A row for each event and contender, with the ratio of its time to ours."""
    found: dict[tuple[str, str], list[float]] = {}
    for verdict in verdicts:
        found.setdefault((verdict["kind"], verdict["who"]), []).append(verdict["seconds"])
    lines = [
        "| event | noticed by | events | p50 | p99 | p50, times ours | p99, times ours |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for kind, event in EVENTS.items():
        for (of, who), values in found.items():
            if of != kind:
                continue
            ours = found[kind, OURS]
            middle, tail = percentile(values, 0.5), percentile(values, 0.99)
            ratios = (
                [f"{value / percentile(ours, share):.1f}" for value, share in ((middle, 0.5), (tail, 0.99))] if who != OURS else ["", ""]
            )
            lines.append(f"| {event} | {who} | {len(values)} | {middle:.2f} s | {tail:.2f} s | {ratios[0]} | {ratios[1]} |")
    return lines
