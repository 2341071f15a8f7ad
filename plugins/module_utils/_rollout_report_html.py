# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""HTML that is escaped by construction, and numbers and times as a person reads them. Pure."""

from __future__ import annotations

import html
import time
from typing import Optional, Union

from ansible_collections.inference.sglang.plugins.module_utils._rollout_report_events import visible

_EMPTY = frozenset(["meta", "rect", "line"])
_LONGEST = 20_000
NONE, _MINUS = "\N{EN DASH}", "\N{MINUS SIGN}"


class Html(str):
    """Text that is markup already. Only `el` and `raw_style` make it; everything else is escaped when it is put in."""

    __slots__ = ()


Part = Union[str, Html, None]


def text(value: str) -> Html:
    """Any text, as it is shown."""
    return Html(html.escape(visible(value, _LONGEST), quote=True))


def joined(*parts: Part) -> Html:
    """Parts one after the other; what is not markup is escaped."""
    return Html("".join(part if isinstance(part, Html) else text(part) for part in parts if part))


def el(name: str, *parts: Part, **attributes: Union[str, bool, None]) -> Html:
    """An element. ``cls`` is its class, ``aria_label`` aria-label; True is an attribute without a value, None and False leave it out."""
    words = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        label = "class" if key == "cls" else key.rstrip("_").replace("_", "-")
        words.append(label if value is True else f'{label}="{text(str(value))}"')
    start = " ".join(words)
    return Html(f"<{start}>" if name in _EMPTY else f"<{start}>{joined(*parts)}</{name}>")


# Drawn, because not every reader's fonts have such signs.
_SIGNS = {
    "check": "M1.5 6.5 4.5 9.5 10.5 2.5",
    "cross": "M2 2 10 10M10 2 2 10",
    "back": "M4.5 1.5 1.5 4.5 4.5 7.5M1.5 4.5H7.5A3 3 0 0 1 7.5 10.5H5",
    "ring": "M6 1.5A4.5 4.5 0 1 1 5.99 1.5Z",
    "change": "M6 1.5 11 10.5H1Z",
    "doubt": "M3.5 4A2.5 2.5 0 1 1 7 6.2Q6 6.8 6 8M6 10.4V10.6",
}


def sign(name: str) -> Html:
    """A small drawn sign in the colour of the text beside it, which says the same."""
    return Html(f'<svg class="sign" width="12" height="12" viewBox="0 0 12 12" aria-hidden="true"><path d="{_SIGNS[name]}"/></svg>')


def raw_style(css: str) -> Html:
    """A style sheet of this collection: inside <style> nothing may be escaped."""
    return Html(f"<style>{css}</style>")


def duration(seconds: float) -> str:
    """4.2 s, 1 min 58 s, 2 h 3 min."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def moment(seconds: float) -> str:
    """2026-11-30 17:12:05 UTC; a dash where nobody knows."""
    # Until the year 9999: beyond, no calendar helps.
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds)) if 0 < seconds < 253402300800 else NONE


def number(value: Optional[float], unit: str = "") -> str:
    """186,740 and 12.5 GiB; a dash where there is none."""
    if value is None:
        return NONE
    shown = f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}".rstrip("0").rstrip(".")
    return f"{shown} {unit}".strip()


def percent(share: Optional[float]) -> str:
    """+0.5 %, with a sign."""
    if share is None:
        return NONE
    shown = f"{share * 100:+.1f}"
    return "±0 %" if shown in ("+0.0", "-0.0") else shown.replace("-", _MINUS) + " %"


def hosts(count: int) -> str:
    """1 host, 6 hosts."""
    return "1 host" if count == 1 else f"{count} hosts"
