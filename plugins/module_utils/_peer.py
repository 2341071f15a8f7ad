# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A host that has a model hands it to hosts that need it: what is offered, and how the offer is started, taken and ended."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils import _peer_server
from ansible_collections.inference.sglang.plugins.module_utils import _snapshot_store as store
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._pipes import opened
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_errors import Failure
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_files import RepoMetadata, is_commit
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_hub import Hub, require_token
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_manifest import Manifest, compare, load, remote_files

# The server's whole command line: neither a secret nor a script file that could be left behind.
BOOT = "import json, sys; exec(compile(json.loads(sys.stdin.buffer.readline())['source'], 'peer', 'exec'))"
STOP_TIMEOUT = 10.0
SHORTEST_TOKEN = 20


@dataclass(frozen=True)
class Serving:
    """How a host serves: address and port to listen on (0: any), seconds of idleness and of life, the transfer's token."""

    address: str
    port: int
    token: str
    idle: float
    lifetime: float


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
    require_token(serving.token)
    if len(serving.token) < SHORTEST_TOKEN:
        raise SglangError(
            "The token of a transfer is too short to keep anybody out.",
            found=f"{len(serving.token)} characters",
            wanted=f"at least {SHORTEST_TOKEN} random characters, made anew for each transfer",
            next_step="Set token, for example with lookup('ansible.builtin.password', '/dev/null', length=40).",
        )
    job = {
        "directory": directory,
        "repo": manifest.repo,
        "revision": manifest.revision,
        "files": [{"file": entry.file, "size": entry.size, "mtime_ns": entry.mtime_ns} for entry in manifest.files],
        **serving.__dict__,
    }
    child = subprocess.Popen(  # pylint: disable=ansible-bad-function
        [sys.executable, "-I", "-c", BOOT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"PATH": os.environ.get("PATH", os.defpath)},
        cwd="/",
        start_new_session=True,
    )
    orders, answers = opened(child.stdin), opened(child.stdout)
    with answers:
        with contextlib.suppress(BrokenPipeError), orders:  # one that is dead already says so by its silence
            orders.write(json.dumps({"source": inspect.getsource(_peer_server)}).encode() + b"\n" + json.dumps(job).encode() + b"\n")
        line = answers.readline()
    reply = json.loads(line) if line else {"error": f"it ended with status {child.wait()}"}
    if "port" not in reply:
        raise SglangError(
            "This host cannot serve the model to its peers.",
            found=str(reply.get("error")),
            wanted=f"the files of {directory} as they were verified, and an address of this host to listen on ({serving.address})",
            next_step="Set address (model_shards_peer_address) to an address of this host that the others reach; for changed files run "
            "the role once more, which repairs them.",
        )
    return int(reply["port"])


def stop(url: str, token: str) -> bool:
    """End a server; whether there was one."""
    request = urllib.request.Request(f"{url}/stop", data=b"", method="POST", headers={"Authorization": f"Bearer {token}"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=STOP_TIMEOUT):
            return True
    except urllib.error.HTTPError:
        return False  # somebody else's port by now
    except (OSError, HTTPException):
        return False
