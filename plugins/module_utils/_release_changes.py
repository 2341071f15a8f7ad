# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What differs between two releases of an instance, as lines that a person reads. Pure text."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.inference.sglang.plugins.module_utils._plan_report import flags_of

# Told flag by flag instead.
_TOLD = ("ExecStart=", "Description=")


@dataclass(frozen=True)
class Kept:
    """A release as it is kept: its record (release.json) and the text of its unit."""

    record: Mapping[str, Any]
    unit: str


def _of(record: Mapping[str, Any], *keys: str) -> str:
    value: Any = record
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return str(value) if value else "none"


def _flags(kept: Kept) -> dict[str, str]:
    """Flag -> its value; a switch without one is `on`."""
    argv = (kept.record.get("serving") or {}).get("argv") or []
    return {flag: value or "on" for flag, value in flags_of([str(word) for word in argv])}


def _unit_lines(kept: Kept) -> list[str]:
    """The unit's lines; both releases call their own directory by the same word."""
    text = kept.unit.replace(_of(kept.record, "id"), "<release>")
    return [line for line in text.splitlines() if not line.startswith(_TOLD)]


def release_changes(before: Kept, after: Kept) -> list[str]:
    """Arguments, environment and everything else that would be other than before; empty where nothing is."""
    found = []
    named = {"SGLang": ("environment", "sglang_version"), "environment": ("environment", "path"), "launcher": ("launcher_sha256",)}
    named.update({"model": ("model", "path"), "model revision": ("model", "revision"), "model content": ("model", "digest")})
    for what, keys in named.items():
        old, new = _of(before.record, *keys), _of(after.record, *keys)
        if old != new:
            short = (text[:12] if keys[-1] in ("launcher_sha256", "digest") else text for text in (old, new))
            found.append(f"{what}: {' -> '.join(short)}")
    old_flags, new_flags = _flags(before), _flags(after)
    for flag in [*new_flags, *(flag for flag in old_flags if flag not in new_flags)]:
        old, new = old_flags.get(flag, "none"), new_flags.get(flag, "none")
        if old != new:
            found.append(f"{flag}: {old} -> {new}")
    lines = difflib.unified_diff(_unit_lines(before), _unit_lines(after), n=0, lineterm="")
    return found + [f"unit: {line[0]} {line[1:]}" for line in lines if not line.startswith(("---", "+++", "@@"))]
