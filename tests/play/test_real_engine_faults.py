# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Faults put into the real engine, which serves a small real model on a CPU: each start's end is named with its code and its cause."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
import yaml

from tests.play.conftest import ROOT, STATE, Host, Instance, lab, subnet
from tests.support.injections import Fault, Judge, assert_named, at_line, bring_modules, judged, killed_for_memory

pytestmark = [pytest.mark.host, pytest.mark.full, pytest.mark.skipif(os.geteuid() != 0, reason="the lab needs root")]

PROFILE = ROOT / "inventories/demo/group_vars/cpu_engine.yml"
LOGS = "/opt/sglang/logs-of-tests"
SHARD = "/opt/sglang/models/*/*/model.safetensors"
KEY = "CANARY-real-engine-5d17"
# Two cores that others use as well: the engine imports for a minute, and says nothing meanwhile.
JUDGE = Judge(
    {"family": "none"},
    "smollm2",
    speculative=False,
    stall_timeout=240,
    timeout=900,
    request_timeout=60,
    key_file="/opt/sglang/instances/default/secrets/api-key",
)


# The scheduler's title is its own; the engine is the launcher's only child, and that is the unit's main process.
SCHEDULER = "pkill -9 -f ^sglang::scheduler"
ENGINE = "pkill -9 -P \\$(systemctl show --value -p MainPID UNIT)"
LAUNCHER = "kill -9 \\$(systemctl show --value -p MainPID UNIT)"
FAULTS = {
    "the scheduler is killed while it loads": Fault("GATE-081", "-9", before=at_line("Load weight begin", SCHEDULER)),
    "the scheduler is killed with its pools": Fault("GATE-081", "-9", before=at_line("KV Cache is allocated", SCHEDULER)),
    "the engine is killed while it loads": Fault("GATE-003", "SIGKILL", before=at_line("Load weight begin", ENGINE)),
    "the launcher is killed in the warm-up": Fault("GATE-003", "SIGKILL", before=at_line("Uvicorn running on", LAUNCHER)),
    "the port is taken": Fault(
        "GATE-070", "PORT", before="systemd-run --quiet --unit=squatter python3 -m http.server PORT", after="systemctl stop squatter"
    ),
    "the log's disk is full": Fault(
        "GATE-072",
        "a file system is full",
        directives=f"StandardOutput=append:{LOGS}/full/x.log\nStandardError=inherit\n",
        before=f"mkdir -p {LOGS}/full; mount -t tmpfs -o size=4k none {LOGS}/full; head -c 4096 /dev/zero > {LOGS}/full/x.log",
        after=f"umount {LOGS}/full",
        log_file=f"{LOGS}/full/x.log",
    ),
    "a shard cannot be read": Fault("GATE-031", "cannot read it", before=f"chmod 000 {SHARD}", after=f"chmod 644 {SHARD}"),
    "a shard is cut short": Fault(
        "GATE-032",
        "damaged or cut short",
        before=f"f=$(ls {SHARD}); cp -p $f /root/whole; truncate -s -4096 $f",
        after=f"f=$(ls {SHARD}); cp -p /root/whole $f",
    ),
    "a flag is wrong": Fault("GATE-020", "--mtp-enable", command="s/ --model-path / --mtp-enable --model-path /"),
    "the model path is wrong": Fault("GATE-030", "/nowhere", command="s/--model-path [^ ]*/--model-path \\/nowhere/"),
    "the kernel kills it for memory": Fault(killed_for_memory(), "OOM killer", directives="MemoryMax=500M\nMemorySwapMax=0\n"),
}
HANGS = Fault("GATE-007", "in the stage", before=at_line("Load weight begin", "pkill -STOP -f ^sglang::scheduler"))


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    """The demo's server on a host of its own, whose units have memory limits that count."""
    lane = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    name, number = f"realeng{lane}", f"{18 + int(lane)}"
    address = f"{subnet()}.{number}"
    subprocess.run([sys.executable, str(ROOT / "tests/support/cpu_engine/build.py"), "cpu", "model"], check=True)
    lab("build-rootfs", "bookworm")
    lab("hub-up")
    lab("down", name)
    lab("up", name, number, "bookworm", "--limits")
    host = Host(name, address, tmp_path_factory.mktemp("real"))
    profile = yaml.safe_load(PROFILE.read_text())
    own = {"lab_state": str(STATE), "lab_hub": f"http://{subnet()}.1:8900", "sglang_server_api_key": KEY}
    served = {"sglang_server_served_model_name": "smollm2", "sglang_server_workload": {"context_tokens": 2048, "concurrency": 2}}
    played = host.play("playbooks/deploy.yml", **profile, **own, **served)
    assert played.ok, played.output
    bring_modules(host)
    yield Instance(host, "default", 30000, {})
    subprocess.run([str(ROOT / "tests/testbed/lab"), "down", name], check=False, capture_output=True, stdin=subprocess.DEVNULL)
    lab("down", name)


def test_without_a_fault_it_passes(target: Instance) -> None:
    assert judged(target, Fault("", ""), JUDGE)["verdict"] == "ready"


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named(target: Instance, name: str) -> None:
    assert_named(name, FAULTS[name], judged(target, FAULTS[name], JUDGE), str(target.port))


def test_one_that_hangs_is_named_by_the_stage_that_went_silent(target: Instance) -> None:
    """Its scheduler is stopped; a process that waits uses no CPU and writes nothing."""
    patient = dataclasses.replace(JUDGE, stall_timeout=150)
    assert_named("it hangs while it loads", HANGS, judged(target, HANGS, patient))
