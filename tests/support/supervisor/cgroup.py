# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The control group of a service: which processes are its own, told by the kernel, as under systemd."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from tests.support.supervisor.unit_file import Refused

_SLICE = "system.slice"


def hierarchy(mounts: str) -> str:
    """Where systemd would keep its groups, of the text of /proc/self/mounts: all of cgroup v2, else its own tree of v1."""
    unified, named, other = "", "", ""
    for line in mounts.splitlines():
        _device, place, kind, options = line.split()[:4]
        if kind == "cgroup2" and place == "/sys/fs/cgroup":
            unified = place
        elif kind == "cgroup" and "name=systemd" in options.split(","):
            named = place
        elif kind == "cgroup2":
            other = place
    return unified or named or other


class Group:
    """One service's group."""

    def __init__(self, unit: str) -> None:
        self.name = f"/{_SLICE}/{unit}"
        root = hierarchy(Path("/proc/self/mounts").read_text())
        if not root:
            raise Refused("to start without control groups, which tell a server's processes: mount -t cgroup2 none /sys/fs/cgroup")
        self._path = Path(root + self.name)

    def make(self) -> None:
        """Make it, and end what an earlier start may have left in it."""
        self._path.mkdir(parents=True, exist_ok=True)
        self.kill()

    def join(self) -> None:
        """Put this process into it."""
        (self._path / "cgroup.procs").write_text("0")

    def members(self) -> list[int]:
        """The processes in it; a zombie is none."""
        try:
            return [int(line) for line in (self._path / "cgroup.procs").read_text().split()]
        except FileNotFoundError:
            return []

    def kill(self, patience: float = 30.0) -> None:
        """SIGKILL to every process, until none is left; a process in the driver may take a while."""
        deadline = time.monotonic() + patience
        while members := self.members():
            for pid in members:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            if time.monotonic() > deadline:
                raise Refused(f"to go on while processes {members} cannot be killed")
            time.sleep(0.02)

    def remove(self) -> None:
        """Remove the group, and the slice when nothing else is in it."""
        for place in (self._path, self._path.parent):
            with contextlib.suppress(OSError):
                place.rmdir()
