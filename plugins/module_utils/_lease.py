# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""One change of an instance at a time: who holds it, and when another run may take it over. Pure but for the lock's file.

The lease lies on the host, as two controllers know nothing of each other. A run that was killed cannot give it back: its own
controller sees that the process is gone and takes it over; any other waits until the longest change would have ended.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError

LEASE_FILE = "lease.json"


@dataclass(frozen=True)
class Run:
    """One run of Ansible. `place` tells where its process number means something: a boot, and a container on it."""

    user: str
    host: str
    place: str
    pid: int
    started: str

    def describe(self) -> str:
        """For a message."""
        return f"{self.user} on {self.host}, process {self.pid}"


@dataclass(frozen=True)
class Lease:
    """Who holds the instance, by the host's own clock (seconds since the epoch)."""

    run: Run
    since: float
    until: float


def utc(seconds: float) -> str:
    """A time for a message."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def parse_lease(text: str) -> Optional[Lease]:
    """A lease file's content; a damaged one holds nothing shut."""
    try:
        data = json.loads(text)
        run = Run(**data["run"])
        return Lease(run=run, since=float(data["since"]), until=float(data["until"]))
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        return None


def may_take(current: Optional[Lease], run: Run, now: float, gone: Optional[Run] = None) -> bool:
    """Whether a run may take the lease; `gone` is a run that its controller knows to have ended."""
    return current is None or current.run in (run, gone) or now >= current.until or now < current.since - 86400


def refusal(lease: Lease, path: str, what: str = "this instance") -> SglangError:
    """Why this run must wait."""
    return SglangError(
        f"another run is changing {what}",
        found=f"{lease.run.describe()}, since {utc(lease.since)}",
        wanted="one change at a time",
        next_step=f"wait for that run; if it was killed, the same controller can go on at once, another one from {utc(lease.until)}, "
        f"or when {path} is removed",
    )


@contextmanager
def _locked(path: str) -> Iterator[int]:
    """The lease's file, alone; a file that was removed meanwhile is opened anew."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            try:
                same = os.path.samestat(os.fstat(descriptor), os.stat(path))
            except FileNotFoundError:
                same = False
            if same:
                yield descriptor
                return
        finally:
            os.close(descriptor)


def _read(descriptor: int) -> Optional[Lease]:
    return parse_lease(os.pread(descriptor, 65536, 0).decode(errors="replace"))


def take(home: str, run: Run, seconds: float, gone: Optional[Run] = None) -> Optional[Lease]:
    """Take the lease for so many seconds; None when it was taken, else the one that stands in the way."""
    before = os.umask(0o022)
    try:
        os.makedirs(home, mode=0o755, exist_ok=True)
    finally:
        os.umask(before)
    with _locked(os.path.join(home, LEASE_FILE)) as descriptor:
        current, now = _read(descriptor), time.time()
        if not may_take(current, run, now, gone):
            return current
        text = json.dumps({"run": asdict(run), "since": now, "until": now + seconds}) + "\n"
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text.encode(), 0)
    return None


def give_back(home: str, run: Run) -> None:
    """Give back the run's own lease; what another one took over meanwhile stays."""
    path = os.path.join(home, LEASE_FILE)
    if not os.path.exists(path):
        return
    with _locked(path) as descriptor:
        current = _read(descriptor)
        if current is None or current.run == run:
            os.unlink(path)
    with suppress(OSError):
        os.rmdir(home)  # a run that was refused at once leaves nothing


def _standing(lease: Optional[Lease]) -> Optional[Lease]:
    nobody = Run(user="", host="", place="", pid=0, started="")
    return None if may_take(lease, nobody, time.time()) else lease


def held_now(home: str) -> Optional[Lease]:
    """The lease that stands now; nothing is written for this look."""
    try:
        with open(os.path.join(home, LEASE_FILE), encoding="utf-8", errors="replace") as handle:
            return _standing(parse_lease(handle.read(65536)))
    except FileNotFoundError:
        return None


@contextmanager
def paused(home: str) -> Iterator[Optional[Lease]]:
    """Nobody takes the lease or gives it back meanwhile; yields the one that stands."""
    path = os.path.join(home, LEASE_FILE)
    with _locked(path) as descriptor:
        current = _read(descriptor)
        try:
            yield _standing(current)
        finally:
            if current is None:
                os.unlink(path)


def run_of(values: Optional[dict[str, Any]]) -> Optional[Run]:
    """A module's option as a run."""
    if not values:
        return None
    try:
        return Run(
            user=str(values["user"]),
            host=str(values["host"]),
            place=str(values["place"]),
            pid=int(values["pid"]),
            started=str(values["started"]),
        )
    except (KeyError, ValueError, TypeError) as error:
        raise SglangError("not a description of a run", found=str(sorted(values)), wanted="user, host, place, pid and started") from error
