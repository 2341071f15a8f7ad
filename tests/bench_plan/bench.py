# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""One release of the comparison: make the commands of every cell, put them to its engine, size what it accepts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._engine_runner import parse_answer
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._memory import THROUGHPUT
from ansible_collections.inference.sglang.plugins.module_utils._model_profile import profile_model

from tests.bench_plan.outcomes import CARD, COOKBOOK, MANY, NAIVE, OURS, Outcome, Row
from tests.bench_plan.published import DIST, Command, command_of, node_arguments
from tests.bench_plan.sizing import served
from tests.engine_matrix.answers import ask, asking
from tests.engine_matrix.cells import CARDS, SIZES, all_models, kind_of, planned, read, write_folders
from tests.engine_matrix.environments import cache
from tests.engine_matrix.independent import weight_bytes
from tests.engine_matrix.judge import engines_refusal

CONTEXT_TOKENS = 4096
NAIVE_FACTOR = 1.2


@dataclass(frozen=True)
class Cell:
    """A cell, its GPUs and its commands; ours is missing where nothing is planned."""

    release: str
    model: str
    card: str
    size: int
    commands: dict[str, Command]
    refusal: str = ""


def gdn_models() -> list[str]:
    """The recorded models with Gated DeltaNet layers."""
    return [model for model in all_models() if profile_model(read(model), read(model, ".hf_quant_config")).recurrent_family == "gdn"]


def memory_mib(card: str) -> int:
    """As nvidia-smi prints it."""
    return int(str(CARDS[card]["memory_mib"]))


def naive_size(weights: float, memory: float) -> Optional[tuple[int, int]]:
    """(hosts, GPUs of each): the fewest whose memory holds the weights and a fifth more."""
    return next((size for size in SIZES if weights * NAIVE_FACTOR <= memory * size[0] * size[1]), None)


def naive(model: str, card: str, path: str) -> Optional[Command]:
    """The rule of thumb: it decides the size, everything else is the engine's default."""
    weights = weight_bytes(model)
    if weights is None:
        return None
    hosts, each = naive_size(weights, memory_mib(card) * 2.0**20) or SIZES[-1]
    return Command(["--model-path", path, "--tp-size", str(hosts * each), *node_arguments(hosts * each)], hosts * each)


def ours(
    release: str, model: str, card: str, path: str, sizes: Sequence[tuple[int, int]] = SIZES, profile: str = "balanced"
) -> tuple[Optional[Command], tuple[int, int], str]:
    """The plan on the fewest GPUs that serve the workload: (command, (hosts, GPUs of each), why not)."""
    why, tried = "", sizes[0]
    for hosts, each in sizes:
        settings: dict[str, Any] = {"model_path": path}
        if hosts > 1:
            settings.update(node_rank=0, dist_init_addr=DIST)
        try:
            load = {"context_tokens": CONTEXT_TOKENS, "profile": profile}
            plan = planned(release, model, card, (hosts, each), settings, load)
        except SglangError as error:
            words = str(error).splitlines()[0]
            if not words.startswith("Tensor parallelism over"):
                return None, (hosts, each), words
            why = why or words
            continue
        if plan["memory"]["fits"] is not False:
            return Command(plan["argv"], hosts * each, plan["env"]), (hosts, each), ""
        why, tried = plan["memory"]["why"], (hosts, each)
    return None, tried, why


def make_cell(release: str, model: str, card: str, base: Path) -> Cell:
    """The commands of a cell. One that says for itself how many GPUs it takes for this card keeps them, others get our plan's."""
    path = str(base / model)
    mine, (hosts, each), why = ours(release, model, card, path)
    size = hosts * each
    found = {kind: command_of(kind, model, card, path, size) for kind in (CARD, COOKBOOK)}
    many = ours(release, model, card, path, [(hosts, each)], THROUGHPUT)[0] if mine is not None else None
    found.update({NAIVE: naive(model, card, path), OURS: mine, MANY: many})
    return Cell(release, model, card, size, {kind: command for kind, command in found.items() if command is not None}, why)


def outcome(cell: Cell, command: Command, raw: dict[str, Any]) -> Outcome:
    """What came of a command, by the engine's raw answer."""
    why = engines_refusal(raw)
    if why is not None:
        return Outcome(False, 0, command.size, False, why, command.changed)
    answer = parse_answer(raw["output"])
    assert answer is not None
    found = served(
        read(cell.model),
        read(cell.model, ".hf_quant_config"),
        cell.release,
        memory_mib(cell.card),
        command.size,
        CONTEXT_TOKENS,
        answer.resolved,
    )
    return Outcome(True, found.requests, command.size, found.drafts, found.why, command.changed)


def name_of(cell: Cell, kind: str) -> str:
    """A question's name."""
    return f"{cell.release} {cell.model} {cell.card} {kind}"


def asked_kinds(cell: Cell) -> dict[str, str]:
    """Kind -> the first kind with the same command, which is asked for both."""
    found: dict[str, str] = {}
    for kind, command in cell.commands.items():
        same = (command.argv, command.env)
        found[kind] = next((other for other in found if (cell.commands[other].argv, cell.commands[other].env) == same), kind)
    return found


def run_release(release: str, models: Sequence[str], cards: Sequence[str], fresh: bool = False) -> list[Row]:
    """The rows of a release. Raises NoEnvironment."""
    base = write_folders(cache() / "models")
    cells = [make_cell(release, model, card, base) for card in cards for model in models]
    questions: dict[str, list[dict[str, Any]]] = {card: [] for card in cards}
    for cell in cells:
        for kind in dict.fromkeys(asked_kinds(cell).values()):
            command = cell.commands[kind]
            asked = {"id": name_of(cell, kind), "model": cell.model, "argv": command.argv, "env": command.env}
            questions[cell.card].append({**asked, "program": asking(kind_of(cell.refusal))})
    answers = ask(release, questions, fresh)
    rows = []
    for cell in cells:
        same = asked_kinds(cell)
        found = {kind: outcome(cell, command, answers[name_of(cell, same[kind])]) for kind, command in cell.commands.items()}
        for kind in (OURS, MANY):
            found.setdefault(kind, Outcome(False, 0, 0, why=cell.refusal))
        rows.append(Row(release, cell.model, cell.card, found))
    return rows
