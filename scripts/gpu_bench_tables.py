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
CROSSOVER, FEW = ("ours-1.5", "ours", "ours-3.5"), ("ours-throughput", "ours", "ours-low-latency")
AT_ONCE = (1, 4, 16, 43)
TIMES = ("latency_p50", "latency_p95", "first_token_p50", "first_token_p95")


@dataclass(frozen=True)
class Row:
    """One server, as one release ran it: all its starts, in order."""

    release: str
    runs: tuple[dict[str, Any], ...]
    card_mib: int

    @property
    def run(self) -> dict[str, Any]:
        """The first start, for what is the same in all of them."""
        return self.runs[0]

    @property
    def name(self) -> str:
        return str(self.run["name"])

    @property
    def drafts(self) -> Optional[float]:
        found: Optional[float] = self.run["simulated_accept_length"]
        return found

    def loads(self, name: str) -> list[dict[str, Any]]:
        """What was seen of a load, once for each start that was sent it."""
        found = [run["loads"].get(name) or {} for run in self.runs]
        return [sent for sent in found if sent.get("tokens_per_second")]

    def middle(self, load: str, key: str) -> Optional[float]:
        """The median of a figure under a load."""
        found = [sent[key] for sent in self.loads(load) if sent.get(key) is not None]
        return median(found) if found else None


def rows_of(records: Sequence[dict[str, Any]]) -> list[Row]:
    """Every server of every release, in the order in which they first ran; what was left out is no start."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    card_mib: dict[tuple[str, str], int] = {}
    for record in records:
        for run in record["runs"]:
            if "start" in run:
                key = (record["versions"]["sglang"], run["name"])
                found.setdefault(key, []).append(run)
                card_mib.setdefault(key, record["cards"][0]["memory_mib"])
    return [Row(key[0], tuple(runs), card_mib[key]) for key, runs in found.items()]


def speed(rows: Sequence[Row], name: str, load: str) -> Optional[float]:
    """Tokens a second of a server under a load, the median where it ran more than once."""
    return next((row.middle(load, "tokens_per_second") for row in rows if row.name == name), None)


def table(head: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    return ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head), *("| " + " | ".join(line) + " |" for line in body), ""]


def ratio(value: Optional[float], base: Optional[float]) -> str:
    return f"{value / base:.2f}" if value and base else "-"


def drafting(row: Row) -> str:
    return f"simulated {row.drafts}" if row.drafts else "off"


def spread(row: Row, load: str, key: str) -> str:
    """The median, and between what it is where there are several."""
    found = [sent[key] for sent in row.loads(load) if sent.get(key) is not None]
    if not found:
        return "-"
    middle = f"{median(found):,.0f}"
    return middle if len(found) == 1 else f"{middle} ({min(found):,.0f} to {max(found):,.0f})"


def of_load(rows: Sequence[Row], load: str) -> list[str]:
    """One load on every server that got it."""
    head = ["server", "what", "drafts accepted", "places", "at once", "runs", "tokens/s", "to the cookbook", "decoding, tokens/s"]
    body = []
    for row in rows:
        sent = row.loads(load)
        if sent:
            base = speed(rows, BASE_DRAFTING if row.drafts else BASE_PLAIN, load)
            middle = {key: row.middle(load, key) or 0.0 for key in TIMES}
            whole = f"{middle['latency_p50']:.1f} / {middle['latency_p95']:.1f}"
            first = f"{middle['first_token_p50']:.1f} / {middle['first_token_p95']:.1f}"
            places, at_once = str(row.run["start"]["figures"]["max_running_requests"]), str(max(one["running_at_once"] for one in sent))
            against = ratio(row.middle(load, "tokens_per_second"), base)
            cells = [f"`{row.name}`", row.run["what"], drafting(row), places, at_once, str(len(sent))]
            cells += [spread(row, load, "tokens_per_second"), against, spread(row, load, "decoding_tokens_per_second"), whole, first]
            body.append(cells)
    return table([*head, "latency p50 / p95, s", "first token p50 / p95, s"], body)


def crossover(rows: Sequence[Row]) -> list[str]:
    """Drafting against not drafting, by how many requests run at once; the balanced plan, whose places are the same for all lengths."""
    plans = sorted((row for row in rows if row.name in CROSSOVER and row.loads("at-4")), key=lambda row: row.drafts or 0)
    head = ["at once", "no drafting", *(f"simulated {row.drafts}" for row in plans)]
    body = []
    for count in AT_ONCE:
        base = speed(rows, BASE_CROSSOVER, f"at-{count}")
        cells = [str(count), f"{base:,.0f}" if base else "-"]
        for row in plans:
            found = row.middle(f"at-{count}", "tokens_per_second")
            cells.append(f"{found:,.0f} ({ratio(found, base)})" if found else "-")
        body.append(cells)
    return table(head, body)


def few(rows: Sequence[Row]) -> list[str]:
    """The low-latency plan beside the balanced one, where few requests run at once."""
    plans = [row for row in rows if row.name in FEW and row.loads("at-1")]
    head = ["at once", *(f"{figure} of `{row.name}`" for row in plans for figure in ("tokens/s", "latency p50, s"))]
    body = []
    for count in AT_ONCE[:3]:
        cells = [str(count)]
        for row in plans:
            found = row.middle(f"at-{count}", "tokens_per_second"), row.middle(f"at-{count}", "latency_p50")
            cells += ["-" if value is None else f"{value:,.{digits}f}" for value, digits in zip(found, (0, 1))]
        body.append(cells)
    return table(head, body)


def memory(rows: Sequence[Row]) -> list[str]:
    """What each plan said, what the engine said, and what was left in the worst moment of all loads of all its starts."""
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

        used = [sent["used_mib"] for run in row.runs for sent in run["loads"].values() if sent.get("used_mib")]
        worst: dict[str, Any] = next((run["loads"]["worst"] for run in row.runs if "worst" in run["loads"]), {})
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
    for run in (run for row in rows for run in row.runs):
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
        lines += [f"- `{run['name']}`: `{words}`{changed}{ended}{died}"]
    return [*lines, ""]


def ran(records: Sequence[dict[str, Any]]) -> list[str]:
    lines = []
    for record in records:
        card, versions = record["cards"][0], record["versions"]
        machine = f"{len(record['cards'])} x {card['name']}, {card['memory_mib']} MiB, driver {record['driver']}"
        used = f"SGLang {versions['sglang']}, torch {versions['torch']}, Python {versions['python']}"
        lines.append(f"- {record['date'][:16].replace('T', ' ')} UTC: {machine}; {used}; commit {record['commit'][:7]}")
    return [*lines, ""]


def of_release(rows: Sequence[Row], mark: str) -> list[str]:
    """The tables of one release, those that have a line."""
    parts: list[str] = []
    for title, made, there in (
        ("96 requests of 1024 tokens in, 512 out", of_load(rows, "96"), any(row.loads("96") for row in rows)),
        ("32 requests of 7680 tokens in, 512 out", of_load(rows, "8k"), any(row.loads("8k") for row in rows)),
        ("When drafting pays: 1024 tokens in, 256 out, all at once, tokens/s", crossover(rows), any(row.loads("at-43") for row in rows)),
        ("Few at once: 1024 tokens in, 256 out", few(rows), any(row.name == FEW[-1] for row in rows)),
        ("Memory: planned / seen, and the worst case", memory(rows), True),
        ("The commands", commands(rows), True),
    ):
        if there:
            parts += [f"## {title}{mark}", "", *made]
    return parts


def render(records: Sequence[dict[str, Any]]) -> str:
    """All tables, a release after the other: figures of two releases are never in one."""
    ordered = sorted(records, key=lambda record: str(record["date"]))
    rows = rows_of(ordered)
    releases = list(dict.fromkeys(row.release for row in rows))
    parts = ran(ordered)
    for release in releases:
        mark = "" if release == releases[0] else f" (SGLang {release})"
        parts += of_release([row for row in rows if row.release == release], mark)
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
