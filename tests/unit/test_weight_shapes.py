# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Shapes computed from config.json against what others counted: transformers' own models, and published checkpoints."""

from __future__ import annotations

import json

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._allocator import MIB, allocated
from ansible_collections.inference.sglang.plugins.module_utils._mixed import part_widths
from ansible_collections.inference.sglang.plugins.module_utils._model_profile import profile_model
from ansible_collections.inference.sglang.plugins.module_utils._tensors import model_tensors
from ansible_collections.inference.sglang.plugins.module_utils._weights import (
    AGREEMENT,
    checkpoint_bytes,
    group_values,
    rank_weights,
    read_evidence,
)

from tests.unit.core_helpers import EXPECTED, config, hf_quant, names, plan

COUNTED = json.loads((EXPECTED / "parameters.json").read_text())["models"]
PUBLISHED = json.loads((EXPECTED / "checkpoints.json").read_text())["models"]
# MiniMax-Text-01's linear layers have no shape here: no SGLang release serves it.
UNCOUNTED = {"MiniMax-Text-01"}


@pytest.mark.parametrize("name", sorted(COUNTED))
def test_parameters_as_transformers_counts_them(name):
    profile = profile_model(config(name), hf_quant(name))
    found, counted = group_values(profile), COUNTED[name]
    # Our vocabulary is padded to 64, as the engine pads it.
    for group in ("text", "embedding", "lm_head", "vision"):
        if group == "vision" and "vision_config" not in config(name):
            continue  # SGLang's default tower has three deepstack mergers, transformers' has none
        assert found[group] == pytest.approx(counted.get(group, 0), rel=0.0015 if group in ("embedding", "lm_head") else 1e-5), group


@pytest.mark.parametrize("row", PUBLISHED, ids=[row["config"] for row in PUBLISHED])
def test_bytes_of_published_checkpoints(row):
    """Half a per cent is asked for; the formulas are within a hundred-thousandth."""
    profile = profile_model(config(row["config"]), hf_quant(row["config"]))
    assert checkpoint_bytes(profile) == pytest.approx(row["bytes"], rel=1e-5)


def test_a_pruned_checkpoint():
    """Qwen3.5-25B-REAP-A3B's index counts 25,091,371,648 parameters, no vision and no MTP among them: 180 of the 256 experts."""
    values = config("Qwen3.5-35B-A3B")
    values["text_config"]["num_experts"] = 180
    found = group_values(profile_model(values))
    assert found["text"] + found["embedding"] + found["lm_head"] == 25_091_371_648


def test_every_recorded_config_has_shapes():
    for name in set(names()) - UNCOUNTED:
        assert sum(group_values(profile_model(config(name), hf_quant(name))).values()) > 1e8, name


@pytest.mark.parametrize("name", sorted(set(names()) - UNCOUNTED))
@pytest.mark.parametrize("size", [2, 4, 8])
def test_ranks_hold_the_whole_between_them(name, size):
    """What is cut adds up to the whole, and no rank holds less than its share; what is repeated is what makes it more."""
    profile = profile_model(config(name))
    whole = sum(tensor.values * tensor.count for tensor in model_tensors(profile, 1))
    rank = sum(tensor.of_rank(size) * tensor.count for tensor in model_tensors(profile, size))
    assert whole / size <= rank * (1 + 1e-9)
    assert rank <= whole / size * 1.25


def test_headers_that_disagree_with_the_config_are_noticed():
    profile = profile_model(config("Qwen3.6-27B"))
    real = {name: int(2 * values) for name, values in group_values(profile).items()}
    weights = {"evidence": "headers", "mtp_tensors": 15, "bytes_by_group": real}
    assert abs(rank_weights(profile, 1, read_evidence(weights)).disagreement) < 1e-6
    without = {**real, "mtp": 0}
    assert abs(rank_weights(profile, 1, read_evidence({**weights, "bytes_by_group": without})).disagreement) < 1e-6
    other = {**real, "text": int(real["text"] * 0.97)}
    assert rank_weights(profile, 1, read_evidence({**weights, "bytes_by_group": other})).disagreement < -AGREEMENT


def test_a_plan_says_when_they_disagree():
    real = {name: int(2 * values) for name, values in group_values(profile_model(config("Qwen3.6-27B"))).items()}
    weights = {"evidence": "headers", "mtp_tensors": 15, "bytes_by_group": real}
    assert not any("config.json's shapes" in text for text in plan(weights=weights)["warnings"])
    other = {**weights, "bytes_by_group": {**real, "text": int(real["text"] * 0.9)}}
    assert any("config.json's shapes" in text for text in plan(weights=other)["warnings"])


def test_mtp_layers_that_no_plan_uses_are_no_disagreement():
    profile = profile_model(config("DeepSeek-V3"))
    real = {"text": int(checkpoint_bytes(profile)) - 4 * 926679040, "embedding": 2 * 926679040, "lm_head": 2 * 926679040, "mtp": 15 << 30}
    found = rank_weights(profile, 8, read_evidence({"evidence": "headers", "mtp_tensors": 1, "bytes_by_group": real}))
    assert abs(found.disagreement) < AGREEMENT


@pytest.mark.parametrize(
    ("name", "part", "width"),
    [
        # linear attention, attention and shared experts are excluded, the experts are not: four bits, and a byte for sixteen values
        ("Qwen3.5-122B-A10B-NVFP4", "experts", 0.5 + 1 / 16),
        ("Qwen3.5-122B-A10B-NVFP4", "attention", 2.0),
        ("Qwen3.5-397B-A17B-NVFP4", "shared", 2.0),
        ("Qwen3-235B-A22B-NVFP4", "attention", 0.5 + 1 / 16),
        ("Qwen3.6-27B-NVFP4", "attention", 1.0),
        ("Qwen3.6-27B-NVFP4", "dense", 0.5 + 1 / 16),
        ("NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4", "head", 2.0),
        # groups of 128 with a scale of two bytes and a zero point of half a byte
        ("Qwen3.6-27B-INT4-compressed-tensors-MTPq", "dense", 0.5 + 2.5 / 128),
        ("Qwen3.6-27B-INT4-compressed-tensors-MTPq", "recurrent", 2.0),
    ],
)
def test_parts_of_mixed_checkpoints(name, part, width):
    profile = profile_model(config(name), hf_quant(name))
    assert part_widths(profile, profile.quantization.rules, 2.0)[part] == pytest.approx(width)


def test_a_list_that_is_missing_sizes_nothing():
    """The recorded hf_quant_config.json of Nemotron-3-Super names no excluded module, which is not to say that there is none."""
    profile = profile_model(config("NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4"), hf_quant("NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4"))
    assert part_widths(profile, profile.quantization.rules, 2.0) is None
    assert rank_weights(profile, 1, read_evidence(None)).certain is False


@pytest.mark.parametrize(
    ("pattern", "understood"),
    [("re:.*linear_attn.*", True), ("re:^lm_head$", True), ("re:(.*)*x", False), ("re:(a|b)+$", False), ("*" * 9, False)],
)
def test_patterns_that_could_take_for_ever_are_not_tried(pattern, understood):
    values = config("Qwen3.5-122B-A10B-NVFP4")
    extra = hf_quant("Qwen3.5-122B-A10B-NVFP4")
    extra["quantization"]["exclude_modules"].append(pattern)
    profile = profile_model(values, extra)
    assert (part_widths(profile, profile.quantization.rules, 2.0) is not None) is understood


def test_the_allocator_by_hand():
    """512 bytes at least; small ones in segments of 2 MiB, middle ones in 20 MiB, large ones rounded to 2 MiB."""
    assert allocated([(1, 1)]) == 2 * MIB
    assert allocated([(MIB / 2, 5)]) == 4 * MIB
    assert allocated([(9 * MIB, 2)]) == 20 * MIB
    assert allocated([(9 * MIB, 2), (1.5 * MIB, 1)]) == 20 * MIB
    assert allocated([(9 * MIB, 3)]) == 40 * MIB
    assert allocated([(10 * MIB + 1, 1)]) == 12 * MIB
    assert allocated([(85 * MIB, 64)]) == 64 * 86 * MIB
    assert allocated([]) == 0
