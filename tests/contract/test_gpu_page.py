# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What GPU runs left behind: the page shows it, and it keeps what docs/memory.md promises of a plan."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
STARTS = [
    pytest.param(record["starts"][name], id=f"{path.stem}-{name}")
    for path in sorted((ROOT / "tests/data/gpu").glob("*.json"))
    for record in [json.loads(path.read_text())]
    for name in record["starts"]
]


def test_the_page_shows_the_records() -> None:
    run = subprocess.run([sys.executable, str(ROOT / "scripts/gpu_tables.py")], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("start", STARTS)
def test_the_engine_did_what_was_planned(start: dict[str, Any]) -> None:
    compared = {name: (pair["predicted"], pair["actual"]) for name, pair in start["compared"].items()}
    for exact in ("state_slots", "max_running_requests", "attention_backend", "page_size", "speculative_algorithm", "mem_fraction_static"):
        assert compared[exact][0] == compared[exact][1], exact
    planned, seen = compared["kv_tokens"]
    assert abs(planned - seen) <= 0.01 * seen
    planned, seen = compared["weights_gib"]
    assert abs(planned - seen) <= 0.02 * seen
    planned, seen = compared["free_gib"]
    assert abs(planned - seen) <= 1.5
