# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Puts command lines to the real parser and resolution of one release. Runs inside that release's environment.

Reads one JSON document from standard input, writes one JSON line an answer to standard output:

  {"runner": the program of the engine check, "cuda": "13.0", "stand_ins": folder, "batches": [{"card": {...}, "questions":
   [{"id": ..., "argv": [...], "env": {...}}]}]}
  {"id": ..., "output": what the runner said, "errors": the engine's words, "status": exit status, "later": see later_checks}

What takes most of the time, torch above all, is imported once; each card then gets a fork that imports SGLang under that
card (its modules keep what they asked while being imported), and each command a fork of that one. What the runner is, a host's
engine check runs, too.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable

CELL_SECONDS = 120
SHARED = (
    "torch._dynamo",
    "torch._inductor.compile_fx",
    "torch._inductor.select_algorithm",
    "torch.distributed.fsdp",
    "transformers.modeling_utils",
    "transformers.processing_utils",
    "openai.types.responses",
)
"""What takes most of the time of importing SGLang and does not look at the card."""
IMPORTS = ("sglang.srt.configs.model_config", "sglang.srt.server_args", "sglang.srt.model_loader.loader")


class Done(BaseException):
    """The runner wants to end its process with this status."""


def in_fork(work: Callable[[], None]) -> int:
    """The exit status of `work`, run in a fork; 1 where it raised."""
    sys.stdout.flush()
    leave, child = os._exit, os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        except Done as done:
            status = done.args[0]
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            leave(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def run_cell(runner: str, question: dict[str, Any], scratch: Path) -> None:
    """The runner as a host's engine check has it, then what the engine asks later."""
    import later_checks

    def leave(status: int) -> None:
        raise Done(status)

    signal.alarm(CELL_SECONDS)
    for name, descriptor in (("output", 1), ("errors", 2)):
        os.dup2(os.open(scratch / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), descriptor)
    os.environ.update(question.get("env", {}))
    sys.argv = ["-", *question["argv"]]
    os._exit = leave  # type: ignore[assignment]  # raised, so that what was gathered is still written
    namespace: dict[str, Any] = {"__name__": "__main__"}
    before = set(sys.modules)
    try:
        exec(compile(runner, "engine check", "exec"), namespace)
    except Done as done:
        if done.args[0] == 0:
            (scratch / "later").write_text(json.dumps(later_checks.run(namespace["args"])))
        raise
    finally:
        (scratch / "modules").write_text("\n".join(sorted(set(sys.modules) - before)))


def ask(runner: str, question: dict[str, Any], scratch: Path) -> dict[str, Any]:
    """The engine's answer to one command line."""
    (scratch / "later").write_text("[]")
    status = in_fork(lambda: run_cell(runner, question, scratch))
    said = {name: (scratch / name).read_text(errors="replace") for name in ("output", "errors", "later")}
    # A module that one cell needed is imported for those after it: imports are most of a cell's time, and change no answer.
    for name in (scratch / "modules").read_text().split():
        if name.partition(".")[0] in ("sglang", "transformers"):
            with contextlib.suppress(Exception):
                importlib.import_module(name)
    return {"id": question["id"], "status": status, **said, "later": json.loads(said["later"])}


def answer_batch(job: dict[str, Any], batch: dict[str, Any], answers: Any) -> None:
    """All questions of one card, in a process whose SGLang was imported under it."""
    import fake_card

    with tempfile.TemporaryDirectory(prefix="engine-matrix-") as name:
        scratch = Path(name)
        fake_card.install(batch["card"], job["cuda"], scratch)
        for module in IMPORTS:
            importlib.import_module(module)
        for question in batch["questions"]:
            answers.write(json.dumps(ask(job["runner"], question, scratch)) + "\n")
            answers.flush()


def main() -> int:
    """Answer the document on standard input."""
    job = json.load(sys.stdin)
    # Answers go to a descriptor of their own, whatever the engine's imports do to stdout.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", CUDA_VISIBLE_DEVICES="")
    sys.dont_write_bytecode = False
    sys.path.insert(0, job["stand_ins"])
    import sglang_cpu_import_stubs  # type: ignore[import-not-found]  # only in the environment

    sglang_cpu_import_stubs.install()
    for name in SHARED:
        importlib.import_module(name)
    return max(in_fork(lambda batch=batch: answer_batch(job, batch, answers)) for batch in job["batches"])  # type: ignore[misc]  # a default of a lambda has no type


if __name__ == "__main__":
    sys.exit(main())
