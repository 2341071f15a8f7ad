# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The gate and the diagnosis over every recorded start, and the gate with each of its conditions taken away."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ansible_collections.inference.sglang.plugins.module_utils._failure_catalogue import FAILURES

from tests.gate_rates import mutants, rates, report
from tests.gate_rates.recordings import LOGS, UNHEALTHY, recordings

ROOT = Path(__file__).resolve().parents[2]


def test_no_recording_is_misjudged_and_the_document_says_so() -> None:
    missed: list[str] = []
    found = rates.rates(recordings(), missed.append)
    assert missed == []
    document = report.DOCUMENT.read_text()
    assert document == report.updated(document, found), "run scripts/gate-rates --write"


def test_every_recording_that_failed_is_known_to_have() -> None:
    names = {path.stem for path in LOGS.rglob("*.log")}
    assert set(UNHEALTHY) <= names
    assert {name for name in names if not name.startswith("start-")} <= set(UNHEALTHY)


def test_a_wrong_name_an_unknown_one_and_a_miss_are_counted() -> None:
    """The count itself, on recordings whose truth is said to be another."""
    known = {recording.name: recording for recording in recordings()}
    missed: list[str] = []
    another = replace(known["fail-topk-missing"], code="GATE-010")
    unknown = replace(known["fail-tp2-on-one-gpu"], lines=("nothing of use",), status="status 1")
    found = rates.rates([another, unknown], missed.append)
    assert found.recorded == {rates.RIGHT: 0, rates.WRONG: 1, rates.UNKNOWN: 1}
    assert len(missed) >= 2
    start = known["start-tiny-mtp"]
    first = next(index for index, line in enumerate(start.lines) if "GDN kernel dispatcher" in line)
    refused = replace(start, lines=start.lines[:first] + start.lines[first + 1 :])
    assert rates.rates([start, refused], missed.append).refused == (2, 4)


def test_an_entry_that_is_too_wide_is_seen_when_the_right_one_is_deleted() -> None:
    narrow = next(failure for failure in FAILURES if failure.code == "GATE-050")
    wide = replace(narrow, pattern=r"^Received sigquit")
    recording = next(recording for recording in recordings() if recording.name == "fail-tp2-on-one-gpu")
    cause = rates.cause_of(recording, rates.Diagnosis((wide,)))
    assert cause is not None
    assert not rates.shows(cause, rates.first_exception(recording.lines))


def test_the_mutants_are_different_programs() -> None:
    every = mutants.mutants()
    assert len({mutant.source for mutant in every}) == len(every) > 100
    assert set(mutants.EQUIVALENT) <= {mutant.condition for mutant in every}
