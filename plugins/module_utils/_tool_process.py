# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Runs a tool to its end, line by line, with a time limit; the tool never outlives the module."""

from __future__ import annotations

import contextlib
import ctypes
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO, Optional

from ansible_collections.inference.sglang.plugins.module_utils._pipes import opened

_PR_SET_PDEATHSIG = 1
# Settings of whoever runs Ansible must not change what is installed.
_DROPPED = ("PIP_", "PYTHON", "VIRTUAL_ENV", "CONDA_")
_DROPPED_UV = tuple(
    f"UV_{name}"
    for name in (
        *("INDEX", "DEFAULT_INDEX", "EXTRA_INDEX_URL", "FIND_LINKS", "NO_INDEX", "CONFIG_FILE", "CONSTRAINT", "OVERRIDE"),
        *("LINK_MODE", "PROJECT", "WORKING_DIR", "CACHE_DIR", "PRERELEASE", "EXCLUDE_NEWER"),
    )
)


@dataclass(frozen=True)
class Finished:
    returncode: int
    output: str
    timed_out: bool = False


def clean_environment(additions: dict[str, str], base: Optional[dict[str, str]] = None) -> dict[str, str]:
    """This process's environment without the settings of Python tools; proxies and certificates stay."""
    source = dict(os.environ) if base is None else base
    kept = {name: value for name, value in source.items() if not name.startswith(_DROPPED + _DROPPED_UV)}
    return {**kept, "LC_ALL": "C.UTF-8", "NO_COLOR": "1", **additions}


def bytes_written(pid: int) -> int:
    """What a process has written so far, its children not counted."""
    try:
        with open(f"/proc/{pid}/io", encoding="ascii") as handle:
            return next(int(line.split()[1]) for line in handle if line.startswith("wchar:"))
    except (OSError, StopIteration):
        return 0


def _die_with_parent() -> None:
    """A killed module must not leave a tool that goes on writing into a directory whose lock it no longer holds."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def run_tool(
    command: Sequence[str],
    environment: dict[str, str],
    on_line: Callable[[str], None] = lambda line: None,
    on_tick: Callable[[int], None] = lambda written: None,
    limit: float = 3600.0,
    tick: float = 9.0,
    cwd: str = "/",
) -> Finished:
    """Run a command; ``on_line`` gets each line of its output, ``on_tick`` every few seconds the bytes that it has written."""
    deadline = time.monotonic() + limit
    with subprocess.Popen(  # pylint: disable=ansible-bad-function
        list(command),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        cwd=cwd,
        preexec_fn=_die_with_parent,
    ) as process:
        try:
            output, in_time = _collect(opened(process.stdout), on_line, lambda: on_tick(bytes_written(process.pid)), deadline, tick)
            if in_time:
                process.wait(timeout=max(deadline - time.monotonic(), 1.0))
        except subprocess.TimeoutExpired:
            in_time = False
        finally:
            if process.poll() is None:
                process.kill()
    return Finished(process.returncode, output, timed_out=not in_time)


def _collect(
    stream: IO[bytes], on_line: Callable[[str], None], on_tick: Callable[[], None], deadline: float, tick: float
) -> tuple[str, bool]:
    """(whole output, whether the end came before the deadline)."""
    pieces: list[str] = []
    pending = b""
    with contextlib.closing(selectors.DefaultSelector()) as selector:
        selector.register(stream, selectors.EVENT_READ)
        last_tick = time.monotonic()
        while True:
            now = time.monotonic()
            if now >= deadline:
                return "".join(pieces) + pending.decode(errors="replace"), False
            ready = selector.select(min(tick, deadline - now))
            if ready:
                data = os.read(stream.fileno(), 65536)
                if not data:
                    break
                *lines, pending = (pending + data).split(b"\n")
                for raw in lines:
                    line = raw.decode(errors="replace")
                    pieces.append(line + "\n")
                    on_line(line)
            if time.monotonic() - last_tick >= tick:
                last_tick = time.monotonic()
                on_tick()
    if pending:
        pieces.append(pending.decode(errors="replace"))
        on_line(pieces[-1])
    return "".join(pieces), True
