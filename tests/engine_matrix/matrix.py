# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""One release of the engine matrix: plan every cell, put all commands to its engine at once, judge the answers."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ansible_collections.inference.sglang.plugins.module_utils._engine_runner import RUNNER
from ansible_collections.inference.sglang.plugins.module_utils._releases import release_of

from tests.engine_matrix.cells import CARDS, Cell, plan_cell, write_folders
from tests.engine_matrix.environments import NoEnvironment, make
from tests.engine_matrix.judge import Verdict, judge

HERE = Path(__file__).resolve().parent
STAND_INS = HERE.parent / "support/cpu_engine/stubs"


def ask_engine(release: str, questions: dict[str, list[dict[str, Any]]], scratch: Path) -> dict[str, dict[str, Any]]:
    """Card -> [{id, argv, env}] put to a release's engine: id -> its raw answer. Raises NoEnvironment."""
    job = {
        "runner": RUNNER,
        "cuda": release_of(release, allow_unverified=True).cuda,
        "stand_ins": str(STAND_INS),
        "batches": [{"card": CARDS[card], "questions": asked} for card, asked in questions.items()],
    }
    home = {name: str(scratch) for name in ("HOME", "HF_HOME", "XDG_CACHE_HOME", "TMPDIR")}
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "LC_ALL")}
    python = make(release)
    done = subprocess.run(
        ["nice", "-n", "10", str(python), str(HERE / "resident.py")],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        check=False,
        env={**kept, **home},
    )
    if done.returncode:
        raise NoEnvironment(f"the engine's process ended with {done.returncode}: {done.stderr.strip()[-800:]}")
    return {answer["id"]: answer for answer in map(json.loads, done.stdout.splitlines())}


def run_release(release: str, models: Sequence[str], cards: Sequence[str]) -> list[Verdict]:
    """The verdicts of a release, in a fixed order. Raises NoEnvironment."""
    with tempfile.TemporaryDirectory(prefix="engine-matrix-") as name:
        scratch = Path(name)
        base = scratch / "models"
        base.mkdir()
        write_folders(models, base)
        cells = [plan_cell(release, model, card, base) for card in cards for model in models]
        questions: dict[str, list[dict[str, Any]]] = {card: [] for card in cards}
        for cell in cells:
            questions[cell.card].append(_question(cell))
        answers = ask_engine(release, questions, scratch)
    return [judge(cell, answers[cell.key]) for cell in cells]


def _question(cell: Cell) -> dict[str, Any]:
    if cell.plan is None:
        return {"id": cell.key, "argv": cell.natural}
    return {"id": cell.key, "argv": cell.plan["argv"], "env": cell.plan["env"]}
