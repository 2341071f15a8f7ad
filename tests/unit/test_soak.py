# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A server that became ready and is watched: what ends the watch, with which cause, and what does not."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._log_gate import Expectation
from ansible_collections.inference.sglang.plugins.module_utils._soak import Soak

from tests.gate_rates.recordings import recordings
from tests.unit.log_gate_helpers import READY, Clock

OOM = "[2026-11-30 02:13:10] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
SICK = [recording for recording in recordings() if recording.until_ready and recording.code]
HEALTHY = [recording for recording in recordings() if recording.until_ready and not recording.code]


def soak(seconds: float = 30.0, **more: Any) -> Soak:
    return Soak(Expectation(None, 0), Clock(), soak=seconds, **more)


def later(subject: Soak, seconds: float) -> str:
    subject.clock.now += seconds  # type: ignore[attr-defined]
    return subject.tick()


def test_a_silent_server_is_ready_when_the_time_is_over_and_not_before() -> None:
    subject = soak(7000.0)
    subject.feed(READY)
    assert subject.verdict == "waiting", "its own ready line is no end of the watch"
    assert later(subject, 6999) == "waiting"
    assert 0 < subject.seconds_to_tick() <= 1
    assert later(subject, 1) == "ready"
    assert subject.cause is None


def test_a_log_that_lost_its_beginning_is_no_fault() -> None:
    assert later(soak(), 30) == "ready"


def test_what_failed_before_ready_does_not_count() -> None:
    subject = soak()
    for line in (OOM, "[2026-11-30 02:12:00] Scheduler hit an exception: Traceback", READY):
        subject.feed(line)
    assert later(subject, 30) == "ready"


@pytest.mark.parametrize("recording", HEALTHY, ids=lambda recording: recording.name)
def test_no_healthy_recorded_server_is_refused(recording: Any) -> None:
    subject = soak()
    for line in recording.lines:
        subject.feed(line)
        if "SIGTERM received" in line:
            assert subject.verdict == "waiting" or "stop" in str(subject.cause)
            return
    assert later(subject, 30) == "ready"


@pytest.mark.parametrize("recording", SICK, ids=lambda recording: recording.name)
def test_every_recorded_death_after_ready_is_named(recording: Any) -> None:
    subject = soak()
    for line in recording.lines:
        subject.feed(line)
    if later(subject, 1) == "waiting":
        subject.ended(recording.status)
    assert subject.verdict == "dead"
    assert subject.cause is not None
    assert subject.cause.code == recording.code


def test_a_failure_in_the_log_refuses_a_server_that_still_runs() -> None:
    subject = soak()
    for line in (READY, OOM):
        subject.feed(line)
    assert later(subject, 29) == "waiting"
    assert later(subject, 1) == "dead"
    assert subject.cause is not None
    assert subject.cause.code == "GATE-045"


@pytest.mark.parametrize("end", ["the end line", "the process", "after the time"])
def test_an_end_is_an_end(end: str) -> None:
    subject = soak(invocation_id="new")
    subject.feed("inference.sglang: start new")
    subject.feed(READY)
    if end == "the end line":
        subject.feed("inference.sglang: end new status 137: killed by signal 9 (SIGKILL), no stop was asked for")
    else:
        if end == "after the time":
            assert later(subject, 30) == "ready"
        subject.ended("failed (failed), main process killed by SIGKILL")
    assert subject.verdict == "dead"
    assert subject.cause is not None
    assert subject.cause.code == "GATE-003"


def test_another_start_and_a_stop_are_told_as_what_they_are() -> None:
    subject = soak(invocation_id="new", wait_for_marker=True)
    for line in ("inference.sglang: start new", READY, "inference.sglang: start newer"):
        subject.feed(line)
    assert subject.cause is not None
    assert subject.cause.code == "GATE-005"
    stopped = soak()
    stopped.feed(READY)
    stopped.feed("[2026-11-30 02:13:10] SIGTERM received. signum=None frame=None. Draining requests and shutting down...")
    assert later(stopped, 1) == "dead"
    assert stopped.cause is not None
    assert stopped.cause.what == "somebody asked the server to stop while it was watched"


def test_a_death_that_settles_at_the_end_of_the_time_is_not_ready() -> None:
    subject = soak(30)
    subject.feed(READY)
    later(subject, 29.9)
    subject.feed("[2026-11-30 02:13:10] Scheduler hit an exception: Traceback (most recent call last):")
    assert later(subject, 0.1) == "waiting"
    assert later(subject, 0.5) == "dead"
