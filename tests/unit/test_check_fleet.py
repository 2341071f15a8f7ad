# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A whole inventory is refused in one message, with every host and every reason."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible_collections.inference.sglang.plugins.action.check_fleet import ActionModule, directory_fault
from ansible_collections.inference.sglang.plugins.plugin_utils._role_specs import balancers

ROOT = Path(__file__).resolve().parents[2]


class Variables(dict[str, Any]):
    """As a host's variables in Ansible: a value that cannot be told yet raises when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        if super().__getitem__(name) == "{{ later }}":
            raise AnsibleError("later is undefined")
        return super().__getitem__(name)


def check(monkeypatch: pytest.MonkeyPatch, hosts: Mapping[str, Mapping[str, Any]], **arguments: Any) -> dict[str, Any]:
    action: Any = object.__new__(ActionModule)
    given = {"hosts": list(hosts), "inventory": list(hosts), "batches": [1], **arguments}
    monkeypatch.setattr(ActionBase, "run", lambda *_arguments: {})
    monkeypatch.setattr(ActionModule, "validate_argument_spec", lambda *_arguments, **_named: ({}, given))
    result: dict[str, Any] = action.run(task_vars={"hostvars": {name: Variables(values) for name, values in hosts.items()}})
    return result


def test_every_reason_of_every_host_is_in_one_message(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    many = {f"h{number}": {"sglang_server_gpus": {"a": 1}} for number in range(7)}
    hosts = {
        **many,
        "typo": {"sglang_server_prot": 1},
        "twin": {"ansible_host": "typo", "sglang_server_instance": "other"},
        "balanced": {"fleet_rollout_balancer": str(tmp_path), "sglang_server_api_key": ["CANARY"]},
    }
    result = check(monkeypatch, hosts, batches=["0%"])
    assert result["failed"] is True
    said = result["msg"]
    for words in (
        "h0, h1, h2, h3, h4 and 2 more: sglang_server_gpus",
        "typo: sglang_server_prot: did you mean sglang_server_port?",
        "typo and twin listen on port 30000 of typo",
        "deploy_batches",
        f"{tmp_path} has no drain.yml and no undrain.yml",
        "No host was touched.",
    ):
        assert words in said, said
    assert "CANARY" not in said


def test_what_is_not_known_yet_is_no_fault_and_groups_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = {"a": {"sglang_server_gpus": "{{ later }}", "ansible_host": "{{ later }}"}, "b": {}}
    result = check(monkeypatch, {"a": hosts["a"]}, inventory=["a"])
    assert result["fleet"]["group_of"] == {"a": "Qwen/Qwen3.6-27B (none)"}
    assert not result.get("failed")


def test_every_balancer_that_the_role_ships_is_known_and_whole() -> None:
    assert "none" in balancers()
    for name in balancers():
        assert directory_fault(str(ROOT / "roles/fleet_rollout/tasks/balancers" / name)) == ""
