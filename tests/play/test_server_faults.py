# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A bad release leaves or brings back the old one; a killed run and a hand-made change heal on the next run."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._lease import Run

from tests.play.conftest import Host, Instance, install_standin, make_instance

pytestmark = pytest.mark.host


@pytest.fixture(scope="module")
def served(bare_host: Host) -> Iterator[Instance]:
    """An instance that was deployed once. Every test here begins and ends with an accepted release that serves."""
    made = make_instance(bare_host, "faults", 31500)
    played = made.deploy()
    assert played.ok, played.output
    yield made
    bare_host.try_shell(f"systemctl disable --now {made.unit}; rm -f /etc/systemd/system/{made.unit}; systemctl daemon-reload")


def _stamp(instance: Instance) -> dict[str, Any]:
    stamp = instance.accepted()
    assert stamp is not None
    return stamp


def _same_server(instance: Instance, identifier: str) -> None:
    """That release serves, is stamped, and the next run with the same settings has nothing to do."""
    assert instance.state() == "active"
    assert instance.answers()
    assert _stamp(instance)["id"] == identifier
    again = instance.deploy()
    assert again.ok, again.output
    assert again.count("changed") == 0


def test_plans_on_the_host_and_touches_nothing(served: Instance) -> None:
    listing = f"find {served.home} /etc/systemd/system -printf '%p %T@ %s\\n' | sort"
    before = served.host.shell(listing)
    shown = served.enter("plan")
    assert shown.ok, shown.output
    assert shown.count("changed") == 0
    assert "a deployment would change nothing" in shown.output
    assert "--max-running-requests" in shown.output
    assert served.host.shell(listing) == before


def test_the_plan_is_kept_with_the_release(served: Instance) -> None:
    release = f"{served.home}/releases/{_stamp(served)['id']}"
    assert json.loads(served.host.shell(f"cat {release}/plan.json"))["argv"][0] == "--model-path"
    record = json.loads(served.host.shell(f"cat {release}/release.json"))
    assert record["serving"]["gate"]["dispatcher_count"] == 2


def test_an_engine_that_refuses_a_flag_leaves_the_old_release_untouched(served: Instance) -> None:
    """The engine's own parser has the last word, whatever this collection's tables say of the release."""
    identifier, pid = _stamp(served)["id"], served.main_pid()
    install_standin(served.host, "/opt/sglang/envs/refusing")
    data = "/opt/sglang/envs/refusing/lib/python3*/site-packages/sglang/_standin/data/flags-0.5.11.json"
    served.host.shell(f"sed -i 's/enable-metrics/enable-metrix/g' {data}")
    refused = served.deploy(sglang_server_environment_path="/opt/sglang/envs/refusing")
    assert not refused.ok
    assert "unrecognized arguments: --enable-metrics" in refused.message
    assert "was not touched" in refused.message
    assert served.main_pid() == pid
    _same_server(served, identifier)


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ({"STANDIN_DIE_AT": "draft:oom"}, "out of memory"),
        pytest.param({"STANDIN_DIE_AT": "graphs:kill"}, "", marks=pytest.mark.full),
        ({"STANDIN_ANSWER": "nonsense"}, "PROBE-"),
        pytest.param({"STANDIN_ANSWER": "wrong"}, "PROBE-", marks=pytest.mark.full),
        pytest.param({"STANDIN_LOG": "no-mtp"}, "dispatcher", marks=pytest.mark.full),
        pytest.param({"STANDIN_HANG_AT": "dispatcher"}, "", marks=pytest.mark.full),
    ],
    ids=["dies-after-loading", "rank-killed", "nonsense", "wrong-answer", "no-draft", "hangs"],
)
def test_a_bad_release_is_rolled_back_and_the_cause_is_shown(served: Instance, behaviour: dict[str, str], words: str) -> None:
    identifier = _stamp(served)["id"]
    refused = served.deploy(sglang_server_gate_stall_timeout=8, **served.engine(**behaviour))
    assert not refused.ok
    assert words in refused.message
    assert f"release {identifier} serves again, proven" in refused.message
    _same_server(served, identifier)


def test_expectations_that_are_not_met_refuse_a_release(served: Instance) -> None:
    identifier = _stamp(served)["id"]
    refused = served.deploy(sglang_server_settings={"max_running_requests": 9}, sglang_server_expectations=["probe.accept_length > `99`"])
    assert not refused.ok
    assert "2.7 against 99" in refused.message
    assert _stamp(served)["id"] == identifier
    assert served.answers()


@pytest.mark.full
def test_damaged_records_do_not_keep_a_server_from_coming_back(served: Instance) -> None:
    """The stamp removed, then the accepted release's record emptied: what serves comes back, and the cause is shown."""
    host, identifier, bad = served.host, _stamp(served)["id"], served.engine(STANDIN_DIE_AT="draft:oom")
    host.shell(f"cp {served.home}/accepted.json /root/accepted.json; rm {served.home}/accepted.json")
    refused = served.deploy(**bad)
    assert "out of memory" in refused.message
    assert "that was here before is back and was started again" in refused.message
    host.shell(f"cp /root/accepted.json {served.home}/accepted.json; : > {served.home}/releases/{identifier}/release.json")
    refused = served.deploy(**bad)
    assert "out of memory" in refused.message
    assert f"release {identifier} could not be proven" in refused.message
    assert served.state() == "active"
    pid = served.main_pid()
    healed = served.deploy()
    assert healed.ok, healed.output
    assert healed.count("changed") > 0, "the record is staged anew"
    assert json.loads(host.shell(f"cat {served.home}/releases/{identifier}/release.json"))["id"] == identifier
    assert served.main_pid() == pid, "and nothing is restarted for it"
    _same_server(served, identifier)


@pytest.mark.full
def test_an_expectation_that_is_none_touches_nothing(served: Instance) -> None:
    pid = served.main_pid()
    refused = served.deploy(sglang_server_settings={"max_running_requests": 3}, sglang_server_expectations=["probe.accept_length >"])
    assert "sglang_server_expectations" in refused.message
    assert (refused.count("changed"), served.main_pid()) == (0, pid)


@pytest.mark.full
def test_a_process_of_another_release_is_seen_and_replaced(served: Instance) -> None:
    """What a killed run leaves once something else reloads systemd: the accepted unit file, the other release's process."""
    host, identifier = served.host, _stamp(served)["id"]
    place, other = f"/etc/systemd/system/{served.unit}", "f" * 16
    host.shell(
        f"cp -a {served.home}/releases/{identifier} {served.home}/releases/{other}; sed -i s/{identifier}/{other}/ {place};"
        f" systemctl daemon-reload; systemctl restart {served.unit}; cp {served.home}/releases/{identifier}/{served.unit} {place};"
        " systemctl daemon-reload"
    )
    verified = served.enter("verify")
    assert f"a process of release {other}" in verified.message
    healed = served.deploy()
    assert healed.ok, healed.output
    assert other not in host.shell(f"tr '\\0' ' ' < /proc/{served.main_pid()}/cmdline")
    host.shell(f"rm -r {served.home}/releases/{other}")
    _same_server(served, identifier)


@pytest.mark.full
def test_a_second_run_is_told_who_changes_the_instance(served: Instance) -> None:
    identifier = _stamp(served)["id"]
    running = Run(user="ann", host="another-controller", place="elsewhere", pid=1, started="1")
    lease = {"run": asdict(running), "since": time.time(), "until": time.time() + 3600}
    served.host.write(f"{served.home}/lease.json", json.dumps(lease))
    try:
        for refused in (served.deploy(sglang_server_settings={"max_running_requests": 5}), served.enter("rollback")):
            assert "ann on another-controller" in refused.message
            assert refused.count("changed") == 0
    finally:
        served.host.shell(f"rm {served.home}/lease.json")
    _same_server(served, identifier)


STAGES = [
    pytest.param("Stage the release", marks=pytest.mark.full),
    pytest.param("Let the engine itself check the arguments", marks=pytest.mark.full),
    "Place the unit",
    pytest.param("Ask for a restart", marks=pytest.mark.full),
    pytest.param("Start the server", marks=pytest.mark.full),
    pytest.param("Wait for the log to show", marks=pytest.mark.full),
    pytest.param("Ask the server a question", marks=pytest.mark.full),
    pytest.param("Accept the release", marks=pytest.mark.full),
]


@pytest.mark.parametrize("stage", STAGES)
def test_a_run_that_is_killed_heals_on_the_next(served: Instance, stage: str) -> None:
    """The controller dies while a deployed instance is changed; the same command again ends in the same good state."""
    identifier = _stamp(served)["id"]
    running = 2 + (served.settings.get("sglang_server_settings", {}).get("max_running_requests", 0) + 1) % 4
    served.settings["sglang_server_settings"] = {"max_running_requests": running}
    killed = served.deploy(kill_at=stage)
    assert not killed.ok
    again = served.deploy()
    assert again.ok, again.output
    after = _stamp(served)["id"]
    assert after != identifier
    assert f"--max-running-requests {running}" in served.host.shell(f"tr '\\0' ' ' < /proc/{served.main_pid()}/cmdline")
    _same_server(served, after)


def test_changes_by_hand_are_seen_and_healed(served: Instance) -> None:
    host, unit, identifier = served.host, served.unit, _stamp(served)["id"]
    by_hand = {
        "the unit file was changed": f"sed -i 's/^RestartSec=.*/RestartSec=1/' /etc/systemd/system/{unit}",
        "is not running": f"systemctl stop {unit}",
        "new drop-in": f"mkdir -p /etc/systemd/system/{unit}.d; printf '[Service]\\nNice=5\\n' > /etc/systemd/system/{unit}.d/x.conf",
        "launcher in the release's directory was changed": f"echo '# edited' >> {served.home}/releases/{identifier}/launcher.py",
    }
    for command in (*by_hand.values(), "systemctl daemon-reload"):
        host.shell(command)
    shown = served.enter("plan")
    for reason in by_hand:
        assert reason in shown.output, (reason, shown.output)
    healed = served.deploy()
    assert healed.ok, healed.output
    _same_server(served, identifier)
    assert host.shell(f"systemctl show --value -p Nice {unit}") == "5", "a site's drop-in stays"
    assert host.shell(f"systemctl show --value -p RestartUSec {unit}") == "10s"
    assert "edited" not in host.shell(f"cat {served.home}/releases/{identifier}/launcher.py")

    host.shell(f"systemctl disable {unit}")
    pid = served.main_pid()
    enabled = served.deploy()
    assert enabled.ok, enabled.output
    assert enabled.count("changed") > 0
    assert host.shell(f"systemctl is-enabled {unit}") == "enabled"
    assert served.main_pid() == pid, "enabling needs no restart"


def test_an_operator_goes_back_and_a_bad_way_back_is_refused(served: Instance) -> None:
    accepted = _stamp(served)["id"]
    previous = json.loads(served.host.shell(f"cat {served.home}/previous.json"))["id"]
    back = served.enter("rollback")
    assert back.ok, back.output
    assert _stamp(served)["id"] == previous
    assert f"From release {accepted} to {previous}:" in back.output
    assert " -> " in back.output, "what differs is told"
    verified = served.enter("verify")
    assert verified.ok, verified.output
    assert verified.count("changed") == 0

    # The other release breaks on the disk: going to it fails, and the accepted one comes back.
    served.host.write(f"{served.home}/releases/{accepted}/launcher.py", "raise SystemExit('broken on the disk')\n")
    refused = served.enter("rollback", sglang_server_rollback_to=accepted)
    assert not refused.ok
    assert f"release {previous} serves again" in refused.message
    assert served.answers()

    missing = served.enter("rollback", sglang_server_rollback_to="0" * 16)
    assert not missing.ok
    assert "no release to go back to" in missing.message
    assert "0" * 16 in missing.message
    forward = served.deploy()
    assert forward.ok, "the broken release is staged anew"
    _same_server(served, accepted)


def test_a_first_release_that_fails_leaves_nothing_that_looks_done(instance: Instance) -> None:
    nowhere = instance.enter("rollback")
    assert "no release to go back to" in nowhere.message
    refused = instance.deploy(**instance.engine(STANDIN_DIE_AT="weights:memory"))
    assert not refused.ok
    assert "memory" in refused.message
    assert "stopped, disabled and removed" in refused.message
    assert instance.accepted() is None
    assert instance.state() in ("inactive", "unknown")
    places = f"/etc/systemd/system/{instance.unit} /etc/systemd/system/multi-user.target.wants/{instance.unit}"
    assert instance.host.try_shell(f"ls -d {places}")[1].count("No such file") == 2


def test_what_cannot_work_is_refused_before_anything_is_touched(instance: Instance) -> None:
    host = instance.host
    host.shell("mkdir -p /tmp/model /opt/sglang/models/secret; cp /opt/sglang/models/Qwen3.6-27B/config.json /tmp/model/")
    host.shell("install -m 600 /opt/sglang/models/Qwen3.6-27B/config.json /opt/sglang/models/secret/config.json")
    cases: list[tuple[dict[str, Any], str]] = [
        ({"sglang_server_model_path": "/tmp/model"}, "sandbox would hide the model"),
        ({"sglang_server_model_path": "/opt/sglang/models/secret"}, "cannot read /opt/sglang/models/secret/config.json"),
        ({"sglang_server_model_path": "/opt/sglang/models/nowhere"}, "the model /opt/sglang/models/nowhere is not there"),
        ({"sglang_server_environment_path": "/opt/sglang/envs/nowhere"}, "is not there"),
        ({"sglang_server_environment": {"HF_TOKEN": "x"}}, "HF_TOKEN would stand in the unit"),
        ({"sglang_server_extra_args": ["--api-key", "x"]}, "sglang_server_api_key"),
        (
            {
                "sglang_server_tensor_parallel_size": 3,
                "inference_host_gpus": [{"name": "A", "memory_mib": 49140, "compute_capability": "8.6"}] * 4,
            },
            "3",
        ),
        ({"inference_host_gpus": [{"name": "small", "memory_mib": 16384, "compute_capability": "8.6"}]}, "does not fit"),
        ({"sglang_server_gpus": [0, 7]}, "GPUs are not there"),
        ({"sglang_server_instance": "../x"}, "cannot name a unit"),
    ]
    for changes, words in cases:
        refused = instance.deploy(**changes)
        assert not refused.ok, changes
        assert words in refused.message, (changes, refused.message)
        assert refused.count("changed") == 0, changes
    assert host.try_shell(f"ls {instance.home}")[0] != 0
