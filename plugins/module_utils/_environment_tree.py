# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The manifest of an environment on this host: made from its files, kept beside its marker, compared with what is there."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Optional

from ansible_collections.inference.sglang.plugins.module_utils._environment_files import write_durably
from ansible_collections.inference.sglang.plugins.module_utils._environment_manifest import (
    MANIFEST,
    MAXIMUM_MANIFEST,
    OWN,
    TreeFile,
    TreeManifest,
    dump,
    load,
)
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._python_environment import Marker
from ansible_collections.inference.sglang.plugins.module_utils._regular_files import read_regular

BLOCK = 1 << 20


def walk(top: str) -> Iterator[tuple[str, os.stat_result]]:
    """(relative name, status) of everything below, in a fixed order, parents first, no link followed; not what is ours at the top."""
    pending = [""]
    while pending:
        directory = pending.pop()
        with os.scandir(os.path.join(top, directory)) as found:
            entries = sorted(found, key=lambda entry: entry.name)
        below = []
        for entry in entries:
            name = os.path.join(directory, entry.name)
            if name in OWN:
                continue
            yield name, entry.stat(follow_symlinks=False)
            if entry.is_dir(follow_symlinks=False):
                below.append(name)
        pending.extend(reversed(below))


def sha256_of(descriptor: int) -> str:
    digest = hashlib.sha256()
    while block := os.read(descriptor, BLOCK):
        digest.update(block)
    return digest.hexdigest()


def _hashed(top: str, name: str, status: os.stat_result) -> TreeFile:
    descriptor = os.open(os.path.join(top, name), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        sha256 = sha256_of(descriptor)
    finally:
        os.close(descriptor)
    return TreeFile(name, status.st_size, status.st_mtime_ns, stat.S_IMODE(status.st_mode) & 0o755, sha256)


def _cannot_be_handed_on(path: str, name: str, why: str) -> SglangError:
    return SglangError(
        f"{path} cannot be handed to other hosts",
        found=f"{name} {why}",
        wanted="what a build leaves there and nothing else",
        next_step=f"see what it is (ls -ld {os.path.join(path, name)}) and remove it, or leave ml_env_builders at 0",
    )


def make_manifest(marker: Marker, foundation: str, on_bytes: Callable[[int], None]) -> TreeManifest:
    """Read a whole environment; `on_bytes` is told how many bytes have been read so far. SglangError where it cannot be copied."""
    directories: list[str] = []
    links: list[tuple[str, str]] = []
    files: list[TreeFile] = []
    done = 0
    for name, status in walk(marker.path):
        if not stat.S_ISLNK(status.st_mode) and not status.st_mode & stat.S_IROTH:
            raise _cannot_be_handed_on(marker.path, name, "cannot be read by everybody")
        if stat.S_ISDIR(status.st_mode):
            directories.append(name)
        elif stat.S_ISLNK(status.st_mode):
            links.append((name, os.readlink(os.path.join(marker.path, name))))
        elif stat.S_ISREG(status.st_mode):
            files.append(_hashed(marker.path, name, status))
            done += status.st_size
            on_bytes(done)
        else:
            raise _cannot_be_handed_on(marker.path, name, "is neither a file nor a directory nor a link")
    return TreeManifest(marker.path, marker.digest, foundation, asdict(marker), tuple(directories), tuple(links), tuple(files))


def read_manifest(marker: Marker) -> Optional[tuple[TreeManifest, str]]:
    """(manifest, its SHA-256) of a finished environment; None where there is none that this environment was proven by, or made for."""
    path = os.path.join(marker.path, MANIFEST)
    try:
        data = read_regular(path, MAXIMUM_MANIFEST)
        manifest = load(data, path)
    except (OSError, SglangError):
        return None
    sha256 = hashlib.sha256(data).hexdigest()
    if manifest.digest != marker.digest or manifest.path != marker.path or marker.manifest_sha256 not in ("", sha256):
        return None
    return manifest, sha256


def known_manifest(marker: Marker, foundation: str) -> Optional[str]:
    """SHA-256 of the manifest that a finished environment is handed on with; None where it has to be made first.

    Empty for a copy that has lost its own: it cannot vouch for itself.
    """
    found = read_manifest(marker)
    if marker.copied_from:
        return found[1] if found else ""
    return found[1] if found and found[0].foundation == foundation else None


def ensure_manifest(marker: Marker, foundation: str, on_bytes: Callable[[int], None]) -> tuple[str, bool]:
    """(SHA-256 of the manifest, whether it was made just now)."""
    known = known_manifest(marker, foundation)
    if known is not None:
        return known, False
    manifest = make_manifest(marker, foundation, on_bytes)
    data = dump(manifest)
    load(data, marker.path)  # what no receiver would take is refused here, by name
    write_durably(os.path.join(marker.path, MANIFEST), data)
    return hashlib.sha256(data).hexdigest(), True


def changed_since(manifest: TreeManifest) -> str:
    """The first file that is not what the manifest says, by size and time; empty without one."""
    for file in manifest.files:
        with contextlib.suppress(OSError):
            status = os.lstat(os.path.join(manifest.path, file.name))
            if stat.S_ISREG(status.st_mode) and (status.st_size, status.st_mtime_ns) == (file.size, file.mtime_ns):
                continue
        return file.name
    return ""


def file_of(path: str, name: str) -> dict[str, object]:
    """A file as the server of a transfer wants it named (_peer_server)."""
    status = os.stat(os.path.join(path, name))
    return {"file": name, "size": status.st_size, "mtime_ns": status.st_mtime_ns}
