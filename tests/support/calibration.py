# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The memory plan against recorded starts: what each log says, what is predicted for its command, and the constants that were fitted.

PYTHONPATH=.:.collections python -m tests.support.calibration   writes the tables of docs/memory.md, from the checkout's root.
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
from ansible_collections.inference.sglang.plugins.module_utils._calibration import Calibration
from ansible_collections.inference.sglang.plugins.module_utils._model_profile import ModelProfile, profile_model
from ansible_collections.inference.sglang.plugins.module_utils._plain import Fields
from ansible_collections.inference.sglang.plugins.module_utils._pools import GIB, Split
from ansible_collections.inference.sglang.plugins.module_utils._releases import release_of
from ansible_collections.inference.sglang.plugins.module_utils._speculative import speculate
from ansible_collections.inference.sglang.plugins.module_utils._weights import Evidence, RankWeights, rank_weights

DATA = Path(__file__).resolve().parents[1] / "data"
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "memory.md"
H200_MIB = 143771
RELEASE = release_of("0.5.11")
_LINES = {
    "before": r"Load weight begin\. avail mem=([\d.]+) GB",
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
def profile_of(name: str) -> ModelProfile:
    """A recorded model's profile, or that of the small checkpoint with MTP tensors."""
    file = "Qwen3.6-27B" if name == "tiny" else name
    config = copy.deepcopy(json.loads((DATA / "models" / f"{file}.json").read_text()))
    if name == "tiny":
        text = config["text_config"]
        text.update(hidden_size=1024, num_hidden_layers=8, intermediate_size=2048, num_attention_heads=4, num_key_value_heads=2)
        text.update(linear_num_value_heads=16, linear_num_key_heads=8, max_position_embeddings=32768, layer_types=text["layer_types"][:8])
        config["vision_config"].update(depth=2, hidden_size=288, intermediate_size=1024, num_heads=4, out_hidden_size=1024)
    return profile_model(config)


@cache
def weights_of(name: str, cards: int) -> RankWeights:
    """Weights of one rank, by config.json alone."""
    return rank_weights(profile_of(name), cards, Evidence("none", None))


@dataclass(frozen=True)
class Start:
    """One recorded start: its command's numbers, and what its log measured."""

    name: str
    config: str
    cards: int
    available: Optional[float]
    fraction: float
    fraction_given: bool
    running_cap: Optional[int]
    ratio: float
    steps: int
    settings: dict[str, Any]
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
            fraction = _memory.engine_default_fraction(profile_of(row["config"]), RELEASE, H200_MIB, row["cards"], row["steps"] > 0)
        measured = {**(_measured(row["log"]) if row["log"] else {}), **row.get("measured", {})}
        found.append(
            Start(
                row["start"],
                row["config"],
                row["cards"],
                row.get("available"),
                fraction,
                row["fraction"] is not None,
                row["running_cap"],
                row["ratio"],
                row["steps"],
                row.get("settings", {}),
                measured,
            )
        )
    return found


def predict(start: Start, constants: Optional[Calibration] = None) -> dict[str, float]:
    """What the plan says about a start, from its config, its card and its command."""
    kept = _memory.CALIBRATION
    _memory.CALIBRATION = constants or kept
    try:
        profile = profile_of(start.config)
        settings = Fields(start.settings, "settings")
        speculation = speculate(profile, RELEASE, start.steps > 0, settings, start.steps or 3)
        weights = weights_of(start.config, start.cards)
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
    profile = profile_of(start.config)
    slot = _cells.slot_bytes(profile, start.cards, _cells.state_dtype(profile, start.settings.get("mamba_ssm_dtype")))
    cell = _cells.token_bytes(profile, start.cards, 2, profile.layers.count("full_attention"))
    reserved = slot * (start.running_cap or 0) * (start.steps + 1) if start.steps else 0
    rest = (start.measured["tokens"] * cell + start.measured["slots"] * slot + reserved) / GIB
    held = weights_of(start.config, start.cards)
    weights = held.target / GIB
    before = start.measured.get("before", _before(start.cards))
    return [held.vision / GIB, 1.0, 1.0 - start.fraction], before - weights - before * (1.0 - start.fraction) - rest


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
        profile = profile_of(start.config)
        if "graphs" in start.measured:
            graphs.append(start.measured["graphs"] - _graph_tokens(start) * _memory.graph_token_bytes(profile, start.cards) / GIB)
        if "draft_graphs" in start.measured:
            tokens = _graph_tokens(start)
            draft_rows.append([1.0, tokens * profile.hidden_size / GIB])
            draft_values.append(start.measured["draft_graphs"] - tokens * 4.0 * profile.vocab_size / GIB)
    base, hidden = _solve(draft_rows, draft_values)
    return replace(
        _memory.CALIBRATION,
        overhead_vision=share,
        overhead=overhead,
        measured_before=before,
        workspace=sum(spent) / len(spent),
        graph_base=sum(graphs) / len(graphs),
        draft_graph_base=base,
        draft_graph_hidden=hidden,
    )


FITTED = ("overhead_vision", "overhead", "measured_before", "workspace", "graph_base", "draft_graph_base", "draft_graph_hidden")


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
    profile, settings = profile_of("Qwen3.6-27B"), Fields({}, "settings")
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


def _rows(head: str, rows: list[str]) -> str:
    return "\n".join([head, "|" + " --- |" * head.count("|", 1), *rows])


def _story_table(available: float) -> str:
    head = (
        "| `--max-running-requests` | fraction with MTP 1/1/2 | slots, tokens, at once | fraction with MTP 3/1/4 | slots, tokens, at once |"
    )
    columns = [{cap: (fraction, sized) for cap, fraction, sized in pairs(steps, available)} for steps in (1, 3)]
    rows = []
    for cap in sorted({cap for column in columns for cap in column}):
        cells = []
        for column in columns:
            fraction, sized = column.get(cap, (None, None))
            pools = sized.pools if sized is not None else None
            cells += [f"{fraction:.4f}", f"{pools.slots}, {pools.tokens:,}, {pools.running}"] if pools else ["none", "-"]
        rows.append(f"| {cap} | " + " | ".join(cells) + " |")
    return _rows(head, rows)


def _start_row(start: Start, constants: Optional[Calibration]) -> str:
    found, said, wrong = predict(start, constants), start.measured, errors(start, constants)

    def cell(key: str, form: str) -> str:
        return f"{found[key]:{form}} / {said[key]:{form}}" if key in said else "-"

    tokens = f"{cell('tokens', ',.0f')} ({wrong['tokens']:+.2%})" if "tokens" in wrong else "-"
    cells = [cell("weights", ".2f"), cell("slots", ".0f"), tokens, cell("running", ".0f"), cell("after_pools", ".2f"), cell("free", ".2f")]
    return f"| {start.name} | " + " | ".join(cells) + " |"


def _left_out(title: str, every: list[Start], left: list[Start]) -> str:
    constants = fit([start for start in every if start not in left])
    worst: dict[str, float] = {}
    for start in left:
        for name, wrong in errors(start, constants).items():
            worst[name] = max(worst.get(name, 0.0), abs(wrong))
    worst.setdefault("free", 0.0)
    cells = [
        f"{worst['slots']:.0f}",
        f"{worst['running']:.0f}",
        f"{worst['tokens']:.2%}",
        f"{worst['weights']:.2%}",
        f"{worst['free']:.2f}",
    ]
    return f"| {title} | {len(left)} | " + " | ".join(cells) + " |"


def blocks() -> dict[str, str]:
    """The tables of docs/memory.md by the name of their place."""
    every = starts()
    fitted = fit(every)
    head = "| start | weights, GiB | state slots | KV tokens | requests | free after the pools, GiB | free after the start, GiB |"
    groups = [
        ("the 0.6 B checkpoint", [s for s in every if s.config == "tiny"]),
        ("mixtures of experts", [s for s in every if "A3B" in s.config or "A10B" in s.config]),
        ("two cards", [s for s in every if s.cards == 2]),
        ("anything but the 27B", [s for s in every if s.config != "Qwen3.6-27B"]),
    ]
    return {
        "constants": _rows(
            "| constant | in the plan | fitted to all starts |",
            [f"| `{name}` | {getattr(_memory.CALIBRATION, name):g} | {getattr(fitted, name):.4g} |" for name in FITTED],
        ),
        "in sample": _rows(head, [_start_row(start, None) for start in every]),
        "leave one out": _rows(head, [_start_row(start, fit([other for other in every if other is not start])) for start in every]),
        "left out": _rows(
            "| predicted without having seen | starts | slots | requests | KV tokens | weights | free memory, GiB |",
            [_left_out(title, every, left) for title, left in groups],
        ),
        "story 46.23": _story_table(46.23),
        "story 47.1": _story_table(47.1),
    }


def filled(text: str) -> str:
    """docs/memory.md with its tables as they are computed now."""
    for name, table in blocks().items():
        begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        before, _begin, rest = text.partition(begin)
        _old, _end, after = rest.partition(end)
        if not _begin or not _end:
            raise SystemExit(f"docs/memory.md has no place for {name}")
        text = f"{before}{begin}\n{table}\n{end}{after}"
    return text


def main() -> None:
    """Write the tables of docs/memory.md."""
    DOCUMENT.write_text(filled(DOCUMENT.read_text()))


if __name__ == "__main__":
    main()
