# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The one mechanism of live progress, through ansible-runner against a real host (this one, over the local connection)."""

from __future__ import annotations

import os
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import ansible_runner
import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = Path(__file__).resolve().parent / "progress"
CANARY = "canary-3f9c1d7e"


@dataclass
class Play:
    status: str
    output: str
    result: dict[str, Any]
    async_dir: Path
    remote_tmp: Path


def run_play(tmp_path: Path, job: dict[str, Any], playbook: str = "play.yml", options: str = "", pipelining: bool = True) -> Play:
    async_dir, remote_tmp = tmp_path / "async", tmp_path / "remote-tmp"
    environment = {
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
        "ANSIBLE_CONFIG": str(tmp_path / "ansible.cfg"),
        "ANSIBLE_ASYNC_DIR": str(async_dir),
        "ANSIBLE_REMOTE_TEMP": str(remote_tmp),
        "ANSIBLE_LOCAL_TEMP": str(remote_tmp),
        "ANSIBLE_PIPELINING": str(pipelining),
        "ANSIBLE_NOCOLOR": "1",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    (tmp_path / "runner").mkdir()
    (tmp_path / "ansible.cfg").write_text("[defaults]\n")
    run = ansible_runner.run(
        private_data_dir=str(tmp_path / "runner"),
        project_dir=str(PROJECT),
        playbook=str(PROJECT / playbook),
        inventory="localhost ansible_connection=local ansible_python_interpreter=/usr/bin/python3",
        extravars={"job": job},
        envvars=environment,
        cmdline=options or None,
        quiet=True,
    )
    results = [
        event["event_data"]["res"]
        for event in run.events
        if event["event"] in ("runner_on_ok", "runner_on_failed") and event["event_data"]["task"] == "Slow job"
    ]
    output = (Path(run.config.artifact_dir) / "stdout").read_text()
    return Play(run.status, output, results[0] if results else {}, async_dir, remote_tmp)


def leftovers(play: Play) -> list[Path]:
    """Files that the job left; ansible-core's own watcher takes up to five seconds to notice that its child has ended."""
    deadline = time.monotonic() + 7
    while True:
        found = [path for folder in (play.async_dir, play.remote_tmp) if folder.exists() for path in folder.rglob("*") if path.is_file()]
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.2)


@pytest.mark.parametrize("pipelining", [True, pytest.param(False, marks=pytest.mark.full)], ids=["pipelining", "no-pipelining"])
def test_progress_is_printed_and_the_result_is_the_modules_own(tmp_path: Path, pipelining: bool) -> None:
    play = run_play(tmp_path, {"steps": 3}, pipelining=pipelining)
    assert play.status == "successful", play.output
    for step in range(3):
        assert f"[localhost] phase-{step}: step {step + 1} of 3" in play.output
    assert play.result["changed"] is True
    assert play.result["background"] is True
    assert "ansible_job_id" not in play.result
    assert "inference_sglang_job" not in play.result
    assert "a warning of the module" in play.output
    assert leftovers(play) == []


def test_a_line_is_printed_while_the_module_still_runs(tmp_path: Path) -> None:
    """The module ends only when the test has seen its progress: printed afterwards it would never end."""
    go_on = tmp_path / "go-on"
    stdout = tmp_path / "runner" / "artifacts"
    seen: list[bool] = []

    def watch() -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if any("[localhost] phase-1: step 2 of 2" in path.read_text() for path in stdout.glob("*/stdout")):
                seen.append(True)
                break
            time.sleep(0.1)
        go_on.touch()

    watcher = threading.Thread(target=watch)
    watcher.start()
    play = run_play(tmp_path, {"pause_until": str(go_on)})
    watcher.join()
    assert play.status == "successful", play.output
    assert seen == [True]


def test_control_characters_do_not_reach_the_terminal(tmp_path: Path) -> None:
    play = run_play(tmp_path, {"steps": 1})
    line = next(line for line in play.output.splitlines() if "phase-0" in line)
    assert "\x1b" not in line


def test_check_mode_runs_in_the_foreground(tmp_path: Path) -> None:
    play = run_play(tmp_path, {}, options="--check")
    assert play.status == "successful", play.output
    assert play.result["background"] is False
    assert play.result["checked"] is True
    assert not play.async_dir.exists()


def test_module_that_looks_first_starts_no_job_when_there_is_nothing_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOW_JOB_LOOKS_FIRST", "1")
    play = run_play(tmp_path, {"nothing_to_do": True})
    assert play.status == "successful", play.output
    assert (play.result["background"], play.result["changed"], play.result["checked"]) == (False, False, True)
    (tmp_path / "again").mkdir()
    play = run_play(tmp_path / "again", {})
    assert (play.result["background"], play.result["changed"], play.result["checked"]) == (True, True, False)


def test_failure_of_the_module_is_handed_on(tmp_path: Path) -> None:
    play = run_play(tmp_path, {"ending": "fail"})
    assert play.status == "failed"
    assert play.result["error"] == {"wrong": "it broke", "found": "a", "wanted": "b", "next": "c"}
    assert leftovers(play) == []


@pytest.mark.parametrize(
    ("ending", "wrong"), [("killed", "slow_job was killed on the host"), ("vanish", "slow_job has vanished from the host")]
)
def test_death_of_the_job_is_said_clearly_and_leaves_no_secret(tmp_path: Path, ending: str, wrong: str) -> None:
    play = run_play(tmp_path, {"ending": ending, "token": CANARY}, options="-vvvv")
    assert play.status == "failed"
    assert play.result["error"]["wrong"] == wrong
    assert "phase-1: step 2 of 2" in play.result["error"]["found"]
    assert leftovers(play) == []
    assert CANARY not in play.output


def test_time_limit_ends_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOW_JOB_SLACK", "1")
    play = run_play(tmp_path, {"ending": "hang", "timeout": 1, "token": CANARY})
    assert play.status == "failed"
    assert play.result["error"]["wrong"] == "slow_job was ended by its time limit", play.output
    assert leftovers(play) == []


@pytest.mark.parametrize("verbosity", [pytest.param("", marks=pytest.mark.full), "-vvvv"])
def test_secret_is_neither_printed_nor_left_behind(tmp_path: Path, verbosity: str) -> None:
    play = run_play(tmp_path, {"token": CANARY}, options=verbosity)
    assert play.status == "successful", play.output
    assert CANARY not in play.output
    assert leftovers(play) == []


def test_keyword_async_is_refused(tmp_path: Path) -> None:
    play = run_play(tmp_path, {}, playbook="refused.yml")
    assert play.status == "failed"
    assert "must not be given 'async'" in play.output


def job_processes() -> Optional[str]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                text = Path(f"/proc/{name}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if "AnsiballZ_slow_job" in text:
                return text
    return None


def test_no_process_is_left(tmp_path: Path) -> None:
    assert run_play(tmp_path, {}).status == "successful"
    deadline = time.monotonic() + 10
    while job_processes() and time.monotonic() < deadline:
        time.sleep(0.2)
    assert job_processes() is None
