# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The plan beside recorded starts: what is equal, what differs, and what the engine changed by itself with its own reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._engine_words import EngineWords
from ansible_collections.inference.sglang.plugins.module_utils._log_gate import Expectation, LogGate
from ansible_collections.inference.sglang.plugins.module_utils._plan_reality import (
    FIGURES,
    UNEXPLAINED,
    compare,
    comparison_lines,
    planned_figures,
    served_figures,
    started_figures,
)

LOGS = Path(__file__).parents[1] / "data/logs"
PLAN = {
    "argv": ["--model-path", "/m", "--max-running-requests", "6"],
    "predicted": {"attention_backend": "fa3", "page_size": 1, "tp_size": 2, "mem_fraction_static": 0.7167, "max_running_requests": 6},
    "memory": {"per_rank": {"state_slots": 34, "kv_tokens": 89000, "max_running_requests": 6, "weights_gib": 25.6, "free_gib": None}},
}


def started(name: str) -> LogGate:
    gate = LogGate(Expectation(None, 0), lambda: 0.0)
    for line in (LOGS / f"{name}.log").read_text().splitlines():
        gate.feed(line)
    return gate


def changes(planned: dict[str, Any], gate: LogGate) -> list[str]:
    found: list[str] = compare(planned, started_figures(gate.result()["figures"]), gate.words.said)["changes"]
    return found


def test_a_start_as_planned_has_no_change_and_shows_both_sides() -> None:
    gate = started("start-ct129-tp2-mtp-3-1-4-then-rank-killed")
    found = compare(planned_figures(PLAN), started_figures(gate.result()["figures"]), gate.words.said)
    assert found["changes"] == []
    rows = {row["name"]: row for row in found["rows"]}
    assert (rows["kv_tokens"]["planned"], rows["kv_tokens"]["found"], rows["kv_tokens"]["same"]) == (89000, 89197, False)
    assert (rows["state_slots"]["found"], rows["weights_gb"]["found"]) == (34, 25.64)
    assert "available_gpu_mem_gb" not in rows, "what the plan does not know is not compared"
    same, other = comparison_lines(found["rows"])
    assert "attention backend fa3" in same
    assert "radix cache on" in same
    assert "KV tokens 89000 planned, 89197 found" in other


def test_overlap_that_the_engine_turned_off_is_told_in_its_own_words() -> None:
    gate = started("start-27b-no-flags")
    (change,) = changes(planned_figures({"argv": []}), gate)
    assert change.startswith("the engine changed overlap schedule from on to off: Disabling overlap schedule since mamba no_buffer")
    assert changes(planned_figures({"argv": ["--disable-overlap-schedule"]}), gate) == [], "who asked for it is not warned of it"


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("attention_backend", "triton", "Attention backend not specified. Use fa3 backend by default."),
        ("attention_backend", "flashinfer", "Use fa3 as attention backend on sm100 for Qwen3_5ForConditionalGeneration"),
        ("attention_backend", "triton", ""),
        ("page_size", 64, "FA4 backend only supports page size 128 for non-MLA model architectures, changing page_size from 64 to 128."),
        ("page_size", 64, "X with radix cache requires page_size=1 in the current mode, but got 64. Automatically setting page_size=1."),
        ("disable_radix_cache", True, "Disabling Radix Cache for Qwen3_5ForConditionalGeneration as it is not yet supported."),
        ("disable_radix_cache", True, "Radix cache is disabled because --enable-mis is set."),
        ("disable_radix_cache", True, "Disabling radix cache since trtllm_mha does not support page_size = 1, which is required."),
        (
            "disable_overlap_schedule",
            True,
            "Overlap scheduler is disabled when using DFLASH speculative decoding.",
        ),
        ("disable_overlap_schedule", True, "Pipeline parallelism is incompatible with overlap schedule."),
        (
            "max_running_requests",
            9,
            "Max running requests is reset to 48 for speculative decoding.",
        ),
    ],
)
def test_each_change_is_a_warning_with_the_engines_reason(name: str, value: Any, line: str) -> None:
    words = EngineWords()
    for text in ("server_args=ServerArgs(attention_backend='fa3', setting page_size to 3, api_key='s')", line, "later: changing page_size"):
        words.feed(text)
    other = {"attention_backend": "fa3", "page_size": 1, "max_running_requests": 6}.get(name, not value)
    (change,) = compare({name: value}, {name: other}, words.said)["changes"]
    assert change.endswith(line or UNEXPLAINED)


def test_a_clamp_that_no_line_explains_is_explained_by_the_pools() -> None:
    found = compare({"max_running_requests": 8}, {"max_running_requests": 6, "state_slots": 34, "kv_tokens": 89197})
    assert found["changes"] == ["the engine changed running requests from 8 to 6: its pools hold 34 state slots and 89197 KV tokens"]


def test_figures_that_differ_are_no_changes_of_the_engine() -> None:
    figures = {figure.name for figure in FIGURES if not figure.setting}
    assert compare(dict.fromkeys(figures, 10), dict.fromkeys(figures, 11))["changes"] == []


def test_nothing_is_compared_with_what_the_engine_does_not_tell() -> None:
    found = compare({"page_size": 1}, {})
    assert (found["rows"][0]["same"], found["changes"], comparison_lines(found["rows"])) == (None, [], [])


def test_server_info_gives_the_running_figures_and_no_secret() -> None:
    state = {"effective_max_running_requests_per_dp": 6, "memory_usage": {"weight": 25.64, "token_capacity": 89197}, "api_key": "CANARY"}
    info = {"attention_backend": "fa3", "page_size": 1, "disable_radix_cache": False, "max_running_requests": 48, "api_key": "CANARY"}
    found = served_figures({**info, "internal_states": [state, {**state, "effective_max_running_requests_per_dp": 5}]})
    assert found["max_running_requests"] == 5, "what runs, not what was asked for"
    assert (found["kv_tokens"], found["weights_gb"], found["attention_backend"]) == (89197, 25.64, "fa3")
    assert "CANARY" not in str(found)


@pytest.mark.parametrize("info", [None, [], "x", {"internal_states": 3}, {"internal_states": [3, {"memory_usage": 1}], "page_size": {}}])
def test_server_info_of_any_shape_is_no_fault(info: Any) -> None:
    assert served_figures(info) == {}


def test_figures_of_the_ranks_are_the_lowest() -> None:
    ranks = {"TP0": {"kv_tokens": 10, "weights_gb": 3.0}, "TP1": {"kv_tokens": 9, "weights_gb": 3.5, "draft": {"kv_tokens": 1}}}
    assert started_figures({"ranks": ranks}) == {"kv_tokens": 9, "weights_gb": 3.5}
