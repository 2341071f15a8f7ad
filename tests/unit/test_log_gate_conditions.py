# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Each condition of the gate by itself, where no recorded start tells whether it is there (tests/gate_rates/mutants.py)."""

from __future__ import annotations

import pytest
from ansible_collections.inference.sglang.plugins.module_utils import _log_gate as gate_module

from tests.unit.log_gate_helpers import DISPATCHER, READY, Clock, feed, gate

TIME = "[2026-11-30 02:04:10"
WEIGHTS = "{} {}] Load weight begin. avail mem=46.23 GB"
BACKEND = "{} {}] Using hybrid linear attention backend for hybrid GDN models."
GRAPHS = "{} {}] Capture cuda graph begin. This can take up to several minutes. avail mem=13.19 GB"
SCHEDULER = (
    "{} {}] max_total_num_tokens=1, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=48, context_len=32768,"
    " available_gpu_mem=1.00 GB"
)
LAST_WORDS = [
    f"{TIME}] Received sigquit from a child process. It usually means the child failed.",
    f"{TIME}] SIGQUIT received. signum=None, frame=None. It usually means one child failed.",
    "sglang serve: error: unrecognized arguments: --x",
]
SIGNS = [
    *(f"{TIME}] {who} hit an exception: Traceback" for who in ("Scheduler", "DetokenizerManager", "TokenizerManager")),
    f"{TIME}] DataParallelController hit an exception: Traceback",
    f"{TIME}] SIGTERM received. signum=None frame=None. Draining requests and shutting down...",
    f"{TIME}] Initialization failed. warmup error: Traceback",
    "RuntimeError: Rank 0 scheduler died during initialization (exit code: -9).",
    f"{TIME}] Subprocess scheduler_0 (pid=1010) crashed with exit code -11.",
    f"{TIME}] ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 30000): address already in use",
    f"{TIME}] SchedulerWatchdog watchdog timeout (self.watchdog_timeout=300, self.soft=False)",
]


@pytest.mark.parametrize("line", LAST_WORDS)
def test_last_words_are_death_at_once(line: str) -> None:
    assert gate().feed(line) == "dead"


@pytest.mark.parametrize("line", SIGNS)
def test_each_sign_of_death_is_one_alone_once_it_has_settled(line: str) -> None:
    clock = Clock()
    subject = gate(clock=clock)
    assert subject.feed(line) == "waiting"
    assert subject.tick() == "waiting"
    clock.now += 0.3
    assert subject.tick() == "waiting"
    subject.feed(f"{TIME}] Subprocess scheduler_1 (pid=1011) crashed with exit code -11.")
    clock.now += 0.11  # since the first sign: a second one puts nothing off
    assert subject.tick() == "dead"


def test_a_verdict_stays() -> None:
    clock = Clock()
    subject = gate(clock=clock)
    assert feed(subject, [DISPATCHER, READY]) == "ready"
    clock.now += 100_000
    assert subject.tick() == "ready"
    subject = gate()
    assert feed(subject, [READY]) == "wrong"
    cause = subject.cause
    assert subject.ended("status 1") == "wrong"
    assert subject.cause == cause


def test_why_it_is_wrong_is_told() -> None:
    subject = gate()
    feed(subject, [READY])
    assert subject.cause is not None
    assert "never came" in subject.cause.what
    subject = gate(count=2)
    feed(subject, [DISPATCHER, READY])
    assert subject.cause is not None
    assert "1 time(s), not 2" in subject.cause.what


def test_the_launcher_s_word_is_enough_for_a_stop_and_for_an_end() -> None:
    subject = gate()
    subject.ended("status 0: stopped as asked")
    assert subject.cause is not None
    assert subject.cause.code == "GATE-004"
    assert gate().feed("inference.sglang: end 0123 status 1: the engine ended with status 1, no stop was asked for") == "dead"


def test_after_the_first_line_only_the_limits_count() -> None:
    subject = gate(stall_timeout=600, timeout=3600)
    assert subject.seconds_to_tick() == 60
    subject.feed(f"{TIME}] something")
    assert subject.seconds_to_tick() == 600


def test_a_blank_line_is_no_progress() -> None:
    clock = Clock()
    subject = gate(clock=clock, stall_timeout=60)
    subject.feed(f"{TIME}] something")
    clock.now += 59
    subject.feed("")
    clock.now += 2
    assert subject.tick() == "stalled"


def stalled(*lines: str) -> str:
    """What is said of a start that goes silent after these lines."""
    clock = Clock()
    subject = gate(clock=clock, stall_timeout=60)
    feed(subject, list(lines))
    clock.now += 61
    assert subject.tick() == "stalled"
    assert subject.cause is not None
    return subject.cause.what


def test_the_rank_behind_is_named_as_long_as_every_rank_logs_its_stages() -> None:
    assert "'backend' of TP0" in stalled(BACKEND.format(TIME, "TP0"), GRAPHS.format(TIME, "TP1"))
    # Only rank 0 logs the dispatcher: the others are there when they have a backend.
    assert "'backend' of TP0" in stalled(BACKEND.format(TIME, "TP0"), BACKEND.format(TIME, "TP1"))
    assert " of " not in stalled(f"{TIME}] server_args=ServerArgs(tp_size=2)", WEIGHTS.format(TIME, "TP1")).partition(";")[0]
    later = stalled(WEIGHTS.format(TIME, "TP1"), GRAPHS.format(TIME, "TP0"), SCHEDULER.format(TIME, "TP0"))
    assert "'scheduler';" in later


@pytest.mark.parametrize(
    ("count", "dispatcher", "after", "following"),
    [
        (1, "GDN kernel dispatcher", "graphs", "scheduler"),
        (2, "GDN kernel dispatcher", "graphs", "draft weights"),
        (1, "GDN kernel dispatcher", "memory", "backend"),
        (0, None, "memory", "graphs"),
        (1, "GDN kernel dispatcher", "warm-up", "ready"),
    ],
)
def test_what_should_follow_is_what_this_start_does(count: int, dispatcher: str | None, after: str, following: str) -> None:
    assert gate(count=count, dispatcher=dispatcher).next_stage(after) == following


def test_the_excerpt_has_no_blank_lines_and_no_quoted_tracebacks() -> None:
    subject = gate()
    lines = ["before", "", "[start of libtorchcodec loading traceback]", "quoted", "[end of libtorchcodec loading traceback]", "after"]
    feed(subject, lines)
    assert [line for line in subject.excerpt() if "libtorchcodec" not in line] == ["before", "after"]


def test_what_is_remembered_of_the_log_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_module, "_MOST_REMEMBERED", 5)
    subject = gate()
    feed(subject, [f"{TIME}] a line of its own: {'x' * number}" for number in range(20)])
    assert len(subject._seen) == 5
