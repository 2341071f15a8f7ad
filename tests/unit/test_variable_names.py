# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The guard against misspelt variables."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.inference.sglang.plugins.filter.unknown_variables import unknown_variables
from ansible_collections.inference.sglang.plugins.module_utils._variable_names import distance, nearest_name, unknown_names
from ansible_collections.inference.sglang.plugins.plugin_utils._role_specs import PREFIXES, known_variables
from hypothesis import given
from hypothesis import strategies as st

KNOWN = [
    "inference_host_gpus",
    "inference_host_user",
    "ml_env_current",
    "ml_env_sglang_version",
    "model_shards_repo",
    "model_shards_revision",
    "sglang_server_host",
    "sglang_server_port",
    "sglang_server_settings",
]


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("sglang_server_prot", "sglang_server_port"),
        ("sglang_server_prots", "sglang_server_port"),
        ("sglang_server_setings", "sglang_server_settings"),
        ("inference_host_usr", "inference_host_user"),
        ("model_shards_revison", "model_shards_revision"),
        # the prefix itself is misspelt
        ("sglangserver_port", "sglang_server_port"),
        ("sglang_serverport", "sglang_server_port"),
        ("sglang_sever_port", "sglang_server_port"),
        ("sglang_servers_port", "sglang_server_port"),
        ("SGLANG_SERVER_PORT", "sglang_server_port"),
        ("ml_envsglang_version", "ml_env_sglang_version"),
        ("mlenv_sglang_verison", "ml_env_sglang_version"),
        ("model_shard_repo", "model_shards_repo"),
        ("inferencehost_gpus", "inference_host_gpus"),
    ],
)
def test_a_misspelt_name_is_found_with_the_one_that_was_meant(name: str, nearest: str) -> None:
    (unknown,) = unknown_names([name, *KNOWN], KNOWN, PREFIXES)
    assert (unknown.name, unknown.nearest) == (name, nearest)
    assert unknown.describe() == f"{name}: did you mean {nearest}?"


@pytest.mark.parametrize(
    "name",
    [
        "sglang_port",
        "sglang_version",
        "sglang_hosts",
        "sglang_x",
        "site_sglang_notes",
        "ml_env",
        "model",
        "inference_host",
        "ansible_port",
        "ansible_python_interpreter",
        "__sglang_server_plan",
        "_sglang_server_prot",
        "group_names",
        "port",
        "server_port",
    ],
)
def test_a_site_may_have_names_of_its_own(name: str) -> None:
    assert unknown_names([name], KNOWN, PREFIXES) == []


def test_a_far_name_with_our_prefix_is_unknown_all_the_same() -> None:
    (unknown,) = unknown_names(["sglang_router_zzzzzzzz"], KNOWN, PREFIXES)
    assert unknown.nearest == ""
    assert "sglang_router_zzzzzzzz" in unknown.describe()


@given(st.sampled_from(KNOWN), st.data())
def test_every_single_edit_of_a_name_is_found(name: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(name) - 1))
    letter = data.draw(st.sampled_from("abcdefghijklmnopqrstuvwxyz"))
    edited = data.draw(st.sampled_from([name[:at] + name[at + 1 :], name[:at] + letter + name[at:], name[:at] + letter + name[at + 1 :]]))
    found = unknown_names([edited], KNOWN, PREFIXES)
    assert found == [] if edited in KNOWN or edited.startswith("_") else len(found) == 1


@given(st.text("ab_", max_size=6), st.text("ab_", max_size=6))
def test_distance_is_symmetric_and_zero_only_for_equals(left: str, right: str) -> None:
    assert distance(left, right, 9) == distance(right, left, 9)
    assert (distance(left, right, 9) == 0) == (left == right)
    # The bound only cuts off: it never changes a distance that lies within it.
    for most in range(4):
        assert distance(left, right, most) == min(distance(left, right, 9), most + 1)


def test_swapped_neighbours_are_one_edit() -> None:
    assert distance("port", "prot", 2) == 1


def test_nearest_takes_the_fewest_edits() -> None:
    assert nearest_name("sglang_server_hots", ["sglang_server_port", "sglang_server_host"], 3) == "sglang_server_host"


def test_names_come_from_the_specs_of_all_roles_and_entry_points(tmp_path: Path) -> None:
    for role, text in {
        "one": "argument_specs:\n  main:\n    options: {one_a: {}}\n  other:\n    options: {one_b: {}}\n",
        "two": "argument_specs:\n  main: {}\n",
    }.items():
        (tmp_path / role / "meta").mkdir(parents=True)
        (tmp_path / role / "meta/argument_specs.yml").write_text(text)
    assert known_variables(tmp_path) == {"one_a", "one_b", "ml_env_current", "model_shards_published"}


def test_the_filter_reads_the_specs_of_this_collection() -> None:
    assert unknown_variables(["inference_host_user", "model_shards_published", "inference_host_usre"]) == [
        "inference_host_usre: did you mean inference_host_user?"
    ]
    assert unknown_variables(["inference_host_mine"], also_known=["inference_host_mine"]) == []


@pytest.mark.parametrize("wrong", ["inference_host_user", [1]])
def test_the_filter_wants_a_list_of_names(wrong: object) -> None:
    with pytest.raises(AnsibleFilterError):
        unknown_variables(wrong)  # type: ignore[arg-type]
