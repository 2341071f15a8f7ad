# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The engine's scheduler processes: they do nothing, but they are there, can be killed, and are spawned as the engine spawns them."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
from multiprocessing import connection
from multiprocessing.process import BaseProcess

_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15


def rank_main(title: str, parent: int) -> None:
    """Wait to be killed; die with the parent."""
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    libc.prctl(_PR_SET_NAME, title.encode(), 0, 0, 0)
    if os.getppid() != parent:
        return
    while True:
        signal.pause()


class Ranks:
    """One process for each tensor and pipeline parallel rank."""

    def __init__(self, count: int) -> None:
        context = multiprocessing.get_context("spawn")
        titles = [f"sglang::TP{index}" if count > 1 else "sglang::schedul" for index in range(count)]
        self.processes: list[BaseProcess] = [context.Process(target=rank_main, args=(title, os.getpid())) for title in titles]
        for process in self.processes:
            process.start()

    def dead(self, timeout: float) -> int:
        """Wait so long for a rank to end; its number, or -1."""
        gone = connection.wait([process.sentinel for process in self.processes], timeout)
        return next((i for i, process in enumerate(self.processes) if process.sentinel in gone), -1)

    def kill_one(self) -> None:
        """The last rank, as a kill from outside would."""
        self.processes[-1].kill()

    def kill(self) -> None:
        """All of them."""
        for process in self.processes:
            process.kill()

    def exit_code(self, rank: int) -> int:
        """Negative for a signal."""
        self.processes[rank].join(5)
        code = self.processes[rank].exitcode
        return code if code is not None else 0
