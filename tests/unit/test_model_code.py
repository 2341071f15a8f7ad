# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Model types that a release cannot read by itself, and descriptions of NVFP4 that it cannot load."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._architectures import ARCHITECTURES, MODEL_TYPES
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._launch_plan import launch_plan
from ansible_collections.inference.sglang.plugins.module_utils._releases import RELEASES, first_reader, known_releases, release_of
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.core_helpers import B200, SMOLLM2, config, mended, names

CODE = {"AutoConfig": "configuration_model.ModelConfig", "AutoModelForCausalLM": "modeling_model.Model"}
TRUST = {"trust_remote_code": True}


def planned(version: str, model_type: Any, auto_map: Any = None, settings: Any = None) -> dict[str, Any]:
    """A small plain model that calls itself so."""
    values = {**SMOLLM2, "model_type": model_type, "auto_map": auto_map}
    return launch_plan(values, version, [B200], settings=settings, allow_unverified_release=True)


def notes(found: dict[str, Any]) -> list[str]:
    """What a plan says of types that nobody looked up."""
    return [text for text in found["warnings"] if "is not known here" in text]


@pytest.mark.parametrize("version", known_releases())
@pytest.mark.parametrize("model_type", sorted(MODEL_TYPES))
def test_a_type_is_planned_where_the_release_reads_it_or_trusts_its_code(version: str, model_type: str) -> None:
    if model_type not in release_of(version, allow_unverified=True).unread_types:
        assert not notes(planned(version, model_type))
        assert not notes(planned(version, model_type, CODE))
        return
    for auto_map, settings in ((None, None), (None, TRUST), (CODE, None), (CODE, {"trust_remote_code": False})):
        with pytest.raises(SglangError, match=f"cannot read the model type '{model_type}'"):
            planned(version, model_type, auto_map, settings)
    found = planned(version, model_type, CODE, TRUST)
    assert "--trust-remote-code" in found["argv"]
    assert not notes(found)


def refusal(version: str, model_type: str, auto_map: Any = None) -> str:
    with pytest.raises(SglangError) as caught:
        planned(version, model_type, auto_map)
    return str(caught.value)


def test_a_refusal_says_what_can_be_done() -> None:
    code = refusal("0.5.11", "kimi_k2", CODE)
    assert "Set sglang_server_settings.trust_remote_code: true" in code
    assert "ml_env_sglang_version to 0.5.12 or newer" in code
    assert "hf_transformers/common.py:" in code
    bare = refusal("0.5.23", "mimo")
    assert "from the model's own repository" in bare
    assert "or newer" not in bare


@pytest.mark.parametrize("auto_map", [{}, [], "x", {"AutoConfig": ""}, {"AutoConfig": 1}, {"AutoModelForCausalLM": "modeling_mimo.MiMo"}])
def test_code_counts_only_where_it_is_the_configurations(auto_map: Any) -> None:
    with pytest.raises(SglangError, match="cannot read the model type"):
        planned("0.5.23", "mimo", auto_map, TRUST)


@given(st.none() | st.text(max_size=20).filter(lambda name: name not in MODEL_TYPES), st.sampled_from([None, CODE]), st.booleans())
def test_a_type_that_nobody_looked_up_is_planned_with_a_warning(model_type: Any, auto_map: Any, trusted: bool) -> None:
    found = notes(planned("0.5.23", model_type, auto_map, {"trust_remote_code": trusted}))
    assert len(found) == 1
    assert ("trust_remote_code: true" in found[0]) == (auto_map is not None and not trusted)


def test_every_recorded_model_that_is_planned_has_a_type_that_was_looked_up() -> None:
    for name in names():
        values = config(name)
        if ARCHITECTURES[values["architectures"][0]].served:
            assert values["model_type"] in ARCHITECTURES[values["architectures"][0]].types, name


def test_the_table_of_unread_types_holds_planned_types_only_and_shrinks() -> None:
    before = MODEL_TYPES
    for version in known_releases():
        assert RELEASES[version].unread_types <= before, version
        before = RELEASES[version].unread_types
    assert first_reader("qwen3_5") == "0.5.9"
    assert first_reader("mimo_v2_flash") == "0.5.22"
    assert first_reader("mimo") == ""


NVFP4 = "NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4"
GROUPS = ({"weights": {"group_size": 16}}, {"group_size": 16})


def described(version: str, flat: bool, block: dict[str, Any]) -> dict[str, Any]:
    """The plan of an NVFP4 checkpoint that is described in config.json, or in hf_quant_config.json only."""
    values = config(NVFP4)
    block = {"quant_algo": "NVFP4", **copy.deepcopy(block)}
    if flat:
        values["quantization_config"] = {"quant_method": "modelopt", **block}
    return launch_plan(values, version, [B200] * 8, None if flat else {"quantization": block}, allow_unverified_release=True)


@pytest.mark.parametrize("version", known_releases())
@pytest.mark.parametrize("flat", [True, False])
@pytest.mark.parametrize(
    "block",
    [
        {"group_size": 16},
        {"config_groups": {"group_0": {"weights": {"group_size": 16}}}},
        {"config_groups": {"group_0": {"group_size": 16}}},
    ],
)
def test_nvfp4_is_planned_where_its_group_is_named(version: str, flat: bool, block: dict[str, Any]) -> None:
    assert described(version, flat, block)["argv"]


@pytest.mark.parametrize("version", known_releases())
@pytest.mark.parametrize(
    "block", [{}, {"config_groups": {}}, {"config_groups": []}, {"config_groups": {"a": None, "b": {"weights": None}}}]
)
def test_nvfp4_without_its_group_is_planned_only_where_the_release_takes_it_for_granted(version: str, block: dict[str, Any]) -> None:
    with pytest.raises(SglangError, match=r"its hf_quant_config.json names no group_size"):
        described(version, False, block)
    if release_of(version, allow_unverified=True).nvfp4_group_assumed:
        assert described(version, True, block)["argv"]
        return
    with pytest.raises(SglangError, match=r"its config.json names no group_size") as caught:
        described(version, True, block)
    assert "Fetch config.json again" in str(caught.value)


def test_config_json_is_what_the_engine_reads_where_both_files_are_there() -> None:
    values, extra = mended(NVFP4)
    values["quantization_config"] = {"quant_method": "modelopt", "quant_algo": "NVFP4"}
    with pytest.raises(SglangError, match=r"its config.json names no group_size"):
        launch_plan(values, "0.5.11", [B200] * 8, extra)
    assert launch_plan(values, "0.5.23", [B200] * 8, extra)["argv"]
