# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The role sglang_server on a real systemd host with the stand-in engine: first deployment, second, check mode, several instances."""

from __future__ import annotations

import json

import pytest

from tests.play.conftest import Host, Instance, make_instance

pytestmark = pytest.mark.host


def test_the_story_of_an_instance(instance: Instance) -> None:
    """Check mode on nothing, first deployment, second, check mode on a deployed host, a change in check mode, the change."""
    checked = instance.deploy("--check --diff")
    assert checked.ok, checked.output
    assert checked.count("changed") > 0
    assert checked.output.count("+ExecStart=") == 1, "a new unit is shown once"
    assert instance.accepted() is None
    assert instance.host.try_shell(f"ls {instance.home} /etc/systemd/system/{instance.unit}")[0] != 0

    first = instance.deploy()
    assert first.ok, first.output
    assert instance.state() == "active"
    assert instance.answers()
    stamp = instance.accepted()
    assert stamp is not None
    assert stamp["id"] in instance.host.shell(f"cat /etc/systemd/system/{instance.unit}")
    assert instance.host.shell(f"systemctl is-enabled {instance.unit}") == "enabled"
    assert stamp["figures"]["gate"], "the figures of the gate are kept"
    for words in ("engine check:", "weights", "The capital of France is Paris"):
        assert words in first.output, "what takes long is shown while it runs"
    pid = instance.main_pid()

    for options in ("", "--check"):
        again = instance.deploy(options)
        assert again.ok, again.output
        assert again.count("changed") == 0
    assert instance.main_pid() == pid

    different = instance.deploy("--check --diff", sglang_server_settings={"max_running_requests": 2})
    assert different.ok, different.output
    assert different.count("changed") > 0
    assert "+" in different.output
    assert "--max-running-requests 2" in different.output
    assert different.output.count("+ExecStart=") == 1, "the unit's change is shown once"
    assert instance.main_pid() == pid

    changed = instance.deploy(sglang_server_settings={"max_running_requests": 2})
    assert changed.ok, changed.output
    assert instance.main_pid() != pid
    after = instance.accepted()
    assert after is not None
    assert after["id"] != stamp["id"]
    assert json.loads(instance.host.shell(f"cat {instance.home}/previous.json"))["id"] == stamp["id"]


def test_several_instances_with_their_own_settings(bare_host: Host) -> None:
    """Handlers of a role that is included twice must see the right instance."""
    one, two = make_instance(bare_host, "one", 31901), make_instance(bare_host, "two", 31902)
    instances = [
        {"name": "one", "port": 31901, "environment": {"STANDIN_SPEED": "100"}, "api_key": "key-of-one-1"},
        {"name": "two", "port": 31902, "environment": {"STANDIN_SPEED": "100", "NCCL_DEBUG": "WARN"}},
    ]
    shared = {
        name: value
        for name, value in one.settings.items()
        if name not in ("sglang_server_instance", "sglang_server_port", "sglang_server_environment")
    }
    try:
        played = bare_host.play("several.yml", instances=instances, **shared)
        assert played.ok, played.output
        assert (one.state(), two.state()) == ("active", "active")
        assert two.answers()
        assert not one.answers(), "a request without the key is refused"
        again = bare_host.play("several.yml", instances=instances, **shared)
        assert again.ok, again.output
        assert again.count("changed") == 0

        pids = one.main_pid(), two.main_pid()
        instances[1]["environment"] = {"STANDIN_SPEED": "100", "STANDIN_DIE_AT": "weights:memory"}
        instances[0]["api_key"] = "key-of-one-2"
        broken = bare_host.play("several.yml", instances=instances, **shared)
        assert not broken.ok
        assert one.main_pid() != pids[0], "the first got its new key"
        assert "key-of-one-2" in bare_host.shell(f"cat {one.home}/secrets/api-key")
        assert two.state() == "active"
        assert two.answers(), "the second was rolled back"
    finally:
        for made in (one, two):
            bare_host.try_shell(f"systemctl disable --now {made.unit}; rm -f /etc/systemd/system/{made.unit}; systemctl daemon-reload")
