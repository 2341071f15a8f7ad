# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The report of a rollout: verdicts from events, and a page that any browser reads and nothing can break out of."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from ansible_collections.inference.sglang.plugins.module_utils import _rollout_report as core
from ansible_collections.inference.sglang.plugins.module_utils._rollout_report import build_report
from ansible_collections.inference.sglang.plugins.module_utils._rollout_report_chart import _STEPS, GROUPS, LEGEND, tick_step
from ansible_collections.inference.sglang.plugins.module_utils._rollout_report_events import parse_journal
from ansible_collections.inference.sglang.plugins.module_utils._rollout_report_html import NONE, duration, number, percent
from ansible_collections.inference.sglang.plugins.module_utils._rollout_report_page import MARKS, headline, page
from ansible_collections.inference.sglang.plugins.module_utils._rollout_report_style import CSS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.rollout_events import CHANGES, EXCERPT, NEW, OLD, PROBE, Rollout, gate, good, plan, refused, rollout_of

VOID = {"meta", "rect", "line", "br", "path", "circle"}
# On a busy machine everything is slow.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
EVIL = "\"><script>alert(1)</script>\x1b[31m\u202e&amp;'<svg onload=x>"


class Page(HTMLParser):
    """Reads a page: every element closed in its turn, what is in it, what it says."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, Any]]] = []
        self.words: list[str] = []
        self.summaries: list[str] = []
        self.style = ""
        self.feed(text)
        self.close()
        assert self.open == [], self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, Any]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"<{tag}> has an attribute twice"
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, Any]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if "style" in self.open:
            self.style += data
            return
        self.words.append(data)
        if "summary" in self.open:
            self.summaries.append(data)

    @property
    def text(self) -> str:
        return "\n".join(self.words)


def rows(events: Any) -> dict[str, core.Row]:
    return {row.name: row for row in build_report(events).rows}


def harmless(text: str) -> Page:
    """Well-formed, nothing runs, nothing is fetched."""
    read = Page(text)
    assert {tag for tag, _ in read.tags} & {"script", "iframe", "object", "embed", "link", "img", "base", "form", "image", "use"} == set()
    for tag, attributes in read.tags:
        for name, value in attributes.items():
            assert not name.startswith("on"), f"<{tag} {name}>"
            assert name not in ("src", "srcset", "href", "xlink:href", "action", "data", "style"), f"<{tag} {name}={value}>"
    assert read.style and not re.search(r"@import|url\(", read.style)
    return read


# ----- verdicts -----


def test_a_good_rollout() -> None:
    report = build_report(rollout_of(6, converged=2))
    assert (report.verdict, report.rollout, report.playbook) == (core.COMPLETE, "20261130T170000Z-5c1d", "deploy")
    assert [row.verdict for row in report.rows] == [core.ACCEPTED] * 4 + [core.UNCHANGED] * 2
    row = report.rows[0]
    assert (row.before, row.release, row.changes, row.answer, row.accept_length) == (OLD, NEW, tuple(CHANGES), PROBE["answer"], 2.71)
    assert [span.phase for span in row.spans] == ["plan", "drain", "stop", "start", "gate", "probe", "accept", "undrain"]
    assert [(f.predicted, f.actual) for f in row.figures[:3]] == [(56, 56), (186740, 186512), (11, 11)]
    assert [row.batch for row in report.rows] == [1, 2, 3, 3, 0, 0]


def test_a_refused_host_is_put_back_and_stops_the_rollout() -> None:
    report = build_report(rollout_of(6, failing=2))
    assert report.verdict == core.STOPPED
    assert [(row.host, row.verdict) for row in report.rows[:3]] == [
        ("gpu2", core.ROLLED_BACK),
        ("gpu3", core.NOT_REACHED),
        ("gpu4", core.NOT_REACHED),
    ]
    row = report.rows[0]
    assert len(row.failures) == 1, "the last task repeats the cause"
    failure = row.failures[0]
    assert (failure.code, failure.phase, failure.excerpt) == ("GATE-021", "gate", tuple(EXCERPT))
    assert failure.put_back.startswith(f"release {OLD} serves again")
    assert [span.phase for span in row.spans] == ["plan", "drain", "stop", "start", "gate", "put back"]
    assert [span.failed for span in row.spans] == [False, False, False, False, True, False]
    assert row.answer == "", "what the old release answered proves nothing of the new one"
    assert "gpu2" in headline(report) and "old one" in headline(report)


def test_a_host_that_could_not_be_put_back_has_failed() -> None:
    made = Rollout(["one"])
    made.batch(["one"])
    made.task("one", "log_gate", "gate", 5, "failed", {}, {"wrong": "dead"})
    made.task("one", "server_stop", "stop", 5)
    assert rows(made.end(("one",)))["one"].verdict == core.FAILED


def test_a_failure_that_was_rescued_is_no_verdict() -> None:
    made = Rollout(["one"])
    made.batch(["one"])
    made.task("one", "model_snapshot", "stage", 5, "failed", {}, {"wrong": "the peer went away"})
    good(made, "one")
    assert rows(made.end())["one"].verdict == core.ACCEPTED


def test_a_failure_that_nobody_came_back_from_is_one_even_where_ansible_calls_it_rescued() -> None:
    made = Rollout(["one", "two"])
    made.batch(["one", "two"])
    made.task("one", "launch_plan", "plan", 1, "ok", plan())
    made.task("one", "model_snapshot", "stage", 5, "failed", {}, {"wrong": "the disk is full"})
    report = build_report(made.end())
    assert (report.verdict, {row.host: row.verdict for row in report.rows}) == (core.STOPPED, {"one": core.FAILED, "two": core.NOT_REACHED})


def test_a_journal_without_its_end_is_an_interrupted_rollout() -> None:
    whole = rollout_of(6)
    for length in range(1, len(whole)):
        report = build_report(whole[:length])
        assert report.verdict == core.KILLED
        for row in report.rows:
            done = any(event.get("phase") == "accept" and event["host"] == row.host for event in whole[:length])
            begun = any(event.get("phase") == "stop" and event["host"] == row.host for event in whole[:length])
            expected = {(True, True): core.ACCEPTED, (False, True): core.INTERRUPTED}.get((done, begun))
            assert expected in (None, row.verdict), (length, row.host, row.verdict)
    harmless(page(build_report(whole[: len(whole) // 2])))


def test_killed_while_the_old_release_comes_back() -> None:
    made = Rollout(["one"])
    made.batch(["one"])
    refused(made, "one")
    for length in (-5, -4, -3):
        assert rows(made.events[:length])["one"].verdict == core.INTERRUPTED


@pytest.mark.parametrize(
    ("phase", "verdict"),
    [("rejoined", core.ACCEPTED), ("rolled_back", core.ROLLED_BACK), ("failed", core.FAILED), ("drained", core.INTERRUPTED)],
)
def test_what_the_host_recorded_counts(phase: str, verdict: str) -> None:
    made = Rollout(["one"])
    made.task("one", "rollout_record", "record", 0.1, "ok", {"phase": phase, "rollout": "r-1", "release": NEW, "verdict": "so it went"})
    report = build_report(made.end())
    assert [(row.verdict, row.note, row.release) for row in report.rows] == [(verdict, "so it went", NEW)]
    assert report.rollout == "r-1"


def test_a_host_that_the_roles_walked_over_is_unchanged_one_that_was_started_or_put_back_is_not() -> None:
    """-e deploy_full=true, or a look that was not sure: the host records that it serves, and nothing was done."""
    made = Rollout(["walked", "started", "rejoined"])
    for host, task in (("walked", ()), ("started", ("systemd_service", "start")), ("rejoined", ("uri", "undrain"))):
        made.task(host, "launch_plan", "plan", 1, "ok", plan(converged=True))
        if task:
            made.task(host, *task, 1)
        made.task(host, "rollout_record", "record", 0.1, "ok", {"phase": "rejoined", "release": NEW, "from": NEW})
    found = {host: row.verdict for host, row in rows(made.end()).items()}
    assert found == {"walked": core.UNCHANGED, "started": core.ACCEPTED, "rejoined": core.ACCEPTED}


def test_check_mode_says_what_would_change() -> None:
    made = Rollout(["one", "two"], check=True)
    made.batch(["one", "two"])
    made.task("one", "launch_plan", "plan", 1, "ok", plan())
    made.task("two", "launch_plan", "plan", 1, "ok", plan(converged=True))
    report = build_report(made.end())
    assert {row.host: row.verdict for row in report.rows} == {"one": core.WOULD_CHANGE, "two": core.UNCHANGED}
    assert headline(report) == "Check: 1 of 2 hosts would change"
    assert "nothing was changed" in Page(page(report)).text


def test_instances_of_a_host_are_rows_of_their_own() -> None:
    made = Rollout(["one"])
    made.batch(["one"])
    made.task("one", "apt", "stage", 3)
    for name in ("chat", "code"):
        made.task("one", "launch_plan", "plan", 1, "ok", {**plan(), "instance": name})
        made.task("one", "log_gate", "gate", 9, "ok", gate(0.1))
        made.task("one", "server_release", "accept", 0.1, "changed", {"accepted": NEW})
    made.task("one", "launch_plan", "plan", 1, "ok", {**plan(), "instance": "chat"})
    made.task("one", "log_gate", "gate", 9, "failed", {}, {"wrong": "no"})
    found = rows(made.end(("one",)))
    assert {name: row.verdict for name, row in found.items()} == {"one · chat": core.FAILED, "one · code": core.ACCEPTED}


def test_verification() -> None:
    made = Rollout(["one", "two"], playbook="verify")
    made.batch(["one", "two"])
    made.task("one", "serving_probe", "probe", 3, "ok", PROBE)
    made.task("two", "serving_probe", "probe", 3, "failed", {}, {"code": "PROBE-001", "wrong": "PROBE-001: it could not be asked"})
    report = build_report(made.end(("two",)))
    assert [(row.host, row.verdict) for row in report.rows] == [("two", core.FAILED), ("one", core.PROVEN)]
    assert headline(report) == "1 of 2 hosts could not be proven"


# ----- the page -----


@pytest.mark.parametrize(("count", "failing"), [(1, 0), (1, 1), (6, 0), (6, 2), (200, 30)])
def test_every_host_is_on_the_page(count: int, failing: int) -> None:
    report = build_report(rollout_of(count, failing, converged=count // 5))
    read = harmless(page(report))
    for row in report.rows:
        assert row.host in read.words, row.host
    if failing:
        cards = [word for word in read.summaries if word.startswith("gpu")]
        assert cards[0] == f"gpu{failing}", "the problem comes first"
        for word in ("GATE-021", EXCERPT[-1], "let the plan size it"):
            assert any(word in part for part in read.words), word
    assert all(line in read.text for line in CHANGES) or count == 1


def test_a_problem_is_open_and_what_went_well_among_many_is_folded() -> None:
    read = Page(page(build_report(rollout_of(200, 30, converged=20))))
    folds = [attributes for tag, attributes in read.tags if tag == "details"]
    assert "open" in folds[0]
    assert sum("open" in attributes for attributes in folds) == 2, "the host and its log"


def test_nothing_breaks_out_of_the_page() -> None:
    made = Rollout([EVIL])
    made.batch([EVIL])
    figures = {
        **plan(),
        "changes": [EVIL],
        "model": EVIL,
        "instance": EVIL,
        "gpus": [EVIL],
        "reasons": [EVIL],
        "sglang": EVIL,
        "release": EVIL,
    }
    made.task(EVIL, "launch_plan", "plan", 1, "ok", figures)
    made.task(EVIL, "serving_probe", "probe", 1, "ok", dict.fromkeys(PROBE, EVIL))
    names = ("code", "wrong", "found", "wanted", "next", "put_back")
    made.task(EVIL, EVIL, EVIL, 1, "failed", {}, {**dict.fromkeys(names, EVIL), "excerpt": [EVIL]})
    made.events[0].update(rollout=EVIL, playbook=EVIL)
    text = page(build_report(made.end((EVIL,))))
    harmless(text)
    assert "\x1b" not in text and "\u202e" not in text
    assert "&lt;script&gt;alert(1)" in text, "it is shown, as text"


ODD = st.one_of(
    st.sampled_from([None, True, -1, 1e308, float("nan"), float("inf"), 10**400, "", EVIL, "\ud800", [], {}, [[]], [{}], {"stage": []}]),
    st.text(max_size=8),
    st.integers(),
    st.floats(),
)


def places_of(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value inside."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [*([path] if path else []), *(way for key, part in inner for way in places_of(part, (*path, key)))]


@settings(PATIENT, max_examples=60)
@given(st.data())
def test_any_journal_gives_a_page(data: st.DataObject) -> None:
    """Whatever stands in the place of a value, or of several."""
    events = json.loads(json.dumps(rollout_of(2, failing=2)))
    for _time in range(data.draw(st.integers(1, 4))):
        way = data.draw(st.sampled_from(places_of(events)))
        part = events
        for key in way[:-1]:
            part = part[key]
        part[way[-1]] = data.draw(ODD)
    report = build_report(events)
    json.dumps(report.as_data(), allow_nan=False)
    harmless(page(report))


@settings(PATIENT, max_examples=50)
@given(st.text(max_size=200))
def test_any_text_is_a_journal(text: str) -> None:
    lines = [json.dumps({"event": "begin"}), text.replace("\n", " "), json.dumps({"event": "end"})]
    events = parse_journal("\n".join(lines))
    assert events[0] == {"event": "begin"} and events[-1] == {"event": "end"}


def test_every_verdict_has_a_sign_and_every_phase_a_colour_in_both_schemes() -> None:
    assert set(MARKS) == set(core.VERDICTS)
    assert {name for name, _words in LEGEND} == set(GROUPS.values())
    light, dark = CSS.split("prefers-color-scheme:dark")
    for name, _words in LEGEND:
        assert f"--{name}:" in light and f"--{name}:" in dark and f".p-{name}{{" in CSS


def luminance(colour: str) -> float:
    """WCAG 2.2, relative luminance."""
    value = colour.lstrip("#")
    value = "".join(letter * 2 for letter in value) if len(value) == 3 else value
    parts = [int(value[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, two: str) -> float:
    bright, dim = sorted((luminance(one), luminance(two)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(scheme: str) -> None:
    """Text 4.5 to 1 and marks 3 to 1 on what is behind them (WCAG 2.2 AA)."""
    light, dark = CSS.split("prefers-color-scheme:dark", 1)
    colours = dict(re.findall(r"--([a-z]+):(#[0-9a-f]{3,6})", light if scheme == "light" else dark.split("*{", 1)[0]))
    for behind in ("bg", "card", "soft"):
        for name in ("text", "muted", "good", "bad", "warn", "link"):
            assert contrast(colours[name], colours[behind]) >= 4.5, (name, behind)
    for behind in ("bg", "card"):
        for name, _words in LEGEND:
            assert contrast(colours[name], colours[behind]) >= 3, (name, behind)


@settings(PATIENT, max_examples=50)
@given(st.floats(min_value=0.05, max_value=1e7))
def test_ticks_are_few_and_round(seconds: float) -> None:
    step = tick_step(seconds)
    assert seconds / step <= 6.01
    assert step in _STEPS or seconds > _STEPS[-1] * 6
    assert seconds / step >= 1 or seconds < 0.1


def test_numbers_for_people() -> None:
    assert [duration(seconds) for seconds in (0.04, 9.94, 59.4, 118, 3600, 7380)] == [
        "0.0 s",
        "9.9 s",
        "59 s",
        "1 min 58 s",
        "1 h",
        "2 h 3 min",
    ]
    assert [number(value) for value in (None, 186740, 5.4, 0.125)] == [NONE, "186,740", "5.4", "0.12"]
    assert [percent(share) for share in (None, 0.0, 0.0072, -0.0012)] == [NONE, "±0 %", "+0.7 %", "\N{MINUS SIGN}0.1 %"]
