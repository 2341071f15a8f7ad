# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Bundles made by hand, a package index in a thread, and the tools of a controller without a network."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from ansible_collections.inference.sglang.plugins.module_utils._bundle import Bundle, BundleFile, dump
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_manifest import load

UV = Path(sys.executable).parent / "uv"


def write_list(bundle: Path, manifest: Path, python: str = "3.11", sglang: str = "0.5.11") -> Bundle:
    """``bundle.json`` of what lies in the directory."""
    record = load(manifest.read_text(), str(manifest))
    return _write(bundle, Bundle(sglang, python, "linux-x86_64", record.repo, record.revision, record.requested, ()))


def write_list_of_wheels(bundle: Path, python: str) -> Bundle:
    """The same for one whose model nobody asks for."""
    return _write(bundle, Bundle("0.5.11", python, "linux-x86_64", "acme/tiny", "0" * 40, "main", ()))


def _write(bundle: Path, about: Bundle) -> Bundle:
    paths = sorted(path for path in bundle.rglob("*") if path.is_file())
    names = [path for path in paths if not path.name.startswith((".", "refs.json", "bundle.json"))]
    files = tuple(BundleFile(str(path.relative_to(bundle)), path.stat().st_size, sha256(path), "test") for path in names)
    made = replace(about, files=files)
    (bundle / "bundle.json").write_text(dump(made))
    return made


class Index(ThreadingHTTPServer):
    """PEP 503 over a directory of wheels; ``asked`` has the paths."""

    def __init__(self, wheels: Path) -> None:
        self.wheels, self.asked = wheels, list[str]()
        super().__init__(("127.0.0.1", 0), _Pages)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/simple"


class _Pages(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Index)
        self.server.asked.append(self.path)
        name = self.path.strip("/").split("/")[-1]
        file = self.server.wheels / name
        if name.endswith(".whl") and file.exists():
            body = file.read_bytes()
        else:
            wheels = [path for path in sorted(self.server.wheels.glob("*.whl")) if re.sub(r"_", "-", path.name.split("-")[0]) == name]
            links = [f'<a href="/files/{path.name}#sha256={sha256(path)}">{path.name}</a>' for path in wheels]
            body = f"<html><body>{''.join(links)}</body></html>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream" if name.endswith(".whl") else "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@contextlib.contextmanager
def running_index(wheels: Path) -> Iterator[Index]:
    index = Index(wheels)
    threading.Thread(target=index.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield index
    finally:
        index.shutdown()
        index.server_close()


def locked(requirement: str, wheels: Sequence[Path]) -> str:
    """A line of a lock: ``name==version ; marker`` with the hashes of these files."""
    return requirement + "".join(f" \\\n    --hash=sha256:{sha256(wheel)}" for wheel in wheels) + "\n"


def install_tools(tools: Path, python: str) -> Path:
    """What the module would install from the lock of uv: a venv with pip, and this machine's uv in it. Returns that lock."""
    version = subprocess.run([UV, "--version"], check=True, capture_output=True, text=True).stdout.split()[1]
    home = tools / f"uv-{version}"
    subprocess.run([python, "-m", "venv", home], check=True)
    (home / "bin/uv").symlink_to(UV)
    (home / ".complete.json").write_text(json.dumps({"path": str(home), "version": version}))
    lock = tools / "uv.txt"
    lock.write_text(f"uv=={version} \\\n    --hash=sha256:{'0' * 64}\n")
    return lock
