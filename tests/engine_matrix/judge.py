# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""How a cell ends: planned and accepted, differing, or refused with a proof that the engine could not do it either."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._engine_runner import Answer, compare, parse_answer, refusal

from tests.engine_matrix.cells import CARDS, Cell
from tests.engine_matrix.independent import weight_bytes

ACCEPTED, DIFFERS, REFUSED, UNPROVEN = "accepted", "differs", "refused", "unproven"


@dataclass(frozen=True)
class Verdict:
    """The end of one cell; `what` is short and the same for cells with the same cause, `detail` is for a person."""

    cell: Cell
    end: str
    what: str = ""
    detail: str = ""


def engines_refusal(raw: Mapping[str, Any]) -> Optional[str]:
    """Why the engine refuses a command, in one line; None where it accepts it."""
    answer = parse_answer(raw["output"])
    if answer is None:
        return f"died with {raw['status']}: {raw['errors'].strip()[-200:]}"
    if not answer.accepted:
        return " ".join((answer.text or str(refusal(answer, raw["errors"]))).split())[:300]
    for check in raw["later"]:
        if check["verdict"] == "refused":
            return f"{check['check']}: " + " ".join(check["text"].split())[:300]
    return None


def _accepted(raw: Mapping[str, Any]) -> Answer:
    answer = parse_answer(raw["output"])
    assert answer is not None
    return answer


def judge_planned(cell: Cell, raw: Mapping[str, Any]) -> Verdict:
    """A planned cell by the engine's answer to the planned command."""
    why = engines_refusal(raw)
    if why is not None:
        return Verdict(cell, DIFFERS, "the engine refuses the planned command", why)
    assert cell.plan is not None
    wrong = compare(cell.plan["predicted"], _accepted(raw).resolved)
    if wrong:
        what = ", ".join(f"{item['setting']} {item['predicted']} -> {item['resolved']}" for item in wrong)
        return Verdict(cell, DIFFERS, what)
    return Verdict(cell, ACCEPTED)


def judge_refused(cell: Cell, raw: Mapping[str, Any]) -> Verdict:
    """A refused cell by the engine's answer to the natural command, and by the weights' own size."""
    why = engines_refusal(raw)
    if why is not None:
        return Verdict(cell, REFUSED, f"{cell.kind}; the engine refuses, too", why)
    total = weight_bytes(cell.model)
    if total is None:
        return Verdict(cell, UNPROVEN, cell.kind, f"{cell.refusal}; nobody counted the weights")
    each, memory = total / cell.size, CARDS[cell.card]["memory_mib"] * 2**20
    detail = f"{each / 2**30:.1f} GiB of weights a card, {memory / 2**30:.1f} GiB of memory, {cell.size} cards"
    if each > memory:
        return Verdict(cell, REFUSED, f"{cell.kind}; the weights exceed the memory", detail)
    fraction = float(_accepted(raw).resolved["mem_fraction_static"])
    if each > fraction * memory:
        return Verdict(
            cell, REFUSED, f"{cell.kind}; the weights exceed the engine's own share of the memory", f"{detail}, share {fraction:.3f}"
        )
    return Verdict(cell, UNPROVEN, cell.kind, f"{cell.refusal}; {detail}")


def judge(cell: Cell, raw: Mapping[str, Any]) -> Verdict:
    """The end of a cell."""
    return judge_refused(cell, raw) if cell.plan is None else judge_planned(cell, raw)
