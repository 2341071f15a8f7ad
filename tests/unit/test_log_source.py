# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Following a log file and a process with real files and processes: what the gate sees, and how soon."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible_collections.inference.sglang.plugins.module_utils import _log_source as source_module
from ansible_collections.inference.sglang.plugins.module_utils import _unit_watch
from ansible_collections.inference.sglang.plugins.module_utils._log_gate import Expectation, LogGate
from ansible_collections.inference.sglang.plugins.module_utils._log_source import FileSource, LineSplitter, find_marker, name_full_disk, run
from ansible_collections.inference.sglang.plugins.module_utils._unit_watch import UnitState, UnitWatch
from hypothesis import given, settings
from hypothesis import strategies as st

GDN = "[2026-11-30 02:11:57 TP0] GDN kernel dispatcher: decode=TritonGDNKernel, extend=TritonGDNKernel, verify=X packed_decode=True"
READY = "[2026-11-30 02:12:58] The server is fired up and ready to roll!"
NEW, OLD = "a" * 32, "b" * 32


def mark(invocation: str) -> str:
    return f"inference.sglang: start {invocation} at 2026-11-30 02:00:00"


def write(path: Path, *lines: str) -> None:
    with path.open("a") as stream:
        stream.write("".join(f"{line}\n" for line in lines))


def append(path: Path, text: str) -> None:
    with path.open("a") as stream:
        stream.write(text)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "engine.log"


@pytest.fixture
def source(log: Path) -> Iterator[FileSource]:
    subject = FileSource(str(log), NEW)
    yield subject
    subject.close()


# -- files ---------------------------------------------------------------------------------------------------------------------
def test_only_this_start_is_read(log: Path, source: FileSource) -> None:
    write(log, mark(OLD), GDN, READY, mark(NEW), "one")
    assert source.read_lines() == [mark(NEW), "one"]
    write(log, "two")
    assert source.read_lines() == ["two"]


def test_a_file_that_appears_later_is_found(log: Path, source: FileSource) -> None:
    assert source.read_lines() == []
    write(log, "old", READY)
    assert source.read_lines() == []
    write(log, mark(NEW), "one")
    assert source.read_lines() == [mark(NEW), "one"]


def test_a_marker_that_arrives_in_pieces_is_found(log: Path, source: FileSource) -> None:
    write(log, "x" * 200)
    assert source.read_lines() == []
    line = mark(NEW)
    append(log, line[:30])
    assert source.read_lines() == []
    append(log, line[30:] + "\none\n")
    assert source.read_lines() == [line, "one"]


def test_partial_lines_wait_for_their_end(log: Path, source: FileSource) -> None:
    write(log, mark(NEW))
    source.read_lines()
    append(log, READY[:30])
    assert source.read_lines() == []
    append(log, READY[30:] + "\n")
    assert source.read_lines() == [READY]


def test_a_rotated_file_is_followed_and_so_is_its_successor(log: Path, source: FileSource) -> None:
    write(log, mark(NEW), "one")
    source.read_lines()
    rotated = log.with_suffix(".1")
    log.rename(rotated)
    write(rotated, "still here")
    write(log, "new file")
    assert sorted(source.read_lines()) == ["new file", "still here"]
    write(log, "more")
    assert source.read_lines() == ["more"]


def test_a_truncated_file_is_read_from_its_beginning(log: Path, source: FileSource) -> None:
    write(log, mark(NEW), "a long line that will be gone")
    source.read_lines()
    log.write_text("short\n")
    assert source.read_lines() == ["short"]


def test_a_file_recreated_before_the_start_is_the_one_that_counts(log: Path, source: FileSource) -> None:
    write(log, mark(OLD), READY)
    assert source.read_lines() == []
    log.unlink()
    write(log, mark(NEW), "one")
    assert source.read_lines() == [mark(NEW), "one"]


def test_binary_junk_and_carriage_returns_do_not_stop_it(log: Path, source: FileSource) -> None:
    write(log, mark(NEW))
    with log.open("ab") as stream:
        stream.write(b"\x00\xff\xfe\n10%\r20%\r\n" + READY.encode() + b"\n")
    lines = source.read_lines()
    assert lines[-1] == READY
    assert "20%" in lines


def test_a_big_file_is_searched_from_its_end(log: Path, source: FileSource) -> None:
    with log.open("wb") as stream:
        stream.truncate(200 << 20)  # sparse: 200 MB to read if it were read from the beginning
    append(log, "\n")
    write(log, mark(NEW), "one")
    began = time.monotonic()
    assert source.read_lines() == [mark(NEW), "one"]
    assert time.monotonic() - began < 0.2


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 70000), st.integers(0, 70000), st.booleans())
def test_the_marker_is_found_wherever_the_blocks_end(
    tmp_path_factory: pytest.TempPathFactory, before: int, after: int, second: bool
) -> None:
    path = tmp_path_factory.mktemp("m") / "log"
    head = b"y" * before + (b"\n" if before else b"")
    text = head + (mark(NEW).encode() + b"\n") * (2 if second else 1) + b"z" * after
    path.write_bytes(text)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        expected = len(head) + (len(mark(NEW)) + 1 if second else 0)
        assert find_marker(descriptor, b"inference.sglang: start " + NEW.encode()) == expected
        assert find_marker(descriptor, b"inference.sglang: start " + OLD.encode()) == -1
    finally:
        os.close(descriptor)


def test_a_marker_inside_a_line_is_none(log: Path, source: FileSource) -> None:
    write(log, f"somebody greps for {mark(NEW)}", mark(NEW + "ff"))
    assert source.read_lines() == []


@given(st.binary(max_size=200), st.integers(1, 20))
def test_lines_are_the_same_however_the_bytes_arrive(data: bytes, step: int) -> None:
    pieces, whole = LineSplitter(), LineSplitter()
    lines = [line for i in range(0, len(data), step) for line in pieces.feed(data[i : i + step])] + pieces.rest()
    expected = whole.feed(data) + whole.rest()
    assert [x for x in lines if x] == [x for x in expected if x]


# -- the unit --------------------------------------------------------------------------------------------------------------------
class FakeUnit:
    """systemd's view of a real process."""

    def __init__(self) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
        self.state = UnitState("loaded", "active", "running", NEW, self.process.pid, 0, "success", 0, 0)

    def show(self, _unit: str) -> UnitState:
        return self.state

    def end(self, **changes: object) -> None:
        values = {"active": "failed", "sub": "failed", "main_pid": 0, "result": "signal", "exit_code": 2, "exit_status": 9, **changes}
        self.process.kill()
        self.process.wait()
        self.state = UnitState(**{**vars(self.state), **values})  # type: ignore[arg-type]


@pytest.fixture
def unit() -> Iterator[FakeUnit]:
    subject = FakeUnit()
    yield subject
    subject.process.kill()
    subject.process.wait()


def watch(unit: FakeUnit, invocation: str = NEW) -> UnitWatch:
    return UnitWatch("sglang-x.service", invocation, unit.show)


def test_a_living_process_is_alive_and_its_end_is_described(unit: FakeUnit) -> None:
    subject = watch(unit)
    assert not subject.ended()
    unit.end()
    assert subject.ended()
    assert subject.describe() == "failed (failed), main process killed by SIGKILL, result signal"
    subject.close()


def test_without_pidfd_it_works_too(unit: FakeUnit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    subject = watch(unit)
    assert subject.fileno() == -1
    assert subject.interval <= 0.25
    assert not subject.ended()
    unit.end()
    assert subject.ended()


def test_another_invocation_is_the_death_of_this_one(unit: FakeUnit) -> None:
    unit.state = UnitState(**{**vars(unit.state), "restarts": 2})
    subject = watch(unit, OLD)
    assert subject.ended()
    assert "2 automatic restarts" in subject.describe()


@pytest.mark.parametrize("changes", [{"sub": "auto-restart", "active": "activating", "main_pid": 0}, {"active": "inactive", "main_pid": 0}])
def test_a_unit_that_is_not_running_is_over(unit: FakeUnit, changes: dict[str, object]) -> None:
    unit.state = UnitState(**{**vars(unit.state), **changes})  # type: ignore[arg-type]
    assert watch(unit).ended()


def test_systemctls_words_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "Result=exit-code\nNRestarts=3\nExecMainCode=1\nExecMainStatus=137\nControlGroup=/x\nMainPID=0\nLoadState=loaded\n"
        f"ActiveState=failed\nSubState=failed\nInvocationID={NEW}\n"
    )
    monkeypatch.setattr(_unit_watch.subprocess, "run", lambda *a, **k: subprocess.CompletedProcess(a, 0, text, ""))
    state = _unit_watch.show_unit("sglang-x.service")
    assert state == UnitState("loaded", "failed", "failed", NEW, 0, 3, "exit-code", 1, 137)
    assert state.describe() == "failed (failed), main process ended with status 137, result exit-code"


# -- both ------------------------------------------------------------------------------------------------------------------------
def after(seconds: float, action: Callable[[], object]) -> list[float]:
    """Do it later; the time at which it was done is added to the list."""
    done: list[float] = []

    def work() -> None:
        time.sleep(seconds)
        done.append(time.monotonic())
        action()

    threading.Thread(target=work, daemon=True).start()
    return done


def gate_for(log: Path, stall: float = 20) -> LogGate:
    return LogGate(
        Expectation("GDN kernel dispatcher", 1, family="gdn"),
        time.monotonic,
        stall_timeout=stall,
        timeout=30,
        invocation_id=NEW,
        wait_for_marker=True,
    )


def test_ready_is_seen_within_a_second(log: Path, source: FileSource, unit: FakeUnit) -> None:
    write(log, mark(OLD), GDN, READY, mark(NEW), GDN)
    done = after(0.3, lambda: write(log, READY))
    assert run(gate_for(log), source, watch(unit)) == "ready"
    assert time.monotonic() - done[0] < 1.0


def test_death_without_a_word_is_seen_within_a_second(log: Path, source: FileSource, unit: FakeUnit) -> None:
    write(log, mark(NEW), GDN)
    gate = gate_for(log)
    done = after(0.3, unit.end)
    assert run(gate, source, watch(unit)) == "dead"
    assert time.monotonic() - done[0] < 1.0
    assert gate.cause is not None
    assert gate.cause.code == "GATE-003"


def test_last_words_after_the_death_are_still_read(log: Path, source: FileSource, unit: FakeUnit) -> None:
    write(log, mark(NEW), GDN)
    gate = gate_for(log)

    def die() -> None:
        unit.end()
        time.sleep(0.1)
        write(log, "[Errno 98] error while attempting to bind on address ('0.0.0.0', 30000): address already in use")

    after(0.2, die)
    assert run(gate, source, watch(unit)) == "dead"
    assert gate.cause is not None
    assert gate.cause.code == "GATE-070"


def test_the_launchers_last_line_ends_it_at_once(log: Path, source: FileSource, unit: FakeUnit) -> None:
    write(log, mark(NEW), GDN)
    gate = gate_for(log)

    def die() -> None:
        write(log, f"inference.sglang: end {NEW} status 1: the engine ended with status 1, no stop was asked for")
        unit.end()

    done = after(0.2, die)
    assert run(gate, source, watch(unit)) == "dead"
    assert time.monotonic() - done[0] < 0.8


def test_a_ready_line_of_a_dead_server_is_not_success(log: Path, source: FileSource, unit: FakeUnit) -> None:
    write(log, mark(NEW), GDN, READY)
    subject = watch(unit)
    unit.end()
    assert run(gate_for(log), source, subject) == "dead"


def test_silence_ends_by_stall(log: Path, source: FileSource, unit: FakeUnit) -> None:
    write(log, mark(NEW), GDN)
    gate = gate_for(log, stall=0.4)
    began = time.monotonic()
    assert run(gate, source, watch(unit)) == "stalled"
    assert 0.3 < time.monotonic() - began < 1.5
    assert gate.cause is not None
    assert "'dispatcher'" in gate.cause.what


def test_waiting_costs_no_processor_time(log: Path, source: FileSource, unit: FakeUnit) -> None:
    write(log, mark(NEW), GDN)
    before = time.process_time()
    run(gate_for(log, stall=1.5), source, watch(unit))
    assert time.process_time() - before < 0.2


@pytest.mark.parametrize(
    ("free", "status", "code"),
    [(0, "status 1", "GATE-072"), (1, "status 1", "GATE-002"), (0, "status 137", "GATE-003"), (-1, "status 1", "GATE-002")],
)
def test_a_log_that_is_full_is_named_where_nothing_else_is(
    monkeypatch: pytest.MonkeyPatch, log: Path, free: int, status: str, code: str
) -> None:
    def statvfs(_path: str) -> SimpleNamespace:
        if free < 0:
            raise OSError("gone")
        return SimpleNamespace(f_bavail=free)

    monkeypatch.setattr(source_module.os, "statvfs", statvfs)
    gate = LogGate(Expectation(None, 0), lambda: 0.0)
    name_full_disk(gate, str(log))
    assert gate.cause is None, "a gate that has no verdict yet stays so"
    gate.ended(status)
    name_full_disk(gate, str(log))
    assert gate.cause is not None
    assert gate.cause.code == code
