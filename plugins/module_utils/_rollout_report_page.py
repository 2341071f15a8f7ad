# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A rollout's report as one HTML file that needs nothing else: no script, no font, no picture from elsewhere. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.inference.sglang.plugins.module_utils import _rollout_report as core
from ansible_collections.inference.sglang.plugins.module_utils._rollout_report import Report, Row
from ansible_collections.inference.sglang.plugins.module_utils._rollout_report_chart import axis, extent, legend, time_bar
from ansible_collections.inference.sglang.plugins.module_utils._rollout_report_html import (
    Html,
    duration,
    el,
    hosts,
    joined,
    moment,
    raw_style,
    sign,
)
from ansible_collections.inference.sglang.plugins.module_utils._rollout_report_rows import card, plain_table
from ansible_collections.inference.sglang.plugins.module_utils._rollout_report_style import CSS

# A row with its name for so many; of more, bars without names tell how the batches went.
_NAMED_BARS = 24
# So many problems are unfolded, and so many hosts that went well: a person scrolls past them without losing the thread.
_UNFOLDED, _UNFOLDED_GOOD = 6, 2
_DENSE_HEIGHT, _HEIGHT = 5, 16
MARKS = {
    core.FAILED: ("cross", "bad"),
    core.UNREACHABLE: ("cross", "bad"),
    core.ROLLED_BACK: ("back", "warn"),
    core.INTERRUPTED: ("doubt", "warn"),
    core.NOT_REACHED: ("ring", "muted"),
    core.WOULD_CHANGE: ("change", "warn"),
    core.ACCEPTED: ("check", "good"),
    core.PROVEN: ("check", "good"),
    core.DONE: ("check", "good"),
    core.UNCHANGED: ("check", "muted"),
}


def mark(verdict: str) -> Html:
    """A verdict as sign, word and colour."""
    drawn, colour = MARKS[verdict]
    return el("span", sign(drawn), verdict, cls=f"verdict {colour}")


def headline(report: Report) -> str:
    """The rollout in one sentence."""
    total = len(report.rows)
    bad = report.of(*core.PROBLEMS)
    if report.verdict == core.KILLED:
        return f"Interrupted: {hosts(len(report.of(core.ACCEPTED, core.UNCHANGED, core.PROVEN)))} of {total} were done"
    if report.check and not bad:
        return f"Check: {len(report.of(core.WOULD_CHANGE))} of {hosts(total)} would change"
    if report.playbook == "verify":
        return f"{len(bad)} of {hosts(total)} could not be proven" if bad else f"{hosts(total)} proven: each answers"
    if len(bad) == 1 and bad[0].verdict == core.ROLLED_BACK:
        return f"Stopped: {bad[0].name} refused the release and serves the old one again"
    if len(bad) == 1:
        return f"Stopped: {bad[0].name} {'was lost' if bad[0].verdict == core.UNREACHABLE else 'failed'}"
    if bad:
        return f"Stopped: {len(bad)} of {hosts(total)} failed"
    if report.verdict == core.NOTHING:
        return f"Nothing to change: {hosts(total)} as wanted"
    serving = len(report.of(core.ACCEPTED, core.UNCHANGED))
    if serving == total == 1:
        return f"Complete: {report.rows[0].name} serves the wanted release"
    return f"Complete: {serving} of {hosts(total)} on the wanted release" if total else "No host was touched"


def _head(report: Report) -> Html:
    tone = {core.COMPLETE: "good", core.NOTHING: "good", core.STOPPED: "bad"}.get(report.verdict, "warn")
    facts = [f"Began {moment(report.started)}"]
    if report.ended > report.started > 0:
        facts.append(f"took {duration(report.ended - report.started)}")
    if report.rollout:
        facts.append(f"rollout {report.rollout}")
    counts = [(verdict, len(report.of(verdict))) for verdict in core.VERDICTS]
    kind = {"deploy": "Deployment", "rollback": "Rollback", "verify": "Verification"}.get(report.playbook, "Rollout")
    return el(
        "header",
        el("p", f"SGLang · {kind}{' in check mode: nothing was changed' if report.check else ''}", cls="eyebrow"),
        el("h1", headline(report), cls=tone if tone != "good" else None),
        el("ul", *(el("li", fact) for fact in facts), cls="facts"),
        el("ul", *(el("li", el("b", str(count)), mark(verdict)) for verdict, count in counts if count), cls="counts"),
    )


def _overview(report: Report) -> Html:
    """All hosts on one axis, in the order in which they had their turn: the batches show as steps."""
    rows = sorted((row for row in report.rows if row.spans), key=lambda row: (row.spans[0].start, row.name))
    begin, end = extent(rows)
    if len(rows) < 2 or end <= begin:
        return Html("")
    dense = len(rows) > _NAMED_BARS
    entries: list[Html] = []
    for row in rows:
        entries += [
            el("dt", row.name, title=row.name),
            el("dd", time_bar(row, begin, end, _DENSE_HEIGHT if dense else _HEIGHT)),
        ]
    entries += [el("dt"), el("dd", axis(begin, end), cls="end")]
    return el(
        "section",
        el("h2", "All hosts on one clock"),
        legend(),
        el("dl", *entries, cls="over dense" if dense else "over"),
    )


def _changes(rows: Sequence[Row], check: bool) -> Html:
    """Each set of changes once, with the hosts that it is for."""
    sets: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        if row.changes:
            sets.setdefault(row.changes, []).append(row)
    if not sets:
        return Html("")
    parts = []
    for lines, found in sorted(sets.items(), key=lambda pair: -len(pair[1])):
        names = ", ".join(row.name for row in found[:_UNFOLDED]) + (f" and {len(found) - _UNFOLDED} more" if len(found) > _UNFOLDED else "")
        only = f"all {hosts(len(found))} that differ" if len(sets) == 1 and len(found) > 1 else names
        parts += [el("h3", f"On {only}"), el("pre", "\n".join(lines), cls="wrap")]
    return el("section", el("h2", "What would change" if check else "What changed"), *parts)


def _section(title: str, rows: Sequence[Row], unfolded: int) -> Html:
    """A card for each; of very many one more fold around those that are closed anyway."""
    if not rows:
        return Html("")
    cards = [card(row, mark(row.verdict), place < unfolded) for place, row in enumerate(rows)]
    hidden = cards[unfolded:] if len(cards) > _NAMED_BARS else []
    return el("section", el("h2", title), *(cards[:unfolded] if hidden else cards), _folded(hosts(len(hidden)), hidden) if hidden else None)


def _folded(title: str, parts: Sequence[Html]) -> Html:
    return el("details", el("summary", el("span", title, cls="name")), el("div", *parts, cls="body"), cls="box")


def _briefly(title: str, rows: Sequence[Row]) -> Html:
    if not rows:
        return Html("")
    return _folded(f"{title}: {hosts(len(rows))}", [plain_table(rows, [mark(row.verdict) for row in rows])])


def page(report: Report) -> str:
    """The whole file."""
    problems = report.of(*core.PROBLEMS)
    changed = report.of(core.WOULD_CHANGE, core.ACCEPTED, core.DONE, core.PROVEN)
    waiting, same = report.of(core.NOT_REACHED), report.of(core.UNCHANGED)
    others = _briefly("Not reached", waiting), _briefly("Unchanged", same)
    body = el(
        "main",
        _head(report),
        _section("Needs attention", problems, _UNFOLDED),
        _overview(report),
        _changes(report.rows, report.check),
        _section(
            "Would change" if report.check else "Hosts", changed, len(changed) if not problems and len(changed) <= _UNFOLDED_GOOD else 0
        ),
        el("section", el("h2", "Other hosts"), *others) if waiting or same else None,
        el(
            "footer",
            el(
                "p",
                "Predicted are the memory plan's figures, actual those of the engine's log, of the rank with the least memory left.",
            ),
            el("p", "Made by the collection inference.sglang. Times are UTC."),
        ),
    )
    head = joined(
        Html('<meta charset="utf-8">'),
        Html('<meta name="viewport" content="width=device-width,initial-scale=1">'),
        el("title", f"{headline(report)} · SGLang rollout"),
        raw_style(CSS),
    )
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>{body}</body></html>\n'
