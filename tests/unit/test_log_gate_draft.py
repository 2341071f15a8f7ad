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

from tests.unit.log_gate_helpers import Clock, feed, gate

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


# One rank's lines of a start of 0.5.14 with a draft model, cut to what begins each stage.
EARLY = {
    "distributed": ["Init torch distributed begin."],
    "weights": ["Load weight begin. avail mem=139.13 GB", "Load weight end. elapsed=0.6 s, type=A, avail mem=88.07 GB, mem usage=51 GB."],
    "draft weights": [
        "Load weight begin. avail mem=88.04 GB",
        "Load weight end. elapsed=0.0 s, type=B, avail mem=82.51 GB, mem usage=5.53 GB.",
    ],
    "memory": [
        "KV Cache is allocated. dtype: torch.bfloat16, #tokens: 9, K size: 9.68 GB, V size: 9.68 GB",
        "Memory pool end. avail mem=16.09 GB",
    ],
    "draft memory": [
        "KV Cache is allocated. dtype: torch.bfloat16, #tokens: 9, K size: 0.60 GB, V size: 0.60 GB",
        "Memory pool end. avail mem=14.88 GB",
    ],
    "dispatcher": ["GDN kernel dispatcher: decode=TritonGDNKernel, extend=TritonGDNKernel, verify=TritonGDNKernel"],
    "draft dispatcher": ["Linear attention kernel backend: decode=triton, prefill=triton"],
    "graphs": ["Capture target verify CUDA graph begin. backend=full, bs=[1, 2], avail mem=19.52 GB"],
}


def lines(rank: int, *stages: str, second: int = 0) -> list[str]:
    return [f"[2026-11-30 11:39:{second:02} TP{rank}] {text}" for stage in stages for text in EARLY[stage]]


def ranks(*parts: list[str]) -> LogGate:
    clock = Clock()
    subject = gate(count=2, clock=clock, stall_timeout=10.0)
    feed(subject, [line for part in parts for line in part])
    clock.now += 11.0
    subject.tick()
    return subject


BEGIN = ("distributed", "weights", "draft weights")


def test_a_second_rank_that_turns_later_takes_no_stage_from_the_first() -> None:
    subject = ranks(lines(0, *BEGIN, "memory", second=5), lines(1, *BEGIN, second=9))
    assert [stage["stage"] for stage in subject.stages()] == ["process", "distributed", "weights", "draft weights", "memory"]
    assert subject.cause is not None
    assert "'draft weights' of TP1" in subject.cause.what


def test_a_rank_does_not_fall_back_when_its_draft_begins_what_it_has_behind_it() -> None:
    """The draft's own backend line comes after the model's dispatcher; of the other ranks' it is the only one before the dispatcher's."""
    ahead = lines(0, *BEGIN, "memory", "draft memory", "dispatcher", "draft dispatcher")
    subject = ranks(ahead, lines(1, *BEGIN, "memory", "draft memory", "draft dispatcher"))
    assert subject.cause is not None
    assert " of TP" not in subject.cause.what.partition(";")[0]


def test_one_rank_that_is_behind_is_named_after_the_draft_came() -> None:
    ahead = lines(0, *BEGIN, "memory", "draft memory", "dispatcher", "draft dispatcher", "graphs")
    subject = ranks(ahead, lines(1, *BEGIN, "memory"))
    assert subject.cause is not None
    assert "'memory' of TP1" in subject.cause.what
