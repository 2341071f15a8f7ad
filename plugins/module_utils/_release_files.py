# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Releases and stamps on disk: published by rename, so that nothing half-written can look done."""

from __future__ import annotations

import json
import os
import shutil
import stat
import tempfile
from collections.abc import Mapping
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._live_unit import closed_places
from ansible_collections.inference.sglang.plugins.module_utils._release import Stamp, is_release_id, parse_stamp, releases_to_prune
from ansible_collections.inference.sglang.plugins.module_utils._release_changes import Kept
from ansible_collections.inference.sglang.plugins.module_utils._text_files import file_sha256, read_text

RELEASE_FILE = "release.json"
_RECORD_KEYS = ("id", "unit", "unit_sha256", "launcher_sha256", "environment", "model", "serving")
ACCEPTED_FILE, PREVIOUS_FILE = "accepted.json", "previous.json"


def write_atomic(path: str, text: str, mode: int = 0o644) -> None:
    """Replace a file in one step; a crash leaves the old one or the new one."""
    descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".partial-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as handle:
            handle.write(text)
            handle.flush()
            os.fsync(handle.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def same_files(directory: str, files: Mapping[str, str]) -> bool:
    """Whether the release lies there exactly as wanted, readable to the service user."""
    if any(read_text(os.path.join(directory, name)) != text for name, text in files.items()):
        return False
    return not closed_places(directory)


def publish(directory: str, files: Mapping[str, str]) -> None:
    """Write a release next to its place and rename it there; a damaged one of the same id makes room first."""
    parent = os.path.dirname(directory)
    # The service user must reach the launcher, whatever umask this run came with.
    before = os.umask(0o022)
    try:
        os.makedirs(parent, mode=0o755, exist_ok=True)
    finally:
        os.umask(before)
    for place in (parent, os.path.dirname(parent)):
        os.chmod(place, stat.S_IMODE(os.stat(place).st_mode) | 0o055)
    temporary = tempfile.mkdtemp(dir=parent, prefix=".partial-")
    try:
        for name, text in files.items():
            write_atomic(os.path.join(temporary, name), text)
        os.chmod(temporary, 0o755)
        if os.path.lexists(directory):
            damaged = tempfile.mkdtemp(dir=parent, prefix=".partial-")
            os.rename(directory, os.path.join(damaged, "old"))
            os.rename(temporary, directory)
            shutil.rmtree(damaged)
        else:
            os.rename(temporary, directory)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def read_release(directory: str) -> dict[str, Any]:
    """A release's own record."""
    path = os.path.join(directory, RELEASE_FILE)
    text = read_text(path)
    if text is None:
        raise SglangError(
            "the release is not on this host",
            found=f"no {path}",
            wanted="a release that was staged here",
            next_step="see which are in " + os.path.dirname(directory),
        )
    try:
        data = json.loads(text)
        missing = [key for key in _RECORD_KEYS if key not in data]
        if not isinstance(data, dict) or missing:
            raise ValueError(f"no {', '.join(missing) or 'JSON object'}")
    except (ValueError, TypeError, RecursionError) as error:
        raise SglangError(
            "the release's record is damaged",
            found=f"{path}: {error}",
            wanted="the record that was staged with the release",
            next_step="deploy the release's settings again: a damaged release is staged anew",
        ) from error
    return data


def damage_of(directory: str, unit: str, unit_sha256: str) -> tuple[str, ...]:
    """What of a staged release cannot be used any more, though the server may run: a proof or a way back would meet it first."""
    if not os.path.isdir(directory):
        return ()
    found = []
    try:
        read_release(directory)
    except SglangError as error:
        found.append(f"{error.wrong} ({error.found})")
    if file_sha256(os.path.join(directory, unit)) != unit_sha256:
        found.append(f"the unit that the release keeps is damaged ({os.path.join(directory, unit)})")
    return tuple(found)


def read_kept(instance_directory: str, identifier: str, unit: str) -> Kept:
    """A kept release with its unit, for a comparison."""
    directory = os.path.join(instance_directory, "releases", identifier)
    return Kept(read_release(directory), read_text(os.path.join(directory, unit)) or "")


def read_stamp(instance_directory: str, name: str) -> Optional[Stamp]:
    """accepted.json or previous.json."""
    path = os.path.join(instance_directory, name)
    return parse_stamp(read_text(path), path)


def read_previous(instance_directory: str) -> tuple[Optional[Stamp], str]:
    """previous.json, and what is wrong with it: only a rollback needs it, nothing else may fail of it."""
    try:
        return read_stamp(instance_directory, PREVIOUS_FILE), ""
    except SglangError as error:
        return None, str(error)


def present_releases(instance_directory: str) -> list[str]:
    """The ids below releases/; what else lies there is nobody's release."""
    releases = os.path.join(instance_directory, "releases")
    if not os.path.isdir(releases):
        return []
    return sorted(name for name in os.listdir(releases) if is_release_id(name) and os.path.isdir(os.path.join(releases, name)))


def write_accepted(instance_directory: str, stamp: Stamp) -> None:
    """The new stamp; what was accepted before becomes the previous one. In this order a crash loses no stamp."""
    current = read_stamp(instance_directory, ACCEPTED_FILE)
    if current is not None and current.id != stamp.id:
        write_atomic(os.path.join(instance_directory, PREVIOUS_FILE), current.as_json())
    write_atomic(os.path.join(instance_directory, ACCEPTED_FILE), stamp.as_json())


def prunable(instance_directory: str, keep: int) -> list[str]:
    """Directories below releases/ that may go: old releases, and what a killed run left half-written."""
    releases = os.path.join(instance_directory, "releases")
    if not os.path.isdir(releases):
        return []
    stamps = [read_stamp(instance_directory, ACCEPTED_FILE), read_previous(instance_directory)[0]]
    present = {name: os.stat(os.path.join(releases, name)).st_mtime for name in present_releases(instance_directory)}
    old = releases_to_prune(present, keep, tuple(stamp.id for stamp in stamps if stamp is not None))
    names = [name for name in os.listdir(releases) if os.path.isdir(os.path.join(releases, name))]
    return sorted([*old, *(name for name in names if name.startswith(".partial-"))])


def prune(instance_directory: str, names: list[str]) -> None:
    """Remove releases by name."""
    for name in names:
        shutil.rmtree(os.path.join(instance_directory, "releases", name))
