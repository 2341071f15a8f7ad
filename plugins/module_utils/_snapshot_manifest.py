# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The manifest of a published or adopted model, and what a look at the disk says against it. Decisions only."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Optional, Union

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._regular_files import parse_json
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_files import SHA256, RemoteFile, is_safe_name

FORMAT = 1


@dataclass(frozen=True)
class Entry:
    """One verified file. ``proof`` says what its digest was compared with: lfs-sha256, git-blob, or nothing (header)."""

    file: str
    size: int
    sha256: str
    mtime_ns: int
    proof: str


@dataclass(frozen=True)
class Manifest:
    """What was verified, where it came from, and when."""

    repo: str
    revision: str
    requested: str
    source: str
    time: str
    adopted: bool
    path: str
    files: tuple[Entry, ...]

    @property
    def size(self) -> int:
        return sum(entry.size for entry in self.files)


@dataclass(frozen=True)
class Seen:
    """A file as ``stat`` shows it."""

    size: int
    mtime_ns: int


@dataclass(frozen=True)
class Comparison:
    """``suspects`` have the right size and another time: only their bytes can tell."""

    missing: tuple[str, ...]
    wrong_size: tuple[str, ...]
    suspects: tuple[str, ...]
    added: tuple[str, ...]

    @property
    def broken(self) -> tuple[str, ...]:
        return tuple(sorted(self.missing + self.wrong_size))


def compare(manifest: Manifest, seen: Mapping[str, Seen]) -> Comparison:
    """Hold a manifest against the files that are there."""
    entries = {entry.file: entry for entry in manifest.files}
    missing = [name for name in entries if name not in seen]
    wrong_size = [name for name in entries if name in seen and seen[name].size != entries[name].size]
    suspects = [
        name for name in entries if name in seen and seen[name].size == entries[name].size and seen[name].mtime_ns != entries[name].mtime_ns
    ]
    added = [name for name in seen if name not in entries]
    return Comparison(tuple(sorted(missing)), tuple(sorted(wrong_size)), tuple(sorted(suspects)), tuple(sorted(added)))


def remote_files(manifest: Manifest, names: Iterable[str]) -> tuple[RemoteFile, ...]:
    """The entries as something to fetch again: the manifest's own sha256 is the proof."""
    wanted = set(names)
    return tuple(RemoteFile(entry.file, entry.size, sha256=entry.sha256) for entry in manifest.files if entry.file in wanted)


def with_entries(manifest: Manifest, replaced: Iterable[Entry]) -> Manifest:
    """The same manifest with some entries replaced or added."""
    entries = {entry.file: entry for entry in manifest.files}
    entries.update({entry.file: entry for entry in replaced})
    fields = {**manifest.__dict__, "files": tuple(entries[name] for name in sorted(entries))}
    return Manifest(**fields)


def content_digest(entries: Iterable[Entry]) -> str:
    """One digest for the whole content, independent of where it lies and when it was looked at."""
    lines = sorted(f"{entry.sha256}  {entry.file}\n" for entry in entries)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def local_revision(entries: Iterable[Entry]) -> str:
    """The revision of a copy that no hub could be asked about: it names the content, and says that it is local."""
    return f"local-{content_digest(entries)[:12]}"


def slug(path: str) -> str:
    """A file name for an adopted path; the digest keeps ``/a-b`` and ``/a/b`` apart."""
    readable = re.sub(r"[^A-Za-z0-9.]+", "-", path).strip("-.")[-80:].strip("-.") or "root"
    return f"{readable}-{hashlib.sha256(path.encode()).hexdigest()[:8]}"


def dump(manifest: Manifest) -> str:
    """JSON for people and programs."""
    return json.dumps({"format": FORMAT, "bytes": manifest.size, **asdict(manifest)}, indent=2, sort_keys=True) + "\n"


def load(text: Union[str, bytes], where: str) -> Manifest:
    """Read a manifest; anything unexpected is an error, never a guess."""
    try:
        data = parse_json(text)
        if data["format"] != FORMAT:
            raise ValueError(f"format {data['format']!r}")
        entries = tuple(entry_from(item) for item in data["files"])
        fields = {name: _typed(data, name, str) for name in ("repo", "revision", "requested", "source", "time", "path")}
        return Manifest(adopted=bool(_typed(data, "adopted", bool)), files=entries, **fields)
    except (ValueError, KeyError, TypeError) as error:
        raise SglangError(
            "A model's manifest cannot be read.",
            found=f"{where}: {type(error).__name__}: {error}",
            wanted=f"a manifest of format {FORMAT}",
            next_step="Remove that file and run again: the model's files are then verified anew.",
        ) from error


def _typed(data: Mapping[str, Any], name: str, kind: type) -> Any:
    value = data[name]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TypeError(f"{name} is {type(value).__name__}")
    if isinstance(value, str):
        value.encode("utf-8")  # JSON can hold text that no file can
    return value


def entry_from(item: Mapping[str, Any]) -> Entry:
    """One entry out of JSON; ValueError, KeyError or TypeError for anything else."""
    entry = Entry(
        file=_typed(item, "file", str),
        size=_typed(item, "size", int),
        sha256=_typed(item, "sha256", str),
        mtime_ns=_typed(item, "mtime_ns", int),
        proof=_typed(item, "proof", str),
    )
    if not is_safe_name(entry.file):
        raise ValueError(f"unsafe file name {entry.file!r}")
    if entry.size < 0 or not SHA256.fullmatch(entry.sha256):
        raise ValueError(f"no size or no sha256 of {entry.file!r}")
    return entry


def require_unchanged(manifest: Manifest, comparison: Comparison, changed: Iterable[str], where: str) -> None:
    """An adopted directory that is not what it was stops the run: it is the operator's, so it is never repaired here."""
    parts = [
        (comparison.missing, "missing"),
        (tuple(sorted(set(comparison.wrong_size) | set(changed))), "changed"),
        (comparison.added, "new"),
    ]
    found = "; ".join(f"{word}: {', '.join(names)}" for names, word in parts if names)
    if found:
        raise SglangError(
            f"The adopted model directory {manifest.path} is not what it was when it was verified ({manifest.time}).",
            found=found,
            wanted=f"the {len(manifest.files)} files of {where}",
            next_step="Put the files back. If the change is meant, run once with refresh: true (model_shards_refresh) to adopt it anew.",
        )


def proof_of(file: Optional[RemoteFile]) -> str:
    """What the digest of this file is compared with."""
    if file is None:
        return "none"
    return "lfs-sha256" if file.sha256 else "git-blob"
