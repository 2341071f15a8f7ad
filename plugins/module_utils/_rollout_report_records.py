# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A rollout's report from what the hosts have written down: stamps, releases and the record of the rollout. Reads only.

Hosts' records become the same events that a callback writes, so that there is one way from events to a report.
"""

from __future__ import annotations

import calendar
import os
import time
from collections.abc import Iterable, Mapping
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils import _release_files as files
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._plain import as_mapping
from ansible_collections.inference.sglang.plugins.module_utils._regular_files import read_record
from ansible_collections.inference.sglang.plugins.module_utils._release import is_release_id
from ansible_collections.inference.sglang.plugins.module_utils._release_changes import release_changes
from ansible_collections.inference.sglang.plugins.module_utils._rollout_report_events import (
    FORMAT,
    RECORD_TASK,
    Seen,
    figures_of,
    visible,
)

ROLLOUT_FILE = "rollout.json"
# A phase of the record -> what led to it, as the callback names it.
_LED_TO = {"drained": "drain", "switched": "switch", "rejoined": "undrain", "rolled_back": "put back"}


def instance_record(home: str) -> dict[str, Any]:
    """What one instance's directory tells of its last change. What cannot be read is a note and hides nothing else."""
    notes: list[str] = []
    stamps = {name: _stamp(home, name, notes) for name in (files.ACCEPTED_FILE, files.PREVIOUS_FILE)}
    accepted = stamps[files.ACCEPTED_FILE]
    rollout = as_mapping(read_record(os.path.join(home, ROLLOUT_FILE)))
    wanted = str(rollout.get("release") or accepted.get("id") or "")
    before = str(rollout.get("from") or stamps[files.PREVIOUS_FILE].get("id") or "")
    release = _release(home, wanted, notes)
    figures = as_mapping(accepted.get("figures")) if accepted.get("id") == wanted else {}
    return {
        "instance": os.path.basename(home),
        "rollout": _rollout(rollout),
        "accepted": {"id": accepted.get("id", ""), "at": accepted.get("accepted_at", "")},
        "release": {name: release.get(name) for name in ("id", "instance", "environment", "serving")},
        "before": before if before != wanted else "",
        "changes": _changes(home, before, wanted, release),
        "memory": as_mapping(as_mapping(read_record(os.path.join(home, "releases", wanted, "plan.json"))).get("memory")) if release else {},
        "gate": as_mapping(figures.get("gate")),
        "probe": as_mapping(figures.get("probe")),
        "notes": notes,
    }


def _rollout(record: Mapping[str, Any]) -> dict[str, Any]:
    names = ("rollout", "release", "from", "phase", "verdict", "code", "at")
    times = {str(phase): str(at) for phase, at in as_mapping(record.get("times")).items()}
    return {**{name: str(record[name]) for name in names if record.get(name)}, "times": times} if record else {}


def _stamp(home: str, name: str, notes: list[str]) -> dict[str, Any]:
    try:
        stamp = files.read_stamp(home, name)
    except (SglangError, OSError) as error:
        notes.append(str(error).split("\n", 1)[0])
        return {}
    return dict(stamp.__dict__) if stamp else {}


def _release(home: str, identifier: str, notes: list[str]) -> dict[str, Any]:
    """Its record without what nobody needs to see: argv stays on the host."""
    if not is_release_id(identifier):
        return {}
    try:
        record = files.read_release(os.path.join(home, "releases", identifier))
    except (SglangError, OSError) as error:
        notes.append(str(error).split("\n", 1)[0])
        return {}
    serving, environment = as_mapping(record.get("serving")), as_mapping(record.get("environment"))
    shown = {"model": serving.get("model")}, {"sglang_version": environment.get("sglang_version")}
    return {"id": identifier, "instance": record.get("instance"), "unit": record.get("unit"), "serving": shown[0], "environment": shown[1]}


def _changes(home: str, before: str, wanted: str, release: Mapping[str, Any]) -> list[str]:
    if not release or before == wanted or not is_release_id(before):
        return []
    try:
        kept = [files.read_kept(home, identifier, str(release.get("unit"))) for identifier in (before, wanted)]
        return release_changes(kept[0], kept[1])
    except (SglangError, OSError, AttributeError, TypeError):  # a record that somebody changed
        return []


# ----- to events, on the controller -----


def seconds_of(text: Any) -> float:
    """``2026-11-30T17:00:00Z``, with or without a fraction, as seconds since the epoch; 0 for anything else."""
    whole, _dot, fraction = str(text).rstrip("Z").partition(".")
    try:
        return calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + float(f"0.{fraction or 0}")
    except (ValueError, OverflowError):
        return 0.0


def events_of(hosts: Mapping[str, Any], lost: Iterable[str] = ()) -> list[dict[str, Any]]:
    """Host -> the instances' records, and hosts that could not be asked, as the events of a rollout that has ended."""
    events: list[dict[str, Any]] = [{"event": "batch", "all": [visible(host, 200) for host in [*hosts, *lost]], "hosts": []}]
    for host, records in hosts.items():
        for record in records if isinstance(records, (list, tuple)) else ():
            events += _events_of_instance(host, as_mapping(record))
    times = [event["start"] for event in events if event.get("start")]
    ids = sorted((str(figures["at"]), str(figures["rollout"])) for event in events if (figures := event.get("figures", {})).get("rollout"))
    begin = {"event": "begin", "format": FORMAT, "playbook": "report", "at": min(times, default=0.0), "rollout": ids[-1][1] if ids else ""}
    bad = sorted({event["host"] for event in events if event.get("figures", {}).get("phase") in ("failed", "rolled_back")})
    return [begin, *events, {"event": "end", "failed": bad, "unreachable": [visible(host, 200) for host in lost]}]


def _events_of_instance(host: str, record: Mapping[str, Any]) -> list[dict[str, Any]]:
    rollout = as_mapping(record.get("rollout"))
    release = {**as_mapping(record.get("release")), "instance": record.get("instance")}
    plan = {
        "plan": {"memory": record.get("memory")},
        "release": {"id": release.get("id"), "record": release},
        "accepted": {"id": record.get("before")},
        "difference": {"changes": record.get("changes")},
    }
    events = [_event(host, "launch_plan", "", plan)]
    events += [_event(host, "rollout_record", phase, {}, *moments) for phase, moments in _stretches(as_mapping(rollout.get("times")))]
    if record.get("gate"):
        events.append(_event(host, "log_gate", "", {"figures": record["gate"]}))
    if record.get("probe"):
        events.append(_event(host, "serving_probe", "", as_mapping(record["probe"])))
    accepted = as_mapping(record.get("accepted"))
    if accepted.get("id") and accepted.get("id") == as_mapping(record.get("release")).get("id"):
        at = seconds_of(accepted.get("at"))
        events.append(_event(host, "server_release", "accept", {"accepted": accepted}, at, at))
    if rollout:
        at = seconds_of(rollout.get("at"))
        events.append(_event(host, "rollout_record", "record", {"rollout": rollout}, at, at, RECORD_TASK))
    return events


def _event(
    host: str, module: str, phase: str, result: Mapping[str, Any], start: float = 0.0, end: float = 0.0, task: str = ""
) -> dict[str, Any]:
    figures = figures_of(Seen(host, task, module, "ok", start, end), result)
    what = {"host": visible(host, 200), "task": task or f"Recorded by {module}", "module": module, "phase": phase}
    return {"event": "task", **what, "start": start, "end": end, "status": "ok", "figures": figures}


def _stretches(times: Mapping[str, Any]) -> list[tuple[str, tuple[float, float]]]:
    """From one phase that was recorded to the next."""
    known: list[tuple[float, str]] = sorted((moment, phase) for phase, at in times.items() if (moment := seconds_of(at)))
    before: Optional[float] = None
    found = []
    for moment, phase in known:
        if before is not None and phase in _LED_TO:
            found.append((_LED_TO[phase], (before, moment)))
        before = moment
    return found
