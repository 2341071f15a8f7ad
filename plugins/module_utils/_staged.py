# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Are the wanted environment and model on this host, whole? What the roles ml_env and model_shards would find, without running them.

Looks only: markers, manifests, sizes and times of files. What looks otherwise is not judged here but by those roles, which may read
every byte, ask a hub or repair.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.inference.sglang.plugins.module_utils import _snapshot_store as store
from ansible_collections.inference.sglang.plugins.module_utils._environment_survey import survey
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_files import is_commit
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_manifest import Manifest, compare

# What `survey` wants to know of an environment; the other suboptions of launch_plan's wanted_environment are the planner's.
_ENVIRONMENT = ("name", "root", "link", "lock", "lock_sha256", "python", "adopt", "release")


@dataclass(frozen=True)
class Staged:
    """Where it lies and what tells it from others; `faults` say why its role has to run, and are empty where it need not."""

    path: str = ""
    digest: str = ""
    revision: str = ""
    manifest: str = ""
    repo: str = ""
    faults: tuple[str, ...] = ()


def staged_environment(wanted: Mapping[str, Any]) -> Staged:
    """The environment that the role ml_env would hand on."""
    try:
        found = survey(check_mode=True, **{name: wanted[name] for name in _ENVIRONMENT})
    except SglangError as error:
        return Staged(faults=(f"the environment: {error.wrong}",))
    if found.action == "build":
        reason = "; ".join(f"{what} is not there" for what in found.missing) or f"no complete environment at {found.path}"
        return Staged(faults=(f"the environment: {reason}",))
    faults = (f"the environment: {wanted['link']} does not lead to {found.path}",) if wanted["link"] and found.switches else ()
    return Staged(path=found.path or "", digest=found.digest or "", faults=faults)


def staged_model(wanted: Mapping[str, Any]) -> Staged:
    """The model that the role model_shards would hand on."""
    try:
        return _adopted(wanted) if wanted["path"] else _published(wanted)
    except (SglangError, OSError) as error:
        return Staged(faults=(f"the model: {error.wrong if isinstance(error, SglangError) else error}",))


def _adopted(wanted: Mapping[str, Any]) -> Staged:
    path = wanted["path"]
    where = store.adopted_manifest(wanted["root"], path)
    manifest = store.read_manifest(where)
    asked = (wanted["repo"], wanted["revision"], path)
    if manifest is None or wanted["refresh"] or (manifest.repo, manifest.requested, manifest.path) != asked:
        return Staged(path=path, faults=(f"the model: {path} has not been verified yet",))
    return _held(manifest, where, path, wanted["patterns"])


def _published(wanted: Mapping[str, Any]) -> Staged:
    place, revision = store.Place(wanted["root"], wanted["repo"]), wanted["revision"]
    if wanted["refresh"] and not is_commit(revision):
        return Staged(faults=(f"the model: model_shards_refresh asks what {revision} is now",))
    commit = revision if is_commit(revision) else store.read_refs(place).get(revision, {}).get("revision", "")
    if not is_commit(commit):
        return Staged(faults=(f"the model: {wanted['repo']}@{revision} is not there",))
    path, where = place.published(commit), place.manifest(commit)
    manifest = store.read_manifest(where)
    if manifest is None or not os.path.isdir(path):
        return Staged(faults=(f"the model: no complete {path}",))
    return _held(manifest, where, path, wanted["patterns"])


def _held(manifest: Manifest, where: str, path: str, patterns: list[str]) -> Staged:
    """Every file has the size and the time that it was verified with; a file more counts in a directory that was adopted."""
    found = compare(manifest, store.scan(path, patterns))
    parts = [
        (found.missing, "missing"),
        (found.wrong_size, "of another size"),
        (found.suspects, "changed since it was verified"),
        (found.added if manifest.adopted else (), "new"),
    ]
    faults = tuple(f"the model: {', '.join(names[:3])}{' and more' if len(names) > 3 else ''} {what}" for names, what in parts if names)
    return Staged(path=path, revision=manifest.revision, manifest=where, repo=manifest.repo, faults=faults)
