# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Puts commands to a release's engine, and remembers what it said.

The same command, card, environment and program always get the same answer, so a command is asked once; a change of this
collection's rules asks again only about the commands that it changed. Answers are kept as they come: a run that was ended goes on.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from ansible_collections.inference.sglang.plugins.module_utils._engine_runner import RUNNER
from ansible_collections.inference.sglang.plugins.module_utils._releases import release_of

from tests.engine_matrix.cells import CARDS
from tests.engine_matrix.environments import NoEnvironment, digest, make

HERE = Path(__file__).resolve().parent
STAND_INS = HERE.parent / "support/cpu_engine/stubs"
PLAIN, WEIGHTS = "resident.py", "weight_shapes.py"
"""The program that asks, and the one that also hands the engine a weight."""
PROGRAMS = ("resident.py", "later_checks.py", "fake_card.py")


def asking(kind: str) -> str:
    """The program for a cell that this collection refuses for this reason; the plain one where it does not."""
    return WEIGHTS if kind == "misread" else PLAIN


def key(program: str, card: str, question: dict[str, Any]) -> str:
    """What an answer depends on."""
    parts = [program, CARDS[card], question["argv"], question.get("env", {}), question["model"]]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def program_of(release: str, program: str = PLAIN) -> str:
    """The environment and the programs that ask in it."""
    texts = [digest(release), RUNNER, *((HERE / name).read_text() for name in dict.fromkeys((*PROGRAMS, program)))]
    texts += [path.read_text() for path in sorted(STAND_INS.glob("*.py"))]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def _remembered(path: Path) -> dict[str, dict[str, Any]]:
    found = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            answer = json.loads(line)
        except ValueError:
            continue  # the last line of a run that was ended
        found[answer["key"]] = answer
    return found


def ask(release: str, questions: dict[str, list[dict[str, Any]]], fresh: bool = False) -> dict[str, dict[str, Any]]:
    """Card -> [{id, model, argv, env, program}] put to a release's engine: id -> its raw answer. Raises NoEnvironment."""
    python = make(release)
    store = python.parents[1] / "answers.jsonl"
    known = {} if fresh else _remembered(store)
    texts = {program: program_of(release, program) for program in (PLAIN, WEIGHTS)}
    every = [(card, question.get("program", PLAIN), question) for card, asked in questions.items() for question in asked]
    keys = {question["id"]: key(texts[program], card, question) for card, program, question in every}
    for program in texts:
        new: dict[str, list[dict[str, Any]]] = {}
        for card, wanted, question in every:
            if wanted == program and keys[question["id"]] not in known:
                new.setdefault(card, []).append(question)
        for answer in _put(release, python, new, program) if new else ():
            answer["key"] = keys[answer["id"]]
            known[answer["key"]] = answer
            with store.open("a") as stream:
                stream.write(json.dumps(answer) + "\n")
    return {name: known[name_key] for name, name_key in keys.items()}


def _put(release: str, python: Path, questions: dict[str, list[dict[str, Any]]], program: str) -> Any:
    """The answers as they come."""
    job = {
        "runner": RUNNER,
        "cuda": release_of(release, allow_unverified=True).cuda,
        "stand_ins": str(STAND_INS),
        "batches": [{"card": CARDS[card], "questions": asked} for card, asked in questions.items()],
    }
    with (
        tempfile.TemporaryDirectory(prefix="engine-matrix-") as home,
        tempfile.TemporaryFile("w+") as errors,
        tempfile.TemporaryFile("w+") as asked,
    ):
        json.dump(job, asked)
        asked.seek(0)
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "LC_ALL")}
        kept.update(dict.fromkeys(("HOME", "HF_HOME", "XDG_CACHE_HOME", "TMPDIR"), home))
        command = [str(python), str(HERE / program)]
        with subprocess.Popen(command, stdin=asked, stdout=subprocess.PIPE, stderr=errors, text=True, env=kept) as process:
            for line in process.stdout or []:
                yield json.loads(line)
        if process.returncode:
            errors.seek(0)
            raise NoEnvironment(f"the engine's process ended with {process.returncode}: {errors.read().strip()[-800:]}")
