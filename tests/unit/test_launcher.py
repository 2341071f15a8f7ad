# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The launcher with real processes: a package named sglang whose behaviour the test chooses."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

LAUNCHER = Path(__file__).parents[2] / "roles" / "sglang_server" / "files" / "launcher.py"
KEY = "CANARY-launcher-9f8e7d6c"
ID = "0123456789abcdef0123456789abcdef"

ENGINE = """
import argparse, logging, multiprocessing, os, signal, subprocess, sys, time

def child(key, how):
    print("child argv", sys.argv, flush=True)
    print(f"child prints api_key={key!r}", flush=True)
    logging.basicConfig(level=logging.INFO, format="[%(asctime)s TP0] %(message)s")
    logging.getLogger("x").info("server_args=ServerArgs(api_key=%r, port=1)", key)
    sys.stderr.write("raw " + key + "\\n")
    if how == "raise":
        raise RuntimeError("with the key " + key)
    if how == "sleep":
        time.sleep(60)

def self_kill(*_):
    print("SIGTERM received. Draining requests and shutting down...", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

def main():
    mode = os.environ["FAKE"]
    assert sys.argv[1] == "serve", sys.argv
    parser = argparse.ArgumentParser()
    parser.add_argument("--api-key", default="")
    key = parser.parse_known_args(sys.argv[2:])[0].api_key
    logging.basicConfig(level=logging.INFO, format="[%(asctime)s] %(message)s", force=True)
    logging.info("server_args=ServerArgs(api_key=%r, admin_api_key='other', port=1)", key)
    if mode == "show":
        print("argc", len(sys.argv), "key length", len(key), flush=True)
        for name in ("cmdline", "environ"):
            print(name, key.encode() in open(f"/proc/self/{name}", "rb").read(), flush=True)
        print("environment", any(key in v for v in os.environ.values()), flush=True)
        sys.exit(3)
    if mode == "spawn":
        context = multiprocessing.get_context("spawn")
        for how in ("log", "raise"):
            process = context.Process(target=child, args=(key, how))
            process.start()
            process.join()
        raise ValueError("main dies with " + key)
    if mode == "zero":
        sys.exit(0)
    if mode == "return":
        return
    if mode == "sigkill":
        os.kill(os.getpid(), signal.SIGKILL)
    if mode == "segv":
        os.kill(os.getpid(), signal.SIGSEGV)
    if mode == "self-kill":
        signal.signal(signal.SIGTERM, self_kill)
    if mode == "clean":
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    if mode == "broken-stop":
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))
    print("up", os.getpid(), flush=True)
    while True:
        signal.pause()
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    site = tmp_path / "site"
    info = site / "sglang-0.5.11.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sglang\nVersion: 0.5.11\n")
    (info / "entry_points.txt").write_text("[console_scripts]\nkillall_sglang = sglang.kill:main\nsglang = sglang.cli.main:main\n")
    package = site / "sglang" / "cli"
    package.mkdir(parents=True)
    (site / "sglang" / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    (package / "main.py").write_text(ENGINE)
    credentials = tmp_path / "credentials"
    credentials.mkdir()
    (credentials / "api-key").write_text(KEY + "\n")
    return {**os.environ, "PYTHONPATH": str(site), "CREDENTIALS_DIRECTORY": str(credentials), "INVOCATION_ID": ID}


def start(environment: dict[str, str], mode: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(LAUNCHER), *arguments],
        env={**environment, "FAKE": mode},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def run(environment: dict[str, str], mode: str, *arguments: str) -> tuple[int, str]:
    process = start(environment, mode, *arguments)
    output, _ = process.communicate(timeout=60)
    return process.returncode, output


@pytest.fixture
def running(environment: dict[str, str]) -> Iterator[object]:
    processes: list[subprocess.Popen[str]] = []

    def begin(mode: str) -> tuple[subprocess.Popen[str], int]:
        process = start(environment, mode)
        processes.append(process)
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("up "):
                return process, int(line.split()[1])
        raise AssertionError("the engine did not come up")

    yield begin
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.wait()


def test_first_and_last_line_name_the_invocation(environment: dict[str, str]) -> None:
    status, output = run(environment, "show", "--model-path", "/m")
    lines = output.splitlines()
    assert lines[0].startswith(f"inference.sglang: start {ID} at ")
    assert lines[-1].startswith(f"inference.sglang: end {ID} status 3: ")
    assert status == 3


def test_without_systemd_there_is_still_an_id(environment: dict[str, str]) -> None:
    del environment["INVOCATION_ID"]
    _status, output = run(environment, "show")
    assert len(output.split()[2]) == 32


def test_key_is_in_memory_and_not_on_a_command_line_or_in_an_environment(environment: dict[str, str]) -> None:
    _status, output = run(environment, "show", "--model-path", "/m")
    assert f"argc 5 key length {len(KEY)}" in output
    assert "cmdline False" in output
    assert "environ False" in output
    assert "environment False" in output


def test_the_log_of_all_processes_is_redacted(environment: dict[str, str]) -> None:
    status, output = run(environment, "spawn", "--model-path", "/m")
    assert status == 1
    assert KEY not in output
    assert "server_args=ServerArgs(api_key='***', admin_api_key='***', port=1)" in output
    assert "child prints api_key='***'" in output
    assert "TP0] server_args=ServerArgs(api_key='***', port=1)" in output
    assert output.count("raw ***") == 2
    assert "RuntimeError: with the key ***" in output
    assert "ValueError: main dies with ***" in output
    assert "'serve', '--model-path', '/m', '--api-key=***'" in output


def test_keys_that_change_when_quoted_are_redacted_too(environment: dict[str, str], tmp_path: Path) -> None:
    awkward = "CANARY'quote\\back\"slash"
    (tmp_path / "credentials" / "api-key").write_text(awkward)
    _status, output = run(environment, "spawn")
    assert "CANARY" not in output


@pytest.mark.parametrize("key", ["-CANARY12345", "--CANARY-12345", "--port", "CANARY=12345"])
def test_a_key_that_looks_like_an_option_is_still_the_key(environment: dict[str, str], tmp_path: Path, key: str) -> None:
    (tmp_path / "credentials" / "api-key").write_text(key)
    _status, output = run(environment, "show", "--model-path", "/m")
    assert f"key length {len(key)}" in output
    assert "CANARY" not in output


def test_a_key_on_the_command_line_is_hidden_as_well(environment: dict[str, str]) -> None:
    del environment["CREDENTIALS_DIRECTORY"]
    _status, output = run(environment, "spawn", "--api-key", KEY)
    assert KEY not in output


def test_an_empty_credential_stops_the_start(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "credentials" / "api-key").write_text("\n")
    status, output = run(environment, "show")
    assert status == 78
    assert "server_args" not in output
    assert f"end {ID} status 78" in output


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("zero", 1), ("return", 1), ("sigkill", 137), ("segv", 139), ("show", 3)],
    ids=["exit 0", "return", "kill", "segv", "3"],
)
def test_an_end_that_nobody_asked_for_is_never_success(environment: dict[str, str], mode: str, expected: int) -> None:
    status, output = run(environment, mode)
    assert status == expected
    assert "no stop was asked for" in output.splitlines()[-1]


def test_no_sglang_is_a_failure(environment: dict[str, str], tmp_path: Path) -> None:
    environment["PYTHONPATH"] = str(tmp_path / "nothing")
    status, output = run(environment, "show")
    assert status == 1
    assert "sglang" in output


@pytest.mark.parametrize("mode", ["self-kill", "clean", "default"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_that_was_asked_for_is_success(running: object, mode: str, number: int) -> None:
    process, _engine = running(mode)  # type: ignore[operator]
    process.send_signal(number)
    output, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    assert output.splitlines()[-1] == f"inference.sglang: end {ID} status 0: stopped as asked"


def test_an_error_while_stopping_is_an_error(running: object) -> None:
    process, _engine = running("broken-stop")  # type: ignore[operator]
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=20)
    assert process.returncode == 5
    assert "while it was stopping" in output


def test_a_killed_engine_is_told_by_its_signal(running: object) -> None:
    process, engine = running("default")  # type: ignore[operator]
    os.kill(engine, signal.SIGKILL)
    output, _ = process.communicate(timeout=20)
    assert process.returncode == 137
    assert "killed by signal 9 (SIGKILL), no stop was asked for" in output


def test_a_killed_launcher_takes_the_engine_with_it(running: object) -> None:
    process, engine = running("default")  # type: ignore[operator]
    process.kill()
    process.wait()
    deadline = time.monotonic() + 5
    while alive(engine) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not alive(engine)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def test_it_runs_on_python_3_9_syntax() -> None:
    import ast

    ast.parse(textwrap.dedent(LAUNCHER.read_text()), feature_version=(3, 9))
