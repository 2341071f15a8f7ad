# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Releases that are newer than the one the memory rules were fitted to, against starts that were planned before they were made."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._launch_plan import launch_plan
from ansible_collections.inference.sglang.plugins.module_utils._log_gate import Expectation, LogGate
from ansible_collections.inference.sglang.plugins.module_utils._releases import RELEASES, release_of

DATA = Path(__file__).resolve().parents[1] / "data"
LOGS = DATA / "logs"
H200 = {"name": "NVIDIA H200", "memory_mib": 143771, "compute_capability": "9.0"}
NEXTN = {"speculative_algorithm": "NEXTN"}
SERIAL = {"disable_overlap_schedule": True, "mamba_radix_cache_strategy": "no_buffer"}
STEPS = {"speculative_num_steps": 3, "speculative_eagle_topk": 1, "speculative_num_draft_tokens": 4}
# The numbers are those of the command; what the engine makes of them is predicted.
STARTS = {
    "0.5.14/start-planned-27b-no-speculation": {
        "max_running_requests": 64,
        "mamba_full_memory_ratio": 2.854525,
        "speculative_algorithm": "none",
    },
    "0.5.14/start-planned-27b-without-overlap": {"max_running_requests": 32, "mamba_full_memory_ratio": 892.939313, **SERIAL},
    "0.5.14/start-planned-27b-then-died-of-structured-output": {
        "max_running_requests": 12,
        "mamba_full_memory_ratio": 0.740576,
        **NEXTN,
    },
    "0.5.15.post1/start-planned-27b-throughput": {
        "max_running_requests": 84,
        "mamba_full_memory_ratio": 5.715767,
        "speculative_algorithm": "none",
    },
    "0.5.15.post1/start-planned-27b-mtp": {"max_running_requests": 46, "mamba_full_memory_ratio": 11.434849, **NEXTN, **STEPS},
    "0.5.15.post1/start-planned-27b-mtp-launched": {"max_running_requests": 28, "mamba_full_memory_ratio": 1.307604, **NEXTN, **STEPS},
    # The engine's own ratio is 0.9, and it caps a start with speculation at 48 requests; a plan's default is another.
    "0.5.15.post1/start-27b-mtp-3-1-4-published": {
        "mem_fraction_static": 0.8,
        "max_running_requests": 48,
        "mamba_full_memory_ratio": 0.9,
        **NEXTN,
        **STEPS,
    },
}
# 0.5.15.post1 takes exactly 32 MiB between the ranks' meeting and the weights, which nothing in its source was found to take.
KV_TOLERANCE = {"0.5.14": 0.002, "0.5.15.post1": 0.01}
MODEL = json.loads((DATA / "models/Qwen3.6-27B.json").read_text())


def planned(version: str = "0.5.14", **settings: Any) -> dict[str, Any]:
    return launch_plan(MODEL, version, [H200], settings=settings, allow_unverified_release=True)


def logged(text: str, pattern: str) -> float:
    found = re.search(pattern, text)
    assert found, pattern
    return float(found[1])


@pytest.mark.parametrize("name", STARTS)
def test_what_was_planned_is_what_the_engine_made_of_it(name: str) -> None:
    text, version = (LOGS / f"{name}.log").read_text(), name.partition("/")[0]
    rank = planned(version, **{"mem_fraction_static": 0.88, **STARTS[name]})["memory"]["per_rank"]
    assert rank["state_slots"] == logged(text, r"max_mamba_cache_size: (\d+)")
    assert rank["max_running_requests"] == logged(text, r"max_total_num_tokens=.*max_running_requests=(\d+)")
    assert rank["kv_tokens"] == pytest.approx(logged(text, r"max_total_num_tokens=(\d+)"), rel=KV_TOLERANCE[version])
    assert rank["weights_gib"] == pytest.approx(logged(text, r"Load weight end.*mem usage=([\d.]+) GB"), rel=0.002)
    assert rank["free_gib"] == pytest.approx(logged(text, r"available_gpu_mem=([\d.]+) GB"), abs=0.5)


def test_every_recorded_start_of_a_later_release_is_among_them() -> None:
    assert set(STARTS) == {str(path.relative_to(LOGS))[: -len(".log")] for path in LOGS.rglob("*.log") if path.parent != LOGS}


@pytest.mark.parametrize("name", STARTS)
def test_its_log_opens_the_gate(name: str) -> None:
    plan = planned(name.partition("/")[0], **{"mem_fraction_static": 0.88, **STARTS[name]})
    gate = LogGate(Expectation.from_plan(plan["gate"]), lambda: 0.0)
    for line in (LOGS / f"{name}.log").read_text().splitlines():
        gate.feed(line)
        if gate.verdict != "waiting":
            break
    assert gate.verdict == "ready"


@pytest.mark.parametrize("version", RELEASES)
def test_a_release_that_dies_of_structured_output_does_not_speculate_by_itself(version: str) -> None:
    dies = release_of(version, allow_unverified=True).verification_dies
    assert dies == (version in ("0.5.13", "0.5.13.post1", "0.5.14", "0.5.15", "0.5.15.post1"))
    plan = planned(version)
    assert plan["speculative"]["enabled"] is not dies
    assert any("sgl-project/sglang#28407" in reason["why"] for reason in plan["reasons"]) is dies
    asked = planned(version, **NEXTN)
    assert asked["speculative"]["enabled"] is True
    assert any("#28407" in warning for warning in asked["warnings"]) is dies


def test_the_way_around_it_is_taken() -> None:
    plan = planned(disable_overlap_schedule=True)
    assert plan["speculative"]["enabled"] is True
    assert not any("#28407" in warning for warning in plan["warnings"])
