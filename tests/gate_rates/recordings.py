# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The recorded starts, and what each is in truth: by the name that says what was done to it, not by what the gate makes of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ansible_collections.inference.sglang.plugins.module_utils._log_gate import Expectation

LOGS = Path(__file__).resolve().parents[1] / "data/logs"
GDN = "GDN kernel dispatcher"
READY = "The server is fired up and ready to roll!"
_STATUS = re.compile(r"^rc=(\d+)$")

# The failures, with the code of what was done. What is not here became ready and stayed so as far as it was recorded.
UNHEALTHY = {
    "fail-draft-tokens-only": "GATE-010",
    "fail-topk-missing": "GATE-011",
    "fail-no-strategy": "GATE-012",
    "fail-extra-buffer-without-radix": "GATE-013",
    "fail-unknown-flag": "GATE-020",
    "fail-no-model-dir": "GATE-030",
    "fail-not-enough-memory-ct129-tp2": "GATE-040",
    "fail-mem-fraction-too-small": "GATE-041",
    "fail-oom-draft-kv": "GATE-043",
    "fail-tp2-on-one-gpu": "GATE-050",
    "fail-torchcodec": "GATE-061",
    "hang-after-dispatcher-ct129-tp2": "GATE-090",
    "killed-spec-v1-during-start": "GATE-004",
    "killed-planned-qwen3-32b-during-piecewise-graphs": "GATE-004",
    # These had become ready before.
    "start-ct129-tp2-mtp-3-1-4-then-rank-killed": "GATE-082",
    "start-planned-27b-launched-then-scheduler-killed": "GATE-083",
    "start-planned-27b-then-died-of-structured-output": "GATE-017",
}
# How the process ended, where the recording does not say it.
ENDS = {"killed-planned-qwen3-32b-during-piecewise-graphs": "status 0: stopped as asked"}


@dataclass(frozen=True)
class Recording:
    """One recorded start."""

    name: str
    lines: tuple[str, ...]
    status: str
    code: str  # of the failure; empty for a start that stayed healthy

    @property
    def expectation(self) -> Expectation:
        """What its plan expects, from the arguments that the engine printed: two dispatcher lines with a draft model."""
        if "cpu" in self.name or "qwen3-32b" in self.name:  # plain transformers
            return Expectation(None, 0)
        drafts = any("speculative_algorithm='" in line for line in self.lines)
        return Expectation(GDN, 2 if drafts else 1, family="gdn")

    @property
    def silent(self) -> bool:
        """It did not end: it went silent."""
        return self.name.startswith("hang-")

    @property
    def until_ready(self) -> tuple[str, ...]:
        """As far as its ready line, with it; empty where there is none."""
        return next((self.lines[: index + 1] for index, line in enumerate(self.lines) if READY in line), ())


def read(path: Path) -> Recording:
    """A log of the folder; its last line may be the status that the process ended with."""
    lines = path.read_text().splitlines()
    ended = _STATUS.match(lines[-1])
    status = f"status {ended[1]}" if ended else ENDS.get(path.stem, "")
    return Recording(path.stem, tuple(lines[:-1] if ended else lines), status, UNHEALTHY.get(path.stem, ""))


def recordings() -> list[Recording]:
    """All of them."""
    return [read(path) for path in sorted(LOGS.rglob("*.log"))]
