# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A pruning that is killed at any of its steps leaves nothing half that looks whole, and the next run ends it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.prune_lab import PruneHost, pruned
from tests.support.snapshot_lab import COLLECTIONS

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root sees what every process uses")

# Every call that changes the disk counts, and the process kills itself before the one that it is told.
PRUNE_AND_DIE = """
import json, os, signal, sys
order, last = json.load(sys.stdin)
count = 0
def counted(call):
    def wrapper(*arguments, **options):
        global count
        count += 1
        if count > last:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*arguments, **options)
    return wrapper
from ansible_collections.inference.sglang.plugins.module_utils._prune_work import Order, prune
for name in ("rename", "unlink", "rmdir"):
    setattr(os, name, counted(getattr(os, name)))
prune(Order(**{**order, "unit_folders": tuple(order["unit_folders"])}))
"""


def killed_after(host: PruneHost, kind: str, calls: int) -> bool:
    """Whether it was killed before its end."""
    environment = {"PYTHONPATH": str(COLLECTIONS), "PATH": "/usr/bin:/bin"}
    job = json.dumps([host.order(kind).__dict__, calls])
    done = subprocess.run([sys.executable, "-c", PRUNE_AND_DIE], input=job, text=True, capture_output=True, check=False, env=environment)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode != 0


def whole(path: Path, files: set[str]) -> bool:
    return not path.exists() or {str(name.relative_to(path)) for name in path.rglob("*") if name.is_file()} == files


@pytest.mark.parametrize("kind", ["models", "environments"])
def test_killed_at_any_step_and_finished_by_the_next_run(tmp_path: Path, kind: str) -> None:
    files = {"config.json", "model.safetensors"} if kind == "models" else {".complete.json", "lib/module.py"}
    calls = 0
    while True:
        host = PruneHost(tmp_path / str(calls))
        paths = [(host.model if kind == "models" else host.environment)(number) for number in range(1, 4)]
        was_killed = killed_after(host, kind, calls)
        assert all(whole(path, files) for path in paths), f"half a directory under its own name after {calls} calls"
        assert paths[2].is_dir()
        predicted = host.prune(kind, check_mode=True)
        finished = host.prune(kind)
        assert bool(predicted.finished or pruned(predicted)) == was_killed == bool(finished.finished or pruned(finished))
        names = sorted(name for name in os.listdir(paths[2].parent) if not name.endswith(".lock"))
        assert names == sorted([paths[2].name, *([f"{paths[2].name}.manifest.json"] if kind == "models" else [])])
        if not was_killed:
            break
        calls += 1
    assert calls > 6, "renames and removals of two directories"
