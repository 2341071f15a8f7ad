# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Releases and stamps: what a release is, what was accepted, and why a server must be restarted.

A restart follows from the difference between what is wanted and what was accepted, never from "a file changed": a run
that died between the two heals on the next one.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError

FORMAT = 1
# The unit names its release's directory and the directory is named after the unit: the id is taken of a unit that
# names this place instead.
RELEASE_PLACEHOLDER = "/release"
_ID = re.compile(r"[0-9a-f]{16}")


def sha256_text(text: str) -> str:
    """The digest that all comparisons here use."""
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class ReleaseParts:
    """All that makes one release differ from another."""

    environment_digest: str
    model_revision: str
    unit_template: str  # the unit, with RELEASE_PLACEHOLDER for its directory; it holds argv and environment
    launcher: str
    weights: str = ""  # digest of the model's manifest: the same revision, other bytes


def release_id(parts: ReleaseParts) -> str:
    """Sixteen hexadecimal digits; the same wishes give the same id on every run."""
    canonical = json.dumps(
        {
            "format": FORMAT,
            "environment": parts.environment_digest,
            "model": parts.model_revision,
            "unit": sha256_text(parts.unit_template),
            "launcher": sha256_text(parts.launcher),
            "weights": parts.weights,
        },
        sort_keys=True,
    )
    return sha256_text(canonical)[:16]


def is_release_id(value: str) -> bool:
    """Whether a name can be a release's."""
    return _ID.fullmatch(value) is not None


def check_release_id(value: str) -> str:
    """A release id comes from operators too (rollback to a named one): it must not be a path."""
    if not is_release_id(value):
        raise SglangError("not a release id", found=repr(value), wanted="sixteen hexadecimal digits, as in releases/<id>")
    return value


def instance_directory(root: str, instance: str) -> str:
    """Where the instance's releases and stamps are."""
    return f"{root.rstrip('/')}/instances/{instance}"


def release_directory(root: str, instance: str, identifier: str) -> str:
    """Where one release's files are."""
    return f"{instance_directory(root, instance)}/releases/{identifier}"


@dataclass(frozen=True)
class Stamp:
    """What was accepted: written only after the gate and the probe have passed."""

    id: str
    unit_sha256: str
    launcher_sha256: str
    drop_ins: Mapping[str, str] = field(default_factory=dict)
    key: str = ""
    environment: Mapping[str, Any] = field(default_factory=dict)
    model: Mapping[str, Any] = field(default_factory=dict)
    accepted_at: str = ""
    figures: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> str:
        """The stamp file's text."""
        return json.dumps({"format": FORMAT, **self.__dict__}, indent=2, sort_keys=True, default=dict) + "\n"


def parse_stamp(text: Optional[str], path: str) -> Optional[Stamp]:
    """A stamp file's content; a broken one counts as no stamp would hide a fault, so it is an error."""
    if text is None:
        return None
    try:
        data = json.loads(text)
        if data["format"] != FORMAT:
            raise ValueError(f"format {data['format']}")
        known = {name: data[name] for name in Stamp.__dataclass_fields__ if name in data}
        return Stamp(**known)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise SglangError(
            "a stamp of a release cannot be read",
            found=f"{path}: {error}",
            wanted=f"a stamp of format {FORMAT}, as this collection writes it",
            next_step="look at the file; when it is of no use, remove it: the next run restarts and proves the server, and puts the unit "
            "that is there now back if that fails",
        ) from error


@dataclass(frozen=True)
class Live:
    """What the host shows at this moment."""

    unit_sha256: Optional[str] = None
    launcher_sha256: Optional[str] = None
    drop_ins: Mapping[str, str] = field(default_factory=dict)
    active: bool = False
    enabled: bool = False
    needs_reload: bool = False
    state: str = "unknown"
    key: str = ""
    release: str = ""  # whose launcher the running process was started with; empty when that cannot be seen
    amiss: tuple[str, ...] = ()  # owners, modes and records of the release and of the key that are not as they must be


@dataclass(frozen=True)
class Wanted:
    """What this run wants."""

    id: str
    unit_sha256: str
    launcher_sha256: str
    wants_key: bool = False
    key_changes: bool = False


@dataclass(frozen=True)
class Difference:
    """Whether to restart, and why."""

    restart: bool
    enable: bool
    reasons: tuple[str, ...]
    repair: bool = False  # owners, modes and records, which need no restart

    @property
    def converged(self) -> bool:
        """Nothing to do at all."""
        return not (self.restart or self.enable or self.repair)


def _drop_in_reasons(accepted: Mapping[str, str], live: Mapping[str, str]) -> list[str]:
    reasons = []
    for path in sorted(set(accepted) | set(live)):
        if path not in accepted:
            reasons.append(f"the unit has a new drop-in {path}")
        elif path not in live:
            reasons.append(f"the unit's drop-in {path} is gone")
        elif accepted[path] != live[path]:
            reasons.append(f"the unit's drop-in {path} was changed")
    return reasons


def difference(wanted: Wanted, accepted: Optional[Stamp], live: Live) -> Difference:
    """Compare what is wanted with what was accepted and with what the host shows."""
    reasons: list[str] = []
    if accepted is None:
        reasons.append("no release of this instance has been accepted on this host yet")
    elif accepted.id != wanted.id:
        reasons.append(f"release {wanted.id} is wanted, {accepted.id} is the accepted one")
    if live.unit_sha256 is None:
        reasons.append("the unit file is not there")
    elif live.unit_sha256 != wanted.unit_sha256 and (accepted is None or live.unit_sha256 != accepted.unit_sha256):
        reasons.append("the unit file was changed by hand, or by a run that did not end")
    if accepted is not None and accepted.id == wanted.id:
        if live.launcher_sha256 != wanted.launcher_sha256:
            reasons.append("the launcher in the release's directory was changed")
        reasons += _drop_in_reasons(accepted.drop_ins, live.drop_ins)
        if live.active and live.release not in ("", wanted.id):
            reasons.append(f"the running server was started as release {live.release}")
        if wanted.wants_key and live.key != accepted.key and not wanted.key_changes:
            reasons.append("the API key file is not the one that was accepted")
    if live.needs_reload:
        reasons.append("systemd has not read the unit's newest files")
    if wanted.key_changes:
        reasons.append("the API key changes")
    if live.unit_sha256 is not None and not live.active:
        reasons.append(f"the server is not running ({live.state})")
    return Difference(restart=bool(reasons), enable=not live.enabled, reasons=(*reasons, *live.amiss), repair=bool(live.amiss))


def releases_to_prune(present: Mapping[str, float], keep: int, protected: tuple[str, ...]) -> list[str]:
    """The oldest releases beyond `keep`; the accepted and the previous one are never among them."""
    candidates = sorted((name for name in present if name not in protected), key=lambda name: present[name], reverse=True)
    room = max(0, keep - sum(1 for name in protected if name in present))
    return sorted(candidates[room:])
