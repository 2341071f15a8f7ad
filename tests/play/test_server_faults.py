# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A bad release leaves or brings back the old one; a killed run and a hand-made change heal on the next run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.play.conftest import Instance, install_standin

pytestmark = pytest.mark.host


def _deployed(instance: Instance) -> dict[str, Any]:
    played = instance.deploy()
    assert played.ok, played.output
    stamp = instance.accepted()
    assert stamp is not None
    return stamp


def _same_server(instance: Instance, stamp: dict[str, Any]) -> None:
    """The old release serves, is stamped, and the next run with the old settings has nothing to do."""
    assert instance.state() == "active"
    assert instance.answers()
    after = instance.accepted()
    assert after is not None
    assert after["id"] == stamp["id"]
    again = instance.deploy()
    assert again.ok, again.output
    assert again.count("changed") == 0


def test_an_engine_that_refuses_a_flag_leaves_the_old_release_untouched(instance: Instance) -> None:
    """The engine's own parser has the last word, whatever this collection's tables say of the release."""
    stamp = _deployed(instance)
    pid = instance.main_pid()
    install_standin(instance.host, "/opt/sglang/envs/refusing")
    data = "/opt/sglang/envs/refusing/lib/python3*/site-packages/sglang/_standin/data/flags-0.5.11.json"
    instance.host.shell(f"sed -i 's/enable-metrics/enable-metrix/g' {data}")
    refused = instance.deploy(sglang_server_environment_path="/opt/sglang/envs/refusing")
    assert not refused.ok
    assert "unrecognized arguments: --enable-metrics" in refused.message
    assert "was not touched" in refused.message
    assert instance.main_pid() == pid
    _same_server(instance, stamp)


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ({"STANDIN_DIE_AT": "draft:oom"}, "out of memory"),
        pytest.param({"STANDIN_DIE_AT": "graphs:kill"}, "", marks=pytest.mark.full),
        ({"STANDIN_ANSWER": "nonsense"}, "PROBE-"),
        pytest.param({"STANDIN_ANSWER": "wrong"}, "PROBE-", marks=pytest.mark.full),
        pytest.param({"STANDIN_LOG": "no-mtp"}, "", marks=pytest.mark.full),
        pytest.param({"STANDIN_HANG_AT": "dispatcher", "gate_stall": "4"}, "", marks=pytest.mark.full),
    ],
    ids=lambda value: " ".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else "",
)
def test_a_bad_release_is_rolled_back_and_the_cause_is_shown(instance: Instance, behaviour: dict[str, str], words: str) -> None:
    stamp = _deployed(instance)
    changes = instance.engine(**{name: value for name, value in behaviour.items() if name != "gate_stall"})
    if "gate_stall" in behaviour:
        changes["sglang_server_gate_stall_timeout"] = int(behaviour["gate_stall"])
    refused = instance.deploy(**changes)
    assert not refused.ok
    assert words in refused.message
    assert f"release {stamp['id']} serves again, proven" in refused.message
    _same_server(instance, stamp)


def test_a_first_release_that_fails_leaves_nothing_that_looks_done(instance: Instance) -> None:
    refused = instance.deploy(**instance.engine(STANDIN_DIE_AT="weights:memory"))
    assert not refused.ok
    assert "Not enough memory" in refused.message or "memory" in refused.message
    assert "stopped, disabled and removed" in refused.message
    assert instance.accepted() is None
    assert instance.state() in ("inactive", "unknown")
    assert (
        instance.host.try_shell(f"ls /etc/systemd/system/{instance.unit} /etc/systemd/system/multi-user.target.wants/{instance.unit}")[0]
        != 0
    )
    good = instance.deploy()
    assert good.ok, good.output


def test_expectations_that_are_not_met_refuse_a_release(instance: Instance) -> None:
    stamp = _deployed(instance)
    refused = instance.deploy(sglang_server_settings={"max_running_requests": 3}, sglang_server_expectations=["probe.accept_length > `99`"])
    assert not refused.ok
    assert "2.7 against 99" in refused.message
    _same_server(instance, stamp)


STAGES = [
    pytest.param("Stage the release", marks=pytest.mark.full),
    pytest.param("Let the engine itself check the arguments", marks=pytest.mark.full),
    "Place the unit",
    "Ask for a restart",
    "Start the server",
    "Wait for the log to show",
    pytest.param("Ask the server a question", marks=pytest.mark.full),
    "Accept the release",
]


@pytest.mark.parametrize("stage", STAGES)
def test_a_run_that_is_killed_heals_on_the_next(instance: Instance, stage: str) -> None:
    """The controller dies while a deployed instance is changed; the same command again ends in the same good state."""
    stamp = _deployed(instance)
    wanted = {"sglang_server_settings": {"max_running_requests": 3}}
    killed = instance.deploy(kill_at=stage, **wanted)
    assert not killed.ok
    again = instance.deploy(**wanted)
    assert again.ok, again.output
    after = instance.accepted()
    assert after is not None
    assert after["id"] != stamp["id"]
    assert instance.state() == "active"
    assert "--max-running-requests 3" in instance.host.shell(f"tr '\\0' ' ' < /proc/{instance.main_pid()}/cmdline")
    assert instance.answers()
    third = instance.deploy(**wanted)
    assert third.count("changed") == 0, third.output


def test_changes_by_hand_are_seen_and_healed(instance: Instance) -> None:
    stamp = _deployed(instance)
    host, unit = instance.host, instance.unit
    by_hand = {
        "the unit file was changed": f"sed -i 's/^RestartSec=.*/RestartSec=1/' /etc/systemd/system/{unit}",
        "is not running": f"systemctl stop {unit}",
        "new drop-in": (
            f"mkdir -p /etc/systemd/system/{unit}.d; printf '[Service]\\nNice=5\\n' > /etc/systemd/system/{unit}.d/x.conf;"
            " systemctl daemon-reload"
        ),
        "launcher in the release's directory was changed": f"echo '# edited' >> {instance.home}/releases/{stamp['id']}/launcher.py",
    }
    for reason, command in by_hand.items():
        host.shell(command)
        shown = instance.enter("plan")
        assert reason in shown.output, shown.output
        healed = instance.deploy()
        assert healed.ok, healed.output
        assert reason in healed.output
        _same_server(instance, stamp)
    assert host.shell(f"systemctl show --value -p Nice {unit}") == "5", "a site's drop-in stays"

    host.shell(f"systemctl disable {unit}")
    pid = instance.main_pid()
    enabled = instance.deploy()
    assert enabled.ok, enabled.output
    assert enabled.count("changed") > 0
    assert host.shell(f"systemctl is-enabled {unit}") == "enabled"
    assert instance.main_pid() == pid, "enabling needs no restart"


def test_an_operator_goes_back_and_a_bad_way_back_is_refused(instance: Instance) -> None:
    first = _deployed(instance)
    nowhere = instance.enter("rollback")
    assert not nowhere.ok
    assert "no release to go back to" in nowhere.message
    changed = instance.deploy(sglang_server_settings={"max_running_requests": 3})
    assert changed.ok, changed.output
    second = instance.accepted()
    assert second is not None

    back = instance.enter("rollback")
    assert back.ok, back.output
    after = instance.accepted()
    assert after is not None
    assert after["id"] == first["id"]
    assert instance.answers()
    verified = instance.enter("verify")
    assert verified.ok, verified.output
    assert verified.count("changed") == 0

    # The second release breaks on the disk: going to it fails, and the first one comes back.
    broken = f"{instance.home}/releases/{second['id']}/launcher.py"
    instance.host.write(broken, "raise SystemExit('broken on the disk')\n")
    refused = instance.enter("rollback", sglang_server_rollback_to=second["id"])
    assert not refused.ok
    assert f"release {first['id']} serves again" in refused.message
    assert instance.answers()

    missing = instance.enter("rollback", sglang_server_rollback_to="0" * 16)
    assert not missing.ok
    assert "0" * 16 in missing.message


def test_plans_on_the_host_and_touches_nothing(instance: Instance) -> None:
    _deployed(instance)
    before = instance.host.shell(f"find {instance.home} /etc/systemd/system -printf '%p %T@ %s\\n' | sort")
    shown = instance.enter("plan")
    assert shown.ok, shown.output
    assert shown.count("changed") == 0
    assert "a deployment would change nothing" in shown.output
    assert "--max-running-requests" in shown.output
    assert instance.host.shell(f"find {instance.home} /etc/systemd/system -printf '%p %T@ %s\\n' | sort") == before


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


def test_the_plan_is_kept_with_the_release(instance: Instance) -> None:
    stamp = _deployed(instance)
    plan = json.loads(instance.host.shell(f"cat {instance.home}/releases/{stamp['id']}/plan.json"))
    assert plan["argv"][0] == "--model-path"
    record = json.loads(instance.host.shell(f"cat {instance.home}/releases/{stamp['id']}/release.json"))
    assert record["serving"]["gate"]["dispatcher_count"] == 2
