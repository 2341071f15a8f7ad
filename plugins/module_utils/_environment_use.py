# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Who uses an environment: processes that run from it, and services that start from it. Looks only."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import select
import time
from typing import Optional

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._regular_files import read_regular

_UNITS = "/etc/systemd/system/sglang-*.service"
_DELETED = " (deleted)"


def _inside(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory + "/")


def _link(path: str) -> str:
    target = os.readlink(path)
    return target[: -len(_DELETED)] if target.endswith(_DELETED) else target


def _reason(process: str, directory: str) -> str:
    """Why a process depends on a directory. A venv's bin/python is a link: exe alone does not show where it was started from."""
    for name, words in (("exe", "executes"), ("cwd", "has as its working directory")):
        with contextlib.suppress(OSError):
            target = _link(os.path.join(process, name))
            if _inside(target, directory):
                return f"{words} {target}"
    with contextlib.suppress(OSError), open(os.path.join(process, "cmdline"), "rb") as handle:
        command = os.fsdecode(handle.read(4096).split(b"\0")[0])
        # Only the directory is resolved: the file itself is a link out of the environment.
        if os.path.isabs(command) and _inside(os.path.realpath(os.path.dirname(command)), directory):
            return f"was started as {command}"
    with contextlib.suppress(OSError), open(os.path.join(process, "maps"), "rb") as handle:
        # The engine's workers change their command line; the libraries that they loaded stay.
        needle = b" " + os.fsencode(directory) + b"/"
        if any(needle in line for line in handle):
            return "has loaded libraries from it"
    return ""


def _same_root(process: str) -> bool:
    """A container's process has a file system of its own, where the same path is something else."""
    try:
        return os.path.samefile(os.path.join(process, "root"), "/")
    except OSError:
        return False  # not ours to see, or gone


def running_from(directory: str) -> Optional[tuple[int, str]]:
    """(pid, why) of the first process that runs from a directory; None without one. Needs root to see everybody's."""
    real = os.path.realpath(directory)
    for name in sorted((name for name in os.listdir("/proc") if name.isdigit()), key=int):
        process = f"/proc/{name}"
        if _same_root(process):
            reason = _reason(process, real)
            if reason:
                return int(name), reason
    return None


def named_by(directory: str, units: str = _UNITS) -> str:
    """The unit or stamp of a service that names a directory; empty without one."""
    instances = os.path.join(os.path.dirname(os.path.dirname(directory)), "instances", "*", "accepted.json")
    whole = re.compile(re.escape(directory) + r"(?![\w.-])")
    for path in [*sorted(glob.glob(units)), *sorted(glob.glob(instances))]:
        with contextlib.suppress(OSError, SglangError):
            if whole.search(read_regular(path).decode(errors="replace")):
                return path
    return ""


def _ended(pid: int, seconds: float) -> bool:
    """Whether a process ends within some seconds; no polling, the kernel says when."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return not os.path.exists(f"/proc/{pid}")
    try:
        return bool(select.select([descriptor], [], [], max(seconds, 0.0))[0])
    finally:
        os.close(descriptor)


def refuse_running(directory: str, patience: float = 5.0) -> None:
    """Refuse to touch a directory that a process runs from; what a killed build leaves behind ends within a moment."""
    deadline = time.monotonic() + patience
    while (found := running_from(directory)) is not None:
        pid, reason = found
        if not _ended(pid, deadline - time.monotonic()):
            raise SglangError(
                f"{directory} has to be built anew, yet a process runs from it",
                found=f"process {pid} {reason}",
                wanted="an unfinished environment that nothing runs from",
                next_step=f"see what it is (ps -fp {pid}) and stop it, for a server its unit; then run the play again",
            )
