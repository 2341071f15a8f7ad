# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A host's environments for tests: real ones, made by the real uv out of tiny wheels."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils import basic
from ansible_collections.inference.sglang.plugins.modules import python_environment

from tests.support.wheels import make_lock, make_wheel

UV = Path(sys.executable).parent / "uv"
PYTHON = "/usr/bin/python3"


class Host:
    """A host's directories, and the module called on it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.wheelhouse = folder / "wheelhouse"
        self.lock = folder / "lock.txt"
        self.root = folder / "envs"
        self.link = folder / "ml-env"
        self.warnings: list[str] = []
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def fill(self, version: str = "0.5.11", source: str = "VALUE = 1\n") -> None:
        wheels = [
            make_wheel(self.wheelhouse, "sglang", version, source, ["torch==2.11.0"]),
            make_wheel(self.wheelhouse, "torch", "2.11.0"),
            make_wheel(self.wheelhouse, "transformers", "5.6.0"),
        ]
        make_lock(self.lock, wheels)

    def arguments(self, **changes: Any) -> dict[str, Any]:
        return {
            "name": "sglang-0.5.11",
            "root": str(self.root),
            "tools": str(self.folder / "tools"),
            "lock": str(self.lock),
            "python": PYTHON,
            "uv": str(UV),
            "wheelhouse": str(self.wheelhouse),
            "link": str(self.link),
            "imports": ["sglang"],
            "release": "0.5.11",
            "progress_file": str(self.folder / "progress"),
            **changes,
        }

    def call(self, check: bool = False, **changes: Any) -> dict[str, Any]:
        arguments = {**self.arguments(**changes), "_ansible_check_mode": check}
        self._monkeypatch.setattr(basic, "_ANSIBLE_ARGS", json.dumps({"ANSIBLE_MODULE_ARGS": arguments}).encode())
        self._monkeypatch.setattr(basic, "_ANSIBLE_PROFILE", "legacy", raising=False)
        self._capsys.readouterr()
        # Where a controller's plugin is loaded into the same process, warnings go to its display and not into the result.
        self.warnings.clear()
        self._monkeypatch.setattr(basic.AnsibleModule, "warn", lambda _module, text: self.warnings.append(text))
        with pytest.raises(SystemExit):
            python_environment.main()
        result: dict[str, Any] = json.loads(self._capsys.readouterr().out.strip().splitlines()[-1])
        return result

    def phases(self) -> list[str]:
        return [json.loads(line)["phase"] for line in (self.folder / "progress").read_text().splitlines()]

    def environments(self) -> list[str]:
        return sorted(path.name for path in self.root.iterdir() if path.is_dir()) if self.root.exists() else []
