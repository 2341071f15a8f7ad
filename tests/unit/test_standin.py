# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The stand-in engine under the real launcher, judged by the real gate and the real probe."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._log_gate import Expectation, LogGate
from ansible_collections.inference.sglang.plugins.module_utils._probe import Probe, Wishes
from ansible_collections.inference.sglang.plugins.module_utils._probe_client import HttpClient
from ansible_collections.inference.sglang.plugins.module_utils._probe_judge import ProbeFailure

TESTS = Path(__file__).parents[1]
LAUNCHER = TESTS.parent / "roles" / "sglang_server" / "files" / "launcher.py"
STANDIN = TESTS / "support" / "standin_engine"
DATA = STANDIN / "src" / "sglang" / "_standin" / "data"
LOGS = TESTS / "data" / "logs"
KEY = "CANARY-standin-5a4b3c2d"
ID = "fedcba9876543210fedcba9876543210"
MTP = "--speculative-algorithm NEXTN --speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4"
GOOD = f"--tp 2 {MTP} --mamba-scheduler-strategy extra_buffer --trust-remote-code --enable-metrics".split()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Run:
    """One start under the launcher, with its log in a file."""

    def __init__(self, tmp_path: Path, arguments: list[str], **environment: str) -> None:
        info = tmp_path / "site" / "sglang-0.5.11.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sglang\nVersion: 0.5.11\n")
        (info / "entry_points.txt").write_text("[console_scripts]\nsglang = sglang.cli.main:main\n")
        model = tmp_path / "model"
        model.mkdir()
        (model / "config.json").write_text('{"architectures": ["Qwen3_5ForConditionalGeneration"]}')
        credentials = tmp_path / "credentials"
        credentials.mkdir()
        (credentials / "api-key").write_text(KEY)
        self.port = free_port()
        self.log = tmp_path / "engine.log"
        self.log.touch()
        with self.log.open("ab") as stream:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    str(LAUNCHER),
                    "--model-path",
                    str(model),
                    "--served-model-name",
                    "qwen",
                    "--port",
                    str(self.port),
                    *arguments,
                ],
                env={
                    **{k: v for k, v in os.environ.items() if not k.startswith("STANDIN_")},
                    "PYTHONPATH": f"{tmp_path / 'site'}:{STANDIN / 'src'}",
                    "CREDENTIALS_DIRECTORY": str(credentials),
                    "INVOCATION_ID": ID,
                    "STANDIN_SPEED": "500",
                    **environment,
                },
                stdout=stream,
                stderr=stream,
            )

    def gate(self, seconds: float = 30, count: int = 2) -> LogGate:
        """Follow the log to a verdict."""
        gate = LogGate(Expectation("GDN kernel dispatcher", count), time.monotonic, timeout=seconds, invocation_id=ID, wait_for_marker=True)
        seen = 0
        deadline = time.monotonic() + seconds
        while gate.verdict == "waiting" and time.monotonic() < deadline:
            lines = self.text().split("\n")[:-1]
            for line in lines[seen:]:
                gate.feed(line)
            seen = len(lines)
            gate.tick()
            time.sleep(0.02)
        return gate

    def text(self) -> str:
        return self.log.read_text(errors="replace")

    def wait(self) -> int:
        return self.process.wait(timeout=30)

    def probe(self, **wishes: Any) -> Probe:
        probe = Probe(HttpClient(f"http://127.0.0.1:{self.port}", KEY), Wishes(served_model_name="qwen", **wishes), time.monotonic)
        probe.run()
        return probe

    def get(self, path: str, key: str = KEY) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        connection.request("GET", path, headers={"Authorization": f"Bearer {key}"})
        response = connection.getresponse()
        return response.status, response.read()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Any]:
    runs: list[Run] = []

    def begin(arguments: list[str] | None = None, **environment: str) -> Run:
        runs.append(Run(tmp_path, GOOD if arguments is None else arguments, **environment))
        return runs[-1]

    yield begin
    for run in runs:
        run.close()


def test_gate_and_probe_pass_and_nothing_shows_the_key(start: Any) -> None:
    run = start()
    gate = run.gate()
    assert gate.verdict == "ready", run.text()[-2000:]
    assert gate.figures["max_running_requests"] == 6
    assert gate.figures["speculative_num_steps"] == 3
    probe = run.probe(speculative=True)
    assert probe.answer == "The capital of France is Paris."
    assert probe.accept_length == 2.7
    assert run.get("/v1/models", "wrong")[0] == 401
    assert run.get("/metrics")[0] == 200
    assert json.loads(run.get("/server_info")[1])["api_key"] == KEY
    children = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    assert KEY not in children
    run.process.send_signal(signal.SIGTERM)
    assert run.wait() == 0
    assert "Draining requests and shutting down" in run.text()
    assert "api_key='***'" in run.text()
    assert KEY not in run.text()


def test_the_port_opens_before_the_server_is_ready(start: Any) -> None:
    run = start(STANDIN_SPEED="20")
    deadline = time.monotonic() + 30
    seen = []
    while time.monotonic() < deadline and "fired up" not in run.text():
        try:
            seen.append((run.get("/v1/models")[0], run.get("/health")[0]))
        except OSError:
            seen.append((0, 0))
        time.sleep(0.1)
    assert seen[0] == (0, 0)
    assert (200, 503) in seen
    assert run.get("/health")[0] == 200


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (["--no-such-flag"], 2, "GATE-020"),
        (["--port", "x"], 2, "GATE-021"),
        ("--speculative-algorithm NEXTN --speculative-num-draft-tokens 1 --mamba-scheduler-strategy extra_buffer".split(), 1, "GATE-010"),
        (MTP.split(), 1, "GATE-012"),
        ("--mamba-scheduler-strategy extra_buffer --disable-radix-cache".split(), 1, "GATE-013"),
        (["--model-path", "/nonexistent"], 1, "GATE-030"),
    ],
    ids=["unknown flag", "bad value", "draft tokens alone", "no strategy", "no radix cache", "no model"],
)
def test_it_refuses_what_the_engine_refuses(start: Any, arguments: list[str], status: int, code: str) -> None:
    run = start(arguments)
    gate = run.gate()
    assert gate.verdict == "dead"
    assert gate.cause is not None
    assert gate.cause.code == code
    assert run.wait() == status


@pytest.mark.parametrize(
    ("die_at", "status", "code"),
    [
        ("arguments", 1, "GATE-010"),
        ("memory", 137, "GATE-040"),
        ("draft", 137, "GATE-043"),
        ("weights:kill", 1, "GATE-081"),
        ("graphs:self", 137, "GATE-003"),
        ("dispatcher:exit0", 1, "GATE-002"),
    ],
)
def test_it_dies_in_the_recorded_manner(start: Any, die_at: str, status: int, code: str) -> None:
    run = start(STANDIN_DIE_AT=die_at)
    gate = run.gate()
    assert gate.verdict == "dead"
    assert gate.cause is not None
    assert gate.cause.code == code
    assert run.wait() == status


def test_it_can_die_of_its_first_request(start: Any) -> None:
    run = start(STANDIN_DIE_AT="request")
    assert run.gate().verdict == "ready"
    with pytest.raises(ProbeFailure) as caught:
        run.probe()
    assert caught.value.code == "PROBE-001"
    assert run.wait() == 137
    assert "SIGQUIT received" in run.text()


def test_a_taken_port_is_found_after_loading(start: Any) -> None:
    with socket.socket() as squatter:
        squatter.bind(("127.0.0.1", 0))
        squatter.listen()
        run = start([*GOOD, "--port", str(squatter.getsockname()[1])])
        gate = run.gate()
    assert gate.verdict == "dead"
    assert gate.cause is not None
    assert gate.cause.code == "GATE-070"
    assert "Load weight end" in run.text()
    assert run.wait() == 137


def test_a_stop_before_the_port_is_open(start: Any) -> None:
    run = start(STANDIN_HANG_AT="weights")
    while "Load weight begin" not in run.text():
        time.sleep(0.02)
    run.process.send_signal(signal.SIGTERM)
    assert run.wait() == 0
    assert "Draining" not in run.text()


def test_a_hang_says_nothing_more(start: Any) -> None:
    run = start(STANDIN_HANG_AT="dispatcher")
    while "kernel dispatcher" not in run.text():
        time.sleep(0.02)
    size = len(run.text())
    time.sleep(0.4)
    assert len(run.text()) == size
    assert run.process.poll() is None


@pytest.mark.parametrize(
    ("answer", "code"), [("nonsense", "PROBE-006"), ("wrong", "PROBE-007"), ("empty", "PROBE-005"), ("invalid", "PROBE-006")]
)
def test_bad_answers_are_caught(start: Any, answer: str, code: str) -> None:
    run = start(STANDIN_ANSWER=answer)
    assert run.gate().verdict == "ready"
    with pytest.raises(ProbeFailure) as caught:
        run.probe()
    assert caught.value.code == code


def test_a_start_without_speculation(start: Any) -> None:
    run = start([], STANDIN_LOG="no-mtp")
    assert run.gate(count=1).verdict == "ready"
    run.probe()


def test_a_recorded_failure_can_be_replayed_whole(start: Any) -> None:
    run = start(STANDIN_LOG=str(LOGS / "fail-oom-draft-kv.log"))
    gate = run.gate()
    assert gate.cause is not None
    assert gate.cause.code == "GATE-043"
    assert run.wait() == 137


def test_an_unknown_fault_is_refused(start: Any) -> None:
    run = start(STANDIN_DIE_AT="nowhere")
    assert run.wait() == 1
    assert "no stage 'nowhere'" in run.text()


def test_a_stream_takes_its_time_and_counts_as_load(start: Any) -> None:
    run = start(STANDIN_TOKEN_SECONDS="0.02")
    assert run.gate().verdict == "ready"
    assert running(run) == 0
    connection = http.client.HTTPConnection("127.0.0.1", run.port, timeout=20)
    body = json.dumps({"messages": [{"role": "user", "content": "x"}], "stream": True, "max_tokens": 40, "ignore_eos": True})
    began = time.monotonic()
    connection.request("POST", "/v1/chat/completions", body, {"Authorization": f"Bearer {KEY}"})
    response = connection.getresponse()
    first = response.readline()
    assert running(run) == 1
    lines = [line for line in [first, *response.read().splitlines(keepends=True)] if line.strip()]
    assert time.monotonic() - began >= 40 * 0.02
    assert len(lines) == 40 + 2
    assert json.loads(lines[-2][6:])["choices"][0]["finish_reason"] == "length"
    assert lines[-1] == b"data: [DONE]\n"
    deadline = time.monotonic() + 10
    while running(run) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert running(run) == 0


def running(run: Run) -> int:
    """By the engine's own figures."""
    return sum(rank["num_running_reqs"] + rank["num_waiting_reqs"] for rank in json.loads(run.get("/v1/loads")[1])["loads"])


@pytest.mark.parametrize(
    ("part", "whole"),
    [
        ("ct129-mtp", "start-ct129-tp2-mtp-3-1-4-then-rank-killed"),
        ("no-mtp", "start-27b-extra-buffer-no-spec"),
        ("death-assertion", "fail-draft-tokens-only"),
        ("death-memory", "fail-not-enough-memory-ct129-tp2"),
        ("death-oom", "fail-oom-draft-kv"),
        ("death-rank-killed", "start-ct129-tp2-mtp-3-1-4-then-rank-killed"),
    ],
)
def test_its_logs_are_parts_of_the_recorded_ones(part: str, whole: str) -> None:
    assert (DATA / f"{part}.log").read_text() in (LOGS / f"{whole}.log").read_text()
