# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A hub's answers become facts or notes; nothing that a proxy can send is a failure."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._hub_answers import read_answers
from hypothesis import given
from hypothesis import strategies as st

CONFIG = {"architectures": ["LlamaForCausalLM"], "hidden_size": 64}
LOGIN = "<html>please log in</html>"


def answer(item: str, content: str = "", status: int = 200, **more: Any) -> dict[str, Any]:
    return {"item": item, "status": status, "content": content, "msg": "OK", **more}


def answers(config: str = json.dumps(CONFIG), index: str = '{"weight_map": {"mtp.a": "x"}}') -> list[dict[str, Any]]:
    return [
        answer("config.json", config),
        answer("hf_quant_config.json", status=404, msg="HTTP Error 404"),
        answer("model.safetensors.index.json", index),
    ]


def test_files_are_read_and_one_that_is_not_there_is_nothing_to_tell() -> None:
    found = read_answers(answers(), "o/m")
    assert found == {"config": CONFIG, "hf_quant_config": {}, "tensor_index": {"weight_map": {"mtp.a": "x"}}, "notes": []}


@pytest.mark.parametrize("config", [LOGIN, "[1]", "", "null", '"text"', '{"error": "log in"}', "[" * 100_000])
def test_what_is_no_config_is_a_note_and_no_config(config: str) -> None:
    found = read_answers(answers(config=config), "o/m")
    assert (found["config"], found["tensor_index"]) == ({}, {})
    assert len(found["notes"]) == 1 and found["notes"][0].startswith("the hub gave no config.json of o/m (")


@pytest.mark.parametrize("index", [LOGIN, '{"weight_map": [1,2]}', '{"weight_map": {"a": 1}}', "{}", "[]"])
def test_a_wrong_index_costs_the_index_only(index: str) -> None:
    found = read_answers(answers(index=index), "o/m")
    assert (found["config"], found["tensor_index"]) == (CONFIG, {})
    assert "model.safetensors.index.json of o/m is not used" in found["notes"][0]


@pytest.mark.parametrize(
    ("answer_", "told"),
    [({"item": "config.json", "msg": "Connection refused"}, "Connection refused"), ({"item": "config.json"}, "no answer")],
)
def test_no_answer_is_told(answer_: dict[str, Any], told: str) -> None:
    assert told in read_answers([answer_], "o/m")["notes"][0]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


@given(st.lists(st.one_of(st.text(), _JSON.map(json.dumps)), min_size=3, max_size=3), st.sampled_from([200, 404, 500, -1]))
def test_any_answer_is_survived(contents: list[str], status: int) -> None:
    names = ["config.json", "hf_quant_config.json", "model.safetensors.index.json"]
    found = read_answers([answer(name, content, status) for name, content in zip(names, contents)], "o/m")
    assert all(isinstance(found[key], dict) for key in ("config", "hf_quant_config", "tensor_index"))
