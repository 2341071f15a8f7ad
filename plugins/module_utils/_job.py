# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is known about a background job: shared by the module that looks at it and the action plugin that follows it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError

# The key that job_status adds to the job's own result; ansible-core drops keys that begin with an underscore and "ansible".
REPORT_KEY = "inference_sglang_job"
DEFAULT_LIMIT_SECONDS = 24 * 3600
WRAPPER_TIMEOUT = "Timeout exceeded"


@dataclass(frozen=True)
class JobReport:
    """One look at a job. ``state`` is running, finished, killed (it ended without a result), timeout or gone."""

    state: str
    offset: int = 0
    lines: list[dict[str, Any]] = field(default_factory=list)
    started: bool = True
    restarted: bool = False
    detail: str = ""

    @classmethod
    def from_result(cls, result: dict[str, Any]) -> Optional[JobReport]:
        """Take the report out of a result of job_status; None when there is none in it."""
        raw = result.pop(REPORT_KEY, None)
        return cls(**raw) if isinstance(raw, dict) else None

    def as_dict(self) -> dict[str, Any]:
        return {
            "state": self.state,
            "offset": self.offset,
            "lines": self.lines,
            "started": self.started,
            "restarted": self.restarted,
            "detail": self.detail,
        }


def limit_for(timeout: object, slack: int) -> int:
    """Seconds after which the job is killed: the module's own timeout and some slack, or a day."""
    try:
        seconds = int(float(str(timeout)))
    except ValueError:
        return DEFAULT_LIMIT_SECONDS
    return seconds + slack if seconds > 0 else DEFAULT_LIMIT_SECONDS


def split_progress(data: bytes) -> tuple[list[dict[str, Any]], int]:
    """Whole lines of a piece of a progress file, and how many bytes they took; a line still being written stays for later."""
    end = data.rfind(b"\n") + 1
    lines = []
    for raw in data[:end].splitlines():
        try:
            line = json.loads(raw)
        except ValueError:
            continue
        if isinstance(line, dict):
            lines.append(line)
    return lines, end


def progress_line(line: dict[str, Any]) -> str:
    """``phase: text`` as a person reads it; control characters of a tool's output must not reach the terminal."""
    text = f"{line.get('phase', '')}: {line.get('text', '')}"
    return "".join(char if char.isprintable() else " " for char in text).strip(": ")


def job_state(data: dict[str, Any]) -> tuple[str, str]:
    """What a job file says: (state, detail). ansible-core's wrapper writes its own failures in place of the module's result."""
    if data.get("started") and "finished" in data and not data["finished"] and "failed" not in data:
        return "running", ""
    if data.get("failed") and "child_pid" in data and data.get("msg") == WRAPPER_TIMEOUT:
        return "timeout", ""
    if data.get("failed") and "data" in data and "json char found" in str(data.get("msg", "")):
        output = (str(data.get("data") or "") + "\n" + str(data.get("stderr") or "")).strip()
        return "killed", "\n".join(output.splitlines()[-5:])
    return "finished", ""


def vanished_error(action: str, report: JobReport, last: str, limit: int) -> SglangError:
    """The message for a job that ended without the module's own result."""
    after = f"after its last sign of life: {last}" if last else "before it reported anything"
    again = "run the play again: what it had finished is kept, what it had not is done anew"
    if report.state == "timeout":
        return SglangError(
            f"{action} was ended by its time limit",
            found=f"still running after {limit} seconds, {after}",
            wanted=f"a result within {limit} seconds",
            next_step="raise the option 'timeout', or look on the host for what holds it up",
        )
    if report.restarted:
        return SglangError(
            f"{action} was cut off by a restart of the host",
            found=f"the host started again {after}",
            wanted="a host that stays up until the job is done",
            next_step=again,
        )
    if report.state == "killed":
        return SglangError(
            f"{action} was killed on the host",
            found=f"its process ended without a result {after}" + (f"; it said: {report.detail}" if report.detail else ""),
            wanted="a process that runs to its end",
            next_step=f"look for the out-of-memory killer (journalctl -k | grep -i oom), then {again}",
        )
    return SglangError(
        f"{action} has vanished from the host",
        found=f"its background job is gone ({report.detail or 'no process'}) {after}",
        wanted="the job's process, or its result",
        next_step=again,
    )
