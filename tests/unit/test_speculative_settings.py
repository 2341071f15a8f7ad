# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._speculative import speculative_settings

from tests.unit.core_helpers import config

NUMBERS = ["--speculative-num-steps", "3", "--speculative-eagle-topk", "1", "--speculative-num-draft-tokens", "4"]


def decide(name="Qwen3.6-27B", version="0.5.11", mtp=None, **more):
    return speculative_settings(config(name), version, mtp, **more)


def test_weights_with_mtp_turn_it_on_for_0_5_11():
    found = decide(mtp=15)
    assert found["flags"] == ["--speculative-algorithm", "NEXTN", *NUMBERS, "--mamba-scheduler-strategy", "extra_buffer"]
    assert (found["enabled"], found["provisional"], found["env"]) == (True, False, {})
    assert (found["algorithm"], found["num_steps"], found["eagle_topk"], found["num_draft_tokens"]) == ("NEXTN", 3, 1, 4)


def test_0_5_23_needs_no_strategy_and_never_gets_the_removed_flag():
    found = decide(version="0.5.23", mtp=True)
    assert found["flags"] == ["--speculative-algorithm", "NEXTN", *NUMBERS]
    assert found["mamba_strategy"] == "extra_buffer"


@pytest.mark.parametrize("version", ["0.5.11", "0.5.23"])
@pytest.mark.parametrize("mtp", [0, False])
def test_a_key_without_weights_turns_it_off(version, mtp):
    found = decide(version=version, mtp=mtp)
    assert found["enabled"] is False
    assert found["provisional"] is False
    assert not [flag for flag in found["flags"] if "speculative" in flag]
    assert [found["num_steps"], found["eagle_topk"], found["num_draft_tokens"]] == [None, None, None]
    assert "mtp_num_hidden_layers says 1, but the weights hold no MTP tensors" in found["reasons"][0]["why"]


def test_nobody_looked_is_provisional():
    found = decide(mtp=None)
    assert (found["enabled"], found["provisional"]) == (True, True)
    assert "provisional" in found["reasons"][0]["why"]


def test_no_key_is_no_proof_either_way():
    unseen = decide("Qwen3-Next-80B-A3B-Instruct", mtp=None)
    assert (unseen["enabled"], unseen["provisional"]) == (False, True)
    assert "provisional" in unseen["reasons"][0]["why"]
    assert decide("Qwen3-Next-80B-A3B-Instruct", mtp=10)["enabled"] is True
    assert decide("edge-Qwen3.5-27B-no-mtp-keys", mtp=15)["enabled"] is True
    assert decide("edge-Qwen3.5-27B-no-mtp-keys", mtp=0)["provisional"] is False


def test_text_only_class_has_no_mtp_path_in_0_5_11():
    old = decide("Qwen3.5-2B-text-only-finetune", mtp=15)
    assert (old["enabled"], old["flags"]) == (False, [])
    assert "text-only" in old["reasons"][0]["why"]
    new = decide("Qwen3.5-2B-text-only-finetune", version="0.5.23", mtp=15)
    assert new["enabled"] is True


def test_without_speculation_the_overlap_schedule_is_kept_on_in_0_5_11():
    assert decide(mtp=0)["flags"] == ["--mamba-scheduler-strategy", "extra_buffer"]
    assert decide(mtp=0, version="0.5.23")["flags"] == []


@pytest.mark.parametrize("name", ["Qwen3-8B", "MiMo-V2-Flash", "Granite-4.0-micro-attention-only", "MiMo-7B-Base", "DeepSeek-V3"])
@pytest.mark.parametrize("version", ["0.5.11", "0.5.23"])
def test_models_without_gdn_layers_get_no_mamba_flag(name, version):
    found = decide(name, version=version, mtp=5)
    assert found["flags"] == []
    assert found["mamba_strategy"] == "none"


def test_radix_cache_off_never_meets_extra_buffer_in_0_5_11():
    found = decide(mtp=15, settings={"disable_radix_cache": True})
    assert "extra_buffer" not in found["flags"]
    assert found["enabled"] is True
    assert found["mamba_strategy"] == "radix_off"


def test_explicit_numbers_and_off():
    wishes = {"speculative_num_steps": 1, "speculative_eagle_topk": 1, "speculative_num_draft_tokens": 2}
    assert decide(mtp=15, settings=wishes)["num_draft_tokens"] == 2
    for off in ("none", False, "off"):
        assert decide(mtp=15, settings={"speculative_algorithm": off})["enabled"] is False
    assert decide(mtp=15, num_steps=2)["num_draft_tokens"] == 3


def test_an_explicit_wish_stands_on_an_unseen_checkpoint():
    found = decide("Qwen3-Next-80B-A3B-Instruct", mtp=None, settings={"speculative_algorithm": "NEXTN"})
    assert (found["enabled"], found["provisional"]) == (True, True)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"settings": {"speculative_num_draft_tokens": 1}}, "together, or not at all"),
        ({"settings": {"speculative_num_steps": 3, "speculative_num_draft_tokens": 4}}, "together, or not at all"),
        (
            {"settings": {"speculative_num_steps": 1, "speculative_eagle_topk": 1, "speculative_num_draft_tokens": 1}},
            "contradicts speculative_num_steps",
        ),
        ({"settings": {"speculative_num_steps": 3, "speculative_eagle_topk": 4, "speculative_num_draft_tokens": 8}}, "eagle_topk"),
        (
            {
                "settings": {
                    "speculative_algorithm": "none",
                    "speculative_num_steps": 3,
                    "speculative_eagle_topk": 1,
                    "speculative_num_draft_tokens": 4,
                }
            },
            "speculative_algorithm is none",
        ),
        ({"settings": {"speculative_algorithm": "NGRAM"}}, "NGRAM"),
        ({"settings": {"speculative_algorithm": "DFLASH"}}, "DFLASH"),
        ({"settings": {"speculative_draft_model_path": "/x"}}, "external drafter"),
        ({"mtp": 0, "settings": {"speculative_algorithm": "NEXTN"}}, "cannot do"),
        ({"name": "Qwen3-8B", "settings": {"speculative_algorithm": "NEXTN"}}, "cannot do"),
        ({"settings": {"mamba_scheduler_strategy": "no_buffer"}}, "refuses speculative decoding"),
        ({"settings": {"mamba_scheduler_strategy": "auto"}}, "refuses speculative decoding"),
        ({"settings": {"mamba_scheduler_strategy": "extra_buffer", "disable_radix_cache": True}}, "exclude one another"),
        ({"name": "Qwen3-8B", "mtp": 0, "settings": {"mamba_scheduler_strategy": "extra_buffer"}}, "no such state"),
        ({"version": "0.5.23", "settings": {"mamba_radix_cache_strategy": "no_buffer"}}, "overlap"),
        ({"settings": {"page_size": 48}}, "page_size"),
        ({"settings": {"page_size": 100}}, "page_size"),
        ({"mtp": 0, "settings": {"page_size": 64, "mamba_scheduler_strategy": "no_buffer"}}, "page_size"),
        ({"num_steps": 0}, "num_steps"),
        ({"num_steps": "3"}, "num_steps"),
        ({"mtp": "yes"}, "mtp_weights"),
        ({"version": "0.5.12"}, "supported: 0.5.11, 0.5.23"),
    ],
)
def test_half_and_contradictory_wishes_are_refused(more, said):
    more.setdefault("mtp", 15)
    with pytest.raises(SglangError, match=said):
        decide(**more)


@pytest.mark.parametrize("page", [1, 2, 16, 64, 128, 256])
def test_page_sizes_that_fit_the_tracking(page):
    assert decide(mtp=15, settings={"page_size": page})["enabled"] is True
