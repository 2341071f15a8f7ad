# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The engine's command-line options by release, from _options_base.py and _options_changes_*.py.

Each line of those is one of

    KIND: NAME NAME ...            options with one free value (switches: none) and nothing else to say
    NAME KIND[+*?] [A|B|...] =DEFAULT @ALIAS,ALIAS >SUCCESSOR ?SUCCESSOR !
    ~ NAME +A|B -C                 choices that came and went
    -: NAME NAME ...               options that are gone

with `+*?` as in argparse's nargs and `!` for deprecated; a value moves to the name behind `>` as it is, and is to be translated to `?`.
 A line that starts with blanks continues the one before; all but four of them count.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Optional

from ansible_collections.inference.sglang.plugins.module_utils import _options_base, _options_changes_1, _options_changes_2
from ansible_collections.inference.sglang.plugins.module_utils._releases_types import unfolded

# Emitted by the spelling that works in every release; the tables' first name is not always it.
_EMITTED = {
    "tensor-parallel-size": "tp-size",
    "pipeline-parallel-size": "pp-size",
    "data-parallel-size": "dp-size",
    "expert-parallel-size": "ep-size",
}


@dataclass(frozen=True)
class Option:
    """One option: its name without dashes, the kind of its value and how many there are."""

    name: str
    kind: str
    many: str = "1"
    choices: tuple[str, ...] = ()
    deprecated: bool = False
    default: str = ""
    """As the parser has it; empty for none, false, and what is more than one word."""
    aliases: tuple[str, ...] = ()
    successor: str = ""
    """What the parser itself says to write instead, without dashes in front."""
    moves: bool = False
    """Whether the parser itself puts the value, as it is, where the successor's goes."""

    @property
    def key(self) -> str:
        """Its name as settings spell it."""
        return self.name.replace("-", "_")

    @property
    def flag(self) -> str:
        """Its name as the command line spells it."""
        return "--" + _EMITTED.get(self.name, self.name)


@dataclass(frozen=True)
class OptionTable:
    """All options of one release."""

    version: str
    options: dict[str, Option]
    aliases: dict[str, str]

    def find(self, name: str) -> Optional[Option]:
        """By full name or alias, without dashes in front."""
        return self.options.get(self.aliases.get(name, name))

    def names(self) -> list[str]:
        """Every accepted spelling."""
        return [*self.options, *self.aliases]


def _option(line: str) -> Option:
    name, kind, *words = line.split(" ")
    many = kind[-1] if kind[-1] in "+*?" else "1"
    found = Option(name, kind.rstrip("+*?"), many)
    for word in words:
        mark, text = word[0], word[1:]
        if mark == "[":
            found = replace(found, choices=tuple(text[:-1].split("|")))
        elif mark == "=":
            found = replace(found, default=text)
        elif mark == "@":
            found = replace(found, aliases=tuple(text.split(",")))
        elif mark in ">?":
            found = replace(found, successor=text, moves=mark == ">")
        elif mark == "!":
            found = replace(found, deprecated=True)
    return found


def _with_choices(option: Option, words: list[str]) -> Option:
    choices = list(option.choices)
    for word in words:
        named = word[1:].split("|")
        choices = [*choices, *named] if word[0] == "+" else [choice for choice in choices if choice not in named]
    return replace(option, choices=tuple(choices))


def _apply(options: dict[str, Option], text: str) -> dict[str, Option]:
    changed = dict(options)
    for line in unfolded(text):
        head, _colon, rest = line.partition(" ")
        if head == "-:":
            for name in rest.split(" "):
                del changed[name]
        elif head == "~":
            name, *words = rest.split(" ")
            changed[name] = _with_choices(changed[name], words)
        elif head.endswith(":"):
            changed.update({name: Option(name, head[:-1]) for name in rest.split(" ")})
        else:
            option = _option(line)
            changed[option.name] = option
    return changed


@lru_cache(maxsize=1)
def option_tables() -> dict[str, OptionTable]:
    """Release -> its options, oldest first."""
    options = _apply({}, _options_base.OPTIONS)
    found = {_options_base.VERSION: options}
    for version, text in {**_options_changes_1.CHANGES, **_options_changes_2.CHANGES}.items():
        options = _apply(options, text)
        found[version] = options
    return {
        version: OptionTable(version, table, {alias: name for name, option in table.items() for alias in option.aliases})
        for version, table in found.items()
    }
