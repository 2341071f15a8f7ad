# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Timelines as inline SVG. Pure.

Places and widths are percentages of the picture's own width, and it has no viewBox: bars stretch with the page, text keeps its size.
"""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.inference.sglang.plugins.module_utils._rollout_report import Row, Span
from ansible_collections.inference.sglang.plugins.module_utils._rollout_report_html import Html, duration, el, joined

# Phase -> the group that shares its colour.
GROUPS = {
    **dict.fromkeys(["stage", "plan", "check", "admit"], "prepare"),
    **dict.fromkeys(["drain", "undrain"], "drain"),
    **dict.fromkeys(["stop", "start", "switch"], "switch"),
    "gate": "gate",
    **dict.fromkeys(["probe", "accept", "record"], "prove"),
    "put back": "back",
}
LEGEND = (
    ("prepare", "prepare"),
    ("drain", "drain, undrain"),
    ("switch", "stop, start"),
    ("gate", "gate"),
    ("prove", "probe, accept"),
    ("back", "put back"),
)
_MOST_TICKS = 6
_STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200, 86400)


def group_of(span: Span) -> str:
    """The colour's name."""
    return GROUPS.get(span.phase, "prepare")


def extent(rows: Sequence[Row]) -> tuple[float, float]:
    """From the first stretch of any row to the end of the last."""
    spans = [span for row in rows for span in row.spans]
    return (min((span.start for span in spans), default=0.0), max((span.end for span in spans), default=0.0))


def in_words(row: Row) -> str:
    """The same as a sentence, for those who do not see the picture."""
    return (
        ", ".join(f"{span.phase} {duration(span.seconds)}{' (failed)' if span.failed else ''}" for span in row.spans) or "nothing happened"
    )


def _at(moment: float, begin: float, end: float) -> float:
    whole = end - begin
    return min(100.0, max(0.0, (moment - begin) / whole * 100)) if whole > 0 else 0.0


def _bar(span: Span, begin: float, end: float, top: int, height: int, detail: bool) -> Html:
    left, right = _at(span.start, begin, end), _at(span.end, begin, end)
    said = f"{span.phase}: {duration(span.seconds)}{', failed' if span.failed else ''}"
    # The stroke of its own colour keeps a stretch of a moment visible.
    parts = [
        el(
            "g",
            el("title", said),
            Html(f'<rect class="p-{group_of(span)}" x="{left:.3f}%" y="{top}" width="{right - left:.3f}%" height="{height}"/>'),
        )
    ]
    for _name, share, _seconds in span.steps[1:] if detail else ():
        if 0.0 < share < 1.0:
            x = left + (right - left) * share
            parts.append(Html(f'<line class="step" x1="{x:.3f}%" x2="{x:.3f}%" y1="{top}" y2="{top + height}"/>'))
    return joined(*parts)


def _cross(right: float, top: int, height: int) -> Html:
    """Where it failed: a mark that needs no colour, inside the picture."""
    x = -8 if right > 50 else 8
    y, arm = top + height / 2, 2.5
    mark = f'<circle cx="{x}" cy="{y:g}" r="6"/><path d="M{x - arm} {y - arm}l5 5m0-5l-5 5"/>'
    return Html(f'<svg class="cross" x="{right:.3f}%" aria-hidden="true">{mark}</svg>')


def tick_step(seconds: float) -> float:
    """A round distance between ticks, so that there are three to six of them."""
    return next((step for step in _STEPS if seconds / step <= _MOST_TICKS), seconds / _MOST_TICKS)


def axis(begin: float, end: float) -> Html:
    """The time since the beginning, under the bars."""
    whole = end - begin
    step, parts = tick_step(whole), []
    for tick in range(int(whole / step + 1e-9) + 1):
        x = tick * step / whole * 100
        # Every other one goes where there is little room.
        minor = ' class="minor"' if tick % 2 else ""
        start = Html(f'<g{minor}><line x1="{x:.3f}%" x2="{x:.3f}%" y1="0" y2="5"/>')
        anchor = "start" if tick == 0 else "end" if x > 96 else "middle"
        label = Html(f'<text x="{x:.3f}%" y="18" text-anchor="{anchor}">')
        parts.append(joined(start, label, duration(tick * step) if tick else "0", Html("</text></g>")))
    return Html(f'<svg class="axis" width="100%" height="22" aria-hidden="true">{joined(*parts)}</svg>')


def time_bar(row: Row, begin: float, end: float, height: int, detail: bool = False) -> Html:
    """A row's stretches on the axis from ``begin`` to ``end``; with ``detail`` the gate's stages are marked."""
    # The crosses last, over whatever came after them.
    crosses = [_cross(_at(span.end, begin, end), 1, height - 2) for span in row.spans if span.failed]
    bars = joined(*(_bar(span, begin, end, 1, height - 2, detail) for span in row.spans), *crosses)
    label = joined(f"Timeline of {row.name}: {in_words(row)}")
    return Html(f'<svg class="bar" width="100%" height="{height}" role="img" aria-label="{label}">{bars}</svg>')


def legend() -> Html:
    """What the colours mean."""
    entries = [
        el(
            "li",
            Html(f'<svg width="12" height="12" aria-hidden="true"><rect class="p-{name}" x="1" y="1" width="10" height="10"/></svg>'),
            words,
        )
        for name, words in LEGEND
    ]
    return el("ul", *entries, cls="legend")
