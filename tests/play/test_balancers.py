# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The real nginx and the real HAProxy on a real systemd host, two servers behind them: drained, put back, and what goes wrong."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.support.balancer_lab import KINDS, BalancedFleet, balanced_fleet_of
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
    stream = Stream(fleet, 150)
    assert until(lambda: running(fleet, 0) or running(fleet, 1))
    busy, idle = (0, 1) if running(fleet, 0) else (1, 0)
    first, second = fleet.servers[busy], fleet.servers[idle]
    drained = fleet.run("playbooks/drain.yml", f"-l {first.name}")
    assert drained.ok, drained.output
    assert "1 running, 0 waiting" in drained.output
    stream.join(60)
    assert stream.fault == ""
    assert not running(fleet, busy)
    assert fleet.serving() == {second.name}
    for _ in range(4):
        assert answer(fleet) == ""
    assert fleet.run("playbooks/drain.yml", f"-l {first.name}").count("changed") == 0
    back = fleet.run("playbooks/undrain.yml")
    assert back.ok and back.count("changed") == 1, back.output
    assert fleet.serving() == {first.name, second.name}
