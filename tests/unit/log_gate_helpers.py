# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A gate with a clock that stands still, the recorded logs, and two lines that every start of a GDN model logs."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.inference.sglang.plugins.module_utils._log_gate import Expectation, LogGate

LOGS = Path(__file__).parent.parent / "data" / "logs"
GDN = "GDN kernel dispatcher"
DISPATCHER = f"[2026-11-30 02:11:57 TP0] {GDN}: decode=TritonGDNKernel, extend=TritonGDNKernel, verify=TritonGDNKernel packed_decode=True"
READY = "[2026-11-30 02:12:58] The server is fired up and ready to roll!"


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def gate(count: int = 1, dispatcher: str | None = GDN, **kwargs: object) -> LogGate:
    expectation = Expectation(dispatcher, count if dispatcher else 0, family="gdn" if dispatcher else "none")
    return LogGate(expectation, kwargs.pop("clock", Clock()), **kwargs)  # type: ignore[arg-type]


def lines_of(name: str) -> list[str]:
    return (LOGS / f"{name}.log").read_text().splitlines()


def until_ready(name: str) -> list[str]:
    lines = lines_of(name)
    return lines[: next(i for i, line in enumerate(lines) if "fired up" in line) + 1]


def feed(subject: LogGate, lines: list[str]) -> str:
    for line in lines:
        if line.startswith("rc="):
            subject.ended(f"status {line[3:]}")
        else:
            subject.feed(line)
    return subject.verdict
