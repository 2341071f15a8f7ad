# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whether a test notices when any one of the gate's conditions is missing: `python -m tests.gate_rates.mutants [NUMBER ...]`.

A mutant is the gate's module with one thing changed: an `if` that always or never holds, an operand of `and` or `or` left out, or a sign
of death not known. Each is put in the module's place in a process of its own, in which the gate's tests then run; one must fail.
"""

from __future__ import annotations

import ast
import copy
import importlib
import os
import sys
import time
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "ansible_collections.inference.sglang.plugins.module_utils"
SOURCE = ROOT / "plugins/module_utils/_log_gate.py"
TESTS = tuple(f"tests/unit/test_log_gate{part}.py" for part in ("", "_conditions", "_draft", "_figures"))
# Patterns whose alternatives are conditions, too.
PATTERNS = ("_DEATHS", "_LAST_WORDS")
# Mutants that no test can tell from the gate, with the reason.
EQUIVALENT: dict[str, str] = {}
_SECONDS = 900


@dataclass(frozen=True)
class Mutant:
    """The gate with one condition missing."""

    line: int
    condition: str
    source: str


def _alternatives(pattern: str) -> list[str]:
    """The alternatives of a regular expression at its top level."""
    parts, depth, current = [], 0, ""
    for character in pattern:
        depth += (character == "(") - (character == ")")
        if character == "|" and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += character
    return [*parts, current]


def _places(tree: ast.Module) -> Iterator[tuple[ast.AST, list[tuple[str, ast.expr]]]]:
    """Each node that holds a condition, with what to put in the condition's place, and what that is called."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If):
            test = ast.unparse(node.test)
            yield node, [(f"if {test}: {word}", ast.Constant(value)) for word, value in (("always", True), ("never", False))]
            for part in ast.walk(node.test):
                if isinstance(part, ast.BoolOp):
                    yield part, list(_without_one(part, test))
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in PATTERNS:
            call = node.value
            assert isinstance(call, ast.Call)
            pattern = ast.literal_eval(call.args[0])
            parts = _alternatives(pattern)
            yield (
                call,
                [
                    (f"{node.targets[0].id} without {part}", ast.Constant("|".join(other for other in parts if other != part)))
                    for part in parts
                ],
            )


def _without_one(node: ast.BoolOp, test: str) -> Iterator[tuple[str, ast.expr]]:
    """Each operand of `and` or `or` left out."""
    for index, operand in enumerate(node.values):
        rest = [value for place, value in enumerate(node.values) if place != index]
        yield f"if {test}: without {ast.unparse(operand)}", rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)


def _put(tree: ast.Module, number: int, new: ast.expr) -> str:
    """The source with the node of that number changed."""
    changed = copy.deepcopy(tree)
    node = [place for place, _ways in _places(changed)][number]
    if isinstance(node, ast.If):
        node.test = new
    elif isinstance(node, ast.Call):
        node.args[0] = new
    else:
        assert isinstance(node, ast.BoolOp)
        # A BoolOp of one operand is written as that operand.
        node.values = [new]
    return ast.unparse(ast.fix_missing_locations(changed))


def mutants() -> list[Mutant]:
    """All of them, in a fixed order."""
    tree = ast.parse(SOURCE.read_text())
    return [
        Mutant(getattr(node, "lineno", 0), name, _put(tree, number, new))
        for number, (node, ways) in enumerate(_places(tree))
        for name, new in ways
    ]


def _stand_in(source: str) -> None:
    """Put a module of that source in the gate's place."""
    module = types.ModuleType(f"{PACKAGE}._log_gate")
    module.__file__ = str(SOURCE)
    sys.modules[module.__name__] = module
    exec(compile(source, str(SOURCE), "exec"), module.__dict__)
    importlib.import_module(PACKAGE)._log_gate = module  # type: ignore[attr-defined]


def is_noticed(mutant: Mutant) -> bool:
    """Whether a test fails, in a process of its own that knows nothing of the real gate."""
    child = os.fork()
    if child == 0:
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        try:
            import pytest

            _stand_in(mutant.source)
            os._exit(int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *TESTS])))
        except BaseException:
            os._exit(1)
    return _status_of(child) != 0


def _status_of(child: int) -> int:
    """Its exit status; a mutant that never ends is noticed by that."""
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return -9


def survivors(chosen: list[Mutant]) -> list[Mutant]:
    """Those that no test notices."""
    for name in ("hypothesis", "_pytest.assertion.rewrite", f"{PACKAGE}._diagnosis", f"{PACKAGE}._log_stages"):
        importlib.import_module(name)
    return [mutant for mutant in chosen if not is_noticed(mutant)]


def unnoticed(chosen: list[Mutant]) -> list[str]:
    """Those that no test notices, although one could."""
    return [f"no test notices line {mutant.line}: {mutant.condition}" for mutant in survivors(chosen) if mutant.condition not in EQUIVALENT]


def main(argv: list[str]) -> int:
    every = mutants()
    found = unnoticed([every[int(number)] for number in argv] or every)
    print("\n".join([f"{len(every)} conditions", *found]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / ".collections")]
    os.chdir(ROOT)
    sys.exit(main(sys.argv[1:]))
