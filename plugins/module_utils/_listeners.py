# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Who listens on a port, and what a process is: parsed from /proc.

The parsing is pure; ``Proc`` reads the files and takes another root, so recorded ones serve as tests.
"""

from __future__ import annotations

import ipaddress
import os
import pwd
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from typing import Optional

from ansible_collections.inference.sglang.plugins.module_utils._scrub import command_line

_LISTEN = "0A"  # include/net/tcp_states.h: TCP_LISTEN
_SOCKET_LINK = re.compile(r"socket:\[(\d+)\]")
_UNIT = re.compile(r"[^/]+\.(?:service|scope|socket)")


@dataclass(frozen=True)
class ListeningSocket:
    """One row of /proc/net/tcp or tcp6 in state LISTEN."""

    address: str
    port: int
    inode: int
    uid: int


@dataclass(frozen=True)
class ProcessFacts:
    """What a person needs to know a process again. The command line is scrubbed of secrets."""

    pid: int
    parent: int
    user: str
    command: str
    since: str
    unit: str
    ancestors: tuple[int, ...]


@dataclass(frozen=True)
class Listener:
    """A listening socket with the process that holds it; ``pid`` 0 when that cannot be seen."""

    port: int
    address: str
    pid: int
    user: str
    command: str
    since: str
    unit: str

    def describe(self) -> str:
        """One line for a message."""
        if not self.pid:
            return f"port {self.port} (on {self.address}): held by a process of user {self.user} that cannot be seen from here"
        unit = f", unit {self.unit}" if self.unit else ", no systemd unit"
        return f"port {self.port} (on {self.address}): pid {self.pid} of user {self.user} since {self.since}{unit}: {self.command}"

    def as_result(self) -> dict[str, object]:
        return asdict(self)


def parse_address(text: str) -> tuple[str, int]:
    """``0100007F:7530`` → ``127.0.0.1``, 30000. Each 32-bit group is printed in the machine's byte order, little-endian here."""
    packed, _colon, port = text.partition(":")
    raw = bytes.fromhex(packed)
    groups = (raw[i : i + 4][::-1] for i in range(0, len(raw), 4))
    return str(ipaddress.ip_address(b"".join(groups))), int(port, 16)


def parse_listening(table: str) -> list[ListeningSocket]:
    """The listening sockets of the text of /proc/net/tcp or /proc/net/tcp6."""
    sockets = []
    for line in table.splitlines()[1:]:
        fields = line.split()
        if len(fields) < 10 or fields[3] != _LISTEN:
            continue
        address, port = parse_address(fields[1])
        sockets.append(ListeningSocket(address=address, port=port, inode=int(fields[9]), uid=int(fields[7])))
    return sockets


def unit_of_cgroup(text: str) -> str:
    """The innermost unit of a /proc/PID/cgroup: of ``0::/system.slice/sglang-default.service`` the service.

    Slices are no units here, and a process that somebody started in an SSH session is in a ``session-3.scope``.
    """
    for line in text.splitlines():
        hierarchy, _controllers, path = (line.split(":", 2) + ["", ""])[:3]
        # cgroup v2, or systemd's own tree of v1
        if hierarchy != "0" and _controllers != "name=systemd":
            continue
        units = _UNIT.findall(path)
        if units:
            return str(units[-1])
    return ""


def parse_stat(text: str) -> tuple[int, int]:
    """Parent and start time (clock ticks after boot) of a /proc/PID/stat. The command in it may hold spaces and brackets."""
    after = text.rpartition(")")[2].split()
    return int(after[1]), int(after[19])


def parse_boot_time(stat: str) -> int:
    """``btime`` of /proc/stat: seconds since the epoch."""
    for line in stat.splitlines():
        if line.startswith("btime "):
            return int(line.split()[1])
    return 0


def since_text(boot_time: int, ticks: int, ticks_per_second: int) -> str:
    """When a process began, in UTC."""
    return datetime.fromtimestamp(boot_time + ticks // ticks_per_second, tz=timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


class Proc:
    """Reads a /proc. What vanishes or may not be read while it looks is skipped: processes come and go."""

    def __init__(self, root: str = "/proc", ticks_per_second: Optional[int] = None) -> None:
        self._root = root
        self._ticks = ticks_per_second or os.sysconf("SC_CLK_TCK")

    def _read(self, *parts: str) -> str:
        try:
            with open(os.path.join(self._root, *parts), encoding="utf-8", errors="replace") as stream:
                return stream.read()
        except OSError:
            return ""

    def listening(self) -> list[ListeningSocket]:
        return parse_listening(self._read("net", "tcp")) + parse_listening(self._read("net", "tcp6"))

    def pids(self) -> list[int]:
        return sorted(int(name) for name in os.listdir(self._root) if name.isdigit())

    def holders(self, inodes: Iterable[int]) -> dict[int, int]:
        """Socket inode → the lowest pid that holds it, for those that this user may see."""
        wanted = set(inodes)
        found: dict[int, int] = {}
        for pid in self.pids():
            directory = os.path.join(self._root, str(pid), "fd")
            try:
                names = os.listdir(directory)
            except OSError:
                continue
            for name in names:
                try:
                    match = _SOCKET_LINK.fullmatch(os.readlink(os.path.join(directory, name)))
                except OSError:
                    continue
                if match and int(match[1]) in wanted:
                    found.setdefault(int(match[1]), pid)
        return found

    def ancestors(self, pid: int) -> tuple[int, ...]:
        """The parent, its parent … without pid 1."""
        chain: list[int] = []
        current = pid
        while len(chain) < 100:  # a reused pid must not make this a circle
            stat = self._read(str(current), "stat")
            if not stat:
                break
            current = parse_stat(stat)[0]
            if current <= 1:
                break
            chain.append(current)
        return tuple(chain)

    def process(self, pid: int) -> Optional[ProcessFacts]:
        """None when there is no such process (any more, or in this pid namespace)."""
        stat = self._read(str(pid), "stat")
        if not stat:
            return None
        parent, ticks = parse_stat(stat)
        arguments = [a for a in self._read(str(pid), "cmdline").split("\0") if a]
        try:
            uid = os.stat(os.path.join(self._root, str(pid))).st_uid
        except OSError:
            return None
        return ProcessFacts(
            pid=pid,
            parent=parent,
            user=_user_name(uid),
            command=command_line(arguments) or f"[{self._read(str(pid), 'comm').strip()}]",
            since=since_text(parse_boot_time(self._read("stat")), ticks, self._ticks),
            unit=unit_of_cgroup(self._read(str(pid), "cgroup")),
            ancestors=self.ancestors(pid),
        )

    def units(self) -> tuple[str, ...]:
        """Every systemd unit that has a process."""
        return tuple(sorted({unit_of_cgroup(self._read(str(pid), "cgroup")) for pid in self.pids()} - {""}))

    def listeners(self, ports: Sequence[int]) -> list[Listener]:
        """Every listener on one of these ports, whatever the address."""
        sockets = [s for s in self.listening() if s.port in set(ports)]
        holders = self.holders(s.inode for s in sockets)
        found = []
        for socket in sockets:
            pid = holders.get(socket.inode, 0)
            process = self.process(pid) if pid else None
            found.append(
                Listener(
                    port=socket.port,
                    address=socket.address,
                    pid=process.pid if process else 0,
                    user=process.user if process else _user_name(socket.uid),
                    command=process.command if process else "",
                    since=process.since if process else "",
                    unit=process.unit if process else "",
                )
            )
        return found
