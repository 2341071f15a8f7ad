# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The record of a rollout on a host: it outlives the run, and knows whether the server is out of its balancer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._rollout_record import (
    PHASES,
    Record,
    advance,
    parse_record,
    read_rollout,
    utc,
    write_rollout,
)
from hypothesis import given
from hypothesis import strategies as st

ONE, TWO = {"rollout": "one", "release": "a" * 16}, {"rollout": "two", "release": "b" * 16}


def through(*phases: str) -> Record:
    record = Record()
    for number, phase in enumerate(phases):
        record = advance(record, phase, utc(1000 + number), ONE)
    return record


@pytest.mark.parametrize(
    ("phases", "out"),
    [
        ((), False),
        (("admitted",), False),
        (("admitted", "drained"), True),
        (("admitted", "drained", "switched"), True),
        (("admitted", "drained", "switched", "rejoined"), False),
        (("admitted", "drained", "rolled_back"), False),
        (("admitted", "drained", "failed"), True),
        (("admitted", "drained", "switched", "rejoined", "drained"), True),
    ],
)
def test_whether_it_is_out_of_its_balancer(phases: tuple[str, ...], out: bool) -> None:
    assert through(*phases).out is out


@given(st.lists(st.tuples(st.sampled_from(PHASES), st.booleans()), max_size=12))
def test_no_later_rollout_forgets_that_a_server_is_out(steps: list[tuple[str, bool]]) -> None:
    record, out = Record(), False
    for number, (phase, other) in enumerate(steps):
        out = phase == "drained" or (out and phase not in ("rejoined", "rolled_back"))
        record = advance(record, phase, utc(1000 + number / 10), TWO if other else ONE)
        assert record.out is out
        assert parse_record(json.dumps(record.shown()), "x") == record


def test_another_rollout_keeps_nothing_else_of_the_one_before() -> None:
    record = advance(through("admitted", "drained", "rolled_back"), "admitted", utc(2000), TWO)
    assert (record.rollout, record.release, record.verdict, list(record.times)) == ("two", "b" * 16, "", ["admitted"])


def test_it_is_written_and_read(tmp_path: Path) -> None:
    assert read_rollout(str(tmp_path / "none")) == Record()
    record = advance(through("admitted"), "failed", utc(), {**ONE, "from": "c" * 16, "verdict": "it died", "code": "GPU-001"})
    write_rollout(str(tmp_path / "instance"), record)
    assert read_rollout(str(tmp_path / "instance")) == record
    shown = json.loads((tmp_path / "instance/rollout.json").read_text())
    assert set(shown) == {"format", "rollout", "release", "from", "phase", "verdict", "code", "at", "times"}


BROKEN = ["", "{", "[]", "null", "1", '{"format": 2}', json.dumps({**through("admitted").shown(), "phase": "lost"})]
BROKEN += [json.dumps({**through("admitted").shown(), name: 1}) for name in ("rollout", "times", "from", "at")]


@pytest.mark.parametrize("text", BROKEN)
def test_a_damaged_record_is_told_and_not_taken_for_none(text: str) -> None:
    with pytest.raises(SglangError, match="cannot be read"):
        parse_record(text, "/x/rollout.json")


def test_a_phase_that_is_none_is_refused() -> None:
    with pytest.raises(SglangError, match="no such phase"):
        advance(Record(), "done", utc(), ONE)
