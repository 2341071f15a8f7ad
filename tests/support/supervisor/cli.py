# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The verbs: those that the collection's roles and ansible.builtin.systemd_service use, and no other."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.support.supervisor.service import over_limit, start_detached, stop
from tests.support.supervisor.state import Unit, known_units
from tests.support.supervisor.unit_file import Refused, Service, parse

NAME = "supervisor substitute"
_NOT_LOADED = 5


def say(text: str) -> None:
    """One line for a person."""
    print(f"{NAME}: {text}", file=sys.stderr)


def not_applied(service: Service) -> str:
    """The sandbox that is not there, by name."""
    return "not applied, for want of systemd: " + " ".join(service.not_applied)


def properties(unit: Unit) -> dict[str, str]:
    """What `show` knows of a unit."""
    record, there = unit.record(), unit.text() is not None
    return {
        "Id": unit.name,
        "Names": unit.name,
        "LoadState": "loaded" if there or record.active not in ("inactive", "failed") else "not-found",
        "ActiveState": record.active,
        "SubState": record.sub,
        "UnitFileState": _enabled(unit) if there else "",
        "FragmentPath": str(unit.file) if there else "",
        "DropInPaths": "",
        "NeedDaemonReload": "yes" if unit.needs_reload else "no",
        "MainPID": str(record.main_pid),
        "InvocationID": record.invocation,
        "NRestarts": str(record.restarts),
        "Result": record.result,
        "ExecMainCode": str(record.exit_code),
        "ExecMainStatus": str(record.exit_status),
        "ControlGroup": record.control_group,
        "ActiveEnterTimestamp": _timestamp(record.starts[-1]) if record.starts else "",
        "MemoryPeak": "[not set]",
    }


def _timestamp(seconds: float) -> str:
    """As systemd writes a time."""
    return time.strftime("%a %Y-%m-%d %H:%M:%S %Z", time.localtime(seconds))


def _show(arguments: list[str]) -> int:
    wanted: list[str] = []
    values_only, names = False, []
    words = iter(arguments)
    for word in words:
        if word in ("--property", "-p", "-P"):
            wanted += next(words, "").split(",")
            values_only = values_only or word == "-P"
        elif word.startswith("--property="):
            wanted += word.partition("=")[2].split(",")
        elif word == "--value":
            values_only = True
        elif word.startswith("-") and word != "--":
            raise Refused(f"show {word}")
        elif word != "--":
            names.append(word)
    if len(names) != 1:
        raise Refused("show without exactly one unit")
    known = properties(Unit(names[0]))
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise Refused(f"show --property={','.join(unknown)}")
    for name in wanted or known:
        print(known[name] if values_only else f"{name}={known[name]}")
    return 0


def _one(arguments: list[str], *flags: str) -> Unit:
    names = [word for word in arguments if word not in (*flags, "--")]
    if len(names) != 1 or names[0].startswith("-"):
        raise Refused(" ".join(arguments) or "a verb without a unit")
    return Unit(names[0])


def _start(arguments: list[str]) -> int:
    unit = _one(arguments)
    record = unit.record()
    if record.active in ("active", "activating"):
        return 0
    text = unit.loaded()
    if text is None:
        say(f"Unit {unit.name} not found.")
        return _NOT_LOADED
    if unit.needs_reload:
        say(f"the unit file of {unit.name} changed on disk: run daemon-reload to have it read; the text read before is used")
    service = parse(text)
    if over_limit(record, service):
        record.active, record.sub, record.result = "failed", "failed", "start-limit-hit"
        unit.write(record)
        say(f"{unit.name}: too many starts in {service.start_interval:.0f} s; reset-failed forgets them")
        return 1
    if not unit.needs_reload:
        unit.load()
    record.restarts = 0
    if service.not_applied:
        say(not_applied(service))
    trouble = start_detached(unit, service, record)
    if trouble:
        say(f"{unit.name} does not run: {trouble}")
    return 1 if trouble else 0


def _stop(arguments: list[str]) -> int:
    unit = _one(arguments)
    if properties(unit)["LoadState"] == "not-found":
        say(f"Unit {unit.name} not loaded.")
        return _NOT_LOADED
    stop(unit, unit.record())
    return 0


def _restart(arguments: list[str]) -> int:
    unit = _one(arguments)
    stop(unit, unit.record())
    return _start(arguments)


def _is_active(arguments: list[str]) -> int:
    active = _one(arguments).record().active
    print(active)
    return 0 if active == "active" else 3


def _enabled(unit: Unit) -> str:
    """A unit is enabled when the links that its [Install] asks for are there; asked of anybody's unit, so not read any closer."""
    links = unit.links(re.findall(r"^WantedBy=(\S+)\s*$", unit.text() or "", re.MULTILINE))
    return "enabled" if links and all(link.is_symlink() for link in links) else "disabled"


def _is_enabled(arguments: list[str]) -> int:
    unit = _one(arguments, "-l", "--full")
    if unit.text() is None:
        say(f"Failed to get unit file state for {unit.name}: No such file or directory")
        return 1
    state = _enabled(unit)
    print(state)
    return 0 if state == "enabled" else 1


def _link(arguments: list[str], wanted: bool) -> int:
    unit = _one(arguments)
    text = unit.text()
    if text is None:
        say(f"Failed to {'enable' if wanted else 'disable'} unit: {unit.name} does not exist.")
        return 1
    for link in unit.links(parse(text).wanted_by):
        link.unlink(missing_ok=True)
        if wanted:
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(unit.file)
        elif link.parent.is_dir() and not any(link.parent.iterdir()):
            link.parent.rmdir()
    if wanted:
        say(f"{unit.name} is linked, but nothing here starts it at boot")
    return 0


def _reset_failed(arguments: list[str]) -> int:
    unit = _one(arguments)
    record = unit.record()
    if properties(unit)["LoadState"] == "not-found":
        say(f"Failed to reset failed state of unit {unit.name}: Unit {unit.name} not loaded.")
        return 1
    record.starts = []
    if record.active == "failed":
        record.active, record.sub, record.result = "inactive", "dead", "success"
    unit.write(record)
    return 0


def _daemon_reload(arguments: list[str]) -> int:
    if arguments:
        raise Refused(f"daemon-reload {' '.join(arguments)}")
    for unit in known_units():
        unit.load()
    return 0


def _version(_arguments: list[str]) -> int:
    print(f"{NAME} of the tests of inference.sglang, not systemd")
    return 0


VERBS: dict[str, Callable[[list[str]], int]] = {
    "show": _show,
    "start": _start,
    "stop": _stop,
    "restart": _restart,
    "is-active": _is_active,
    "is-enabled": _is_enabled,
    "enable": lambda arguments: _link(arguments, True),
    "disable": lambda arguments: _link(arguments, False),
    "reset-failed": _reset_failed,
    "daemon-reload": _daemon_reload,
    "--version": _version,
}


def systemctl(argv: Sequence[str]) -> int:
    """One call; the exit status is systemctl's, and 1 with a reason for what the substitute does not do."""
    verb, arguments = (argv[0] if argv else ""), list(argv[1:])
    try:
        if verb not in VERBS:
            raise Refused(f"systemctl {' '.join(argv)}")
        return VERBS[verb](arguments)
    except (Refused, OSError, KeyError) as error:
        say(f"refuses {error}" if isinstance(error, Refused) else f"{error}")
        return 1


def systemd_analyze(argv: Sequence[str]) -> int:
    """`verify [--man=no] FILE`: would the substitute run this unit as it is written, but for the sandbox?"""
    names = [word for word in argv[1:] if word != "--man=no"]
    if not argv or argv[0] != "verify" or len(names) != 1:
        say(f"refuses systemd-analyze {' '.join(argv)}")
        return 1
    try:
        service = parse(Path(names[0]).read_text())
    except (Refused, OSError) as error:
        say(f"{names[0]}: refuses {error}")
        return 1
    if service.not_applied:
        say(not_applied(service))
    return 0
