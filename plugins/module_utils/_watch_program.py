# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The watch of a serving instance: one light probe, its result into a file, one line for the journal. A systemd timer runs it.

It runs on the host as the service user, out of one file with the prober of this collection in it (_watch_files.py), and reads what is
accepted each time: a new release or a way back needs no new watch.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._errors import CodedError
from ansible_collections.inference.sglang.plugins.module_utils._plain import as_mapping
from ansible_collections.inference.sglang.plugins.module_utils._probe import Probe, Wishes
from ansible_collections.inference.sglang.plugins.module_utils._probe_client import HttpClient
from ansible_collections.inference.sglang.plugins.module_utils._regular_files import read_record

RESULT = "result/last.json"
RIGHT, WRONG, STARTING, SKIPPED = "right", "wrong", "starting", "skipped"
# What a server that is still loading gives: no connection, or a port that is open and does not answer yet.
SILENT = ("PROBE-001", "PROBE-010")
_RELEASE = re.compile(r"/releases/([0-9a-f]{16})/launcher\.py$")


@dataclass(frozen=True)
class Seen:
    """What one look found. `process` tells one start from the next; `answered`: this start has given a right answer once."""

    at: str
    state: str
    said: str
    code: str = ""
    release: str = ""
    process: str = ""
    answered: bool = False
    accept_length: Optional[float] = None
    seconds: float = 0.0


@dataclass(frozen=True)
class Process:
    """The server's launcher: its release, which start it is, and for how many seconds it has run."""

    release: str
    start: str
    age: float


def find_process(home: str, proc: str = "/proc") -> Optional[Process]:
    """The oldest process that was started with a launcher of this instance; systemd may be deaf to the service user."""
    found = []
    with open(f"{proc}/uptime", encoding="ascii") as stream:
        uptime = float(stream.read().split()[0])
    for name in os.listdir(proc):
        if not name.isdigit():
            continue
        try:
            with open(f"{proc}/{name}/cmdline", "rb") as stream:
                words = stream.read().decode(errors="replace").split("\0")[:3]
            with open(f"{proc}/{name}/stat", encoding="utf-8", errors="replace") as stream:
                began = int(stream.read().rpartition(")")[2].split()[19])
        except (OSError, ValueError, IndexError):
            continue
        match = next((m for word in words if word.startswith(f"{home}/releases/") for m in [_RELEASE.search(word)] if m), None)
        if match:
            found.append((began, Process(match[1], f"{name}:{began}", uptime - began / os.sysconf("SC_CLK_TCK"))))
    return min(found)[1] if found else None


def read_key() -> Optional[str]:
    """The API key, from systemd's credential."""
    path = os.path.join(os.environ.get("CREDENTIALS_DIRECTORY", ""), "api-key")
    if not os.path.isfile(path):
        return None
    with open(path, encoding="utf-8") as stream:
        return stream.read().strip() or None


def wishes_for(serving: Mapping[str, Any], settings: Mapping[str, Any]) -> Wishes:
    """What to ask of this release."""
    return Wishes(
        served_model_name=str(serving.get("model") or ""),
        question=settings["question"],
        expect=settings["expect"],
        structure_only=bool(serving.get("dummy_weights")),
        speculative=bool(serving.get("speculative")),
        min_accept_length=float(settings["min_accept_length"]),
        request_timeout=float(settings["request_timeout"]),
        timeout=2 * float(settings["request_timeout"]),
    )


def look(settings: Mapping[str, Any], process: Optional[Process], before: Mapping[str, Any], now: str) -> Seen:
    """One look at the accepted release."""
    home = settings["home"]
    stamp = as_mapping(read_record(f"{home}/accepted.json"))
    identifier = str(stamp.get("id") or "")
    if not identifier or process is None:
        return Seen(now, SKIPPED, "nothing is accepted" if not identifier else "the server does not run")
    if process.release != identifier:
        return Seen(now, SKIPPED, f"release {process.release} runs, which is not the accepted one")
    serving = as_mapping(as_mapping(read_record(f"{home}/releases/{identifier}/release.json")).get("serving"))
    known: dict[str, Any] = {"release": identifier, "process": process.start}
    answered = before.get("process") == process.start and bool(before.get("answered"))
    began = time.monotonic()
    try:
        probe = Probe(HttpClient(str(serving.get("url") or ""), read_key(), False), wishes_for(serving, settings), time.monotonic)
        probe.run_light()
    except CodedError as error:
        known.update(code=error.code, answered=answered, seconds=round(time.monotonic() - began, 2))
        if error.code in SILENT and not answered and process.age < float(settings["start_timeout"]):
            return Seen(now, STARTING, f"it has run for {process.age:.0f} s and not answered yet: {error.wrong}", **known)
        accepted = as_mapping(as_mapping(stamp.get("figures")).get("probe")).get("accept_length")
        told = f"; {accepted} when it was accepted" if error.code == "PROBE-013" and accepted else ""
        return Seen(now, WRONG, f"{error.wrong}; found: {error.found}{told}; next: {error.next_step}", **known)
    seconds = round(time.monotonic() - began, 2)
    length = probe.accept_length
    said = f"right answer in {seconds} s" + (f", accept length {length:.2f}" if length is not None else "")
    return Seen(now, RIGHT, said, answered=True, accept_length=length, seconds=seconds, **known)


def write(path: str, seen: Seen) -> None:
    """In one step: who reads it sees the last result or this one."""
    partial = f"{path}.partial"
    with open(partial, "w", encoding="utf-8") as stream:
        stream.write(json.dumps(asdict(seen), indent=2) + "\n")
    os.chmod(partial, 0o644)
    os.replace(partial, path)


def main(argv: Sequence[str]) -> int:
    """1 where the answer is wrong, so that the unit counts as failed."""
    with open(argv[0], encoding="utf-8") as stream:
        settings = json.load(stream)
    path = os.path.join(os.path.dirname(argv[0]), RESULT)
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    seen = look(settings, find_process(settings["home"]), as_mapping(read_record(path)), now)
    key, said = read_key(), " ".join(seen.said.split())
    # The prober names no key, but a server may repeat it.
    seen = replace(seen, said=said.replace(key, "***") if key else said)
    write(path, seen)
    sys.stdout.write(seen.said + "\n")
    return 1 if seen.state == WRONG else 0
