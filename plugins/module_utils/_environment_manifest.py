# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a finished environment consists of, file by file, so that a copy of it can be proven. Decisions only, no I/O.

The bytes travel as one stream: the files end to end, in the order of the manifest. Names, modes and links come from the manifest
alone, whose SHA-256 the receiver knows from the builder; a peer has no way to say where a byte goes.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._python_environment import MARKER, Interpreter
from ansible_collections.inference.sglang.plugins.module_utils._regular_files import parse_json

MANIFEST = ".manifest.json"
# Written by this collection, in each environment for itself; the second two by a run that was killed.
OWN = (MARKER, MANIFEST, MARKER + ".new", MANIFEST + ".new")
# What the server of a transfer calls the files, end to end.
STREAM = "files"
FORMAT = 1
# About 150 bytes a file; the environments of SGLang have some 100,000 files.
MAXIMUM_MANIFEST = 256 << 20
# The only links of a virtual environment that may lead out of it.
_INTERPRETER = re.compile(r"bin/python(\d(\.\d+)?)?")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class TreeFile:
    """One regular file. Bytecode is valid for one modification time of its source, so times are part of the identity."""

    name: str  # relative, with slashes
    size: int  # bytes
    mtime_ns: int
    mode: int  # within 0o755
    sha256: str


@dataclass(frozen=True)
class TreeManifest:
    """An environment as its builder left it."""

    path: str
    digest: str
    foundation: str  # of the builder's host
    marker: dict[str, Any]  # the builder's
    directories: tuple[str, ...]  # parents first
    links: tuple[tuple[str, str], ...]  # name, target
    files: tuple[TreeFile, ...]

    @property
    def size(self) -> int:
        """Bytes of the stream."""
        return sum(file.size for file in self.files)

    def job_files(self) -> list[dict[str, Any]]:
        """For the server of a transfer (_peer_server)."""
        return [{"file": file.name, "size": file.size, "mtime_ns": file.mtime_ns} for file in self.files]


def foundation(system: dict[str, str], interpreter: Interpreter) -> str:
    """What an environment stands on besides its lock, in words. `system` is /etc/os-release.

    The digest holds implementation, minor version and platform of Python. A copy needs more: which wheels were chosen depends on the
    C library, and the interpreter's place is written into the environment.
    """
    name = f"{system.get('ID', 'linux')} {system.get('VERSION_ID', '')}".strip()
    python = f"{interpreter.implementation} {interpreter.version} at {interpreter.executable}"
    return f"{name}, {interpreter.platform}, {interpreter.libc or 'unknown C library'}, {python}"


def dump(manifest: TreeManifest) -> bytes:
    """The same manifest is always the same bytes."""
    data = {
        "format": FORMAT,
        **{name: getattr(manifest, name) for name in ("path", "digest", "foundation", "marker", "directories", "links")},
        "files": [[file.name, file.size, file.mtime_ns, file.mode, file.sha256] for file in manifest.files],
    }
    return json.dumps(data, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def load(data: bytes, where: str) -> TreeManifest:
    """A manifest that nothing outside the environment can come of. SglangError for anything else."""
    try:
        found = parse_json(data)
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise ValueError(f"no manifest of format {FORMAT}")
        for name in ("path", "digest", "foundation"):
            _expect(isinstance(found.get(name), str), f"no {name}")
        _expect(isinstance(found.get("marker"), dict), "no marker")
        for name in ("directories", "links", "files"):
            _expect(isinstance(found.get(name), list), f"no list of {name}")
        manifest = TreeManifest(
            path=found["path"],
            digest=found["digest"],
            foundation=found["foundation"],
            marker=found["marker"],
            directories=tuple(_directory(name) for name in found["directories"]),
            links=tuple(_link(link) for link in found["links"]),
            files=tuple(_file(file) for file in found["files"]),
        )
        _check_tree(manifest)
    except ValueError as fault:
        raise SglangError(
            "the manifest of an environment cannot be trusted",
            found=f"{where}: {fault}",
            wanted="files, directories and links inside the environment, each once",
            next_step="remove the environment on the host that it comes from and run the play again, which builds it anew",
        ) from fault
    return manifest


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def _number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63


def _directory(entry: Any) -> str:
    _expect(isinstance(entry, str), "a directory without a name")
    return str(entry)


def _link(entry: Any) -> tuple[str, str]:
    _expect(isinstance(entry, list) and len(entry) == 2 and all(isinstance(part, str) for part in entry), "a link without a target")
    return entry[0], entry[1]


def _file(entry: Any) -> TreeFile:
    _expect(isinstance(entry, list) and len(entry) == 5 and isinstance(entry[0], str), "a file without name, size, time, mode and sha256")
    name, size, mtime_ns, mode, sha256 = entry
    _expect(_number(size) and _number(mtime_ns), f"size or time of {name!r}")
    _expect(_number(mode) and mode & ~0o755 == 0, f"{name!r} has a mode that nothing in an environment needs")
    _expect(isinstance(sha256, str) and _SHA256.fullmatch(sha256) is not None, f"{name!r} has no sha256")
    return TreeFile(name, size, mtime_ns, mode, sha256)


def _check_tree(manifest: TreeManifest) -> None:
    """Every name inside, once, below a real directory; every link inside but the interpreter's."""
    directories: set[str] = {""}
    for name in manifest.directories:
        _check_name(name, directories)
        directories.add(name)
    taken = set(directories)
    for name in [file.name for file in manifest.files] + [name for name, _target in manifest.links]:
        _check_name(name, directories)
        _expect(name not in taken, f"{name!r} is there twice")
        taken.add(name)
    for name, target in manifest.links:
        _check_target(name, target)


def _check_name(name: str, directories: Collection[str]) -> None:
    _expect(bool(name) and "\0" not in name, f"{name!r} is no name")
    _expect(name == posixpath.normpath(name) and not name.startswith(("/", "../")) and name not in (".", ".."), f"{name!r} leads outside")
    _expect(name not in OWN, f"{name!r} is written by the receiver itself")
    _expect(posixpath.dirname(name) in directories, f"{name!r} lies in no directory of the environment")


def leads_outside(name: str, target: str) -> bool:
    """Whether a link leaves the environment.

    Only a target that goes up first and then down can be read as text: after that each step is a directory or a link that stays inside.
    """
    inside = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
    return target.startswith("/") or target != posixpath.normpath(target) or inside == ".." or inside.startswith("../")


def _check_target(name: str, target: str) -> None:
    _expect(bool(target) and "\0" not in target, f"the link {name!r} leads nowhere")
    if leads_outside(name, target):
        _expect(target.startswith("/") and _INTERPRETER.fullmatch(name) is not None, f"the link {name!r} leads outside, to {target!r}")
