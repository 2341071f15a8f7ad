# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Who hands a model to whom. Decisions only.

Rounds: in each, every host that has the model hands it to one that needs it, so those that have it double, and `n` hosts are
served from `s` seeds in ceil(log2(n / s)) rounds, each as long as one transfer between two hosts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

# A peer may die in a round; its receiver is served in a later one.
SPARE_ROUNDS = 2


def rounds(hosts: int, seeds: int) -> int:
    """How many rounds are held at most: those that doubling takes, and spare ones for peers that fail."""
    missing, have, count = hosts - seeds, max(1, seeds), 0
    while missing > 0:
        missing -= have
        have *= 2
        count += 1
    return count + SPARE_ROUNDS if count else 0


def pairs(need: Sequence[str], have: Sequence[str], failed: Collection[tuple[str, str]] = ()) -> dict[str, str]:
    """Receiver → source for one round; each host is in at most one pair.

    `failed` are pairs (receiver, source) of earlier rounds that did not work. A source that failed anybody comes last, and a
    receiver does not get the same source twice.
    """
    blamed = Counter(pair[1] for pair in failed)
    free = sorted(have, key=lambda host: blamed[host])  # a stable sort: otherwise the order that was given
    chosen: dict[str, str] = {}
    for receiver in need:
        source = next((host for host in free if (receiver, host) not in failed), None)
        if source is not None:
            chosen[receiver] = source
            free.remove(source)
    return chosen
