# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What an entry of the failure catalogue is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

# How close to the root a line is. A root cause beats what follows from it, wherever either stands in the log: ranks interleave.
ROOT = 0
CONSEQUENCE = 1
GENERIC = 2


@dataclass(frozen=True)
class Failure:
    """One way in which a start fails."""

    code: str
    pattern: str
    # Lines of a log, without their prefix, that show this failure: the last one matches the pattern.
    symptom: str
    what: str
    change: str
    variable: str
    source: str
    weight: int = ROOT
    # A pattern that must have been seen on an earlier line of this start, or must not have been.
    after: Optional[str] = None
    unless: Optional[str] = None
    # Only where mem_fraction_static leaves something after the weights, by the figures in the log (or where they are not there).
    needs_room: bool = False


@dataclass(frozen=True)
class Warn:
    """A line that does not stop a start, but that a person should hear of."""

    pattern: str
    text: str


@dataclass(frozen=True)
class Hang:
    """What a silence means, from the lines before it."""

    code: str
    last_line: str
    seen: str
    unless: str
    # Lines of a log that goes silent after the last of them.
    symptom: str
    what: str
    change: str
    variable: str
    source: str


@dataclass(frozen=True)
class Own:
    """What this collection concludes or refuses by itself, without a line of the engine that says so."""

    code: str
    # The messages that carry the code, with … where each differs.
    symptoms: tuple[str, ...]
    cause: str
    fix: str
    variable: str = ""
    source: str = "this collection"


SETTINGS = "sglang_server_settings"
GPU = "measured on one H200, SGLang 0.5.11"
