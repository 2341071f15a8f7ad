# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Serves the files of one model or environment to other hosts of the fleet. Runs as a detached process; self-contained on purpose.

Its source and its job go to it through a pipe, so that the token is in no command line, environment or file. The files, or the
directory of too many files, are opened before the port is, then privileges are dropped: what this process can be made to read is
those files and nothing else. It ends by itself: when told to, when nobody asked for `idle` seconds, and after `lifetime` seconds
whatever happens. So a controller that dies leaves neither a process nor a port behind for long.

Paths are those of a model hub (`/<repo>/resolve/<revision>/<file>`, `Range: bytes=N-`), so the downloader needs to know one kind.
The files of an environment are one answer, end to end in the order of their list: a hundred thousand requests take too long.
Input: one JSON line (the job) on stdin: `prefix` of the addresses, `directory`, `files` and `stream` (name of the one answer and
its files, empty for none), each file as `{file, size in bytes, mtime_ns}`, and what `_peer_process.Serving` holds.
Output: one JSON line on stdout, `{"port": N}` or `{"error": ..., "errno": ...}`.
"""

from __future__ import annotations

import bisect
import contextlib
import hmac
import itertools
import json
import os
import re
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Union
from urllib.parse import unquote, urlsplit

BLOCK = 1 << 20
# A receiver that takes no byte for so long is gone.
SILENCE = 60.0
TICK = 1.0
NOBODY = 65534


class Gone(Exception):
    """A file is not what the manifest says any more."""


class File:
    """One file, opened before the port is."""

    def __init__(self, directory: str, file: dict[str, Any]) -> None:
        self._descriptor = os.open(os.path.join(directory, file["file"]), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        status = os.fstat(self._descriptor)
        if (status.st_size, status.st_mtime_ns) != (file["size"], file["mtime_ns"]):
            raise Gone(f"{file['file']} has changed since it was verified")
        self.size = status.st_size

    def read(self, start: int, length: int) -> bytes:
        """Nothing where the file became shorter."""
        return os.pread(self._descriptor, length, start)


class Stream:
    """Many files end to end, each opened when its turn comes: more than a process may hold open. Reads as nobody."""

    def __init__(self, directory: str, files: list[dict[str, Any]]) -> None:
        self._directory = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._files = files
        self._ends = list(itertools.accumulate(file["size"] for file in files))
        self.size = self._ends[-1] if files else 0

    def read(self, start: int, length: int) -> bytes:
        """At most `length` bytes; it ends early at a file that cannot be read or has changed."""
        pieces = []
        index = bisect.bisect_right(self._ends, start)
        while length > 0 and index < len(self._files):
            file, end = self._files[index], self._ends[index]
            piece = self._piece(file, start - (end - file["size"]), min(length, end - start))
            pieces.append(piece)
            start, length = start + len(piece), length - len(piece)
            if start < end:
                break
            index += 1
        return b"".join(pieces)

    def _piece(self, file: dict[str, Any], offset: int, length: int) -> bytes:
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
        try:
            descriptor = os.open(file["file"], flags, dir_fd=self._directory)
        except OSError:
            return b""
        try:
            status = os.fstat(descriptor)
            same = (status.st_size, status.st_mtime_ns) == (file["size"], file["mtime_ns"])
            return os.pread(descriptor, length, offset) if same else b""
        finally:
            os.close(descriptor)


def contents(job: dict[str, Any]) -> dict[str, Union[File, Stream]]:
    """Name in an address -> what is handed out under it."""
    found: dict[str, Union[File, Stream]] = {file["file"]: File(job["directory"], file) for file in job["files"]}
    if job["stream"]:
        found[job["stream"]["name"]] = Stream(job["directory"], job["stream"]["files"])
    return found


class PeerServer(ThreadingHTTPServer):
    """One model or environment, one token, one life."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, job: dict[str, Any], files: dict[str, Union[File, Stream]]) -> None:
        found = socket.getaddrinfo(job["address"], job["port"], type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        self.address_family, address = found[0], found[4]
        self.prefix = job["prefix"]
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
    """GET of a file, POST /stop; everything needs the token."""

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
            content = self.server.files[path[len(self.server.prefix) :] if path.startswith(self.server.prefix) else ""]
        except KeyError:
            return self._refuse(404, "EntryNotFound", "no file of what is served here")
        size = content.size
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
            block = content.read(start, min(BLOCK, size - start))
            if not block:
                # The file became shorter, or another one: without this the receiver would wait for the rest.
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
        server = PeerServer(job, contents(job))
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
