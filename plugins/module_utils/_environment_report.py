# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the module ``python_environment`` says about an environment that is there, was made or would be."""

from __future__ import annotations

from typing import Any

from ansible_collections.inference.sglang.plugins.module_utils._environment_files import name_aside
from ansible_collections.inference.sglang.plugins.module_utils._environment_survey import Survey, short
from ansible_collections.inference.sglang.plugins.module_utils._environment_tree import known_manifest
from ansible_collections.inference.sglang.plugins.module_utils._peer_stream import Peer
from ansible_collections.inference.sglang.plugins.module_utils._python_environment import main_versions


def result_of(found: Survey, versions: dict[str, str], link: str) -> dict[str, Any]:
    """What stays the same whether the environment was there, was built or would be."""
    result: dict[str, Any] = {
        "path": found.path,
        "python": f"{found.path}/bin/python" if found.path else None,
        "python_version": found.python_version,
        "digest": found.digest,
        "sglang_version": main_versions(versions).get("sglang", ""),
        "versions": main_versions(versions),
        "adopted": found.action == "adopt",
        "foundation": found.foundation,
    }
    if link:
        before = {"link": found.link.target, "directory": "a directory", "nothing": "absent"}[found.link.kind]
        after = before if found.action == "adopt" else (found.path or "the environment")
        result["link"] = {"path": link, "before": before, "after": after}
        result["diff"] = {"before": f"{link} -> {before}\n", "after": f"{link} -> {after}\n"}
    return result


def said(found: Survey, done: str, aside: str, link: str, would: str) -> str:
    """One sentence for the operator; `done` says how the environment came about, empty where it was there."""
    if found.action == "adopt":
        return f"{found.path} is used as it is ({short(found.digest or '')})"
    parts = [f"{would}{done}" if done else f"{found.path} is complete"]
    if found.path is None:
        parts = [f"would build an environment, its directory depends on what is missing now: {', '.join(found.missing)}"]
    elif found.missing:
        parts.append(f"first comes what is missing now: {', '.join(found.missing)}")
    if aside:
        parts.append(
            f"{'the directory at ' + link + ' would be moved' if would else 'what was at ' + link + ' was moved'} aside to {aside}"
        )
    return "; ".join(parts)


def predict(params: dict[str, Any], found: Survey) -> dict[str, Any]:
    """The result of check mode."""
    link, build = params["link"], found.action == "build"
    switches = bool(link) and found.switches
    aside = name_aside(link) if switches and found.link.kind == "directory" else ""
    copies = build and bool(params["peer"])
    # The action plugin takes this result for the run's own where nothing is to be done: it must be whole.
    known = known_manifest(found.marker, found.foundation) if params["manifest"] and found.marker is not None else ""
    done = (f"copied {found.path} from {Peer(**params['peer']).host}" if copies else f"built {found.path}") if build else ""
    return {
        "changed": build or switches or known is None,
        "built": build and not copies,
        "copied": copies,
        "manifest_sha256": known or "",
        "moved_aside": aside,
        "msg": said(found, done, aside, link, "would have "),
        **result_of(found, found.versions, link),
    }
