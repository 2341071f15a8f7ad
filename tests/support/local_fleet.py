# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Several hosts over the local connection, each with a place of its own, and a role's play on all of them."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ansible_runner

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("a", "b", "c", "d", "e")


@dataclass
class Play:
    ok: bool
    output: str
    stats: dict[str, dict[str, int]]

    @property
    def changed(self) -> int:
        return sum(self.stats.get("changed", {}).values())

    @property
    def ports(self) -> set[int]:
        """Of the servers that this run has told about."""
        return {int(port) for port in re.findall(r"http://127\.0\.0\.1:(\d+)", self.output)}

    @property
    def secrets(self) -> list[str]:
        """Tokens of transfers, and what they are made of; commits have its length, and only hexadecimal digits."""
        words = re.findall(r"\b[A-Za-z0-9]{40}\b", self.output)
        return re.findall(r"transfer-[0-9a-f]+", self.output) + [word for word in words if not re.fullmatch("[0-9a-f]{40}", word)]


class LocalFleet:
    """`variables` holds what is set for one host only."""

    def __init__(self, folder: Path, playbook: str, names: tuple[str, ...] = NAMES) -> None:
        self.folder, self.playbook, self.names = folder, ROOT / "tests/play" / playbook, names
        self.variables: dict[str, dict[str, Any]] = {name: {} for name in names}

    def host(self, name: str) -> Path:
        return self.folder / f"host-{name}"

    def settings(self, name: str) -> dict[str, Any]:
        """What a kind of fleet sets on each of its hosts."""
        return {}

    def play(self, options: str = "", **variables: Any) -> Play:
        scratch = self.folder / f"runner-{len(list(self.folder.glob('runner-*')))}"
        (scratch / "inventory").mkdir(parents=True)
        local = {"ansible_connection": "local", "ansible_host": "127.0.0.1", "ansible_python_interpreter": "/usr/bin/python3"}
        hosts = {name: {**local, **self.settings(name), **variables, **own} for name, own in self.variables.items()}
        (scratch / "inventory" / "hosts.json").write_text(json.dumps({"sglang_hosts": {"hosts": hosts}}))
        (scratch / "ansible.cfg").write_text("[defaults]\n")
        done = ansible_runner.run(
            private_data_dir=str(scratch),
            playbook=str(self.playbook),
            envvars={
                "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
                "ANSIBLE_CONFIG": str(scratch / "ansible.cfg"),
                "ANSIBLE_NOCOLOR": "1",
                "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            },
            cmdline=options or None,
            quiet=True,
        )
        return Play(done.rc == 0, done.stdout.read(), done.stats or {})
