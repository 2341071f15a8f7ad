# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Batches of a rollout: every host once, in order, and no group below its quorum."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._rollout_batches import (
    Amount,
    Candidate,
    Quorum,
    make_batches,
    parse_batches,
    parse_min_serving,
    still_serving,
)
from hypothesis import given
from hypothesis import strategies as st

SIZES = st.lists(st.one_of(st.integers(1, 9), st.integers(1, 100).map(lambda share: f"{share}%")), min_size=1, max_size=4)
WANTED = st.one_of(st.integers(0, 6).map(Amount), st.integers(0, 100).map(lambda share: Amount(share, share=True)))


@st.composite
def fleets(draw: st.DrawFn) -> tuple[list[Candidate], dict[str, Quorum]]:
    hosts = [
        Candidate(f"h{number}", draw(st.sampled_from(["a", "b", "c"])), draw(st.booleans())) for number in range(draw(st.integers(0, 14)))
    ]
    groups = {}
    for name in ("a", "b", "c"):
        changing = sum(host.costs for host in hosts if host.group == name)
        # Others of the group serve and need no change.
        groups[name] = Quorum(draw(WANTED), serving=changing + draw(st.integers(0, 4)), outside=draw(st.integers(0, 3)))
    return hosts, groups


@given(fleets(), SIZES)
def test_no_group_falls_below_its_quorum_and_every_host_has_its_turn_once(
    fleet: tuple[list[Candidate], dict[str, Quorum]], sizes: list[Any]
) -> None:
    hosts, groups = fleet
    amounts = parse_batches(sizes)
    if any(host.costs and groups[host.group].spare < 1 for host in hosts):
        with pytest.raises(SglangError, match="quorum"):
            make_batches(hosts, amounts, groups)
        return
    batches = make_batches(hosts, amounts, groups)
    assert [name for batch in batches for name in batch] == [host.name for host in hosts]
    found = {host.name: host for host in hosts}
    for number, batch in enumerate(batches):
        assert batch
        assert len(batch) <= max(1, amounts[min(number, len(amounts) - 1)].of(len(hosts)))
        for name, quorum in groups.items():
            down = sum(found[host].costs for host in batch if found[host].group == name)
            assert down == 0 or quorum.serving - down >= quorum.need
            # The same count, made from outside as the admission makes it.
            assert down == 0 or still_serving(name, quorum, quorum.serving - down) is None


@pytest.mark.parametrize(("serving", "stay"), [(1, 0), (2, 1), (3, 1), (6, 3), (7, 3)])
def test_half_of_a_group_is_rounded_down(serving: int, stay: int) -> None:
    assert Quorum(parse_min_serving("50%"), serving).need == stay


def test_a_number_counts_hosts_outside_of_the_run_and_a_share_does_not() -> None:
    assert Quorum(Amount(3), serving=1, outside=3).need == 0
    assert Quorum(Amount(3), serving=2, outside=1).need == 2
    assert Quorum(parse_min_serving("50%"), serving=2, outside=4).need == 1


def test_one_host_too_few_is_refused() -> None:
    quorum = Quorum(Amount(50, share=True), serving=6)
    assert still_serving("chat", quorum, 3) is None
    refused = still_serving("chat", quorum, 2)
    assert refused is not None
    assert "2 of its hosts" in refused.found


WRONG_BATCHES = [[], [0], ["0%"], ["101%"], [-1], ["half"], None, [1.5], [True], [[1]], {"a": 1}, ["1", "x%"], "", "%"]


@pytest.mark.parametrize("value", WRONG_BATCHES, ids=repr)
def test_sizes_that_cannot_be_used_are_refused(value: object) -> None:
    with pytest.raises(SglangError, match="deploy_batches"):
        parse_batches(value)


@pytest.mark.parametrize(("value", "wanted"), [(2, [2]), ("3", [3]), (["100%"], [8]), ([1, "25%", "100%"], [1, 2, 8])])
def test_sizes_as_ansible_takes_them(value: object, wanted: list[int]) -> None:
    assert [amount.of(8) for amount in parse_batches(value)] == wanted


@pytest.mark.parametrize("value", ["most", "120%", -1, True, None, 1.5, []], ids=repr)
def test_a_quorum_that_is_no_amount_is_refused(value: object) -> None:
    with pytest.raises(SglangError, match="fleet_rollout_min_serving"):
        parse_min_serving(value)
