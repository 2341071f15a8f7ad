# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""playbooks/plan.yml for ct129, the machine of inventories/lab, which cannot be reached from here."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ansible_runner
import pytest

from tests.unit.test_safetensors import halves, write_model

ROOT = Path(__file__).resolve().parents[2]
# As -e name=value gives them: every value is text.
TEXTS = {
    "sglang_server_tensor_parallel_size": "2",
    "sglang_server_gpus": "0,1",
    "sglang_server_port": "30000",
    "sglang_server_probe_timeout": "60",
}
UNREACHABLE = {"ansible_host": "127.0.0.1", "ansible_port": 1, "ansible_ssh_retries": 0}


def run(folder: Path, playbook: str, options: str = "-l ct129", inventory: str = "", **variables: Any) -> tuple[bool, str]:
    done = ansible_runner.run(
        private_data_dir=str(folder),
        project_dir=str(ROOT),
        playbook=str(ROOT / playbook),
        inventory=inventory or str(ROOT / "inventories/lab"),
        extravars=variables,
        envvars={
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_NOCOLOR": "1",
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        },
        cmdline=options,
        quiet=True,
    )
    return done.rc == 0, done.stdout.read()


@pytest.mark.parametrize(
    ("variables", "notes"),
    [
        ({"plan_source": "inventory", **TEXTS}, ["Sources: model facts from the inventory; GPUs from the inventory"]),
        ({"sglang_server_plan_source": "inventory"}, ["Sources: model facts from the inventory; GPUs from the inventory"]),
        (UNREACHABLE, ["Sources: model facts from the inventory", "the host was not reached", "the hub gave no model facts"]),
    ],
    ids=["asked-for", "set", "unreachable"],
)
def test_ct129_is_planned_without_reaching_it(tmp_path: Path, variables: dict[str, Any], notes: list[str]) -> None:
    # A hub that surely is not there: the machine that runs this may have one.
    ok, output = run(
        tmp_path, "playbooks/plan.yml", plan_json=str(tmp_path / "plan.json"), model_shards_endpoint="http://127.0.0.1:1", **variables
    )
    assert ok, output
    said = " ".join(output.split())
    for words in [*notes, "MTP is PROVISIONAL", "Memory: FITS"]:
        assert words in said

    plan = json.loads((tmp_path / "plan.json").read_text())["ct129"]
    argv = plan["plan"]["argv"]
    value = dict(zip(argv, argv[1:]))
    assert [value[f"--speculative-{name}"] for name in ("num-steps", "eagle-topk", "num-draft-tokens")] == ["3", "1", "4"]
    assert value["--speculative-algorithm"] == "NEXTN"
    assert value["--mamba-scheduler-strategy"] == "extra_buffer"
    # 48 requests, the engine's own default, do not fit on two 48 GB cards.
    assert 0 < int(value["--max-running-requests"]) < 48
    explained = {reason["flag"] for reason in plan["plan"]["reasons"] if reason["why"] and reason["source"]}
    assert {word for word in argv if word.startswith("--")} <= explained


def test_ct129s_tasks_are_listed_without_reaching_it(tmp_path: Path) -> None:
    ok, output = run(tmp_path, "deploy.yml", "-l ct129 --list-tasks", **UNREACHABLE)
    assert ok, output
    for task in ("Build the environment", "Bring the model to the host and prove it", "Plan the launch"):
        assert task in output


@contextlib.contextmanager
def hub_of(root: Path) -> Iterator[str]:
    """A hub in a process of its own, as ansible-runner forks this one; its address."""
    command = [sys.executable, str(ROOT / "tests/support/hub/mockhub.py"), "--root", str(root), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield next(line.strip().partition("=")[2] for line in process.stdout if line.startswith("HF_ENDPOINT="))
        finally:
            process.terminate()


def test_a_model_that_is_only_on_the_hub_is_planned_from_its_headers(tmp_path: Path) -> None:
    directory = tmp_path / "hub/acme/tiny"
    directory.mkdir(parents=True)
    write_model(directory, halves())
    with hub_of(tmp_path / "hub") as endpoint:
        ok, output = run(
            tmp_path,
            "playbooks/plan.yml",
            plan_source="hub",
            plan_json=str(tmp_path / "plan.json"),
            model_shards_endpoint=endpoint,
            model_shards_repo="acme/tiny",
        )
    assert ok, output
    said = " ".join(output.split())
    assert "model facts from the hub" in said
    assert "acme/tiny main is commit " in said
    assert "weights from the shards' headers" in said
    assert "PROVISIONAL" not in said
    plan = json.loads((tmp_path / "plan.json").read_text())["ct129"]["plan"]
    assert (plan["provisional"], plan["memory"]["evidence"]) == (False, "headers")


def test_a_host_whose_plan_does_not_fit_fails_the_run_after_all_reports(tmp_path: Path) -> None:
    card = {"name": "NVIDIA RTX A6000", "memory_mib": 49140, "compute_capability": "8.6"}
    kept = str(ROOT / "inventories/lab/models/Qwen3.6-27B/config.json")
    hosts = {
        "small": {"inference_host_gpus": [card]},
        "large": {"inference_host_gpus": [card, card]},
        "wrong": {"inference_host_gpus": [card, card], "sglang_server_extra_args": ["--tp 2"]},
    }
    inventory = {"sglang_hosts": {"vars": {"sglang_server_model_config_file": kept}, "hosts": hosts}}
    (tmp_path / "fleet.json").write_text(json.dumps(inventory))
    ok, output = run(
        tmp_path,
        "playbooks/plan.yml",
        options="",
        inventory=str(tmp_path / "fleet.json"),
        plan_source="inventory",
        plan_json=str(tmp_path / "plan.json"),
    )
    assert not ok
    assert set(json.loads((tmp_path / "plan.json").read_text())) == {"small", "large"}
    for words in ("small: SGLang", "large: SGLang", "Memory: DOES NOT FIT", "Memory: FITS", "holds several arguments"):
        assert words in output
    assert "Finalization of task args" not in output
    end = output[output.index("Fail where the model does not fit") :]
    assert "fatal: [small]" in end and "fatal: [large]" not in end
    assert "next: 2 such GPUs" in end


def test_a_kept_config_that_is_broken_is_named(tmp_path: Path) -> None:
    (tmp_path / "kept.json").write_text("{")
    ok, output = run(tmp_path, "playbooks/plan.yml", plan_source="inventory", sglang_server_model_config_file=str(tmp_path / "kept.json"))
    assert not ok
    assert f"{tmp_path}/kept.json is not readable JSON" in output
    assert "next: Fetch this file again." in output
    assert "rendering template" not in output
