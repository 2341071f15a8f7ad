# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The commands that others publish, from tests/data/bench_plan/commands.json, put to one cell."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Optional

DATA = Path(__file__).resolve().parents[1] / "data/bench_plan/commands.json"
ANY = "any"
NEAREST = ("H100", "B200")
"""Whose command a card takes that the publisher does not list."""
HOST = 8
"""GPUs of a host."""
DIST = "10.0.0.1:5000"
_MODEL = ("--model-path", "--model")
_SIZE = ("--tp-size", "--tensor-parallel-size", "--tp")
_PROGRAMS = (["python", "-m", "sglang.launch_server"], ["sglang", "serve"])


@dataclass(frozen=True)
class Command:
    """One command for one cell."""

    argv: list[str]
    size: int
    """All GPUs that it uses."""
    env: dict[str, str] = field(default_factory=dict)
    changed: str = ""
    """What had to be changed of the published one, beside the model's path."""


@cache
def published() -> dict[str, list[dict[str, Any]]]:
    """The data file: {"card" or "cookbook": [{of, models, place, commands: {card: command}}]}."""
    found: dict[str, list[dict[str, Any]]] = json.loads(DATA.read_text())
    return found


def read_command(text: str) -> tuple[dict[str, str], list[str]]:
    """A shell command as (variables, arguments after the program)."""
    words, env = shlex.split(text), {}
    while words and re.match(r"[A-Z][A-Z0-9_]*=", words[0]):
        name, _equals, value = words.pop(0).partition("=")
        env[name] = value
    for program in _PROGRAMS:
        if words[: len(program)] == program:
            return env, words[len(program) :]
    raise ValueError(f"no program of SGLang in: {text}")


def _at(argv: Sequence[str], names: Sequence[str]) -> Optional[int]:
    return next((index + 1 for index, word in enumerate(argv) if word in names), None)


def node_arguments(size: int) -> list[str]:
    """What a command over several hosts of eight GPUs needs; every kind gets the same."""
    return ["--nnodes", str(size // HOST), "--node-rank", "0", "--dist-init-addr", DIST] if size > HOST else []


def put(text: str, model_path: str, size: int, listed: bool) -> Command:
    """A published command on a cell of so many GPUs. Its own number of GPUs is kept where it was published for this card."""
    env, argv = read_command(text)
    where = _at(argv, _MODEL)
    if where is None:
        raise ValueError(f"no model in: {text}")
    argv[where] = model_path
    where = _at(argv, _SIZE)
    own = int(argv[where]) if where is not None else 1
    if listed or own == size:
        return Command(argv + node_arguments(own), own, env)
    if where is None:
        argv += ["--tp-size", str(size)]
    else:
        argv[where] = str(size)
    return Command(argv + node_arguments(size), size, env, f"size {own} -> {size}")


def command_of(kind: str, model: str, card: str, model_path: str, size: int) -> Optional[Command]:
    """The card's or the cookbook's command for a cell; None where nothing is published for the model."""
    for entry in published()[kind]:
        if model not in entry["models"]:
            continue
        commands = entry["commands"]
        for name in (card, ANY, *NEAREST):
            if name in commands:
                return put(commands[name], model_path, size, name == card)
    return None
