# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""One host of a rollout's report: why it failed, how it went, its figures. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.inference.sglang.plugins.module_utils._rollout_report import Failure, Row
from ansible_collections.inference.sglang.plugins.module_utils._rollout_report_chart import axis, extent, time_bar
from ansible_collections.inference.sglang.plugins.module_utils._rollout_report_html import (
    NONE,
    Html,
    Part,
    duration,
    el,
    joined,
    number,
    percent,
)

_SHORT = 8


def _pairs(*pairs: tuple[str, Part]) -> Html:
    shown = [joined(el("dt", name), el("dd", value)) for name, value in pairs if value]
    return el("dl", *shown, cls="pairs") if shown else Html("")


def _failure(failure: Failure) -> Html:
    wrong = failure.wrong.split(f"{failure.code}: ", 1)[-1] if failure.code else failure.wrong
    lines = len(failure.excerpt)
    return joined(
        el(
            "div",
            el(
                "p",
                el("code", failure.code, cls="bad") if failure.code else None,
                " " if failure.code else None,
                wrong or "no reason was given",
            ),
            _pairs(
                ("Found", failure.found),
                ("Wanted", failure.wanted),
                ("Next", failure.next),
                ("Put back", failure.put_back),
                ("Task", f"{failure.task} ({failure.phase})" if failure.phase else failure.task),
            ),
            cls="cause",
        ),
        el(
            "details",
            el("summary", f"Last {lines} lines of the log" if lines > 1 else "Last line of the log"),
            el("pre", "\n".join(failure.excerpt), tabindex="0", role="region", aria_label="Log"),
            cls="inner",
            open=lines <= _SHORT,
        )
        if lines
        else None,
    )


def _timeline(row: Row) -> Html:
    begin, end = extent([row])
    if end <= begin:
        return Html("")
    phases = [el("li", f"{span.phase} ", el("span", duration(span.seconds) + (", failed" if span.failed else ""))) for span in row.spans]
    gates = [span.steps for span in row.spans if span.phase == "gate" and span.steps]
    return joined(
        el("h3", "Timeline"),
        time_bar(row, begin, end, 22, detail=True),
        axis(begin, end),
        el("ul", *phases, cls="phases"),
        _stages(gates[-1]) if gates else None,
    )


def _stages(steps: Sequence[tuple[str, float, float]]) -> Html:
    """The gate's stages with the seconds at which each began, as the engine's log counts them."""
    items = [el("li", f"{name} ", el("span", f"+{duration(seconds)}")) for name, _share, seconds in steps]
    return joined(el("h3", "Stages of the gate, since the start"), el("ul", *items, cls="phases"))


def _figures(row: Row) -> Html:
    if not row.figures:
        return Html("")
    lines = [
        el(
            "tr",
            el("th", figure.name + (f", {figure.unit}" if figure.unit else ""), scope="row"),
            el("td", number(figure.predicted)),
            el("td", number(figure.actual)),
            el("td", percent(figure.error)),
        )
        for figure in row.figures
    ]
    titles = ["Of each rank", "Predicted", "Actual", "Error"]
    head = el("thead", el("tr", *(el("th", title, scope="col") for title in titles)))
    return joined(el("h3", "Prediction and reality"), el("div", el("table", head, el("tbody", *lines)), cls="scroll"))


def _answer(row: Row) -> Html:
    speed = [
        f"{number(row.tokens_per_second)} tokens/s" if row.tokens_per_second is not None else "",
        f"accept length {number(row.accept_length)}" if row.accept_length is not None else "",
    ]
    return _pairs(
        ("Asked", row.question),
        ("Answered", row.answer),
        ("Speed", ", ".join(word for word in speed if word)),
    )


def _release(row: Row) -> Html:
    moved = f"{row.before} → {row.release}" if row.before and row.release and row.before != row.release else row.release or row.before
    what = " · ".join(word for word in (row.model, f"SGLang {row.sglang}" if row.sglang else "", ", ".join(row.gpus)) if word)
    return _pairs(
        ("Release", el("code", moved) if moved else None),
        ("Serves", what),
        ("Why", "; ".join(row.reasons)),
        ("Batch", str(row.batch) if row.batch else ""),
        ("Noted", row.note),
        ("Log warned", "; ".join(row.warnings)),
    )


def card(row: Row, verdict: Html, unfolded: bool) -> Html:
    """A host that something happened to."""
    side = [
        f"{number(row.tokens_per_second)} tokens/s" if row.tokens_per_second is not None and not row.failures else "",
        duration(row.seconds) if row.spans else "",
    ]
    answer, release = _answer(row), _release(row)
    return el(
        "details",
        el(
            "summary",
            el("span", row.name, cls="name"),
            verdict,
            el("span", " · ".join(word for word in side if word), cls="side"),
        ),
        el(
            "div",
            *(_failure(failure) for failure in row.failures),
            joined(el("h3", "The change") if row.failures else None, release) if release else None,
            _timeline(row),
            _figures(row),
            joined(el("h3", "Proof"), answer) if answer else None,
            None if row.spans or row.failures or release else el("p", "Nothing more is known of it.", cls="muted"),
            cls="body",
        ),
        cls="box",
        open=unfolded,
    )


def plain_table(rows: Sequence[Row], verdicts: Sequence[Html]) -> Html:
    """Hosts of which there is little to say."""
    titles = ["Host", "Verdict", "Release", "SGLang"]
    lines = [
        el(
            "tr",
            el("th", row.name, scope="row"),
            el("td", verdict),
            el("td", el("code", row.release or row.before or NONE)),
            el("td", row.sglang or NONE),
        )
        for row, verdict in zip(rows, verdicts)
    ]
    head = el("thead", el("tr", *(el("th", title, scope="col") for title in titles)))
    return el("div", el("table", head, el("tbody", *lines)), cls="scroll")
