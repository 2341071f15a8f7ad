# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The engine check: the runner against small engines that behave as the real ones do, and what is made of the answer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._engine_runner import (
    RUNNER,
    Answer,
    compare,
    died,
    is_secret,
    parse_answer,
    public_settings,
    refusal,
)

DATA = Path(__file__).resolve().parents[1] / "data/logs"
# Construction resolves, as in 0.5.11.
OLD_ENGINE = """
import argparse, dataclasses
print("noise on stdout while importing")
@dataclasses.dataclass
class ServerArgs:
    tp_size: int
    api_key: str
    draft: int
    def __post_init__(self):
        if self.draft:
            assert (
                self.tp_size is None
            )
        self.tp_size = self.tp_size or 1
    def check_server_args(self):
        if self.tp_size == 3:
            raise ValueError("tp_size 3 is not possible")
def prepare_server_args(argv):
    parser = argparse.ArgumentParser(prog="sglang serve")
    parser.add_argument("--tp-size", type=int)
    parser.add_argument("--api-key", default="canary")
    parser.add_argument("--draft", type=int, default=0)
    return ServerArgs(**vars(parser.parse_args(argv)))
"""
# Construction validates nothing, as in 0.5.23.
NEW_ENGINE = OLD_ENGINE.replace("def __post_init__", "def resolve_once") + (
    "\nServerArgs.resolved_dict = lambda self: {'tp_size': self.tp_size, 'resolved_by': 'resolved_dict'}\n"
)


def _ask(tmp_path: Path, engine: str, *argv: str) -> tuple[subprocess.CompletedProcess[str], Answer | None]:
    package = tmp_path / "site" / "sglang"
    (package / "srt").mkdir(parents=True)
    (package / "__init__.py").write_text("__version__ = '0.0.1'")
    (package / "srt" / "__init__.py").write_text("")
    (package / "srt" / "server_args.py").write_text(engine)
    (tmp_path / "cwd").mkdir()
    (tmp_path / "cwd" / "json.py").write_text("raise SystemExit('a file of the working directory was imported')")
    done = subprocess.run(
        [sys.executable, "-", *argv],
        input=RUNNER,
        capture_output=True,
        text=True,
        cwd=tmp_path / "cwd",
        env={"PYTHONPATH": str(tmp_path / "site")},
        timeout=60,
        check=False,
    )
    return done, parse_answer(done.stdout)


@pytest.mark.parametrize("engine", [OLD_ENGINE, NEW_ENGINE])
def test_accepts_and_reports_what_was_resolved(tmp_path: Path, engine: str) -> None:
    done, answer = _ask(tmp_path, engine, "--tp-size", "2")
    assert done.returncode == 0
    assert answer is not None
    assert answer.accepted
    assert answer.version == "0.0.1"
    assert answer.resolved["tp_size"] == 2


@pytest.mark.parametrize("engine", [OLD_ENGINE, NEW_ENGINE])
def test_a_bare_assertion_is_reported_with_its_place(tmp_path: Path, engine: str) -> None:
    done, answer = _ask(tmp_path, engine, "--draft", "1", "--tp-size", "2")
    assert done.returncode == 3
    assert answer is not None
    error = refusal(answer, done.stderr)
    assert "AssertionError: (no message)" in error.found
    assert "sglang/srt/server_args.py" in error.found
    assert "was not touched" in error.next_step


def test_the_last_check_of_the_engine_counts(tmp_path: Path) -> None:
    done, answer = _ask(tmp_path, OLD_ENGINE, "--tp-size", "3")
    assert done.returncode == 3
    assert answer is not None
    assert "ValueError: tp_size 3 is not possible" in refusal(answer, done.stderr).found


def test_the_parser_s_own_words(tmp_path: Path) -> None:
    done, answer = _ask(tmp_path, OLD_ENGINE, "--no-such-flag")
    assert done.returncode == 2
    assert answer is not None
    assert refusal(answer, done.stderr).found == "sglang serve: error: unrecognized arguments: --no-such-flag"


def test_an_engine_that_cannot_be_imported(tmp_path: Path) -> None:
    done, answer = _ask(tmp_path, "import no_such_module")
    assert done.returncode == 3
    assert answer is not None
    error = refusal(answer, done.stderr)
    assert "the engine cannot be imported" in error.wrong
    assert "no_such_module" in error.found


def test_an_interpreter_that_dies_is_no_answer(tmp_path: Path) -> None:
    done, answer = _ask(
        tmp_path, "import os, sys; sys.stderr.write('Illegal instruction\\n'); sys.stderr.flush(); os.kill(os.getpid(), 11)"
    )
    assert answer is None
    assert "signal 11" in died(done.returncode, done.stderr).found
    assert "Illegal instruction" in died(done.returncode, done.stderr).found


def test_the_catalogue_explains_a_bare_assertion_of_the_real_engine() -> None:
    """SGLang 0.5.11, two MTP numbers too few: the assertion itself has no message."""
    stderr = (DATA / "fail-draft-tokens-only.log").read_text()
    answer = Answer(accepted=False, stage="parse", kind="AssertionError", text="", where="sglang/srt/server_args.py:3521")
    error = refusal(answer, stderr)
    assert error.wrong.startswith("GATE-")
    assert "AssertionError: (no message)" in error.found
    assert "three" in error.next_step
    assert "was not touched" in error.next_step


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (Answer(accepted=False, stage="parse", kind="argparse"), "CHECK-001"),
        (Answer(accepted=False, stage="resolve", kind="ValueError", text="no"), "CHECK-002"),
        (Answer(accepted=False, stage="import", kind="ImportError", text="no"), "CHECK-003"),
    ],
)
def test_a_refusal_that_the_catalogue_does_not_know_has_a_code_of_its_own(answer: Answer, code: str) -> None:
    error = refusal(answer, "nothing that is known")
    assert (error.code, error.as_result()["code"]) == (code, code)
    assert str(error).startswith(f"{code}: ")


def test_secrets_stay_out() -> None:
    shown = public_settings(
        {"api_key": "canary", "admin_api_key": None, "hf_token": "canary", "max_total_tokens": 8, "tokenizer_path": "/m"}
    )
    assert "canary" not in str(shown)
    assert shown == {"admin_api_key": None, "api_key": "(set)", "hf_token": "(set)", "max_total_tokens": 8, "tokenizer_path": "/m"}


@pytest.mark.parametrize(
    "name", ["max_total_tokens", "tokenizer_mode", "skip_tokenizer_init", "speculative_num_draft_tokens", "ssl_keyfile"]
)
def test_a_setting_that_only_resembles_a_secret_is_shown(name: str) -> None:
    assert not is_secret(name)


@pytest.mark.parametrize("name", ["api_key", "admin_api_key", "ssl_keyfile_password", "hf_token"])
def test_a_secret_is_known_by_its_name(name: str) -> None:
    assert is_secret(name)


def test_compares_what_was_predicted_with_what_was_resolved() -> None:
    predicted = {"tp_size": 2, "mem_fraction_static": 0.7167, "speculative_algorithm": "EAGLE", "unknown_here": 1, "page_size": None}
    resolved = {"tp_size": 4, "mem_fraction_static": 0.717, "speculative_algorithm": "EAGLE", "page_size": 1}
    assert compare(predicted, resolved) == [{"setting": "tp_size", "predicted": 2, "resolved": 4}]
