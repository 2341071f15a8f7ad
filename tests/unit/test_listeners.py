# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Who listens on a port: recorded /proc files of a systemd host, and this very process on loopback."""

from __future__ import annotations

import os
import shutil
import socket
from datetime import datetime, timezone
from pathlib import Path

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._listeners import (
    Proc,
    parse_address,
    parse_listening,
    parse_stat,
    unit_of_cgroup,
)

DATA = Path(__file__).resolve().parents[1] / "data/proc"


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """The recorded /proc, with the links to sockets that a repository cannot hold."""
    root = tmp_path / "proc"
    shutil.copytree(DATA, root)
    for pid, inode in (("3424", 101418), ("3426", 100534)):
        (root / pid / "fd").mkdir()
        (root / pid / "fd/0").symlink_to("/dev/null")
        (root / pid / "fd/3").symlink_to(f"socket:[{inode}]")
    return root


@pytest.mark.parametrize(
    ("text", "address", "port"),
    [
        ("0100007F:7530", "127.0.0.1", 30000),
        ("00000000:0016", "0.0.0.0", 22),
        ("5600610A:0016", "10.97.0.86", 22),
        ("00000000000000000000000001000000:7531", "::1", 30001),
        ("B80D01200000000067452301EFCDAB89:01BB", "2001:db8::123:4567:89ab:cdef", 443),
    ],
)
def test_addresses(text: str, address: str, port: int) -> None:
    assert parse_address(text) == (address, port)


def test_only_listening_sockets_count() -> None:
    sockets = parse_listening((DATA / "net/tcp").read_text())
    assert [(s.port, s.inode, s.uid) for s in sockets] == [(22, 77180, 0), (30000, 101418, 999)]


def test_a_recorded_listener_is_named(recorded: Path) -> None:
    (listener,) = Proc(str(recorded), ticks_per_second=100).listeners([30000])
    assert (listener.pid, listener.address, listener.unit) == (3424, "0.0.0.0", "sglang-default.service")
    assert listener.command == "/opt/sglang/ml-env/bin/python -m sglang.launch_server --port 30000"
    # btime 1796005890 + 191143 ticks of 10 ms
    assert listener.since == datetime.fromtimestamp(1796005890 + 1911, tz=timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_a_recorded_listener_over_ipv6_shows_no_key(recorded: Path) -> None:
    (listener,) = Proc(str(recorded), ticks_per_second=100).listeners([30001])
    assert (listener.address, listener.unit) == ("::1", "session-19.scope")
    assert listener.command == "python3 -m sglang.launch_server --api-key *** --port 30001"
    assert "not-to-be-shown" not in listener.describe() + repr(listener)


def test_a_holder_that_cannot_be_seen_is_said_so(recorded: Path) -> None:
    shutil.rmtree(recorded / "3424/fd")
    (listener,) = Proc(str(recorded)).listeners([30000])
    assert listener.pid == 0
    assert "cannot be seen from here" in listener.describe()


def test_units_with_processes(recorded: Path) -> None:
    assert Proc(str(recorded)).units() == ("session-19.scope", "sglang-default.service")


def test_a_vanished_process_is_none(recorded: Path) -> None:
    assert Proc(str(recorded)).process(99999) is None


def test_a_command_with_brackets_does_not_shift_the_fields() -> None:
    assert parse_stat((DATA / "3426/stat").read_text()) == (3424, 191244)


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("0::/system.slice/sglang-default.service\n", "sglang-default.service"),
        ("0::/system.slice/sglang-default.service/payload\n", "sglang-default.service"),
        ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-r1.scope\n", "run-r1.scope"),
        ("12:memory:/x.service\n1:name=systemd:/system.slice/ssh.service\n", "ssh.service"),
        ("9:name=systemd:/\n4:memory:/\n0::/user.slice/user-0.slice/session-19.scope\n", "session-19.scope"),
        ("4:memory:/system.slice/x.service\n0::/\n", ""),
        ("", ""),
    ],
)
def test_units_of_cgroups(text: str, unit: str) -> None:
    assert unit_of_cgroup(text) == unit


@pytest.mark.parametrize(("family", "address"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_a_real_listener_is_found(family: socket.AddressFamily, address: str) -> None:
    try:
        server = socket.create_server((address, 0), family=family)
    except OSError:
        pytest.skip(f"no {address} on this machine")
    with server:
        port = server.getsockname()[1]
        (listener,) = Proc().listeners([port])
        assert (listener.pid, listener.address) == (os.getpid(), address)
        assert listener.command.startswith(Path("/proc/self/cmdline").read_text().split("\0")[0])
        began = datetime.strptime(listener.since, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
        assert began <= datetime.now(timezone.utc)
    assert Proc().listeners([port]) == []


def test_a_connection_to_a_port_is_no_listener() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        assert Proc().listeners([client.getsockname()[1]]) == []


def test_ancestors_lead_to_the_parent() -> None:
    assert os.getppid() in Proc().ancestors(os.getpid()) or os.getppid() <= 1
