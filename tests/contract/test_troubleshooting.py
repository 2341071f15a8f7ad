# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Codes of failures: in the catalogue, in the messages and in docs/troubleshooting.md they are the same, and none is ever reused."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Optional

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._failure_catalogue import FAILURES, HANGS, RETIRED
from ansible_collections.inference.sglang.plugins.module_utils._failures_own import OWN

from scripts import troubleshooting

ROOT = Path(__file__).resolve().parents[2]
CODE = re.compile(r"\b(?:GATE|PROBE|CHECK)-\d+\b")
ENTRIES = troubleshooting.entries()
CODES = [entry.code for entry in ENTRIES]
# Each code with what it meant when it was first given. Lines are added here and never changed to mean something else.
LEDGER: dict[str, str] = json.loads((ROOT / "tests/data/failure_codes.json").read_text())
# What makes the messages of the gate, the diagnosis, the probe and the engine check.
PROVING = [
    ROOT / "plugins" / name
    for name in (
        *(f"modules/{module}.py" for module in ("log_gate", "serving_probe", "server_soak", "engine_check")),
        *(f"module_utils/{core}.py" for core in ("_diagnosis", "_log_gate", "_log_source", "_log_stages", "_soak", "_unit_watch")),
        *(f"module_utils/{core}.py" for core in ("_probe", "_probe_client", "_probe_judge", "_engine_runner", "_engine_process")),
    )
]


def test_the_document_is_the_catalogue() -> None:
    assert troubleshooting.main([]) == 0
    assert re.findall(r"^### (\S+)$", troubleshooting.DOCUMENT.read_text(), re.M) == CODES


def test_a_changed_entry_is_seen_in_the_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(troubleshooting, "OWN", troubleshooting.OWN[1:])
    assert troubleshooting.main([]) == 1


def test_codes_are_unique_and_well_formed() -> None:
    assert sorted(CODES) == sorted([entry.code for entry in (*FAILURES, *HANGS, *OWN)])  # each symptom shows its own entry
    assert len(set(CODES)) == len(CODES)
    assert all(re.fullmatch(r"(?:GATE|PROBE|CHECK)-\d{3}", code) for code in CODES)


def test_codes_are_never_reused() -> None:
    assert set(LEDGER) == set(CODES) | set(RETIRED)
    assert not set(CODES) & set(RETIRED)


@pytest.mark.parametrize("code", sorted(set(LEDGER) - set(RETIRED)))
def test_a_code_means_what_it_meant(code: str) -> None:
    entry = next(entry for entry in (*FAILURES, *HANGS, *OWN) if entry.code == code)
    if entry in OWN:
        assert LEDGER[code] in entry.symptoms
    else:
        assert troubleshooting.shown_cause(replace(entry, symptom=LEDGER[code])).code == code


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.code)
def test_every_entry_says_symptom_cause_fix_and_source(entry: troubleshooting.Entry) -> None:
    assert all(text.strip() for text in (*entry.symptoms, entry.cause, entry.fix, entry.source))
    assert "{" not in entry.cause + entry.fix


# ----- the messages -----
def template(node: ast.expr) -> Optional[str]:
    """The text of a literal, with … where it is filled in."""
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def nodes_of(path: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(path.read_text()))


def coded(path: Path) -> Iterator[tuple[str, str]]:
    """Code and message of each refusal in a file that names its code itself."""
    for node in nodes_of(path):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("CodedError", "ProbeFailure"):
            code, wrong = template(node.args[0]), template(node.args[1])
            if code is not None and wrong is not None:
                yield code, wrong


@pytest.mark.parametrize("path", PROVING, ids=lambda path: path.name)
def test_every_message_of_the_proof_has_a_code_with_its_symptom(path: Path) -> None:
    for node in nodes_of(path):
        if isinstance(node, ast.Call):
            assert not (isinstance(node.func, ast.Name) and node.func.id == "SglangError"), f"{path.name}:{node.lineno} has no code"
            assert not any(word.arg == "msg" for word in node.keywords if getattr(node.func, "attr", "") == "fail_json"), node.lineno
    symptoms = {own.code: own.symptoms for own in OWN}
    for code, wrong in coded(path):
        assert wrong in symptoms[code], f"{path.name}: {code}: {wrong}"


def test_every_symptom_is_a_message_that_can_come() -> None:
    texts = {text for path in PROVING for node in nodes_of(path) if isinstance(node, ast.expr) and (text := template(node))}
    roles = "\n".join(path.read_text() for path in ROOT.glob("roles/*/tasks/*.yml"))
    for own in OWN:
        for symptom in own.symptoms:
            assert any(symptom in text for text in texts) or f"{own.code}: {symptom}" in roles, f"{own.code}: {symptom}"


def test_every_code_that_is_named_anywhere_exists() -> None:
    for pattern in ("plugins/**/*.py", "roles/*/tasks/*.yml", "playbooks/*.yml", "docs/**/*.md", "tests/**/*.py"):
        for path in ROOT.glob(pattern):
            named = set(CODE.findall(path.read_text()))
            assert named <= set(CODES) | set(RETIRED), path.name
