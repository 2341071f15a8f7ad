# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whether a start has become a server, from its log alone: a state machine fed line by line.

No I/O and no clock of its own. It holds for the wording of every release in the release table.

A start is *ready* when the kernel dispatcher line of the model's family was seen (as often as the plan says) and after it the
engine's own ready line, which SGLang prints once its warm-up request has been answered. It is *wrong* when the ready line comes
without the dispatcher's, *dead* when the engine says so or is gone, *stalled* when nothing new was logged for too long.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._diagnosis import (
    Cause,
    Diagnosis,
    cause_of_no_line,
    cause_of_slowness,
    concluded,
)
from ansible_collections.inference.sglang.plugins.module_utils._engine_words import EngineWords
from ansible_collections.inference.sglang.plugins.module_utils._errors import CodedError
from ansible_collections.inference.sglang.plugins.module_utils._failures_own import NO_DISPATCHER, STOPPED, SUPERSEDED
from ansible_collections.inference.sglang.plugins.module_utils._log_stages import (
    ARGUMENTS,
    DRAFT_FIRST,
    ORDER,
    RANK_FIGURES,
    SCHEDULER,
    STAGES,
    Reached,
    Stage,
    Turns,
    literal,
    number,
    stamp_seconds,
)
from ansible_collections.inference.sglang.plugins.module_utils._releases import newest_release

WAITING, READY, DEAD, WRONG, STALLED = "waiting", "ready", "dead", "wrong", "stalled"
READY_LINE = newest_release().ready_line
MARKER = "inference.sglang: start "
# A death is final within this many seconds, so that a traceback that has begun can still be read to its last line.
SETTLE = 0.4
# The launcher writes its first line at once, so after this many seconds without any the log keeps nothing.
FIRST_LINE = 60.0
EXCERPT_LINES = 60
_MOST_REMEMBERED = 50_000

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_PREFIX = re.compile(r"^\[(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)?)(?P<ranks>(?: [A-Z_]+\d+)*)\] ?")
# Ansible logs its modules' arguments to syslog: a gate must not be satisfied by its own regular expression.
_ANSIBLE = re.compile(r"\bansible-[\w.-]+(?:\[\d+\])?:? Invoked with\b")
_ACCESS = re.compile(r'^INFO:\s+\S+:\d+ - "[A-Z]+ \S+ HTTP/[\d.]+" \d+')
_START = re.compile(r"^inference\.sglang: start (?P<id>\S+)(?: at (?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d))?(?: |$)")
_END = re.compile(r"^inference\.sglang: end (?P<id>\S+) (?P<status>status .*)$")
_COUNTER = re.compile(r"(?P<done>\d+)/(?P<total>\d+) \[")
_VOLATILE = re.compile(r"\d+")


# Each alone means that this start will not become a server, and so does each of the last words.
_DEATHS = re.compile(
    r"(?:Scheduler|DetokenizerManager|TokenizerManager|DataParallelController) hit an exception:"
    r"|^SIGTERM received\."
    r"|^Initialization failed\."
    r"|Rank \d+ scheduler died during initialization"
    r"|^Subprocess \S+ \(pid=\d+\) crashed with exit code"
    r"|\[Errno 98\] error while attempting to bind on address"
    r"|watchdog timeout \(self\.watchdog_timeout="
)
# After one of these the engine says nothing more of use.
_LAST_WORDS = re.compile(r"^Received sigquit from a child process|^SIGQUIT received\.|^(?:sglang serve|launch_server\.py|sglang): error: ")


@dataclass(frozen=True)
class Expectation:
    """What the plan says this start must log."""

    dispatcher: Optional[str]
    count: int
    ready: str = READY_LINE
    family: str = "none"

    @classmethod
    def from_plan(cls, gate: Mapping[str, Any]) -> Expectation:
        """From the ``gate`` of a launch plan: family, dispatcher, dispatcher_count, ready."""
        dispatcher = gate.get("dispatcher") or None
        count = int(gate.get("dispatcher_count", 1 if dispatcher else 0))
        if dispatcher and count < 1:
            raise CodedError(
                "GATE-106",
                "the gate names a dispatcher line but expects it no time",
                found=f"dispatcher_count {count}",
                wanted="1, or 2 with a draft model",
                next_step="pass the plan's gate unchanged",
            )
        return cls(dispatcher, count if dispatcher else 0, str(gate.get("ready") or READY_LINE), str(gate.get("family") or "none"))


@dataclass
class LogGate:
    """Feed it every line of the log; ask ``verdict`` after each and ``tick`` when there is none."""

    expectation: Expectation
    clock: Callable[[], float]
    stall_timeout: float = 300.0
    timeout: float = 3600.0
    invocation_id: str = ""
    # In a file that earlier starts wrote to as well, nothing counts before this start's marker.
    wait_for_marker: bool = False
    on_stage: Optional[Callable[[str, str], None]] = None
    on_progress: Optional[Callable[[str, str, int, int], None]] = None

    verdict: str = WAITING
    cause: Optional[Cause] = None
    stage: str = "process"
    figures: dict[str, Any] = field(default_factory=dict)
    ranks: dict[str, dict[str, Any]] = field(default_factory=dict)
    diagnosis: Diagnosis = field(default_factory=Diagnosis)
    words: EngineWords = field(default_factory=EngineWords)
    stopped: str = "somebody asked the server to stop while it was starting"

    def __post_init__(self) -> None:
        self._begun = self._moved = self.clock()
        self._stages: dict[str, Reached] = {"process": Reached(self._begun)}
        self._dispatchers: dict[str, int] = {}
        self._kernels = ""
        self._turns: dict[str, Turns] = {}
        self._line: tuple[Stage, ...] = STAGES
        self._order: Mapping[str, int] = ORDER
        self._rank_stages: dict[str, str] = {}
        self._seen: set[int] = set()
        self._dying: Optional[float] = None
        self._asked_to_stop = False
        self._open = not self.wait_for_marker
        self._tail: deque[str] = deque(maxlen=EXCERPT_LINES)
        self._quoting = self._heard = False
        e = self.expectation
        # A site's own log format (SGLANG_LOGGING_CONFIG_PATH) may stand before the text: something with a digit, without quotes.
        prefix = r"^(?:[^'\"]{0,80}\d[^'\"]{0,40}[\]|:-] )?"
        self._dispatcher = re.compile(prefix + re.escape(e.dispatcher) + r": (?P<kernels>decode=.*\S)\s*$") if e.dispatcher else None
        self._ready = re.compile(prefix + re.escape(e.ready) + r"\s*$")

    # -- input ---------------------------------------------------------------------------------------------------------------
    def feed(self, raw: str) -> str:
        """One line of the log. Returns the verdict so far."""
        if self.verdict != WAITING:
            return self.verdict
        self._heard = True
        text = _CONTROL.sub("", _ANSI.sub("", raw)).rstrip()
        if _ANSIBLE.search(text):
            return self.verdict
        marker = _START.match(text)
        if marker:
            self._on_marker(marker["id"], marker["time"])
            return self.verdict
        if not self._open:
            return self.verdict
        prefix = _PREFIX.match(text)
        body = text[prefix.end() :] if prefix else text
        rank = (prefix["ranks"].strip() if prefix else "") or "TP0"
        stamp = stamp_seconds(prefix["time"]) if prefix else None
        self._keep(text)
        self._note_progress(body)
        if not _ACCESS.match(body):
            self.diagnosis.feed(body)
            self.words.feed(body)
        self._read_stage(body, rank, stamp)
        self._read_figures(body, rank)
        self._read_end(body, text, stamp)
        return self.verdict

    def tick(self) -> str:
        """Time passes without a line. Returns the verdict so far."""
        if self.verdict != WAITING:
            return self.verdict
        now = self.clock()
        if self._dying is not None and now - self._dying >= SETTLE:
            self._die("")
        elif now - self._begun >= self.timeout:
            self._finish(STALLED, cause_of_slowness(self.timeout, self.stage, self._tail[-1] if self._tail else ""))
        elif not self._heard and now - self._begun >= min(FIRST_LINE, self.stall_timeout):
            self._finish(STALLED, cause_of_no_line(now - self._begun, self.wait_for_marker))
        elif now - self._moved >= self.stall_timeout:
            stage, rank = self._slowest()
            self._finish(STALLED, self.diagnosis.cause_of_silence(stage, now - self._moved, self.next_stage(stage), rank))
        return self.verdict

    def ended(self, status: str) -> str:
        """The engine's process is gone, whatever the log said (ready, too). ``status`` is what is known of its end."""
        if self.verdict in (WAITING, READY):
            self._die(status)
        return self.verdict

    def seconds_to_tick(self) -> float:
        """How long ``tick`` can wait for nothing to be missed."""
        now = self.clock()
        times = [self._begun + self.timeout, self._moved + self.stall_timeout]
        if not self._heard:
            times.append(self._begun + FIRST_LINE)
        if self._dying is not None:
            times.append(self._dying + SETTLE)
        return max(0.0, min(times) - now)

    # -- output --------------------------------------------------------------------------------------------------------------
    def _slowest(self) -> tuple[str, str]:
        """The stage that went silent: that of the rank that is behind, as long as every rank logs its stages; and that rank."""
        order = {rank: self._order[stage] for rank, stage in self._rank_stages.items()}
        if self._order[self.stage] > self._order["graphs"] or len(set(order.values())) < 2:
            return self.stage, ""
        rank = min(order, key=lambda name: order[name])
        return self._line[order[rank]].name, rank

    def next_stage(self, after: str = "") -> str:
        """What should have followed the present stage, among what this start is expected to do."""
        after = after or self.stage
        for stage in self._line[self._order[after] + 1 :]:
            if stage.name.startswith("draft") and self.expectation.count < 2:
                continue
            if stage.name in ("backend", "dispatcher") and not self.expectation.dispatcher:
                continue
            return stage.name
        return "ready"

    def stages(self) -> list[dict[str, Any]]:
        """Each stage reached, in order, with the seconds after the start at which it began."""
        first_stamp = min((r.stamp for r in self._stages.values() if r.stamp is not None), default=0.0)
        result = []
        for stage in self._line:
            reached = self._stages.get(stage.name)
            if reached is None:
                continue
            seconds = reached.at - self._begun if reached.stamp is None else reached.stamp - first_stamp
            result.append({"stage": stage.name, "what": stage.what, "at_s": round(max(seconds, 0.0), 1)})
        return result

    def result(self) -> dict[str, Any]:
        """Everything that a module returns, apart from the excerpt."""
        return {
            "verdict": self.verdict,
            "stage": self.stage,
            "stages": self.stages(),
            "seconds": round(self.clock() - self._begun, 1),
            "figures": {**self.figures, "ranks": self.ranks},
            "dispatcher": {"seen": max(self._dispatchers.values(), default=0), "wanted": self.expectation.count, "kernels": self._kernels},
            "warnings_seen": list(self.diagnosis.warnings),
            "cause": self.cause.as_dict() if self.cause else None,
        }

    def excerpt(self) -> list[str]:
        """The last lines, without torchcodec's page of tracebacks."""
        return list(self._tail)

    # -- reading -------------------------------------------------------------------------------------------------------------
    def _on_marker(self, found: str, time: Optional[str]) -> None:
        if not self.invocation_id or found == self.invocation_id:
            self._open = True
            self._moved = self.clock()
            self._stages["process"] = Reached(self._begun, stamp_seconds(time) if time else None)
        elif self._open:
            what = "another start began in this log: systemd started the unit again, or two servers write to one file"
            self._finish(DEAD, concluded(SUPERSEDED, what, f"{MARKER}{found}"))

    def _keep(self, text: str) -> None:
        if "[start of libtorchcodec loading traceback]" in text:
            self._quoting = True
        if not self._quoting and text.strip():
            self._tail.append(text)
        if "[end of libtorchcodec loading traceback]" in text:
            self._quoting = False

    def _note_progress(self, body: str) -> None:
        """A line counts as progress when it is new: neither a repeated warning nor somebody's health check."""
        if not body.strip() or _ACCESS.match(body):
            return
        counter = _COUNTER.search(body)
        key = hash(body if counter else _VOLATILE.sub("#", body))
        if key not in self._seen:
            self._moved = self.clock()
            if len(self._seen) < _MOST_REMEMBERED:
                self._seen.add(key)
        if counter and self.on_progress:
            self.on_progress(self.stage, body.strip()[:120], int(counter["done"]), int(counter["total"]))

    def _read_stage(self, body: str, rank: str, stamp: Optional[float]) -> None:
        if self._dispatcher:
            match = self._dispatcher.search(body)
            if match:
                self._dispatchers[rank] = self._dispatchers.get(rank, 0) + 1
                self._kernels = match["kernels"]
        for stage in STAGES:
            if not stage.pattern.search(body):
                continue
            turns = self._turns.setdefault(rank, Turns())
            was, name = turns.draft_first, turns.stage(stage.name, body)
            if turns.draft_first and not was:
                self._on_draft_first(rank)
            self._note_rank(name, rank)
            self._enter(name, stamp)
            return

    def _on_draft_first(self, rank: str) -> None:
        """What was taken for the beginning of its pools was the end of the model's weights."""
        if self._line is STAGES:
            self._line, self._order = DRAFT_FIRST, {stage.name: index for index, stage in enumerate(DRAFT_FIRST)}
            self._stages.pop("memory", None)
            self.stage = "weights" if self.stage == "memory" else self.stage
        self._rank_stages[rank] = "weights"

    def _note_rank(self, name: str, rank: str) -> None:
        if name == "backend" and not rank.endswith("TP0"):
            name = "dispatcher"  # only rank 0 logs that line
        if self._order["distributed"] <= self._order[name] <= self._order["graphs"]:
            self._rank_stages[rank] = max(self._rank_stages.get(rank, name), name, key=lambda n: self._order[n])

    def _enter(self, name: str, stamp: Optional[float]) -> None:
        if name not in self._stages:
            self._stages[name] = Reached(self.clock(), stamp)
            if self.on_stage:
                self.on_stage(name, self._line[self._order[name]].what)
        if self._order[name] > self._order[self.stage]:  # ranks interleave: one may be a stage behind another
            self.stage = name

    def _read_figures(self, body: str, rank: str) -> None:
        if "server_args=ServerArgs(" in body:
            for match in ARGUMENTS.finditer(body):
                self.figures.setdefault(match["name"], literal(match["value"]))
            return
        scheduler = SCHEDULER.search(body)
        if scheduler:
            self.figures.update({name: number(value) for name, value in scheduler.groupdict().items() if value is not None})
            return
        for pattern, names in RANK_FIGURES:
            found = pattern.search(body)
            if found:
                place = self.ranks.setdefault(rank, {})
                if self._turns.setdefault(rank, Turns()).is_drafts(body):
                    place = place.setdefault("draft", {})
                place.update({name: number(found[group]) for group, name in names.items() if found[group] is not None})
                return

    # -- ends ----------------------------------------------------------------------------------------------------------------
    def _read_end(self, body: str, text: str, stamp: Optional[float]) -> None:
        launcher = _END.match(text)
        if launcher:
            if not self.invocation_id or launcher["id"] == self.invocation_id:
                self._die(launcher["status"])
            return
        if self._ready.search(body):
            self._enter("ready", stamp)
            self._on_ready(text)
            return
        if _DEATHS.search(body):
            # What breaks after the stop was asked for follows from it; what broke before was the reason to ask.
            if body.startswith("SIGTERM received.") and self.diagnosis.known_cause() is None:
                self._asked_to_stop = True
            if self._dying is None:
                self._dying = self.clock()
        if _LAST_WORDS.search(body):
            self._die("")

    def _on_ready(self, text: str) -> None:
        e = self.expectation
        seen = max(self._dispatchers.values(), default=0)
        if seen >= e.count:
            self._finish(READY, None)
            return
        if seen == 0:
            what = f"the server is up, but the line '{e.dispatcher}' of a {e.family.upper()} model never came: it runs other kernels"
        else:
            what = f"the server is up, but '{e.dispatcher}' came {seen} time(s), not {e.count}: the draft model is not running"
        self._finish(WRONG, concluded(NO_DISPATCHER, what, text.strip()))

    def _die(self, status: str) -> None:
        known = self.diagnosis.known_cause()
        if self._asked_to_stop or (known is None and "stopped as asked" in status):
            evidence = self._tail[-1] if self._tail else ""
            known = concluded(STOPPED, self.stopped, evidence)
        self._finish(DEAD, known or self.diagnosis.cause_of_death(status))

    def _finish(self, verdict: str, cause: Optional[Cause]) -> None:
        self.verdict = verdict
        self.cause = cause
