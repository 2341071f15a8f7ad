# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What was on the host before a change: written down before anything is stopped, put back when the change fails.

A file, not a fact of the play: a run that is killed half way leaves it for the next one. It goes when a release is
accepted or everything is back.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._release_files import write_atomic
from ansible_collections.inference.sglang.plugins.module_utils._text_files import read_text

FORMAT = 1
BEFORE_FILE = "replaced.json"
# The key keeps its inode beside the new one: the stamp knows it by that.
KEY_FILE, KEPT_KEY_FILE = "secrets/api-key", "secrets/api-key.before"


@dataclass(frozen=True)
class Before:
    """The host as it was. The unit's text may hold a secret of whoever wrote it: it never leaves the host."""

    stamp: str  # the release that was accepted then, and when: another one makes this record a stale one
    unit: Optional[str] = None  # None: there was no unit file
    link: str = ""  # where the unit file pointed, if it was a link
    enabled: bool = False
    active: bool = False
    key: bool = False
    servers: tuple[Mapping[str, Any], ...] = ()  # other servers that are stopped for this change

    def shown(self) -> dict[str, Any]:
        """What a play may see of it."""
        return {
            "unit": self.unit is not None or bool(self.link),
            "enabled": self.enabled,
            "active": self.active,
            "servers": [dict(server) for server in self.servers],
        }


def parse_before(text: Optional[str], path: str) -> Optional[Before]:
    """The record's content, or None when there is none."""
    if text is None:
        return None
    try:
        data = json.loads(text)
        if data.pop("format") != FORMAT:
            raise ValueError("another format")
        before = Before(**{**data, "servers": tuple(dict(server) for server in data["servers"])})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SglangError(
            "the record of what was here before the change cannot be read",
            found=f"{path}: {error}",
            wanted="the record that this collection wrote",
            next_step="put back by hand what served here before, and remove the file",
        ) from error
    return before


def read_before(home: str) -> Optional[Before]:
    """The record of the instance whose directory this is."""
    path = os.path.join(home, BEFORE_FILE)
    return parse_before(read_text(path), path)


def merge_servers(first: Iterable[Mapping[str, Any]], then: Iterable[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """Each server once, as it was seen first: by the second run it may be disabled already."""
    found: dict[tuple[str, ...], Mapping[str, Any]] = {}
    for server in (*first, *then):
        name = (str(server["unit"]),) if server.get("service") else (str(server.get("pid")), str(server.get("started")))
        found.setdefault(name, server)
    return tuple(found.values())


def remembered(old: Optional[Before], now: Before) -> Before:
    """What to write down: a killed run's record stays true until something is accepted."""
    if old is None or old.stamp != now.stamp:
        return now
    return Before(**{**old.__dict__, "servers": merge_servers(old.servers, now.servers)})


def look(home: str, unit_path: str, stamp: str, enabled: bool, active: bool, servers: Iterable[Mapping[str, Any]]) -> Before:
    """The host as it is."""
    link = os.readlink(unit_path) if os.path.islink(unit_path) else ""
    return Before(
        stamp=stamp,
        unit=None if link else read_text(unit_path),
        link=link,
        enabled=enabled,
        active=active,
        key=os.path.exists(os.path.join(home, KEY_FILE)),
        servers=tuple(dict(server) for server in servers),
    )


def remember(home: str, now: Before) -> Before:
    """Write the record, and keep the key file, unless a killed run did."""
    try:
        old = read_before(home)
    except SglangError:
        old = None  # of no use to anybody; what is there now is the best that is known
    before = remembered(old, now)
    key, kept = os.path.join(home, KEY_FILE), os.path.join(home, KEPT_KEY_FILE)
    if before.key and not (old is not None and old.stamp == now.stamp and os.path.exists(kept)):
        if os.path.lexists(kept):
            os.unlink(kept)
        os.link(key, kept)
    write_atomic(os.path.join(home, BEFORE_FILE), json.dumps({"format": FORMAT, **asdict(before)}, indent=2) + "\n", 0o600)
    return before


def put_back(home: str, unit_path: str) -> Before:
    """Unit file and key file as they were. The record stays: starting servers again is still to be done."""
    before = read_before(home)
    if before is None:
        raise SglangError(
            "it is not known what was here before the change",
            found=f"no {os.path.join(home, BEFORE_FILE)}",
            wanted="the record that is written before anything is stopped",
            next_step="deploy the old settings again",
        )
    if before.unit is None and os.path.lexists(unit_path):
        os.unlink(unit_path)
    if before.link:
        os.symlink(before.link, unit_path)
    elif before.unit is not None:
        write_atomic(unit_path, before.unit)
    put_key_back(home, before)
    return before


def put_key_back(home: str, before: Before) -> None:
    """The key that the server before used, under its old inode; or none."""
    key, kept = os.path.join(home, KEY_FILE), os.path.join(home, KEPT_KEY_FILE)
    if before.key and os.path.exists(kept):
        if not os.path.exists(key) or not os.path.samefile(key, kept):
            # Linked and renamed: renaming a link onto its own inode would do nothing.
            os.link(kept, kept + ".again")
            os.replace(kept + ".again", key)
    elif not before.key and not before.stamp:  # an accepted release that needs one is better off with the new key than with none
        shutil.rmtree(os.path.dirname(key), ignore_errors=True)


def forget(home: str) -> bool:
    """Remove the record and the kept key; whether there was one."""
    there = False
    for name in (BEFORE_FILE, KEPT_KEY_FILE):
        path = os.path.join(home, name)
        if os.path.lexists(path):
            os.unlink(path)
            there = True
    return there
