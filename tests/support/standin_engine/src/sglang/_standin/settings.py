# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""How the stand-in behaves, from STANDIN_* environment variables (README.md)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

# Stage -> the recorded line at which it begins. Deaths and hangs happen right after that line.
STAGES = {
    "arguments": re.compile(r"server_args=ServerArgs\("),
    "distributed": re.compile(r"\] Init torch distributed begin"),
    "weights": re.compile(r"\] Load weight begin"),
    "memory": re.compile(r"\] Using KV cache dtype"),
    "dispatcher": re.compile(r"kernel dispatcher: "),
    "graphs": re.compile(r"\] Capture cuda graph begin"),
    "draft": re.compile(r"type=\w*MTP\b"),
    "http": re.compile(r"Uvicorn running on "),
    "warmup": re.compile(r'"GET /model_info HTTP'),
    "ready": re.compile(r"The server is fired up and ready to roll!"),
    # Not a line: the first completion that somebody asks for.
    "request": re.compile(r"(?!)"),
}
# kill: a rank is killed; self: the main process is; exit0: it leaves with status 0, unasked; the rest say recorded words first.
MANNERS = ("assertion", "memory", "oom", "kill", "self", "exit0")
_USUAL_MANNER = {"arguments": "assertion", "weights": "memory", "memory": "memory", "graphs": "oom", "draft": "oom"}


@dataclass(frozen=True)
class Settings:
    """One run's behaviour."""

    log: str = "ct129-mtp"
    speed: float = 20.0
    die_at: str = ""
    manner: str = "kill"
    hang_at: str = ""
    answer: str = ""
    accept_length: float = 2.7
    delay: float = 0.0
    token_seconds: float = 0.0

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Settings:
        """Refuses a stage or manner that it does not know: a test that injects no fault must not pass."""
        stage, _colon, manner = environment.get("STANDIN_DIE_AT", "").partition(":")
        hang = environment.get("STANDIN_HANG_AT", "")
        for name in filter(None, (stage, hang)):
            if name not in STAGES:
                raise SystemExit(f"stand-in: no stage {name!r}; there are {', '.join(STAGES)}")
        manner = manner or _USUAL_MANNER.get(stage, "kill")
        if manner not in MANNERS:
            raise SystemExit(f"stand-in: no manner {manner!r}; there are {', '.join(MANNERS)}")
        return cls(
            log=environment.get("STANDIN_LOG") or "ct129-mtp",
            speed=max(0.01, float(environment.get("STANDIN_SPEED") or 20)),
            die_at=stage,
            manner=manner,
            hang_at=hang,
            answer=environment.get("STANDIN_ANSWER", ""),
            accept_length=float(environment.get("STANDIN_ACCEPT_LENGTH") or 2.7),
            delay=float(environment.get("STANDIN_DELAY") or 0),
            token_seconds=float(environment.get("STANDIN_TOKEN_SECONDS") or 0),
        )

    def lines(self) -> list[str]:
        """The log to replay: a path, or the name of one in this package."""
        if "/" in self.log:
            return Path(self.log).read_text(encoding="utf-8", errors="replace").splitlines()
        return recorded(f"{self.log}.log")


def recorded(name: str) -> list[str]:
    """A log of this package."""
    return resources.files("sglang._standin").joinpath(f"data/{name}").read_text(encoding="utf-8").splitlines()
