# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What nginx and HAProxy are told, against small ones with the habits of the real ones (tests/play/test_balancers.py has those)."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

import pytest
from ansible_collections.inference.sglang.plugins.module_utils import _balancer_host
from ansible_collections.inference.sglang.plugins.module_utils._balancer_host import locked, split_url
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._haproxy import at_address, commands, parse_listed, parse_state, recorded
from ansible_collections.inference.sglang.plugins.module_utils._nginx import (
    HEADER,
    Entry,
    active_workers,
    entry_for,
    is_reloaded,
    parse_dump,
    parse_entry,
    steps,
)
from ansible_collections.inference.sglang.plugins.modules import haproxy_server, nginx_server

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


# ----- HAProxy: pure -----
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


# ----- HAProxy: the module -----
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


# ----- nginx: pure -----
@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("server 192.0.2.1:30000;", Entry("192.0.2.1:30000")),
        ("# x\n  server [::1]:1 weight=2 down max_conns=8 ;\n", Entry("[::1]:1", ("weight=2", "max_conns=8"), True)),
        ("server a:1;\nserver b:1;\n", None),
        ("", None),
        (None, None),
        ("nothing of that kind", None),
        ("server a:1", None),
    ],
)
def test_a_servers_file(text: Optional[str], entry: Optional[Entry]) -> None:
    assert parse_entry(text) == entry
    if entry:
        assert parse_entry(entry.render()) == entry


def test_the_address_and_down_change_and_nothing_else() -> None:
    found = parse_entry("server 192.0.2.1:30000 weight=2 max_fails=0;")
    assert entry_for(found, "192.0.2.9", 30001, "drain").render() == HEADER + "server 192.0.2.9:30001 weight=2 max_fails=0 down;\n"
    assert (
        entry_for(parse_entry(entry_for(found, "a", 1, "drain").render()), "a", 1, "ready")
        .render()
        .endswith("server a:1 weight=2 max_fails=0;\n")
    )
    assert entry_for(None, "2001:db8::1", 30000, "ready").address == "[2001:db8::1]:30000"


def test_what_there_is_to_do() -> None:
    assert steps("a", "a", False) == ()
    assert steps("a", "b", False) == steps("a", "b", True) == steps(None, "b", False) == ("write", "reload")
    assert steps("a", "a", True) == ("reload",)


def test_what_nginx_reads() -> None:
    dump = "# configuration file /etc/nginx/nginx.conf:\n#pid /no;\npid /run/it.pid;\n# configuration file /etc/nginx/sglang/a.conf:\n"
    build = "nginx version: nginx/1.22.1\nconfigure arguments: --prefix=/usr/share/nginx --pid-path=/run/nginx.pid"
    read = parse_dump(dump, build)
    assert read.files == ("/etc/nginx/nginx.conf", "/etc/nginx/sglang/a.conf") and read.pid_file == "/run/it.pid"
    assert parse_dump("daemon on; pid '/run/that.pid'; user x;", build).pid_file == "/run/that.pid"
    assert parse_dump("", build).pid_file == "/run/nginx.pid"
    assert parse_dump("pid logs/nginx.pid;", build).pid_file == "/usr/share/nginx/logs/nginx.pid"


def test_workers_before_and_after() -> None:
    titles = {1: "nginx: worker process", 2: "nginx: worker process is shutting down", 3: "nginx: cache manager process"}
    assert active_workers(titles) == {1}
    assert not is_reloaded({1}, titles)
    assert not is_reloaded({1}, {1: "nginx: worker process", 4: "nginx: worker process"})
    assert not is_reloaded({1}, {1: "nginx: worker process is shutting down"})
    assert is_reloaded({1}, {1: "nginx: worker process is shutting down", 4: "nginx: worker process"})
    assert is_reloaded({1}, {4: "nginx: worker process"})


# ----- nginx: the module -----
class FakeNginx:
    """Reads the files of a folder, and starts workers when it is told to, unless it is stuck."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.refusal, self.include = folder, "", True
        self.workers, self.stuck, self.reloads, self.runs = [101], False, 0, True
        self.loaded: dict[str, str] = {}

    def run(self, options: list[str]) -> tuple[int, str, str]:
        if options == ["-V"]:
            return 0, "", "--pid-path=/run/nginx.pid"
        if self.refusal:
            return 1, "", self.refusal
        return 0, "".join(f"# configuration file {path}:\n" for path in sorted(self.folder.glob("*.conf")) if self.include), ""

    def titles(self, _master: int) -> dict[int, str]:
        return dict.fromkeys(self.workers, "nginx: worker process")

    def kill(self, _pid: int, number: int) -> None:
        assert number == signal.SIGHUP
        self.reloads += 1
        if not self.stuck:
            self.workers = [self.workers[0] + 1]
            self.loaded = {path.stem: path.read_text() for path in self.folder.glob("*.conf")}


@pytest.fixture
def nginx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeNginx:
    made = FakeNginx(tmp_path / "sglang")
    monkeypatch.setattr(nginx_server, "wait_until_healthy", lambda *_: None)
    monkeypatch.setattr(nginx_server, "titles_below", made.titles)
    monkeypatch.setattr(nginx_server, "master_of", lambda _: 100 if made.runs else None)
    monkeypatch.setattr(nginx_server.os, "kill", made.kill)
    monkeypatch.setattr(_balancer_host, "POLL_SECONDS", 0.01)
    return made


def nginx_work(nginx: FakeNginx, state: str, **more: Any) -> nginx_server.Work:
    params = {"directory": str(nginx.folder), "name": "gpu1", "url": "http://192.0.2.1:30000", "state": state, "timeout": 1, **more}
    return nginx_server.Work(params, nginx.run)


def files(nginx: FakeNginx) -> dict[str, str]:
    return {path.name: path.read_text() for path in nginx.folder.iterdir() if path.name != ".lock"}


def test_in_and_down_and_nothing_the_second_time(nginx: FakeNginx) -> None:
    assert nginx_work(nginx, "ready").do() == {"changed": True, "steps": ["write", "reload"], "running": True}
    assert nginx.loaded == {"gpu1": HEADER + "server 192.0.2.1:30000;\n"}
    assert nginx_work(nginx, "ready").do()["changed"] is False
    assert nginx.reloads == 1
    assert nginx_work(nginx, "drain").do()["changed"] is True
    assert nginx.loaded == {"gpu1": HEADER + "server 192.0.2.1:30000 down;\n"}
    assert nginx_work(nginx, "drain").do() == {"changed": False, "steps": [], "running": True}
    assert nginx.reloads == 2
    assert list(files(nginx)) == ["gpu1.conf"]


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("how", ["refuses its configuration", "does not read the server's file"])
def test_what_nginx_does_not_take_is_put_back(nginx: FakeNginx, there: bool, how: str) -> None:
    if there:
        nginx_work(nginx, "ready").do()
    before, reloads = files(nginx) if there else {}, nginx.reloads
    nginx.refusal, nginx.include = ("nginx: [emerg] unknown directive", True) if how.startswith("refuses") else ("", False)
    with pytest.raises(SglangError, match=how):
        nginx_work(nginx, "drain").do()
    assert files(nginx) == before and nginx.reloads == reloads


@pytest.mark.parametrize("state", ["ready", "drain"])
def test_a_run_that_was_killed_before_the_reload_is_finished(nginx: FakeNginx, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    nginx_work(nginx, "ready").do()
    good = files(nginx)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(nginx_server.Work, "reload", die)
        with pytest.raises(KeyboardInterrupt):
            nginx_work(nginx, "drain").do()
    assert nginx.loaded["gpu1"] == good["gpu1.conf"]
    # What it left is not taken for good either when nginx refuses it now.
    nginx.refusal = "no"
    with pytest.raises(SglangError):
        nginx_work(nginx, "drain").do()
    assert files(nginx) == good
    nginx.refusal = ""
    assert nginx_work(nginx, state).do()["changed"] is (state == "drain")
    assert (" down;" in nginx.loaded["gpu1"]) is (state == "drain")
    assert list(files(nginx)) == ["gpu1.conf"]


def test_a_reload_that_comes_to_nothing_is_tried_again(nginx: FakeNginx) -> None:
    nginx_work(nginx, "ready").do()
    nginx.stuck = True
    with pytest.raises(SglangError, match="does not take its new configuration"):
        nginx_work(nginx, "drain", timeout=0).do()
    nginx.stuck = False
    assert nginx_work(nginx, "drain").do()["steps"] == ["reload"]
    assert " down;" in nginx.loaded["gpu1"]


def test_an_nginx_that_does_not_run_is_told_by_the_file(nginx: FakeNginx) -> None:
    nginx.runs = False
    assert nginx_work(nginx, "drain").do() == {"changed": True, "steps": ["write", "reload"], "running": False}
    with pytest.raises(SglangError, match="nginx does not run"):
        nginx_work(nginx, "ready").do()
    assert files(nginx) == {"gpu1.conf": HEADER + "server 192.0.2.1:30000;\n"}


# ----- both -----
@pytest.mark.parametrize(
    "url", ["", "http://", "http://a", "http://a:x", "http://a;b:1", "http://a b:1", "http://[::1", "http://{a}:1", "http://a:99999"]
)
def test_addresses_that_would_break_a_configuration(url: str) -> None:
    with pytest.raises(SglangError):
        split_url(url)


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "../x", "a b", "a\nb"])
def test_names_that_are_no_files(nginx: FakeNginx, name: str) -> None:
    with pytest.raises(SglangError, match="cannot be that of a server's file"):
        nginx_work(nginx, "drain", name=name)


def test_one_run_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_balancer_host, "LOCK_SECONDS", 0.0)
    path = tmp_path / "lock"
    refused = pytest.raises(SglangError, match="it is held by another run")
    with path.open("a") as one, path.open("a") as other, locked(one, "it"), refused, locked(other, "it"):
        pass
    with path.open("a") as third, locked(third, "it"):
        pass


def test_the_processes_of_a_master() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            assert nginx_server.titles_below(os.getpid())[child.pid] == "sleep 60"
            assert nginx_server.titles_below(child.pid) == {}
        finally:
            child.kill()
