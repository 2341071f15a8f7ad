# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What HAProxy is told, against a small one with the habits of the real one (tests/play/test_balancers.py has that)."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Optional

import pytest
from ansible_collections.inference.sglang.plugins.module_utils import _balancer_host
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._haproxy import at_address, commands, parse_listed, parse_state, recorded
from ansible_collections.inference.sglang.plugins.modules import haproxy_server

COLUMNS = (
    "be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight srv_time_since_last_change "
    "srv_check_status srv_check_result srv_check_health srv_check_state srv_agent_state bk_f_forced_id srv_f_forced_id srv_fqdn srv_port "
    "srvrecord"
)


def state_of(*servers: tuple[str, str, str, int, int], fqdn: str = "-") -> str:
    """What HAProxy 2.6 answers; (backend, server, address, port, admin state)."""
    rows = [f"3 {be} 1 {name} {address} 2 {admin} 1 1 4 6 3 4 6 0 0 0 {fqdn} {port} -" for be, name, address, port, admin in servers]
    return "\n".join(["1", f"# {COLUMNS}", *rows, "", ""])


def stat_of(*servers: tuple[str, str, int, str]) -> str:
    """(backend, server, requests, status)."""
    rows = [f"{be},{name},0,0,{requests},1,,5,{status}," for be, name, requests, status in servers]
    return "\n".join(
        ["# pxname,svname,qcur,qmax,scur,smax,slim,stot,status,", "in,FRONTEND,,,1,1,,5,OPEN,", *rows, "chat,BACKEND,0,0,1,1,,5,UP,", ""]
    )


# ----- pure -----
def test_a_server_is_found_by_its_address_in_every_backend() -> None:
    listed = parse_state(
        state_of(("chat", "a", "192.0.2.1", 30000, 0), ("admin", "a", "192.0.2.1", 30000, 0), ("chat", "b", "192.0.2.2", 30000, 0))
    )
    assert [one.label for one in at_address(listed, ["gpu1", "192.0.2.1"], 30000)] == ["chat/a", "admin/a"]
    assert at_address(listed, ["192.0.2.1"], 30001) == []
    assert at_address(listed, ["192.0.2.11"], 30000) == []
    long = parse_state(state_of(("chat", "six", "2001:db8:0:0::1", 30000, 0)))
    assert [one.name for one in at_address(long, ["2001:db8::1"], 30000)] == ["six"]
    named = parse_state(state_of(("chat", "n", "-", 30000, 0), fqdn="GPU7.example."))
    assert [one.name for one in at_address(named, ["gpu7.example"], 30000)] == ["n"]


@pytest.mark.parametrize(
    ("admin", "out"), [(0, False), (1, True), (2, True), (4, False), (5, True), (8, True), (16, True), (32, True), (64, False)]
)
def test_who_is_out_and_what_that_needs(admin: int, out: bool) -> None:
    (one,) = parse_state(state_of(("chat", "a", "192.0.2.1", 30000, admin)))
    assert one.out is out
    assert commands([one], "drain") == (() if out else ("set server chat/a state drain",))
    assert commands([one], "ready") == (("set server chat/a state ready",) if out else ())


@pytest.mark.parametrize(
    ("status", "admin", "serves"),
    [
        ("UP", 0, True),
        ("UP 1/2", 0, True),
        ("no check", 0, True),
        ("DOWN", 0, False),
        ("NOLB", 0, False),
        ("DRAIN", 8, False),
        ("UP", 8, False),
    ],
)
def test_who_gets_requests(status: str, admin: int, serves: bool) -> None:
    (one,) = parse_listed(state_of(("chat", "a", "192.0.2.1", 1, admin)), stat_of(("chat", "a", 3, status)))
    assert one.serves is serves
    assert one.requests == 3


def test_the_file_says_the_same_whatever_else_changed_in_it() -> None:
    before = state_of(("chat", "a", "192.0.2.1", 1, 0), ("chat", "b", "192.0.2.2", 1, 8))
    assert recorded(before.replace(" 4 6 3 ", " 999 6 2 "), parse_state(before))
    assert not recorded(before, parse_state(state_of(("chat", "a", "192.0.2.1", 1, 8), ("chat", "b", "192.0.2.2", 1, 8))))
    assert not recorded(before, parse_state(state_of(("chat", "c", "192.0.2.3", 1, 0))))
    # Another server that another run is about to write down is no difference of this one.
    assert recorded(before, parse_state(state_of(("chat", "a", "192.0.2.1", 1, 0))))


STRANGE = [
    "",
    "1",
    "2\n# x\n",
    "Permission denied\n",
    "Unknown command.",
    "1\n# be_name srv_name\na b\n",
    "\0",
    state_of(("a", "b", "c", 1, 0)).replace(" 1 -", " x -"),
]


@pytest.mark.parametrize("text", STRANGE)
def test_answers_that_are_none(text: str) -> None:
    with pytest.raises(SglangError) as caught:
        parse_state(text)
    assert caught.value.next_step
    assert not recorded(text, [])
    good = state_of(("chat", "a", "192.0.2.1", 1, 0))
    with pytest.raises(SglangError):
        parse_listed(good, text)


# ----- the module -----
class FakeHaproxy:
    """One server, one backend; a stats socket, a connection for each command."""

    def __init__(self, path: Path) -> None:
        self.admin, self.status, self.requests = 0, "UP", [0]
        self.refusal = ""
        self.told: list[str] = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                connection.sendall(self.answer(connection.makefile().readline().strip()).encode())

    def answer(self, command: str) -> str:
        if command == "show servers state":
            return state_of(("chat", "a", "127.0.0.1", 30000, self.admin))
        if command == "show stat":
            status = "DRAIN" if self.admin else self.status
            return stat_of(("chat", "a", self.requests.pop(0) if len(self.requests) > 1 else self.requests[0], status))
        if self.refusal:
            return self.refusal
        self.told.append(command)
        self.admin = 8 if command.endswith("drain") else 0
        return "\n"


@pytest.fixture
def haproxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHaproxy]:
    monkeypatch.setattr(haproxy_server, "wait_until_healthy", lambda *_: None)
    monkeypatch.setattr(_balancer_host, "POLL_SECONDS", 0.01)
    made = FakeHaproxy(tmp_path / "sock")
    yield made
    made.listener.close()


def haproxy_work(
    home: Path, url: str = "http://127.0.0.1:30000", state_file: Optional[str] = None, timeout: int = 5
) -> haproxy_server.Work:
    return haproxy_server.Work({"socket": str(home / "sock"), "url": url, "state_file": state_file, "timeout": timeout})


def test_out_and_in_and_nothing_the_second_time(haproxy: FakeHaproxy, tmp_path: Path) -> None:
    kept = tmp_path / "kept/state"
    out = {"changed": True, "servers": ["chat/a"], "steps": ["set server chat/a state drain", "keep"]}
    assert haproxy_work(tmp_path, state_file=str(kept)).to("drain", True) == out
    assert haproxy.told == [] and not kept.exists()
    assert haproxy_work(tmp_path, "http://localhost:30000", str(kept)).to("drain", False) == out
    assert parse_state(kept.read_text())[0].out
    assert haproxy_work(tmp_path, state_file=str(kept)).to("drain", False)["changed"] is False
    # A run that was killed between both is finished by the next one.
    kept.unlink()
    assert haproxy_work(tmp_path, state_file=str(kept)).to("drain", False)["steps"] == ["keep"]
    assert haproxy_work(tmp_path, state_file=str(kept)).to("ready", False)["steps"] == ["set server chat/a state ready", "keep"]
    assert not parse_state(kept.read_text())[0].out
    assert haproxy_work(tmp_path).to("ready", False)["changed"] is False


def test_it_waits_for_the_last_request_and_for_health(haproxy: FakeHaproxy, tmp_path: Path) -> None:
    haproxy.requests = [2, 2, 1, 0]
    work = haproxy_work(tmp_path)
    work.to("drain", False)
    assert work.wait_until_idle(False) == ""
    haproxy.requests = [1]
    with pytest.raises(SglangError, match="still has requests"):
        haproxy_work(tmp_path, timeout=0).wait_until_idle(False)
    assert "chat/a is DRAIN with 1 requests" in haproxy_work(tmp_path, timeout=0).wait_until_idle(True)
    haproxy.status = "DOWN"
    with pytest.raises(SglangError, match="does not take the server for healthy"):
        haproxy_work(tmp_path, timeout=0).to("ready", False)


def test_what_haproxy_does_not_do_is_said(haproxy: FakeHaproxy, tmp_path: Path) -> None:
    with pytest.raises(SglangError, match="knows no such server") as caught:
        haproxy_work(tmp_path, "http://127.0.0.1:30001").to("drain", False)
    assert "chat/a 127.0.0.1:30000" in caught.value.found
    haproxy.refusal = "Permission denied\n"
    with pytest.raises(SglangError, match="refused a command") as caught:
        haproxy_work(tmp_path).to("drain", False)
    assert "level admin" in caught.value.next_step
    haproxy.listener.close()
    (tmp_path / "sock").unlink()
    with pytest.raises(SglangError, match="cannot be told"):
        haproxy_work(tmp_path).to("drain", False)
