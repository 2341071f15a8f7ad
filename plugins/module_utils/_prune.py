# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which models and environments of a host may go: what is there, what names it, how many stay. Decisions only."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass

MODEL, ENVIRONMENT, UNFINISHED, RECORD, FOREIGN = "model", "environment", "unfinished", "record", "foreign"


@dataclass(frozen=True)
class Item:
    """Something below a root. ``made`` is when it was finished (UTC, ISO 8601), ``busy`` who works on it now."""

    path: str
    kind: str
    made: str = ""
    about: str = ""  # of a foreign one why it is none of ours, of an unfinished one why it may go or not
    abandoned: bool = False  # of an unfinished one: no run will go on with it
    busy: str = ""

    @property
    def name(self) -> str:
        """A commit or ``<name>-<digest>``: unlike the path it stays the same behind links, mounts and quotation marks."""
        return os.path.basename(self.path)


@dataclass(frozen=True)
class Mention:
    """A text of the host that may name an item: a stamp, a unit, what a process has open."""

    by: str
    text: str


@dataclass(frozen=True)
class Decision:
    """Whether an item goes, and why or why not."""

    item: Item
    prune: bool
    reason: str


def named_by(item: Item, mentions: Iterable[Mention]) -> str:
    """Who names the item as a whole word; empty when nobody does."""
    word = re.compile(rf"(?<![\w.-]){re.escape(item.name)}(?![\w.-])")
    return next((mention.by for mention in mentions if item.name in mention.text and word.search(mention.text)), "")


def decide(items: Iterable[Item], mentions: Iterable[Mention], older: Iterable[Mention], keep: int) -> tuple[Decision, ...]:
    """One decision for each item, in their order.

    ``mentions`` keep what they name. ``older`` are the releases before the previous one: they keep nothing, and the reason tells.
    ``keep`` finished items that nothing names stay, the newest; 0 prunes nothing.
    """
    everything, texts, olds = tuple(items), tuple(mentions), tuple(older)
    kept: dict[Item, str] = {}
    for item in everything:
        reason = _stays(item, texts, keep)
        if reason:
            kept[item] = reason
    unused = [item for item in everything if item not in kept and item.kind in (MODEL, ENVIRONMENT)]
    spare = sorted(unused, key=lambda item: (item.made, item.path), reverse=True)[:keep]
    kept.update(dict.fromkeys(spare, f"nothing uses it, and it is among the newest {keep} of those"))
    return tuple(Decision(item, item not in kept, kept[item] if item in kept else _goes(item, olds, keep)) for item in everything)


def _stays(item: Item, mentions: tuple[Mention, ...], keep: int) -> str:
    if item.kind == FOREIGN:
        return f"not ours: {item.about}"
    if item.busy:
        return f"another run works on it: {item.busy}"
    user = named_by(item, mentions)
    if user:
        return f"in use: {user}"
    if keep <= 0:
        return "nothing uses it; keep is 0, so nothing is pruned"
    if item.kind == UNFINISHED and not item.abandoned:
        return item.about
    return ""


def _goes(item: Item, older: tuple[Mention, ...], keep: int) -> str:
    if item.kind in (UNFINISHED, RECORD):
        return item.about
    release = named_by(item, older)
    lost = f"; {release} names it and could not be gone back to" if release else ""
    return f"nothing uses it, and {keep} newer of those stay{lost}"
