# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Servers change one after the other under steady load, behind each kind of balancer; the client never tries twice, nor do nginx and
HAProxy here. With drains no request fails."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.balancer_lab import KINDS, BalancedFleet, balanced_fleet_of, stats
from tests.support.load_client import Load
from tests.support.router_lab import Fleet, fetched, fleet_of

pytestmark = [pytest.mark.full, pytest.mark.host, pytest.mark.skipif(os.geteuid() != 0, reason="the lab needs root")]
SERVERS = 3
# Longer than a drain's three looks: each drain meets some.
STREAM_TOKENS = 80


@pytest.fixture(scope="module", params=["sglang_router", *KINDS])
def fleet(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Fleet]:
    """All serve, and are in their balancer."""
    folder, kind = tmp_path_factory.mktemp("rolling"), request.param
    with balanced_fleet_of(folder, SERVERS, retries=False) if kind in KINDS else fleet_of(folder, SERVERS) as booted:
        made = booted.behind(kind) if isinstance(booted, BalancedFleet) else booted
        for playbook in ("one.yml", "playbooks/undrain.yml" if kind in KINDS else "playbooks/router.yml"):
            done = made.run(playbook)
            assert done.ok, done.output
        yield made


def in_balancer(fleet: Fleet) -> int:
    """How many servers get requests now."""
    if isinstance(fleet, BalancedFleet):
        return len(fleet.serving())
    return sum(1 for worker in fleet.workers().values() if worker["is_healthy"])


class Capacity(threading.Thread):
    """The fewest servers that the balancer had at any time."""

    def __init__(self, fleet: Fleet) -> None:
        super().__init__(daemon=True)
        self.fleet, self.least, self.stop = fleet, SERVERS, threading.Event()

    def run(self) -> None:
        while not self.stop.wait(0.5):
            self.least = min(self.least, in_balancer(self.fleet))


def retries(fleet: Fleet) -> int:
    """That the balancer itself has made so far; nginx is configured to make none."""
    if fleet.kind == "nginx":
        return 0
    if fleet.kind == "haproxy":
        return sum(int(row["wretr"]) + int(row["wredis"]) for row in stats(fleet).values())
    text = fetched(fleet.balancer, "http://127.0.0.1:29000/metrics")
    return sum(int(float(number)) for number in re.findall(r"^smg_worker_retries_total\{.*\} (\S+)$", text, re.M))


def roll(fleet: Fleet, accept_length: str, drained: bool) -> tuple[Load, Capacity, Any]:
    """Another release for all of them, under load."""
    capacity = Capacity(fleet)
    load = Load((fleet.balancer.address, fleet.port), tokens=STREAM_TOKENS, api_key=fleet.key)
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
    record_property("retries of the balancer", retries(fleet) - before)
    print(f"{fleet.kind}: {load.count()} requests, {load.count(stream=True)} of them streams, {retries(fleet) - before} retries")
    assert load.faults == []
    assert load.count(stream=True) >= 2 * SERVERS
    assert capacity.least >= SERVERS - 1
    assert len(re.findall(r"drain: \d+ running", play.output)) >= SERVERS, "the drains met no request"


def test_the_same_without_drains_loses_requests(fleet: Fleet) -> None:
    load, _capacity, play = roll(fleet, "2.9", drained=False)
    assert play.ok, play.output
    assert load.faults, f"none of {load.count()} requests failed: this load proves nothing about drains"
