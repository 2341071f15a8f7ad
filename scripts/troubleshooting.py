#!/usr/bin/env python3
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Keep docs/troubleshooting.md equal to the catalogue of failures.

`troubleshooting.py --write` rewrites what stands between the markers; without it, a document that differs is named and the status is 1.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Union

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / ".collections"))
DOCUMENT = ROOT / "docs/troubleshooting.md"
BEGIN, END = "<!-- catalogue:begin -->", "<!-- catalogue:end -->"

from ansible_collections.inference.sglang.plugins.module_utils._diagnosis import Cause, Diagnosis
from ansible_collections.inference.sglang.plugins.module_utils._failure_catalogue import FAILURES, HANGS
from ansible_collections.inference.sglang.plugins.module_utils._failure_types import Failure, Hang, Own
from ansible_collections.inference.sglang.plugins.module_utils._failures_own import OWN

# The beginning of a code, and what such failures have in common.
SECTIONS = {
    "GATE-00": "How a start ended, where the engine does not say why",
    "GATE-01": "Speculative decoding and the recurrent state's scheduler",
    "GATE-02": "The command line",
    "GATE-03": "The model's files",
    "GATE-04": "GPU memory",
    "GATE-05": "GPUs, driver and libraries",
    "GATE-06": "NCCL and optional libraries",
    "GATE-07": "The host",
    "GATE-08": "What follows from another failure",
    "GATE-09": "Silence whose cause is known",
    "GATE-10": "The gate cannot watch",
    "PROBE": "The server runs, but its answers are not those of a working model",
    "CHECK": "The engine check: nothing that runs was touched",
}


class Entry(NamedTuple):
    """What the document says of one code."""

    code: str
    symptoms: tuple[str, ...]
    cause: str
    fix: str
    variable: str
    source: str


def shown_cause(entry: Union[Failure, Hang]) -> Cause:
    """What the collection itself makes of the entry's symptom."""
    diagnosis = Diagnosis()
    for line in entry.symptom.splitlines():
        diagnosis.feed(line)
    return diagnosis.cause_of_silence("…", 300, "…") if isinstance(entry, Hang) else diagnosis.cause_of_death()


def of_the_engine(entry: Union[Failure, Hang]) -> Entry:
    cause = shown_cause(entry)
    return Entry(cause.code, tuple(entry.symptom.splitlines()), cause.what, cause.change, cause.variable, cause.source)


def of_our_own(own: Own) -> Entry:
    return Entry(own.code, own.symptoms, own.cause, own.fix, own.variable, own.source)


def entries() -> list[Entry]:
    """Every failure with a code, in the order of the codes."""
    found = [of_the_engine(entry) for entry in (*FAILURES, *HANGS)] + [of_our_own(own) for own in OWN]
    return sorted(found, key=lambda entry: (list(SECTIONS).index(section_of(entry.code)), entry.code))


def section_of(code: str) -> str:
    return next(begin for begin in SECTIONS if code.startswith(begin))


def lines_of(entry: Entry) -> Iterator[str]:
    yield from (f"### {entry.code}", "", "```text", *entry.symptoms, "```", "")
    yield f"- **Cause:** {sentence(entry.cause)}"
    variable = f" Variable: {', '.join(f'`{name.strip()}`' for name in entry.variable.split(','))}." if entry.variable else ""
    yield f"- **Fix:** {sentence(entry.fix)}{variable}"
    yield f"- **Source:** {entry.source}"
    yield ""


def sentence(text: str) -> str:
    text = text.replace("<", "\\<").replace("*", "\\*")
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def render(known: Iterable[Entry]) -> str:
    lines: list[str] = []
    section = ""
    for entry in known:
        if section_of(entry.code) != section:
            section = section_of(entry.code)
            lines += [f"## {SECTIONS[section]}", ""]
        lines += lines_of(entry)
    return "\n".join(lines)


def updated(document: str) -> str:
    head, marker, rest = document.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not marker or not end:
        raise ValueError(f"no {BEGIN} … {END}")
    return f"{head}{BEGIN}\n{render(entries())}{END}{tail}"


def main(argv: list[str]) -> int:
    document = DOCUMENT.read_text()
    wanted = updated(document)
    if wanted == document:
        return 0
    if "--write" in argv:
        DOCUMENT.write_text(wanted)
        print(f"wrote {DOCUMENT.relative_to(ROOT)}")
        return 0
    print(f"out of date: {DOCUMENT.relative_to(ROOT)}; run `make docs`")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
