# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""examples/runner does what docs/awx.md says, over the local connection."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_it_tells_what_happened_to_each_host(tmp_path: Path) -> None:
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, "sglang_server_root": str(tmp_path / "none")}
    inventory = tmp_path / "inventory.json"
    inventory.write_text(json.dumps({"sglang_hosts": {"hosts": {"one": local, "two": local}}}))
    # Short: ansible-core binds a socket in it.
    with tempfile.TemporaryDirectory() as temporary:
        done = subprocess.run(
            [
                sys.executable,
                str(ROOT / "examples/runner/rollout.py"),
                *("verify", "--check", "--limit", "one", "--inventory", str(inventory), "--data", str(tmp_path / "data")),
            ],
            cwd=tmp_path,
            env={
                **os.environ,
                "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
                "INFERENCE_SGLANG_JOURNAL_DIRECTORY": str(tmp_path / "journals"),
                "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
                "TMPDIR": temporary,
            },
            capture_output=True,
            text=True,
            check=False,
        )
    said = done.stdout + done.stderr
    assert done.returncode == 1, said
    assert "one: failed: no release of the instance default was accepted on this host" in said
    assert "one: Refuse a host on which nothing was accepted: no release" in said, "told while it runs"
    assert "two:" not in said, "the limit counts"
    report = json.loads((tmp_path / "data/reports/rollout-report.json").read_text())
    assert (report["playbook"], report["check"], [row["verdict"] for row in report["rows"]]) == ("verify", True, ["failed"])
    assert len(list((tmp_path / "journals").glob("*.jsonl"))) == 1
    assert not (ROOT / "examples/runner/artifacts").exists(), "nothing is left in the checkout"
