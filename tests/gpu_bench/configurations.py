# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the GPU benchmark compares: published commands and this collection's plans for Qwen3.6-27B, each with its loads, in order of worth.

All run on dummy weights, which accept no draft token. A command that drafts gets the engine's own SGLANG_SIMULATE_ACC_LEN (SGLang 0.5.11
environ.py:206), so that its speed is that of a model whose drafts are accepted so often: simulated, and said so. Plans refuse to set it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._launch_plan import launch_plan
from ansible_collections.inference.sglang.plugins.module_utils._releases import release_of

from tests.bench_plan.published import command_of
from tests.gpu_bench.loads import LOADS, WORST

MODEL = "Qwen3.6-27B"
CONFIG = Path(__file__).resolve().parents[2] / "inventories/lab/models" / MODEL / "config.json"
SIMULATE = "SGLANG_SIMULATE_ACC_LEN"
SIMULATED = 2.5
MTP = {"speculative_algorithm": "NEXTN", "speculative_num_steps": 3, "speculative_eagle_topk": 1, "speculative_num_draft_tokens": 4}
PUBLISHED_CARD, PUBLISHED_COOKBOOK = "card", "cookbook"
CROSSOVER = ("at-1", "at-4", "at-16", "at-43")


@dataclass(frozen=True)
class Wanted:
    """One thing to start: a published command by its publisher, or a plan by its settings and declared load; and what to send it."""

    name: str
    what: str
    loads: tuple[str, ...]
    accept: Optional[float] = None
    """The simulated accept length of one that drafts."""
    published: str = ""
    without_drafts: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    workload: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Command:
    """A server to start: arguments after the program, environment, what its log must show, what was planned for it."""

    argv: list[str]
    env: dict[str, str]
    gate: Mapping[str, Any]
    predicted: Optional[Mapping[str, Any]] = None
    changed: str = ""
    """What had to be changed of a published command."""


_SHORT = {"context_tokens": 2048}
_MANY = {**_SHORT, "profile": "throughput"}
_LONG = {"context_tokens": 8192}
_BF16 = {"mamba_ssm_dtype": "bfloat16"}
_HIGHER, _HIGHEST = {"mem_fraction_static": 0.92}, {"mem_fraction_static": 0.95}
WANTED = (
    Wanted("cookbook", "SGLang's cookbook", (*CROSSOVER[:3], "96", "8k", "worst"), SIMULATED, published=PUBLISHED_COOKBOOK),
    Wanted("ours", "plan for 2K, balanced", (*CROSSOVER, "96", "worst"), SIMULATED, settings=MTP, workload=_SHORT),
    Wanted("ours-throughput", "plan for 2K, throughput", (*CROSSOVER, "96", "worst"), workload=_MANY),
    Wanted("cookbook-no-drafts", "SGLang's cookbook without drafting", ("at-16", "96", "8k"), published="cookbook", without_drafts=True),
    Wanted("ours-1.5", "plan for 2K, balanced", CROSSOVER, 1.5, settings=MTP, workload=_SHORT),
    Wanted("ours-3.5", "plan for 2K, balanced", CROSSOVER, 3.5, settings=MTP, workload=_SHORT),
    Wanted("ours-0.92", "balanced, fraction 0.92", ("96", "worst"), SIMULATED, settings={**MTP, **_HIGHER}, workload=_SHORT),
    Wanted("ours-bf16", "balanced, bf16 states", ("at-43", "96", "worst"), SIMULATED, settings={**MTP, **_BF16}, workload=_SHORT),
    Wanted("ours-throughput-bf16", "throughput, bf16 states", ("96", "worst"), settings=_BF16, workload=_MANY),
    Wanted("ours-8k", "plan for 8K, balanced", ("8k", "worst"), SIMULATED, settings=MTP, workload=_LONG),
    Wanted(
        "ours-throughput-no-cache",
        "throughput, no prefix cache",
        ("96", "worst"),
        settings={"disable_radix_cache": True},
        workload={**_MANY, "concurrency": 96},
    ),
    Wanted("ours-throughput-0.92", "throughput, fraction 0.92", ("96", "worst"), settings=_HIGHER, workload=_MANY),
    Wanted("ours-throughput-8k", "plan for 8K, throughput", ("8k",), workload={**_LONG, "profile": "throughput"}),
    Wanted(
        "ours-low-latency",
        "plan for 2K, low latency",
        ("at-1", "at-4", "at-16", "worst"),
        SIMULATED,
        settings=MTP,
        workload={**_SHORT, "profile": "low-latency"},
    ),
    Wanted("ours-0.95", "balanced, fraction 0.95", ("96", "worst"), SIMULATED, settings={**MTP, **_HIGHEST}, workload=_SHORT),
    Wanted("card", "the model card", ("96",), SIMULATED, published=PUBLISHED_CARD),
)


def _drafting(argv: Sequence[str]) -> bool:
    return any(word.startswith("--speculative-algo") for word in argv)


def _without_drafts(argv: Sequence[str]) -> list[str]:
    """A command without its speculative arguments; each of them has one value."""
    kept: list[str] = []
    skip = False
    for word in argv:
        if not skip and not word.startswith("--speculative-"):
            kept.append(word)
        skip = word.startswith("--speculative-") and "=" not in word
    return kept


def _put(argv: Sequence[str], values: Mapping[str, str]) -> list[str]:
    """The command with these options, in the place of its own where it has them."""
    found = list(argv)
    for option, value in values.items():
        if option in found:
            found[found.index(option) + 1] = value
        else:
            found += [option, value]
    return found


def published_command(wanted: Wanted, release: str, cards: Sequence[Mapping[str, Any]], where: Mapping[str, Any]) -> Command:
    """A published command, with this model's folder, this port, this number of GPUs and dummy weights. An option that this release spells
    otherwise is spelled its way: the command is for the newest release."""
    card = str(cards[0]["name"]).rpartition(" ")[2]
    found = command_of(wanted.published, MODEL, card, str(where["model_path"]), len(cards))
    if found is None:
        raise ValueError(f"no command of the {wanted.published} for {MODEL}")
    changed = [found.changed] if found.changed else []
    own = "--" + release_of(release, allow_unverified=True).strategy_option.replace("_", "-")
    argv = []
    for word in found.argv:
        if word.startswith("--mamba-") and word.endswith("-strategy") and word != own:
            changed.append(f"{word} -> {own}")
            word = own
        argv.append(word)
    if wanted.without_drafts:
        argv = _without_drafts(argv)
        changed.append("no --speculative-*")
    argv = _put(argv, {"--host": str(where["host"]), "--port": str(where["port"]), "--load-format": "dummy"})
    drafts = {} if _drafting(argv) else {"speculative_algorithm": "none"}
    # What a start of this model logs is in any plan for it.
    gate = _plan(release, cards, {**where, **drafts}, {})["gate"]
    return Command(argv, dict(found.env), gate, changed=", ".join(changed))


def _plan(release: str, cards: Sequence[Mapping[str, Any]], settings: Mapping[str, Any], workload: Mapping[str, Any]) -> dict[str, Any]:
    """A plan for the release that is there, verified or not: the run itself is what shows whether it is right."""
    config = json.loads(CONFIG.read_text())
    return launch_plan(config, release, list(cards), settings=dict(settings), workload=dict(workload), allow_unverified_release=True)


def command(wanted: Wanted, release: str, cards: Sequence[Mapping[str, Any]], where: Mapping[str, Any]) -> Command:
    """What to start. ``cards``: [{name, memory_mib, compute_capability}]; ``where``: model_path, host, port."""
    if wanted.published:
        found = published_command(wanted, release, cards, where)
    else:
        settings = {**where, "load_format": "dummy", **wanted.settings}
        plan = _plan(release, cards, settings, wanted.workload)
        found = Command(plan["argv"], dict(plan["env"]), plan["gate"], plan["memory"]["per_rank"])
    if _drafting(found.argv) and wanted.accept is not None:
        found.env[SIMULATE] = str(wanted.accept)
    return found


def chosen(names: Sequence[str]) -> list[Wanted]:
    """Those named, in the order of the names; all where none is named."""
    known = {wanted.name: wanted for wanted in WANTED}
    missing = [name for name in names if name not in known]
    if missing:
        raise ValueError(f"no configuration {', '.join(missing)}; there are: {', '.join(known)}")
    return [known[name] for name in names] if names else list(WANTED)


def with_loads(wanted: Wanted, names: str) -> Wanted:
    """The same with only these of its loads, in its order; with all of them where none is named."""
    kept = set(names.split(",")) if names else set(wanted.loads)
    unknown = sorted(kept - {*LOADS, WORST})
    if unknown:
        raise ValueError(f"no load {', '.join(unknown)}; there are: {', '.join((*LOADS, WORST))}")
    return replace(wanted, loads=tuple(load for load in wanted.loads if load in kept))
