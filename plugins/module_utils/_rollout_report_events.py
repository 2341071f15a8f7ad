# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a rollout's report keeps of each task: chosen figures, never a whole result. Pure.

An event is a plain dictionary, one line of the journal:

- ``{"event": "begin", "format": 1, "rollout": str, "playbook": str, "check": bool, "at": float}``
- ``{"event": "batch", "play": str, "all": [host], "hosts": [host], "at": float}``
- ``{"event": "task", "host": str, "task": str, "module": str, "phase": str, "start": float, "end": float, "status": str,
  "figures": {...}, "failure": {...}}`` with the status ok, changed, failed, ignored or unreachable
- ``{"event": "end", "at": float, "failed": [host], "unreachable": [host]}``

Times are seconds since the epoch. A journal without its last event is of a run that was killed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._plain import as_mapping
from ansible_collections.inference.sglang.plugins.module_utils._scrub import HIDDEN, is_secret_name, scrub_text

FORMAT = 1
LONGEST_TEXT = 2000
LONGEST_LINE = 400
MOST_LINES = 60
RECORD_TASK = "Record the rollout"

_ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
# What has no picture, and what turns the direction of the text around it; a tab and a line's end stay.
_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")

_STAGING_ROLES = ("inference_host", "ml_env", "model_shards")
_MODULES = {
    "launch_plan": "plan",
    "engine_check": "check",
    "server_stop": "stop",
    "log_gate": "gate",
    "serving_probe": "probe",
}
_FILES = {"drain.yml": "drain", "undrain.yml": "undrain", "admit.yml": "admit", "restart.yml": "start"}
# They decide or show and take no time of the host; of interest only when they fail.
_WITHOUT_WORK = frozenset(
    [
        *("validate_argument_spec", "set_fact", "debug", "assert", "fail", "meta", "show_lines", "include_tasks", "include_role"),
        *("include_vars", "group_by", "add_host", "check_variables"),
    ]
)
FAILURE_KEYS = ("code", "wrong", "found", "wanted", "next", "put_back")
PREDICTED = ("state_slots", "kv_tokens", "max_running_requests", "weights_gib", "after_pools_gib", "free_gib")
_RANK = {
    "state_slots": "state_slots",
    "kv_tokens": "kv_tokens",
    "weights_gib": "weights_gb",
    "after_pools_gib": "free_after_pools_gb",
}
_ENGINE = {"max_running_requests": "max_running_requests", "free_gib": "available_gpu_mem_gb"}


@dataclass(frozen=True)
class Seen:
    """A task's end on a host, as a callback sees it. ``start`` and ``end`` in seconds since the epoch."""

    host: str
    task: str
    action: str
    status: str
    start: float
    end: float
    role: str = ""
    path: str = ""  # of its file, with or without :line
    state: str = ""  # its argument of that name, where it is literal


def visible(value: Any, limit: int = LONGEST_TEXT) -> str:
    """Text that a terminal, a file and a browser show as it is: no escape sequence, nothing invisible."""
    if value is None:
        return ""
    try:
        text = value if isinstance(value, str) else str(value)
    except (ValueError, RecursionError):  # an integer too long to print, or endless nesting
        return ""
    text = _INVISIBLE.sub("", _ANSI.sub("", text[: 4 * limit]))
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def clean(value: Any, limit: int = LONGEST_TEXT) -> str:
    """The same without any known kind of secret: what comes from a host goes through here before it is written anywhere."""
    # Hidden before anything is cut off: half a secret has no shape to be known by.
    return visible(scrub_text(visible(value, 4 * limit)), limit)


def finite(value: Any) -> Optional[float]:
    """A number as it is, whole ones whole; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or abs(value) > 1e15 or not math.isfinite(value):
        return None
    return value


def lines_of(value: Any, one: Callable[[Any, int], str] = clean) -> list[str]:
    """A list of short lines."""
    if not isinstance(value, (list, tuple)):
        return []
    return [one(line, LONGEST_LINE) for line in value[-MOST_LINES:]]


def _changes_of(value: Any) -> list[str]:
    """``--flag: old -> new``: of an option whose name sounds secret neither value is shown."""
    lines = [visible(line, LONGEST_LINE).partition(": ") for line in _list(value)[:MOST_LINES]]
    return [
        f"{name}: {HIDDEN}" if between and is_secret_name(name) else clean(name + between + rest, LONGEST_LINE)
        for name, between, rest in lines
    ]


def _numbers(source: Mapping[str, Any], names: Iterable[str]) -> dict[str, float]:
    return {name: number for name in names if (number := finite(source.get(name))) is not None}


def _texts(source: Mapping[str, Any], names: Iterable[str]) -> dict[str, str]:
    return {name: clean(source[name], LONGEST_LINE) for name in names if source.get(name) not in (None, "", [], {})}


def short_name(action: str) -> str:
    """``log_gate`` of ``inference.sglang.log_gate``."""
    return action.rsplit(".", 1)[-1]


def phase_of(seen: Seen) -> str:
    """Which part of a host's change the task belongs to; empty for what is of no interest while it succeeds."""
    action, file = short_name(seen.action), seen.path.rsplit("/", 1)[-1].split(":", 1)[0]
    if action in _WITHOUT_WORK and seen.status not in ("failed", "unreachable"):
        return ""
    if short_name(seen.role) in _STAGING_ROLES:
        return "stage"
    if action in _MODULES:
        return _MODULES[action]
    if action == "server_release":
        return {"accepted": "accept", "staged": "stage", "put_back": "put back"}.get(seen.state, "")
    # A record that is only read may be of an earlier rollout.
    if seen.task.endswith(RECORD_TASK) or (action == "rollout_record" and seen.status == "changed"):
        return "record"
    return _FILES.get(file, "")


# ----- figures: one function for each module whose result is of interest -----


def _of_plan(result: Mapping[str, Any]) -> dict[str, Any]:
    plan, release, difference = (as_mapping(result.get(name)) for name in ("plan", "release", "difference"))
    record, memory = as_mapping(release.get("record")), as_mapping(plan.get("memory"))
    found: dict[str, Any] = {
        "release": clean(release.get("id"), 40),
        "before": clean(as_mapping(result.get("accepted")).get("id"), 40),
        "instance": clean(record.get("instance"), 80),
        "sglang": clean(as_mapping(record.get("environment")).get("sglang_version"), 40),
        "model": clean(as_mapping(record.get("serving")).get("model"), 200),
        "changes": _changes_of(difference.get("changes")),
        "reasons": lines_of(difference.get("reasons")),
        "missing": lines_of(result.get("missing")),
        "predicted": _numbers(as_mapping(memory.get("per_rank")), PREDICTED),
        "gpus": [clean(as_mapping(gpu).get("name"), 80) for gpu in _list(plan.get("gpus"))][:16],
    }
    if isinstance(difference.get("converged"), bool):
        found["converged"] = difference["converged"]
    return _filled(found)


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else ()


def _filled(found: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if value not in ("", [], {}, None)}


def measured(figures: Mapping[str, Any]) -> dict[str, float]:
    """What the gate read in the log, under the names of the prediction. Of several ranks the one with the least memory left counts."""
    ranks = [as_mapping(rank) for rank in as_mapping(figures.get("ranks")).values()]
    rank = min(ranks, key=lambda each: finite(each.get("free_after_pools_gb")) or 0.0, default={})
    pairs = [(name, rank.get(key)) for name, key in _RANK.items()] + [(name, figures.get(key)) for name, key in _ENGINE.items()]
    return {name: number for name, value in pairs if (number := finite(value)) is not None}


def _of_gate(result: Mapping[str, Any]) -> dict[str, Any]:
    stages = [as_mapping(stage) for stage in _list(result.get("stages"))][:40]
    return _filled(
        {
            "verdict": clean(result.get("verdict"), 40),
            "stage": clean(result.get("stage"), 40),
            "seconds": finite(result.get("seconds")),
            "stages": [{"stage": clean(each.get("stage"), 40), "at_s": finite(each.get("at_s")) or 0.0} for each in stages],
            "actual": measured(as_mapping(result.get("figures"))),
            "kernels": clean(as_mapping(result.get("dispatcher")).get("kernels"), 200),
            "warnings": lines_of(result.get("warnings_seen")),
        }
    )


def _of_probe(result: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **_texts(result, ("question", "answer")),
        **_numbers(result, ("accept_length", "tokens_per_second", "max_model_len", "seconds")),
    }


def _of_release(result: Mapping[str, Any]) -> dict[str, Any]:
    release, accepted = as_mapping(result.get("release")), as_mapping(result.get("accepted"))
    return _filled(
        {
            "release": clean(release.get("id"), 40),
            "accepted": clean(accepted.get("id"), 40),
            "instance": clean(release.get("instance"), 80),
            "sglang": clean(as_mapping(release.get("environment")).get("sglang_version"), 40),
            "model": clean(as_mapping(release.get("serving")).get("model"), 200),
            "changes": _changes_of(result.get("changes")),
        }
    )


def _of_record(result: Mapping[str, Any]) -> dict[str, Any]:
    rollout = as_mapping(result.get("rollout"))
    return _texts(rollout, ("rollout", "release", "from", "phase", "verdict", "code", "at"))


_FIGURES: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "launch_plan": _of_plan,
    "log_gate": _of_gate,
    "serving_probe": _of_probe,
    "server_release": _of_release,
}


def figures_of(seen: Seen, result: Mapping[str, Any]) -> dict[str, Any]:
    """The chosen figures of a task's result; a result that Ansible hides gives none."""
    if "censored" in result:
        return {}
    if phase_of(seen) == "record":
        return _of_record(result)
    choose = _FIGURES.get(short_name(seen.action))
    return choose(result) if choose else {}


# ----- failures -----


def parse_message(message: str) -> dict[str, str]:
    """The four parts of a refusal of this collection, its code and what was put back; another message is the first part alone."""
    parts: dict[str, list[str]] = {"wrong": []}
    current = "wrong"
    for line in message.splitlines():
        label = re.match(r"\s+(found|wanted|next):(?: |$)(.*)|(put back): (.*)|(to look into it): (.*)", line)
        if label:
            current = (label[1] or label[3] or label[5]).replace(" ", "_")
            parts.setdefault(current, []).append(label[2] or label[4] or label[6] or "")
        else:
            parts[current].append(line.strip())
    found = {name: " ".join(words).strip() for name, words in parts.items() if name in FAILURE_KEYS}
    code = re.match(r"([A-Z]{2,12}-\d{3}): ", found["wrong"])
    return {**({"code": code[1]} if code else {}), **found}


def failure_of(result: Mapping[str, Any]) -> dict[str, Any]:
    """What a failed task says of its reason. Of a loop the first item that failed speaks; output of commands is not taken."""
    if "censored" in result:
        return {"wrong": "the task failed; its result is hidden (no_log)"}
    failed = [as_mapping(item) for item in _list(result.get("results")) if as_mapping(item).get("failed")]
    source = failed[0] if failed else result
    if "censored" in source:
        return {"wrong": "the task failed; its result is hidden (no_log)"}
    found: dict[str, Any] = {name: clean(text) for name, text in parse_message(clean(source.get("msg"))).items() if text}
    if isinstance(source.get("code"), str):
        found["code"] = clean(source["code"], 20)
    cause = as_mapping(source.get("cause"))
    found.update({name: clean(cause[name], LONGEST_LINE) for name in ("change", "variable") if cause.get(name)})
    excerpt = lines_of(source.get("excerpt"))
    return {**found, "excerpt": excerpt} if excerpt else found


def task_event(seen: Seen, result: Mapping[str, Any]) -> Optional[dict[str, Any]]:
    """The journal's line for a task; None for one of no interest."""
    phase = phase_of(seen)
    bad = seen.status in ("failed", "unreachable")
    if not phase and not bad and short_name(seen.action) != "server_release":
        return None
    event = {
        "event": "task",
        "host": clean(seen.host, 200),
        "task": clean(seen.task.rsplit(" : ", 1)[-1], 200),
        "module": "rollout_record" if phase == "record" else short_name(seen.action),
        "phase": phase,
        "start": round(seen.start, 3),
        "end": round(seen.end, 3),
        "status": seen.status,
        "figures": figures_of(seen, result),
        **({"failure": failure_of(result)} if bad else {}),
    }
    if not phase and not bad and not event["figures"]:
        return None
    return event


def parse_journal(text: str) -> list[dict[str, Any]]:
    """A journal's events. A line that a killed run left unfinished, or that is none of ours, is passed over."""
    events = []
    for line in text.splitlines():
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            events.append(event)
    return events
