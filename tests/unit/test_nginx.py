# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What nginx is told, against a small one with the habits of the real one (tests/play/test_balancers.py has that)."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any, Optional

import pytest
from ansible_collections.inference.sglang.plugins.module_utils import _balancer_host
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
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
from ansible_collections.inference.sglang.plugins.modules import nginx_server


# ----- pure -----
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


# ----- the module -----
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


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "../x", "a b", "a\nb"])
def test_names_that_are_no_files(nginx: FakeNginx, name: str) -> None:
    with pytest.raises(SglangError, match="cannot be that of a server's file"):
        nginx_work(nginx, "drain", name=name)


def test_the_processes_of_a_master() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            assert nginx_server.titles_below(os.getpid())[child.pid] == "sleep 60"
            assert nginx_server.titles_below(child.pid) == {}
        finally:
            child.kill()
