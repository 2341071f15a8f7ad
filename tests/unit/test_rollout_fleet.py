# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Everything that is wrong with an inventory, before any host is touched."""

from __future__ import annotations

from typing import Any, Optional

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._rollout_fleet import Member, fleet_faults, groups_of, member_of


def faults(members: list[Member], batches: object = (1,), directories: Optional[dict[str, str]] = None) -> list[str]:
    return fleet_faults(members, list(batches) if isinstance(batches, tuple) else batches, ["none", "nginx"], directories or {})


def host(name: str, looked: bool = True, **variables: Any) -> Member:
    return member_of(name, variables, looked)


def test_a_usual_fleet_has_no_fault() -> None:
    two = {"ansible_host": "192.0.2.31", "sglang_server_instance": "batch", "sglang_server_port": 30001}
    assert faults([host("a"), host("b"), host("c", ansible_host="192.0.2.31"), host("d", **two)], [1, "25%", "100%"]) == []


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ([host("a", ansible_host="x"), host("b", ansible_host="x", sglang_server_instance="two")], "a and b listen on port 30000 of x"),
        ([host("a", ansible_host="x"), host("b", ansible_host="x", sglang_server_port=2)], "a and b are the instance default of x"),
        ([host("a", fleet_rollout_balancer="ngnix")], "none of none, nginx"),
        ([host("a", fleet_rollout_min_serving="100%")], "could ever be changed"),
        ([host("a", fleet_rollout_min_serving=2), host("b", fleet_rollout_min_serving=2)], "none of the 2 hosts"),
        ([host("a", fleet_rollout_min_serving="many")], "fleet_rollout_min_serving: 'many'"),
        ([host("a", fleet_rollout_min_serving=1), host("b", fleet_rollout_min_serving="50%")], "several fleet_rollout_min_serving"),
    ],
)
def test_each_kind_of_fault_is_told(members: list[Member], words: str) -> None:
    assert any(words in fault for fault in faults(members)), faults(members)


def test_a_sites_own_directory_is_taken_unless_it_lacks_something() -> None:
    member = host("a", fleet_rollout_balancer="/srv/lb")
    assert faults([member], directories={"/srv/lb": ""}) == []
    lacking = faults([member], directories={"/srv/lb": "/srv/lb has no drain.yml"})
    assert lacking == ["fleet_rollout_balancer of a: /srv/lb has no drain.yml"]


def test_all_faults_are_told_at_once() -> None:
    members = [host("a", ansible_host="x", fleet_rollout_min_serving="x"), host("b", ansible_host="x", fleet_rollout_balancer="no such")]
    assert len(faults(members, [0])) == 5


def test_a_host_outside_of_the_run_counts_for_its_group_and_is_not_judged() -> None:
    members = [host("a", fleet_rollout_min_serving=1), host("b", looked=False, fleet_rollout_min_serving="rubbish")]
    assert faults(members) == []
    found = groups_of(members)
    assert found["group_of"] == {"a": "Qwen/Qwen3.6-27B (none)"}
    assert found["groups"] == {"Qwen/Qwen3.6-27B (none)": {"min_serving": 1, "outside": 1}}


@pytest.mark.parametrize(
    ("variables", "group"),
    [
        ({"fleet_rollout_group": "chat"}, "chat"),
        ({"sglang_server_served_model_name": "m", "fleet_rollout_balancer": "nginx"}, "m (nginx)"),
        ({"sglang_server_model_path": "/models/M/"}, "M (none)"),
        ({"model_shards_path": "/models/N", "model_shards_repo": "o/r"}, "N (none)"),
        ({"model_shards_repo": "o/r"}, "o/r (none)"),
    ],
)
def test_hosts_that_serve_one_model_behind_one_kind_of_balancer_are_a_group(variables: dict[str, Any], group: str) -> None:
    assert host("a", **variables).group == group
