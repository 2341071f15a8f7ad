# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whether a server that became ready stays up for a while: the log gate turned round, fed with the same lines and the same end.

Ready is what is left when the time is over, and neither the process has ended nor its log shows a failure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Optional

from ansible_collections.inference.sglang.plugins.module_utils._diagnosis import Diagnosis
from ansible_collections.inference.sglang.plugins.module_utils._log_gate import DEAD, READY, WAITING, LogGate


@dataclass
class Soak(LogGate):
    """Feed it the whole log of the start: what came before the ready line is the gate's business, not this one's."""

    soak: float = 0.0
    stopped: str = "somebody asked the server to stop while it was watched"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.stall_timeout = self.timeout = math.inf  # a server that nobody asks logs nothing
        self._heard = True
        self._serving = False

    def _read_end(self, body: str, text: str, stamp: Optional[float]) -> None:
        if self._ready.search(body):
            self._serving, self.diagnosis = True, Diagnosis()
        elif self._serving:
            super()._read_end(body, text, stamp)

    def tick(self) -> str:
        """The time may be over. A failure in the log counts also where nothing has died of it yet."""
        if super().tick() == WAITING and self._dying is None and self.clock() - self._begun >= self.soak:
            known = self.diagnosis.known_cause()
            self._finish(DEAD if known else READY, known)
        return self.verdict

    def seconds_to_tick(self) -> float:
        """How long ``tick`` can wait for nothing to be missed."""
        return max(0.0, min(super().seconds_to_tick(), self._begun + self.soak - self.clock()))
