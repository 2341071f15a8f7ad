# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A bundle on the disk: read, proven, and its model in the place of the hub."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._bundle import (
    BUNDLE_FILE,
    Bundle,
    BundleFile,
    damaged,
    load,
    require_model,
)
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._regular_files import read_regular
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_errors import Failure
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_files import RepoMetadata
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_hub import Hub
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_manifest import load as load_manifest
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_manifest import remote_files
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_store import hash_file


def read_bundle(directory: str) -> Bundle:
    """What the bundle says it holds; SglangError where there is none."""
    path = os.path.join(directory, BUNDLE_FILE)
    try:
        return load(read_regular(path), path)
    except OSError as error:
        raise SglangError(
            "There is no bundle.",
            found=f"{path}: {error.strerror}",
            wanted="the directory that playbooks/bundle.yml made, on this host",
            next_step="Mount the disk or copy the bundle, or correct ml_env_bundle (model_shards_bundle).",
        ) from error


def problem_of(directory: str, file: BundleFile, advance: Callable[[int], None] = lambda _count: None) -> str:
    """What is wrong with one file, its name first; empty when it is the one that the bundle lists."""
    path = os.path.join(directory, file.file)
    try:
        size = os.stat(path).st_size
        if size != file.size:
            return f"{file.file} has {size} bytes instead of {file.size}"
        if hash_file(path, False, advance).sha256 != file.sha256:
            return f"{file.file} has other bytes"
    except OSError as error:
        return f"{file.file}: {error.strerror}"
    except SglangError as error:
        return f"{file.file}: {error.found}"
    return ""


def require_whole(directory: str, files: Iterable[BundleFile], advance: Callable[[int], None] = lambda _count: None) -> None:
    """Read every byte; all that is wrong is told at once."""
    problems = [problem for file in files if (problem := problem_of(directory, file, advance))]
    if problems:
        raise damaged(directory, problems)


class BundleHub(Hub):
    """A bundle in the place of the hub. Nothing is read before it is asked: a published model needs no bundle any more."""

    declared_by = "manifest of the bundle"

    def __init__(self, directory: str, **options: Any) -> None:
        super().__init__("", "", **options)
        self.endpoint = directory
        self._source = directory

    @property
    def source(self) -> str:
        """Where the bytes come from in the first place."""
        return self._source

    def metadata(self, repo: str, revision: str, on_retry: Optional[Callable[[Failure, float], None]] = None) -> RepoMetadata:
        bundle = read_bundle(self.endpoint)
        require_model(bundle, self.endpoint, repo, revision)
        listed = [file for file in bundle.files if file.file == bundle.manifest]
        path = os.path.join(self.endpoint, bundle.manifest)
        try:
            text = read_regular(path)
        except OSError as error:
            raise damaged(self.endpoint, [f"{bundle.manifest}: {error.strerror}"]) from error
        if not listed or hashlib.sha256(text).hexdigest() != listed[0].sha256:
            raise damaged(self.endpoint, [f"{bundle.manifest} has other bytes, or is not listed"])
        manifest = load_manifest(text, path)
        self._source = manifest.source
        return RepoMetadata(bundle.revision, remote_files(manifest, [entry.file for entry in manifest.files]))
