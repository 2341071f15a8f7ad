# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""This run of Ansible, so that another one can tell whether it still runs."""

from __future__ import annotations

import getpass
import os
import socket
from typing import Any


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as handle:
            return handle.read()
    except OSError:
        return ""


def started(pid: int) -> str:
    """When a process began, in ticks after the boot; empty when there is none, or only its remains, or no /proc to ask."""
    fields = _text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 and fields[0] not in "ZX" else ""


def place() -> str:
    """Where a process number means something: this boot of this machine, and the container on it."""
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        namespace = ""
    return f"{_text('/proc/sys/kernel/random/boot_id').strip() or socket.gethostname()} {namespace}".strip()


def this_run() -> dict[str, Any]:
    """The process of ansible-playbook: action plugins run in its forks."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    pid = os.getppid()
    return {"user": user, "host": socket.gethostname(), "place": place(), "pid": pid, "started": started(pid)}


def has_ended(holder: dict[str, Any], own: dict[str, Any]) -> bool:
    """Whether a holder from this place is no more. Of another place nothing is known."""
    if holder.get("place") != own["place"] or not holder.get("started"):
        return False
    return started(int(holder["pid"])) != str(holder["started"])
