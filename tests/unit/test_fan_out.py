# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Who hands a model to whom."""

from __future__ import annotations

import math
import random

from ansible_collections.inference.sglang.plugins.module_utils._fan_out import SPARE_ROUNDS, pairs, rounds
from hypothesis import given, settings
from hypothesis import strategies as st


@settings(deadline=None)
@given(st.integers(1, 300), st.integers(1, 4))
def test_those_that_have_it_double(hosts: int, seeds: int) -> None:
    seeds = min(seeds, hosts)
    have, need = [f"h{n}" for n in range(seeds)], [f"h{n}" for n in range(seeds, hosts)]
    needed = 0
    while need:
        round_ = pairs(need, have)
        assert len(round_) == min(len(need), len(have))
        assert len(set(round_.values())) == len(round_), "a source serves one receiver"
        assert set(round_) <= set(need)
        assert set(round_.values()) <= set(have)
        have += list(round_)
        need = [host for host in need if host not in round_]
        needed += 1
    assert needed == math.ceil(math.log2(hosts / seeds))
    assert rounds(hosts, seeds) == (needed + SPARE_ROUNDS if needed else 0)


@settings(deadline=None)
@given(st.integers(2, 40), st.randoms(use_true_random=False))
def test_a_peer_that_always_fails_keeps_nobody_from_it(hosts: int, chance: random.Random) -> None:
    """One bad source among those that have it: everybody is served within the rounds that are held."""
    have, need = ["h0", "h1"], [f"h{n}" for n in range(2, hosts + 1)]
    bad, failed = chance.choice(have), []
    for _ in range(rounds(len(have) + len(need), len(have))):
        for receiver, source in pairs(need, have, failed).items():
            assert (receiver, source) not in failed
            if source == bad:
                failed.append((receiver, source))
            else:
                have.append(receiver)
        need = [host for host in need if host not in have]
    assert not need


def test_nobody_is_paired_where_nobody_has_it() -> None:
    assert pairs(["a"], []) == {}
    assert pairs([], ["a"]) == {}
    assert rounds(5, 0) > 0
