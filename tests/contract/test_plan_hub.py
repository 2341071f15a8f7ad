# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The role's questions to a hub, played against real HTTP servers on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.support.hub.mockhub import Hub
from tests.support.snapshot_lab import running_hub, sent_bytes
from tests.unit.test_safetensors import halves, write_model

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "hf_CANARYtoken0123456789"
REPO = "acme/tiny"


class Server:
    """Redirects to ``elsewhere`` where there is one, else answers."""

    def __init__(self, body: bytes = b"", elsewhere: str = "") -> None:
        self.seen: list[tuple[str, str | None]] = []
        seen = self.seen

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                """Quiet."""

            def do_GET(self) -> None:
                seen.append((self.path, self.headers.get("Authorization")))
                if elsewhere:
                    self.send_response(302)
                    self.send_header("Location", elsewhere + self.path)
                else:
                    self.send_response(200)
                self.send_header("Content-Length", "0" if elsewhere else str(len(body)))
                self.end_headers()
                self.wfile.write(b"" if elsewhere else body)

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


@pytest.fixture
def serve() -> Iterator[Any]:
    servers: list[Server] = []

    def begin(*arguments: Any) -> Server:
        servers.append(Server(*arguments))
        return servers[-1]

    yield begin
    for server in servers:
        server.close()


def ask(folder: Path, hubs: list[str], source: str = "auto", status: int = 0) -> tuple[list[dict[str, Any]], str]:
    """Plays the role's file once a hub, in one run, and returns the facts after each, and what the run said."""
    play = [
        {
            "hosts": "localhost",
            "gather_facts": False,
            "connection": "local",
            "vars": {"ansible_python_interpreter": sys.executable},
            "tasks": [
                task
                for number, url in enumerate(hubs)
                for task in (
                    {"ansible.builtin.set_fact": {"__sglang_server_notes": []}},
                    {
                        "ansible.builtin.include_tasks": str(ROOT / "roles/sglang_server/tasks/plan_hub.yml"),
                        "vars": {
                            "sglang_server_plan_source": source,
                            "__sglang_server_hub": url,
                            "__sglang_server_repo": REPO,
                            "__sglang_server_hub_revision": "main",
                            "model_shards_token": TOKEN,
                        },
                    },
                    {
                        "ansible.builtin.copy": {
                            "content": "{{ {'config': __sglang_server_config, 'source': __sglang_server_config_source,"
                            " 'weights': __sglang_server_weights, 'notes': __sglang_server_notes} | to_json }}",
                            "dest": str(folder / f"{number}.json"),
                            "mode": "0600",
                        }
                    },
                )
            ],
        }
    ]
    (folder / "play.yml").write_text(json.dumps(play))
    done = subprocess.run(
        [str(Path(sys.executable).parent / "ansible-playbook"), "-i", "localhost,", "-vvv", str(folder / "play.yml")],
        cwd=ROOT,
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    said = done.stdout + done.stderr
    assert done.returncode == status, said
    assert TOKEN not in said
    return [json.loads(path.read_text()) for path in sorted(folder.glob("[0-9].json"))], said


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    directory = tmp_path / "hub" / REPO
    directory.mkdir(parents=True)
    write_model(directory, halves())
    with running_hub(tmp_path / "hub", token=TOKEN) as running:
        yield running


def test_the_headers_come_from_the_hub_and_a_login_page_is_no_failure(tmp_path: Path, serve: Any, hub: Hub) -> None:
    store = serve(b"<html>please log in</html>")
    redirecting = serve(b"", store.url)
    (found, redirected, login, nobody), _said = ask(tmp_path, [hub.url, redirecting.url, store.url, "http://127.0.0.1:1"])
    assert found["source"] == "hub"
    assert found["config"]["architectures"]
    assert (found["weights"]["evidence"], found["weights"]["mtp_tensors"]) == ("headers", 2)
    assert f"{REPO} main is commit " in found["notes"][0]
    assert sent_bytes(hub) < 100_000
    assert {header for _path, header in redirecting.seen} == {f"Bearer {TOKEN}"}
    assert {header for _path, header in store.seen} == {f"Bearer {TOKEN}", None}
    for refused, said in ((redirected, "please log in"), (login, "please log in"), (nobody, "refused")):
        assert (refused["config"], refused["weights"], refused["source"]) == ({}, {}, "")
        assert "the hub gave no model facts" in refused["notes"][0]
        assert said in refused["notes"][0]


def test_a_hub_that_was_asked_for_by_name_has_to_answer(tmp_path: Path, hub: Hub) -> None:
    (tmp_path / "hub" / REPO / "model-00002-of-00002.safetensors").unlink()
    found, said = ask(tmp_path, [hub.url], source="hub", status=2)
    assert not found
    assert "Weights are missing in acme/tiny" in said
    assert "next: Fetch the model again" in said
