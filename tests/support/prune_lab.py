# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A host's models, environments and instances as the collection leaves them, small and made by hand."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from ansible_collections.inference.sglang.plugins.module_utils._prune_work import Done, Order, prune
from ansible_collections.inference.sglang.plugins.module_utils._python_environment import Marker
from ansible_collections.inference.sglang.plugins.module_utils._release import Stamp
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_manifest import Manifest
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_store import entry_of, write_manifest

REPO = "acme/tiny"
RELEASES = ("1" * 16, "2" * 16, "3" * 16)


def commit(number: int) -> str:
    return hashlib.sha1(str(number).encode()).hexdigest()  # a name, as git makes it


class PruneHost:
    """Everything below one folder; unit files too."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.models, self.envs, self.units = folder / "models", folder / "envs", folder / "units"
        self.units.mkdir(parents=True)

    def model(self, number: int, repo: str = REPO, **changes: Any) -> Path:
        """A published model; the higher its number, the newer."""
        home = self.models / repo.replace("/", "--")
        path = home / commit(number)
        path.mkdir(parents=True)
        (home / ".lock").touch()
        for name in ("config.json", "model.safetensors"):
            (path / name).write_text(f"{name} {number}")
        entries = tuple(entry_of(str(path), name, "0" * 64, "none") for name in ("config.json", "model.safetensors"))
        fields = {
            "repo": repo,
            "revision": path.name,
            "requested": "main",
            "source": "hub",
            "time": f"2026-01-{number:02}T00:00:00Z",
            "adopted": False,
            "path": str(path),
            "files": entries,
        }
        write_manifest(f"{path}.manifest.json", Manifest(**{**fields, **changes}))
        return path

    def environment(self, number: int, marker: bool = True) -> Path:
        digest = hashlib.sha256(str(number).encode()).hexdigest()
        path = self.envs / f"sglang-0.5.11-{digest[:12]}"
        (path / "lib").mkdir(parents=True)
        (path / "lib/module.py").write_text(f"VALUE = {number}\n")
        (self.envs / f".{path.name}.lock").touch()
        if marker:
            built = f"2026-01-{number:02}T00:00:00Z"
            text = Marker(str(path), "sglang-0.5.11", digest, "0" * 64, "3.11.2", "linux-x86_64", "0.9", {}, built=built).to_json()
            (path / ".complete.json").write_text(text)
        return path

    def stamp(self, model: Path, name: str = "accepted.json", instance: str = "default", identifier: str = RELEASES[0]) -> Path:
        home = self.folder / "instances" / instance
        home.mkdir(parents=True, exist_ok=True)
        stamp = Stamp(identifier, "0" * 64, "0" * 64, environment={"path": "/elsewhere"}, model={"path": str(model)})
        (home / name).write_text(stamp.as_json())
        return home

    def release(self, text: str, instance: str = "default", identifier: str = RELEASES[0]) -> None:
        directory = self.folder / "instances" / instance / "releases" / identifier
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "release.json").write_text(json.dumps({"argv": text}))
        (directory / f"sglang-{instance}.service").write_text(f"[Service]\nExecStart=/x {text}\n")

    def order(self, kind: str = "models", keep: int = 1, **changes: Any) -> Order:
        root = self.models if kind == "models" else self.envs
        fields = {"kind": kind, "root": str(root), "keep": keep, "server_root": str(self.folder), "unit_folders": (str(self.units),)}
        return Order(**{**fields, **changes})

    def prune(self, kind: str = "models", keep: int = 1, **changes: Any) -> Done:
        return prune(self.order(kind, keep, **changes))


def reasons(done: Done) -> dict[str, str]:
    return {decision.item.path: decision.reason for decision in done.decisions}


def pruned(done: Done) -> list[str]:
    return sorted(decision.item.path for decision in done.decisions if decision.prune)
