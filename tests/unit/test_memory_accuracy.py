# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Predicted against logged, for every recorded start: with the plan's constants, and with constants fitted without the start."""

from __future__ import annotations

import pytest
from ansible_collections.inference.sglang.plugins.module_utils import _memory
from ansible_collections.inference.sglang.plugins.module_utils._plain import Fields
from ansible_collections.inference.sglang.plugins.module_utils._pools import Split
from ansible_collections.inference.sglang.plugins.module_utils._releases import release_of
from ansible_collections.inference.sglang.plugins.module_utils._speculative import speculate
from ansible_collections.inference.sglang.plugins.module_utils._weights import Evidence, rank_weights

from tests.support.calibration import DOCUMENT, FITTED, SHOWN, errors, filled, fit, pairs, predict, profile_of, starts, story

STARTS = starts()
NAMES = [start.name for start in STARTS]


@pytest.mark.parametrize("start", STARTS, ids=NAMES)
def test_every_recorded_start(start):
    """From the config, the card's name and the command: slots and requests exact, KV within 1 %, weights 2 %, free memory 1.5 GiB.

    Where the card's free memory was an input (two H200 made to look like smaller cards), KV within 2 %.
    """
    wrong = errors(start)
    assert {"slots", "tokens", "running", "weights"} <= set(wrong)
    # What SGLang builds where config.json describes no vision tower is 0.05 GiB more than is computed: one slot of 1334.
    assert abs(wrong["slots"]) <= (1 if start.config == "Qwen3.5-4B" else 0)
    assert wrong["running"] == 0
    assert abs(wrong["tokens"]) <= (0.01 if start.available is None else 0.02)
    assert abs(wrong["weights"]) <= 0.02
    for key in ("after_pools", "lowest", "free"):
        assert abs(wrong.get(key, 0.0)) <= 0.3, key


@pytest.mark.parametrize("start", STARTS, ids=NAMES)
def test_leave_one_out(start):
    """Constants fitted to the other starts only. A slot of the small checkpoint is 6 MiB, so that one in thousands may be missed."""
    wrong = errors(start, fit([other for other in STARTS if other is not start]))
    assert abs(wrong["slots"]) <= max(1 if start.config == "Qwen3.5-4B" else 0, round(start.measured["slots"] / 2000))
    assert wrong["running"] == 0
    # Three slots and 11,680 tokens are what a hopeless command left: 360 tokens are eleven MiB.
    assert abs(wrong["tokens"]) * start.measured["tokens"] <= max(start.measured["tokens"] / 100, 360)
    assert abs(wrong["weights"]) <= 0.02
    for key in ("after_pools", "lowest", "free"):
        assert abs(wrong.get(key, 0.0)) <= 0.3, key


@pytest.mark.parametrize("left_out", ["tiny", "two cards", "experts", "anything but the 27B"])
def test_what_was_fitted_elsewhere_holds_here(left_out):
    """All starts of one kind, predicted with what the others taught."""
    kinds = {
        "tiny": lambda start: start.config == "tiny",
        "two cards": lambda start: start.cards == 2,
        "experts": lambda start: start.config.endswith(("A3B", "A10B")),
        "anything but the 27B": lambda start: start.config != "Qwen3.6-27B",
    }
    constants = fit([start for start in STARTS if not kinds[left_out](start)])
    for start in filter(kinds[left_out], STARTS):
        wrong = errors(start, constants)
        assert wrong["running"] == 0
        assert abs(wrong["slots"]) <= max(1, start.measured["slots"] / 500)
        assert abs(wrong["weights"]) <= 0.02
        assert abs(wrong.get("free", 0.0)) <= 1.5


def test_the_plan_uses_what_the_fit_gives():
    """The constants in the table are rounded, not other ones: both predict the same slots, and the same tokens to 0.5 %."""
    fitted = fit(STARTS)
    for name in FITTED:
        assert getattr(_memory.CALIBRATION, name) == pytest.approx(getattr(fitted, name), rel=0.6), name
    for start in STARTS:
        ours, theirs = predict(start), predict(start, fitted)
        assert abs(ours["slots"] - theirs["slots"]) <= 1
        assert ours["running"] == theirs["running"]
        assert abs(ours["tokens"] - theirs["tokens"]) <= max(theirs["tokens"] * 0.0075, 160)


def test_the_start_that_had_not_enough_memory():
    """3/1/4 with the request cap left alone on two cards of 48 GB: the reservation for 48 requests is more than there is."""
    profile, release, settings = profile_of("Qwen3.6-27B"), release_of("0.5.11"), Fields({}, "settings")
    rank = _memory.make_setup(
        profile, release, settings, 2, 143771, 46.23, rank_weights(profile, 2, Evidence("none", None)),
        speculate(profile, release, True, settings, 3), 1,
    )  # fmt: skip
    assert not _memory.size_with(rank, 0.7167, Split(48, 0.9)).pools.works


def test_the_start_whose_draft_found_no_memory():
    """The pools fitted, the draft's own KV cache did not: torch asked for 15.80 GiB of 15.78."""
    start = next(start for start in STARTS if "out of memory" in start.name)
    assert predict(start)["lowest"] < 0


@pytest.mark.parametrize("available", [46.23, 47.1])
def test_the_pairs_that_would_show_16_44(available):
    """A line of pairs, by either number of steps: one figure of a log cannot say which of them it was."""
    for steps in (1, 3):
        found = pairs(steps, available)
        assert len(found) >= 9
        assert all(abs(sized.free_after_pools - SHOWN) <= 0.02 for _cap, _fraction, sized in found)
        fractions = [fraction for _cap, fraction, _sized in found]
        assert fractions == sorted(fractions)
        # What the engine picks by itself is not among them: its fraction, with the cap of 48 that it takes.
        assert all(abs(fraction - 0.7167) > 0.05 for cap, fraction, _sized in found if cap == 48)
    assert story(0.7167, 48, 1, available).free_after_pools > 18.5
    assert not story(0.7167, 48, 3, available).pools.works


def test_the_document_says_what_is_computed():
    """Run python -m tests.support.calibration when this fails."""
    text = DOCUMENT.read_text()
    assert filled(text) == text
