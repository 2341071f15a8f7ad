# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A fact about an SGLang release stands in the release table and nowhere else, as far as a test can see that.

What it can see: in the code, text (no documentation, no comment) that names a version, an option that not every release has, or
words that the table has for a log. What it cannot see: a rule that holds for some releases only and names none of these.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from ansible_collections.inference.sglang.plugins.module_utils._options_read import option_tables
from ansible_collections.inference.sglang.plugins.module_utils._releases import RELEASES, known_releases

ROOT = Path(__file__).resolve().parents[2]
# The table and what is generated for it; and the catalogue of failures, which quotes the engine and says of which release each quote is.
TABLE = re.compile(r"_(releases|options_base|options_changes|failure|failures)(_\w+)?\.py")
CODE = sorted(path for path in [*ROOT.glob("plugins/**/*.py"), *ROOT.glob("roles/*/files/*.py")] if not TABLE.fullmatch(path.name))
TASKS = sorted(path for part in ("tasks", "handlers", "vars", "templates") for path in ROOT.glob(f"roles/*/{part}/**/*") if path.is_file())
VERSION = re.compile(r"\b0\.[0-9]\.[0-9]+(?:\.post[0-9]+)?\b")
# Where something was measured or read is no rule.
CITATION = re.compile(r"measured on |fitted to starts on |^SGLang [\w.]+ [\w/]+\.py")
PROSE = ("DOCUMENTATION", "EXAMPLES", "RETURN")


def names_of_some_releases() -> set[str]:
    tables = [set(table.names()) for table in option_tables().values()]
    return set.union(*tables) - set.intersection(*tables)


def log_texts() -> set[str]:
    """Words of a log that are not the same in every release, and those that prove a start."""
    rows = RELEASES.values()
    found = {row.ready_line for row in rows} | {text for row in rows for _family, text in row.dispatcher_lines}
    stages = {stage for row in rows for stage, _text in row.log_lines}
    texts = [{text for row in rows for name, text in row.log_lines if name == stage} for stage in stages]
    return found.union(*(wordings for wordings in texts if len(wordings) > 1))


# Secrets are kept off command lines whatever the release.
SOME = names_of_some_releases() - {"ssl-keyfile-password"}
LOG = log_texts()


def texts_of(source: str) -> Iterator[tuple[int, str]]:
    """(line, text) of every string that the program itself uses."""
    tree = ast.parse(source)
    prose: set[int] = set()
    for node in ast.walk(tree):
        for statement in getattr(node, "body", []) if isinstance(getattr(node, "body", None), list) else []:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                prose.add(id(statement.value))
        if isinstance(node, ast.Assign) and any(isinstance(target, ast.Name) and target.id in PROSE for target in node.targets):
            prose.add(id(node.value))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.lineno, node.value


def facts_in(text: str) -> list[str]:
    """What in a text belongs into the table."""
    found = [] if CITATION.search(text) else [f"version {version}" for version in VERSION.findall(text) if version in RELEASES]
    words = re.findall(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)+", text)
    found += [f"option {word}" for word in words if word.replace("_", "-") in SOME]
    return found + [f"log line {line!r}" for line in LOG if line in text]


@pytest.mark.parametrize("path", CODE, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_release_fact_in_code(path: Path) -> None:
    found = [f"{path.name}:{line}: {fact}" for line, text in texts_of(path.read_text()) for fact in facts_in(text)]
    assert found == []


@pytest.mark.parametrize("path", TASKS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_release_fact_in_tasks(path: Path) -> None:
    default = yaml.safe_load((ROOT / "roles/ml_env/defaults/main.yml").read_text())["ml_env_sglang_version"]
    lines = [line.split(" #")[0] for line in path.read_text().splitlines() if not line.lstrip().startswith("#")]
    found = [fact for line in lines for fact in facts_in(line)]
    assert [fact for fact in found if fact != f"version {default}"] == []


@pytest.mark.parametrize(
    "text", ["0.5.12.post1", "--mamba-scheduler-strategy", "cuda_graph_max_bs_decode", "^Init parallel begin", "GDN kernel dispatcher: "]
)
def test_the_scan_sees_a_fact(text: str) -> None:
    assert facts_in(f"x {text} y")
    assert [found for _line, found in texts_of(f"def f():\n    'the {text} of a docstring'\n    return {text!r}\n")] == [text]


def test_the_default_release_is_verified() -> None:
    default = yaml.safe_load((ROOT / "roles/ml_env/defaults/main.yml").read_text())["ml_env_sglang_version"]
    assert RELEASES[default].is_verified


def test_every_verified_release_has_a_lock() -> None:
    locks = {path.stem.removeprefix("sglang-") for path in ROOT.glob("roles/ml_env/files/locks/sglang-*.txt")}
    assert {version for version, row in RELEASES.items() if row.is_verified} <= locks


@pytest.mark.online
@pytest.mark.parametrize("version", known_releases())
def test_the_table_is_as_the_wheel_has_it(version: str) -> None:
    run = subprocess.run([sys.executable, str(ROOT / "scripts/release-row"), "--check", version], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
