# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What came of the four commands of a cell, and the figures that are made of many cells. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional

CARD, COOKBOOK, NAIVE, OURS, MANY = KINDS = ("card", "cookbook", "naive", "ours", "ours, throughput")


@dataclass(frozen=True)
class Outcome:
    """One command of one cell."""

    accepted: bool
    """Whether the release's own parser and resolution take it."""
    requests: Optional[int]
    """Served at once; 0 where it does not start, None where the weights' size is not certain."""
    size: int
    """All GPUs that it uses; 0 where there is no command."""
    drafts: bool = False
    why: str = ""
    changed: str = ""

    @property
    def each(self) -> Optional[float]:
        """Requests at once for one GPU."""
        return None if self.requests is None else self.requests / max(1, self.size)


@dataclass(frozen=True)
class Row:
    """A cell and its outcomes by kind; a kind is missing where nothing is published for the model."""

    release: str
    model: str
    card: str
    outcomes: Mapping[str, Outcome]

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "release": self.release,
            "model": self.model,
            "card": self.card,
            "commands": {kind: {**vars(outcome), "per_gpu": outcome.each} for kind, outcome in self.outcomes.items()},
        }


@dataclass(frozen=True)
class Share:
    """How one kind of command did."""

    cells: int
    accepted: int
    serves: int
    unknown: int
    changed: int


@dataclass(frozen=True)
class Against:
    """Ours against another kind: requests at once for each GPU."""

    ratios: tuple[float, ...]
    """Of the cells where both serve."""
    alike: tuple[float, ...]
    """The same with that one of our profiles that drafts where the other drafts, and does not where it does not."""
    only_ours: int
    only_other: int
    neither: int

    @property
    def median(self) -> Optional[float]:
        """Of all ratios."""
        return statistics.median(self.ratios) if self.ratios else None

    @property
    def mean(self) -> Optional[float]:
        """The geometric mean."""
        return geometric_mean(self.ratios)


def geometric_mean(values: Sequence[float]) -> Optional[float]:
    """None of nothing."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def share(rows: Iterable[Row], kind: str) -> Share:
    """Count one kind."""
    found = [row.outcomes[kind] for row in rows if kind in row.outcomes]
    return Share(
        cells=len(found),
        accepted=sum(outcome.accepted for outcome in found),
        serves=sum(bool(outcome.requests) for outcome in found),
        unknown=sum(outcome.requests is None for outcome in found),
        changed=sum(bool(outcome.changed) for outcome in found),
    )


def against(rows: Iterable[Row], kind: str) -> Against:
    """Compare ours with another kind, cell by cell; cells where either is not known are left out."""
    ratios, alike, only = [], [], {OURS: 0, kind: 0, "": 0}
    for row in rows:
        if kind not in row.outcomes:
            continue
        ours, other = row.outcomes[OURS], row.outcomes[kind]
        if ours.each is None or other.each is None:
            continue
        mine = [row.outcomes[name] for name in (OURS, MANY) if name in row.outcomes]
        same = next((outcome for outcome in mine if outcome.drafts == other.drafts), None)
        if same is not None and same.each and other.each:
            alike.append(same.each / other.each)
        if ours.each and other.each:
            ratios.append(ours.each / other.each)
        else:
            only[OURS if ours.each else kind if other.each else ""] += 1
    return Against(tuple(ratios), tuple(alike), only[OURS], only[kind], only[""])


def _number(value: Optional[float]) -> str:
    return "-" if value is None else f"{value:.2f}"


def _line(name: str, rows: Sequence[Row], kind: str) -> list[str]:
    counted = share(rows, kind)
    if not counted.cells:
        return [name, kind, *["-"] * 7]
    cells = [name, kind, str(counted.cells), f"{counted.accepted / counted.cells:.0%}", f"{counted.serves / counted.cells:.0%}"]
    if kind in (OURS, MANY):
        return [*cells, *["-"] * 4]
    found = against(rows, kind)
    alike = statistics.median(found.alike) if found.alike else None
    return [
        *cells,
        f"{_number(found.median)} ({len(found.ratios)})",
        _number(found.mean),
        f"{_number(alike)} ({len(found.alike)})",
        f"{found.only_ours} / {found.only_other} / {found.neither}",
    ]


HEAD = (
    "SGLang",
    "command",
    "cells",
    "accepted",
    "serves",
    "ours to it, median (cells)",
    "geometric mean",
    "like for like, median (cells)",
    "only ours / only it / neither",
)


def table(rows: Sequence[Row]) -> str:
    """All figures, by release and in all, as Markdown."""
    releases = list(dict.fromkeys(row.release for row in rows))
    groups = [(release, [row for row in rows if row.release == release]) for release in releases]
    lines = [list(HEAD), ["---"] * len(HEAD)]
    for name, members in [*groups, ("all", list(rows))]:
        lines += [_line(name, members, kind) for kind in KINDS]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """The table's figures as plain data, of all cells."""
    found: dict[str, Any] = {}
    for kind in KINDS:
        found[kind] = vars(share(rows, kind)).copy()
        if kind not in (OURS, MANY):
            other = against(rows, kind)
            found[kind]["ours_to_it"] = {
                "median": other.median,
                "geometric_mean": other.mean,
                "both": len(other.ratios),
                "like_for_like_median": statistics.median(other.alike) if other.alike else None,
                "only_ours": other.only_ours,
                "only_it": other.only_other,
                "neither": other.neither,
            }
    return found


def sizes_changed(rows: Sequence[Row]) -> str:
    """In how many cells a published size was replaced, in words."""
    counts = {kind: share(rows, kind) for kind in (CARD, COOKBOOK)}
    said = [f"{counted.changed} of {counted.cells} cells ({kind})" for kind, counted in counts.items()]
    return f"The published tensor parallel size is not one for the card, and is our plan's instead: {', '.join(said)}."
