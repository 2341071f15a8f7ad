# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The memory rule against real starts of the Qwen3.6-27B shape (SGLang 0.5.11 on one and two H200)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.inference.sglang.plugins.module_utils import _cells, _memory
from ansible_collections.inference.sglang.plugins.module_utils._model_profile import profile_model
from ansible_collections.inference.sglang.plugins.module_utils._plain import Fields
from ansible_collections.inference.sglang.plugins.module_utils._pools import GIB, Shapes, Split, demand, divide, ratio_for
from ansible_collections.inference.sglang.plugins.module_utils._releases import release_of
from ansible_collections.inference.sglang.plugins.module_utils._speculative import speculate
from ansible_collections.inference.sglang.plugins.module_utils._weights import GIB as WEIGHT_GIB
from ansible_collections.inference.sglang.plugins.module_utils._weights import Evidence, group_values, rank_weights, read_evidence

from tests.unit.core_helpers import config, hf_quant

PROFILE = profile_model(config("Qwen3.6-27B"))
RELEASE = release_of("0.5.11")


def setup(cards, steps, available=None, strategy=None, memory_mib=143771, release=RELEASE):
    settings = Fields({"mamba_scheduler_strategy": strategy} if strategy else {}, "settings")
    speculation = speculate(PROFILE, release, steps > 0, settings, steps or 3)
    weights = rank_weights(PROFILE, cards, Evidence("none", None))
    return _memory.make_setup(PROFILE, release, settings, cards, memory_mib, available, weights, speculation, 1)


def test_the_story_of_two_cards_of_48_gb():
    """3/1/4 with the defaults reserves more than there is: SGLang ends with Not enough memory, as it was seen to do."""
    rank = setup(2, 3, 46.23)
    fraction = _memory.engine_default_fraction(PROFILE, RELEASE, 49140, 2, True)
    assert fraction == pytest.approx(0.7167, abs=0.0001)
    assert not _memory.size_with(rank, fraction, Split(48, 0.9)).pools.works
    assert _memory.engine_default_fraction(PROFILE, RELEASE, 49140, 2, False) == pytest.approx(0.7934, abs=0.0001)
    assert _memory.engine_default_fraction(PROFILE, RELEASE, 143771, 1, True) == pytest.approx(0.81194421875)


@pytest.mark.parametrize(("size", "gib"), [(1, 51.05), (2, 25.64)])
def test_weights_of_a_rank(size, gib):
    """Measured for one and two ranks."""
    found = rank_weights(PROFILE, size, Evidence("none", None)).target / GIB
    assert found == pytest.approx(gib, rel=0.001)


@pytest.mark.parametrize(("size", "draft", "load"), [(1, 0.79, 5.53), (2, 0.44, 2.82)])
def test_weights_of_the_draft(size, draft, load):
    found = rank_weights(PROFILE, size, Evidence("none", None))
    assert found.draft / GIB == pytest.approx(draft, abs=0.01)
    assert (found.draft + found.draft_own_embedding) / GIB == pytest.approx(load, rel=0.005)


def test_state_and_cache_sizes():
    mib = [_cells.slot_bytes(PROFILE, size, "float32") / 2**20 for size in (1, 2, 4, 8)]
    assert mib == pytest.approx([146.8125, 73.40625, 36.703125, 18.3515625])
    assert _cells.slot_bytes(PROFILE, 2, "bfloat16") / 2**20 == pytest.approx(37.41, abs=0.01)
    assert [_cells.token_bytes(PROFILE, size, 2, 16) for size in (1, 2, 4, 8)] == [65536, 32768, 16384, 16384]


def test_parameters_of_the_whole_checkpoint():
    """The published repository has 55,586,107,940 bytes, tokenizer and all."""
    total = 2 * sum(group_values(PROFILE).values())
    assert total == pytest.approx(55_586_107_940, rel=0.001)


def test_headers_win_over_shapes():
    rotary = 4 * 262144 * 64
    real = {name: int(values) for name, values in group_values(PROFILE).items()}
    evidence = read_evidence({"evidence": "headers", "mtp_tensors": 15, "bytes_by_group": real})
    halved = rank_weights(PROFILE, 2, evidence)
    plain = rank_weights(PROFILE, 2, Evidence("none", None))
    assert halved.source == "headers"
    assert halved.target - rotary == pytest.approx((plain.target - rotary) / 2, rel=1e-6)
    assert halved.draft == pytest.approx(plain.draft / 2, rel=1e-6)


def test_a_quantised_checkpoint_needs_its_headers():
    profile = profile_model(config("NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4"), hf_quant("NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4"))
    assert rank_weights(profile, 2, Evidence("none", None)).certain is False
    real = {"evidence": "headers", "mtp_tensors": 15, "bytes_by_group": {"text": 14 << 30}}
    assert rank_weights(profile, 2, read_evidence(real)).certain is True
    dense = profile_model(config("Qwen3-32B-FP8"))
    assert rank_weights(dense, 1, Evidence("none", None)).target / WEIGHT_GIB == pytest.approx(32, rel=0.02)


def shapes(joint, draft=4, slot=73 << 20, radix=True):
    return Shapes(
        slot_bytes=slot,
        token_bytes=32768,
        draft_token_bytes=2048 if draft else 0,
        draft_tokens=draft,
        cell_bytes=32768 + (2048 if draft and joint else 0),
        slots_per_request=5 if radix else 1,
        radix=radix,
        context_length=262144,
        page_size=1,
        joint=joint,
    )


@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("draft", [0, 4])
@pytest.mark.parametrize(("requests", "context"), [(1, 16384), (8, 8192), (40, 2048), (2, 131072)])
def test_a_ratio_gives_both_pools_what_they_need(joint, draft, requests, context, padding):
    form = replace(shapes(joint, draft), padding=padding)
    for spare in (0, 1 << 28, 1 << 34):
        rest = demand(form, requests, context) + spare
        ratio = ratio_for(form, requests, context, rest)
        pools = divide(form, Split(requests, ratio), rest)
        assert pools.slots >= requests * 5
        assert pools.tokens >= requests * context
        assert pools.running == requests
    assert ratio_for(form, requests, context, demand(form, requests, context) - 1) is None


def test_joint_rule_by_hand():
    """SGLang 0.5.23: K = (B - S(1+D)) / (S(1 + D/5)), the states under verification inside the state budget."""
    form = shapes(True, slot=1000)
    pools = divide(form, Split(48, 1.0), 2_000_000_000)
    slots = int((1_000_000_000 - 1000 * 5) // (1000 * (1 + 4 / 5)))
    assert pools.slots == slots
    left = 2_000_000_000 - 1000 * (48 + 1) * 4 - (slots + 1) * 1000
    assert pools.tokens == left // (32768 + 2048)


def test_joint_rule_without_padding_by_hand():
    """SGLang 0.5.14: K = B / (S(1 + D/5)), and none of the two paddings in the sum; the pools take them all the same."""
    form = replace(shapes(True, slot=1000), padding=0)
    pools = divide(form, Split(48, 1.0), 2_000_000_000)
    assert pools.slots == int(1_000_000_000 // (1000 * (1 + 4 / 5)))
    left = 2_000_000_000 - 1000 * 48 * 4 - pools.slots * 1000
    assert pools.tokens == left // (32768 + 2048)
    assert pools.bytes_used == pools.tokens * (32768 + 2048) + 1000 * (pools.slots + 1) + 1000 * 4 * 49


def test_without_the_radix_cache_one_state_a_request():
    pools = divide(shapes(False, radix=False), Split(8, 0.9), 10 * GIB)
    assert (pools.slots, pools.running) == (8, 8)


@pytest.mark.parametrize("rest", [-1.0, 0.0, 1.0])
@pytest.mark.parametrize("joint", [False, True])
def test_no_memory_is_no_exception(joint, rest):
    assert not divide(shapes(joint), Split(48, 0.9), rest).works
