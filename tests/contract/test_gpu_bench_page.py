# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What GPU benchmarks left behind: the page shows it, what was planned came true, and the worst case ended no server."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Optional

import pytest

from scripts import gpu_bench_tables

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


def measured(release: str, name: str, *speeds: float, drafts: Optional[float] = 2.5) -> dict[str, Any]:
    """A record with one server, started as often as there are speeds."""
    figures = {"max_running_requests": 8, "mem_fraction_static": 0.8, "max_total_num_tokens": 9, "available_gpu_mem_gb": 1.0}
    figures["ranks"] = {"TP0": {"state_slots": 40}}
    times = dict.fromkeys(("latency_p50", "latency_p95", "first_token_p50", "first_token_p95"), 1.0)
    runs = [
        {
            "name": name,
            "what": name,
            "published": "",
            "changed": "",
            "simulated_accept_length": drafts,
            "argv": ["--x"],
            "env": {},
            "predicted": None,
            "start": {"figures": figures, "verdict": "ready"},
            "loads": {"96": {**times, "tokens_per_second": speed, "decoding_tokens_per_second": speed, "running_at_once": 8}},
        }
        for speed in speeds
    ]
    card = {"name": "NVIDIA H200", "memory_mib": 143771}
    versions = {"sglang": release, "torch": "2", "python": "3"}
    return {"date": "2026-11-30T00:00:00Z", "cards": [card], "driver": "580", "versions": versions, "commit": "c0ffee", "runs": runs}


def test_repeats_are_one_line_with_their_spread_and_releases_are_never_in_one_table() -> None:
    records = [measured("1.0", "cookbook", 1000.0, 1200.0), measured("1.0", "ours", 1600.0, 1700.0, 1650.0)]
    text = gpu_bench_tables.render([*records, measured("2.0", "ours", 3000.0), measured("1.0", "cookbook", 1100.0)])
    older, newer = text.split("## 96 requests")[1:]
    lines = [line for line in older.splitlines() if line.startswith("| `")]
    assert lines[0].startswith("| `cookbook` | cookbook | simulated 2.5 | 8 | 8 | 3 | 1,100 (1,000 to 1,200) | 1.00 |")
    assert lines[1].startswith("| `ours` | ours | simulated 2.5 | 8 | 8 | 3 | 1,650 (1,600 to 1,700) | 1.50 |")
    assert "(SGLang 2.0)" in newer.splitlines()[0]
    assert "| `ours` | ours | simulated 2.5 | 8 | 8 | 1 | 3,000 | - | 3,000 |" in newer
    assert "3,000" not in older


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
