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

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "hf_CANARYtoken0123456789"
CONFIG = {"architectures": ["LlamaForCausalLM"], "hidden_size": 64}


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


def ask(folder: Path, *hubs: Server) -> list[dict[str, Any]]:
    """Plays the role's file once a hub, in one run, and returns the facts after each."""
    play = [
        {
            "hosts": "localhost",
            "gather_facts": False,
            "connection": "local",
            "vars": {"ansible_python_interpreter": sys.executable},
            "tasks": [
                task
                for number, hub in enumerate(hubs)
                for task in (
                    {"ansible.builtin.set_fact": {"__sglang_server_notes": []}},
                    {
                        "ansible.builtin.include_tasks": str(ROOT / "roles/sglang_server/tasks/plan_hub.yml"),
                        "vars": {
                            "__sglang_server_hub": hub.url,
                            "__sglang_server_repo": "o/m",
                            "__sglang_server_hub_revision": "main",
                            "model_shards_token": TOKEN,
                        },
                    },
                    {
                        "ansible.builtin.copy": {
                            "content": "{{ {'config': __sglang_server_config, 'source': __sglang_server_config_source,"
                            " 'notes': __sglang_server_notes} | to_json }}",
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
    assert done.returncode == 0, done.stdout + done.stderr
    assert TOKEN not in done.stdout + done.stderr
    return [json.loads((folder / f"{number}.json").read_text()) for number in range(len(hubs))]


def test_the_token_stays_with_the_hub_and_a_login_page_is_no_failure(tmp_path: Path, serve: Any) -> None:
    store = serve(json.dumps(CONFIG).encode())
    hub = serve(b"", store.url)
    redirected, login = ask(tmp_path, hub, serve(b"<html>please log in</html>"))
    assert {header for _path, header in hub.seen} == {f"Bearer {TOKEN}"}
    assert store.seen and {header for _path, header in store.seen} == {None}
    assert (redirected["config"], redirected["source"]) == (CONFIG, "hub")
    assert (login["config"], login["source"]) == ({}, "")
    assert "not JSON: <html>please log in</html>" in login["notes"][0]
