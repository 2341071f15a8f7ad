# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Serves the files of one published model to other hosts of the fleet. Runs as a detached process; self-contained on purpose.

Its source and its job go to it through a pipe, so that the token is in no command line, environment or file. The files are
opened before the port is, then privileges are dropped: what this process can be made to read is those files and nothing else.
It ends by itself: when told to, when nobody asked for `idle` seconds, and after `lifetime` seconds whatever happens. So a
controller that dies leaves neither a process nor a port behind for long.

Paths are those of a model hub (`/<repo>/resolve/<revision>/<file>`, `Range: bytes=N-`), so the downloader needs to know one kind.
Input: one JSON line (the job) on stdin. Output: one JSON line on stdout, `{"port": N}` or `{"error": ..., "errno": ...}`.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import re
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

BLOCK = 1 << 20
# A receiver that takes no byte for so long is gone.
SILENCE = 60.0
TICK = 1.0
NOBODY = 65534


class Gone(Exception):
    """A file is not what the manifest says any more."""


class Files:
    """Open descriptors of the model's files: name → (descriptor, size in bytes)."""

    def __init__(self, directory: str, files: list[dict[str, Any]]) -> None:
        self._open: dict[str, tuple[int, int]] = {}
        for file in files:
            descriptor = os.open(os.path.join(directory, file["file"]), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            status = os.fstat(descriptor)
            if (status.st_size, status.st_mtime_ns) != (file["size"], file["mtime_ns"]):
                raise Gone(f"{file['file']} has changed since it was verified")
            self._open[file["file"]] = (descriptor, status.st_size)

    def find(self, name: str) -> tuple[int, int]:
        """KeyError for a file that is not part of the model."""
        return self._open[name]


class PeerServer(ThreadingHTTPServer):
    """One model, one token, one life."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, job: dict[str, Any], files: Files) -> None:
        found = socket.getaddrinfo(job["address"], job["port"], type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        self.address_family, address = found[0], found[4]
        self.prefix = f"/{job['repo']}/resolve/{job['revision']}/"
        self.token = str(job["token"])
        self.files = files
        self._lock = threading.Lock()
        self._active, self._idle_since = 0, time.monotonic()
        super().__init__(address, Handler)  # type: ignore[arg-type,unused-ignore]  # IPv6 addresses have four parts

    @contextlib.contextmanager
    def busy(self) -> Any:
        """A request is being answered: the time of idleness does not run."""
        with self._lock:
            self._active += 1
        try:
            yield
        finally:
            with self._lock:
                self._active -= 1
                self._idle_since = time.monotonic()

    def end_when_done(self, idle: float, lifetime: float) -> None:
        """Shuts the server down when nobody has asked for `idle` seconds, or after `lifetime` seconds."""
        end = time.monotonic() + lifetime
        while time.monotonic() < end:
            with self._lock:
                quiet = 0.0 if self._active else time.monotonic() - self._idle_since
            if quiet > idle:
                break
            time.sleep(min(TICK, idle / 4))
        self.shutdown()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A receiver that goes away is its own affair."""


class Handler(BaseHTTPRequestHandler):
    """GET of a file of the model, POST /stop; everything needs the token."""

    protocol_version = "HTTP/1.1"
    timeout = SILENCE
    server: PeerServer

    def log_message(self, format: str, *args: Any) -> None:
        """Nowhere to log to, and nothing that the receiver's own progress does not show."""

    def _refuse(self, status: int, code: str, message: str) -> None:
        self.send_response(status)
        self.send_header("X-Error-Code", code)
        self.send_header("X-Error-Message", message)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _allowed(self) -> bool:
        given = (self.headers.get("Authorization") or "").encode("latin-1", "replace")
        if hmac.compare_digest(given, f"Bearer {self.server.token}".encode()):
            return True
        self.close_connection = True
        self._refuse(401, "InvalidToken", "this transfer's token was not given")
        return False

    def do_POST(self) -> None:
        self.close_connection = True
        if not self._allowed():
            return
        if self.path != "/stop":
            return self._refuse(404, "NotFound", "no such address")
        self._refuse(200, "", "stopping")
        threading.Thread(target=self.server.shutdown, daemon=True).start()

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        with self.server.busy():
            if self._allowed():
                self._file()

    def _file(self) -> None:
        path = unquote(urlsplit(self.path).path)
        try:
            descriptor, size = self.server.files.find(path[len(self.server.prefix) :] if path.startswith(self.server.prefix) else "")
        except KeyError:
            return self._refuse(404, "EntryNotFound", "no file of this model")
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
        start = int(asked[1]) if asked else 0
        if asked and start >= size:
            return self._refuse(416, "", "the file ends before that byte")
        self.send_response(206 if asked else 200)
        if asked:
            self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(size - start))
        self.end_headers()
        while start < size and self.command == "GET":
            block = os.pread(descriptor, min(BLOCK, size - start), start)
            if not block:
                # The file became shorter: without this the receiver would wait for the rest.
                self.close_connection = True
                return None
            self.wfile.write(block)
            start += len(block)
        return None


def drop_privileges() -> None:
    """Root opened the files and the port; nothing else of root's is needed."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def answer(**facts: Any) -> None:
    """The one line that the starter waits for; afterwards nobody reads there any more."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)


def main() -> None:
    job = json.loads(sys.stdin.buffer.readline())
    try:
        server = PeerServer(job, Files(job["directory"], job["files"]))
    except (OSError, Gone) as error:
        return answer(error=str(error), errno=getattr(error, "errno", None) or 0)
    drop_privileges()
    answer(port=server.server_address[1])
    threading.Thread(target=server.end_when_done, args=(job["idle"], job["lifetime"]), daemon=True).start()
    server.serve_forever(poll_interval=0.2)
    server.server_close()
    os._exit(0)  # without waiting for threads that still hold a connection


if __name__ == "__main__":
    main()
