# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A host's instances as rows, whatever state they are in, and the rows as tables."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._rollout_record import advance, read_rollout, utc, write_rollout
from ansible_collections.inference.sglang.plugins.module_utils._server_status import answers, instances_of, view_instance
from ansible_collections.inference.sglang.plugins.module_utils._status_table import status_table

ID = "0123456789abcdef"
KEY = "CANARY-key-0123456789"
STAMP = {
    "format": 1,
    "id": ID,
    "unit_sha256": "u",
    "launcher_sha256": "l",
    "environment": {"path": "/env", "sglang_version": "0.5.11"},
    "model": {"path": "/models/Qwen--Qwen3.6-27B/main", "revision": "1a2b3c4d5e6f"},
    "accepted_at": "2026-11-30T02:14:05Z",
    "figures": {"probe": {"accept_length": 2.71, "tokens_per_second": 95.3}},
}


class Server(ThreadingHTTPServer):
    """Counts what it is asked; lists one model to those who hold the key."""

    seen: list[str]
    status = 200
    body = json.dumps({"data": [{"id": "qwen"}]}).encode()


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_args: object) -> None:
        """Silent."""

    def do_GET(self) -> None:
        server: Any = self.server
        server.seen.append(f"{self.command} {self.path} {self.headers.get('Authorization')}")
        self.send_response(server.status)
        self.send_header("Content-Length", str(len(server.body)))
        self.end_headers()
        self.wfile.write(server.body)

    do_POST = do_GET


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server(("127.0.0.1", 0), Handler)
    made.seen = []
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def deploy(root: Path, url: str, instance: str = "default", key: bool = True) -> Path:
    """An instance's files as an accepted release leaves them."""
    home = root / "instances" / instance
    release = home / "releases" / ID
    release.mkdir(parents=True)
    (home / "accepted.json").write_text(json.dumps(STAMP))
    if key:
        (home / "secrets").mkdir()
        (home / "secrets/api-key").write_text(KEY + "\n")
    serving = {"url": url, "model": "qwen", "key_file": str(home / "secrets/api-key") if key else ""}
    names = ("id", "unit", "unit_sha256", "launcher_sha256", "environment", "model")
    (release / "release.json").write_text(json.dumps({**dict.fromkeys(names, "x"), "serving": serving}))
    return home


def systemd(active: str = "active", load: str = "loaded") -> Any:
    text = f"LoadState={load}\nActiveState={active}\nSubState=running\nNRestarts=2\nMainPID=0\n"
    text += "ActiveEnterTimestamp=Mon 2026-11-30 02:13:00 UTC\n"
    return lambda _command: (0, text, "")


def test_a_serving_instance_is_a_row_and_costs_one_request(tmp_path: Path, server: Server) -> None:
    deploy(tmp_path, f"http://127.0.0.1:{server.server_port}")
    row = view_instance(str(tmp_path), "default", systemd(), 5)
    assert server.seen == [f"GET /v1/models Bearer {KEY}"]
    assert (row["answers"], row["active"], row["restarts"], row["release"], row["sglang"]) == ("yes", "active", 2, ID, "0.5.11")
    assert (row["model"], row["revision"], row["probe"]["accept_length"], row["notes"]) == ("qwen", "1a2b3c4d5e6f", 2.71, [])
    assert KEY not in json.dumps(row)


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (503, b"", "HTTP 503"),
        (401, b"", "HTTP 401"),
        (200, b'{"data": [{"id": "llama"}]}', "another model"),
        (200, b"\xff nonsense", "another model"),
        (200, b"[" * 100000, "another model"),
        (200, b'{"data": 3}', "another model"),
    ],
)
def test_what_a_server_answers_instead_is_told(server: Server, status: int, body: bytes, said: str) -> None:
    server.status, server.body = status, body
    assert answers({"url": f"http://127.0.0.1:{server.server_port}", "model": "qwen"}, 5)[0] == said


def test_a_server_that_is_not_there_or_cannot_be_asked_is_told(tmp_path: Path) -> None:
    assert answers({"url": "http://127.0.0.1:9", "model": "qwen"}, 1) == ("no connection", None)
    assert answers({"url": "", "model": "qwen"}, 1)[0].startswith("not asked")
    (tmp_path / "key").mkdir()
    assert answers({"url": "http://127.0.0.1:9", "model": "qwen", "key_file": str(tmp_path / "key")}, 1)[0].startswith("not asked")


def test_a_stopped_unit_is_not_asked(tmp_path: Path, server: Server) -> None:
    deploy(tmp_path, f"http://127.0.0.1:{server.server_port}")
    row = view_instance(str(tmp_path), "default", systemd("failed"), 5)
    assert (row["active"], row["answers"], row["since"], server.seen) == ("failed", "", "", [])


def test_nothing_deployed_and_no_systemd_is_a_row(tmp_path: Path) -> None:
    def nothing(_command: list[str]) -> tuple[int, str, str]:
        raise FileNotFoundError("systemctl")

    row = view_instance(str(tmp_path), "default", nothing, 5)
    assert (row["deployed"], row["active"], row["notes"]) == (False, "unknown", ["never deployed"])
    assert view_instance(str(tmp_path), "default", systemd("inactive", "not-found"), 5)["active"] == "none"


@pytest.mark.parametrize("damaged", ["accepted.json", f"releases/{ID}/release.json"])
@pytest.mark.parametrize("text", ["", "{", '{"format": 9}', "[" * 100000])
def test_damaged_files_are_a_note_and_no_failure(tmp_path: Path, damaged: str, text: str) -> None:
    home = deploy(tmp_path, "http://127.0.0.1:9")
    (home / damaged).write_text(text)
    row = view_instance(str(tmp_path), "default", systemd(), 1)
    assert row["notes"]
    assert row["active"] == "active"
    assert status_table([{"host": "h", **row}])


@pytest.mark.parametrize("wrong", ["x", 3, None, []])
def test_parts_of_another_kind_hold_nothing(tmp_path: Path, wrong: Any) -> None:
    home = deploy(tmp_path, "http://127.0.0.1:9")
    (home / "accepted.json").write_text(json.dumps({**STAMP, "environment": wrong, "model": wrong, "figures": wrong}))
    record = json.loads((home / f"releases/{ID}/release.json").read_text())
    (home / f"releases/{ID}/release.json").write_text(json.dumps({**record, "serving": wrong}))
    row = view_instance(str(tmp_path), "default", systemd(), 1)
    assert (row["release"], row["sglang"], row["model"], row["probe"]) == (ID, "", "", {})
    assert status_table([{"host": "h", **row}])


def test_every_instance_of_the_root_and_the_asked_one_is_listed(tmp_path: Path) -> None:
    for name in ("blue", "green"):
        (tmp_path / "instances" / name).mkdir(parents=True)
    (tmp_path / "instances/Not One").mkdir()
    (tmp_path / "instances/file").write_text("")
    assert instances_of(str(tmp_path), "default") == ["blue", "default", "green"]
    assert instances_of(str(tmp_path / "nothing"), "default") == ["default"]


def test_the_table_is_aligned_and_holds_what_is_known(tmp_path: Path, server: Server) -> None:
    deploy(tmp_path, f"http://127.0.0.1:{server.server_port}")
    row = {"host": "ct129", **view_instance(str(tmp_path), "default", systemd(), 5), "as_planned": False}
    lost = {"host": "gpu-17.example", "instance": "default", "active": "unreachable", "notes": ["no route to host"]}
    lines = status_table([row, lost])
    assert lines[0].split() == ["host", "instance", "unit", "restarts", "since", "answers", "plan"]
    assert lines[1].split() == ["ct129", "default", "active", "2", "2026-11-30", "02:13", "yes", "differs"]
    assert lines[2].split() == ["gpu-17.example", "default", "unreachable", "-", "-", "-", "-"]
    assert len({line.index("default") for line in lines[1:3]}) == 1
    assert lines[5].split() == ["ct129", "default", ID, "0.5.11", "qwen", "1a2b3c4d", "2026-11-30", "02:14", "2.71", "95.3"]
    assert lines[-1] == "gpu-17.example default: no route to host"
    assert status_table([]) == ["no hosts"]
    assert len(status_table([lost])) == 4


def test_where_a_rollout_stands_is_told_with_its_code(tmp_path: Path) -> None:
    """The phase, whether requests come, and the verdict; a damaged record is a note and hides nothing else."""
    home = tmp_path / "instances/default"
    for number, phase in enumerate(("admitted", "drained", "failed")):
        values = {"rollout": "r1", "verdict": "it died", "code": "GPU-001"} if phase == "failed" else {"rollout": "r1"}
        write_rollout(str(home), advance(read_rollout(str(home)), phase, utc(1000 + number), values))
    row = view_instance(str(tmp_path), "default", lambda _command: (1, "", ""), 1)
    assert row["out"] is True
    shown = status_table([{"host": "h", **row}])
    (line,) = [text for text in shown if "r1" in text]
    assert line.split() == ["h", "default", "r1", "failed", "1970-01-01", "00:16", "no", "GPU-001:", "it", "died"]
    (home / "rollout.json").write_text("{")
    damaged = view_instance(str(tmp_path), "default", lambda _command: (1, "", ""), 1)
    assert any("the record of the last rollout cannot be read" in note for note in damaged["notes"])
