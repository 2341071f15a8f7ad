# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A fleet's state as tables for a person. Pure text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

LIVE = ("host", "instance", "unit", "restarts", "since", "answers", "plan")
ACCEPTED = ("host", "instance", "release", "SGLang", "model", "revision", "accepted", "accept length", "tokens/s")
ROLLOUT = ("host", "instance", "rollout", "phase", "when", "in its balancer", "verdict")


def status_table(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """What runs, what was accepted, and what there is to say of each; a value that nobody knows is a dash."""
    if not rows:
        return ["no hosts"]
    names = [(str(row.get("host") or ""), str(row.get("instance") or "")) for row in rows]
    deployed = [(name, row) for name, row in zip(names, rows) if row.get("deployed")]
    lines = _table(LIVE, [[*name, *_live(row)] for name, row in zip(names, rows)])
    if deployed:
        lines += ["", *_table(ACCEPTED, [[*name, *_accepted(row)] for name, row in deployed])]
    rolled = [(name, row, row["rollout"]) for name, row in zip(names, rows) if (row.get("rollout") or {}).get("phase")]
    if rolled:
        lines += ["", *_table(ROLLOUT, [[*name, *_rollout(row, record)] for name, row, record in rolled])]
    notes = [f"{host} {instance}".strip() + f": {note}" for (host, instance), row in zip(names, rows) for note in row.get("notes") or []]
    return lines + ([""] if notes else []) + notes


def _live(row: Mapping[str, Any]) -> list[Any]:
    plan = {"True": "as accepted", "False": "differs"}.get(str(row.get("as_planned")), "")
    return [row.get("active"), row.get("restarts"), _moment(row.get("since")), row.get("answers"), plan]


def _accepted(row: Mapping[str, Any]) -> list[Any]:
    probe = row.get("probe") or {}
    return [
        row.get("release"),
        row.get("sglang"),
        str(row.get("model") or "").rsplit("/", 1)[-1],
        str(row.get("revision") or "")[:8],
        _moment(row.get("accepted_at")),
        probe.get("accept_length"),
        probe.get("tokens_per_second"),
    ]


def _rollout(row: Mapping[str, Any], record: Mapping[str, Any]) -> list[Any]:
    words = [str(record.get("code") or ""), str(record.get("verdict") or "")]
    back = "no" if row.get("out") else "yes"
    return [record.get("rollout"), record.get("phase"), _moment(record.get("at")), back, ": ".join(word for word in words if word)]


def _moment(text: Any) -> str:
    """`2026-11-30T02:14:05Z` and systemd's `Mon 2026-11-30 02:14:05 UTC` to the minute."""
    words = str(text or "").replace("T", " ").split()
    day = next((index for index, word in enumerate(words) if word[:1].isdigit()), None)
    return " ".join(words[day : day + 2])[:16] if day is not None else ""


def _table(titles: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    cells = [list(titles)] + [["-" if cell in (None, "") else str(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(titles))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in cells]
