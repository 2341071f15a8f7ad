# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The pure parts of the GPU scenario: the record of a run, the constructed checkpoint, the order of the actions."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from ansible_collections.inference.sglang.plugins.module_utils._launch_plan import launch_plan
from ansible_collections.inference.sglang.plugins.module_utils._log_gate import Expectation, LogGate

ROOT = Path(__file__).resolve().parents[2]
SCENARIO = ROOT / "molecule/gpu"
CARD = {"name": "NVIDIA H200", "memory_mib": 143771, "compute_capability": "9.0"}
MTP = {"speculative_algorithm": "NEXTN", "speculative_num_steps": 3, "speculative_eagle_topk": 1, "speculative_num_draft_tokens": 4}


def load(path: Path) -> ModuleType:
    loader = importlib.machinery.SourceFileLoader(path.stem.replace("-", "_"), str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))  # type: ignore[arg-type]
    loader.exec_module(module)
    return module


RECORD, MODEL, SCRIPT = load(SCENARIO / "files/record.py"), load(SCENARIO / "files/make_model.py"), load(ROOT / "scripts/gpu")
CONFIG = json.loads((ROOT / "inventories/lab/models/Qwen3.6-27B/config.json").read_text())


def part(release: str, log: str = "start-27b-mtp-3-1-4-sized.log", **settings: Any) -> dict[str, Any]:
    """What tasks/keep.yml writes of a start, from a recorded log."""
    plan = launch_plan(CONFIG, "0.5.11", [CARD], settings={"model_path": "/m", **MTP, "load_format": "dummy", **settings})
    gate = LogGate(Expectation.from_plan(plan["gate"]), time.monotonic)
    for line in (ROOT / "tests/data/logs" / log).read_text().splitlines():
        gate.feed(line)
    probe = {"structure_only": True, "answer": "x", "accept_length": None, "tokens_per_second": None, "seconds": 1.0, "checks": []}
    return {"release": release, "plan": plan, "gate": gate.result(), "probe": probe, "engine_check": {"seconds": 9.0, "mismatches": []}}


def test_record_sets_predicted_beside_actual() -> None:
    sized = {"max_running_requests": 43, "mamba_full_memory_ratio": 4.85, "mem_fraction_static": 0.8119442187499999}
    first = part("a", **sized)
    record = RECORD.record_of({"shape": "full", "commit": "c0ffee"}, {"first": first}, "2026-11-30T00:00:00Z")
    compared = record["starts"]["first"]["compared"]
    assert compared["state_slots"] == {"predicted": 215, "actual": 215}
    assert compared["max_running_requests"] == {"predicted": 43, "actual": 43}
    assert compared["attention_backend"] == {"predicted": "fa3", "actual": "fa3"}
    assert set(compared) >= {"weights_gib", "kv_tokens", "free_gib", "after_pools_gib", "mem_fraction_static", "page_size", "tp_size"}
    assert all(pair["predicted"] is not None and pair["actual"] is not None for pair in compared.values())
    assert record["starts"]["first"]["seconds_of_stages"]["graphs"] == 14.0
    assert record["starts"]["first"]["seconds_to_ready"] == 52.0
    assert record["starts"]["first"]["dispatcher_lines"] == 2
    assert (record["commit"], record["format"]) == ("c0ffee", 1)
    json.dumps(record)


def test_the_way_back_is_compared_with_the_plan_of_its_own_release() -> None:
    first, second = part("a"), part("b", max_running_requests=3)
    back = {**part("a"), "plan": second["plan"]}  # Ansible's variable still holds the last plan
    record = RECORD.record_of({}, {"first": first, "second": second, "rollback": back}, "")
    assert record["starts"]["rollback"]["compared"] == record["starts"]["first"]["compared"]
    assert record["starts"]["rollback"]["engine_check_seconds"] is None
    assert record["starts"]["second"]["compared"] != record["starts"]["first"]["compared"]


def test_of_several_ranks_the_fullest_counts() -> None:
    ranks = {"TP0": {"free_after_pools_gb": 13.2, "kv_tokens": 9}, "TP1": {"free_after_pools_gb": 13.1, "kv_tokens": 8}}
    assert RECORD.compared({}, {"ranks": ranks})["kv_tokens"] == {"predicted": None, "actual": 8}


def test_a_run_that_broke_off_gives_a_record_of_what_there_was() -> None:
    record = RECORD.record_of({}, {"preflight": {"preflight": ["no systemd"]}, "first": {"release": "a"}}, "")
    assert record["preflight"] == ["no systemd"]
    assert record["starts"]["first"]["compared"] == {}


def test_every_token_of_the_checkpoint_has_one_successor_and_the_answer_is_among_them() -> None:
    letters = {chr(number): number for number in range(33, 127)} | {"\u010a": 198}
    vocabulary = MODEL.END + 100
    after = MODEL.successors(letters, vocabulary)
    assert sorted(after) == list(range(vocabulary)), "a permutation: no row of the head stands for two tokens"
    said, token = [], letters["\u010a"]
    while (token := after[token]) != MODEL.END:
        said.append(chr(token))
    assert "".join(said) == MODEL.ANSWER


def test_the_tiny_shape_is_still_hybrid_and_fits_any_card() -> None:
    config = MODEL.tiny(CONFIG)
    layers = config["text_config"]["layer_types"]
    assert (len(layers), layers.count("full_attention")) == (8, 2)
    small = {**CARD, "name": "NVIDIA A10", "memory_mib": 23028, "compute_capability": "8.6"}
    plan = launch_plan(config, "0.5.11", [small], settings={"model_path": "/m", **MTP})
    assert plan["memory"]["fits"]
    assert plan["gate"]["dispatcher_count"] == 2


def test_the_order_without_molecule_is_molecules() -> None:
    assert SCRIPT.sequence() == yaml.safe_load((SCENARIO / "molecule.yml").read_text())["scenario"]["test_sequence"]
    assert all((SCENARIO / f"{SCRIPT.PLAYS.get(action, (action, []))[0]}.yml").exists() for action in SCRIPT.sequence())


@pytest.mark.parametrize(("failing", "then"), [("converge", ["destroy"]), ("prepare", ["destroy"]), (None, None)])
def test_a_run_that_fails_is_torn_down_all_the_same(
    failing: str | None, then: list[str] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[str] = []

    def play(action: str, _environment: dict[str, str]) -> bool:
        called.append(action)
        return action != failing

    monkeypatch.setattr(SCRIPT, "play", play)
    assert SCRIPT.plays({"GPU_RECORD": str(tmp_path)}) == (1 if failing else 0)
    order = SCRIPT.sequence()
    assert called == (order if failing is None else order[: order.index(failing) + 1] + (then or []))
    assert [step["action"] for step in json.loads((tmp_path / "actions.json").read_text())] == called
