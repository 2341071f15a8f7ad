# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The soak before the stamp and the watch after it, on a real systemd host with the stand-in."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.play.conftest import Instance

pytestmark = [pytest.mark.host, pytest.mark.full]


def last(instance: Instance) -> dict[str, Any]:
    status, text = instance.host.try_shell(f"cat {instance.home}/watch/result/last.json")
    found = json.loads(text) if status == 0 else {}
    assert isinstance(found, dict)
    return found


def until(instance: Instance, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The first result of a look that is so."""
    deadline = time.monotonic() + 240
    while not holds(found := last(instance)):
        assert time.monotonic() < deadline, (found, instance.host.try_shell("journalctl -n 40 -o cat -t systemd")[1])
        time.sleep(0.5)
    return found


def test_a_server_is_watched_until_the_site_says_otherwise(instance: Instance) -> None:
    host = instance.host
    timer, service = (f"inference-sglang-watch-{instance.name}.{kind}" for kind in ("timer", "service"))
    played = instance.deploy(sglang_server_soak=3, sglang_server_watch=True, sglang_server_watch_interval=2)
    assert played.ok, played.output
    assert "must stay up for 3 s" in played.output
    assert host.shell(f"systemctl is-enabled {timer}; systemctl is-active {timer}").split() == ["enabled", "active"]
    seen = until(instance, lambda found: found.get("state") == "right")
    assert seen["release"] == (instance.accepted() or {})["id"]
    assert host.shell(f"stat -c %U {instance.home}/watch/result/last.json {instance.home}/watch/watch.pyz").split() == ["sglang", "root"]

    again = instance.deploy(sglang_server_soak=3, sglang_server_watch=True, sglang_server_watch_interval=2)
    assert again.ok, again.output
    assert again.count("changed") == 0

    host.write(f"/etc/systemd/system/{instance.unit}.d/x.conf", "[Service]\nEnvironment=STANDIN_ANSWER=wrong\n")
    host.shell(f"systemctl daemon-reload; systemctl restart {instance.unit}")
    assert until(instance, lambda found: found.get("code") == "PROBE-007")["state"] == "wrong"
    assert "PROBE-007: " in host.shell(f"journalctl -q -o cat -t sglang-{instance.name}-watch")
    assert "PROBE-007" in host.play("playbooks/status.yml", **instance.settings).output

    host.shell(f"systemctl stop {instance.unit}; sleep 1")
    before = last(instance)
    time.sleep(8)
    assert last(instance) == before, "a stopped server is not asked"
    host.shell(f"rm -r /etc/systemd/system/{instance.unit}.d; systemctl daemon-reload; systemctl start {instance.unit}")
    until(instance, lambda found: found.get("state") == "right" and found["process"] != seen["process"])
    assert host.shell(f"systemctl show --value -p Result {service}") == "success"

    pid = instance.main_pid()
    played = instance.deploy(sglang_server_soak=3)
    assert played.ok, played.output
    assert instance.main_pid() == pid
    assert host.try_shell(f"ls -d {instance.home}/watch /etc/systemd/system/*watch-{instance.name}*")[1].count("No such file") == 2
    assert host.try_shell(f"systemctl cat {timer}")[0] != 0
    assert instance.deploy().count("changed") == 0


@pytest.mark.parametrize("journal", [True, False], ids=["journal", "log-file"])
def test_a_server_that_dies_in_its_soak_is_not_accepted(instance: Instance, journal: bool) -> None:
    """The engine is killed as soon as the soak has begun; systemd has started it again by then, and that is no server that stayed up."""
    host, log = instance.host, "/var/log/sglang/soak.log"
    more: dict[str, Any] = {}
    if not journal:
        host.shell("install -d -o sglang -g sglang /var/log/sglang")
        more["sglang_server_log_file"] = log
    asked = f"journalctl -u {instance.unit} -o cat | cat - {log} 2>/dev/null | grep -c v1/chat/completions"
    kill = f"pkill -9 -P $(systemctl show --value -p MainPID {instance.unit})"
    host.shell(f"systemd-run --quiet bash -c 'until [ $({asked}) -ge 4 ]; do sleep 0.1; done; sleep 3; {kill}'")
    refused = instance.deploy(sglang_server_soak=60, **more)
    assert not refused.ok
    assert "GATE-003: the server was ready and did not stay so" in refused.message
    assert instance.accepted() is None
