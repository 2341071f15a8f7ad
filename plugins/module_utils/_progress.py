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

# One line a host at least every ten seconds, and hardly more: fifty hosts are then five to seven lines a second. Whoever reports on a
# timer of nine seconds is always heard.
MINIMUM_INTERVAL = 8.0


class Progress:
    """Appends to a progress file; without a path every call does nothing."""

    def __init__(self, path: Optional[str], clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        # By a clock that nobody sets: the other one, set back, would silence a phase. Two phases in turn are no way around the limit.
        self._last: dict[str, float] = {}

    def report(
        self,
        phase: str,
        text: str,
        done: Optional[int] = None,
        total: Optional[int] = None,
        force: bool = False,
    ) -> None:
        """Append a line; a phase is limited to one line in MINIMUM_INTERVAL seconds unless forced."""
        if not self._path:
            return
        now = self._clock()
        if not force and phase in self._last and now - self._last[phase] < MINIMUM_INTERVAL:
            return
        self._last[phase] = now
        line = json.dumps({"time": time.time(), "phase": phase, "text": text, "done": done, "total": total}) + "\n"
        # One write to an O_APPEND descriptor: a reader never sees half a line of ours mixed with another.
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)
