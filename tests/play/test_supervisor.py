# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The supervisor substitute with real processes: what systemd would do, on a machine that may have no systemd. Needs root."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.host
BIN = Path(__file__).resolve().parents[1] / "support/supervisor/bin"
# It answers SIGTERM, and has a child in a session of its own that does not.
SERVER = """
import os, signal, subprocess, sys, time
child = subprocess.Popen(["sleep", "1000"], start_new_session=True, preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN))
def stop(*_):
    print("stopping, child is", child.poll(), flush=True)
    {at_stop}
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
key = os.path.join(os.environ.get("CREDENTIALS_DIRECTORY", "/nowhere"), "api-key")
print("start", os.environ["INVOCATION_ID"], os.getcwd(), sorted(os.environ), oct(os.umask(0o22)), flush=True)
print("key", open(key).read() if os.path.exists(key) else "none", "child", child.pid, flush=True)
{after}
while True:
    time.sleep(0.05)
"""


class Machine:
    """A folder that stands for the machine's root, with one unit in it."""

    def __init__(self, root: Path) -> None:
        self.root, self.unit, self.log = root, f"substitute-{os.getpid()}-{root.name}.service", root / "log"
        self.file = root / "etc/systemd/system" / self.unit
        self.file.parent.mkdir(parents=True)

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "SUPERVISOR_ROOT": str(self.root), "CANARY": "of the caller"}
        return subprocess.run([BIN / "systemctl", *words], capture_output=True, text=True, env=environment, timeout=60, check=False)

    def show(self, name: str) -> str:
        return self("show", self.unit, "-P", name).stdout.strip()

    def place(self, at_stop: str = "pass", after: str = "pass", lines: str = "") -> None:
        program = self.root / "server.py"
        program.write_text(SERVER.format(at_stop=at_stop, after=after))
        text = f"""[Service]\nType=exec\nExecStart=/usr/bin/env python3 {program}\nWorkingDirectory={self.root}\nUMask=0077
StandardOutput=append:{self.log}\nStandardError=inherit\nKillMode=mixed\nRestart=on-failure\nRestartSec=0.1\n{lines}
NoNewPrivileges=yes\n[Install]\nWantedBy=multi-user.target\n"""
        self.file.write_text(text)

    def until(self, words: str, times: int = 1) -> str:
        deadline = time.monotonic() + 20
        while (said := self.log.read_text() if self.log.exists() else "").count(words) < times:
            assert time.monotonic() < deadline, said
            time.sleep(0.02)
        return said

    def settle(self, *states: str) -> str:
        deadline = time.monotonic() + 20
        while (state := self.show("ActiveState")) not in states:
            assert time.monotonic() < deadline, state
            time.sleep(0.02)
        return state


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    machine = Machine(tmp_path)
    yield machine
    machine("stop", machine.unit)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def child_of(said: str) -> int:
    return int(said.rpartition("child ")[2].split()[0])


def test_a_service_runs_in_its_own_environment_and_group_and_stops_whole(machine: Machine) -> None:
    key = machine.root / "key"
    key.write_text("canary-key")
    machine.place(lines=f'LoadCredential=api-key:{key}\nEnvironment="GREETING=hello you"\nUser=root\nGroup=root')
    started = machine("start", machine.unit)
    assert started.returncode == 0, started.stderr
    assert "NoNewPrivileges" in started.stderr
    said = machine.until("child")
    assert f"start {machine.show('InvocationID')} {machine.root}" in said
    assert "GREETING" in said
    assert "CANARY" not in said
    assert "0o77" in said
    assert "key canary-key" in said
    pid, child = int(machine.show("MainPID")), child_of(said)
    assert (machine.show("ActiveState"), machine.show("SubState")) == ("active", "running")
    for process in (pid, child):
        assert machine.unit in Path(f"/proc/{process}/cgroup").read_text()
    assert machine("start", machine.unit).returncode == 0
    assert int(machine.show("MainPID")) == pid, "a second start changes nothing"

    assert machine("stop", machine.unit).returncode == 0
    # KillMode=mixed: the main process alone was asked, and saw its child alive; then the child went, too.
    assert "stopping, child is None" in machine.log.read_text()
    assert not alive(child)
    assert [machine.show(name) for name in ("ActiveState", "Result", "MainPID", "ExecMainCode")] == ["inactive", "success", "0", "1"]
    assert machine("is-active", machine.unit).returncode == 3
    assert not (machine.root / "run/credentials" / machine.unit).exists()


def test_a_stop_that_takes_too_long_ends_in_a_kill_and_says_so(machine: Machine) -> None:
    machine.place(at_stop="time.sleep(100)", lines="TimeoutStopSec=1")
    machine("start", machine.unit)
    child = child_of(machine.until("child"))
    assert machine("stop", machine.unit).returncode == 0
    assert (machine.show("ActiveState"), machine.show("Result")) == ("failed", "timeout")
    assert not alive(child)
    machine("reset-failed", machine.unit)
    assert machine.show("ActiveState") == "inactive"


def test_a_crash_is_restarted_until_the_limit_and_a_stop_in_between_ends_it(machine: Machine) -> None:
    machine.place(after="sys.exit(3)")
    text = machine.file.read_text().replace("[Service]", "[Unit]\nStartLimitBurst=3\nStartLimitIntervalSec=100\n[Service]")
    machine.file.write_text(text)
    machine("start", machine.unit)
    first = machine.until("start ").split()[1]
    assert machine.settle("failed") == "failed"
    said = machine.log.read_text()
    assert said.count("start ") == 3
    assert len({line.split()[1] for line in said.splitlines() if line.startswith("start ")}) == 3, "each start has its own invocation"
    assert [machine.show(name) for name in ("NRestarts", "Result", "ExecMainStatus")] == ["2", "start-limit-hit", "3"]
    assert machine.show("InvocationID") != first
    assert machine("start", machine.unit).returncode == 1
    assert machine("reset-failed", machine.unit).returncode == 0
    machine.file.write_text(machine.file.read_text().replace("RestartSec=0.1", "RestartSec=60"))
    machine("daemon-reload")
    machine("start", machine.unit)
    machine.until("start ", 4)
    deadline = time.monotonic() + 20
    while machine.show("SubState") != "auto-restart":
        assert time.monotonic() < deadline
    machine("stop", machine.unit)
    assert machine.show("ActiveState") == "inactive"


def test_a_killed_main_process_is_a_failure_and_takes_the_rest_with_it(machine: Machine) -> None:
    machine.place(lines="Restart=no")
    machine("start", machine.unit)
    child = child_of(machine.until("child"))
    os.kill(int(machine.show("MainPID")), 9)
    machine.settle("failed")
    assert [machine.show(name) for name in ("Result", "ExecMainCode", "ExecMainStatus")] == ["signal", "2", "9"]
    assert not alive(child)


def test_a_killed_supervisor_leaves_no_server_that_counts_as_running(machine: Machine) -> None:
    machine.place()
    machine("start", machine.unit)
    child = child_of(machine.until("child"))
    parent = int(Path(f"/proc/{machine.show('MainPID')}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(parent, 9)
    assert machine.settle("failed") == "failed"
    machine("start", machine.unit)
    machine.until("key none", 2)
    assert not alive(child), "what was left of the start before is ended by the next"


def test_a_changed_unit_counts_after_a_reload_only(machine: Machine) -> None:
    machine.place()
    machine("start", machine.unit)
    machine.until("child")
    assert machine.show("NeedDaemonReload") == "no"
    machine.place(lines="Environment=LATER=1")
    assert machine.show("NeedDaemonReload") == "yes"
    machine("restart", machine.unit)
    assert "LATER" not in machine.until("key none", 2)
    machine("daemon-reload")
    machine("restart", machine.unit)
    assert "LATER" in machine.until("key none", 3)


def test_enabled_is_a_link_as_systemd_makes_it(machine: Machine) -> None:
    machine.place()
    link = machine.file.parent / "multi-user.target.wants" / machine.unit
    assert machine("is-enabled", machine.unit, "-l").stdout.strip() == "disabled"
    assert machine("enable", machine.unit).returncode == 0
    assert link.is_symlink()
    assert machine.show("UnitFileState") == "enabled"
    assert machine("disable", machine.unit).returncode == 0
    assert not link.parent.exists()


@pytest.mark.parametrize("line", ["ExecStop=/bin/true", "StandardOutput=journal"])
def test_a_unit_that_it_does_not_understand_is_not_started(machine: Machine, line: str) -> None:
    machine.place(lines=line)
    refused = machine("start", machine.unit)
    assert refused.returncode == 1
    assert line.partition("=")[0] in refused.stderr
    assert machine.show("ActiveState") == "inactive"


def test_a_program_that_is_not_there_fails_the_start(machine: Machine) -> None:
    machine.place()
    machine.file.write_text(machine.file.read_text().replace("/usr/bin/env", "/usr/bin/nothing"))
    refused = machine("start", machine.unit)
    assert refused.returncode == 1
    assert "/usr/bin/nothing" in refused.stderr
    assert (machine.show("ActiveState"), machine.show("ExecMainStatus")) == ("failed", "203")


def test_a_unit_that_is_not_there_is_said_as_systemd_does(machine: Machine) -> None:
    assert machine.show("LoadState") == "not-found"
    assert machine("start", machine.unit).returncode == 5
    assert machine("stop", machine.unit).returncode == 5
    assert machine("is-active", machine.unit).stdout.strip() == "inactive"
