# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a host's instances are doing, from their stamps, systemd and one cheap request each. Nothing is generated and nothing is changed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils import _release_files as files
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._live_unit import RunCommand, parse_show, release_of_process
from ansible_collections.inference.sglang.plugins.module_utils._plain import as_mapping
from ansible_collections.inference.sglang.plugins.module_utils._probe_client import HttpClient, TooSlow, Unreachable
from ansible_collections.inference.sglang.plugins.module_utils._regular_files import read_record
from ansible_collections.inference.sglang.plugins.module_utils._release import Stamp, instance_directory
from ansible_collections.inference.sglang.plugins.module_utils._rollout_record import read_rollout
from ansible_collections.inference.sglang.plugins.module_utils._text_files import read_text
from ansible_collections.inference.sglang.plugins.module_utils._unit import unit_name

NEVER = "never deployed"
WATCH_RESULT = "watch/result/last.json"
LONGEST_SAID = 500
_INSTANCE = re.compile(r"[a-z0-9][a-z0-9_-]*")
_PROPERTIES = "LoadState,ActiveState,SubState,NRestarts,ActiveEnterTimestamp,MainPID"


def instances_of(root: str, asked: str) -> list[str]:
    """The instances below the root, and the one that was asked for, deployed or not."""
    folder = os.path.join(root, "instances")
    try:
        names = [name for name in os.listdir(folder) if _INSTANCE.fullmatch(name) and os.path.isdir(os.path.join(folder, name))]
    except OSError:
        names = []
    return sorted({*names, asked})


def view_instance(root: str, instance: str, run: RunCommand, timeout: float) -> dict[str, Any]:
    """One row: what was accepted, what the unit does, whether the server answers. What cannot be told is a note."""
    home, unit = instance_directory(root, instance), unit_name(instance)
    notes: list[str] = []
    stamp, record = _accepted(home, notes)
    state = _unit(unit, run)
    running = state.pop("release")
    if stamp is not None and running not in ("", stamp.id):
        notes.append(f"the running server is of release {running}, not of the accepted one")
    row = {
        "instance": instance,
        "unit": unit,
        "deployed": stamp is not None,
        **state,
        **_of_stamp(stamp, record),
        **_rollout(home, notes),
        "answers": "",
        "watch": _watch(home, notes),
        "notes": notes,
    }
    if state["active"] == "active" and record:
        row["answers"], row["answer_seconds"] = answers(as_mapping(record.get("serving")), timeout)
    return row


def _watch(home: str, notes: list[str]) -> dict[str, Any]:
    """The last look of the instance's watch; nothing where it has none. The service user may write anything there."""
    seen = as_mapping(read_record(os.path.join(home, WATCH_RESULT)))
    found = {name: str(seen.get(name) or "")[:LONGEST_SAID] for name in ("at", "state", "code", "said")}
    if not found["state"]:
        return {}
    notes.append("the watch at {at}: {state}: {said}".format(**found))
    return found


def _accepted(home: str, notes: list[str]) -> tuple[Optional[Stamp], dict[str, Any]]:
    """The stamp and its release's record; a damaged one is told and hides nothing else."""
    try:
        stamp = files.read_stamp(home, files.ACCEPTED_FILE)
        if stamp is None:
            notes.append(NEVER)
            return None, {}
    except SglangError as error:
        notes.append(f"{error.wrong}: {error.found}")
        return None, {}
    try:
        return stamp, files.read_release(os.path.join(home, "releases", stamp.id))
    except SglangError as error:
        notes.append(f"{error.wrong}: {error.found}")
        return stamp, {}


def _rollout(home: str, notes: list[str]) -> dict[str, Any]:
    """How far the last rollout came here."""
    try:
        record = read_rollout(home)
    except (SglangError, OSError) as error:
        notes.append(f"{error.wrong}: {error.found}" if isinstance(error, SglangError) else f"rollout.json: {error.strerror}")
        return {"rollout": {}, "out": False}
    return {"rollout": record.shown() if record.phase else {}, "out": record.out}


def _of_stamp(stamp: Optional[Stamp], record: Mapping[str, Any]) -> dict[str, Any]:
    environment, model, figures = (as_mapping(getattr(stamp, name, None)) for name in ("environment", "model", "figures"))
    serving = as_mapping(record.get("serving"))
    return {
        "release": stamp.id if stamp else "",
        "sglang": str(environment.get("sglang_version") or ""),
        "model": str(serving.get("model") or os.path.basename(str(model.get("path") or ""))),
        "revision": str(model.get("revision") or ""),
        "accepted_at": stamp.accepted_at if stamp else "",
        "probe": dict(as_mapping(figures.get("probe"))),
        "url": str(serving.get("url") or ""),
    }


def _unit(unit: str, run: RunCommand) -> dict[str, Any]:
    """What systemd says of it; `unknown` on a host that has none."""
    try:
        code, output, _errors = run(["systemctl", "show", unit, "--property", _PROPERTIES])
    except OSError:
        code, output = 1, ""
    shown = parse_show(output) if code == 0 else {}
    active = shown.get("ActiveState", "unknown")
    return {
        "active": "none" if shown.get("LoadState") == "not-found" else active,
        "restarts": int(shown["NRestarts"]) if shown.get("NRestarts", "").isdigit() else None,
        "since": shown.get("ActiveEnterTimestamp", "") if active == "active" else "",
        "release": release_of_process(shown.get("MainPID", "0")),
    }


def answers(serving: Mapping[str, Any], timeout: float) -> tuple[str, Optional[float]]:
    """`yes`, or why not, and the seconds: the list of models costs the engine no token. It is less than a proof; verify.yml gives one."""
    key_file = str(serving.get("key_file") or "")
    try:
        key = (read_text(key_file) or "").strip() if key_file else ""
        reply = HttpClient(str(serving.get("url") or ""), key or None, validate_certs=False).request("GET", "/v1/models", None, timeout)
    except (SglangError, OSError) as error:
        return f"not asked: {error.wrong if isinstance(error, SglangError) else error.strerror}", None
    except TooSlow:
        return f"not within {timeout:g} s", None
    except Unreachable:
        return "no connection", None
    if reply.status != 200:
        return f"HTTP {reply.status}", round(reply.seconds, 3)
    if str(serving.get("model") or "") not in _models(reply.body):
        return "another model", round(reply.seconds, 3)
    return "yes", round(reply.seconds, 3)


def _models(body: bytes) -> set[str]:
    """The names in the list of models; none in an answer that is no such list."""
    try:
        found = json.loads(body)["data"]
        return {str(model["id"]) for model in found}
    except (ValueError, KeyError, TypeError, RecursionError):
        return set()
