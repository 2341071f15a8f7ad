# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The role inference_host on real hosts, Debian 12 and 13: an empty one in check mode, made ready, made ready again, and refused."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ansible_runner
import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = Path(__file__).resolve().parent / "inference_host"
LAB = ROOT / "tests/testbed/lab"
STATE = Path(os.environ.get("SGLANG_LAB") or "/var/lib/inference-sglang-lab")
HOSTS = {"ihost12": ("44", "bookworm"), "ihost13": ("45", "trixie")}
SOURCELESS = {"ihostnone": ("46", "bookworm")}
READY = {"inference_host_require_gpu": False, "inference_host_environment_disk_gib": 3, "inference_host_memory_gib": 1}

pytestmark = [pytest.mark.host, pytest.mark.skipif(os.geteuid() != 0, reason="the lab needs root")]


def lab(*arguments: str) -> str:
    done = subprocess.run([str(LAB), *arguments], check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@dataclass
class Play:
    ok: bool
    output: str
    stats: dict[str, dict[str, int]]
    results: dict[str, dict[str, Any]]  # host → task → result

    def changed(self, host: str) -> int:
        return self.stats["changed"].get(host, 0)


def run(folder: Path, playbook: str, hosts: dict[str, tuple[str, str]], check: bool = False, **variables: Any) -> Play:
    net = (STATE / "net").read_text().strip()
    folder.mkdir(parents=True)
    inventory = {
        "all": {
            "vars": {
                "ansible_user": "root",
                "ansible_python_interpreter": "/usr/bin/python3",
                "ansible_ssh_private_key_file": str(STATE / "id_ed25519"),
                "ansible_ssh_common_args": "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR",
                "ansible_control_path_dir": f"{STATE}/hosts/{{{{ inventory_hostname }}}}/ssh",
            },
            "hosts": {name: {"ansible_host": f"{net}.{number}"} for name, (number, _suite) in hosts.items()},
        }
    }
    (folder / "ansible.cfg").write_text("[defaults]\ninject_facts_as_vars = false\n")
    done = ansible_runner.run(
        private_data_dir=str(folder),
        project_dir=str(PROJECT),
        playbook=str(PROJECT / playbook),
        inventory=inventory,
        extravars=variables,
        envvars={
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
            "ANSIBLE_CONFIG": str(folder / "ansible.cfg"),
            "ANSIBLE_NOCOLOR": "1",
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        },
        cmdline="--check --diff" if check else None,
        quiet=True,
    )
    results: dict[str, dict[str, Any]] = {name: {} for name in hosts}
    for event in done.events:
        if event["event"] in ("runner_on_ok", "runner_on_failed"):
            results[event["event_data"]["host"]][event["event_data"]["task"]] = event["event_data"]["res"]
    return Play(done.rc == 0, done.stdout.read(), done.stats or {}, results)


@dataclass
class Story:
    """How one host was made ready."""

    host: str
    checked: Play
    left_by_check: str
    made: Play
    again: Play
    lists_before: str
    lists_after: str

    def play(self, folder: Path, **variables: Any) -> Play:
        return run(folder, "preflight.yml", {self.host: HOSTS[self.host]}, **variables)


# Molecule's default scenario makes both ready, too.
@pytest.fixture(scope="module", params=["ihost12", pytest.param("ihost13", marks=pytest.mark.full)])
def story(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """A host is made ready once; the tests look at how it went."""
    name = request.param
    hosts, folder = {name: HOSTS[name]}, tmp_path_factory.mktemp(name)
    lists = "stat -c %y /var/lib/apt/lists/partial /var/cache/apt/pkgcache.bin"
    lab("down", name)
    lab("up", name, *HOSTS[name])
    checked = run(folder / "check", "converge.yml", hosts, check=True, **READY)
    left = lab("shell", name, "getent passwd sglang; ls /opt; dpkg-query -W -f '${Package} ' gcc 2>/dev/null || true").strip()
    made = run(folder / "made", "converge.yml", hosts, **READY)
    before = lab("shell", name, lists)
    again = run(folder / "again", "converge.yml", hosts, **READY)
    yield Story(name, checked, left, made, again, before, lab("shell", name, lists))
    lab("down", name)


def test_check_mode_on_an_empty_host_tells_and_touches_nothing(story: Story) -> None:
    assert story.checked.ok, story.checked.output
    said = story.checked.results[story.host]["Say what would be installed"]
    assert said["changed"]
    for package in ("gcc", "libnuma1", "libavdevice", "python3-dev"):
        assert package in said["msg"]
    assert story.checked.results[story.host]["Make the service user"]["changed"]
    assert story.left_by_check == ""


def test_the_host_is_made_ready(story: Story) -> None:
    assert story.made.ok, story.made.output
    assert story.made.changed(story.host) == story.checked.changed(story.host), "check mode told the truth"
    user = lab("shell", story.host, "getent passwd sglang | cut -d: -f5-").strip()
    assert user == "SGLang inference server:/nonexistent:/usr/sbin/nologin"
    owners = lab("shell", story.host, "stat -c '%U:%G %a' /opt/sglang /opt/sglang/envs /opt/sglang/models")
    assert owners.split("\n")[:3] == ["root:root 755"] * 3


def test_what_the_engine_needs_really_works(story: Story) -> None:
    major = {"ihost12": 59, "ihost13": 61}[story.host]
    script = f"""
set -e
cd $(mktemp -d)
printf '#include <Python.h>\\n#include <stdlib.h>\\nint main(void) {{ return Py_IsInitialized(); }}\\n' > x.c
cp x.c y.cpp
flags=$(python3 -c 'import sysconfig; print("-I" + sysconfig.get_path("include"))')
gcc $flags -c x.c && g++ $flags -c y.cpp
python3 -c 'import ctypes; [ctypes.CDLL(n) for n in ("libavcodec.so.{major}", "libavdevice.so.{major}", "libnuma.so.1")]'
python3 -m venv v && v/bin/python -c 'import pip'
echo works
"""
    assert lab("shell", story.host, script).strip() == "works"


def test_a_second_run_changes_nothing_and_asks_no_package_source(story: Story) -> None:
    assert story.again.ok, story.again.output
    assert story.again.changed(story.host) == 0
    assert story.lists_before == story.lists_after


def test_all_reasons_come_in_one_message_and_nothing_is_touched(story: Story, tmp_path: Path) -> None:
    play = story.play(
        tmp_path / "refused",
        inference_host_ports=[22],
        inference_host_environment_path="/tmp/envs",
        inference_host_environment_disk_gib=0,  # /tmp is a small file system of its own
        inference_host_model_disk_gib=999999,
        inference_host_sglang_version="0.5.23",
    )
    assert not play.ok
    result = play.results[story.host]["See whether the host is ready"]
    assert [reason["subject"] for reason in result["reasons"]] == ["NVIDIA driver", "Path", "Disk", "Port"]
    assert "4 reasons" in result["msg"]
    assert "sshd" in result["msg"]
    assert result["unmanaged"][0]["unit"] == "ssh.service"
    assert sum(play.stats["changed"].values()) == 0


def test_a_misspelt_variable_stops_before_the_host_is_looked_at(story: Story, tmp_path: Path) -> None:
    play = story.play(tmp_path / "misspelt", sglang_port=1, inference_host_usr="x", **READY)
    assert not play.ok
    assert play.results[story.host]["Refuse misspelt variables"]["msg"] == "inference_host_usr: did you mean inference_host_user?"
    assert "See whether the host is ready" not in play.results[story.host]


@pytest.mark.full
def test_missing_packages_without_a_package_source_are_told_in_full(tmp_path: Path) -> None:
    name = next(iter(SOURCELESS))
    lab("down", name)
    lab("up", name, *SOURCELESS[name])
    try:
        lab("shell", name, "rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/*")
        refused = run(tmp_path / "refused", "converge.yml", SOURCELESS, **READY)
        unmanaged = run(tmp_path / "by-hand", "converge.yml", SOURCELESS, inference_host_manage_packages=False, **READY)
        left = lab("shell", name, "getent passwd sglang; ls /opt").strip()
    finally:
        lab("down", name)
    assert not refused.ok
    message = refused.results[name]["Refuse a host whose OS libraries cannot be installed"]["msg"]
    assert "wanted: g++ gcc libavcodec59" in message
    assert "inference_host_manage_packages: false" in message
    assert not unmanaged.ok
    reasons = unmanaged.results[name]["See whether the host is ready"]["reasons"]
    assert {reason["subject"] for reason in reasons} == {"OS libraries"}
    assert len(reasons) == 7
    assert left == "", "no user and no directory before the libraries are there"
