# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The reviewed files: cells that are refused, and cells in which engine and plan differ. A new or vanished one fails a run.

A line holds `model | card | releases | what | cause`; the cause of a difference is written by hand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.engine_matrix.judge import ACCEPTED, DIFFERS, REFUSED, UNPROVEN, Verdict

FOLDER = Path(__file__).resolve().parents[1] / "data/engine_matrix"
FILES = {REFUSED: FOLDER / "refused.txt", DIFFERS: FOLDER / "differs.txt"}
NO_CAUSE = "CAUSE?"
_HEADS = {
    REFUSED: "# Refused here, and not possible with the engine either. Rewritten by scripts/engine-matrix --write: review the change.\n",
    DIFFERS: "# Where the engine does not do what the plan says, and why that stands. The causes are written by hand.\n",
}


class Line(NamedTuple):
    """Cells of one model and card that end alike."""

    model: str
    card: str
    releases: tuple[str, ...]
    what: str
    cause: str

    def text(self) -> str:
        """As the file holds it."""
        return " | ".join((self.model, self.card, " ".join(self.releases), self.what, self.cause)).rstrip(" |")


def file_of(end: str) -> str:
    """Unproven refusals stand among the differences: each needs a cause."""
    return REFUSED if end == REFUSED else DIFFERS


def read(end: str) -> list[Line]:
    """The lines of one file."""
    path = FILES[end]
    found = []
    for text in path.read_text().splitlines() if path.exists() else []:
        if text and not text.startswith("#"):
            model, card, releases, what, *cause = (part.strip() for part in text.split(" | "))
            found.append(Line(model, card, tuple(releases.split()), what, cause[0] if cause else ""))
    return found


def _order(release: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", release)]


def label(verdict: Verdict) -> str:
    """What a file says of a cell."""
    return f"refused without proof: {verdict.what}" if verdict.end == UNPROVEN else verdict.what


def compare(found: Sequence[Verdict]) -> list[str]:
    """How a run differs from the files, in lines; cells that were not run are no difference."""
    held = {(release, line.model, line.card): (end, line) for end in FILES for line in read(end) for release in line.releases}
    wrong = []
    for verdict in found:
        cell = verdict.cell
        end, line = held.get((cell.release, cell.model, cell.card), (ACCEPTED, None))
        seen = ACCEPTED if verdict.end == ACCEPTED else file_of(verdict.end)
        was = line.what if line else "planned and accepted"
        now = "planned and accepted" if seen == ACCEPTED else label(verdict)
        if (end, was) != (seen, now):
            wrong.append(f"{cell.key}: {now}" + (f" ({verdict.detail})" if verdict.detail else "") + f"; reviewed: {was}")
        elif line is not None and line.cause == NO_CAUSE:
            wrong.append(f"{cell.key}: {now}: no cause is written")
    return wrong


def _kept(line: Line, run: set[tuple[str, str, str]]) -> tuple[str, ...]:
    return tuple(release for release in line.releases if (release, line.model, line.card) not in run)


def write(found: Sequence[Verdict]) -> None:
    """Put what was found into both files; causes that were written are kept, and so is what was not run."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    run = {(verdict.cell.release, verdict.cell.model, verdict.cell.card) for verdict in found}
    for end, path in FILES.items():
        before = read(end)
        causes = {(line.model, line.card, line.what): line.cause for line in before}
        groups: dict[tuple[str, str, str], list[str]] = {}
        for line in before:
            groups.setdefault((line.model, line.card, line.what), []).extend(_kept(line, run))
        for verdict in found:
            if verdict.end != ACCEPTED and file_of(verdict.end) == end:
                groups.setdefault((verdict.cell.model, verdict.cell.card, label(verdict)), []).append(verdict.cell.release)
        lines = []
        for (model, card, what), releases in groups.items():
            cause = causes.get((model, card, what), NO_CAUSE) if end == DIFFERS else ""
            if releases:
                lines.append(Line(model, card, tuple(sorted(releases, key=_order)), what, cause).text())
        path.write_text(_HEADS[end] + "".join(f"{line}\n" for line in sorted(lines)))
