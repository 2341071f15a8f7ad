# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Everything that can go wrong in a rollout of six hosts, and where each of them stands afterwards (docs/rollout.md)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests.play.conftest import Play, lab
from tests.play.rollout_lab import MODEL, Fleet, boot, engine

pytestmark = [pytest.mark.full, pytest.mark.host, pytest.mark.skipif(os.geteuid() != 0, reason="the lab needs root")]

# For what is no matter of batches: the whole fleet at once, which takes a third of the time.
AT_ONCE = {"deploy_batches": ["100%"], "fleet_rollout_min_serving": 0}
LEASE = "/opt/sglang/fleet/lease.json"
HOME = "/opt/sglang/instances/default"


@pytest.fixture(scope="module")
def booted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    folder = tmp_path_factory.mktemp("rollout")
    hosts = boot(6, folder)
    yield Fleet("fleet", "", folder, hosts=hosts)
    for host in hosts:
        lab("down", host.name)


@pytest.fixture
def fleet(booted: Fleet) -> Fleet:
    """All six serve the same release and are in the balancer. What they have is the old one, whichever it is."""
    booted.own.clear()
    if len(set(booted.releases())) > 1 or booted.releases()[0] == "-" or not all(booted.serving()) or booted.out():
        settled = booted.deploy(**AT_ONCE, **settings(booted.turn))
        assert settled.ok, settled.output
    booted.old, booted.now, booted.new = one_release(booted), settings(booted.turn), settings(booted.turn + 1)
    booted.log.unlink(missing_ok=True)
    return booted


def settings(turn: int) -> dict[str, Any]:
    """Two releases in turn."""
    return {"sglang_server_settings": {"max_running_requests": 2 + turn % 2}}


def one_release(fleet: Fleet) -> str:
    (release,) = set(fleet.releases())
    assert release != "-"
    return release


def all_new(fleet: Fleet, play: Play) -> None:
    """The end that every rollout comes to: everybody serves the new release, in the balancer."""
    assert play.ok, play.output
    assert one_release(fleet) != fleet.old
    fleet.turn += 1
    assert fleet.serving() == [True] * 6
    assert fleet.out() == set()


def stopped(fleet: Fleet, play: Play, new: set[int]) -> None:
    """The command failed, these hosts have the new release, all others the old one, and everybody serves in the balancer."""
    assert not play.ok
    assert {number for number, release in enumerate(fleet.releases(), 1) if release != fleet.old} == new
    assert fleet.serving() == [True] * 6
    assert fleet.out() == set()
    assert fleet.hosts[0].try_shell(f"ls {LEASE}")[0] != 0, "the fleet was given back"


@pytest.mark.parametrize(
    ("behaviour", "code"), [({"STANDIN_DIE_AT": "draft:oom"}, ""), ({"STANDIN_ANSWER": "wrong"}, "PROBE-")], ids=["dies", "wrong-answers"]
)
def test_a_canary_that_fails_costs_nobody_else(fleet: Fleet, behaviour: dict[str, str], code: str) -> None:
    refused = fleet.deploy(**fleet.new, **engine(**behaviour))
    stopped(fleet, refused, set())
    record = fleet.record(0)
    assert record is not None
    assert record["phase"] == "rolled_back"
    assert record["code"].startswith(code) and record["code"]
    assert "serves again, proven" in refused.message
    assert {line.split()[1] for line in fleet.told()} == {fleet.hosts[0].name}
    all_new(fleet, fleet.deploy(**fleet.new, **AT_ONCE))


def test_the_third_host_dies_in_the_gate(fleet: Fleet) -> None:
    """Its batch goes on to its end, the next one does not begin; the next run changes only what is left."""
    fleet.own[fleet.hosts[2].name] = engine(STANDIN_DIE_AT="draft:oom")
    refused = fleet.deploy(**fleet.new)
    stopped(fleet, refused, {1, 2, 4, 5})
    assert f"not touched: {fleet.hosts[5].name}" in refused.output
    fleet.own.clear()
    pids = [instance.main_pid() for instance in fleet.instances()]
    all_new(fleet, fleet.deploy(**fleet.new, **AT_ONCE))
    after = [instance.main_pid() for instance in fleet.instances()]
    assert [before == now for before, now in zip(pids, after)] == [True, True, False, True, True, False]


def test_a_host_that_is_not_reached_stops_everything_before_it_begins(fleet: Fleet) -> None:
    lost = fleet.hosts[3]
    lab("down", lost.name, "--keep")
    refused = fleet.deploy(**fleet.new)
    assert not refused.ok
    assert f"{lost.name} is not reached" in refused.output
    assert refused.count("changed") == 0 and fleet.told() == []
    fleet.start(lost)
    stopped(fleet, refused, set())
    all_new(fleet, fleet.deploy(**fleet.new, **AT_ONCE))


def test_a_host_that_is_lost_while_it_changes_stops_the_others_and_is_healed_first(fleet: Fleet) -> None:
    lost = fleet.hosts[3]
    fleet.own[lost.name] = {"vanishes": True}
    refused = fleet.deploy(**fleet.new)
    assert not refused.ok
    assert f"{lost.name}: LOST while it was changed" in refused.output
    fleet.own.clear()
    fleet.start(lost)
    assert [release != fleet.old for release in fleet.releases()] == [True, True, True, False, True, False]
    fleet.log.unlink()
    again = fleet.deploy(**fleet.new)
    assert fleet.told()[0].endswith(lost.name)
    all_new(fleet, again)


KILLED_AT = [
    "Keep that it is staged",
    "Write down that it was admitted",
    "Take the host out",
    "Write down that it gets no requests",
    "Place the unit",
    "Start the server",
    "Wait for the log to show",
    "Accept the release",
    "Take the host in",
    "Record the rollout",
]


@pytest.mark.parametrize("task", KILLED_AT)
def test_a_rollout_whose_controller_was_killed_goes_on(fleet: Fleet, task: str) -> None:
    fleet.deploy(kill_at=task, **fleet.new)
    again = fleet.deploy(**fleet.new, **AT_ONCE)
    all_new(fleet, again)
    assert fleet.phases() == ["rejoined"] * 6
    assert fleet.deploy(**fleet.new).count("changed") == 0


def test_a_host_that_never_becomes_idle_is_left_as_it_was(fleet: Fleet) -> None:
    name = fleet.hosts[1].name
    pid = fleet.instances()[1].main_pid()
    refused = fleet.deploy(never_drains=name, **fleet.new)
    stopped(fleet, refused, {1})
    assert "requests are still in flight" in refused.output
    assert fleet.instances()[1].main_pid() == pid
    record = fleet.record(1)
    assert record is not None and record["phase"] == "failed"
    all_new(fleet, fleet.deploy(**fleet.new, **AT_ONCE))


def test_a_full_disk_is_met_before_anything_is_stopped(fleet: Fleet) -> None:
    host, instance = fleet.hosts[1], fleet.instances()[1]
    pid = instance.main_pid()
    host.shell(f"cp -a {HOME} /root/kept && mount -t tmpfs -o size=400k tmpfs {HOME} && cp -a /root/kept/. {HOME}/ && chmod 755 {HOME}")
    host.try_shell(f"dd if=/dev/zero of={HOME}/filler bs=1k")
    refused = fleet.deploy(**fleet.new)
    stopped(fleet, refused, {1})
    assert "No space left" in refused.output
    assert instance.main_pid() == pid
    host.shell(f"umount {HOME} && rm -r /root/kept")
    all_new(fleet, fleet.deploy(**fleet.new, **AT_ONCE))


def test_a_second_rollout_is_refused_with_the_holders_name(fleet: Fleet) -> None:
    with fleet.deploying(**fleet.new) as done:
        fleet.hosts[0].shell(f"timeout 300 sh -c 'until test -e {LEASE}; do sleep 0.1; done'")
        second = fleet.deploy(sglang_server_settings={"max_running_requests": 4})
    assert not second.ok
    assert "another run is changing this fleet" in second.message and "process" in second.message
    all_new(fleet, done[0])


def test_a_changed_host_that_was_rebooted_has_nothing_to_do(fleet: Fleet) -> None:
    all_new(fleet, fleet.deploy(**fleet.new, **AT_ONCE))
    host = fleet.hosts[2]
    lab("down", host.name, "--keep")
    fleet.start(host)
    again = fleet.deploy(**fleet.new)
    assert again.ok, again.output
    assert again.count("changed") == 0


def test_check_mode_tells_the_truth_of_a_fleet_that_differs(fleet: Fleet) -> None:
    checked = fleet.deploy("--check", **fleet.new)
    assert checked.ok, checked.output
    assert all(checked.stats["changed"].get(host.name) for host in fleet.hosts)
    assert one_release(fleet) == fleet.old and fleet.told() == []
    assert fleet.deploy("--check", **fleet.now).count("changed") == 0


def test_every_role_walks_over_a_converged_fleet_and_changes_nothing(fleet: Fleet) -> None:
    pids = [instance.main_pid() for instance in fleet.instances()]
    walked = fleet.deploy(deploy_full=True, **fleet.now)
    assert walked.ok, walked.output
    assert walked.count("changed") == 0
    assert [instance.main_pid() for instance in fleet.instances()] == pids
    assert not [line for line in fleet.told() if line.startswith("out")]


def test_what_a_hand_changed_is_seen_by_the_look(fleet: Fleet) -> None:
    unit, drop_in, shard = fleet.hosts[1:4]
    unit.shell("echo '# by hand' >> /etc/systemd/system/sglang-default.service")
    drop_in.write("/etc/systemd/system/sglang-default.service.d/by-hand.conf", "[Service]\nNice=1\n")
    name = shard.shell(f"cd {MODEL} && ls *.safetensors | head -1")
    shard.shell(f"cp -a {MODEL}/{name} /root/{name} && echo >> {MODEL}/{name}")
    looked = fleet.deploy("--check", **fleet.now)
    said = " ".join(looked.output.split())
    for words in ("the unit file was changed by hand", "the unit has a new drop-in", f"{name} of another size"):
        assert words in said, looked.output
    assert "converged, nothing to do: 3 of 6 hosts" in said
    shard.shell(f"mv /root/{name} {MODEL}/{name}")
    unit.shell("systemctl daemon-reload")
    drop_in.shell("rm -r /etc/systemd/system/sglang-default.service.d && systemctl daemon-reload")
    healed = fleet.deploy(**fleet.now)
    assert healed.ok, healed.output
    assert one_release(fleet) == fleet.old


def test_a_fleet_goes_back_one_host_at_a_time_and_stays_there(fleet: Fleet) -> None:
    all_new(fleet, fleet.deploy(**fleet.new, **AT_ONCE))
    fleet.log.unlink()
    back = fleet.play("playbooks/rollback.yml")
    assert back.ok, back.output
    assert one_release(fleet) == fleet.old
    assert fleet.serving() == [True] * 6
    assert fleet.told() == [f"{what} {host.name}" for host in fleet.hosts for what in ("out", "in")]
    again = fleet.play("playbooks/rollback.yml")
    assert again.ok, again.output
    assert again.count("changed") == 0 and one_release(fleet) == fleet.old
    fleet.turn -= 1


def test_nobody_to_ask_ends_the_rollout_after_the_first_batch(fleet: Fleet) -> None:
    paused = fleet.deploy(deploy_pause=True, **fleet.new)
    assert paused.ok, paused.output
    assert [release != fleet.old for release in fleet.releases()] == [True, *[False] * 5]
    all_new(fleet, fleet.deploy(**fleet.new, **AT_ONCE))
