#!/usr/bin/env python3
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Keep the tables of docs/gpu.md equal to the records of GPU runs (tests/data/gpu/*.json, made by `make gpu`).

`gpu_tables.py --write` rewrites what stands between the markers; without it, a difference is said and the exit status is 1.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / ".collections"))

from ansible_collections.inference.sglang.plugins.module_utils._log_stages import STAGES

RECORDS, PAGE = ROOT / "tests/data/gpu", ROOT / "docs/gpu.md"
BEGIN, END = "<!-- runs:begin -->", "<!-- runs:end -->"
STARTS = ("first", "second", "rollback")
ROWS = {
    "weights_gib": "weights, GiB",
    "state_slots": "state slots",
    "kv_tokens": "KV tokens",
    "max_running_requests": "running requests",
    "after_pools_gib": "free after the pools, GiB",
    "free_gib": "free after the start, GiB",
    "mem_fraction_static": "memory fraction",
    "attention_backend": "attention backend",
    "page_size": "page size",
    "speculative_algorithm": "speculation",
}


def shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, (int, float)) else str(value)


def compared(starts: dict[str, Any]) -> list[str]:
    """Predicted and seen, for each start of one run."""
    lines = ["| predicted / seen | " + " | ".join(STARTS) + " |", "| --- |" + " --- |" * len(STARTS)]
    for key, title in ROWS.items():
        cells = []
        for name in STARTS:
            pair = starts[name]["compared"].get(key)
            cells.append(f"{shown(pair['predicted'])} / {shown(pair['actual'])}" if pair else "-")
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return lines


def times(starts: dict[str, Any]) -> list[str]:
    """Seconds of the stages that took one at least somewhere, and what the probe found."""
    taken = {name: starts[name]["seconds_of_stages"] for name in STARTS}
    known = ["process", *(stage.name for stage in STAGES)]
    stages = sorted(
        {stage for seconds in taken.values() for stage, value in seconds.items() if value}, key=lambda name: (known + [name]).index(name)
    )
    lines = ["| seconds | " + " | ".join(STARTS) + " |", "| --- |" + " --- |" * len(STARTS)]
    for stage in stages:
        lines.append(f"| {stage} | " + " | ".join(f"{taken[name].get(stage, 0):.0f}" for name in STARTS) + " |")
    lines.append("| **to ready** | " + " | ".join(f"**{starts[name]['seconds_to_ready']:.0f}**" for name in STARTS) + " |")
    for key, title in (("accept_length", "accept length"), ("tokens_per_second", "tokens a second, one request")):
        values = [starts[name]["probe"].get(key) for name in STARTS]
        if any(value is not None for value in values):
            lines.append(f"| {title} | " + " | ".join("-" if value is None else str(value) for value in values) + " |")
    return lines


def section(record: dict[str, Any]) -> list[str]:
    """One run."""
    versions, starts = record["versions"], record["starts"]
    shape = f"`{record['shape']}`" + (", dummy weights" if starts["first"]["probe"]["structure_only"] else "")
    lines = [f"## {record['date'][:10]}: SGLang {versions['sglang']}, {shape}", ""]
    used = f"torch {versions['torch']}, Python {versions['python']}; commit {record['commit'][:7]}"
    lines += [f"- {len(record['cards'])} x {record['cards'][0]}; {used}"]
    lines += [f"- Service manager: {record['service_manager']}."]
    if record["skipped_roles"]:
        lines += [f"- Left out by tag: {', '.join(sorted(record['skipped_roles']))}."]
    lines += [f"- Kernels: {starts['first']['kernels']}; the dispatcher's line came {starts['first']['dispatcher_lines']} times."]
    return [*lines, "", *compared(starts), "", *times(starts), ""]


def render(records: list[dict[str, Any]]) -> str:
    ordered = sorted(records, key=lambda record: (record["date"], record["shape"]))
    return "\n".join(line for record in ordered for line in section(record)).rstrip() + "\n"


def page(text: str, records: list[dict[str, Any]]) -> str:
    """The page with its tables made anew."""
    head, rest = text.split(BEGIN)
    return f"{head}{BEGIN}\n{render(records)}{END}{rest.split(END)[1]}"


def main(argv: list[str]) -> int:
    before = PAGE.read_text()
    after = page(before, [json.loads(path.read_text()) for path in sorted(RECORDS.glob("*.json"))])
    if argv == ["--write"]:
        PAGE.write_text(after)
    elif before != after:
        print(f"{PAGE.relative_to(ROOT)} differs from the records; run scripts/gpu_tables.py --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
