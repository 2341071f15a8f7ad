# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a rollout does on which host, and when it stops."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference.sglang.plugins.module_utils import _rollout_plan as core

OTHER = {"min_serving": "50%", "outside": 0}
LOOK: dict[str, Any] = {
    "planned": True,
    "complete": True,
    "unstaged": [],
    "missing": [],
    "active": True,
    "out": False,
    "rollout": {"phase": ""},
    "accepted": {"id": "a" * 16},
    "release": {"id": "a" * 16},
    "port_holders": [],
    "difference": {"converged": True, "restart": False, "reasons": [], "live": {"active": True}},
}
DIFFERS = {"converged": False, "restart": True, "reasons": ["release b is wanted"], "live": {"active": True}}
STOPPED = {**DIFFERS, "live": {"active": False}}


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, "converged"),
        ({"out": True}, "finish"),
        ({"unstaged": ["the model: a shard of another size"]}, "serving"),
        ({"difference": DIFFERS}, "serving"),
        ({"difference": DIFFERS, "out": True}, "down"),
        ({"difference": STOPPED, "active": False}, "down"),
        ({"accepted": None, "difference": STOPPED, "active": False}, "fresh"),
        ({"accepted": None, "difference": STOPPED, "active": False, "port_holders": [{"pid": 1}]}, "serving"),
        ({"accepted": None, "complete": False, "difference": None, "active": False, "missing": ["no model"]}, "fresh"),
        ({"complete": False, "difference": None, "missing": ["no model"]}, "serving"),
        ({"complete": False, "difference": None, "active": False}, "down"),
        ({"failed": True, "msg": "broken stamp"}, "unknown"),
        ({"unreachable": True, "msg": "no route"}, "lost"),
    ],
)
def test_the_state_of_a_host(changes: dict[str, Any], state: str) -> None:
    found = core.view_host({**LOOK, **changes})
    assert found["state"] == state
    assert found["why"] or state in ("converged", "finish") or changes.get("active") is False


@pytest.mark.parametrize("look", [{}, {"msg": "module died"}, {"changed": False}], ids=repr)
def test_whatever_is_no_look_is_an_unknown_state(look: dict[str, Any]) -> None:
    assert core.view_host(look)["state"] == "unknown"


def row(host: str, state: str, **more: Any) -> dict[str, Any]:
    return {"host": host, "group": "g", "state": state, "why": ["reason"], "release": "", "verdict": "", **more}


def plan_of(rows: list[dict[str, Any]], batches: object = (1, "100%"), full: bool = False) -> dict[str, Any]:
    return core.make_plan(rows, {"g": OTHER}, list(batches) if isinstance(batches, tuple) else batches, full)


ROWS = [
    row("s1", "serving"),
    row("c1", "converged"),
    row("f1", "fresh"),
    row("d1", "down"),
    row("s2", "serving"),
    row("u1", "finish"),
    row("f2", "fresh"),
]


def test_hosts_that_serve_nothing_come_first_and_converged_ones_are_left_alone() -> None:
    plan = plan_of(ROWS)
    assert plan["fresh"] == ["f1", "f2"]
    assert plan["order"] == ["d1", "u1", "s1", "s2"]
    assert plan["serial"] == [1, 3]
    assert plan["stage"] == ["s1", "f1", "d1", "s2", "f2"], "a host that only has to rejoin needs nothing"


def test_with_full_every_host_is_walked_over() -> None:
    plan = plan_of(ROWS, full=True)
    assert "c1" in plan["stage"] and "c1" in plan["order"]


@pytest.mark.parametrize("state", ["lost", "unknown"])
def test_one_host_that_is_not_known_stops_everything(state: str) -> None:
    plan = plan_of([*ROWS, row("x", state)])
    assert "x is" in plan["halt"]
    assert (plan["stage"], plan["fresh"], plan["order"], plan["serial"]) == ([], [], [], [])
    assert core.failed_hosts(plan, [*ROWS, row("x", state)]) == ["x"]
    assert "NOTHING IS CHANGED" in core.table(plan, [*ROWS, row("x", state)])[-1]


def test_a_quorum_that_cannot_hold_stops_everything_and_fails() -> None:
    rows = [row("s1", "serving"), row("d1", "down")]
    plan = core.make_plan(rows, {"g": {"min_serving": 1, "outside": 0}}, [1])
    assert "quorum" in plan["halt"]
    assert core.failed_hosts(plan, rows) == ["s1"]


def progress(plan: dict[str, Any], changes: dict[str, dict[str, Any]], upcoming: list[str]) -> str:
    rows = [{**one, "staged": True, **changes.get(one["host"], {})} for one in ROWS]
    return core.reason_to_halt(plan, rows, upcoming)


DONE = {"verdict": "done"}


@pytest.mark.parametrize(
    ("changes", "upcoming", "said"),
    [
        ({}, ["f1", "f2"], ""),
        ({"s2": {"staged": False}}, ["f1", "f2"], "not staged: s2"),
        ({"f1": DONE, "f2": DONE}, ["d1"], ""),
        ({"f1": DONE}, ["d1"], "lost: f2"),
        ({"f1": DONE, "f2": {"verdict": "failed"}}, ["d1"], "failed: f2"),
        ({"f1": DONE, "f2": DONE}, ["s1", "s2"], "lost: d1, u1"),
        (dict.fromkeys(("f1", "f2", "d1", "u1"), DONE), ["s1", "s2"], ""),
        # The first of the batch was lost before it began.
        (dict.fromkeys(("f1", "f2", "d1", "u1"), DONE), ["s2"], "lost: s1"),
    ],
)
def test_silence_of_a_host_that_came_before_stops_the_rollout(changes: dict[str, dict[str, Any]], upcoming: list[str], said: str) -> None:
    assert progress(plan_of(ROWS), changes, upcoming) == said


def test_those_who_must_serve_are_asked_once_each_by_the_batch() -> None:
    rows = [*ROWS, {**row("z", "serving"), "group": "other"}, {**row("f3", "fresh"), "verdict": "done"}]
    asked = core.to_ask(rows, ["s1", "d1"])
    assert sorted(asked) == ["d1", "s1"]
    assert sorted(name for names in asked.values() for name in names) == ["c1", "f3", "s2"]
    assert core.to_ask(rows, ["d1"]) == {"d1": []}, "a host that does not serve takes nothing away"


def said(host: str, answers: str = "yes", instance: str = "default") -> dict[str, Any]:
    return {"item": host, "instances": [{"instance": instance, "answers": answers}]}


def test_the_quorum_counts_only_who_answers_and_is_of_the_group() -> None:
    plan = plan_of(ROWS)
    assert plan["groups"]["g"]["need"] == 1
    assert core.quorum_faults(plan, ROWS, ["s1"], [said("c1")]) == []
    assert core.quorum_faults(plan, ROWS, ["d1"], []) == []
    for others in ([], [said("s1")], [said("elsewhere")], [said("c1", "no connection")], [said("c1", instance="other")]):
        assert len(core.quorum_faults(plan, ROWS, ["s1"], others)) == 1
    assert len(core.quorum_faults(plan, ROWS, ["s1"], [{"item": "c1", "unreachable": True, "msg": "no route"}])) == 1


def test_every_host_that_was_to_be_changed_has_a_verdict() -> None:
    plan = plan_of(ROWS)
    rows = [{**one, "staged": one["host"] != "f2"} for one in ROWS]
    rows[3].update(verdict="failed", text="it died; it does not serve")
    rows[2].update(verdict="done", text="serves release b")
    rows[0].update(begun=True)
    lost, done, failed, unstaged, untouched = core.verdicts(plan, rows)
    assert lost.startswith("s1: LOST while it was changed")
    assert (done, failed) == ("f1: serves release b", "d1: FAILED: it died; it does not serve")
    assert unstaged.startswith("f2: LOST before it was staged")
    assert untouched == "not touched: s2, u1"


STAMPS: dict[str, Any] = {"accepted": {"id": "b"}, "previous": {"id": "a"}, "releases": ["a", "b", "c"], "unit": {"active": "active"}}
WENT = {"rollout": {"rollout": "back-1", "release": "b", "phase": "rejoined"}, "out": False}


@pytest.mark.parametrize(
    ("changes", "last", "to", "state", "release"),
    [
        ({}, {}, "", "serving", "a"),
        ({}, {}, "c", "serving", "c"),
        ({}, {"out": True}, "", "down", "a"),
        ({"unit": {"active": "failed"}}, {}, "", "down", "a"),
        ({}, {}, "b", "converged", "b"),
        # It went back already: the same command again must not go forward to what was left.
        ({}, WENT, "", "converged", "b"),
        ({}, {**WENT, "out": True}, "", "finish", "b"),
        ({}, WENT, "a", "serving", "a"),
        # Something else was accepted since.
        ({"accepted": {"id": "c"}}, WENT, "", "serving", "a"),
        ({"previous": None}, {}, "", "unknown", ""),
        ({}, {}, "d", "unknown", "d"),
        ({"failed": True, "msg": "a stamp of a release cannot be read"}, {}, "", "unknown", ""),
        ({"unreachable": True}, {}, "", "lost", ""),
    ],
)
def test_the_state_of_a_host_before_a_rollback(changes: dict[str, Any], last: dict[str, Any], to: str, state: str, release: str) -> None:
    found = core.view_before_rollback({**STAMPS, **changes}, last, to)
    assert (found["state"], found["release"]) == (state, release)
