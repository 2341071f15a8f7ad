#!/usr/bin/env python3
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""One JSON record of a run of the GPU scenario: `record.py FOLDER`, the machine's facts on standard input. Standard library only.

Reads FOLDER/parts/*.json, what each start showed, and writes FOLDER/record.json. Sizes are GiB a rank (the engine prints them as "GB").
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FORMAT = 1
STARTS = ("first", "second", "rollback")
# What a plan says of a rank, and where the engine's log says the same.
_RANK = {
    "weights_gib": "weights_gb",
    "state_slots": "state_slots",
    "kv_tokens": "kv_tokens",
    "after_pools_gib": "free_after_pools_gb",
}
_ENGINE = {"max_running_requests": "max_running_requests", "free_gib": "available_gpu_mem_gb"}
_RESOLVED = ("attention_backend", "page_size", "mem_fraction_static", "tp_size", "speculative_algorithm")


def compared(plan: Mapping[str, Any], figures: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Name → {predicted, actual}. Of several ranks the one with the least free memory counts, as the engine itself takes it."""
    expected = (plan.get("memory") or {}).get("per_rank") or {}
    ranks = list((figures.get("ranks") or {}).values())
    rank = min(ranks, key=lambda each: each.get("free_after_pools_gb", 0.0), default={})
    pairs = {name: (expected.get(name), rank.get(key)) for name, key in _RANK.items()}
    pairs |= {name: (expected.get(name), figures.get(key)) for name, key in _ENGINE.items()}
    resolved = plan.get("predicted") or {}
    pairs |= {name: (resolved.get(name), figures.get(name)) for name in _RESOLVED}
    return {name: {"predicted": left, "actual": right} for name, (left, right) in pairs.items() if (left, right) != (None, None)}


def seconds_of_stages(stages: list[Mapping[str, Any]]) -> dict[str, float]:
    """Stage → how long it took, of the seconds at which each began."""
    ends = [float(stage["at_s"]) for stage in stages[1:]]
    return {str(stage["stage"]): round(end - float(stage["at_s"]), 1) for stage, end in zip(stages, ends)}


def start_record(part: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of one start."""
    gate, probe, check = part.get("gate") or {}, part.get("probe") or {}, part.get("engine_check") or {}
    stages = gate.get("stages") or []
    return {
        "release": part.get("release"),
        "compared": compared(part.get("plan") or {}, gate.get("figures") or {}),
        "kernels": (gate.get("dispatcher") or {}).get("kernels"),
        "dispatcher_lines": (gate.get("dispatcher") or {}).get("seen"),
        "seconds_of_stages": seconds_of_stages(stages),
        "seconds_to_ready": stages[-1]["at_s"] if stages else None,
        "engine_check_seconds": check.get("seconds"),
        "engine_check_mismatches": check.get("mismatches") or [],
        "plan_warnings": (part.get("plan") or {}).get("warnings") or [],
        "log_warnings": gate.get("warnings_seen") or [],
        "probe": {key: probe.get(key) for key in ("structure_only", "answer", "accept_length", "tokens_per_second", "seconds")},
        "argv": (part.get("plan") or {}).get("argv"),
        "figures": gate.get("figures") or {},
    }


def record_of(facts: Mapping[str, Any], parts: Mapping[str, Mapping[str, Any]], date: str) -> dict[str, Any]:
    """The whole record."""
    first, parts = parts.get("first") or {}, dict(parts)
    if "rollback" in parts:
        # Nothing is planned or checked on the way back: the plan is the one that this release had.
        plans = [part.get("plan") for part in parts.values() if part.get("release") == parts["rollback"].get("release")]
        parts["rollback"] = {**parts["rollback"], "plan": plans[0], "engine_check": {}}
    return {
        "format": FORMAT,
        "date": date,
        **{key: facts.get(key) for key in ("commit", "shape", "cards", "versions", "service_manager", "skipped_roles")},
        "preflight": (parts.get("preflight") or {}).get("preflight") or [],
        "sandbox": first.get("unit_check") or [],
        "starts": {name: start_record(parts[name]) for name in STARTS if name in parts},
    }


def main(folder: str) -> None:
    """Read, make, write."""
    place = Path(folder)
    parts = {path.stem: json.loads(path.read_text()) for path in sorted((place / "parts").glob("*.json"))}
    record = record_of(json.load(sys.stdin), parts, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    (place / "record.json").write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
