# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Why a start failed, from its log: fed line by line, asked once at the end.

The catalogue is data (_failure_catalogue.py). A root cause wins over what follows from it; among equals the first in the log.
What the catalogue does not know is shown as it stands: the first traceback's last frame and its exception.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Optional

from ansible_collections.inference.sglang.plugins.module_utils._failure_catalogue import FAILURES, HANGS, WARNINGS
from ansible_collections.inference.sglang.plugins.module_utils._failure_types import Failure, Hang, Own, Warn
from ansible_collections.inference.sglang.plugins.module_utils._failures_own import (
    KILLED,
    NOTHING_KEPT,
    SILENT_DEATH,
    STALLED,
    TIME_LIMIT,
    UNKNOWN,
)

_NO_IMPLEMENTATION = "GATE-036"

_FRAME = re.compile(r'^\s+File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<name>.+))?$')
_EXCEPTION = re.compile(r"^(?:[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Warning|Failure|Timeout)|[A-Za-z_]\w*(?:\.\w+)+)(?::.*)?$")
_TRACEBACK = re.compile(r"Traceback \(most recent call last\):\s*$")
_IGNORED_IMPORT = re.compile(r"Ignore import error when loading (sglang\.srt\.models\.\S+: .*)")
_ARGUMENTS = re.compile(r"server_args=ServerArgs\(")
_FRACTION = re.compile(r"\bmem_fraction_static=([\d.]+)")
_REQUESTS = re.compile(r"\bmax_running_requests=(\d+)")
_WEIGHTS_BEGIN = re.compile(r"Load weight begin\. avail mem=([\d.]+) GB")
_WEIGHTS_END = re.compile(r"Load weight end\..* avail mem=([\d.]+) GB")
# torchcodec prints five tracebacks, one a version of FFmpeg, for what is only a warning.
_QUOTED_BEGIN = "[start of libtorchcodec loading traceback]"
_QUOTED_END = "[end of libtorchcodec loading traceback]"


@dataclass(frozen=True)
class Cause:
    """Why it failed and what to do, with the line that says so."""

    code: str
    what: str
    change: str
    variable: str
    evidence: str
    source: str = ""

    def as_dict(self) -> dict[str, str]:
        """For a module's result."""
        return {
            "code": self.code,
            "what": self.what,
            "change": self.change,
            "variable": self.variable,
            "evidence": self.evidence,
            "source": self.source,
        }


def concluded(own: Own, what: str, evidence: str, change: str = "") -> Cause:
    """A cause that no line of the engine tells: what this start shows of it."""
    return Cause(own.code, what, change or own.fix, own.variable, evidence)


@dataclass
class _Memory:
    """The figures that tell "the fraction is too small" from "too much is set aside"."""

    fraction: Optional[float] = None
    requests: Optional[int] = None
    before: Optional[float] = None
    after: Optional[float] = None

    def feed(self, text: str) -> None:
        """Keeps the first of each: the target's, not the draft's."""
        arguments = _ARGUMENTS.search(text)
        if arguments and self.fraction is None:
            fraction = _FRACTION.search(text)
            requests = _REQUESTS.search(text)
            self.fraction = float(fraction[1]) if fraction else None
            self.requests = int(requests[1]) if requests else None
        begin, end = _WEIGHTS_BEGIN.search(text), _WEIGHTS_END.search(text)
        if begin and self.before is None:
            self.before = float(begin[1])
        if end and self.after is None:
            self.after = float(end[1])

    @property
    def left(self) -> Optional[float]:
        """GB that the fraction leaves after the weights (SGLang 0.5.11's rule)."""
        if self.fraction is None or self.before is None or self.after is None:
            return None
        return self.after - self.before * (1 - self.fraction)

    def values(self) -> dict[str, str]:
        """For the catalogue's texts."""
        return {
            "left": "" if self.left is None else f" ({self.left:.1f} GB were left after the weights)",
            "fraction": "" if self.fraction is None else f" {self.fraction:g}",
            "requests": "all allowed" if self.requests is None else str(self.requests),
        }


@dataclass
class Traceback:
    """One traceback while it is being read."""

    frame: str = ""
    exception: str = ""
    open: bool = True


@dataclass
class _Rule:
    failure: Failure
    pattern: re.Pattern[str]
    after: Optional[re.Pattern[str]]
    unless: Optional[re.Pattern[str]]
    after_seen: bool = False
    unless_seen: bool = False


def _fill(template: str, match: re.Match[str], more: Optional[dict[str, str]] = None) -> str:
    values = {name: (value if value is not None else "unknown") for name, value in match.groupdict().items()}
    return template.format(**values, **(more or {}))


def _compiled(text: Optional[str]) -> Optional[re.Pattern[str]]:
    return re.compile(text) if text is not None else None


@dataclass
class Diagnosis:
    """Reads one start's lines (without their time and rank prefix) and explains."""

    failures: tuple[Failure, ...] = FAILURES
    known_warnings: tuple[Warn, ...] = WARNINGS
    hangs: tuple[Hang, ...] = HANGS
    warnings: list[str] = field(default_factory=list)
    _found: list[Cause] = field(default_factory=list)
    _weights: list[int] = field(default_factory=list)
    _first: Optional[Traceback] = None
    _quoted: bool = False

    def __post_init__(self) -> None:
        self._rules = [_Rule(f, re.compile(f.pattern), _compiled(f.after), _compiled(f.unless)) for f in self.failures]
        self._warning_rules = [(re.compile(w.pattern), w) for w in self.known_warnings]
        self._hang_rules = [(h, re.compile(h.last_line), re.compile(h.seen), re.compile(h.unless)) for h in self.hangs]
        self._hang_seen = [[not h.seen, False] for h in self.hangs]
        self._last = ""
        self._ignored: list[str] = []
        self._memory = _Memory()

    def feed(self, text: str) -> None:
        """One line, without its prefix."""
        if _QUOTED_BEGIN in text:
            self._quoted = True
        if self._quoted:
            self._quoted = _QUOTED_END not in text
            return
        self._memory.feed(text)
        self._read_traceback(text)
        self._read_warnings(text)
        self._read_failures(text)
        for (hang, _last, seen, unless), state in zip(self._hang_rules, self._hang_seen):
            state[0] = state[0] or bool(seen.search(text))
            state[1] = state[1] or bool(hang.unless and unless.search(text))
        if text.strip():
            self._last = text.strip()

    def _read_failures(self, text: str) -> None:
        for rule in self._rules:
            context = (rule.after is None or rule.after_seen) and not rule.unless_seen
            if rule.failure.needs_room and (self._memory.left or 1.0) <= 0:
                context = False
            match = rule.pattern.search(text) if context else None
            if match:
                failure = rule.failure
                more = self._memory.values()
                self._found.append(
                    Cause(
                        failure.code,
                        _fill(failure.what, match, more),
                        _fill(failure.change, match, more),
                        failure.variable,
                        self._evidence(text.strip()),
                        failure.source,
                    )
                )
                self._weights.append(failure.weight)
            if rule.after is not None and not rule.after_seen:
                rule.after_seen = bool(rule.after.search(text))
            if rule.unless is not None and not rule.unless_seen:
                rule.unless_seen = bool(rule.unless.search(text))

    def _evidence(self, text: str) -> str:
        """The line; an exception without a message is told with its place."""
        if self._first is not None and self._first.frame and re.fullmatch(r"\w+", text):
            return f"{text} at {self._first.frame}"
        return text

    def _read_warnings(self, text: str) -> None:
        ignored = _IGNORED_IMPORT.search(text)
        if ignored and ignored[1] not in self._ignored:
            self._ignored.append(ignored[1])
        for pattern, warning in self._warning_rules:
            match = pattern.search(text)
            if match:
                said = _fill(warning.text, match)
                if said not in self.warnings:
                    self.warnings.append(said)

    def _read_traceback(self, text: str) -> None:
        if self._first is None:
            if _TRACEBACK.search(text):
                self._first = Traceback()
            return
        current = self._first
        if not current.open:
            return
        frame = _FRAME.match(text)
        if frame:
            name = frame["name"]
            current.frame = f"{frame['file']}:{frame['line']}" + (f" in {name}" if name else "")
        elif text[:1] not in ("", " ", "\t"):
            if _EXCEPTION.match(text):
                current.exception = text.strip()
            current.open = False

    @property
    def in_traceback(self) -> bool:
        """Whether the first traceback is still being printed: its last line is worth waiting for."""
        return self._first is not None and self._first.open

    def known_cause(self) -> Optional[Cause]:
        """The nearest to the root among the recognised lines; None where there is none."""
        if not self._found:
            return None
        best = min(range(len(self._found)), key=lambda index: (self._weights[index], index))
        return self._found[best]

    def _with_ignored_imports(self, cause: Cause) -> Cause:
        """A model without an implementation is mostly one whose module could not be imported."""
        if cause.code != _NO_IMPLEMENTATION or not self._ignored:
            return cause
        return replace(cause, what=f"{cause.what}; import errors that it ignored: {'; '.join(self._ignored[:5])}")

    def cause_of_death(self, status: str = "") -> Cause:
        """The best explanation for a server that is gone. ``status`` is what systemd or the launcher said of its end."""
        known = self.known_cause()
        if known is not None:
            return self._with_ignored_imports(known)
        if self._first is not None and (self._first.exception or self._first.frame):
            where = self._first.frame or "an unknown place"
            what = f"not in the catalogue: {self._first.exception or 'an exception'} at {where}"
            return concluded(UNKNOWN, what, self._first.exception or self._first.frame)
        if re.search(r"\b(?:137|SIGKILL|KILL|signal 9)\b", status):
            what = "the engine was killed (SIGKILL) and had logged no error: somebody's kill, or the kernel's OOM killer"
            return concluded(KILLED, what, status or self._last)
        return concluded(SILENT_DEATH, "the engine ended and logged no error", status or self._last)

    def cause_of_silence(self, stage: str, seconds: float, next_stage: str, rank: str = "") -> Cause:
        """The best explanation for a start that has stopped moving. ``rank`` is the one that is behind, if one is."""
        known = self.known_cause()
        if known is not None:
            return known
        silence = f"nothing new for {seconds:.0f} s in the stage '{stage}'" + (f" of {rank}" if rank else "")
        for (hang, last, _seen, _unless), (seen, excluded) in zip(self._hang_rules, self._hang_seen):
            if seen and not excluded and last.search(self._last):
                return Cause(hang.code, f"{silence}: {hang.what}", hang.change, hang.variable, self._last, hang.source)
        before = ""
        if self._first is not None and self._first.exception:
            before = f"; before that: {self._first.exception} at {self._first.frame or 'an unknown place'}"
        return concluded(STALLED, f"{silence}; '{next_stage}' should come next{before}", self._last)


def cause_of_slowness(seconds: float, stage: str, last: str) -> Cause:
    """A start that moves, but not within its time."""
    return concluded(TIME_LIMIT, f"not ready after {seconds:.0f} s; the stage is '{stage}'", last)


def cause_of_no_line(seconds: float, in_file: bool) -> Cause:
    """A unit that runs and of which nothing at all is logged: the launcher writes a line before anything else."""
    what = f"the unit runs, but {'its log file' if in_file else 'the journal'} holds no line of this start after {seconds:.0f} s"
    change = "see that the file is the one that the unit writes to and that its file system is not full" if in_file else ""
    return concluded(NOTHING_KEPT, what, "", change)
