# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The journal and the report of a rollout as files on the controller."""

from __future__ import annotations

import json
import os
import secrets
import time
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._release_files import write_atomic
from ansible_collections.inference.sglang.plugins.module_utils._rollout_report import Report
from ansible_collections.inference.sglang.plugins.module_utils._rollout_report_page import page


def rollout_id(now: float) -> str:
    """20261130T170000Z-5c1d: sorts by time, and two runs of one second differ."""
    return f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(now))}-{secrets.token_hex(2)}"


def journal_directory(option: Optional[str]) -> str:
    """The option, or the place that the XDG base directory specification has for state."""
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return os.path.abspath(os.path.expanduser(option or f"{state}/inference.sglang/rollouts"))


class Journal:
    """One file for a run, closed to others. Each event is one write, so that a kill leaves whole lines and at most one half."""

    def __init__(self, directory: str, identifier: str) -> None:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        self.path = os.path.join(directory, f"{identifier}.jsonl")
        self.events: list[dict[str, Any]] = []
        self._descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)

    def append(self, event: dict[str, Any]) -> None:
        """Write an event down."""
        self.events.append(event)
        os.write(self._descriptor, json.dumps(event, sort_keys=True).encode() + b"\n")

    def rename(self, identifier: str) -> None:
        """Give it the name that the hosts have written down for this rollout, unless an earlier run has a journal of that name."""
        path = os.path.join(os.path.dirname(self.path), f"{os.path.basename(identifier)}.jsonl")
        if not os.path.lexists(path):
            os.rename(self.path, path)
            self.path = path

    def close(self) -> None:
        """Nothing more comes."""
        os.close(self._descriptor)


def write_report(report: Report, directory: str) -> str:
    """rollout-report.json and .html, each replaced in one step. The path of the latter."""
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, "rollout-report.html")
    write_atomic(os.path.join(directory, "rollout-report.json"), json.dumps(report.as_data(), indent=1, allow_nan=False) + "\n")
    write_atomic(path, page(report))
    return path
