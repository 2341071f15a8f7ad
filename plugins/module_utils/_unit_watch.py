# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A systemd unit's state, and the end of one of its starts as an event."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Optional

from ansible_collections.inference.sglang.plugins.module_utils._errors import CodedError

# Where no event comes: a kernel without pidfd.
SAFETY_INTERVAL = 0.25
_PROPERTIES = "LoadState,ActiveState,SubState,InvocationID,MainPID,NRestarts,Result,ExecMainCode,ExecMainStatus,ControlGroup"


@dataclass(frozen=True)
class UnitState:
    """What systemd says of a unit."""

    load: str
    active: str
    sub: str
    invocation_id: str
    main_pid: int
    restarts: int
    result: str
    exit_code: int
    exit_status: int

    @property
    def running(self) -> bool:
        """Whether its main process is there, as far as systemd knows."""
        return self.main_pid > 0 and self.active in ("active", "activating", "reloading", "deactivating")

    def describe(self) -> str:
        """For a person, with the exit status where there is one."""
        text = f"{self.active} ({self.sub})"
        if self.exit_code in (2, 3):  # CLD_KILLED, CLD_DUMPED
            try:
                name = signal.Signals(self.exit_status).name
            except ValueError:
                name = str(self.exit_status)
            text += f", main process killed by {name}"
        elif self.exit_code == 1:
            text += f", main process ended with status {self.exit_status}"
        if self.result not in ("", "success"):
            text += f", result {self.result}"
        return text


def show_unit(unit: str) -> UnitState:
    """``systemctl show``. Raises CodedError where there is no systemd."""
    try:
        shown = subprocess.run(  # pylint: disable=ansible-bad-function
            ["systemctl", "show", f"--property={_PROPERTIES}", "--", unit], capture_output=True, text=True, check=False, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CodedError(
            "GATE-105", "cannot ask systemd about the unit", str(error), "a host with systemd", f"run: systemctl show {unit}"
        ) from error
    values = dict(line.partition("=")[::2] for line in shown.stdout.splitlines())
    if shown.returncode != 0 or not values:
        raise CodedError(
            "GATE-105", "cannot ask systemd about the unit", shown.stderr.strip(), f"the state of {unit}", f"run: systemctl show {unit}"
        )

    def number(name: str) -> int:
        text = values.get(name, "")
        return int(text) if text.lstrip("-").isdigit() else 0

    return UnitState(
        values.get("LoadState", ""),
        values.get("ActiveState", ""),
        values.get("SubState", ""),
        values.get("InvocationID", ""),
        number("MainPID"),
        number("NRestarts"),
        values.get("Result", ""),
        number("ExecMainCode"),
        number("ExecMainStatus"),
    )


class UnitWatch:
    """Whether one start (one invocation) of a unit is still alive."""

    def __init__(self, unit: str, invocation_id: str, show: Callable[[str], UnitState] = show_unit) -> None:
        self._unit = unit
        self._invocation_id = invocation_id
        self._show = show
        self._pidfd = -1
        self._pid = 0
        self.final: Optional[UnitState] = None
        state = show(unit)
        if not self._is_ours(state):
            self.final = state
            return
        self._pid = state.main_pid
        try:
            self._pidfd = os.pidfd_open(state.main_pid)
        except ProcessLookupError:
            self.final = show(unit)
            return
        except (AttributeError, OSError):
            # An old kernel, or a sandbox without that call: /proc is looked at every SAFETY_INTERVAL.
            self._pidfd = -1
        # The process may have ended, and its number been reused, before the pidfd was opened.
        again = show(unit)
        if not self._is_ours(again) or again.main_pid != self._pid:
            self.final = again

    def _is_ours(self, state: UnitState) -> bool:
        return state.running and state.invocation_id == self._invocation_id and state.sub != "auto-restart"

    def fileno(self) -> int:
        """Becomes readable when the main process ends; -1 where the kernel has no such event."""
        return self._pidfd

    @property
    def interval(self) -> float:
        """How long a wait may last without missing a death."""
        return SAFETY_INTERVAL if self._pidfd < 0 else 5.0

    def ended(self) -> bool:
        """Whether this start is over. ``final`` then holds what systemd said."""
        if self.final is not None:
            return True
        if not self._gone():
            return False
        self.final = self._settled()
        return True

    def _gone(self) -> bool:
        if self._pidfd >= 0:
            return bool(select.select([self._pidfd], [], [], 0)[0])
        try:
            with open(f"/proc/{self._pid}/stat", encoding="utf-8", errors="replace") as stream:
                return stream.read().rpartition(")")[2].split()[0] in ("Z", "X")
        except OSError:
            return True

    def _settled(self) -> UnitState:
        """The state once systemd has noticed as well: it takes milliseconds, and says why."""
        deadline = time.monotonic() + 0.2
        state = self._show(self._unit)
        while self._is_ours(state) and state.main_pid == self._pid and time.monotonic() < deadline:
            time.sleep(0.02)  # systemd offers no event for this without a D-Bus client
            state = self._show(self._unit)
        return state

    def describe(self) -> str:
        """What became of it."""
        state = self.final
        if state is None:
            return ""
        if state.invocation_id and state.invocation_id != self._invocation_id:
            return f"the unit has been started again since ({state.restarts} automatic restarts)"
        return state.describe()

    def close(self) -> None:
        """Give the descriptor back."""
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1
