# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""How far a rollout came on an instance: ``rollout.json`` beside its stamps. Pure but for the file."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._release_files import write_atomic
from ansible_collections.inference.sglang.plugins.module_utils._text_files import read_text

FORMAT = 1
ROLLOUT_FILE = "rollout.json"
# In this order; the last two end a rollout on a host in place of `rejoined`.
PHASES = ("admitted", "drained", "switched", "rejoined", "failed", "rolled_back")


@dataclass(frozen=True)
class Record:
    """The last rollout of one instance. `times`: phase → UTC; of an earlier rollout only what still holds is kept."""

    rollout: str = ""
    release: str = ""  # the release that is wanted
    origin: str = ""  # the one that was accepted before; `from` in the file
    phase: str = ""
    verdict: str = ""
    code: str = ""
    at: str = ""
    times: Mapping[str, str] = field(default_factory=dict)

    @property
    def out(self) -> bool:
        """Whether the server was taken out of its balancer and has not been put back since."""
        drained = self.times.get("drained", "")
        back = max(self.times.get("rejoined", ""), self.times.get("rolled_back", ""))
        return bool(drained) and back < drained

    def shown(self) -> dict[str, Any]:
        """As the file and a module's result have it."""
        values = asdict(self)
        values["from"] = values.pop("origin")
        return {"format": FORMAT, **values}


def utc(seconds: Optional[float] = None) -> str:
    """Now, or a time in seconds since the epoch; to the microsecond, so that phases keep their order."""
    moment = time.time() if seconds is None else seconds
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment)) + f".{int(moment % 1 * 1e6):06d}Z"


def parse_record(text: Optional[str], path: str) -> Record:
    """The file's content; an empty record where there is none. One that cannot be read is an error: the last state must be known."""
    if text is None:
        return Record()
    try:
        data = json.loads(text)
        if data["format"] != FORMAT or data["phase"] not in PHASES:
            raise ValueError(f"format {data['format']!r}, phase {data['phase']!r}")
        values = {name: data[name] for name in ("rollout", "release", "phase", "verdict", "code", "at")}
        values["origin"] = data["from"]
        times = data["times"]
        if not all(isinstance(value, str) for value in (*values.values(), *times.keys(), *times.values())):
            raise TypeError("a value that is no text")
        return Record(times=dict(times), **values)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SglangError(
            "the record of the last rollout cannot be read",
            found=f"{path}: {error}",
            wanted=f"a record of format {FORMAT}, as this collection writes it",
            next_step="see with playbooks/status.yml whether the server serves and your balancer sends it requests; then remove that file",
        ) from error


def advance(record: Record, phase: str, now: str, values: Mapping[str, str]) -> Record:
    """The record one phase further. `values`: rollout, release, from, verdict and code, as far as they are known."""
    if phase not in PHASES:
        raise SglangError("no such phase of a rollout", found=repr(phase), wanted=", ".join(PHASES))
    kept = record
    if values.get("rollout", record.rollout) != record.rollout:
        # Another rollout begins; a server that nobody has put back stays known as such.
        kept = Record(times={"drained": record.times["drained"]} if record.out else {})
    known = {("origin" if name == "from" else name): value for name, value in values.items() if value}
    return replace(kept, **{"verdict": "", "code": "", **known}, phase=phase, at=now, times={**kept.times, phase: now})


def read_rollout(home: str) -> Record:
    """The record of the instance whose directory this is."""
    path = os.path.join(home, ROLLOUT_FILE)
    return parse_record(read_text(path), path)


def write_rollout(home: str, record: Record) -> None:
    """In one step; the instance's directory may not be there yet."""
    before = os.umask(0o022)
    try:
        os.makedirs(home, mode=0o755, exist_ok=True)
    finally:
        os.umask(before)
    write_atomic(os.path.join(home, ROLLOUT_FILE), json.dumps(record.shown(), indent=2) + "\n")
