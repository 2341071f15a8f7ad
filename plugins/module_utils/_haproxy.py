# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What HAProxy knows of a server, and what it must be told. Pure.

Shapes (HAProxy's management guide, "show servers state" version 1 and "show stat"; the same from 1.8 to 3.x):
``show servers state`` is a line with the format's version, a line of column names that begins with ``#``, and a line a server;
``show stat`` is CSV with its column names behind ``#``.
"""

from __future__ import annotations

import csv
import ipaddress
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError

READY, DRAIN = "ready", "drain"
STATE_COMMAND, STAT_COMMAND = "show servers state", "show stat"
# Bits of srv_admin_state: maintenance and drain, each set by the runtime API or inherited; maintenance also where a name does not resolve.
_MAINTENANCE, _DRAINED = 0x01 | 0x02 | 0x20, 0x08 | 0x10
_COLUMNS = ("be_name", "srv_name", "srv_addr", "srv_fqdn", "srv_port", "srv_admin_state")


@dataclass(frozen=True)
class Listed:
    """A `server` line of a backend as the running HAProxy has it. `requests`: in flight and queued for it."""

    backend: str
    name: str
    address: str
    fqdn: str
    port: int
    admin: int
    status: str = ""
    requests: int = 0

    @property
    def label(self) -> str:
        """As the runtime API calls it."""
        return f"{self.backend}/{self.name}"

    @property
    def out(self) -> bool:
        """Whether somebody took it out: it gets no request that is not bound to it."""
        return bool(self.admin & (_MAINTENANCE | _DRAINED))

    @property
    def serves(self) -> bool:
        """Whether it gets requests. Without a check HAProxy takes it for healthy."""
        return not self.out and (self.status.startswith("UP") or self.status == "no check")

    def describe(self) -> str:
        """For a person."""
        return f"{self.label} is {self.status or 'unknown'} with {self.requests} requests"


def parse_state(text: str) -> list[Listed]:
    """The answer to ``show servers state``, or the file that HAProxy reads when it starts."""
    lines = text.splitlines()
    names = next((line[1:].split() for line in lines if line.startswith("#")), [])
    try:
        if lines[0].strip() != "1" or any(name not in names for name in _COLUMNS):
            raise ValueError("another format")
        found = []
        for line in lines[1:]:
            if line.strip() and not line.startswith("#"):
                row = dict(zip(names, line.split()))
                be_name, srv_name, address, fqdn = (row[name] for name in _COLUMNS[:4])
                found.append(Listed(be_name, srv_name, address, fqdn, int(row["srv_port"]), int(row["srv_admin_state"])))
        return found
    except (ValueError, KeyError, IndexError) as error:
        raise _strange(STATE_COMMAND, text) from error


def parse_listed(state: str, stat: str) -> list[Listed]:
    """Both answers put together."""
    rows = list(csv.reader(stat.lstrip("# ").splitlines()))
    try:
        if not {"pxname", "svname", "status", "scur", "qcur"}.issubset(rows[0]):
            raise ValueError("another format")
        found = [dict(zip(rows[0], row)) for row in rows[1:] if row]
        figures = {
            (row["pxname"], row["svname"]): (row["status"], int(row["scur"] or 0) + int(row["qcur"] or 0))
            for row in found
            if row["svname"] not in ("FRONTEND", "BACKEND")
        }
        return [
            Listed(one.backend, one.name, one.address, one.fqdn, one.port, one.admin, *figures.get((one.backend, one.name), ("", 0)))
            for one in parse_state(state)
        ]
    except (ValueError, KeyError, IndexError, csv.Error) as error:
        raise _strange(STAT_COMMAND, stat) from error


def _strange(command: str, text: str) -> SglangError:
    refused = re.search(r"permission denied", text, re.I)
    return SglangError(
        f"HAProxy does not answer to '{command}' as it should",
        found=text.strip()[:200] or "nothing",
        wanted="the servers of every backend",
        next_step="give the socket its rights: stats socket PATH level admin"
        if refused
        else "look at what listens on that socket; fleet_rollout_haproxy_socket names HAProxy's",
    )


def _plain(address: str) -> str:
    """One spelling of an address."""
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        return address.lower().rstrip(".")


def at_address(listed: Iterable[Listed], addresses: Collection[str], port: int) -> list[Listed]:
    """Every `server` line that leads to this server, whatever backends they stand in. `addresses`: its name and what that resolves to."""
    wanted = {_plain(address) for address in addresses}
    return [one for one in listed if one.port == port and wanted & {_plain(one.address), _plain(one.fqdn)}]


def unknown_server(addresses: Sequence[str], port: int, listed: Sequence[Listed]) -> SglangError:
    """Nothing leads there: whoever configures HAProxy must name it."""
    there = ", ".join(f"{one.label} {one.address}:{one.port}" for one in listed[:8])
    return SglangError(
        "HAProxy knows no such server",
        found=f"no server line with {' or '.join(addresses)} and port {port}; it has {there or 'none at all'}",
        wanted="a server line for every host of the fleet",
        next_step="add it to HAProxy's configuration; fleet_rollout_address names the address that stands there",
    )


def commands(found: Iterable[Listed], state: str) -> tuple[str, ...]:
    """What to say so that all are in, or out. One in maintenance is out already, and more so."""
    return tuple(f"set server {one.label} state {state}" for one in found if one.out != (state == DRAIN))


def recorded(text: str, found: Iterable[Listed]) -> bool:
    """Whether the file that outlives HAProxy says the same of these servers being in or out; the others are other runs' concern."""
    try:
        kept = {one.label: one.admin for one in parse_state(text)}
    except SglangError:
        return False
    return all(kept.get(one.label) == one.admin for one in found)
