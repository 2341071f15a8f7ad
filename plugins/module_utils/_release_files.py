# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Releases and stamps on disk: published by rename, so that nothing half-written can look done."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._release import Stamp, parse_stamp, releases_to_prune
from ansible_collections.inference.sglang.plugins.module_utils._server_host import read_text

RELEASE_FILE = "release.json"
ACCEPTED_FILE, PREVIOUS_FILE = "accepted.json", "previous.json"


def write_atomic(path: str, text: str, mode: int = 0o644) -> None:
    """Replace a file in one step; a crash leaves the old one or the new one."""
    descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".partial-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
            handle.write(text)
            handle.flush()
            os.fsync(handle.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def same_files(directory: str, files: Mapping[str, str]) -> bool:
    """Whether the release lies there exactly as wanted."""
    return all(read_text(os.path.join(directory, name)) == text for name, text in files.items())


def publish(directory: str, files: Mapping[str, str]) -> None:
    """Write a release next to its place and rename it there; a damaged one of the same id makes room first."""
    parent = os.path.dirname(directory)
    # The service user must reach the launcher, whatever umask this run came with.
    before = os.umask(0o022)
    try:
        os.makedirs(parent, mode=0o755, exist_ok=True)
    finally:
        os.umask(before)
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
    data = json.loads(text)
    if not isinstance(data, dict):
        raise SglangError("the release's record is damaged", found=path, wanted="a JSON object")
    return data


def read_stamp(instance_directory: str, name: str) -> Optional[Stamp]:
    """accepted.json or previous.json."""
    path = os.path.join(instance_directory, name)
    return parse_stamp(read_text(path), path)


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
    names = os.listdir(releases)
    stamps = [read_stamp(instance_directory, name) for name in (ACCEPTED_FILE, PREVIOUS_FILE)]
    present = {name: os.stat(os.path.join(releases, name)).st_mtime for name in names if not name.startswith(".")}
    old = releases_to_prune(present, keep, tuple(stamp.id for stamp in stamps if stamp is not None))
    return sorted([*old, *(name for name in names if name.startswith(".partial-"))])


def prune(instance_directory: str, names: list[str]) -> None:
    """Remove releases by name."""
    for name in names:
        shutil.rmtree(os.path.join(instance_directory, "releases", name))
