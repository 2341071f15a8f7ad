# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The program that the engine check feeds to the environment's own Python, and how its answer is read.

The program asks the installed engine itself: its argument parser and the whole resolution of ServerArgs, without starting
a server. 0.5.11 resolves while constructing; from 0.5.21 on construction validates nothing and `resolve_once` must be called.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._diagnosis import Cause, Diagnosis
from ansible_collections.inference.sglang.plugins.module_utils._errors import CodedError

MARKER = "inference.sglang.engine_check "
EXIT_ACCEPTED, EXIT_PARSER, EXIT_RESOLUTION = 0, 2, 3

RUNNER = r"""
import sys

# Reading the program from stdin puts the working directory first on the path: no file there may pose as a module.
sys.path[:] = [entry for entry in sys.path if entry]
import json, os, traceback

MARKER = "inference.sglang.engine_check "
argv = sys.argv[1:]
sys.argv = ["sglang serve", *argv]
# The answer goes to a descriptor of its own, whatever the engine's imports do to stdout.
answer = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def say(**result):
    answer.write(MARKER + json.dumps(result, default=str) + "\n")
    answer.flush()


def where(error):
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "sglang" in f.filename]
    if not frames:
        return ""
    frame = frames[-1]
    return "%s:%s %s: %s" % (frame.filename.split("site-packages/")[-1], frame.lineno, frame.name, frame.line or "")


stage = "import"
try:
    import sglang
    from sglang.srt import server_args as module

    stage = "parse"
    args = module.prepare_server_args(argv)
    stage = "resolve"
    if hasattr(args, "resolve_once"):
        args.resolve_once()
    args.check_server_args()
    if hasattr(args, "resolved_dict"):
        resolved = dict(args.resolved_dict())
    else:
        resolved = {k: v for k, v in vars(args).items() if not k.startswith("_")}
except SystemExit as error:
    say(accepted=False, stage="parse", kind="argparse", text="", where="", status=error.code)
    os._exit(2)
except BaseException as error:
    traceback.print_exc()
    say(accepted=False, stage=stage, kind=type(error).__name__, text=str(error), where=where(error))
    sys.stderr.flush()
    os._exit(3)
say(accepted=True, version=getattr(sglang, "__version__", ""), resolved=resolved)
os._exit(0)  # the engine's imports may have started threads that have nothing more to do
"""

_SECRET = re.compile(r"(?:^|_)(?:key|token|password|passwd|secret)$|watermark", re.IGNORECASE)


@dataclass(frozen=True)
class Answer:
    """What the engine said of the arguments."""

    accepted: bool
    stage: str = ""
    kind: str = ""
    text: str = ""
    where: str = ""
    version: str = ""
    resolved: Mapping[str, Any] = field(default_factory=dict)


def parse_answer(stdout: str) -> Optional[Answer]:
    """The runner's one line; None when the interpreter died before it could say anything."""
    for line in reversed(stdout.splitlines()):
        if line.startswith(MARKER):
            data = json.loads(line[len(MARKER) :])
            return Answer(**{name: data[name] for name in Answer.__dataclass_fields__ if name in data})
    return None


def is_secret(name: str) -> bool:
    """Whether an engine setting's value must not be shown; `max_total_tokens` is no secret, `api_key` is."""
    return _SECRET.search(name) is not None


def public_settings(resolved: Mapping[str, Any]) -> dict[str, Any]:
    """The resolved settings without secrets; a secret that is set shows as such."""
    shown: dict[str, Any] = {}
    for name in sorted(resolved):
        value = resolved[name]
        if is_secret(name):
            shown[name] = "(set)" if value else None
        else:
            shown[name] = value
    return shown


def _same(predicted: Any, resolved: Any) -> bool:
    if isinstance(predicted, bool) or isinstance(resolved, bool):
        return bool(predicted == resolved)
    if isinstance(predicted, (int, float)) and isinstance(resolved, (int, float)):
        return abs(predicted - resolved) <= 0.0006 * max(1.0, abs(predicted))
    return str(predicted) == str(resolved)


def compare(predicted: Mapping[str, Any], resolved: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Where the engine resolved something else than the plan predicted; settings the engine does not know are skipped."""
    return [
        {"setting": name, "predicted": predicted[name], "resolved": resolved[name]}
        for name in sorted(predicted)
        if name in resolved and predicted[name] is not None and not _same(predicted[name], resolved[name])
    ]


def _last_lines(text: str, count: int) -> str:
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return "\n".join(lines[-count:])


_LOG_PREFIX = re.compile(r"^\[\d{4}-[^\]]*\] ?")
_UNTOUCHED = "the running server was not touched"


def known_cause(stderr: str) -> Optional[Cause]:
    """What the catalogue of failures knows of the engine's words."""
    diagnosis = Diagnosis()
    for line in stderr.splitlines():
        diagnosis.feed(_LOG_PREFIX.sub("", line))
    return diagnosis.known_cause()


def refusal(answer: Answer, stderr: str) -> CodedError:
    """The engine's own words, as the message of a refused release, and what the catalogue of failures makes of them.

    The code is the catalogue's where it knows the cause, and else tells what refused.
    """
    text = answer.text or "(no message)"
    place = f" at {answer.where}" if answer.where else ""
    code, found = "CHECK-002", f"{answer.kind}: {text}{place}"
    wrong = "the engine refuses the release while it resolves its arguments"
    wanted, change = "settings that SGLang accepts together", "correct sglang_server_settings"
    if answer.kind == "argparse":
        said = [line for line in stderr.splitlines() if "error:" in line]
        found = said[-1].strip() if said else _last_lines(stderr, 3)
        code, wrong = "CHECK-001", "the engine's argument parser refuses the release"
        wanted = "arguments that this SGLang release knows"
        change = "correct sglang_server_settings or sglang_server_extra_args"
    elif answer.stage == "import":
        code, wrong, wanted = "CHECK-003", "the engine cannot be imported", "a complete environment"
        change = "rebuild the environment (role ml_env) and read the last lines of 'stderr'"
    cause = known_cause(stderr)
    if cause is not None:
        code, wrong, change = cause.code, f"{wrong}: {cause.what}", cause.change
    return CodedError(code, wrong, found, wanted, f"{change}; {_UNTOUCHED}")


def died(status: int, stderr: str) -> CodedError:
    """The interpreter ended without an answer."""
    how = f"signal {-status}" if status < 0 else f"status {status}"
    return CodedError(
        "CHECK-004",
        "the engine check ended without an answer",
        found=f"{how}; last words: {_last_lines(stderr, 5) or '(none)'}",
        wanted="a Python that can import SGLang",
        next_step="try the environment's python by hand: python -c 'import sglang'",
    )
