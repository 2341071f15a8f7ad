# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A host that has a model hands it to hosts that need it: what is offered, and how it is taken."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils import _snapshot_store as store
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._peer_process import Offered, Serving, launch
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_errors import Failure
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_files import RepoMetadata, is_commit
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_hub import Hub
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_manifest import Manifest, compare, load, remote_files


class PeerHub(Hub):
    """A peer in the place of the hub. What the files are is known from the manifest of the host that asked the real hub:
    the peer only carries bytes, and cannot vouch for them."""

    declared_by = "manifest of the peer"

    def __init__(self, url: str, token: str, manifest: Manifest, **options: Any) -> None:
        super().__init__(url, token, **options)
        self._manifest = manifest

    @property
    def source(self) -> str:
        """Where the bytes come from in the first place."""
        return self._manifest.source

    def metadata(self, repo: str, revision: str, on_retry: Optional[Callable[[Failure, float], None]] = None) -> RepoMetadata:
        """The manifest's files. SglangError for another model or another commit than the manifest's."""
        manifest = self._manifest
        if manifest.repo != repo or (is_commit(revision) and manifest.revision != revision):
            raise SglangError(
                "The peer offers another model than the one that is wanted.",
                found=f"{manifest.repo}@{manifest.revision}",
                wanted=f"{repo}@{revision}",
                next_step="Give repo, revision and peer of one model (the role model_shards pairs the hosts by itself).",
            )
        return RepoMetadata(manifest.revision, remote_files(manifest, [entry.file for entry in manifest.files]))


def peer_hub(peer: Mapping[str, Any], **options: Any) -> PeerHub:
    """From the module's option: `url`, `token`, and `manifest` as the module `model_peer` returned it."""
    manifest = load(json.dumps(peer["manifest"]), "the option peer.manifest")
    return PeerHub(peer["url"], peer["token"], manifest, **options)


def published(root: str, repo: str, revision: str) -> Optional[Manifest]:
    """The manifest of what is published here under this revision (a branch: as it was resolved before); None when nothing is.

    A quick look, names, sizes and times: whether the bytes are right is for `model_snapshot` to find out.
    """
    place = store.Place(root, repo)
    commit = revision if is_commit(revision) else store.read_refs(place).get(revision, {}).get("revision", "")
    if not is_commit(commit):
        return None
    manifest = store.read_manifest(place.manifest(commit))
    if manifest is None or (manifest.repo, manifest.revision) != (repo, commit):
        return None
    try:
        comparison = compare(manifest, store.scan(place.published(commit), [entry.file for entry in manifest.files]))
    except FileNotFoundError:
        return None
    return None if comparison.broken or comparison.suspects else manifest


def start(manifest: Manifest, directory: str, serving: Serving) -> int:
    """Serve in a detached process; the port. SglangError when it cannot be."""
    job = {
        "prefix": f"/{manifest.repo}/resolve/{manifest.revision}/",
        "directory": directory,
        "files": [{"file": entry.file, "size": entry.size, "mtime_ns": entry.mtime_ns} for entry in manifest.files],
        "stream": {},
    }
    return launch(job, serving, Offered("the model", "model_shards", "run the role once more, which repairs them"))
