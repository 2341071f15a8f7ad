# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The part of docs/reliability.md that the command writes."""

from __future__ import annotations

from pathlib import Path

from tests.gate_rates.mutants import EQUIVALENT, mutants
from tests.gate_rates.rates import Rates

DOCUMENT = Path(__file__).resolve().parents[2] / "docs/reliability.md"
BEGIN, END = "<!-- gate-rates:begin -->", "<!-- gate-rates:end -->"


def report(found: Rates) -> str:
    """The tables, and how many conditions the full tests take away."""
    conditions = f"{len(mutants())} conditions are taken away one by one in the full tests"
    told = f"; {len(EQUIVALENT)} of them cannot be told from the gate, each with its reason" if EQUIVALENT else ""
    return f"{found.table()}\n{conditions}{told}. Any other that no test notices fails them.\n"


def updated(document: str, found: Rates) -> str:
    """The document with these figures."""
    head, marker, rest = document.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not marker or not end:
        raise ValueError(f"no {BEGIN} … {END}")
    return f"{head}{BEGIN}\n{report(found)}{END}{tail}"
