#!/usr/bin/env python3
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Keep the tables of docs/gpu-bench.md equal to the records of the GPU benchmark (tests/data/gpu_bench/*.json, made by `make gpu-bench`).

`gpu_bench_tables.py --write` rewrites what stands between the markers; without it, a difference is said and the exit status is 1.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Optional

ROOT = Path(__file__).resolve().parent.parent
RECORDS, PAGE = ROOT / "tests/data/gpu_bench", ROOT / "docs/gpu-bench.md"
BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"
BASE_DRAFTING, BASE_PLAIN, BASE_CROSSOVER = "cookbook", "cookbook-no-drafts", "ours-throughput"
AT_ONCE = (1, 4, 16, 43)


@dataclass(frozen=True)
class Row:
    """One server that was started, and the machine of its record."""

    run: dict[str, Any]
    card_mib: int

    @property
    def name(self) -> str:
        return str(self.run["name"])

    @property
    def drafts(self) -> Optional[float]:
        found: Optional[float] = self.run["simulated_accept_length"]
        return found

    def load(self, name: str) -> Optional[dict[str, Any]]:
        """A load that was sent; None where it was not."""
        found: dict[str, Any] = self.run["loads"].get(name) or {}
        return found if found.get("tokens_per_second") else None


def rows_of(records: Sequence[dict[str, Any]]) -> list[Row]:
    """Every server of every record, in order; what was left out is no row."""
    return [Row(run, record["cards"][0]["memory_mib"]) for record in records for run in record["runs"] if "start" in run]


def speed(rows: Sequence[Row], name: str, load: str) -> Optional[float]:
    """Tokens a second of a server under a load, the median where it ran more than once."""
    found = [sent["tokens_per_second"] for row in rows if row.name == name for sent in [row.load(load)] if sent]
    return median(found) if found else None


def table(head: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    return ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head), *("| " + " | ".join(line) + " |" for line in body), ""]


def ratio(value: Optional[float], base: Optional[float]) -> str:
    return f"{value / base:.2f}" if value and base else "-"


def drafting(row: Row) -> str:
    return f"simulated {row.drafts}" if row.drafts else "off"


def of_load(rows: Sequence[Row], load: str) -> list[str]:
    """One load on every server that got it."""
    head = [
        "server",
        "what",
        "drafts accepted",
        "places",
        "at once",
        "tokens/s",
        "to the cookbook",
        "decoding, tokens/s",
        "latency p50 / p95, s",
        "first token p50 / p95, s",
    ]
    body = []
    for row in rows:
        sent = row.load(load)
        if sent:
            base = speed(rows, BASE_DRAFTING if row.drafts else BASE_PLAIN, load)
            whole = f"{sent['latency_p50']:.1f} / {sent['latency_p95']:.1f}"
            first = f"{sent['first_token_p50']:.1f} / {sent['first_token_p95']:.1f}"
            places, at_once = str(row.run["start"]["figures"]["max_running_requests"]), str(sent["running_at_once"])
            each = f"{sent['tokens_per_second']:,.0f}"
            decoding = f"{sent['decoding_tokens_per_second']:,.0f}" if sent.get("decoding_tokens_per_second") else "-"
            against = ratio(sent["tokens_per_second"], base)
            body.append([f"`{row.name}`", row.run["what"], drafting(row), places, at_once, each, against, decoding, whole, first])
    return table(head, body)


def crossover(rows: Sequence[Row]) -> list[str]:
    """Drafting against not drafting, by how many requests run at once."""
    plans = sorted((row for row in rows if row.drafts and not row.run["published"] and row.load("at-4")), key=lambda row: row.drafts or 0)
    head = ["at once", "no drafting", *(f"simulated {row.drafts}" for row in plans)]
    body = []
    for count in AT_ONCE:
        base = speed(rows, BASE_CROSSOVER, f"at-{count}")
        cells = [str(count), f"{base:,.0f}" if base else "-"]
        for row in plans:
            sent = row.load(f"at-{count}")
            cells.append(f"{sent['tokens_per_second']:,.0f} ({ratio(sent['tokens_per_second'], base)})" if sent else "-")
        body.append(cells)
    return table(head, body)


def memory(rows: Sequence[Row]) -> list[str]:
    """What each plan said, what the engine said, and what was left in the worst moment of all loads."""
    head = [
        "server",
        "fraction",
        "state slots",
        "KV tokens",
        "places",
        "free after the start, GiB",
        "least free under load, GiB",
        "worst case answered",
    ]
    body = []
    for row in rows:
        figures, planned = row.run["start"]["figures"], row.run["predicted"] or {}
        if not figures.get("max_running_requests"):
            continue

        def both(key: str, seen: Any, planned: dict[str, Any] = planned) -> str:
            return f"{planned[key]:,} / {seen:,}" if planned else f"{seen:,}"

        used = [sent["used_mib"] for sent in row.run["loads"].values() if sent.get("used_mib")]
        worst = row.run["loads"].get("worst") or {}
        body.append(
            [
                f"`{row.name}`",
                str(figures["mem_fraction_static"]),
                both("state_slots", figures["ranks"]["TP0"]["state_slots"]),
                both("kv_tokens", figures["max_total_num_tokens"]),
                both("max_running_requests", figures["max_running_requests"]),
                both("free_gib", figures["available_gpu_mem_gb"]),
                f"{(row.card_mib - max(used)) / 1024:.1f}" if used else "-",
                f"{worst['answered']} of {worst['requests']}" if worst.get("requests") else "-",
            ]
        )
    return table(head, body)


def commands(rows: Sequence[Row]) -> list[str]:
    """Each server's command, and what became of those that did not serve."""
    lines, seen = [], set()
    for row in rows:
        run = row.run
        words = " ".join([*(f"{name}={value}" for name, value in sorted(run["env"].items())), *run["argv"]])
        if words in seen:
            continue
        seen.add(words)
        changed = f" Changed of what is published: {run['changed']}." if run["changed"] else ""
        ended = (
            ""
            if run["start"]["verdict"] == "ready"
            else f" **Did not start**: {run['start']['cause']['what']} ({run['start']['cause']['code']})."
        )
        died = f" **Died**: {run['died']}." if run.get("died") else ""
        lines += [f"- `{row.name}`: `{words}`{changed}{ended}{died}"]
    return [*lines, ""]


def ran(records: Sequence[dict[str, Any]]) -> list[str]:
    lines = []
    for record in records:
        card, versions = record["cards"][0], record["versions"]
        machine = f"{len(record['cards'])} x {card['name']}, {card['memory_mib']} MiB, driver {record['driver']}"
        used = f"SGLang {versions['sglang']}, torch {versions['torch']}, Python {versions['python']}"
        lines.append(f"- {record['date'][:16].replace('T', ' ')} UTC: {machine}; {used}; commit {record['commit'][:7]}")
    return [*lines, ""]


def render(records: Sequence[dict[str, Any]]) -> str:
    """All tables."""
    ordered = sorted(records, key=lambda record: str(record["date"]))
    rows = rows_of(ordered)
    parts = [*ran(ordered), "## 96 requests of 1024 tokens in, 512 out", "", *of_load(rows, "96")]
    parts += ["## 32 requests of 7680 tokens in, 512 out", "", *of_load(rows, "8k")]
    parts += ["## When drafting pays: 1024 tokens in, 256 out, all at once, tokens/s", "", *crossover(rows)]
    parts += ["## Memory: planned / seen, and the worst case", "", *memory(rows)]
    parts += ["## The commands", "", *commands(rows)]
    return "\n".join(parts)


def page(text: str, records: Sequence[dict[str, Any]]) -> str:
    """The page with its tables made anew."""
    head, rest = text.split(BEGIN)
    return f"{head}{BEGIN}\n{render(records)}{END}{rest.split(END)[1]}"


def main(argv: list[str]) -> int:
    before = PAGE.read_text()
    after = page(before, [json.loads(path.read_text()) for path in sorted(RECORDS.glob("*.json"))])
    if argv == ["--write"]:
        PAGE.write_text(after)
    elif before != after:
        print(f"{PAGE.relative_to(ROOT)} differs from the records; run scripts/gpu_bench_tables.py --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
