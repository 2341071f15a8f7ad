# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whose a line of the log is, the model's or its draft model's: for both orders in which releases load the two, on recorded starts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._log_gate import Expectation, LogGate
from ansible_collections.inference.sglang.plugins.module_utils._plan_reality import started_figures

LOGS = Path(__file__).resolve().parents[1] / "data/logs"
ALL = sorted(LOGS.rglob("*.log"))
DRAFTING = [path for path in ALL if "Qwen3_5ForCausalLMMTP" in path.read_text(errors="replace") and "tp2" not in path.name]


def watched(path: Path) -> dict[str, Any]:
    gate = LogGate(Expectation("GDN kernel dispatcher", 2), lambda: 0.0)
    for line in path.read_text(errors="replace").splitlines():
        gate.feed(line)
    return gate.result()


def numbers(text: str, pattern: str) -> list[float]:
    return [float(found) for found in re.findall(pattern, text)]


def names(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(LOGS)) for path in paths]


@pytest.mark.parametrize("path", DRAFTING, ids=names(DRAFTING))
def test_figures_are_the_models_first_and_then_the_drafts(path: Path) -> None:
    """In every release the model's line of a kind comes before the draft's, whatever comes between them."""
    text = path.read_text(errors="replace")
    rank = watched(path)["figures"]["ranks"]["TP0"]
    for pattern, name in (
        (r"Load weight end\..*mem usage=([\d.]+) GB", "weights_gb"),
        (r"is allocated\..*K size: ([\d.]+) GB", "k_gb"),
        (r"Memory pool end\. avail mem=([\d.]+) GB", "free_after_pools_gb"),
    ):
        seen = numbers(text, pattern)
        assert [rank.get(name), rank["draft"].get(name)] == [*seen, None, None][:2], name
    assert [rank.get("state_slots")] == (numbers(text, r"max_mamba_cache_size: (\d+)") or [None])
    assert "state_slots" not in rank["draft"]


@pytest.mark.parametrize("path", DRAFTING, ids=names(DRAFTING))
def test_graphs_are_told_apart(path: Path) -> None:
    ends = re.findall(r"Capture (.*)(?:cuda|CUDA) graph end\..*avail mem=([\d.]+) GB", path.read_text(errors="replace"))
    rank = watched(path)["figures"]["ranks"]["TP0"]
    for place, of_draft in ((rank, False), (rank["draft"], True)):
        mine = [float(free) for what, free in ends if what.startswith("draft") is of_draft]
        assert place.get("free_after_graphs_gb") == (mine[-1] if mine else None)


@pytest.mark.parametrize("path", ALL, ids=names(ALL))
def test_stages_come_in_the_order_of_their_time(path: Path) -> None:
    """Else a stage would have taken less than no time."""
    times = [stage["at_s"] for stage in watched(path)["stages"]]
    assert times == sorted(times)


def test_a_draft_that_loads_first_does_not_hide_what_the_start_is_at() -> None:
    """From SGLang 0.5.14 on the pools and graphs of the model come after the draft's weights."""
    lines = (LOGS / "0.5.14/start-planned-27b-without-overlap.log").read_text().splitlines()
    gate = LogGate(Expectation("GDN kernel dispatcher", 2), lambda: 0.0)
    stages = []
    for line in lines:
        gate.feed(line)
        if not stages or stages[-1] != gate.stage:
            stages.append(gate.stage)
    after = stages[stages.index("draft weights") :]
    assert after[:4] == ["draft weights", "memory", "draft memory", "backend"]
    assert after[4:8] == ["dispatcher", "draft dispatcher", "graphs", "draft graphs"]
    assert gate.next_stage("draft weights") == "memory"
    assert started_figures(gate.result()["figures"])["state_slots"] == 196
