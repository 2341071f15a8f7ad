# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Faults put into a server on a real systemd host: each is named with its code and its cause, by the gate, the probe or the soak."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.play.conftest import MODELS, Host, Instance, boot, make_instance, shut_down
from tests.support.injections import Fault, Judge, assert_named, at_line, bring_modules, judged, killed_for_memory

pytestmark = [pytest.mark.host, pytest.mark.full]

GDN = {"family": "gdn", "dispatcher": "GDN kernel dispatcher", "dispatcher_count": 2}
JUDGE = Judge(GDN, "standin", speculative=True, stall_timeout=8, timeout=120, request_timeout=6)
LOGS = "/opt/sglang/logs-of-tests"


FAULTS = {
    "rank-killed": Fault("GATE-081", "status -9", {"STANDIN_DIE_AT": "graphs:kill"}),
    "engine-killed": Fault("GATE-003", "SIGKILL", {"STANDIN_DIE_AT": "graphs:self"}),
    "launcher-killed": Fault(
        "GATE-003",
        "SIGKILL",
        {"STANDIN_SPEED": "20"},
        before=at_line("Load weight begin", "kill -9 \\$(systemctl show --value -p MainPID UNIT)"),
    ),
    "port-taken": Fault(
        "GATE-070", "PORT", before="systemd-run --quiet --unit=squatter python3 -m http.server PORT", after="systemctl stop squatter"
    ),
    "disk-full": Fault(
        "GATE-072",
        "a file system is full",
        directives=f"StandardOutput=append:{LOGS}/full/x.log\nStandardError=inherit\n",
        before=f"mkdir -p {LOGS}/full; mount -t tmpfs -o size=4k none {LOGS}/full; head -c 4096 /dev/zero > {LOGS}/full/x.log",
        after=f"umount {LOGS}/full",
        log_file=f"{LOGS}/full/x.log",
    ),
    "bad-flag": Fault("GATE-020", "--mtp-enable", command="s/ --model-path / --mtp-enable --model-path /"),
    "wrong-model-path": Fault("GATE-030", "/nowhere", command="s/--model-path [^ ]*/--model-path \\/nowhere/"),
    "hangs": Fault("GATE-007", "in the stage 'dispatcher'", {"STANDIN_HANG_AT": "dispatcher"}),
    "hangs-as-recorded": Fault("GATE-090", "allreduce fusion", {"STANDIN_LOG": f"{LOGS}/hang.log"}),
    "leaves-with-0": Fault("GATE-002", "ended", {"STANDIN_DIE_AT": "graphs:exit0"}),
    "restart-loop": Fault(
        "GATE-003",
        "SIGKILL",
        {"STANDIN_DIE_AT": "arguments:self", "STANDIN_SPEED": "1000"},
        directives="Restart=always\nRestartSec=100ms\n",
    ),
    "no-draft": Fault("GATE-006", "1 time(s), not 2", {"STANDIN_LOG": "no-mtp"}),
    "nonsense": Fault("PROBE-006", "one token is repeated", {"STANDIN_ANSWER": "nonsense"}),
    "wrong-answer": Fault("PROBE-007", "London", {"STANDIN_ANSWER": "wrong"}),
    "empty-answer": Fault("PROBE-005", "it is empty", {"STANDIN_ANSWER": "empty"}),
    "no-utf-8": Fault("PROBE-006", "not UTF-8", {"STANDIN_ANSWER": "invalid"}),
    "streams-for-ever": Fault("PROBE-010", "was not answered in time", {"STANDIN_ANSWER": "forever"}),
    "drafts-nothing": Fault("PROBE-013", "accept length 1.00", {"STANDIN_ACCEPT_LENGTH": "1.0"}),
    "dies-of-the-first-request": Fault("PROBE-001", "could not be asked", {"STANDIN_DIE_AT": "request:self"}),
    "engine-killed-in-the-soak": Fault("GATE-003", "did not stay so", then="pkill -9 -P $(systemctl show --value -p MainPID UNIT)"),
    "launcher-killed-in-the-soak": Fault("GATE-003", "did not stay so", then="kill -9 $(systemctl show --value -p MainPID UNIT)"),
    "stopped-in-the-soak": Fault("GATE-004", "while it was watched", then="systemctl stop UNIT"),
}


# The engine is small: only with a limit this low does the kernel kill one of its processes.
NO_MEMORY = Fault(killed_for_memory(), "OOM killer", {"STANDIN_SPEED": "20"}, directives="MemoryMax=24M\nMemorySwapMax=0\n")


@pytest.fixture(scope="module")
def target(bare_host: Host) -> Iterator[Instance]:
    """An instance that was deployed once; each test changes its unit by a drop-in, which is gone afterwards."""
    made = deployed(bare_host)
    yield made
    bare_host.try_shell(f"systemctl disable --now {made.unit}; rm -rf /etc/systemd/system/{made.unit}*; systemctl daemon-reload")


def deployed(host: Host) -> Instance:
    """An instance that serves."""
    made = make_instance(host, "injected", 31700)
    played = made.deploy()
    assert played.ok, played.output
    bring_modules(host)
    return made


def test_without_a_fault_it_passes(target: Instance) -> None:
    assert judged(target, Fault("", ""), JUDGE)["verdict"] == "ready"


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named(target: Instance, name: str) -> None:
    fault = FAULTS[name]
    if name == "hangs-as-recorded":
        target.host.write(f"{LOGS}/hang.log", (MODELS.parent / "logs/hang-after-dispatcher-ct129-tp2.log").read_text())
    assert_named(name, fault, judged(target, fault, JUDGE), str(target.port))


def test_a_process_that_the_kernel_kills_for_memory_is_told_from_other_kills(tmp_path: Path) -> None:
    """On a host whose units have memory limits that count."""
    if os.geteuid() != 0:
        pytest.skip("the lab needs root")
    host = boot("gt", 50, tmp_path, "--limits")
    try:
        assert_named("host-memory", NO_MEMORY, judged(deployed(host), NO_MEMORY, JUDGE))
    finally:
        shut_down(host)
