# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Servers change one after the other under steady load; its client never tries twice. With drains no request fails."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.load_client import Load
from tests.support.router_lab import KEY, ROUTER_PORT, Fleet, fetched, fleet_of

pytestmark = [pytest.mark.full, pytest.mark.host, pytest.mark.skipif(os.geteuid() != 0, reason="the lab needs root")]
SERVERS = 3
# Longer than a drain's three looks: each drain meets some.
STREAM_TOKENS = 80


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with fleet_of(tmp_path_factory.mktemp("rolling"), SERVERS) as made:
        deployed = made.run("one.yml")
        assert deployed.ok, deployed.output
        routed = made.run("playbooks/router.yml")
        assert routed.ok, routed.output
        yield made


class Capacity(threading.Thread):
    """The fewest servers that the router had at any time."""

    def __init__(self, fleet: Fleet) -> None:
        super().__init__(daemon=True)
        self.fleet, self.least, self.stop = fleet, SERVERS, threading.Event()

    def run(self) -> None:
        while not self.stop.wait(0.5):
            self.least = min(self.least, sum(1 for worker in self.fleet.workers().values() if worker["is_healthy"]))


def retries(fleet: Fleet) -> int:
    """That the router itself has made so far."""
    text = fetched(fleet.balancer, "http://127.0.0.1:29000/metrics")
    return sum(int(float(number)) for number in re.findall(r"^smg_worker_retries_total\{.*\} (\S+)$", text, re.M))


def roll(fleet: Fleet, accept_length: str, drained: bool) -> tuple[Load, Capacity, Any]:
    """Another release for all of them, under load."""
    capacity = Capacity(fleet)
    load = Load((fleet.balancer.address, ROUTER_PORT), tokens=STREAM_TOKENS, api_key=KEY)
    environment = {"STANDIN_SPEED": "100", "STANDIN_TOKEN_SECONDS": "0.1", "STANDIN_ACCEPT_LENGTH": accept_length}
    with load:
        capacity.start()
        play = fleet.run("tests/play/router/rolling.yml", sglang_server_environment=environment, drained=drained)
        capacity.stop.set()
        capacity.join(30)
    return load, capacity, play


def test_no_request_fails_while_every_server_changes(fleet: Fleet, record_property: Any) -> None:
    before = retries(fleet)
    load, capacity, play = roll(fleet, "2.8", drained=True)
    assert play.ok, play.output
    record_property("requests", load.count())
    record_property("streams", load.count(stream=True))
    record_property("retries of the router", retries(fleet) - before)
    assert load.faults == []
    assert load.count(stream=True) >= 2 * SERVERS
    assert capacity.least >= SERVERS - 1
    assert len(re.findall(r"drain: \d+ running", play.output)) >= SERVERS, "the drains met no request"


def test_the_same_without_drains_loses_requests(fleet: Fleet) -> None:
    load, _capacity, play = roll(fleet, "2.9", drained=False)
    assert play.ok, play.output
    assert load.faults, f"none of {load.count()} requests failed: this load proves nothing about drains"
