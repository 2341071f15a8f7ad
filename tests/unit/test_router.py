# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a router is told, against a small one that has the habits found in sglang-router 0.3.2 (docs/router.md)."""

from __future__ import annotations

import importlib.util
import json
import os
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._router import (
    Worker,
    dump_recorded,
    entry,
    parse_job,
    parse_recorded,
    parse_workers,
    steps_in,
)
from ansible_collections.inference.sglang.plugins.module_utils._router_client import RouterClient, RouterStopped, WorkersFile
from ansible_collections.inference.sglang.plugins.module_utils._server_load import IdleWatch, Load, parse_load
from ansible_collections.inference.sglang.plugins.modules import router_worker, server_idle

ROOT = Path(__file__).parents[2]
KEY, SERVER_KEY = "CANARY-router-key", "CANARY-server-key"
BROKEN = [
    b"",
    b"null",
    b"[]",
    b"{}",
    b"\xff",
    b'{"workers": 3}',
    b'{"loads": {}}',
    b'{"loads": [3]}',
    b'{"workers": [{"id": 1}]}',
    b"[" * 9999,
]


class Fake(ThreadingHTTPServer):
    """A router or a server on a port of its own."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), FakeHandler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.requests: list[tuple[str, str]] = []
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def answer(self, method: str, path: str, body: dict[str, Any], key: str) -> tuple[int, Any]:
        raise NotImplementedError

    def close(self) -> None:
        self.shutdown()
        self.server_close()


class FakeHandler(BaseHTTPRequestHandler):
    server: Fake

    def log_message(self, *_: object) -> None:
        """Quiet."""

    def reply(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        self.server.requests.append((self.command, self.path))
        key = self.headers.get("Authorization", "").removeprefix("Bearer ")
        status, document = self.server.answer(self.command, self.path, body, key)
        text = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_DELETE = reply


class FakeServer(Fake):
    """An engine: healthy for everybody, the rest for its key."""

    def __init__(self) -> None:
        super().__init__()
        self.status = 200
        self.loads: list[Any] = []

    def answer(self, method: str, path: str, body: dict[str, Any], key: str) -> tuple[int, Any]:
        if path == "/health":
            return self.status, {}
        running = self.loads.pop(0) if self.loads else 0
        return self.status, {"loads": [{"num_running_reqs": running, "num_waiting_reqs": 0}]}


class FakeRouter(Fake):
    """Jobs end a little later; the first key counts; a server whose key is wrong has the model "unknown"."""

    def __init__(self) -> None:
        super().__init__()
        self.workers: dict[str, dict[str, Any]] = {}
        self.pending: dict[str, tuple[float, str]] = {}
        self.right_key = SERVER_KEY

    def answer(self, method: str, path: str, body: dict[str, Any], key: str) -> tuple[int, Any]:
        if key != KEY:
            return 401, {}
        now = time.monotonic()
        for url, (at, identifier) in list(self.pending.items()):
            if now >= at:
                self.pending.pop(url)
                self.workers.setdefault(url, {"id": identifier, "url": url, "is_healthy": True, "key": self.keys[identifier]})
        if (method, path) == ("POST", "/workers"):
            identifier = f"id-{len(self.requests)}"
            self.keys[identifier] = body.get("api_key", "")
            self.pending[body["url"]] = (now + 0.1, identifier)
            return 202, {"status": "accepted", "worker_id": identifier}
        if path == "/workers":
            listed = [{**w, "model_id": "qwen" if w["key"] == self.right_key else "unknown"} for w in self.workers.values()]
            return 200, {"workers": [{k: v for k, v in w.items() if k != "key"} for w in listed]}
        found = [url for url, worker in self.workers.items() if path.endswith(worker["id"])]
        if method == "DELETE" and found:
            self.workers.pop(found[0])
            return 202, {}
        return (200, self.workers[found[0]]) if found else (404, {"error": "not found"})

    @property
    def keys(self) -> dict[str, str]:
        return self.__dict__.setdefault("_keys", {})  # type: ignore[no-any-return]


@pytest.fixture
def router() -> Iterator[FakeRouter]:
    made = FakeRouter()
    yield made
    made.close()


@pytest.fixture
def server() -> Iterator[FakeServer]:
    made = FakeServer()
    yield made
    made.close()


@pytest.fixture
def home(tmp_path: Path, router: FakeRouter) -> Path:
    (tmp_path / "workers.json").write_text(dump_recorded({}))
    (tmp_path / "workers.json").chmod(0o640)
    (tmp_path / "workers.lock").touch()
    (tmp_path / "key").write_text(KEY + "\n")
    (tmp_path / "router.json").write_text(json.dumps({"url": router.url, "key_file": str(tmp_path / "key")}))
    return tmp_path


def work(home: Path, url: str, api_key: str = SERVER_KEY, timeout: int = 5) -> router_worker.Work:
    address, key = router_worker.read_record(str(home))
    return router_worker.Work({"url": url, "api_key": api_key, "root": str(home), "timeout": timeout}, RouterClient(address, key))


def recorded(home: Path) -> dict[str, Any]:
    return json.loads((home / "workers.json").read_text())["workers"]  # type: ignore[no-any-return]


# ----- the router -----
def test_in_and_out_and_nothing_the_second_time(home: Path, router: FakeRouter, server: FakeServer) -> None:
    assert work(home, server.url).put_in(True) == {"changed": True, "steps": ["add"], "running": True}
    assert recorded(home) == {} and router.workers == {}
    assert work(home, server.url + "/").put_in(False) == {"changed": True, "steps": ["add"], "running": True, "model": "qwen"}
    assert recorded(home) == {server.url: {"api_key": SERVER_KEY}}
    assert (home / "workers.json").stat().st_mode & 0o777 == 0o640
    assert work(home, server.url).put_in(False)["changed"] is False
    assert work(home, server.url).take_out(True)["changed"] is True
    assert server.url in router.workers
    assert work(home, server.url).take_out(False) == {"changed": True, "steps": ["remove"], "running": True}
    assert recorded(home) == {} and router.workers == {}
    assert work(home, server.url).take_out(False) == {"changed": False, "steps": [], "running": True}


def test_another_key_is_out_and_in(home: Path, router: FakeRouter, server: FakeServer) -> None:
    work(home, server.url).put_in(False)
    router.right_key = "CANARY-second"
    assert work(home, server.url, "CANARY-second").put_in(False)["steps"] == ["remove", "add"]
    assert recorded(home) == {server.url: {"api_key": "CANARY-second"}}


def test_a_wrong_key_is_seen_and_the_server_taken_out(home: Path, router: FakeRouter, server: FakeServer) -> None:
    with pytest.raises(SglangError, match="could not ask the server for its model") as caught:
        work(home, server.url, "CANARY-wrong").put_in(False)
    assert "CANARY" not in str(caught.value)
    assert recorded(home) == {} and router.workers == {}


def test_an_unhealthy_server_is_never_registered(home: Path, router: FakeRouter, server: FakeServer) -> None:
    server.status = 503
    with pytest.raises(SglangError, match="not healthy as seen from the router"):
        work(home, server.url, timeout=1).put_in(False)
    assert ("POST", "/workers") not in router.requests
    assert recorded(home) == {}


def test_a_stopped_router_is_told_by_its_file(home: Path, router: FakeRouter, server: FakeServer) -> None:
    work(home, server.url).put_in(False)
    router.close()
    assert work(home, server.url).take_out(False) == {"changed": True, "steps": [], "running": False}
    assert recorded(home) == {}
    with pytest.raises(RouterStopped):
        work(home, server.url).put_in(False)


def test_both_spellings_of_an_address_go(home: Path, router: FakeRouter, server: FakeServer) -> None:
    for url in (server.url, server.url + "/"):
        router.workers[url] = {"id": f"id{len(url)}", "url": url, "is_healthy": True, "key": SERVER_KEY}
    work(home, server.url).take_out(False)
    assert router.workers == {}


def test_a_router_with_another_key_says_what_to_do(home: Path, server: FakeServer) -> None:
    (home / "key").write_text("CANARY-old")
    with pytest.raises(SglangError, match="does not take its key") as caught:
        work(home, server.url).put_in(False)
    assert "CANARY" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "{}", '{"url": 3}', "[]", "nothing"])
def test_no_router_on_the_host(tmp_path: Path, text: str) -> None:
    if text != "nothing":
        (tmp_path / "router.json").write_text(text)
    with pytest.raises(SglangError, match="no router of this collection"):
        router_worker.read_record(str(tmp_path))


@pytest.mark.parametrize("body", BROKEN)
def test_answers_that_are_none(body: bytes) -> None:
    if body != b'{"loads": {}}':
        with pytest.raises(SglangError):
            parse_workers(body)
    with pytest.raises(SglangError):
        parse_load(body)
    with pytest.raises(SglangError):
        parse_recorded(body.decode("utf-8", "replace"), "workers.json") if body != b"{}" else parse_recorded(None, "workers.json")
    assert parse_job(body) == ("waiting", "")


def test_steps() -> None:
    there = Worker("1", "http://a:1", "qwen", True)
    unknown = Worker("1", "http://a:1", "unknown", True)
    assert steps_in(None, None, "") == ("add",)
    assert steps_in(None, entry("k"), "k") == ("add",)
    assert steps_in(there, entry("k"), "k") == ()
    assert steps_in(there, entry(""), "") == ()
    assert steps_in(there, entry("k"), "other") == ("remove", "add")
    assert steps_in(there, None, "k") == ("remove", "add")
    assert steps_in(unknown, entry("k"), "k") == ("remove", "add")


def test_a_job_that_failed_says_why() -> None:
    body = {"id": "x", "job_status": {"status": "failed", "message": "no route"}}
    assert parse_job(json.dumps(body).encode()) == ("failed", "no route")
    assert parse_job(b'{"id": "x", "job_status": {"status": "processing"}}') == ("waiting", "")
    assert parse_job(b'{"id": "x"}') == ("there", "")


# ----- the launcher -----
@pytest.fixture(scope="module")
def launcher() -> ModuleType:
    spec = importlib.util.spec_from_file_location("router_launcher", ROOT / "roles/sglang_router/files/launcher.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_options_become_arguments(launcher: ModuleType) -> None:
    options = {"port": 1, "disable_retries": True, "dp_aware": False, "log_dir": None, "ca_cert_paths": ["a", "b"], "host": "::"}
    assert launcher.arguments_of(options) == ["--ca-cert-paths", "a", "b", "--disable-retries", "--host=::", "--port=1"]


def test_what_was_in_comes_back_once_it_is_healthy(launcher: ModuleType, home: Path, router: FakeRouter, server: FakeServer) -> None:
    work(home, server.url).put_in(False)
    router.workers.clear()  # it was restarted
    restorer = launcher.Restorer(home, router.url, KEY)
    server.status = 503
    router.requests.clear()
    assert restorer.round() is False
    assert ("POST", "/workers") not in router.requests
    server.status = 200
    assert restorer.round() is False
    time.sleep(0.15)
    assert restorer.round() is True
    assert router.workers[server.url]["key"] == SERVER_KEY


def test_what_was_taken_out_stays_out(launcher: ModuleType, home: Path, router: FakeRouter, server: FakeServer) -> None:
    work(home, server.url).put_in(False)
    work(home, server.url).take_out(False)
    assert launcher.Restorer(home, router.url, KEY).round() is True
    assert router.workers == {}


def test_the_child_waits_while_a_server_is_taken_out(launcher: ModuleType, home: Path, router: FakeRouter, server: FakeServer) -> None:
    """Else it could put back from a list that it has read before."""
    work(home, server.url).put_in(False)
    router.workers.clear()
    restorer = launcher.Restorer(home, router.url, KEY)
    with WorkersFile(str(home)).held():
        thread = threading.Thread(target=restorer.round)
        thread.start()
        time.sleep(0.2)
        (home / "workers.json").write_text(dump_recorded({}))
    thread.join(5)
    assert ("POST", "/workers") not in router.requests[-1:] and router.pending == {}


def test_the_child_ends_with_the_router(launcher: ModuleType, home: Path) -> None:
    launcher.Restorer(home, "http://127.0.0.1:1", None).run(os.getppid() + 1)


def test_an_empty_credential_is_refused(launcher: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    assert launcher.read_key() is None
    (tmp_path / "api-key").write_text("\n")
    with pytest.raises(SystemExit):
        launcher.read_key()


# ----- the server -----
@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_idle, "POLL_SECONDS", 0.01)


def wait(server: FakeServer, timeout: int = 5, force: bool = False) -> dict[str, Any]:
    return server_idle.wait(server_idle.HttpClient(server.url), timeout, force, server_idle.Progress(None))


@pytest.mark.usefixtures("quick")
def test_idle_is_seen_three_times(server: FakeServer) -> None:
    server.loads = [2, 1, 0, 0, 1, 0, 0, 0, 7]
    assert wait(server)["requests"] == [2, 0]
    assert server.loads == [7]


@pytest.mark.usefixtures("quick")
def test_a_busy_server_ends_the_wait(server: FakeServer) -> None:
    server.loads = [1] * 10_000
    with pytest.raises(SglangError, match="still has requests"):
        wait(server, timeout=0)
    assert wait(server, timeout=0, force=True)["idle"] is False


@pytest.mark.usefixtures("quick")
def test_a_server_that_answers_nothing_is_not_idle(server: FakeServer) -> None:
    server.status = 500
    with pytest.raises(SglangError, match="no answer"):
        wait(server, timeout=0)
    server.status = 401
    with pytest.raises(SglangError, match="does not take the key"):
        wait(server, timeout=0)


@pytest.mark.usefixtures("quick")
def test_a_server_that_nobody_listens_for_is_idle(server: FakeServer) -> None:
    server.close()
    assert wait(server)["idle"] is True


def test_load_is_summed_over_ranks() -> None:
    body = {"loads": [{"num_running_reqs": 1, "num_waiting_reqs": 2}, {"num_running_reqs": 3, "num_waiting_reqs": 0}]}
    assert parse_load(json.dumps(body).encode()) == Load(4, 2)
    assert Load(4, 2).total == 6
    watch = IdleWatch(2)
    assert [watch.see(total) for total in (0, 1, 0, 0)] == [False, False, False, True]
