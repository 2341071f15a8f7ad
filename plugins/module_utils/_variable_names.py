# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Misspelt variables: Ansible takes any name, so a typing error silently deploys the default. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

# A foreign name this close to one of ours is a typing error, not a name of the site's own.
_NEAR = 2
# Below this length two edits make another word: `ml_env` and `my_env` have nothing to do with each other.
_SHORTEST = 9


@dataclass(frozen=True)
class UnknownVariable:
    """A defined variable that is none, and the one that was probably meant; ``nearest`` may be empty."""

    name: str
    nearest: str

    def describe(self) -> str:
        return f"{self.name}: did you mean {self.nearest}?" if self.nearest else f"{self.name}: no variable of this collection is near it"


@lru_cache(maxsize=50_000)
def distance(left: str, right: str, most: int) -> int:
    """Edits between two words, neighbours swapped counting as one; ``most + 1`` as soon as it is more than ``most``."""
    if abs(len(left) - len(right)) > most:
        return most + 1
    before: list[int] = []
    last = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        now = [i]
        for j, b in enumerate(right, 1):
            cost = min(last[j] + 1, now[j - 1] + 1, last[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            now.append(cost)
        if min(now) > most and (not last or min(last) > most):
            return most + 1
        before, last = last, now
    return min(last[-1], most + 1)


def _bare(name: str) -> str:
    """``ml_envsglang_version`` and ``ml_env_sglang_version`` are the same word typed with one key less."""
    return name.lower().replace("_", "").replace("-", "")


def _could_be_near(left: str, right: str, most: int) -> bool:
    """A cheap bound: letters that only one of them has need at least an edit for every two."""
    if abs(len(left) - len(right)) > most:
        return False
    a, b = Counter(left), Counter(right)
    return max(sum((a - b).values()), sum((b - a).values())) <= most


def nearest_name(name: str, known: Iterable[str], most: int) -> str:
    """The known name with the fewest edits, at most ``most``; the first in the alphabet of several."""
    best, best_distance = "", most + 1
    bare = _bare(name)
    for candidate in sorted(known):
        if not _could_be_near(bare, _bare(candidate), best_distance - 1):
            continue
        found = distance(bare, _bare(candidate), best_distance - 1)
        if found < best_distance:
            best, best_distance = candidate, found
    return best


def unknown_names(defined: Iterable[str], known: Iterable[str], prefixes: Iterable[str]) -> list[UnknownVariable]:
    """The defined names that look like ours and are not.

    ``prefixes`` are the roles' names. A name with one of them must be known. Another name is the site's own business,
    unless it is nearly a known one (``sglangserver_port``). Names with a leading underscore are internals.
    """
    names = frozenset(known)
    starts = tuple(f"{prefix}_" for prefix in prefixes)
    unknown = []
    for name in sorted(set(defined)):
        if name in names or name.startswith(("_", "ansible_")):
            continue
        if name.startswith(starts):
            # It is wrong in any case, so a far guess is better than none.
            unknown.append(UnknownVariable(name, nearest_name(name, names, max(_NEAR, len(name) // 3))))
        elif len(name) >= _SHORTEST:
            nearest = nearest_name(name, names, _NEAR)
            if nearest:
                unknown.append(UnknownVariable(name, nearest))
    return unknown
