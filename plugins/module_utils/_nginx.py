# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""One server's line in an nginx upstream, and what nginx says of itself. Pure.

nginx without its commercial API is told by a file and a reload. The file of a server holds one ``server`` directive; the site's upstream
includes the files of all. A reload starts new workers and lets the old ones finish their requests; their titles say which is which
(nginx, src/os/unix/ngx_process_cycle.c: "worker process", "worker process is shutting down").
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Optional

READY, DRAIN = "ready", "drain"
WRITE, RELOAD = "write", "reload"
HEADER = "# Kept by the Ansible role inference.sglang.fleet_rollout, which changes the address and `down`; other parameters stay.\n"
_SERVER = re.compile(r"^\s*server\s+([^\s;#]+)((?:\s+[^\s;#]+)*)\s*;\s*$", re.M)
_WORKER = "nginx: worker process"


@dataclass(frozen=True)
class Entry:
    """A ``server`` directive. `parameters`: all but ``down``, as somebody wrote them."""

    address: str
    parameters: tuple[str, ...] = ()
    down: bool = False

    def render(self) -> str:
        """The file's text."""
        return f"{HEADER}{' '.join(['server', self.address, *self.parameters, *(['down'] if self.down else [])])};\n"


def parse_entry(text: Optional[str]) -> Optional[Entry]:
    """None where there is no file, or something else in it."""
    found = _SERVER.findall(text or "")
    if len(found) != 1:
        return None
    address, words = found[0][0], found[0][1].split()
    return Entry(address, tuple(word for word in words if word != "down"), "down" in words)


def entry_for(found: Optional[Entry], host: str, port: int, state: str) -> Entry:
    """What the file must say."""
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return Entry(address, found.parameters if found else (), state == DRAIN)


def steps(found: Optional[str], wanted: str, unfinished: bool) -> tuple[str, ...]:
    """What there is to do. `unfinished`: a run before wrote the file and was not seen to reload."""
    if found != wanted:
        return (WRITE, RELOAD)
    return (RELOAD,) if unfinished else ()


@dataclass(frozen=True)
class Dump:
    """What ``nginx -T`` prints of a configuration that it takes: the files that it read, and where its pid is."""

    files: tuple[str, ...]
    pid_file: str


def parse_dump(dump: str, build: str) -> Dump:
    """`build`: the words of ``nginx -V``, for what the configuration leaves out."""
    built = dict(re.findall(r"--(prefix|pid-path)=(\S+)", build))
    named = re.findall(r"(?:^|[;{}])\s*pid\s+([^;\s]+)\s*;", re.sub(r"#.*", "", dump), re.M)
    pid_file = named[-1].strip("\"'") if named else built.get("pid-path", "/run/nginx.pid")
    files = tuple(re.findall(r"^# configuration file (.+):$", dump, re.M))
    return Dump(files, os.path.join(built.get("prefix", "/"), pid_file))


def active_workers(titles: Mapping[int, str]) -> frozenset[int]:
    """Those that take requests, of {pid: title}."""
    return frozenset(pid for pid, title in titles.items() if title.startswith(_WORKER) and "shutting down" not in title)


def is_reloaded(before: Collection[int], titles: Mapping[int, str]) -> bool:
    """Whether only workers take requests that were started since. `before`: those that did when the reload was asked for."""
    active = active_workers(titles)
    return bool(active) and not active & set(before)
