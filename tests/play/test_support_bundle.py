# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""playbooks/support_bundle.yml over the local connection: one closed file for each host, no secret, nothing left behind."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import pytest

from tests.unit.test_server_status import KEY, deploy

ROOT = Path(__file__).resolve().parents[2]


def bundles(tmp_path: Path, *options: str) -> tuple[Path, str]:
    """Play for a deployed host and one without anything; where the files are, and what was said."""
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    home = deploy(tmp_path / "served", "http://127.0.0.1:9")
    (home / f"releases/{next((home / 'releases').iterdir()).name}/plan.json").write_text(json.dumps({"argv": ["--api-key", KEY]}))
    hosts = {name: {**local, "sglang_server_root": str(tmp_path / name), "sglang_server_settings": 3} for name in ("served", "fresh")}
    inventory = tmp_path / "inventory.json"
    inventory.write_text(json.dumps({"sglang_hosts": {"hosts": hosts}}))
    # Short: ansible-core binds a socket in it, and pytest's own directories are too long for one.
    temporary = Path(tempfile.mkdtemp())
    done = subprocess.run(
        [
            str(Path(sys.executable).parent / "ansible-playbook"),
            *("-i", str(inventory), "playbooks/support_bundle.yml", "-vvv"),
            *("-e", f"support_directory={tmp_path / 'out'}", *options),
        ],
        cwd=ROOT,
        env={
            **os.environ,
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
            "TMPDIR": str(temporary),
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "failed=0" in done.stdout
    assert list(temporary.glob("inference.sglang*")) == list(Path(tempfile.gettempdir()).glob("inference.sglang-support-*")) == []
    shutil.rmtree(temporary)
    return tmp_path / "out", done.stdout + done.stderr


def test_each_host_has_its_closed_file_without_secrets(tmp_path: Path) -> None:
    folder, said = bundles(tmp_path)
    assert sorted(path.name for path in folder.iterdir()) == ["fresh-default.tar.gz", "served-default.tar.gz"]
    for path in folder.iterdir():
        assert path.stat().st_mode & 0o777 == 0o600
        with tarfile.open(path) as archive:
            texts = {member.name: archive.extractfile(member).read().decode() for member in archive}  # type: ignore[union-attr]
        assert any(name.endswith("/bundle.json") for name in texts)
        assert all(KEY not in text for text in texts.values())
    assert KEY not in said
    assert "served-default.tar.gz" in said


@pytest.mark.full
def test_check_mode_writes_nothing(tmp_path: Path) -> None:
    folder, _said = bundles(tmp_path, "--check")
    assert not folder.exists()
