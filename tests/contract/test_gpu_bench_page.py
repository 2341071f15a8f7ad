# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What GPU benchmarks left behind: the page shows it, what was planned came true, and the worst case ended no server."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUNS = [
    pytest.param(run, id=f"{path.stem}-{run['name']}")
    for path in sorted((ROOT / "tests/data/gpu_bench").glob("*.json"))
    for run in json.loads(path.read_text())["runs"]
    if run.get("start")
]
PLANNED = [run for run in RUNS if run.values[0]["predicted"]]  # type: ignore[index, call-overload]


def test_the_page_shows_the_records() -> None:
    run = subprocess.run([sys.executable, str(ROOT / "scripts/gpu_bench_tables.py")], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("run", PLANNED)
def test_the_engine_did_what_was_planned(run: dict[str, Any]) -> None:
    planned, figures = run["predicted"], run["start"]["figures"]
    rank = figures["ranks"]["TP0"]
    assert run["start"]["verdict"] == "ready"
    assert (planned["state_slots"], planned["max_running_requests"]) == (rank["state_slots"], figures["max_running_requests"])
    assert abs(planned["kv_tokens"] - rank["kv_tokens"]) <= 0.01 * rank["kv_tokens"]
    assert abs(planned["weights_gib"] - rank["weights_gb"]) <= 0.02 * rank["weights_gb"]
    assert abs(planned["free_gib"] - figures["available_gpu_mem_gb"]) <= 1.5


@pytest.mark.parametrize("run", RUNS)
def test_every_request_was_answered_in_full_and_no_server_died(run: dict[str, Any]) -> None:
    """What did not start has a known cause, and no loads."""
    if run["start"]["verdict"] != "ready":
        assert run["start"]["cause"]["code"].startswith("GATE-")
        assert run["loads"] == {}
    assert "died" not in run
    for name, load in run["loads"].items():
        if "left_out" not in load:
            assert (load["answered"], load["problems"]) == (load["requests"], []), name


@pytest.mark.parametrize("run", RUNS)
def test_nothing_is_simulated_unsaid(run: dict[str, Any]) -> None:
    drafts = any(word.startswith("--speculative-algo") for word in run["argv"])
    assert drafts == ("SGLANG_SIMULATE_ACC_LEN" in run["env"]) == (run["simulated_accept_length"] is not None)
    for load in run["loads"].values():
        if drafts and "left_out" not in load:
            # a mean of whole numbers of tokens over few steps
            assert abs(load["accept_length"] - run["simulated_accept_length"]) <= 0.15


def test_records_name_no_machine() -> None:
    for path in (ROOT / "tests/data/gpu_bench").glob("*.json"):
        places = {word for run in json.loads(path.read_text())["runs"] for word in run.get("argv", []) if word.startswith("/")}
        assert places <= {"/opt/models/Qwen3.6-27B"}, path.name
