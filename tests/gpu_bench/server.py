# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""One server of the benchmark: started, watched by the collection's own log gate, and ended with everything that it started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._log_gate import WAITING, Expectation, LogGate

MEMORY = ("nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits")


def used_mib() -> list[int]:
    """MiB in use on each card; nothing where there is no nvidia-smi."""
    try:
        text = subprocess.run(MEMORY, capture_output=True, text=True, check=True, timeout=20).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    return [int(line) for line in text.split() if line.isdigit()]


class MemoryWatch:
    """Asks for the memory in use while something runs; ``seen`` has the fullest card's."""

    def __init__(self, pause: float = 1.0) -> None:
        self.seen: list[int] = []
        self._pause = pause
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        while not self._over.is_set():
            self.seen += [max(used_mib(), default=0)]
            self._over.wait(self._pause)

    def __enter__(self) -> MemoryWatch:
        self._thread.start()
        return self

    def __exit__(self, *_what: object) -> None:
        self._over.set()
        self._thread.join()


class Server:
    """The engine's process and its log."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], log: Path) -> None:
        self._log = log
        environment = {**os.environ, **env}
        with log.open("wb") as stream:
            self.process = subprocess.Popen(
                list(argv), env=environment, stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT, start_new_session=True
            )
        self._reader = log.open(encoding="utf-8", errors="replace")
        self._rest = ""

    def new_lines(self) -> list[str]:
        """What was logged since the last call, whole lines only."""
        *lines, self._rest = (self._rest + self._reader.read()).split("\n")
        return lines

    def wait(self, gate: Optional[Mapping[str, Any]], timeout: float) -> dict[str, Any]:
        """Until the gate has a verdict: its result. Without a plan only the ready line is asked for."""
        found = LogGate(Expectation.from_plan(gate or {}), time.monotonic, timeout=timeout)
        while found.verdict == WAITING:
            ended = self.process.poll()
            for line in self.new_lines():
                found.feed(line)
            if ended is not None:
                found.ended(f"status {ended}")
            found.tick()
            time.sleep(0.1)
        return found.result()

    def alive(self) -> bool:
        return self.process.poll() is None

    def stop(self, timeout: float = 60.0) -> None:
        """Kill it with all its processes, and wait until the cards are empty: a drained stop takes seconds that nothing is measured in."""
        before = time.monotonic()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        while max(used_mib(), default=0) > 2048 and time.monotonic() - before < timeout:
            time.sleep(0.3)
        self._reader.close()
