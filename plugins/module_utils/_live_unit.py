# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Looks at an instance's unit as it is now: whose it is, what runs, which of its files are open, who else has its port. Reads only."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ansible_collections.inference.sglang.plugins.module_utils._listeners import Listener, Proc
from ansible_collections.inference.sglang.plugins.module_utils._release import Live
from ansible_collections.inference.sglang.plugins.module_utils._text_files import file_sha256, read_text

UNIT_DIRECTORY = "/etc/systemd/system"
_UNIT_HEADER = re.compile(r"# Written by the Ansible collection inference\.sglang for the instance ([a-z0-9_-]+);")
_RELEASE_LAUNCHER = re.compile(r"/releases/([0-9a-f]{16})/launcher\.py$")
# (rc, stdout, stderr) of a command; AnsibleModule.run_command fits.
RunCommand = Callable[[list[str]], tuple[int, str, str]]


def parse_show(text: str) -> dict[str, str]:
    """`systemctl show` as a dictionary."""
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def view_live(unit: str, launcher: str, key_file: str, run: RunCommand) -> Live:
    """What the host shows of the unit at this moment."""
    properties = "LoadState,ActiveState,SubState,UnitFileState,NeedDaemonReload,DropInPaths,MainPID"
    code, output, _errors = run(["systemctl", "show", unit, "--property", properties])
    shown = parse_show(output) if code == 0 else {}
    drop_ins = {path: file_sha256(path) or "" for path in shown.get("DropInPaths", "").split()}
    active = shown.get("ActiveState", "unknown")
    return Live(
        unit_sha256=file_sha256(f"{UNIT_DIRECTORY}/{unit}"),
        launcher_sha256=file_sha256(launcher),
        drop_ins=drop_ins,
        active=active == "active",
        enabled=shown.get("UnitFileState") == "enabled",
        needs_reload=shown.get("NeedDaemonReload") == "yes",
        state=f"{active}, {shown.get('SubState', 'unknown')}",
        key=key_fingerprint(key_file) if key_file else "",
        release=release_of_process(shown.get("MainPID", "0")),
        amiss=(*closed_places(os.path.dirname(launcher)), *(open_secrets(key_file) if key_file else ())),
    )


def release_of_process(pid: str) -> str:
    """The release whose launcher a process was started with: the unit file says only what the next start will be."""
    try:
        with open(f"/proc/{int(pid)}/cmdline", "rb") as handle:
            words = handle.read().decode(errors="replace").split("\0")
    except (OSError, ValueError):
        return ""
    found = (_RELEASE_LAUNCHER.search(word) for word in words[:3])
    return next((match.group(1) for match in found if match), "")


@dataclass(frozen=True)
class UnitFile:
    """The instance's unit as systemd has it, whoever wrote it."""

    path: str  # empty: there is none
    ours: bool
    active: str
    enabled: bool
    release: str


def view_unit(unit: str, run: RunCommand) -> UnitFile:
    """Whose the unit of that name is, and what it does."""
    properties = "ActiveState,UnitFileState,FragmentPath,MainPID"
    shown = parse_show(run(["systemctl", "show", unit, "--property", properties])[1])
    placed = f"{UNIT_DIRECTORY}/{unit}"
    path = placed if os.path.lexists(placed) else shown.get("FragmentPath", "")
    return UnitFile(
        path=path,
        ours=instance_of_unit(path) != "",
        active=shown.get("ActiveState", "unknown"),
        enabled=shown.get("UnitFileState") == "enabled",
        release=release_of_process(shown.get("MainPID", "0")),
    )


def instance_of_unit(path: str) -> str:
    """The instance that a unit file was written for by this collection, which its first line says; empty for others' units."""
    try:
        text = read_text(path) if path else None
    except OSError:
        text = None
    match = _UNIT_HEADER.match(text or "")
    return match.group(1) if match else ""


def _mode_text(path: str, status: os.stat_result, wanted: int) -> str:
    return f"{path} has mode {stat.S_IMODE(status.st_mode):o} and owner {status.st_uid}, wanted {wanted:o} and {os.geteuid()}"


def _other_modes(wanted: Iterable[tuple[str, int]]) -> tuple[str, ...]:
    found = []
    for path, mode in wanted:
        try:
            status = os.lstat(path)
        except OSError:
            continue
        if (stat.S_IMODE(status.st_mode), status.st_uid) != (mode, os.geteuid()):
            found.append(_mode_text(path, status, mode))
    return tuple(found)


def closed_places(release: str) -> tuple[str, ...]:
    """What of a release the service user may not be able to read, or somebody else may change."""
    if not os.path.isdir(release):
        return ()
    releases, home = os.path.dirname(release), os.path.dirname(os.path.dirname(release))
    parents = [f"{place} is closed to the service user" for place in (home, releases) if os.stat(place).st_mode & 0o005 != 0o005]
    files = [(os.path.join(release, name), 0o644) for name in sorted(os.listdir(release)) if not name.startswith("__")]
    return (*parents, *_other_modes([(release, 0o755), *files]))


def open_secrets(key_file: str) -> tuple[str, ...]:
    """What of a key file and its directory is not root's alone."""
    return _other_modes([(os.path.dirname(key_file), 0o700), (key_file, 0o400)])


def key_fingerprint(path: str) -> str:
    """Tells one key file from another without saying anything about the key."""
    try:
        status = os.stat(path)
    except OSError:
        return ""
    return f"{status.st_ino}:{status.st_mtime_ns}:{status.st_size}"


# ----- whoever else holds the port -----
def port_holders(port: int, unit: str, proc: Proc, run: RunCommand) -> list[dict[str, Any]]:
    """Listeners on the port that do not belong to the instance's unit, each with how it can be stopped."""
    holders: dict[int, dict[str, Any]] = {}
    for listener in proc.listeners([port]):
        if listener.unit == unit or listener.pid in holders:
            continue
        service = listener.unit.endswith(".service") and _is_main_of(listener, proc, run)
        enabled = ""
        if service:
            enabled = run(["systemctl", "is-enabled", listener.unit])[1].strip()
        holders[listener.pid] = {
            "pid": listener.pid,
            "user": listener.user,
            "command": listener.command,
            "started": listener.since,
            "unit": listener.unit,
            "service": service,
            "enabled": enabled == "enabled",
            # Another instance of this collection is nothing unmanaged: it must not be stopped for this one.
            "instance": instance_of_unit(f"{UNIT_DIRECTORY}/{listener.unit}") if service else "",
            "text": listener.describe(),
        }
    return [holders[pid] for pid in sorted(holders)]


def _is_main_of(listener: Listener, proc: Proc, run: RunCommand) -> bool:
    """Whether stopping the unit stops this listener: a user's own unit, or a shell's, is not the system manager's to stop."""
    _code, output, _errors = run(["systemctl", "show", listener.unit, "--property", "LoadState,MainPID"])
    shown = parse_show(output)
    if shown.get("LoadState") != "loaded":
        return False
    main = shown.get("MainPID", "0")
    return main == str(listener.pid) or int(main or 0) in proc.ancestors(listener.pid)
