# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Puts a fault into a server on a real systemd host and has the real modules judge the start: gate, then probe, then soak."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.bench_gate.archive import write_archive
from tests.bench_gate.events import GATE, MODULE
from tests.play.conftest import LAB, Host, Instance

RECORD = os.environ.get("RECORD_INJECTED_FAULTS")
ARCHIVE = "/root/modules.zip"
CONTROLLERS = Path("/sys/fs/cgroup/cgroup.controllers")


@dataclass(frozen=True)
class Fault:
    """What is done, and what must be said of it."""

    code: str
    words: str
    environment: dict[str, str] = field(default_factory=dict)
    directives: str = ""
    # Changes the command line: sed's expression.
    command: str = ""
    # Runs on the host before the start, and two seconds into the soak.
    before: str = ""
    then: str = ""
    after: str = ""
    log_file: str = ""


@dataclass(frozen=True)
class Judge:
    """What the modules are told of a server."""

    gate: dict[str, Any]
    model: str
    speculative: bool
    stall_timeout: int  # seconds
    timeout: int
    request_timeout: int
    key_file: str = ""


def at_line(line: str, command: str) -> str:
    """A command in the background that runs once the unit has logged the line."""
    return (
        f"since=$(date +%s); systemd-run --quiet bash -c \"until journalctl -u UNIT -o cat --since @$since | grep -q '{line}';"
        f' do sleep 0.05; done; {command}"'
    )


def killed_for_memory(child: str = "GATE-003") -> str:
    """The code of a kill by the kernel's OOM killer. systemd tells of it where units have cgroups of version 2; elsewhere nobody does,
    and all that can be said is that it may have been."""
    return "GATE-075" if CONTROLLERS.exists() and "memory" in CONTROLLERS.read_text().split() else child


def bring_modules(host: Host) -> None:
    """The modules and what they import, as one file."""
    with tempfile.TemporaryDirectory() as folder:
        write_archive(Path(folder) / "modules.zip")
        with (Path(folder) / "modules.zip").open("rb") as stream:
            subprocess.run([str(LAB), "shell", host.name, f"cat > {ARCHIVE}"], stdin=stream, check=True)


def module(host: Host, name: str, **options: object) -> dict[str, Any]:
    """A module of this collection as Ansible runs it on a host, without a controller, which would take most of the time."""
    words = ["python3", "-c", MODULE, ARCHIVE, f"{GATE.rpartition('.')[0]}.{name}", json.dumps(options)]
    answer = host.try_shell(shlex.join(words))[1]
    found = json.loads(answer.splitlines()[-1])
    assert isinstance(found, dict)
    return found


def judged(target: Instance, fault: Fault, judge: Judge) -> dict[str, Any]:
    """The unit with the fault in it, started, and what the last of gate, probe and soak says of it."""

    def here(text: str) -> str:
        return text.replace("UNIT", target.unit).replace("PORT", str(target.port))

    host = target.host
    lines = "[Service]\nRestart=no\n" + fault.directives + "".join(f"Environment={k}={v}\n" for k, v in fault.environment.items())
    if fault.command:
        began = host.shell(f"grep ^ExecStart= /etc/systemd/system/{target.unit} | sed {shlex.quote(fault.command)}")
        lines += f"ExecStart=\n{began}\n"
    host.write(f"/etc/systemd/system/{target.unit}.d/fault.conf", lines)
    try:
        host.shell(f"systemctl daemon-reload; systemctl stop {target.unit}; {here(fault.before)}")
        host.try_shell(f"systemctl restart {target.unit}")
        return asked(target, fault, judge, here(fault.then))
    finally:
        host.try_shell(f"systemctl stop {target.unit}; systemctl reset-failed {target.unit}; rm -r /etc/systemd/system/{target.unit}.d")
        if fault.after:
            host.shell(here(fault.after))


def asked(target: Instance, fault: Fault, judge: Judge, then: str) -> dict[str, Any]:
    """Gate, probe and soak, as far as they come."""
    host, log = target.host, {"log_file": fault.log_file} if fault.log_file else {}
    found = module(host, "log_gate", unit=target.unit, gate=judge.gate, stall_timeout=judge.stall_timeout, timeout=judge.timeout, **log)
    if found.get("failed"):
        return found
    start = found["invocation_id"]
    key = {"api_key_file": judge.key_file} if judge.key_file else {}
    found = module(
        host,
        "serving_probe",
        url=f"http://127.0.0.1:{target.port}",
        served_model_name=judge.model,
        speculative=judge.speculative,
        request_timeout=judge.request_timeout,
        timeout=10 * judge.request_timeout,
        **key,
    )
    if found.get("failed"):
        return found
    if then:
        host.shell(f"systemd-run --quiet --on-active=2 bash -c {shlex.quote(then)}")
    return module(host, "server_soak", unit=target.unit, invocation_id=start, seconds=6, **log)


def assert_named(name: str, fault: Fault, found: dict[str, Any], port: str = "") -> None:
    """With its code and its cause; a run for the record writes down what was said (tests/gate_rates/injected.py)."""
    code, message = str(found.get("code") or "none"), str(found.get("msg"))
    if RECORD:
        with Path(RECORD).open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({"fault": name, "wanted": fault.code, "found": code}) + "\n")
    assert found.get("failed")
    assert code == fault.code, message
    assert fault.words.replace("PORT", port) in message, message
