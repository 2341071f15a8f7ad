# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The module launch_plan where nothing of a host is looked at: what the controller shows of a host that is not there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.inference.sglang.plugins.module_utils import _planner
from ansible_collections.inference.sglang.plugins.modules import launch_plan, model_info

from tests.unit.core_helpers import A6000, HEADERS, config
from tests.unit.test_core_modules import run

CT129 = {
    "look_at_host": False,
    "require_complete": False,
    "environment_path": "/root/ml-env",
    "model_path": "/root/models/m",
    "config": config("Qwen3.6-27B"),
    "config_source": "hub",
    "declared_gpus": [A6000, A6000],
    "sglang_version": "0.5.11",
    "origins": {"model_path": "model_shards_path", "served_model_name": "model_shards_repo"},
}


def sources(found: dict[str, Any]) -> dict[str, str]:
    return {reason["flag"]: reason["source"] for reason in found["plan"]["reasons"]}


def test_a_plan_without_a_host(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def looked(*_arguments: object) -> None:
        raise AssertionError("the controller is no host of an instance")

    for name in ("view_environment", "measure_gpus"):
        monkeypatch.setattr(_planner.host, name, looked)
    monkeypatch.setattr(_planner, "read_model", looked)
    found = run(launch_plan, capsys, **CT129)
    assert (found["planned"], found["complete"], found["changed"], found["refusal"]) == (True, False, False, "")
    assert found["sources"] == {"model": "hub", "gpus": "inventory", "sglang_version": "inventory"}
    assert (sources(found)["--model-path"], sources(found)["--served-model-name"]) == ("model_shards_path", "model_shards_repo")
    assert "accepted" not in found
    assert found["plan"]["provisional"] is True
    assert run(launch_plan, capsys, **CT129, weights=HEADERS)["plan"]["provisional"] is False


def test_a_plan_that_does_not_fit_says_what_would(capsys: Any) -> None:
    found = run(launch_plan, capsys, **{**CT129, "gpus": [0]})
    assert found["plan"]["memory"]["fits"] is False
    assert "2 such GPUs" in found["refusal"]
    assert found.get("failed") is None


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"settings": {"tp_sizes": 2}}, "tp_sizes in sglang_server_settings is not an option"),
        ({"settings": {"port": 30000}}, "port in sglang_server_settings contradicts the role"),
        ({"extra_args": ["--host=::"]}, "host in sglang_server_extra_args contradicts the role"),
        ({"declared_gpus": [{**A6000, "memory_mib": 48}]}, "cannot be a card's memory in MiB"),
        ({"declared_gpus": []}, "No GPU is known"),
        ({"gpus": [7]}, "the instance's GPUs are not there"),
        ({"config": {}}, "there is nothing to plan from"),
        ({"config": {"architectures": ["NoSuchForCausalLM"]}}, "NoSuchForCausalLM"),
        ({"sglang_version": "0.4.0"}, "0.4.0"),
        ({"workload": {"context": 1}}, "unknown key context"),
    ],
    ids=lambda value: str(next(iter(value))) if isinstance(value, dict) else "",
)
def test_every_refusal_is_one_message_of_four_parts(capsys: Any, wrong: dict[str, Any], said: str) -> None:
    found = run(launch_plan, capsys, **{**CT129, **wrong})
    assert found["failed"] is True
    assert said in found["msg"]
    assert "found:" in found["msg"] and "wanted:" in found["msg"]
    assert "error" not in found


@pytest.mark.parametrize("text", ["", "{", "[1]", '"x"', "\ud800", "[" * 100_000])
def test_a_kept_config_that_is_no_json_names_its_file(tmp_path: Path, capsys: Any, text: str) -> None:
    path = tmp_path / "kept.json"
    path.write_bytes(text.encode(errors="surrogatepass"))
    found = run(model_info, capsys, config_file=str(path))
    assert found["failed"] is True
    assert found["msg"].startswith(f"{path} is not ")
    assert "next: " in found["msg"]


def test_a_kept_config_is_read_with_the_quantisation_beside_it(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "kept.json"
    path.write_text(json.dumps(config("Qwen3.6-27B")))
    found = run(model_info, capsys, config_file=str(path))
    assert (found["config"], found["hf_quant_config"], found["weights"]) == (config("Qwen3.6-27B"), None, None)
    (tmp_path / "hf_quant_config.json").write_text('{"quantization": {"quant_algo": "FP8"}}')
    assert run(model_info, capsys, config_file=str(path))["hf_quant_config"] == {"quantization": {"quant_algo": "FP8"}}
    assert "is not there" in run(model_info, capsys, config_file=str(tmp_path / "none.json"))["msg"]
