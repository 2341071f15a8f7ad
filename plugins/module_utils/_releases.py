# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The release table: what differs between SGLang releases, one row a release. No such fact stands anywhere else."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._plain import shown
from ansible_collections.inference.sglang.plugins.module_utils._releases_places import PLACES
from ansible_collections.inference.sglang.plugins.module_utils._releases_rows import RELEASES
from ansible_collections.inference.sglang.plugins.module_utils._releases_types import NEWER, UNVERIFIED, CardDefaults, Release, unfolded

__all__ = [
    "OPT_IN",
    "RELEASES",
    "UNVERIFIED",
    "CardDefaults",
    "Release",
    "first_reader",
    "first_release",
    "known_releases",
    "log_wording",
    "newest_release",
    "place",
    "release_facts",
    "release_of",
    "strategy_options",
    "supported_releases",
]

OPT_IN = "sglang_server_allow_unverified_release"
_VERSION = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6}){1,3})(?:(rc|\.dev|\.post)([0-9]{1,9}))?(?:\+[A-Za-z0-9.]{1,64})?")
_ORDER = {".dev": -2, "rc": -1, None: 0, ".post": 1}


def _key(version: str) -> Optional[tuple[tuple[int, ...], int, int]]:
    """A version as something to compare by; None for what is no version."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return None
    numbers = tuple(int(part) for part in match[1].split("."))
    return numbers + (0,) * (4 - len(numbers)), _ORDER[match[2]], int(match[3] or 0)


def _sorted(versions: list[str]) -> list[str]:
    keys = {version: _key(version) for version in versions}
    return sorted(versions, key=lambda version: keys[version] or ((), 0, 0))


def known_releases() -> list[str]:
    """All versions of the table, oldest first."""
    return _sorted(list(RELEASES))


def supported_releases() -> list[str]:
    """Versions whose own parser has taken this collection's commands, oldest first."""
    return _sorted([version for version, row in RELEASES.items() if row.is_verified])


def newest_release() -> Release:
    """The last row of the table."""
    return RELEASES[known_releases()[-1]]


def first_release(field: str, value: object) -> str:
    """The first release of the table of which a fact is true, for messages about them all."""
    return next((version for version in known_releases() if getattr(RELEASES[version], field) == value), "none")


def first_reader(model_type: str) -> str:
    """The first release that reads a model type by itself, for messages; empty where none does."""
    return next((version for version in known_releases() if model_type not in RELEASES[version].unread_types), "")


def _newer_than_the_table(version: str) -> Optional[Release]:
    """The newest row under another version's name, where that version is newer."""
    row = newest_release()
    key, last = _key(version), _key(row.version)
    if key is None or last is None or key <= last:
        return None
    return replace(row, version=version, status=NEWER, source=f"{row.source}, taken for {version}", memory_measured=False)


def _refusal(version: object, row: Optional[Release]) -> SglangError:
    supported = "supported: " + ", ".join(supported_releases())
    found = f"sglang_version: {shown(version)}"
    if row is None:
        return SglangError(
            f"SGLang {shown(version)} is not in the release table.",
            found=found,
            wanted=supported,
            next_step="Set ml_env_sglang_version to a supported release.",
        )
    if row.status == NEWER:
        wrong, known = f"SGLang {version} is newer than the release table.", f"the table ends at {row.options}"
    else:
        wrong = (
            f"SGLang {version} is unverified: its wheel was read, but no environment with all that it depends on was ever made and asked."
        )
        known = "unverified in the release table"
    return SglangError(
        wrong,
        found=f"{found} ({known})",
        wanted=supported,
        next_step=(
            f"Set ml_env_sglang_version to a supported release, or {OPT_IN}: true to plan all the same; "
            "the engine check on the host then has the last word."
        ),
    )


def release_of(version: object, allow_unverified: bool = False) -> Release:
    """The row of a version, or a refusal that lists the table. Unverified and newer releases only where they are asked for."""
    row: Optional[Release] = None
    if isinstance(version, str):
        row = RELEASES.get(version) or _newer_than_the_table(version)
    if row is None or not (row.is_verified or allow_unverified):
        raise _refusal(version, row)
    return row


def release_facts(version: object) -> dict[str, Any]:
    """What a release needs around it, as plain data; of unverified and newer releases, too."""
    return release_of(version, allow_unverified=True).as_dict()


@lru_cache(maxsize=1)
def _places() -> dict[str, dict[str, str]]:
    """Fact -> release -> file:line; a release that is not named stands as the one before it, '-' where it has no such line."""
    found = {}
    for line in unfolded(PLACES):
        fact, *words = line.split(" ")
        named = dict(word.split("=", 1) for word in words)
        last, places = "-", {}
        for version in RELEASES:
            last = named.get(version, last)
            places[version] = last
        found[fact] = places
    return found


def place(release: Release, fact: str) -> str:
    """Where a fact of a release was read, as a plan cites it; its general source where it has no line of its own."""
    where = _places().get(fact, {}).get(release.options, "-")
    return release.source if where == "-" else f"SGLang {release.options} {where}"


@cache
def log_wording(stage: str) -> str:
    """A regular expression for the line that begins a stage of a start, in the wording of every release."""
    texts = {text for row in RELEASES.values() for name, text in row.log_lines if name == stage}
    return "|".join(sorted(texts))


def strategy_options() -> list[str]:
    """The state cache's option by all its names."""
    return sorted({row.strategy_option for row in RELEASES.values()})
