# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Run a command and see how long it took and how much memory it needed, on the controller's side and on the hosts'."""

from __future__ import annotations

import os
import secrets
import subprocess
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

MARK = "BENCH_TRANSFER"
EVERY_SECONDS = 0.5


@dataclass(frozen=True)
class Run:
    """One command that ended well."""

    seconds: float
    controller_mib: float
    """Most memory (PSS, MiB) that all of its ansible-playbook processes had together at one moment."""
    host_mib: float
    """The same of all other processes: modules, downloaders, or the command itself where it is no playbook."""


class CommandFailed(Exception):
    """What is compared must work; its last lines say why it did not."""


def _parent(process: str) -> str:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1]


def _pss_mib(process: str) -> float:
    for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0


def marked(processes: Iterable[str], mark: bytes) -> set[str]:
    """Those whose environment has the mark, and what descends from them: downloaders get an environment of their own."""
    parents: dict[str, str] = {}
    found: set[str] = set()
    for process in processes:
        with suppress(OSError, IndexError):
            parents[process] = _parent(process)
            if mark in Path(f"/proc/{process}/environ").read_bytes():
                found.add(process)
    more = found
    while more:
        more = {process for process, parent in parents.items() if parent in more and process not in found}
        found |= more
    return found


class _Memory:
    """Looks twice a second until it is told to stop."""

    def __init__(self, mark: bytes) -> None:
        self.controller = self.host = 0.0
        self._mark = mark
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def _watch(self) -> None:
        while not self._end.wait(EVERY_SECONDS):
            sums = {True: 0.0, False: 0.0}
            for process in marked((name for name in os.listdir("/proc") if name.isdigit()), self._mark):
                with suppress(OSError):
                    command = Path(f"/proc/{process}/cmdline").read_bytes()
                    sums[b"ansible-playbook" in command.replace(b"\0", b" ")[:300]] += _pss_mib(process)
            self.controller, self.host = max(self.controller, sums[True]), max(self.host, sums[False])

    def __enter__(self) -> _Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()


def run_all(commands: Sequence[Sequence[str]], folder: Path, environment: Optional[Mapping[str, str]] = None, stdin: str = "") -> Run:
    """Run commands side by side and wait for all; output goes into files of ``folder``."""
    mark = f"{MARK}={secrets.token_hex(8)}"
    name, _, value = mark.partition("=")
    values = {**os.environ, **(environment or {}), name: value}
    folder.mkdir(parents=True, exist_ok=True)
    with _Memory(mark.encode()) as memory:
        started = time.monotonic()
        children = []
        for number, command in enumerate(commands):
            with (folder / f"output-{number}").open("wb") as output:
                child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT, env=values)
            assert child.stdin is not None
            child.stdin.write(stdin.encode())
            child.stdin.close()
            children.append(child)
        codes = [child.wait() for child in children]
        seconds = time.monotonic() - started
    for number, code in enumerate(codes):
        if code:
            words = (folder / f"output-{number}").read_text(errors="replace")[-3000:]
            raise CommandFailed(f"{' '.join(commands[number])} ended with {code}:\n{words}")
    return Run(seconds, memory.controller, memory.host)
