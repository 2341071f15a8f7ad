# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The GPU scenario, start to teardown, with the stand-in engine under the supervisor substitute: without a GPU. Needs root."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.host, pytest.mark.full]
ROOT = Path(__file__).resolve().parents[2]


def test_the_scenario_runs_whole_and_leaves_nothing_behind(tmp_path: Path) -> None:
    after = "ls -A /opt /run /var/cache /etc/systemd/system"
    command = [ROOT / "tests/play/standin_gpu_machine", sys.executable, tmp_path, "bash", "-c", f"scripts/gpu --plays full && {after}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr
    left = done.stdout.rpartition("/etc/systemd/system:\n")[2].split()
    assert left == ["/opt:", "model", "standin-env", "/run:", "/var/cache:"], "what was there before, and no more"

    record = json.loads((tmp_path / "record/record.json").read_text())
    assert set(record["starts"]) == {"first", "second", "rollback"}
    assert record["starts"]["first"]["release"] == record["starts"]["rollback"]["release"] != record["starts"]["second"]["release"]
    for start in record["starts"].values():
        assert start["compared"]["weights_gib"]["actual"] == 25.64  # the recorded start that the stand-in replays
        assert start["dispatcher_lines"] == 2
        assert start["probe"]["structure_only"]
    assert "--random-seed" in record["starts"]["second"]["argv"]
    assert "--random-seed" not in record["starts"]["rollback"]["argv"]
    assert any("ProtectSystem" in line for line in record["sandbox"])
    assert record["skipped_roles"]
    assert "substitute" in record["service_manager"]
    assert any("systemd" in line for line in record["preflight"])
    log = (tmp_path / "record/server.log").read_text()
    assert log.count("inference.sglang: start ") == 3
    assert log.count("stopped as asked") == 3
    actions = json.loads((tmp_path / "record/actions.json").read_text())
    assert all(action["went"] for action in actions)
