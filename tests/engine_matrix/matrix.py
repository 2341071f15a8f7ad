# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""One release of the engine matrix: plan every cell, put all commands to its engine, judge the answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.engine_matrix.answers import ask, asking
from tests.engine_matrix.cells import Cell, plan_cell, write_folders
from tests.engine_matrix.environments import cache
from tests.engine_matrix.judge import Verdict, judge


def question(cell: Cell) -> dict[str, Any]:
    """What the engine is asked about a cell: the planned command, or the natural one where nothing is planned."""
    asked = {"argv": cell.natural, "env": {}} if cell.plan is None else {"argv": cell.plan["argv"], "env": cell.plan["env"]}
    return {"id": cell.key, "model": cell.model, "program": asking(cell.kind), **asked}


def run_release(release: str, models: Sequence[str], cards: Sequence[str], fresh: bool = False) -> list[Verdict]:
    """The verdicts of a release, in a fixed order. Raises NoEnvironment."""
    base = write_folders(cache() / "models")
    cells = [plan_cell(release, model, card, base) for card in cards for model in models]
    questions: dict[str, list[dict[str, Any]]] = {card: [] for card in cards}
    for cell in cells:
        questions[cell.card].append(question(cell))
    answers = ask(release, questions, fresh)
    return [judge(cell, answers[cell.key]) for cell in cells]
