# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""playbooks/status.yml over the local connection: whatever a host is like, it is a row, and nothing is changed or generated."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.unit.test_server_status import ID, KEY, Server, deploy, server

ROOT = Path(__file__).resolve().parents[2]
__all__ = ["server"]  # the fixture


def inventory(folder: Path, url: str) -> Path:
    """A served host, one without anything, one that cannot be reached, and one whose variables are wrong."""
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    deploy(folder / "served", url)
    deploy(folder / "odd", url, instance="blue")
    hosts = {
        "served": {**local, "sglang_server_root": str(folder / "served")},
        "fresh": {**local, "sglang_server_root": str(folder / "fresh")},
        "gone": {"ansible_host": "127.0.0.1", "ansible_port": 9, "ansible_ssh_common_args": "-o ConnectTimeout=2"},
        "odd": {**local, "sglang_server_root": str(folder / "odd"), "sglang_server_instance": "blue", "sglang_server_settings": 3},
        "snakeless": {"ansible_connection": "local", "ansible_python_interpreter": "/nonexistent/python3"},
    }
    path = folder / "inventory.json"
    path.write_text(json.dumps({"sglang_hosts": {"hosts": hosts}}))
    return path


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file() and "state" not in path.name}


@pytest.mark.parametrize("options", [[], pytest.param(["--check"], marks=pytest.mark.full)], ids=["run", "check"])
def test_every_host_is_a_row_and_nothing_changes(tmp_path: Path, server: Server, options: list[str]) -> None:
    hosts = inventory(tmp_path, f"http://127.0.0.1:{server.server_port}")
    before = tree(tmp_path)
    state = tmp_path / "state.json"
    done = subprocess.run(
        [
            str(Path(sys.executable).parent / "ansible-playbook"),
            *("-i", str(hosts), "playbooks/status.yml", "-e", f"status_json={state}", "-vv"),
            *options,
        ],
        cwd=ROOT,
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    rows: list[dict[str, Any]] = json.loads(state.read_text())
    found = {row["host"]: row for row in rows}
    assert sorted(found) == ["fresh", "gone", "odd", "served", "snakeless"]
    assert (found["served"]["release"], found["fresh"]["deployed"], found["gone"]["active"]) == (ID, False, "unreachable")
    assert any("there is no plan" in note or "plan:" in note for note in found["odd"]["notes"])
    assert found["snakeless"]["notes"]
    assert "never deployed" in found["fresh"]["notes"]
    for host in found:
        assert any(line.startswith(f"{host} ") for line in done.stdout.splitlines()), said
    assert KEY not in said + state.read_text()
    assert all(asked.startswith("GET /v1/models") for asked in server.seen)
    assert tree(tmp_path) == before
