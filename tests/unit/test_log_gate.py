# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The gate over recorded starts, cut and mixed; no healthy one is refused and no other one passes."""

from __future__ import annotations

import pytest

from tests.unit.log_gate_helpers import DISPATCHER, GDN, LOGS, READY, Clock, feed, gate, lines_of, until_ready

STARTS = sorted(path.stem for path in LOGS.glob("start-*.log"))
GDN_STARTS = [name for name in STARTS if "cpu" not in name]
SPECULATIVE = [name for name in STARTS if "mtp" in name]
FAILURES = sorted(path.stem for path in LOGS.glob("fail-*.log"))


@pytest.mark.parametrize("name", STARTS)
def test_every_recorded_start_is_ready(name: str) -> None:
    subject = gate(count=2 if "mtp" in name else 1, dispatcher=None if "cpu" in name else GDN)
    assert feed(subject, lines_of(name)) == "ready"
    assert subject.cause is None
    assert subject.stages()[-1]["stage"] == "ready"
    at = [stage["at_s"] for stage in subject.stages()]
    assert at == sorted(at)


@pytest.mark.parametrize("name", FAILURES)
def test_no_recorded_failure_passes_even_where_nothing_is_expected(name: str) -> None:
    subject = gate(dispatcher=None)
    feed(subject, lines_of(name))
    if subject.verdict == "waiting":
        subject.ended("status 1")
    assert subject.verdict == "dead"
    assert subject.cause is not None
    assert subject.cause.code not in ("GATE-001", "GATE-002", "GATE-003")


@pytest.mark.parametrize("name", [n for n in FAILURES if "memory" in n or "oom" in n or "tp2" in n or "fraction" in n])
def test_death_is_concluded_from_the_log_alone(name: str) -> None:
    subject = gate(count=2)
    for line in lines_of(name):
        if not line.startswith("rc="):
            subject.feed(line)
    assert subject.verdict == "dead"


def test_a_death_without_last_words_is_concluded_once_it_has_settled() -> None:
    clock = Clock()
    subject = gate(clock=clock)
    lines = lines_of("fail-oom-draft-kv")
    for line in lines[: next(i for i, line in enumerate(lines) if "Received sigquit" in line)]:
        subject.feed(line)
    assert subject.verdict == "waiting"
    assert subject.seconds_to_tick() <= 0.5
    clock.now += 0.5
    assert subject.tick() == "dead"
    assert subject.cause is not None
    assert subject.cause.code == "GATE-043"


@pytest.mark.parametrize("name", SPECULATIVE)
def test_without_the_draft_dispatcher_the_server_is_wrong(name: str) -> None:
    lines = until_ready(name)
    last = max(i for i, line in enumerate(lines) if GDN in line)
    subject = gate(count=2)
    assert feed(subject, lines[:last] + lines[last + 1 :]) == "wrong"
    assert subject.cause is not None
    assert "1 time(s), not 2" in subject.cause.what


@pytest.mark.parametrize("name", GDN_STARTS)
def test_without_any_dispatcher_the_server_is_wrong(name: str) -> None:
    subject = gate()
    assert feed(subject, [line for line in until_ready(name) if GDN not in line]) == "wrong"


def test_without_the_ready_line_nothing_is_ready() -> None:
    subject = gate(count=2)
    assert feed(subject, until_ready("start-ct129-tp2-mtp-3-1-4-then-rank-killed")[:-1]) == "waiting"


def test_a_dispatcher_after_the_ready_line_does_not_count() -> None:
    assert feed(gate(), [READY, DISPATCHER]) == "wrong"


def test_the_same_line_of_another_rank_is_not_a_second_one() -> None:
    assert feed(gate(count=2), [DISPATCHER, DISPATCHER.replace("TP0", "DP1 TP0"), READY]) == "wrong"
    assert feed(gate(count=2), [DISPATCHER, DISPATCHER, READY]) == "ready"


def test_another_family_does_not_satisfy() -> None:
    assert feed(gate(), [DISPATCHER.replace("GDN", "KDA"), READY]) == "wrong"
    assert feed(gate(dispatcher="KDA kernel dispatcher"), [DISPATCHER.replace("GDN", "KDA"), READY]) == "ready"


def test_a_plain_transformer_needs_the_ready_line_only() -> None:
    assert feed(gate(dispatcher=None), [READY]) == "ready"


ANSIBLE = [
    "Nov 30 02:11:57 ct129 ansible-wait_for[4242]: Invoked with path=/root/sglang_serve.log search_regex={text} timeout=600",
    "Nov 30 02:11:57 ct129 python3[4242]: ansible-ansible.builtin.wait_for Invoked with path=/x search_regex={text}",
    "Nov 30 02:11:57 ct129 ansible-inference.sglang.log_gate[1]: Invoked with gate={{'dispatcher': '{text}'}} unit=sglang-default",
    "ansible-ansible.legacy.command: Invoked with _raw_params=grep -q {text}",
]


@pytest.mark.parametrize("template", ANSIBLE)
def test_ansibles_own_logged_arguments_do_not_count(template: str) -> None:
    for text in (DISPATCHER[26:], GDN, READY[22:]):
        subject = gate()
        subject.feed(template.format(text=text))
        assert subject.verdict == "waiting"
        assert subject.result()["dispatcher"]["seen"] == 0
    subject = gate()
    subject.feed(template.format(text=DISPATCHER))
    assert feed(subject, [READY]) == "wrong"
    subject = gate(dispatcher=None)
    subject.feed(template.format(text=READY))
    assert subject.verdict == "waiting"


def test_a_quoted_ready_line_does_not_count() -> None:
    subject = gate(dispatcher=None)
    for line in (
        "[2026-11-30 02:12:58] Receive: obj=GenerateReqInput(text='The server is fired up and ready to roll!')",
        "[2026-11-30 02:12:58] text: 'when it says: The server is fired up and ready to roll!",
        "The server is fired up and ready to roll! is what it says",
    ):
        subject.feed(line)
    assert subject.verdict == "waiting"


MARK = "inference.sglang: start {} at 2026-11-30 02:00:00"


def test_stale_lines_of_an_earlier_start_do_not_count() -> None:
    subject = gate(invocation_id="new", wait_for_marker=True)
    feed(subject, [MARK.format("old"), *until_ready("start-27b-no-flags"), MARK.format("new")])
    assert subject.verdict == "waiting"
    assert feed(subject, [READY]) == "wrong"


def test_an_earlier_failure_does_not_fail_this_start() -> None:
    subject = gate(count=1, invocation_id="new", wait_for_marker=True)
    assert feed(subject, [MARK.format("old"), *[x for x in lines_of("fail-oom-draft-kv") if "rc=" not in x]]) == "waiting"
    assert feed(subject, [MARK.format("new"), *until_ready("start-27b-no-flags")]) == "ready"


def test_without_a_marker_nothing_counts_in_a_file() -> None:
    assert feed(gate(invocation_id="new", wait_for_marker=True), until_ready("start-27b-no-flags")) == "waiting"


def test_another_start_in_the_same_log_ends_this_one() -> None:
    subject = gate(invocation_id="new", wait_for_marker=True)
    assert feed(subject, [MARK.format("new"), DISPATCHER, MARK.format("other"), READY]) == "dead"
    assert subject.cause is not None
    assert subject.cause.code == "GATE-005"


def test_the_launchers_end_line_is_death_and_its_status_the_cause() -> None:
    subject = gate(invocation_id="new")
    feed(subject, [DISPATCHER, "inference.sglang: end old status 0: stopped as asked"])
    assert subject.verdict == "waiting"
    feed(subject, ["inference.sglang: end new status 137: killed by signal 9 (SIGKILL), no stop was asked for"])
    assert subject.verdict == "dead"
    assert subject.cause is not None
    assert subject.cause.code == "GATE-003"


def test_a_stop_during_the_start_is_named() -> None:
    subject = gate(count=2)
    assert feed(subject, lines_of("killed-spec-v1-during-start")) == "dead"
    assert subject.cause is not None
    assert subject.cause.code == "GATE-004"
    subject = gate()
    subject.feed("[2026-11-30 00:32:55] SIGTERM received. signum=None frame=None. Draining requests and shutting down...")
    subject.ended("status 0: stopped as asked")
    assert subject.cause is not None
    assert subject.cause.code == "GATE-004"


def test_what_broke_before_the_stop_was_asked_for_is_the_cause() -> None:
    subject = gate()
    subject.feed("[2026-11-30 00:32:50] SchedulerWatchdog watchdog timeout (self.watchdog_timeout=300, self.soft=False)")
    subject.feed("[2026-11-30 00:32:55] SIGTERM received. signum=None frame=None. Draining requests and shutting down...")
    subject.ended("status 0: stopped as asked")
    assert subject.cause is not None
    assert subject.cause.code == "GATE-080"


def test_a_ready_server_that_is_gone_is_dead() -> None:
    subject = gate()
    assert feed(subject, [DISPATCHER, READY]) == "ready"
    assert subject.ended("status 137: killed by signal 9") == "dead"


def test_the_hang_ends_by_stall_and_names_the_stage() -> None:
    clock = Clock()
    subject = gate(count=2, clock=clock, stall_timeout=120)
    feed(subject, lines_of("hang-after-dispatcher-ct129-tp2"))
    assert subject.verdict == "waiting"
    clock.now += 119
    assert subject.tick() == "waiting"
    for minute in range(3):  # somebody's health checks are no progress
        subject.feed(f'[2026-11-30 02:0{minute}:00] INFO:     127.0.0.1:3531{minute} - "GET /health HTTP/1.1" 503 Service Unavailable')
    clock.now += 2
    assert subject.tick() == "stalled"
    assert subject.cause is not None
    assert "'dispatcher'" in subject.cause.what
    assert subject.cause.code == "GATE-090"


def test_an_unexplained_stall_names_stage_and_what_should_follow() -> None:
    clock = Clock()
    subject = gate(clock=clock, stall_timeout=60)
    subject.feed("[2026-11-30 02:04:10 TP0] Load weight begin. avail mem=46.23 GB")
    clock.now += 61
    assert subject.tick() == "stalled"
    assert subject.cause is not None
    assert "'weights'" in subject.cause.what
    assert "'memory'" in subject.cause.what


@pytest.mark.parametrize(("in_file", "told"), [(False, "the journal holds no line"), (True, "its log file holds no line")])
@pytest.mark.parametrize("limit", [8, 600])
def test_a_log_that_keeps_nothing_is_named_soon(in_file: bool, told: str, limit: int) -> None:
    clock = Clock()
    subject = gate(clock=clock, stall_timeout=limit, wait_for_marker=in_file)
    wait = min(limit, 60)
    assert subject.seconds_to_tick() <= wait
    clock.now += wait - 1
    assert subject.tick() == "waiting"
    clock.now += 1
    assert subject.tick() == "stalled"
    assert subject.cause is not None
    assert (subject.cause.code, subject.cause.variable) == ("GATE-009", "sglang_server_log_file")
    assert told in subject.cause.what


def test_one_line_shows_that_the_log_keeps_something() -> None:
    clock = Clock()
    subject = gate(clock=clock, stall_timeout=600)
    subject.feed("inference.sglang: start 0123 at 2026-11-30 02:04:00")
    clock.now += 599
    assert subject.tick() == "waiting"


def test_the_rank_that_is_behind_is_named() -> None:
    clock = Clock()
    subject = gate(clock=clock, stall_timeout=60)
    lines = until_ready("start-ct129-tp2-mtp-3-1-4-then-rank-killed")
    feed(subject, lines[: next(i for i, line in enumerate(lines) if GDN in line) + 1])
    assert subject.stage == "graphs"  # TP1 is ahead
    clock.now += 61
    subject.tick()
    assert subject.cause is not None
    assert "'dispatcher' of TP0; 'graphs' should come next" in subject.cause.what


def test_progress_keeps_a_slow_start_alive_until_the_overall_limit() -> None:
    clock = Clock()
    subject = gate(clock=clock, stall_timeout=60, timeout=600)
    for shard in range(1, 20):
        clock.now += 50
        subject.feed(f"Multi-thread loading shards:  10% Completed | {shard}/20 [00:00<?, ?it/s]")
        if subject.tick() != "waiting":
            break
    assert subject.verdict == "stalled"
    assert subject.cause is not None
    assert subject.cause.code == "GATE-008"
    assert clock.now >= 1600


def test_a_repeated_warning_is_no_progress() -> None:
    clock = Clock()
    subject = gate(clock=clock, stall_timeout=60)
    for second in range(70):
        clock.now += 1
        subject.feed(f"[2026-11-30 02:04:{second % 60:02d}] still waiting to acquire lock, {second} s so far")
        subject.tick()
    assert subject.verdict == "stalled"


def test_the_time_before_the_engines_first_line_counts() -> None:
    subject = gate(dispatcher=None)
    feed(subject, lines_of("start-cpu-smollm2"))
    at = {stage["stage"]: stage["at_s"] for stage in subject.stages()}
    assert at["process"] == 0
    assert at["arguments"] > 80  # importing, on a busy machine
    assert subject.diagnosis.warnings == ["the limit for open files is lower than SGLang asks for"]
