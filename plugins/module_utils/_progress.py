# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The progress file of a long module: JSON lines that the controller polls and prints.

One line: ``{"time": seconds since the epoch, "phase": str, "text": str, "done": int|null, "total": int|null}``.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from typing import Optional

# A line a phase every few seconds is what a person can follow; fifty hosts must not flood a terminal.
MINIMUM_INTERVAL = 5.0


class Progress:
    """Appends to a progress file; without a path every call does nothing."""

    def __init__(self, path: Optional[str], clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._last_phase = ""
        self._last_time = 0.0

    def report(
        self,
        phase: str,
        text: str,
        done: Optional[int] = None,
        total: Optional[int] = None,
        force: bool = False,
    ) -> None:
        """Append a line; the same phase is limited to one line in MINIMUM_INTERVAL seconds unless forced."""
        if not self._path:
            return
        now = self._clock()
        if phase == self._last_phase and not force and now - self._last_time < MINIMUM_INTERVAL:
            return
        self._last_phase, self._last_time = phase, now
        line = json.dumps({"time": now, "phase": phase, "text": text, "done": done, "total": total}) + "\n"
        # One write to an O_APPEND descriptor: a reader never sees half a line of ours mixed with another.
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)
