# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Who hands a model or an environment to whom. Decisions only.

Rounds: in each, every host that has it hands it to one that needs it, so those that have it double, and `n` hosts are served from
`s` seeds in ceil(log2(n / s)) rounds, each as long as one transfer between two hosts. A transfer that fails costs a later round;
there are rounds as long as there are pairs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# A host that so many sources could not serve asks the hub, or builds: the fault may be its own.
TRIES = 3


@dataclass(frozen=True)
class Member:
    """One host. Those with the same `wants` hand it to each other."""

    host: str
    wants: str
    needs: bool
    offers: str = ""
    """What it can hand on (a revision, a manifest's SHA-256); empty for nothing, also where it needs nothing itself."""
    failed: tuple[str, ...] = ()
    """Sources that could not serve it."""


@dataclass(frozen=True)
class Group:
    """Hosts that want the same, in the order that was given."""

    members: tuple[Member, ...]

    @property
    def need(self) -> list[str]:
        return [member.host for member in self.members if member.needs]

    @property
    def have(self) -> list[str]:
        return [member.host for member in self.members if member.offers]

    @property
    def offered(self) -> list[str]:
        return [member.offers for member in self.members if member.offers]


def groups(members: Iterable[Member]) -> dict[str, Group]:
    """What is wanted → the hosts that want it."""
    found: dict[str, list[Member]] = {}
    for member in members:
        found.setdefault(member.wants, []).append(member)
    return {wants: Group(tuple(alike)) for wants, alike in found.items()}


def pairs(group: Group) -> dict[str, str]:
    """Receiver → source for one round; each host is in at most one pair.

    A source that failed anybody comes last, and a receiver does not get the same source twice.
    """
    blamed = Counter(source for member in group.members for source in member.failed)
    free: Sequence[str] = sorted(group.have, key=lambda host: blamed[host])  # a stable sort: otherwise the order that was given
    chosen: dict[str, str] = {}
    for member in group.members:
        if member.needs and len(member.failed) < TRIES:
            source = next((host for host in free if host not in member.failed), None)
            if source is not None:
                chosen[member.host] = source
                free = [host for host in free if host != source]
    return chosen
