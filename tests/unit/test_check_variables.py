# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A value of the wrong type is told in one line, before Ansible prints the argument spec of a whole role."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible_collections.inference.sglang.plugins.action.check_variables import ActionModule, fault_of
from ansible_collections.inference.sglang.plugins.plugin_utils._role_specs import variable_specs

ROOT = Path(__file__).resolve().parents[2]
SPECS = variable_specs()
# No str: Ansible takes anything for text.
WRONG = {"int": "abc", "float": "abc", "bool": "perhaps", "list": {"a": 1}, "dict": [1]}


class Templar:
    def template(self, value: Any) -> Any:
        if value == "{{ later }}":
            raise AnsibleError("later is undefined")
        return value


def check(monkeypatch: pytest.MonkeyPatch, **variables: Any) -> dict[str, Any]:
    action: Any = object.__new__(ActionModule)
    action._templar = Templar()
    monkeypatch.setattr(ActionBase, "run", lambda *_arguments: {})
    monkeypatch.setattr(ActionModule, "validate_argument_spec", lambda *_arguments, **_named: ({}, {}))
    result: dict[str, Any] = action.run(task_vars=variables)
    return result


@pytest.mark.parametrize("name", SPECS)
def test_a_wrong_type_of_every_variable_is_one_line(name: str) -> None:
    spec = SPECS[name]
    wrong = WRONG.get(spec.get("type", "str"))
    if wrong is None:
        assert not fault_of(name, spec, spec["choices"][0] if spec.get("choices") else "text")
        return
    fault = fault_of(name, spec, wrong)
    assert name in fault and "\n" not in fault and len(fault) < 160
    assert f"wanted {spec['type']}" in fault
    assert not re.search("class|Tagged", fault)


@pytest.mark.parametrize("name", [name for name, spec in SPECS.items() if "default" in spec])
def test_every_default_can_be_used(name: str) -> None:
    assert not fault_of(name, SPECS[name], SPECS[name]["default"])


def test_a_choice_and_a_nested_fault_are_told() -> None:
    assert "must be one of" in fault_of("sglang_server_plan_source", SPECS["sglang_server_plan_source"], "nowhere")
    assert "found in inference_host_gpus" in fault_of("inference_host_gpus", SPECS["inference_host_gpus"], [{"name": "x"}])


def test_a_secret_is_not_shown() -> None:
    fault = fault_of("a_key", {"type": "int", "no_log": True}, "canary")
    assert fault == "a_key: wanted int"


def test_all_faults_are_told_at_once_in_four_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    result = check(monkeypatch, sglang_server_port="abc", sglang_server_settings=[1], sglang_server_gpus="{{ later }}", other="x")
    assert result["failed"] is True
    assert "sglang_server_port: 'abc' (str), wanted int" in result["msg"]
    assert "sglang_server_settings: [1] (list), wanted dict" in result["msg"]
    assert "sglang_server_gpus" not in result["msg"]
    assert all(part in result["msg"] for part in ("found:", "wanted:", "next:"))
    assert set(result) == {"failed", "changed", "msg"}
    assert check(monkeypatch, sglang_server_port="30000", sglang_server_gpus="0,1", sglang_server_api_key=None) == {"changed": False}


# They look at hosts whose variables may be what is wrong: such a host must not drop out.
LOOKING = ["status.yml", "support_bundle.yml"]


@pytest.mark.parametrize("playbook", LOOKING)
def test_a_playbook_that_looks_refuses_no_variable(playbook: str) -> None:
    (play,) = yaml.safe_load((ROOT / "playbooks" / playbook).read_text())
    assert "roles" not in play
    included = [task["ansible.builtin.include_role"] for task in play["tasks"] if "ansible.builtin.include_role" in task]
    assert [role["rolespec_validate"] for role in included] == [False]


# They check the whole fleet at once, in a play of its own before all others.
FLEET = ["deploy.yml", "rollback.yml"]


@pytest.mark.parametrize("playbook", FLEET)
def test_a_playbook_for_a_fleet_checks_it_before_anything_else(playbook: str) -> None:
    first, *_others = yaml.safe_load((ROOT / "playbooks" / playbook).read_text())
    assert "roles" not in first and "pre_tasks" not in first
    task = first["tasks"][0]
    assert task["run_once"] is True
    assert task["inference.sglang.check_fleet"]["hosts"] == "{{ ansible_play_hosts_all }}"


OTHERS = sorted(path.name for path in (ROOT / "playbooks").glob("*.yml") if path.name not in (*LOOKING, *FLEET))


@pytest.mark.parametrize("playbook", OTHERS)
def test_every_playbook_checks_before_a_role_does(playbook: str) -> None:
    for play in yaml.safe_load((ROOT / "playbooks" / playbook).read_text()):
        tasks = [*play.get("pre_tasks", []), *play.get("tasks", [])]
        names = [next((key for key in task if key.startswith(("inference.sglang.", "ansible.builtin."))), "") for task in tasks]
        if play.get("roles") or "ansible.builtin.include_role" in names:
            first = names.index("inference.sglang.check_variables")
            assert "ansible.builtin.include_role" not in names[:first]
