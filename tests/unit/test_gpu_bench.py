# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The GPU benchmark without a GPU: its commands, loads and figures, and a whole run against a program that streams answers."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.gpu_bench.client import Answer
from tests.gpu_bench.configurations import SIMULATE, WANTED, Wanted, chosen, command, with_loads
from tests.gpu_bench.figures import decoding, most_running, percentile, summary
from tests.gpu_bench.loads import LOADS, load_named, prompts, worst_case
from tests.gpu_bench.run import Bench

ROOT = Path(__file__).resolve().parents[2]
CARDS = [{"name": "NVIDIA H200", "memory_mib": 143771, "compute_capability": "9.0"}]
WHERE = {"model_path": "/m", "host": "127.0.0.1", "port": 30191}
FIGURES = {"max_running_requests": 49, "max_total_num_tokens": 103084, "context_len": 262144}
SIZED = ROOT / "tests/data/logs/start-27b-mtp-3-1-4-sized.log"


def made(name: str) -> Any:
    return command(chosen([name])[0], "0.5.11", CARDS, WHERE)


def test_a_published_command_is_changed_only_where_it_has_to_be() -> None:
    found = made("cookbook")
    assert found.changed == "--mamba-radix-cache-strategy -> --mamba-scheduler-strategy"
    kept = "--model-path /m --reasoning-parser qwen3 --tool-call-parser qwen3_coder --speculative-algorithm EAGLE --speculative-num-steps 3"
    kept += " --speculative-eagle-topk 1 --speculative-num-draft-tokens 4 --mamba-scheduler-strategy extra_buffer --mem-fraction-static 0.8"
    assert " ".join(found.argv) == kept + " --host 127.0.0.1 --port 30191 --load-format dummy"
    assert found.env == {"SGLANG_ENABLE_SPEC_V2": "1", SIMULATE: "2.5"}
    assert found.gate["dispatcher_count"] == 2


def test_without_drafts_nothing_is_simulated_and_one_dispatcher_line_is_expected() -> None:
    found = made("cookbook-no-drafts")
    assert not [word for word in found.argv if "speculative" in word or word in ("EAGLE", "3", "4")]
    assert SIMULATE not in found.env
    assert found.gate["dispatcher_count"] == 1


def test_the_cards_command_gets_the_machines_number_of_gpus_and_port() -> None:
    found = made("card")
    assert found.argv[found.argv.index("--tp-size") + 1] == "1"
    assert found.argv.count("--port") == 1
    assert found.argv[found.argv.index("--port") + 1] == "30191"
    assert "size 8 -> 1" in found.changed


@pytest.mark.parametrize("wanted", WANTED, ids=lambda wanted: wanted.name)
def test_every_configuration_makes_a_command_on_dummy_weights_and_knows_its_loads(wanted: Wanted) -> None:
    found = command(wanted, "0.5.11", CARDS, WHERE)
    assert found.argv[found.argv.index("--load-format") + 1] == "dummy"
    drafts = any(word.startswith("--speculative-algo") for word in found.argv)
    assert (SIMULATE in found.env) == drafts, "what drafts on dummy weights is simulated, and nothing else"
    assert all(load_named(name, FIGURES).requests for name in wanted.loads)
    assert bool(found.predicted) == (not wanted.published)


@pytest.mark.parametrize("wanted", WANTED, ids=lambda wanted: wanted.name)
def test_a_release_that_is_not_verified_is_measured_too(wanted: Wanted) -> None:
    """On a GPU it is the run that shows what the release does; nothing of a command is spelled as another release spells it."""
    found = command(wanted, "0.5.15.post1", CARDS, WHERE)
    assert "--mamba-scheduler-strategy" not in found.argv
    assert "--mamba-scheduler-strategy" not in found.changed


def test_some_of_the_loads_can_be_asked_for() -> None:
    ours = chosen(["ours"])[0]
    assert with_loads(ours, "").loads == ours.loads
    assert with_loads(ours, "worst,96,8k").loads == ("96", "worst"), "its own order, and nothing that it is not for"
    with pytest.raises(ValueError, match="no load at-2; there are: 96, 8k"):
        with_loads(ours, "96,at-2")


def test_one_that_is_named_twice_is_started_twice_and_keeps_both_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STANDIN_LOG", str(ROOT / "tests/data/logs/fail-no-strategy.log"))
    runs = ran(tmp_path, "card", "card")
    assert [run["name"] for run in runs] == ["card", "card"]
    assert all((tmp_path / name).stat().st_size for name in ("card.log", "card-2.log"))


def test_prompts_are_as_long_as_said_and_never_the_same() -> None:
    load = LOADS["at-4"]
    first, second = prompts(load, 1), prompts(load, 2)
    assert [len(ids) for ids in first] == [request.tokens_in for request in load.requests]
    assert len({tuple(ids) for ids in first + second}) == 8
    assert prompts(load, 1) == first


@pytest.mark.parametrize(("places", "tokens"), [(49, 103084), (21, 283912), (3, 11680), (145, 298627), (96, 943342), (8, 163679)])
def test_the_worst_case_keeps_every_place_busy_and_fits_the_pool(places: int, tokens: int) -> None:
    load = worst_case({"max_running_requests": places, "max_total_num_tokens": tokens, "context_len": 262144})
    assert len(load.requests) == places
    assert sum(one.tokens_in + one.tokens_out for one in load.requests) <= tokens
    longest = max(one.tokens_in for one in load.requests)
    assert longest >= min(65536, tokens // 3)
    assert load.requests[0].tokens_in < longest or places < 4


def test_percentiles_are_values_that_were_seen() -> None:
    values = [float(number) for number in range(1, 101)]
    assert (percentile(values, 0.5), percentile(values, 0.95), percentile([7.0], 0.95), percentile([], 0.5)) == (50.0, 95.0, 7.0, None)


def test_running_at_once_is_read_from_decode_lines_only() -> None:
    lines = [
        "[2026-11-30 00:00:00] Prefill batch, #new-seq: 1, #running-req: 90, #queue-req: 0",
        "[2026-11-30 00:00:00] Decode batch, #running-req: 21, #full token: 5, accept len: 2.50",
        "[2026-11-30 00:00:00] Decode batch, #running-req: 7, #full token: 5",
    ]
    assert most_running(lines) == 21
    assert most_running(lines[:1]) is None


def test_decoding_speed_is_that_of_full_places_and_not_of_the_tail() -> None:
    line = "[2026-11-30 00:00:00] Decode batch, #running-req: {}, #full token: 5, gen throughput (token/s): {}, #queue-req: 0"
    lines = [line.format(84, 500.0), line.format(84, 3200.0), line.format(84, 3100.5), line.format(12, 690.0)]
    assert (decoding(lines), decoding(lines[3:]), decoding([])) == (3100.5, 690.0, None)


def test_a_request_that_failed_is_named_and_its_tokens_do_not_count_as_time_saved() -> None:
    answers = [Answer(2.0, 0.5, 100, 40), Answer(4.0, 1.0, 100, 40), Answer(8.0, problem="refused")]
    found = summary(answers, [], [5, 9, 7])
    assert (found["requests"], found["answered"], found["problems"], found["seconds"]) == (3, 2, ["refused"], 8.0)
    assert found["tokens_per_second"] == 25.0
    assert found["accept_length"] == 2.5
    assert (found["latency_p50"], found["latency_p95"], found["first_token_p50"], found["used_mib"]) == (2.0, 4.0, 0.5, 9)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def bench(place: Path, seconds: float = 600.0) -> Bench:
    engine = [sys.executable, str(ROOT / "tests/gpu_bench/standin.py")]
    where = {**WHERE, "port": free_port()}
    return Bench(engine, "0.5.11", CARDS, where, place, {"commit": "c0ffee"}, time.monotonic() + seconds, 60.0, lambda _text: None)


def ran(place: Path, *names: str) -> list[dict[str, Any]]:
    bench(place).run(chosen(names))
    record = json.loads((place / "record.json").read_text())
    assert record["commit"] == "c0ffee"
    runs: list[dict[str, Any]] = record["runs"]
    return runs


def test_a_whole_run_leaves_one_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STANDIN_LOG", str(SIZED))
    run = ran(tmp_path, "ours-3.5")[0]
    assert (run["start"]["verdict"], run["start"]["figures"]["max_running_requests"]) == ("ready", 43)
    assert run["predicted"]["max_running_requests"] == 49
    assert {name: (load["requests"], load["answered"]) for name, load in run["loads"].items()} == {
        f"at-{count}": (count, count) for count in (1, 4, 16, 43)
    }
    assert run["loads"]["at-16"]["accept_length"] == 2.0
    assert run["loads"]["at-43"]["running_at_once"] == 7
    assert run["simulated_accept_length"] == 3.5
    assert (tmp_path / "ours-3.5.log").read_text().count("The server is fired up") == 1


def test_one_that_does_not_start_leaves_its_cause_and_the_next_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STANDIN_LOG", str(ROOT / "tests/data/logs/fail-no-strategy.log"))
    runs = ran(tmp_path, "card", "ours-8k")
    assert [run["start"]["verdict"] for run in runs] == ["dead", "dead"]
    assert "not compatible with radix cache" in json.dumps(runs[0]["start"]["cause"])
    assert runs[0]["loads"] == {}


def test_one_that_dies_under_load_is_said_to_have_died(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STANDIN_LOG", str(SIZED))
    monkeypatch.setenv("STANDIN_DIES", "5")  # two of the warm-up, then one at a time, then four
    run = ran(tmp_path, "ours-1.5")[0]
    assert run["died"] == "status 1 during at-4"
    assert run["loads"]["at-4"]["answered"] < 4
    assert "at-16" not in run["loads"]


def test_an_answer_of_another_length_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STANDIN_LOG", str(SIZED))
    monkeypatch.setenv("STANDIN_SHORT", "1")
    assert ran(tmp_path, "ours-1.5")[0]["loads"]["at-1"]["problems"] == ["255 tokens instead of 256"]


def test_nothing_is_begun_that_would_end_too_late(tmp_path: Path) -> None:
    short = bench(tmp_path, seconds=20.0)
    short.run(chosen(["ours", "cookbook"]))
    assert [run["left_out"] for run in short.runs] == ["no time was left"] * 2


SMI = """#!/bin/sh
case "$*" in
*compute_cap*) echo "0, GPU-1, NVIDIA H200, 143771, 4, 9.0, 580.159.04" ;;
*compute-apps*) ;;
*) echo 100 ;;
esac
"""
PYTHON = """#!/bin/sh
case "$1" in
-c) echo '{{"python": "3.12.3", "sglang": "0.5.11", "torch": "2.11.0", "transformers": "5.6.0"}}' ;;
-m) shift 2; exec {python} {root}/tests/gpu_bench/standin.py "$@" ;;
esac
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The script's command line on a machine with one card, and an environment whose engine is the stand-in; without a name."""
    for place, text in (("smi/nvidia-smi", SMI), ("env/bin/python", PYTHON.format(python=sys.executable, root=ROOT))):
        program = tmp_path / place
        program.parent.mkdir(parents=True)
        program.write_text(text)
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/smi:/usr/bin:/bin")
    monkeypatch.setenv("STANDIN_LOG", str(SIZED))
    argv = [sys.executable, str(ROOT / "scripts/gpu-bench"), "--environment", str(tmp_path / "env"), "--out", str(tmp_path / "out")]
    return [*argv, "--port", str(free_port()), "--commit", "c0ffee"]


def test_the_script_measures_what_it_finds_on_the_machine(script: list[str], tmp_path: Path) -> None:
    run = subprocess.run([*script, "ours-1.5"], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    record = json.loads((tmp_path / "out/record.json").read_text())
    assert record["cards"] == CARDS
    assert (record["driver"], record["versions"]["sglang"], record["commit"]) == ("580.159.04", "0.5.11", "c0ffee")
    assert record["runs"][0]["loads"]["at-43"]["answered"] == 43
    assert record["runs"][0]["loads"]["at-43"]["used_mib"] == 100
    assert (tmp_path / "out/model/config.json").exists()


def test_a_script_that_is_asked_to_end_leaves_no_server(script: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    silent = tmp_path / "silent.log"
    silent.write_text("[2026-11-30 00:00:00] server_args=ServerArgs(\n# not yet ready to roll\n")
    monkeypatch.setenv("STANDIN_LOG", str(silent))
    child = subprocess.Popen([*script, "ours-1.5"], stdout=subprocess.DEVNULL)
    port = int(script[script.index("--port") + 1])
    until = time.monotonic() + 120
    while not listens(port) and time.monotonic() < until:
        time.sleep(0.1)
    assert listens(port)
    child.terminate()
    assert child.wait(60) == 143
    assert not listens(port)


def listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize("names", [["nonsense"], ["ours", "nonsense"]])
def test_a_name_that_is_none_is_refused_with_those_that_are(names: list[str]) -> None:
    with pytest.raises(ValueError, match="no configuration nonsense; there are: cookbook, ours,"):
        chosen(names)
