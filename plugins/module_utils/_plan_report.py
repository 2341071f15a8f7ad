# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A launch plan as lines that a person reads in a terminal: what, why, from where, does it fit. Pure text."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Optional

WIDTH = 112
_COLUMN = 44
_SOURCES = {"target": "the host", "hub": "the hub", "inventory": "the inventory"}


# What the figures rest on; docs/memory.md has the starts.
_EVIDENCE = {
    "basis": {
        "measured": "by rules that met recorded starts on such cards",
        "calculated": "calculated; never measured on such cards with this release",
    },
    "evidence": {"headers": "weights from the shards' headers", "index": "weights from the index", "config": "weights from config.json"},
}


def _wrapped(text: str, indent: str, width: int) -> list[str]:
    return textwrap.wrap(
        text, width=width, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    ) or [indent.rstrip()]


def flags_of(argv: Sequence[str]) -> list[tuple[str, str]]:
    """The options of a command with their values; a bare switch has none."""
    found: list[tuple[str, str]] = []
    for word in argv:
        if word.startswith("--"):
            flag, equals, value = word.partition("=")
            found.append((flag, value if equals else ""))
        elif found:
            flag, value = found[-1]
            found[-1] = (flag, f"{value} {word}".strip())
        else:
            found.append((word, ""))
    return found


def _flag_lines(plan: Mapping[str, Any], width: int) -> list[str]:
    reasons = {reason["flag"]: reason for reason in plan.get("reasons", [])}
    lines = []
    for flag, value in flags_of([str(word) for word in plan.get("argv", [])]):
        reason = reasons.pop(flag, None)
        left = f"  {flag} {value}".rstrip()
        why = "" if reason is None else f"{reason['why']} [{reason['source']}]"
        rest = _wrapped(why, " " * _COLUMN, width) if why else []
        if rest and len(left) < _COLUMN - 1:
            rest[0] = left.ljust(_COLUMN) + rest[0].lstrip()
            lines += rest
        else:
            lines += [left, *rest]
    for flag, reason in reasons.items():
        lines += [f"  (no {flag})", *_wrapped(f"{reason['why']} [{reason['source']}]", " " * _COLUMN, width)]
    return lines


def _memory_lines(memory: Mapping[str, Any], width: int) -> list[str]:
    lines = []
    if memory.get("sum"):
        basis = "; ".join(words[memory[key]] for key, words in _EVIDENCE.items() if memory.get(key) in words)
        lines.append(f"Memory of each rank, GiB ({basis})" if basis else "Memory of each rank, GiB")
        lines += [f"  {float(item['gib']):9.2f}  {item['what']}" for item in memory["sum"]]
    fits = memory.get("fits")
    verdict = "NOT PLANNED" if fits is None else "FITS" if fits else "DOES NOT FIT"
    lines += _wrapped(f"Memory: {verdict}: {memory.get('why', 'no figures')}", "", width)
    for item in memory.get("alternatives") or []:
        text = item.get("text", item) if isinstance(item, Mapping) else item
        lines += _wrapped(f"- {text}", "  ", width)
    return lines


def _difference_lines(result: Mapping[str, Any], width: int) -> list[str]:
    found = result.get("difference")
    if not found:
        return []
    if found.get("converged"):
        return [f"On the host: release {result['release']['id']} is accepted and serves; a deployment would change nothing."]
    lines = [f"On the host: a deployment would switch to release {result['release']['id']}" if found.get("restart") else "On the host:"]
    reasons = [*found.get("reasons", []), *(["the unit is not enabled"] if found.get("enable") else [])]
    for reason in reasons:
        lines += _wrapped(f"- {reason}", "  ", width)
    for change in found.get("changes") or []:
        lines += _wrapped(change, "    ", width)
    return lines


def _source_lines(result: Mapping[str, Any], width: int) -> list[str]:
    sources = result.get("sources") or {}
    named = {"model": "model facts", "gpus": "GPUs", "sglang_version": "SGLang release"}
    told = [f"{named[key]} from {_SOURCES.get(str(sources[key]), str(sources[key]))}" for key in named if sources.get(key)]
    lines = _wrapped("Sources: " + "; ".join(told), "", width) if told else []
    for note in result.get("notes") or []:
        lines += _wrapped(f"- {note}", "  ", width)
    return lines


def render_report(result: Mapping[str, Any], title: str = "", width: int = WIDTH) -> list[str]:
    """The whole report of one host, a list of lines."""
    plan: Optional[Mapping[str, Any]] = result.get("plan")
    head = f"{title}: " if title else ""
    if not plan:
        lines = [f"{head}nothing can be planned yet"]
        for reason in result.get("missing") or ["no config.json was found"]:
            lines += _wrapped(f"- {reason}", "  ", width)
        return lines + _source_lines(result, width)
    profile = plan.get("profile") or {}
    cards: dict[str, int] = {}
    for gpu in plan.get("gpus") or []:
        name = f"{gpu['name']} ({gpu['memory_mib']} MiB, compute capability {gpu['compute_capability']})"
        cards[name] = cards.get(name, 0) + 1
    gpus = ", ".join(f"{count} x {name}" for name, count in cards.items()) or "no GPU (CPU engine)"
    lines = [f"{head}SGLang {plan.get('sglang_version')}, {profile.get('architecture', 'unknown architecture')}", f"GPUs: {gpus}"]
    lines += _source_lines(result, width)
    if plan.get("provisional"):
        lines += _wrapped(
            "MTP is PROVISIONAL: only the headers of the shards can tell whether the checkpoint holds MTP weights.", "", width
        )
    lines += ["", "sglang serve", *_flag_lines(plan, width)]
    environment = plan.get("env") or {}
    lines += [f"  environment: {name}={value}" for name, value in sorted(environment.items())]
    lines += ["", *_memory_lines(plan.get("memory") or {}, width)]
    if plan.get("warnings"):
        lines += ["", "Warnings"]
        for warning in plan["warnings"]:
            lines += _wrapped(f"! {warning}", "  ", width)
    difference = _difference_lines(result, width)
    return lines + (["", *difference] if difference else [])
