# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""playbooks/plan.yml for ct129, the machine of inventories/lab, which cannot be reached from here."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import ansible_runner
import pytest

ROOT = Path(__file__).resolve().parents[2]
# As -e name=value gives them: every value is text.
TEXTS = {
    "sglang_server_tensor_parallel_size": "2",
    "sglang_server_gpus": "0,1",
    "sglang_server_port": "30000",
    "sglang_server_probe_timeout": "60",
}
UNREACHABLE = {"ansible_host": "127.0.0.1", "ansible_port": 1, "ansible_ssh_retries": 0}


def run(folder: Path, playbook: str, options: str = "", **variables: Any) -> tuple[bool, str]:
    done = ansible_runner.run(
        private_data_dir=str(folder),
        project_dir=str(ROOT),
        playbook=str(ROOT / playbook),
        inventory=str(ROOT / "inventories/lab"),
        extravars=variables,
        envvars={
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_NOCOLOR": "1",
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        },
        cmdline=f"-l ct129 {options}",
        quiet=True,
    )
    return done.rc == 0, done.stdout.read()


@pytest.mark.parametrize(
    ("variables", "notes"),
    [
        ({"plan_source": "inventory", **TEXTS}, ["Sources: model facts from the inventory; GPUs from the inventory"]),
        ({"sglang_server_plan_source": "inventory"}, ["Sources: model facts from the inventory; GPUs from the inventory"]),
        (UNREACHABLE, ["Sources: model facts from the inventory", "the host was not reached", "the hub gave no config.json"]),
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
    ok, output = run(tmp_path, "deploy.yml", "--list-tasks", **UNREACHABLE)
    assert ok, output
    for task in ("Build the environment", "Bring the model to the host and prove it", "Plan the launch"):
        assert task in output
