# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A fleet changes its release: fresh hosts at once, serving ones in batches, converged ones for one look."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.play.conftest import lab
from tests.play.rollout_lab import Fleet, boot

pytestmark = [pytest.mark.host, pytest.mark.skipif(os.geteuid() != 0, reason="the lab needs root")]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    folder = tmp_path_factory.mktemp("rollout")
    hosts = boot(3, folder)
    yield Fleet("fleet", "", folder, hosts=hosts)
    for host in hosts:
        lab("down", host.name)


def test_the_story_of_a_fleet(fleet: Fleet) -> None:
    """Fresh hosts, a second run, a rolling change, and what a look at a converged host costs."""
    names = [host.name for host in fleet.hosts]
    first = fleet.deploy()
    assert first.ok, first.output
    assert fleet.serving() == [True] * 3
    (release,) = set(fleet.releases())
    assert fleet.phases() == ["rejoined"] * 3
    assert sorted(fleet.told()) == sorted(f"in {name}" for name in names), "a fresh host is not taken out of anything"

    again = fleet.deploy()
    assert again.ok, again.output
    assert again.count("changed") == 0
    # The first host does for all what is done once.
    assert [again.stats["ok"][name] for name in names[1:]] == [4, 4]

    fleet.log.unlink()
    changed = fleet.deploy(sglang_server_settings={"max_running_requests": 2}, deploy_batches=[1, "100%"])
    assert changed.ok, changed.output
    (after,) = set(fleet.releases())
    assert after != release
    # Half of three go on serving, rounded down: the canary, then two at once.
    assert fleet.told()[:2] == [f"out {names[0]}", f"in {names[0]}"]
    assert set(fleet.told()[2:4]) == {f"out {names[1]}", f"out {names[2]}"}
    assert set(fleet.told()[4:]) == {f"in {names[1]}", f"in {names[2]}"}
    record = fleet.record(1)
    assert record is not None
    assert (record["release"], record["from"], record["phase"]) == (after, release, "rejoined")
    assert list(record["times"]) == ["admitted", "drained", "switched", "rejoined"]
