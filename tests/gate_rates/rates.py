# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""How often the gate and the diagnosis are right, over every recorded start and every line that the catalogue cites."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Optional

from ansible_collections.inference.sglang.plugins.module_utils._diagnosis import Cause, Diagnosis
from ansible_collections.inference.sglang.plugins.module_utils._failure_catalogue import FAILURES
from ansible_collections.inference.sglang.plugins.module_utils._failure_types import Failure
from ansible_collections.inference.sglang.plugins.module_utils._log_gate import Expectation, LogGate

from tests.gate_rates.injected import injected
from tests.gate_rates.recordings import GDN, Recording

RIGHT, WRONG, UNKNOWN = "named rightly", "named wrongly", "unknown"
# What the diagnosis says when it does not know: the first exception, or that there was none.
UNKNOWN_CODES = ("GATE-001", "GATE-002", "GATE-007")
MARK = "inference.sglang: start {} at 2026-11-30 02:00:00"
_PREFIX = re.compile(r"^\[\d{4}-[^\]]*\] ?")


class Clock:
    """A clock that goes on only when it is told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def judged(expectation: Expectation, lines: Iterable[str], status: str = "", silent: bool = False, **options: object) -> LogGate:
    """The gate after these lines and the end of the process, or a silence."""
    clock = Clock()
    gate = LogGate(expectation, clock, **options)  # type: ignore[arg-type]
    for line in lines:
        gate.feed(line)
    clock.now += gate.stall_timeout if silent else 1
    gate.tick()
    if gate.verdict == "waiting" or status:
        gate.ended(status or "status 1")
    return gate


def cause_after_ready(recording: Recording, diagnosis: Diagnosis) -> Cause:
    """Of a server that had been ready: what its whole log says."""
    for line in recording.lines:
        diagnosis.feed(_PREFIX.sub("", line))
    return diagnosis.cause_of_death(recording.status)


def cause_of(recording: Recording, diagnosis: Optional[Diagnosis] = None) -> Optional[Cause]:
    """What is said of a recorded failure."""
    diagnosis = diagnosis or Diagnosis()
    if recording.until_ready:
        return cause_after_ready(recording, diagnosis)
    return judged(recording.expectation, recording.lines, recording.status, recording.silent, diagnosis=diagnosis).cause


def rating(found: str, wanted: str) -> str:
    """Whether that is the right code."""
    return RIGHT if found == wanted else UNKNOWN if found in UNKNOWN_CODES else WRONG


# ----- what must not pass, and what must not be refused -----
def healthy_ways(recording: Recording) -> dict[str, LogGate]:
    """A healthy start by itself, and after the remains of an earlier start in the same file."""
    lines, expectation = recording.until_ready, recording.expectation
    marked = [MARK.format("old"), "[2026-11-30 01:00:00] Received sigquit from a child process.", MARK.format("new"), *_unmarked(lines)]
    return {
        "by itself": judged(expectation, lines),
        "after a failed start": judged(expectation, marked, invocation_id="new", wait_for_marker=True),
    }


def unhealthy_ways(recording: Recording) -> dict[str, LogGate]:
    """What a healthy start becomes when one thing is taken away."""
    lines, expectation = list(recording.until_ready), recording.expectation
    ways = {
        "ended just before ready": judged(expectation, lines[:-1]),
        "silent just before ready": judged(expectation, lines[:-1], silent=True),
        "ready only in an earlier start": judged(
            expectation, [MARK.format("old"), *_unmarked(lines), MARK.format("new")], invocation_id="new", wait_for_marker=True
        ),
    }
    if expectation.count:
        last = max(index for index, line in enumerate(lines) if GDN in line)
        ways["without its last dispatcher line"] = judged(expectation, lines[:last] + lines[last + 1 :])
        ways["with that line after ready"] = judged(expectation, lines[:last] + lines[last + 1 :] + [lines[last]])
    return ways


def _unmarked(lines: Iterable[str]) -> list[str]:
    return [line for line in lines if not line.startswith("inference.sglang: start ")]


# ----- without its entry -----
def without(failure: Failure, text: str) -> tuple[Failure, ...]:
    """The catalogue without an entry and without those that read the same line: they are the general case, or a figure tells them apart."""
    line = text.splitlines()[-1]
    same = {other.code for other in FAILURES if re.search(other.pattern, line)}
    return tuple(other for other in FAILURES if other.code not in same | {failure.code})


def deleted_cause(recording: Recording) -> Optional[Cause]:
    """What is said of a recorded failure when its entry is not there."""
    known = cause_of(recording)
    entry = next((failure for failure in FAILURES if failure.code == recording.code), None)
    if entry is None:
        return cause_of(recording, Diagnosis(hangs=()))
    return cause_of(recording, Diagnosis(without(entry, known.evidence if known else "")))


def shows(cause: Optional[Cause], exception: str) -> bool:
    """It is said to be unknown, with the first exception where there is one."""
    return cause is not None and cause.code in UNKNOWN_CODES and (cause.code == "GATE-001") is bool(exception) and exception in cause.what


def first_exception(lines: Iterable[str]) -> str:
    """The first traceback's exception, as a person would find it; torchcodec's, which it only warns of, are none."""
    inside = quoted = False
    for line in (_PREFIX.sub("", text) for text in lines):
        quoted = (quoted or "[start of libtorchcodec" in line) and "[end of libtorchcodec" not in line
        if quoted:
            continue
        if line.rstrip().endswith("Traceback (most recent call last):"):
            inside = True
        elif inside and re.match(r"[A-Za-z_][\w.]*(?:Error|Exception)\b", line):
            return line.strip()
    return ""


def cited(failure: Failure, failures: tuple[Failure, ...] = FAILURES) -> Optional[Cause]:
    """What the gate says of a start whose log holds the lines that the catalogue cites, and nothing else."""
    return judged(Expectation(None, 0), failure.symptom.splitlines(), "status 1", diagnosis=Diagnosis(failures)).cause


@dataclass(frozen=True)
class Rates:
    """All counts."""

    recorded: dict[str, int]
    cited: dict[str, int]
    injected: dict[str, int]
    refused: tuple[int, int]  # healthy starts that were refused, of how many
    passed: tuple[int, int]  # unhealthy ones that passed, of how many
    deleted: tuple[int, int]  # not "unknown" with the first exception, although the entry was deleted, of how many

    def table(self) -> str:
        """For docs/reliability.md."""
        rows = [
            ("recorded failures", self.recorded),
            ("lines that the catalogue cites", self.cited),
            ("faults put into servers on real hosts", self.injected),
        ]
        lines = ["| | named rightly | named wrongly | unknown |", "| --- | --- | --- | --- |"]
        lines += [f"| {name} | {found[RIGHT]} of {sum(found.values())} | {found[WRONG]} | {found[UNKNOWN]} |" for name, found in rows]
        lines += ["", "| | found | cases |", "| --- | --- | --- |"]
        lines += [
            f"| {name} | {found} | {cases} |"
            for name, (found, cases) in (
                ("healthy starts that were refused", self.refused),
                ("unhealthy ones that passed", self.passed),
                ('not "unknown" with the first exception, after its entry was deleted', self.deleted),
            )
        ]
        return "\n".join(lines) + "\n"


def count(found: Iterable[str]) -> dict[str, int]:
    """How many of each rating."""
    every = list(found)
    return {rating: every.count(rating) for rating in (RIGHT, WRONG, UNKNOWN)}


def share(cases: Iterable[bool]) -> tuple[int, int]:
    """How many are true, of how many."""
    every = list(cases)
    return sum(every), len(every)


def rates(known: list[Recording], say: Callable[[str], None] = lambda _text: None) -> Rates:
    """Everything, over all recordings; each miss is said."""
    sick, healthy = [r for r in known if r.code], [r for r in known if r.until_ready]

    def told(miss: bool, text: str) -> bool:
        if miss:
            say(text)
        return miss

    def rated_code(name: str, said: str, code: str) -> str:
        found = rating(said, code)
        told(found != RIGHT, f"{name}: {found}: {said or 'nothing'} instead of {code}")
        return found

    def rated(name: str, cause: Optional[Cause], code: str) -> str:
        return rated_code(name, cause.code if cause else "", code)

    deleted = [(r.name, deleted_cause(r), first_exception(r.lines)) for r in sick if r.code != "GATE-004"]  # no entry: a stop
    deleted += [(f"cited {entry.code}", cited(entry, without(entry, entry.symptom)), "") for entry in FAILURES]
    return Rates(
        recorded=count(rated(r.name, cause_of(r), r.code) for r in sick),
        cited=count(rated(f"cited {failure.code}", cited(failure), failure.code) for failure in FAILURES),
        injected=count(rated_code(record["fault"], record["found"], record["wanted"]) for record in injected()),
        refused=share(told(g.verdict != "ready", f"{r.name} {way}: refused") for r in healthy for way, g in healthy_ways(r).items()),
        passed=share(told(g.verdict == "ready", f"{r.name} {way}: passed") for r in healthy for way, g in unhealthy_ways(r).items()),
        deleted=share(told(not shows(cause, first), f"{name} without its entry: {cause}") for name, cause, first in deleted),
    )
