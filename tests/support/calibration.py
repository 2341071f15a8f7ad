# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The memory plan against recorded starts: what each log says, what is predicted for its command, and the constants that were fitted.

python -m tests.support.calibration   prints the tables of docs/memory.md (from the checkout's root, with .collections on PYTHONPATH)
"""

from __future__ import annotations

import copy
import json
import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils import _cells, _memory
from ansible_collections.inference.sglang.plugins.module_utils._memory import Calibration
from ansible_collections.inference.sglang.plugins.module_utils._model_profile import ModelProfile, profile_model
from ansible_collections.inference.sglang.plugins.module_utils._plain import Fields
from ansible_collections.inference.sglang.plugins.module_utils._pools import GIB, Split
from ansible_collections.inference.sglang.plugins.module_utils._releases import release_of
from ansible_collections.inference.sglang.plugins.module_utils._speculative import speculate
from ansible_collections.inference.sglang.plugins.module_utils._weights import Evidence, RankWeights, rank_weights

DATA = Path(__file__).resolve().parents[1] / "data"
H200_MIB = 143771
RELEASE = release_of("0.5.11")
_LINES = {
    "weights": r"Load weight end\..*mem usage=([\d.]+) GB",
    "slots": r"max_mamba_cache_size: (\d+)",
    "tokens": r"KV Cache is allocated\. #tokens: (\d+)",
    "after_pools": r"Memory pool end\. avail mem=([\d.]+) GB",
    "captured_from": r"Capture cuda graph begin\..*avail mem=([\d.]+) GB",
    "graphs": r"Capture cuda graph end\..*mem usage=([\d.]+) GB",
    "draft_graphs": r"Capture draft cuda graph end\..*mem usage=([\d.]+) GB",
    "running": r"max_total_num_tokens=.*max_running_requests=(\d+)",
    "free": r"available_gpu_mem=([\d.]+) GB",
}


@cache
def profile_of(shape: str) -> ModelProfile:
    """The 27B's profile, or that of the small checkpoint with MTP tensors."""
    config = copy.deepcopy(json.loads((DATA / "models" / "Qwen3.6-27B.json").read_text()))
    if shape == "tiny":
        text = config["text_config"]
        text.update(hidden_size=1024, num_hidden_layers=8, intermediate_size=2048, num_attention_heads=4, num_key_value_heads=2)
        text.update(linear_num_value_heads=16, linear_num_key_heads=8, max_position_embeddings=32768, layer_types=text["layer_types"][:8])
        config["vision_config"].update(depth=2, hidden_size=288, intermediate_size=1024, num_heads=4, out_hidden_size=1024)
    return profile_model(config)


@cache
def weights_of(shape: str, cards: int) -> RankWeights:
    """Weights of one rank, by config.json alone."""
    return rank_weights(profile_of(shape), cards, Evidence("none", None))


@dataclass(frozen=True)
class Start:
    """One recorded start: its command's numbers, and what its log measured."""

    name: str
    shape: str
    cards: int
    available: Optional[float]
    fraction: float
    fraction_given: bool
    running_cap: Optional[int]
    ratio: float
    steps: int
    strategy: Optional[str]
    measured: dict[str, float]


def _measured(log: str) -> dict[str, float]:
    """Figures of the first rank; a second line of a kind is the draft's."""
    found: dict[str, float] = {}
    for line in (DATA / "logs" / log).read_text(errors="replace").splitlines():
        if " TP1]" in line:
            continue
        for key, pattern in _LINES.items():
            match = re.search(pattern, line)
            if match:
                name = key if key not in found else {"after_pools": "lowest", "weights": "draft"}.get(key, "")
                if name and name not in found:
                    found[name] = float(match.group(1))
    return found


def starts() -> list[Start]:
    """All recorded starts that came as far as their pools."""
    found = []
    for row in json.loads((DATA / "expected" / "starts.json").read_text()):
        fraction = row["fraction"]
        if fraction is None:  # left to the engine, whose rule is predicted too
            fraction = _memory.engine_default_fraction(profile_of(row["shape"]), RELEASE, H200_MIB, row["cards"], row["steps"] > 0)
        measured = {**(_measured(row["log"]) if row["log"] else {}), **row.get("measured", {})}
        found.append(
            Start(
                row["start"],
                row["shape"],
                row["cards"],
                row.get("available"),
                fraction,
                row["fraction"] is not None,
                row["running_cap"],
                row["ratio"],
                row["steps"],
                row.get("strategy"),
                measured,
            )
        )
    return found


def predict(start: Start, constants: Optional[Calibration] = None) -> dict[str, float]:
    """What the plan says about a start, from its config, its card and its command."""
    kept = _memory.CALIBRATION
    _memory.CALIBRATION = constants or kept
    try:
        profile = profile_of(start.shape)
        settings = Fields({"mamba_scheduler_strategy": start.strategy} if start.strategy else {}, "settings")
        speculation = speculate(profile, RELEASE, start.steps > 0, settings, start.steps or 3)
        weights = weights_of(start.shape, start.cards)
        setup = _memory.make_setup(profile, RELEASE, settings, start.cards, H200_MIB, start.available, weights, speculation, 1)
        sized = _memory.size_with(setup, start.fraction, Split(start.running_cap, start.ratio))
    finally:
        _memory.CALIBRATION = kept
    found = {"weights": weights.target / GIB, "slots": sized.pools.slots, "tokens": sized.pools.tokens, "running": sized.pools.running}
    return {**found, "after_pools": sized.free_after_pools, "lowest": sized.lowest_at_start, "free": sized.free}


def _solve(rows: list[list[float]], values: list[float]) -> list[float]:
    """Least squares by the normal equations, for a handful of unknowns."""
    size = len(rows[0])
    left = [[sum(row[i] * row[j] for row in rows) for j in range(size)] for i in range(size)]
    right = [sum(row[i] * value for row, value in zip(rows, values)) for i in range(size)]
    for i in range(size):
        for j in range(i + 1, size):
            factor = left[j][i] / left[i][i]
            left[j] = [a - factor * b for a, b in zip(left[j], left[i])]
            right[j] -= factor * right[i]
    found = [0.0] * size
    for i in reversed(range(size)):
        found[i] = (right[i] - sum(left[i][j] * found[j] for j in range(i + 1, size))) / left[i][i]
    return found


def _sizing_row(start: Start) -> tuple[list[float], float]:
    """What the two pools tell of the memory that was free when they were sized; see _pools._reserve_rule."""
    profile = profile_of(start.shape)
    slot = _cells.slot_bytes(profile, start.cards, "float32")
    cell = _cells.token_bytes(profile, start.cards, 2, profile.layers.count("full_attention"))
    reserved = slot * (start.running_cap or 0) * (start.steps + 1) if start.steps else 0
    rest = (start.measured["tokens"] * cell + start.measured["slots"] * slot + reserved) / GIB
    weights = weights_of(start.shape, start.cards).target / GIB
    before = start.available if start.available is not None else _before(start.cards)
    return [weights, 1.0, 1.0 - start.fraction], before - weights - before * (1.0 - start.fraction) - rest


def _before(cards: int) -> float:
    constants = _memory.CALIBRATION
    group = constants.group_many if cards > 1 else constants.group_single
    return H200_MIB / 1024 - constants.card_reserve - constants.context - group


def _graph_tokens(start: Start) -> float:
    return start.measured["running"] * max(1, start.steps + 1 if start.steps else 1)


def fit(among: list[Start]) -> Calibration:
    """The fitted constants, from these starts only."""
    rows, values = zip(*(_sizing_row(start) for start in among))
    share, overhead, before = _solve(list(rows), list(values))
    spent = [s.measured["after_pools"] - s.measured["captured_from"] for s in among if "captured_from" in s.measured]
    graphs, draft_rows, draft_values = [], [], []
    for start in among:
        profile = profile_of(start.shape)
        if "graphs" in start.measured:
            graphs.append(start.measured["graphs"] - _graph_tokens(start) * _memory.graph_token_bytes(profile, start.cards) / GIB)
        if "draft_graphs" in start.measured:
            tokens = _graph_tokens(start)
            draft_rows.append([1.0, tokens * profile.hidden_size / GIB])
            draft_values.append(start.measured["draft_graphs"] - tokens * 4.0 * profile.vocab_size / GIB)
    base, hidden = _solve(draft_rows, draft_values)
    return replace(
        _memory.CALIBRATION,
        overhead_share=share,
        overhead=overhead,
        measured_before=before,
        workspace=sum(spent) / len(spent),
        graph_base=sum(graphs) / len(graphs),
        draft_graph_base=base,
        draft_graph_hidden=hidden,
    )


FITTED = ("overhead_share", "overhead", "measured_before", "workspace", "graph_base", "draft_graph_base", "draft_graph_hidden")


def errors(start: Start, constants: Optional[Calibration] = None) -> dict[str, float]:
    """Predicted minus measured: slots and requests in numbers, tokens and weights as a share, memory in GiB."""
    found, measured = predict(start, constants), start.measured
    result: dict[str, Any] = {}
    for key in ("slots", "running", "after_pools", "lowest", "free"):
        if key in measured:
            result[key] = found[key] - measured[key]
    for key in ("tokens", "weights"):
        if key in measured:
            result[key] = found[key] / measured[key] - 1
    return result


SHOWN = 16.44
"""GiB free after the pools, as the log of the two RTX A6000 showed it: their capacity, and whatever was on its command line."""
A6000_MIB = 49140


@cache
def _story_rank(steps: int, available: float) -> _memory.Setup:
    profile, settings = profile_of("27b"), Fields({}, "settings")
    weights = rank_weights(profile, 2, Evidence("none", None))
    return _memory.make_setup(
        profile, RELEASE, settings, 2, A6000_MIB, available, weights, speculate(profile, RELEASE, True, settings, steps), 1
    )


def story(fraction: float, cap: int, steps: int, available: float) -> _memory.Sized:
    """One (fraction, request cap) pair on two cards of 48 GB with so many GiB free when the weights begin to load."""
    return _memory.size_with(_story_rank(steps, available), fraction, Split(cap, 0.9))


def pairs(steps: int, available: float, within: float = 0.02) -> list[tuple[int, float, _memory.Sized]]:
    """For each request cap the fraction that leaves what was shown, where there is one."""
    found = []
    for cap in range(4, 52, 4):
        tried = []
        for thousandth in range(1000, 1800):
            sized = story(thousandth / 2000, cap, steps, available)
            if sized.pools.works:
                tried.append((abs(sized.free_after_pools - SHOWN), thousandth / 2000, sized))
        if tried:
            gap, fraction, sized = min(tried, key=lambda item: item[0])
            if gap <= within:
                found.append((cap, fraction, sized))
    return found


def _story_tables() -> None:
    for available in (46.23, 47.1):
        for steps in (1, 3):
            print(f"\n{available} GiB free when the weights begin to load, MTP {steps}/1/{steps + 1}\n")
            print("| --max-running-requests | --mem-fraction-static | state slots | KV tokens | requests at once |")
            print("| --- | --- | --- | --- | --- |")
            for cap, fraction, sized in pairs(steps, available):
                print(f"| {cap} | {fraction:.4f} | {sized.pools.slots} | {sized.pools.tokens:,} | {sized.pools.running} |")


def _table(title: str, constants: dict[str, Optional[Calibration]]) -> None:
    print(f"\n{title}\n\n| start | weights | slots | KV tokens | requests | after pools | free after the start |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for start in starts():
        found, said, wrong = predict(start, constants.get(start.name)), start.measured, errors(start, constants.get(start.name))

        def cell(key: str, form: str, said: dict[str, float] = said, found: dict[str, float] = found) -> str:
            return f"{found[key]:{form}} / {said[key]:{form}}" if key in said else "-"

        tokens = f"{cell('tokens', ',.0f')} ({wrong['tokens']:+.2%})" if "tokens" in wrong else "-"
        print(
            f"| {start.name} | {cell('weights', '.2f')} | {cell('slots', '.0f')} | {tokens} | {cell('running', '.0f')} "
            f"| {cell('after_pools', '.2f')} | {cell('free', '.2f')} |"
        )


def main() -> None:
    """Print what docs/memory.md shows."""
    _story_tables()
    every = starts()
    fitted = fit(every)
    print("| constant | in the plan | fitted to all starts |\n| --- | --- | --- |")
    for name in FITTED:
        print(f"| `{name}` | {getattr(_memory.CALIBRATION, name):g} | {getattr(fitted, name):.4g} |")
    _table("In sample (the plan's own constants): predicted / measured", {})
    out = {start.name: fit([other for other in every if other is not start]) for start in every}
    _table("Leave one out: constants fitted without the start", out)
    for title, key in (("shape", lambda s: s.shape), ("number of cards", lambda s: str(s.cards))):
        for value in sorted({key(start) for start in every}):
            rest = [start for start in every if key(start) != value]
            try:
                constants = fit(rest)
            except ZeroDivisionError:
                print(f"\nwithout {title} {value}: too few starts are left to fit every constant")
                continue
            worst: dict[str, float] = {}
            for start in every:
                if key(start) == value:
                    for name, wrong in errors(start, constants).items():
                        worst[name] = max(worst.get(name, 0.0), abs(wrong))
            print(f"\nwithout {title} {value}: worst errors", {name: round(wrong, 4) for name, wrong in worst.items()})


if __name__ == "__main__":
    main()
