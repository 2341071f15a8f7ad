# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Who hands a model or an environment to whom."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from ansible_collections.inference.sglang.plugins.filter.fan_out import FilterModule
from ansible_collections.inference.sglang.plugins.module_utils._fan_out import TRIES, Group, Member, groups, pairs
from hypothesis import given, settings
from hypothesis import strategies as st


def fleet(hosts: int, seeds: int) -> tuple[Member, ...]:
    return tuple(Member(f"h{n}", "m", needs=n >= seeds, offers="v" if n < seeds else "") for n in range(hosts))


def after(members: tuple[Member, ...], round_: dict[str, str], bad: frozenset[str] = frozenset()) -> tuple[Member, ...]:
    """The fleet when a round is over in which some sources serve nobody."""
    return tuple(
        member
        if member.host not in round_
        else replace(member, failed=(*member.failed, round_[member.host]))
        if round_[member.host] in bad
        else replace(member, needs=False, offers="v")
        for member in members
    )


@settings(deadline=None)
@given(st.integers(1, 300), st.integers(1, 4))
def test_those_that_have_it_double_and_no_round_is_held_for_nothing(hosts: int, seeds: int) -> None:
    seeds = min(seeds, hosts)
    members, rounds = fleet(hosts, seeds), 0
    while round_ := pairs(Group(members)):
        group = Group(members)
        assert len(round_) == min(len(group.need), len(group.have))
        assert len(set(round_.values())) == len(round_), "a source serves one receiver"
        assert set(round_) <= set(group.need)
        assert set(round_.values()) <= set(group.have)
        members, rounds = after(members, round_), rounds + 1
    assert not Group(members).need
    assert rounds == math.ceil(math.log2(hosts / seeds))


@settings(deadline=None)
@given(st.integers(2, 40), st.sets(st.integers(0, 40), max_size=TRIES - 1))
def test_sources_that_always_fail_keep_nobody_from_it(hosts: int, bad: set[int]) -> None:
    """Fewer than a host may try: everybody is served as long as one source works, and no pair is made twice."""
    seeds = len(bad) + 1
    broken = frozenset(f"h{n}" for n in bad)
    members: tuple[Member, ...] = fleet(hosts + seeds, seeds)
    if all(member.host in broken for member in members if member.offers):
        return
    seen: set[tuple[str, str]] = set()
    while round_ := pairs(Group(members)):
        assert seen.isdisjoint(round_.items())
        seen.update(round_.items())
        members = after(members, round_, broken)
    assert not Group(members).need


@settings(deadline=None)
@given(st.integers(2, 40), st.integers(1, 40))
def test_rounds_end_where_no_source_works(hosts: int, seeds: int) -> None:
    """A host that nobody can serve tries so many sources and no more."""
    members = fleet(hosts + seeds, seeds)
    everybody = frozenset(member.host for member in members)
    while round_ := pairs(Group(members)):
        members = after(members, round_, everybody)
    assert {len(member.failed) for member in members if member.needs} == {min(seeds, TRIES)}


def test_a_source_that_failed_somebody_comes_last() -> None:
    members = (Member("a", "m", False, "v"), Member("b", "m", False, "v"), Member("c", "m", True, "", ("a",)), Member("d", "m", True))
    assert pairs(Group(members)) == {"c": "b", "d": "a"}
    assert pairs(Group((*members[:2], replace(members[2], needs=False), members[3]))) == {"d": "b"}


@pytest.mark.parametrize(
    "member",
    [
        Member("b", "another", False, "v"),
        Member("b", "m", False),
    ],
    ids=["wants another", "vouches for nothing"],
)
def test_nothing_comes_from_one_that_has_something_else_or_offers_nothing(member: Member) -> None:
    alike = groups([Member("a", "m", True), member])
    assert pairs(alike["m"]) == {}
    assert alike["m"].have == []


def test_the_filter_gives_a_host_all_that_its_round_needs() -> None:
    states = [
        {"host": "a", "wants": "m", "needs": False, "offers": "v", "failed": []},
        {"host": "b", "wants": "m", "needs": True, "offers": "", "failed": []},
        {"host": "c", "wants": "n", "needs": True, "offers": "", "failed": ["a"]},
    ]
    assert FilterModule().filters()["fan_out"](states) == {
        "sources": {"b": "a"},
        "receivers": {"a": "b"},
        "groups": {"m": {"need": ["b"], "have": ["a"], "offered": ["v"]}, "n": {"need": ["c"], "have": [], "offered": []}},
    }
