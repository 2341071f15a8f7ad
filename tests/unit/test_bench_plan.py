# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The comparison of commands: what it makes of published ones, of an engine's resolution, and of many cells."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.bench_plan import bench
from tests.bench_plan.bench import Cell, asked_kinds, gdn_models, naive_size
from tests.bench_plan.outcomes import (
    CARD,
    COOKBOOK,
    HEAD,
    KINDS,
    MANY,
    NAIVE,
    OURS,
    Outcome,
    Row,
    against,
    figures,
    geometric_mean,
    share,
    sizes_changed,
    table,
)
from tests.bench_plan.published import Command, command_of, published, put, read_command
from tests.bench_plan.sizing import served
from tests.engine_matrix import answers
from tests.engine_matrix.cells import CARDS, read

NODES = ["--nnodes", "2", "--node-rank", "0", "--dist-init-addr", "10.0.0.1:5000"]


def commands() -> list[str]:
    return [text for kind in (CARD, COOKBOOK) for entry in published()[kind] for text in entry["commands"].values()]


@pytest.mark.parametrize("text", commands())
def test_every_published_command_is_read_whole(text: str) -> None:
    env, argv = read_command(text)
    assert [f"{name}={value}" for name, value in env.items()] + argv == [
        word for word in text.split() if word not in ("python", "-m", "sglang.launch_server", "sglang", "serve")
    ]
    assert argv[0] in ("--model-path", "--model")


@pytest.mark.parametrize("kind", [CARD, COOKBOOK])
def test_every_gdn_model_has_a_published_command_with_its_place(kind: str) -> None:
    named = [model for entry in published()[kind] for model in entry["models"]]
    assert sorted(named) == gdn_models()
    assert all(entry["place"].startswith("https://") and entry["of"] for entry in published()[kind])


@pytest.mark.parametrize(
    "text, size, listed, argv, used, changed",
    [
        # Published for no card: the cell's size.
        ("sglang serve --model-path A/B --tp-size 8", 2, False, ["--model-path", "/m", "--tp-size", "2"], 2, "size 8 -> 2"),
        ("sglang serve --model-path A/B --tp-size 8", 16, False, ["--model-path", "/m", "--tp-size", "16", *NODES], 16, "size 8 -> 16"),
        ("sglang serve --model A/B", 2, False, ["--model", "/m", "--tp-size", "2"], 2, "size 1 -> 2"),
        ("sglang serve --model A/B", 1, False, ["--model", "/m"], 1, ""),
        # Published for this card: as it is, more or fewer than the cell's, on as many hosts as it needs.
        ("sglang serve --model-path A/B --tp 2", 16, True, ["--model-path", "/m", "--tp", "2"], 2, ""),
        ("sglang serve --model-path A/B --tp 16", 8, True, ["--model-path", "/m", "--tp", "16", *NODES], 16, ""),
        ("sglang serve --model-path A/B", 2, True, ["--model-path", "/m"], 1, ""),
    ],
)
def test_the_published_size_is_kept_only_where_it_is_meant_for_the_card(
    text: str, size: int, listed: bool, argv: list[str], used: int, changed: str
) -> None:
    command = put(text, "/m", size, listed)
    assert (command.argv, command.size, command.changed) == (argv, used, changed)


def test_variables_of_a_published_command_are_kept() -> None:
    found = command_of(COOKBOOK, "Qwen3.6-27B", "H200", "/m", 1)
    assert found is not None
    assert found.env == {"SGLANG_ENABLE_SPEC_V2": "1"}
    assert command_of(COOKBOOK, "Qwen3-8B", "H200", "/m", 1) is None


def test_a_card_that_is_not_listed_takes_the_nearest_listed_ones_command() -> None:
    found = command_of(COOKBOOK, "Qwen3.5-122B-A10B", "A100", "/m", 4)
    assert found is not None and "0.88" in found.argv and "trtllm_mha" not in found.argv


def test_the_rule_of_thumb_takes_a_fifth_more_than_the_weights() -> None:
    assert naive_size(100.0, 120.0) == (1, 1)
    assert naive_size(100.1, 120.0) == (1, 2)
    assert naive_size(1e6, 1.0) is None


FLAGS = {"mem_fraction_static": 0.8, "max_running_requests": 48, "mamba_scheduler_strategy": "extra_buffer", "page_size": 1}
SIZED = {"mem_fraction_static": 0.8119, "max_running_requests": 43, "mamba_full_memory_ratio": 4.85}
MTP = {"speculative_algorithm": "EAGLE", "speculative_num_steps": 3, "speculative_num_draft_tokens": 4}


@pytest.mark.parametrize(
    "resolved, requests, drafts",
    [
        # docs/memory.md, starts of Qwen3.6-27B on one H200: 21 run at once over 283,912 tokens; 43 over 104,439; 72 over 567,278.
        ({**FLAGS, **MTP}, 21, True),
        (
            {**FLAGS, **MTP, "mem_fraction_static": 0.8119, "max_running_requests": 43, "mamba_full_memory_ratio": 4.85},
            104_439 // 4096,
            True,
        ),
        ({"mem_fraction_static": 0.839, "mamba_scheduler_strategy": "no_buffer", "disable_overlap_schedule": True}, 72, False),
    ],
)
def test_requests_of_a_resolution_are_those_of_the_recorded_starts(resolved: dict[str, object], requests: int, drafts: bool) -> None:
    found = served(read("Qwen3.6-27B"), None, "0.5.11", CARDS["H200"]["memory_mib"], 1, 4096, resolved)
    assert (found.requests, found.drafts) == (requests, drafts)


def test_what_does_not_start_serves_nobody() -> None:
    """The two A6000 of docs/memory.md, and weights that exceed the card."""
    for size, why in ((2, "Not enough memory"), (1, "exceed")):
        resolved = {**FLAGS, **MTP, "mem_fraction_static": 0.7167}
        found = served(read("Qwen3.6-27B"), None, "0.5.11", CARDS["A6000"]["memory_mib"], size, 4096, resolved)
        assert found.requests == 0
        assert why in found.why


def test_a_size_that_does_not_divide_serves_nobody() -> None:
    found = served(read("Qwen3.6-27B"), None, "0.5.11", CARDS["H200"]["memory_mib"], 5, 4096, FLAGS)
    assert found.requests == 0
    assert found.why.startswith("Tensor parallelism over 5")


def out(requests: int | None, size: int = 1, drafts: bool = True, changed: str = "") -> Outcome:
    return Outcome(bool(requests), requests, size, drafts, changed=changed)


ROWS = [
    Row("1", "a", "X", {CARD: out(10), NAIVE: out(50, drafts=False), OURS: out(20), MANY: out(60, drafts=False)}),
    Row("1", "b", "X", {CARD: out(0), NAIVE: out(40, 2, False), OURS: out(10), MANY: out(30, drafts=False)}),
    Row("2", "a", "X", {CARD: out(40, 2, changed="size 8 -> 2"), NAIVE: out(0), OURS: out(160, 2), MANY: out(1)}),
    Row("2", "b", "X", {CARD: out(5), NAIVE: out(0), OURS: out(0), MANY: out(0)}),
    Row("2", "c", "X", {CARD: out(None), NAIVE: out(5), OURS: out(5), MANY: out(5)}),
]


def test_ratios_are_for_each_gpu_and_only_of_cells_where_both_serve() -> None:
    found = against(ROWS, CARD)
    assert found.ratios == (2.0, 4.0)
    assert (found.median, found.mean) == (3.0, pytest.approx(8**0.5))
    assert (found.only_ours, found.only_other, found.neither) == (1, 1, 0)
    found = against(ROWS, NAIVE)
    assert found.ratios == (0.4, 0.5, 1.0)
    assert (found.only_ours, found.only_other, found.neither) == (1, 0, 1)


def test_like_for_like_takes_the_profile_that_drafts_as_the_other_does() -> None:
    assert against(ROWS, CARD).alike == (2.0, 4.0)
    assert against(ROWS[:2], NAIVE).alike == (1.2, 1.5)


def test_shares_count_every_cell_of_a_kind() -> None:
    assert vars(share(ROWS, CARD)) == {"cells": 5, "accepted": 3, "serves": 3, "unknown": 1, "changed": 1}
    assert share(ROWS, COOKBOOK).cells == 0


def test_nothing_has_no_mean() -> None:
    assert geometric_mean([]) is None
    assert against([], CARD).median is None


def test_the_table_has_a_line_for_each_kind_of_each_release_and_of_all() -> None:
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table(ROWS).splitlines()]
    assert lines[0] == list(HEAD)
    assert {len(line) for line in lines} == {len(HEAD)}
    assert [line[:2] for line in lines[2:]] == [[name, kind] for name in ("1", "2", "all") for kind in KINDS]
    assert lines[-5][2:] == ["5", "60%", "60%", "3.00 (2)", "2.83", "3.00 (2)", "1 / 1 / 0"]


def test_plain_figures_say_what_the_table_says() -> None:
    found = figures(ROWS)
    assert found[CARD]["ours_to_it"]["median"] == 3.0
    assert "ours_to_it" not in found[OURS]
    assert ROWS[0].as_dict()["commands"][OURS]["per_gpu"] == 20.0
    assert sizes_changed(ROWS).endswith("1 of 5 cells (card), 0 of 0 cells (cookbook).")


def test_a_command_that_two_kinds_share_is_asked_once() -> None:
    plain, with_variable = Command(["--tp-size", "1"], 1), Command(["--tp-size", "1"], 1, {"A": "1"})
    cell = Cell("1", "a", "X", 1, {CARD: with_variable, NAIVE: plain, OURS: plain, MANY: with_variable})
    assert asked_kinds(cell) == {CARD: CARD, NAIVE: NAIVE, OURS: NAIVE, MANY: CARD}


def test_commands_for_a_misread_checkpoint_are_judged_with_a_weight(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every check before the first weight passes there, and a command that ends while loading serves nobody."""
    asked: dict[str, str] = {}

    def ask(_release: str, questions: Any, _fresh: bool) -> dict[str, Any]:
        asked.update({question["id"]: question["program"] for batch in questions.values() for question in batch})
        return {name: {"output": "", "status": 1, "errors": "no", "later": []} for name in asked}

    monkeypatch.setattr(bench, "ask", ask)
    monkeypatch.setattr(bench, "cache", lambda: tmp_path)
    for release, model, program in (("0.5.14", "Qwen3.6-27B-NVFP4", answers.WEIGHTS), ("0.5.23", "Qwen3.6-27B-NVFP4", answers.PLAIN)):
        asked.clear()
        rows = bench.run_release(release, [model], ["B200"])
        assert set(asked.values()) == {program}
        assert not any(outcome.requests for outcome in rows[0].outcomes.values())
