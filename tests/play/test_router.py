# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The real sglang-router on a real systemd host, two servers behind it: registered, drained, put back, and what goes wrong with it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.support.router_lab import KEY, SERVER_KEY, Fleet, Stream, answer, fleet_of, is_ready, running, until, url_of

pytestmark = [pytest.mark.host, pytest.mark.skipif(os.geteuid() != 0, reason="the lab needs root")]
UNIT = "sglang-router.service"


@pytest.fixture(scope="module")
def routed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """A router with both servers in it."""
    with fleet_of(tmp_path_factory.mktemp("router"), 2) as made:
        deployed = made.run("one.yml")
        assert deployed.ok, deployed.output
        bring_back(made)
        yield made


@pytest.fixture
def fleet(routed: Fleet) -> Fleet:
    """The same, whatever the test before has left."""
    if not is_ready(routed.balancer) or len(in_router(routed)) < 2:
        for server in routed.servers:
            server.shell("systemctl start sglang-default.service")
        bring_back(routed)
    return routed


def bring_back(fleet: Fleet) -> None:
    done = fleet.run("playbooks/router.yml")
    assert done.ok, done.output


def in_router(fleet: Fleet) -> set[str]:
    return {url for url, worker in fleet.workers().items() if worker["is_healthy"]}


def test_a_server_is_drained_without_a_lost_request_and_comes_back(fleet: Fleet) -> None:
    first, second = fleet.servers
    both = {url_of(first), url_of(second)}
    assert in_router(fleet) == both
    assert answer(fleet) == ""
    again = fleet.run("playbooks/router.yml")
    assert again.ok and again.count("changed") == 0, again.output

    assert fleet.run("playbooks/drain.yml", f"-l {second.name}").ok
    assert in_router(fleet) == {url_of(first)}
    stream = Stream(fleet, 300)
    assert until(lambda: running(fleet, 0))
    drained = fleet.run("playbooks/drain.yml", f"-l {first.name}")
    assert drained.ok, drained.output
    assert "1 running, 0 waiting" in drained.output
    assert not running(fleet, 0)
    stream.join(60)
    assert stream.fault == ""
    assert in_router(fleet) == set()
    assert fleet.run("playbooks/undrain.yml", f"-l {second.name}").ok
    assert in_router(fleet) == {url_of(second)}
    assert answer(fleet) == ""
    assert fleet.run("playbooks/drain.yml", f"-l {first.name}").count("changed") == 0

    # What was taken out stays out, and what was in comes back, when the router dies.
    fleet.balancer.shell(f"systemctl kill --signal=KILL {UNIT}")
    assert until(lambda: is_ready(fleet.balancer))
    assert in_router(fleet) == {url_of(second)}
    back = fleet.run("playbooks/undrain.yml", f"-l {first.name}")
    assert back.ok and back.count("changed") == 1, back.output
    assert in_router(fleet) == both
    assert fleet.run("playbooks/undrain.yml").count("changed") == 0
    looked = fleet.run("playbooks/drain.yml", f"-l {first.name} --check")
    assert looked.ok and looked.count("changed") == 1 and in_router(fleet) == both, looked.output


def test_keys_are_where_they_belong(fleet: Fleet) -> None:
    host = fleet.balancer
    shown = host.shell(f"ps -eo args; journalctl --unit {UNIT} --no-pager; systemctl show {UNIT}; systemctl cat {UNIT}")
    files = host.shell(
        "find / -xdev -type f -size -1M -perm /o+r -print0 2>/dev/null | xargs -0 grep -lE 'CANARY-(router|server)' 2>/dev/null || true"
    )
    for key in (KEY, SERVER_KEY):
        assert key not in shown
    assert files == ""
    assert host.shell(f"systemctl show --value -p User {UNIT}") == "sglang-router"
    environment = host.shell(f"tr '\\0' '\\n' < /proc/$(systemctl show --value -p MainPID {UNIT})/environ")
    assert "CANARY" not in environment


@pytest.mark.full
def test_a_server_that_does_not_become_idle_is_put_back(fleet: Fleet) -> None:
    first = fleet.servers[0]
    assert fleet.run("playbooks/drain.yml", f"-l {fleet.servers[1].name}").ok
    stream = Stream(fleet, 900)  # outlasts both drains, also on a busy machine
    assert until(lambda: running(fleet, 0))
    drained = fleet.run("playbooks/drain.yml", f"-l {first.name}", fleet_rollout_drain_timeout=3)
    assert not drained.ok
    assert "still has requests in flight" in drained.message
    assert "in the balancer again" in drained.message
    assert in_router(fleet) == {url_of(first)}
    forced = fleet.run("playbooks/drain.yml", f"-l {first.name}", fleet_rollout_drain_timeout=3, fleet_rollout_drain_force=True)
    assert forced.ok and "goes on after 3 seconds" in forced.output, forced.output
    stream.join(300)
    assert stream.fault == ""
    assert fleet.run("playbooks/undrain.yml").ok


@pytest.mark.full
def test_a_server_that_cannot_be_asked_is_not_put_in(fleet: Fleet) -> None:
    first = fleet.servers[0]
    assert fleet.run("playbooks/drain.yml", f"-l {first.name}").ok
    wrong = fleet.run("playbooks/undrain.yml", f"-l {first.name}", sglang_server_api_key="another-key")
    assert not wrong.ok and "has another API key" in wrong.message, wrong.output
    assert url_of(first) not in in_router(fleet)
    away = fleet.run("playbooks/undrain.yml", f"-l {first.name}", fleet_rollout_address="127.0.0.9", fleet_rollout_undrain_timeout=3)
    assert not away.ok and "not healthy as seen from the router" in away.message, away.output
    assert fleet.run("playbooks/undrain.yml", f"-l {first.name}").ok
    # The router goes on with the first key when it is told of a server twice: another key means out and in.
    changed = fleet.run("playbooks/undrain.yml", f"-l {first.name}", sglang_server_api_key="another-key")
    assert not changed.ok and url_of(first) not in in_router(fleet)
    assert fleet.run("playbooks/undrain.yml", f"-l {first.name}").ok


@pytest.mark.full
def test_a_router_that_does_not_run(fleet: Fleet) -> None:
    first, second = fleet.servers
    fleet.balancer.shell(f"systemctl stop {UNIT}")
    assert fleet.run("playbooks/drain.yml", f"-l {first.name}").ok
    refused = fleet.run("playbooks/undrain.yml", f"-l {first.name}")
    assert not refused.ok and "the router does not run" in refused.message
    fleet.balancer.shell(f"systemctl start {UNIT}")
    assert until(lambda: is_ready(fleet.balancer))
    assert in_router(fleet) == {url_of(second)}
    assert fleet.run("playbooks/undrain.yml", f"-l {first.name}").ok


@pytest.mark.full
def test_a_dead_server_is_taken_out_and_comes_back_by_itself(fleet: Fleet) -> None:
    first, second = fleet.servers
    first.shell("systemctl kill --signal=KILL sglang-default.service && systemctl stop sglang-default.service")
    assert until(lambda: in_router(fleet) == {url_of(second)})
    assert answer(fleet) == ""
    first.shell("systemctl start sglang-default.service")
    assert until(lambda: len(in_router(fleet)) == 2)


@pytest.mark.full
def test_a_change_restarts_the_router_and_a_refused_one_does_not(fleet: Fleet) -> None:
    def main_pid() -> str:
        return fleet.balancer.shell(f"systemctl show --value -p MainPID {UNIT}")

    before = main_pid()
    refused = fleet.run("playbooks/router.yml", sglang_router_settings={"no_such_option": 1})
    assert not refused.ok and "no-such-option" in refused.message
    secret = fleet.run("playbooks/router.yml", sglang_router_settings={"api_key": "x"})
    assert not secret.ok and "what does not belong there" in secret.message
    opened = fleet.run("playbooks/router.yml", sglang_router_api_key="")
    assert not opened.ok and "administered by anybody" in opened.message
    looked = fleet.run("playbooks/router.yml", "--check", sglang_router_policy="round_robin")
    assert looked.ok and looked.count("changed") > 0
    assert main_pid() == before
    # Killed between the files and the restart: the next run restarts it.
    killed = fleet.play("playbooks/router.yml", kill_at="Run the router", sglang_router_policy="round_robin")
    assert not killed.ok
    changed = fleet.run("playbooks/router.yml", sglang_router_policy="round_robin")
    assert changed.ok and main_pid() != before, changed.output
    assert until(lambda: len(in_router(fleet)) == 2)
    assert fleet.run("playbooks/router.yml", sglang_router_policy="round_robin").count("changed") == 0
    assert fleet.run("playbooks/router.yml").ok


# The last one of this file: nothing is left after it.
@pytest.mark.full
def test_a_fleet_is_torn_down_servers_first_then_the_router(fleet: Fleet) -> None:
    first, second = fleet.servers
    looked = fleet.run("playbooks/teardown.yml", "--check", teardown_models=False)
    assert looked.ok and looked.count("changed") > 0, looked.output
    assert len(in_router(fleet)) == 2
    gone = fleet.run("playbooks/teardown.yml", f"-l {first.name}", teardown_models=False)
    assert gone.ok, gone.output
    assert in_router(fleet) == {url_of(second)}
    assert answer(fleet) == ""
    gone = fleet.run("playbooks/teardown.yml", teardown_models=False)
    assert gone.ok, gone.output
    left = f"ls -d /opt/sglang/router /opt/sglang/tools/router /etc/systemd/system/{UNIT} /etc/systemd/system/*/{UNIT}"
    for line in fleet.balancer.try_shell(left)[1].splitlines():
        assert "cannot access" in line, line
    assert fleet.balancer.try_shell("id sglang-router")[0] != 0
    again = fleet.run("playbooks/teardown.yml", teardown_models=False)
    assert again.ok and again.count("changed") == 0, again.output
