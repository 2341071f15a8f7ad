# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The commands that are compared: the role on hosts of the local connection, and the tools that a user would take instead."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any, Optional

from tests.bench_transfer.origin import REPO, Origin
from tests.bench_transfer.watched import Run, run_all
from tests.support.snapshot_lab import RUN_IN_PROCESS, params

ROOT = Path(__file__).resolve().parents[2]
PLAYS = ROOT / "tests/play"


class Hosts:
    """Hosts of the local connection, each with its own place for models and environments."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tools = folder / "tools"

    def root(self, number: int) -> Path:
        return self.folder / f"host-{number}"

    def play(self, playbook: str, count: int, variables: dict[str, Any], roots: tuple[str, ...]) -> Run:
        """One playbook on ``count`` hosts; ``roots`` are the variables that name a place which each host has for itself."""
        own = {
            f"host-{number}": {name: str(self.root(number) / name) for name in roots if name not in variables} for number in range(count)
        }
        common = {"ansible_connection": "local", "ansible_host": "127.0.0.1", "ansible_python_interpreter": "/usr/bin/python3", **variables}
        self.folder.mkdir(parents=True, exist_ok=True)
        inventory = self.folder / "hosts.json"
        inventory.write_text(json.dumps({"all": {"children": {"sglang_hosts": {"hosts": own}}, "vars": common}}))
        command = [str(Path(sys.executable).parent / "ansible-playbook"), "-f", "50", "-i", str(inventory), str(PLAYS / playbook)]
        return run_all([command], self.folder / "output", {"ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections")})

    def model(self, origin: Origin, count: int, seeds: int) -> Run:
        """The role model_shards; its download tool is shared and was built before."""
        variables = {
            "model_shards_repo": REPO,
            "model_shards_endpoint": origin.url,
            "model_shards_tools": str(self.tools),
            "model_shards_seeds": seeds,
        }
        return self.play("model_shards/play.yml", count, variables, ("model_shards_root",))

    def hub_client(self) -> Path:
        """The hub's own command, of the version that the role uses."""
        return next(self.tools.glob("hub-*/bin/hf"))

    def forget(self) -> None:
        """Everything but the tools."""
        for path in self.folder.glob("host-*"):
            shutil.rmtree(path)


def hf(client: Path, origin: Origin, targets: list[Path]) -> Run:
    """`hf download` into each target, side by side."""
    environment = {"HF_ENDPOINT": origin.url, "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
    commands = [[str(client), "download", REPO, "--local-dir", str(target)] for target in targets]
    return run_all(commands, targets[0].parent / "output-hf", environment)


def aria2(origin: Origin, target: Path) -> Optional[Run]:
    """aria2c with the hub's digests, four connections; nothing where it is not installed."""
    program = shutil.which("aria2c")
    if program is None:
        return None
    listed = "".join(
        f"{origin.url}/{REPO}/resolve/main/{name}\n  out={name}\n  checksum=sha-256={digest}\n" for name, digest in origin.files().items()
    )
    command = [program, "--quiet", "--dir", str(target), "-j4", "-x4", "--file-allocation=none", "--input-file=-"]
    return run_all([command], target.parent / "output-aria2", stdin=listed)


def module(origin: Origin, client: Path, target: Path) -> Run:
    """model_snapshot by itself, without Ansible around it."""
    values = {**params(None, target), "repo": REPO, "endpoint": origin.url, "python": str(client.parent / "python"), "retry_delay": 1.0}
    command = [sys.executable, "-c", RUN_IN_PROCESS]
    return run_all([command], target.parent / "output-module", {"PYTHONPATH": str(ROOT / ".collections")}, stdin=json.dumps(values))
