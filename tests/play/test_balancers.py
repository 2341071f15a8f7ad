# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The real nginx and the real HAProxy on a real systemd host, two servers behind them: drained, put back, and what goes wrong."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.support.balancer_lab import KINDS, BalancedFleet, balanced_fleet_of, stats
from tests.support.router_lab import Stream, answer, running, until

pytestmark = [pytest.mark.host, pytest.mark.skipif(os.geteuid() != 0, reason="the lab needs root")]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BalancedFleet]:
    """Both servers serve; HAProxy's configuration names them, and nginx knows none."""
    with balanced_fleet_of(tmp_path_factory.mktemp("balancers"), 2) as made:
        deployed = made.run("one.yml")
        assert deployed.ok, deployed.output
        yield made


@pytest.fixture(params=KINDS)
def fleet(servers: BalancedFleet, request: pytest.FixtureRequest) -> BalancedFleet:
    """Behind one of them, with both servers in it."""
    made = servers.behind(request.param)
    put_in = made.run("playbooks/undrain.yml")
    assert put_in.ok, put_in.output
    assert made.serving() == {host.name for host in made.servers}
    return made


def test_a_server_is_drained_without_a_lost_request_and_comes_back(fleet: BalancedFleet) -> None:
    assert answer(fleet) == ""
    stream = Stream(fleet, 500)  # outlasts the way to the drain, also on a busy machine
    assert until(lambda: running(fleet, 0) or running(fleet, 1))
    busy, idle = (0, 1) if running(fleet, 0) else (1, 0)
    first, second = fleet.servers[busy], fleet.servers[idle]
    drained = fleet.run("playbooks/drain.yml", f"-l {first.name}")
    assert drained.ok, drained.output
    assert "1 running, 0 waiting" in drained.output
    stream.join(300)
    assert stream.fault == ""
    assert not running(fleet, busy)
    assert fleet.serving() == {second.name}
    for _ in range(4):
        assert answer(fleet) == ""
    assert fleet.run("playbooks/drain.yml", f"-l {first.name}").count("changed") == 0
    back = fleet.run("playbooks/undrain.yml")
    assert back.ok and back.count("changed") == 1, back.output
    assert fleet.serving() == {first.name, second.name}


@pytest.mark.full
def test_check_mode_tells_and_does_nothing(fleet: BalancedFleet) -> None:
    first, second = fleet.servers
    looked = fleet.run("playbooks/drain.yml", f"-l {first.name} --check")
    assert looked.ok and looked.count("changed") == 1, looked.output
    assert fleet.serving() == {first.name, second.name}
    assert fleet.run("playbooks/undrain.yml", "--check").count("changed") == 0


@pytest.mark.full
def test_a_balancer_that_is_not_reached_fails_the_drain_and_the_others_have_the_server(fleet: BalancedFleet) -> None:
    net = fleet.balancer.address.rpartition(".")[0]
    first, second = fleet.servers
    two = fleet.behind(fleet.kind, others={"gone": f"{net}.60"})
    drained = two.run("playbooks/drain.yml", f"-l {first.name}")
    assert not drained.ok
    assert f"{fleet.kind} on gone: it cannot be told" in drained.message, drained.output
    assert all(f"\n  {part}: " in drained.message for part in ("found", "wanted", "next")), drained.message
    assert f"THE SERVER IS NOT IN EVERY BALANCER, only in {fleet.balancer.name}" in drained.message
    assert fleet.serving() == {first.name, second.name}
    assert answer(fleet) == ""


@pytest.mark.full
def test_a_server_that_does_not_become_idle_goes_back(fleet: BalancedFleet) -> None:
    stream = Stream(fleet, 300)
    assert until(lambda: running(fleet, 0) or running(fleet, 1))
    first = fleet.servers[0 if running(fleet, 0) else 1]
    drained = fleet.run("playbooks/drain.yml", f"-l {first.name}", fleet_rollout_drain_timeout=3)
    assert not drained.ok
    assert "still has requests in flight" in drained.message and "in the balancer again" in drained.message
    assert first.name in fleet.serving()
    stream.join(90)
    assert stream.fault == ""


@pytest.mark.full
def test_a_server_that_the_balancer_does_not_reach_is_not_put_in(fleet: BalancedFleet) -> None:
    first = fleet.servers[0]
    assert fleet.run("playbooks/drain.yml", f"-l {first.name}").ok
    first.shell("systemctl stop sglang-default.service")
    away = fleet.run("playbooks/undrain.yml", f"-l {first.name}", fleet_rollout_undrain_timeout=2)
    assert not away.ok and "not healthy as seen from" in away.message, away.output
    assert first.name not in fleet.serving()
    first.shell("systemctl start sglang-default.service")
    assert fleet.run("playbooks/undrain.yml", f"-l {first.name}").ok


@pytest.mark.full
def test_an_nginx_that_refuses_its_configuration_is_told_nothing(servers: BalancedFleet) -> None:
    fleet = servers.behind("nginx")
    assert fleet.run("playbooks/undrain.yml").ok
    host, first = fleet.balancer, fleet.servers[0]
    shown = "cat /etc/nginx/sglang/*.conf; pgrep -f '^nginx: worker process$' | sort"
    before = host.shell(shown)
    host.shell("echo 'no_such_directive on;' > /etc/nginx/conf.d/broken.conf")
    refused = fleet.run("playbooks/drain.yml", f"-l {first.name}")
    assert not refused.ok and "nginx refuses its configuration" in refused.message and "no_such_directive" in refused.message
    host.shell("rm /etc/nginx/conf.d/broken.conf")
    unread = fleet.run("playbooks/drain.yml", f"-l {first.name}", fleet_rollout_nginx_directory="/etc/nginx/elsewhere")
    assert not unread.ok and "does not read the server's file" in unread.message, unread.output
    assert host.shell(shown) == before
    assert host.shell("ls -A /etc/nginx/sglang /etc/nginx/elsewhere | grep before || true") == ""
    assert len(fleet.serving()) == 2 and answer(fleet) == ""


@pytest.mark.full
def test_an_nginx_that_does_not_run(servers: BalancedFleet) -> None:
    fleet = servers.behind("nginx")
    assert fleet.run("playbooks/undrain.yml").ok
    first, second = fleet.servers
    fleet.balancer.shell("systemctl stop nginx")
    assert fleet.run("playbooks/drain.yml", f"-l {first.name}").ok
    refused = fleet.run("playbooks/undrain.yml", f"-l {second.name}", fleet_rollout_nginx_directory="/etc/nginx/sglang")
    assert not refused.ok and "nginx does not run" in refused.message, refused.output
    fleet.balancer.shell("systemctl start nginx")
    assert fleet.serving() == {second.name} and answer(fleet) == ""
    assert fleet.run("playbooks/undrain.yml", f"-l {first.name}").ok


@pytest.mark.full
def test_what_is_out_of_haproxy_stays_out_when_it_starts_again(servers: BalancedFleet) -> None:
    fleet = servers.behind("haproxy")
    assert fleet.run("playbooks/undrain.yml").ok
    first, second = fleet.servers
    assert fleet.run("playbooks/drain.yml", f"-l {first.name}").ok
    for what in ("reload", "restart"):
        fleet.balancer.shell(f"systemctl {what} haproxy")
        assert until(lambda: second.name in fleet.serving())
        assert stats(fleet)[first.name]["status"].startswith("DRAIN")
        assert fleet.run("playbooks/drain.yml", f"-l {first.name}").count("changed") == 0
    assert fleet.run("playbooks/undrain.yml", f"-l {first.name}").ok
    fleet.balancer.shell("systemctl restart haproxy")
    assert until(lambda: len(fleet.serving()) == 2)


@pytest.mark.full
def test_a_haproxy_that_cannot_be_told(servers: BalancedFleet) -> None:
    fleet = servers.behind("haproxy")
    assert fleet.run("playbooks/undrain.yml").ok
    host, first = fleet.balancer, fleet.servers[0]
    unknown = fleet.run("playbooks/drain.yml", f"-l {first.name}", fleet_rollout_address="192.0.2.77")
    assert not unknown.ok and "HAProxy knows no such server" in unknown.message, unknown.output
    host.shell("sed -i 's/level admin/level operator/' /etc/haproxy/haproxy.cfg && systemctl restart haproxy")
    refused = fleet.run("playbooks/drain.yml", f"-l {first.name}")
    assert not refused.ok and "level admin" in refused.message, refused.output
    host.shell("sed -i 's/level operator/level admin/' /etc/haproxy/haproxy.cfg && systemctl stop haproxy")
    silent = fleet.run("playbooks/drain.yml", f"-l {first.name}")
    assert not silent.ok and "HAProxy cannot be told" in silent.message, silent.output
    host.shell("systemctl start haproxy")
    assert until(lambda: len(fleet.serving()) == 2)
