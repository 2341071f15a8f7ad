# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is asked of a snapshot and what comes back."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._progress import Progress
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_fetch import Rate
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_files import require_patterns, require_repo
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_hub import require_token
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_manifest import Manifest


@dataclass(frozen=True)
class Request:
    """The module's options."""

    repo: str
    revision: str
    root: str
    patterns: tuple[str, ...]
    path: str = ""
    verify: str = "quick"
    repair: bool = True
    refresh: bool = False
    reader: str = ""
    lock_timeout: float = 3600.0
    check_mode: bool = False


@dataclass
class Outcome:
    """What the module returns."""

    changed: bool = False
    path: str = ""
    repo: str = ""
    revision: str = ""
    manifest: str = ""
    adopted: bool = False
    files: int = 0
    bytes: int = 0
    fetched_files: list[str] = field(default_factory=list)
    fetched_bytes: int = 0
    repaired_files: list[str] = field(default_factory=list)
    verified: str = ""
    compared_with: str = ""
    msg: str = ""
    warnings: list[str] = field(default_factory=list)
    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)

    def describe_manifest(self, manifest: Manifest) -> None:
        self.repo, self.revision, self.adopted = manifest.repo, manifest.revision, manifest.adopted
        self.files, self.bytes = len(manifest.files), manifest.size
        self.after = {"revision": manifest.revision, "files": {entry.file: entry.sha256 for entry in manifest.files}}


def check_request(request: Request, token: str) -> None:
    """Everything that can be refused without looking anywhere."""
    require_patterns(request.patterns)
    require_token(token)
    if request.repo or not request.path:
        require_repo(request.repo)
    if not request.revision or request.revision != request.revision.strip():
        raise SglangError(
            "The revision is not a name.",
            found=repr(request.revision),
            wanted="a branch, a tag or a commit hash",
            next_step="Set revision (model_shards_revision).",
        )
    for name, value in (("root", request.root), ("path", request.path)):
        if value and not os.path.isabs(value):
            step = f"Set {name} to the full path."
            raise SglangError(f"{name} is not an absolute path.", repr(value), "a path that starts with /", step)


class Hashing:
    """Progress of reading files, in bytes."""

    def __init__(self, progress: Progress, total: int, clock: Callable[[], float]) -> None:
        self._progress, self._total, self._clock = progress, total, clock
        self._done, self._rate = 0, Rate()

    def advance(self, count: int) -> None:
        self._done += count
        self._rate.add(self._clock(), self._done)
        self._progress.report("verify", f"read {self._rate.text(self._done, self._total)}", done=self._done, total=self._total)
