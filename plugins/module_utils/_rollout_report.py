# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""From a rollout's events (_rollout_report_events.py) to its report: a verdict for the rollout and for each host, with the evidence. Pure.

Events may come from a journal that was cut or changed: whatever a value is, it gives a report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._plain import as_mapping
from ansible_collections.inference.sglang.plugins.module_utils._rollout_report_events import FORMAT, finite, lines_of, visible

# ----- verdicts, of a host -----
FAILED, ROLLED_BACK, UNREACHABLE, INTERRUPTED = "failed", "rolled back", "unreachable", "interrupted"
NOT_REACHED, ACCEPTED, PROVEN, UNCHANGED = "not reached", "accepted", "proven", "unchanged"
WOULD_CHANGE, DONE = "would change", "done"
PROBLEMS = (FAILED, ROLLED_BACK, UNREACHABLE, INTERRUPTED)
# In this order a person wants to see them.
VERDICTS = (*PROBLEMS, NOT_REACHED, WOULD_CHANGE, ACCEPTED, DONE, PROVEN, UNCHANGED)

# ----- verdicts, of a rollout -----
COMPLETE, STOPPED, KILLED, NOTHING = "complete", "stopped", "interrupted", "nothing to do"

# Once a host has failed, these bring the old release back.
_WAY_BACK = frozenset(["stop", "start", "gate", "probe", "accept", "put back"])
_SWITCHING = ("drain", "stop", "start", "gate", "undrain")
COMPARED = (
    ("state_slots", "State slots", ""),
    ("kv_tokens", "KV tokens", ""),
    ("max_running_requests", "Running requests", ""),
    ("weights_gib", "Weights", "GiB"),
    ("after_pools_gib", "Free after the pools", "GiB"),
    ("free_gib", "Free after the start", "GiB"),
)


@dataclass(frozen=True)
class Span:
    """A stretch of a host's change. ``steps`` are the gate's stages, each with the share of the span at which it began."""

    phase: str
    start: float
    end: float
    failed: bool = False
    steps: tuple[tuple[str, float, float], ...] = ()  # name, share from 0 to 1, seconds as the engine counted them

    @property
    def seconds(self) -> float:
        """How long it was."""
        return max(0.0, self.end - self.start)


@dataclass(frozen=True)
class Failure:
    """Why something failed, in the four parts of every refusal, with the code and the log's last lines."""

    task: str
    phase: str = ""
    code: str = ""
    wrong: str = ""
    found: str = ""
    wanted: str = ""
    next: str = ""
    put_back: str = ""
    excerpt: tuple[str, ...] = ()


@dataclass(frozen=True)
class Figure:
    """What the plan predicted, and what the engine's log said."""

    name: str
    unit: str
    predicted: Optional[float]
    actual: Optional[float]

    @property
    def error(self) -> Optional[float]:
        """(actual - predicted) / predicted."""
        if self.predicted is None or self.actual is None or not self.predicted:
            return None
        return (self.actual - self.predicted) / abs(self.predicted)


@dataclass(frozen=True)
class Row:
    """One instance of one host."""

    host: str
    verdict: str
    instance: str = ""
    note: str = ""
    batch: int = 0
    before: str = ""
    release: str = ""
    model: str = ""
    sglang: str = ""
    gpus: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    question: str = ""
    answer: str = ""
    accept_length: Optional[float] = None
    tokens_per_second: Optional[float] = None
    spans: tuple[Span, ...] = ()
    failures: tuple[Failure, ...] = ()

    @property
    def name(self) -> str:
        """The host, and the instance where it is another than the usual one."""
        return self.host if self.instance in ("", "default") else f"{self.host} · {self.instance}"

    @property
    def seconds(self) -> float:
        """From the first stretch of the change to the last."""
        return max((span.end for span in self.spans), default=0.0) - min((span.start for span in self.spans), default=0.0)


@dataclass(frozen=True)
class Report:
    """The whole rollout. Times in seconds since the epoch, 0 where nobody knows."""

    rollout: str
    playbook: str
    verdict: str
    check: bool = False
    started: float = 0.0
    ended: float = 0.0
    rows: tuple[Row, ...] = ()

    def of(self, *verdicts: str) -> tuple[Row, ...]:
        """The rows with one of these verdicts."""
        return tuple(row for row in self.rows if row.verdict in verdicts)

    def as_data(self) -> dict[str, Any]:
        """For a program."""
        return {"format": FORMAT, **asdict(self)}


@dataclass
class _Draft:
    """A row that is being gathered."""

    host: str
    instance: str = ""
    batch: int = 0
    events: list[Mapping[str, Any]] = field(default_factory=list)

    def figures(self, *modules: str) -> list[Mapping[str, Any]]:
        """Of these modules' tasks, in their order."""
        return [as_mapping(event.get("figures")) for event in self.events if event.get("module") in modules]

    @property
    def broken(self) -> Optional[int]:
        """Where it first failed."""
        return next((place for place, event in enumerate(self.events) if event.get("status") == "failed"), None)

    def of_the_change(self) -> _Draft:
        """Without the way back, whose figures are another release's."""
        return self if self.broken is None else _Draft(self.host, self.instance, self.batch, self.events[: self.broken + 1])


def build_report(events: Iterable[Mapping[str, Any]]) -> Report:
    """The report of these events."""
    known = [event for event in events if isinstance(event, Mapping)]
    begin = next((event for event in known if event.get("event") == "begin"), {})
    end = next((event for event in reversed(known) if event.get("event") == "end"), None)
    check = begin.get("check") is True
    drafts = _drafts(known)
    count = Counter(draft.host for draft in drafts)
    playbook = visible(begin.get("playbook"), 40)
    rows = [_row(draft, end, check, count[draft.host] > 1, playbook) for draft in drafts]
    rows.sort(key=lambda row: (VERDICTS.index(row.verdict), row.batch, _natural(row.host), row.instance))
    recorded = [figures.get("rollout") for draft in drafts for figures in draft.figures("rollout_record") if figures.get("rollout")]
    times = [time for event in known for key in ("at", "start", "end") if (time := finite(event.get(key)))]
    return Report(
        rollout=visible(recorded[-1] if recorded else begin.get("rollout"), 80),
        playbook=playbook,
        verdict=_overall(rows, end is not None),
        check=check,
        started=finite(begin.get("at")) or min(times, default=0.0),
        ended=max(times, default=0.0),
        rows=tuple(rows),
    )


def _natural(name: str) -> list[tuple[int, str]]:
    """gpu2 before gpu10."""
    digits, words, current = [], [], ""
    for letter in name:
        if current and letter.isdecimal() != current[-1].isdecimal():
            words.append(current)
            current = ""
        current += letter
    for word in [*words, current]:
        digits.append((int(word), "") if word.isdecimal() and len(word) < 19 else (-1, word))
    return digits


def _names(value: Any) -> list[str]:
    return [visible(name, 200) for name in value if isinstance(name, str)] if isinstance(value, (list, tuple)) else []


def _drafts(events: Sequence[Mapping[str, Any]]) -> list[_Draft]:
    """One for each instance that was seen, at least one for each host of the plays."""
    hosts: dict[str, list[_Draft]] = {}
    number = 0
    for event in events:
        if event.get("event") == "batch":
            number += 1
            for host in _names(event.get("all")):
                hosts.setdefault(host, [])
        elif event.get("event") == "task" and isinstance(event.get("host"), str) and event["host"]:
            host = visible(event["host"], 200)
            draft = _draft_for(hosts.setdefault(host, []), host, event)
            draft.events.append(event)
            if not draft.batch and event.get("phase") in _SWITCHING:
                draft.batch = number
    drafts = [draft for host, found in hosts.items() for draft in found or [_Draft(host)]]
    # Plays that only look are no batches: those that switched a host are counted.
    turns = sorted({draft.batch for draft in drafts if draft.batch})
    for draft in drafts:
        draft.batch = turns.index(draft.batch) + 1 if draft.batch else 0
    return drafts


def _draft_for(drafts: list[_Draft], host: str, event: Mapping[str, Any]) -> _Draft:
    """A plan names the instance that the tasks after it are about; what came before belongs to the first."""
    named = visible(as_mapping(event.get("figures")).get("instance"), 80)
    if not drafts:
        drafts.append(_Draft(host, named))
    if named and not drafts[-1].instance:
        drafts[-1].instance = named
    if named and named != drafts[-1].instance:
        found = next((draft for draft in drafts if draft.instance == named), None) or _Draft(host, named)
        # The one that is being worked on is the last.
        drafts[:] = [draft for draft in drafts if draft is not found] + [found]
    return drafts[-1]


def _row(draft: _Draft, end: Optional[Mapping[str, Any]], check: bool, several: bool, playbook: str) -> Row:
    change = draft.of_the_change()
    plans, gates, probes = change.figures("launch_plan"), change.figures("log_gate"), change.figures("serving_probe")
    looks = [*plans, *change.figures("server_release")]
    probe = probes[-1] if probes else {}
    record = (draft.figures("rollout_record") or [{}])[-1]
    return Row(
        host=draft.host,
        verdict=_verdict(draft, end, check, several, playbook, visible(record.get("phase"), 40)),
        instance=draft.instance,
        note=visible(record.get("verdict"), 400),
        batch=draft.batch,
        before=_first(looks, "before", "accepted") or visible(record.get("from"), 40),
        release=_last(looks, "release") or visible(record.get("release"), 40),
        model=_last(looks, "model"),
        sglang=_last(looks, "sglang"),
        gpus=tuple(_names(next((look.get("gpus") for look in reversed(plans) if look.get("gpus")), ()))),
        changes=_lines(looks, "changes"),
        reasons=_lines(plans, "reasons"),
        warnings=tuple(lines_of(gates[-1].get("warnings"), visible)) if gates else (),
        figures=_compared(plans, gates),
        question=visible(probe.get("question"), 400),
        answer=visible(probe.get("answer"), 400),
        accept_length=finite(probe.get("accept_length")),
        tokens_per_second=finite(probe.get("tokens_per_second")),
        spans=_spans(draft),
        failures=_failures(draft),
    )


def _first(looks: Iterable[Mapping[str, Any]], *names: str) -> str:
    return next((visible(look[name], 200) for look in looks for name in names if look.get(name)), "")


def _last(looks: Sequence[Mapping[str, Any]], name: str) -> str:
    return _first(list(reversed(looks)), name)


def _lines(looks: Iterable[Mapping[str, Any]], name: str) -> tuple[str, ...]:
    """The first that are there: once the change is made, nothing differs any more."""
    return next((tuple(lines) for look in looks if (lines := lines_of(look.get(name), visible))), ())


def _compared(plans: Sequence[Mapping[str, Any]], gates: Sequence[Mapping[str, Any]]) -> tuple[Figure, ...]:
    predicted = as_mapping(plans[-1].get("predicted")) if plans else {}
    actual = as_mapping(gates[-1].get("actual")) if gates else {}
    found = [Figure(name, unit, finite(predicted.get(key)), finite(actual.get(key))) for key, name, unit in COMPARED]
    return tuple(figure for figure in found if figure.predicted is not None or figure.actual is not None)


# ----- verdicts -----


def _verdict(draft: _Draft, end: Optional[Mapping[str, Any]], check: bool, several: bool, playbook: str, phase: str) -> str:
    failed, lost = _names((end or {}).get("failed")), _names((end or {}).get("unreachable"))
    last = draft.events[-1] if draft.events else {}
    broken = draft.broken
    bad = (draft.host in failed and (broken is not None or not several)) if end is not None else last.get("status") == "failed"
    if bad or phase in ("failed", "rolled_back"):
        back = phase == "rolled_back" or (phase != "failed" and broken is not None and _accepted(draft.events[broken:]))
        return ROLLED_BACK if back else FAILED
    if draft.host in lost or last.get("status") == "unreachable":
        return UNREACHABLE
    if not draft.events:
        return NOT_REACHED
    if _accepted(draft.events):
        return ACCEPTED
    if phase == "rejoined":
        return UNCHANGED if _walked_over(draft) else ACCEPTED
    return _without_change(draft, end is not None, check, playbook, phase)


def _walked_over(draft: _Draft) -> bool:
    """Whether the roles found nothing to change on a host that a look had not been sure of."""
    plans = draft.figures("launch_plan")
    return bool(plans) and plans[-1].get("converged") is True and not any(event.get("phase") in _SWITCHING for event in draft.events)


def _without_change(draft: _Draft, ended: bool, check: bool, playbook: str, phase: str) -> str:
    plans = draft.figures("launch_plan")
    if plans and plans[-1].get("converged") is True and not phase:
        return UNCHANGED
    if check:
        return WOULD_CHANGE if plans or draft.figures("server_release") else DONE
    switching = any(event.get("phase") in _SWITCHING for event in draft.events)
    if phase or (switching and (not ended or not plans)):
        return INTERRUPTED
    if draft.broken is not None and ended:
        return FAILED
    if draft.figures("serving_probe") and playbook == "verify":
        return PROVEN
    return NOT_REACHED if plans else DONE if ended else INTERRUPTED


def _accepted(events: Iterable[Mapping[str, Any]]) -> bool:
    return any(event.get("phase") == "accept" and event.get("status") in ("ok", "changed") for event in events)


def _overall(rows: Sequence[Row], ended: bool) -> str:
    if not ended:
        return KILLED
    if any(row.verdict in PROBLEMS for row in rows):
        return STOPPED
    return NOTHING if rows and all(row.verdict == UNCHANGED for row in rows) else COMPLETE


# ----- what happened -----


def _spans(draft: _Draft) -> tuple[Span, ...]:
    """Neighbours of one phase are one stretch."""
    found: list[Span] = []
    for place, event in enumerate(draft.events):
        start, end = finite(event.get("start")), finite(event.get("end"))
        phase = visible(event.get("phase"), 20)
        if not start or not end or end < start or phase in ("", "record"):
            continue
        if draft.broken is not None and place > draft.broken and phase in _WAY_BACK:
            phase = "put back"
        failed = event.get("status") in ("failed", "unreachable")
        last = found[-1] if found else None
        if last is not None and last.phase == phase and not last.failed:
            found[-1] = Span(phase, last.start, max(end, last.end), failed, last.steps or _steps(event))
        else:
            found.append(Span(phase, start, end, failed, _steps(event)))
    return tuple(found)


def _steps(event: Mapping[str, Any]) -> tuple[tuple[str, float, float], ...]:
    """The engine's clock may tell more than passed here (a replayed log): shares count."""
    figures = as_mapping(event.get("figures"))
    stages = figures.get("stages")
    known = [as_mapping(stage) for stage in stages] if isinstance(stages, (list, tuple)) else []
    moments = [(visible(stage.get("stage"), 40), max(0.0, finite(stage.get("at_s")) or 0.0)) for stage in known]
    whole = max([finite(figures.get("seconds")) or 0.0, *(moment for _name, moment in moments)], default=0.0)
    return tuple((name, moment / whole if whole else 0.0, moment) for name, moment in moments)


def _failures(draft: _Draft) -> tuple[Failure, ...]:
    """Each cause once: a task that fails at the end repeats it and adds what was put back."""
    found: list[Failure] = []
    for event in draft.events:
        if event.get("status") not in ("failed", "unreachable"):
            continue
        said = as_mapping(event.get("failure"))
        words = {name: visible(said.get(name)) for name in ("code", "wrong", "found", "wanted", "next", "put_back")}
        same = next((place for place, known in enumerate(found) if words["wrong"] == known.wrong), None)
        if same is not None:
            known = found[same]
            found[same] = Failure(**{**known.__dict__, "put_back": known.put_back or words["put_back"]})
            continue
        excerpt = tuple(lines_of(said.get("excerpt"), visible))
        found.append(Failure(visible(event.get("task"), 200), visible(event.get("phase"), 20), **words, excerpt=excerpt))
    return tuple(found)
