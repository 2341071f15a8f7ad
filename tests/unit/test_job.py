# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The background job: what its files say, and what is told about one that died."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Optional

import pytest
from ansible.errors import AnsibleConnectionFailure
from ansible.module_utils import basic
from ansible_collections.inference.sglang.plugins.module_utils._job import (
    DEFAULT_LIMIT_SECONDS,
    REPORT_KEY,
    JobReport,
    job_state,
    limit_for,
    progress_line,
    split_progress,
    vanished_error,
)
from ansible_collections.inference.sglang.plugins.module_utils._progress import MINIMUM_INTERVAL, Progress
from ansible_collections.inference.sglang.plugins.modules import job_status
from ansible_collections.inference.sglang.plugins.plugin_utils import _long_running
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("timeout", "limit"),
    [
        (60, 180),
        ("60", 180),
        (0.5, DEFAULT_LIMIT_SECONDS),
        (None, DEFAULT_LIMIT_SECONDS),
        ("", DEFAULT_LIMIT_SECONDS),
        (0, DEFAULT_LIMIT_SECONDS),
    ],
)
def test_limit(timeout: object, limit: int) -> None:
    assert limit_for(timeout, 120) == limit


@given(texts=st.lists(st.text()), cut=st.integers(min_value=0))
def test_progress_is_read_in_any_pieces_without_losing_or_doubling_a_line(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], cut: int
) -> None:
    path = tmp_path_factory.mktemp("progress") / "file"
    progress = Progress(str(path))
    for text in texts:
        progress.report("phase", text, force=True)
    data = path.read_bytes() if path.exists() else b""
    cut = cut % (len(data) + 1)
    first, used = split_progress(data[:cut])
    rest, _used = split_progress(data[used:])
    assert [line["text"] for line in first + rest] == texts


@given(st.lists(st.tuples(st.sampled_from(["fetch", "retry"]), st.floats(0, 9)), min_size=1))
def test_fifty_hosts_are_heard_and_do_not_flood(tmp_path_factory: pytest.TempPathFactory, told: list[tuple[str, float]]) -> None:
    """Whoever has something to say at least every nine seconds is shown at least so often, whatever happens in between."""
    now, times = 100.0, []
    path = tmp_path_factory.mktemp("progress") / "file"
    progress = Progress(str(path), clock=lambda: now)
    for phase, pause in told:
        now += pause
        progress.report("look", "on a timer")
        progress.report(phase, "an event")
        lines = split_progress(path.read_bytes())[0]
        times += [now] * (len(lines) - len(times))
    ends = [100.0, *times, now]
    assert all(late - early <= 9 + MINIMUM_INTERVAL for early, late in zip(ends, ends[1:]))
    assert len(times) <= 3 * (1 + (now - 100.0) / MINIMUM_INTERVAL), "each of the three phases once in an interval"


def test_a_clock_that_is_set_back_silences_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = iter((0.0, 10.0))
    progress = Progress(str(tmp_path / "file"), clock=lambda: next(steps))
    for wall in (2e9, 1e9):
        monkeypatch.setattr(time, "time", lambda wall=wall: wall)
        progress.report("fetch", "going on")
    assert [line["time"] for line in split_progress((tmp_path / "file").read_bytes())[0]] == [2e9, 1e9]


@given(text=st.text())
def test_a_line_is_one_printable_line(text: str) -> None:
    assert progress_line({"phase": "x", "text": text}).isprintable()


@pytest.mark.parametrize(
    ("data", "state"),
    [
        ({"started": True, "finished": False, "ansible_job_id": "j1.2"}, "running"),
        ({"started": 1, "finished": 0, "ansible_job_id": "j1.2"}, "running"),
        ({"changed": True}, "finished"),
        ({"failed": True, "msg": "no such lock"}, "finished"),
        ({"failed": True, "msg": "Timeout exceeded", "child_pid": 3}, "timeout"),
        ({"failed": True, "msg": "Timeout exceeded"}, "finished"),
        ({"failed": True, "msg": "...ValueError: No start of json char found", "data": "", "stderr": "Killed", "cmd": "x"}, "killed"),
        ({"started": True, "changed": True}, "finished"),
    ],
)
def test_state_of_a_job_file(data: dict[str, Any], state: str) -> None:
    assert job_state(data)[0] == state


def test_killed_job_shows_what_its_process_said() -> None:
    data = {"failed": True, "msg": "No start of json char found", "data": "", "stderr": "Segmentation fault", "cmd": "x"}
    report = JobReport("killed", detail=job_state(data)[1])
    assert "Segmentation fault" in str(vanished_error("log_gate", report, "gate: waiting", 10))


@pytest.mark.parametrize(
    ("report", "words"),
    [
        (JobReport("timeout"), "time limit"),
        (JobReport("gone", restarted=True), "restart of the host"),
        (JobReport("gone", detail="no process is left of it"), "no process is left of it"),
        (JobReport("killed"), "out-of-memory killer"),
    ],
)
def test_every_end_has_its_own_message(report: JobReport, words: str) -> None:
    message = str(vanished_error("log_gate", report, "load: 3 of 9 shards", 100))
    assert words in message
    assert "load: 3 of 9 shards" in message
    assert "next:" in message


def test_report_survives_the_way_through_a_result() -> None:
    report = JobReport("gone", 7, [{"phase": "a"}], restarted=True, detail="x")
    result: dict[str, Any] = {"changed": True, REPORT_KEY: report.as_dict()}
    assert JobReport.from_result(result) == report
    assert result == {"changed": True}
    assert JobReport.from_result({"failed": True}) is None


def test_job_without_a_process_is_gone_at_once(tmp_path: Path) -> None:
    job = tmp_path / "j987654321.1"
    job.write_text(json.dumps({"started": True, "finished": False}))
    begun = time.monotonic()
    report, _result = job_status.wait_for_news(str(job), str(tmp_path / "progress"), 0, 5.0)
    assert (report.state, report.restarted) == ("gone", False)
    assert time.monotonic() - begun < 2


def test_job_file_older_than_the_host_means_a_restart(tmp_path: Path) -> None:
    job = tmp_path / "j987654321.1"
    job.write_text(json.dumps({"started": True, "finished": False}))
    os.utime(job, (1, 1))
    report, _result = job_status.wait_for_news(str(job), str(tmp_path / "progress"), 0, 5.0)
    assert (report.state, report.restarted) == ("gone", True)


def test_living_job_is_waited_for_no_longer_than_asked(tmp_path: Path) -> None:
    job = tmp_path / "j987654322.1"
    job.write_text(json.dumps({"started": True, "finished": False}))
    command = [sys.executable, "-c", "print(flush=True); input()", "async_wrapper.py", "j987654322"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()  # its command line is there only when it runs
        report, _result = job_status.wait_for_news(str(job), str(tmp_path / "progress"), 0, 1.2)
        process.communicate(b"\n")
    assert report.state == "running"


def test_tidy_up_never_removes_a_directory_that_is_not_ansibles(tmp_path: Path) -> None:
    keep, remove = tmp_path / "precious", tmp_path / "ansible-tmp-1"
    keep.mkdir()
    remove.mkdir()
    for payload in (keep, remove):
        job_status.tidy_up(str(tmp_path / "job"), str(tmp_path / "progress"), str(payload))
    assert keep.exists()
    assert not remove.exists()


def test_result_of_the_module_is_the_only_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """ansible-core adds a second one to a module that ends without an exit of its own, and then neither can be read."""
    job, progress = tmp_path / "j1.2", tmp_path / "progress"
    job.write_text(json.dumps({"changed": True, "answer": 42}))
    progress.write_text('{"phase": "a", "text": "b"}\n')
    arguments = {"ANSIBLE_MODULE_ARGS": {"job_file": str(job), "progress_file": str(progress)}}
    monkeypatch.setattr(basic, "_ANSIBLE_ARGS", json.dumps(arguments).encode())
    monkeypatch.setattr(basic, "_ANSIBLE_PROFILE", "legacy", raising=False)
    with pytest.raises(SystemExit) as end:
        job_status.main()
    assert not end.value.code
    result = json.loads(capsys.readouterr().out)
    report = JobReport.from_result(result)
    assert result == {"changed": True, "answer": 42}
    assert report is not None
    assert (report.state, report.lines) == ("finished", [{"phase": "a", "text": "b"}])
    assert list(tmp_path.iterdir()) == []


class FakeConnection:
    def __init__(self) -> None:
        self.resets = 0

    def reset(self) -> None:
        self.resets += 1


class FlakyAction(_long_running.LongRunningAction):
    """Only the part that asks; its target is away for the first few calls."""

    def __init__(self, away: int) -> None:
        self._away = away
        self._connection = FakeConnection()
        self._task = type("Task", (), {"action": "log_gate", "delegate_to": None})()
        self._display = type("Display", (), {"vv": lambda self, text: None})()
        self._variables = {"inventory_hostname": "h1"}

    def _call(self, module: str, arguments: dict[str, Any], limit: int = 0) -> dict[str, Any]:
        if self._away:
            self._away -= 1
            raise AnsibleConnectionFailure("Connection refused")
        return {"changed": False}


def test_lost_connection_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_long_running, "RECONNECT_PAUSE", 0)
    action = FlakyAction(away=3)
    assert action._ask({}) == {"changed": False}
    assert action._connection.resets == 3


def test_host_that_stays_away_is_unreachable_and_says_that_the_job_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_long_running, "RECONNECT_PAUSE", 0)
    monkeypatch.setattr(_long_running, "RECONNECT_SECONDS", 0.05)
    with pytest.raises(AnsibleConnectionFailure, match="it goes on there"):
        FlakyAction(away=10**9)._ask({})


def test_what_still_runs_of_a_dead_job_is_ended_and_nothing_else(tmp_path: Path) -> None:
    """A module that the wrapper's kill has missed, one of another job, and one whose directory only begins alike."""
    scripts = [tmp_path / name / "AnsiballZ_x.py" for name in ("ansible-tmp-1", "ansible-tmp-2", "ansible-tmp-11")]
    for script in scripts:
        script.parent.mkdir()
        script.write_text("import signal\nprint('up', flush=True)\nsignal.pause()\n")
    processes = [subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE) for script in scripts]
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == b"up\n"
        assert job_status.end_leftovers(str(scripts[0].parent)) == [processes[0].pid]
        assert processes[0].wait(timeout=30) == -9
        assert [process.poll() for process in processes[1:]] == [None, None]
    finally:
        for process in processes:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()


@pytest.mark.parametrize("path", [None, "", "/", "/tmp", "ansible-tmp-1", "/tmp/other", "/tmp/ansible-tmp-1/.."])
def test_only_ansibles_own_directories_are_a_payload(path: Optional[str]) -> None:
    assert not job_status.is_payload(path)
    assert job_status.is_payload("/root/.ansible/tmp/ansible-tmp-1-2-3/")
