#!/usr/bin/env python3
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A mock Hugging Face Hub with faults on demand, and a wheelhouse beside it. Standard library only.

    mockhub.py --root ROOT [--wheelhouse DIR] [--host 127.0.0.1] [--port 8900] [--token T] [--gated 'acme/*'] [--rate N]
    HF_ENDPOINT=http://127.0.0.1:8900 hf download acme/tiny
    uv pip install --no-index --find-links http://127.0.0.1:8900/wheelhouse/cpu-0.5.11/ …

ROOT/<owner>/<name>/… is served as repo <owner>/<name>, revision `main` and a 40-hex commit made from its files; what changes
on disk is seen. A file X.sparse that holds "<bytes> [seed] [tensor]" is served as X: that many reproducible bytes made on the
fly, so that shards of many GB cost no disk; with a tensor's name they are a safetensors file that holds it. DIR/<set>/*.whl is served
as a page of links under /wheelhouse/<set>/. --rate is what all downloads together get, in bytes a second.

--token makes the repos that match --gated (all by default) answer 401 without `Authorization: Bearer T`.

Faults: a JSON list on POST /_mock/faults; each fires `times` times (1 by default), then goes:
  {"match": "*.safetensors", "kind": "cut", "after": 1048576}            close the connection after N bytes of the body
  {"match": "*", "kind": "status", "status": 429, "retry_after": 1}      answer with a status
  {"match": "model-00002*", "kind": "corrupt", "at": 10}                 flip the byte at that offset of the file
  {"match": "*", "kind": "stall", "after": 1000, "seconds": 5}           pause once
  {"match": "*", "kind": "slow", "bps": 1000000}                         so many bytes a second
optional in each: "methods": ["GET"], "path": "resolve" | "api" (then "match" is revision, tree, refs or info).
GET /_mock/log: the requests seen (method, path, Range, status, bytes sent). DELETE /_mock/faults and /_mock/log clear them.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import hashlib
import html
import json
import re
import socket
import struct
import threading
import time
from collections.abc import Iterable
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Optional
from urllib.parse import parse_qs, quote, unquote, urlsplit

BLOCK = 1 << 20
LFS_SIZE = 10 << 20  # files above it are in LFS whatever their name
LFS_SUFFIXES = (".safetensors", ".bin", ".gguf", ".pt", ".onnx", ".model")
Headers = Iterable[tuple[str, str]]
Fault = dict[str, Any]


class Blob:
    """The bytes of one file: on disk, or made from a seed, and then with a safetensors header if it is to hold a tensor."""

    def __init__(self, path: Optional[Path], size: int, seed: str = "", tensor: str = "") -> None:
        self.path = path
        self.size = size
        self.seed = f"{seed} {tensor}".strip()
        self._head = safetensors_head(tensor, size) if tensor else b""
        self._pattern = b"" if path else hashlib.shake_256(seed.encode()).digest(BLOCK)

    def read(self, offset: int, count: int) -> bytes:
        """At most BLOCK bytes from an offset."""
        count = max(0, min(count, BLOCK, self.size - offset))
        if self.path is None:
            start = max(offset, len(self._head)) % BLOCK
            return (self._head[offset:] + self._pattern[start:] + self._pattern)[:count]
        with self.path.open("rb") as stream:
            stream.seek(offset)
            return stream.read(count)

    @cached_property
    def sha256(self) -> str:
        digest = hashlib.sha256()
        for offset in range(0, self.size, BLOCK):
            digest.update(self.read(offset, BLOCK))
        return digest.hexdigest()

    @cached_property
    def git_oid(self) -> str:
        digest = hashlib.sha1(b"blob %d\0" % self.size)
        if self.size <= LFS_SIZE:  # the id of a larger file is that of its LFS pointer, which nobody compares
            for offset in range(0, self.size, BLOCK):
                digest.update(self.read(offset, BLOCK))
        return digest.hexdigest()


def safetensors_head(tensor: str, size: int) -> bytes:
    """The header of a file of ``size`` bytes that holds one tensor of bytes; padded, as its own length enters the size it states."""
    length = 256
    rest = size - 8 - length
    header = json.dumps({tensor: {"dtype": "U8", "shape": [rest], "data_offsets": [0, rest]}}).encode()
    return struct.pack("<Q", length) + header.ljust(length)


class Pace:
    """So many bytes a second for all who ask, in the order in which they ask."""

    def __init__(self, rate: int) -> None:
        self.rate = rate
        self._lock = threading.Lock()
        self._free_at = 0.0

    def wait(self, count: int) -> None:
        """Until ``count`` bytes more may go."""
        with self._lock:
            now = time.monotonic()
            self._free_at = max(now, self._free_at) + count / self.rate
            delay = self._free_at - now
        time.sleep(delay)


class Repo:
    """One model repository as it lies on disk at one moment."""

    def __init__(self, name: str, folder: Path, state: tuple[tuple[str, int, int], ...]) -> None:
        self.name = name
        self.state = state
        self.files: dict[str, Blob] = {}
        for relative, size, _mtime in state:
            if relative.endswith(".sparse"):
                wanted, *more = (folder / relative).read_text().split()
                seed, tensor = [*more, *(relative, "")[len(more) :]][:2]
                self.files[relative[:-7]] = Blob(None, int(wanted), seed, tensor)
            else:
                self.files[relative] = Blob(folder / relative, size)
        listing = "\n".join(f"{name} {blob.size} {blob.seed} {blob.git_oid}" for name, blob in sorted(self.files.items()))
        self.commit = hashlib.sha1(listing.encode()).hexdigest()

    def is_lfs(self, name: str) -> bool:
        return name.endswith(LFS_SUFFIXES) or self.files[name].size > LFS_SIZE

    def sibling(self, name: str, with_blobs: bool) -> dict[str, Any]:
        blob = self.files[name]
        entry: dict[str, Any] = {"rfilename": name}
        if with_blobs:
            entry.update(size=blob.size, blobId=blob.git_oid)
            if self.is_lfs(name):
                entry["lfs"] = {"sha256": blob.sha256, "size": blob.size, "pointerSize": 134}
        return entry

    def tree(self, under: str = "") -> list[dict[str, Any]]:
        entries = []
        for name, blob in sorted(self.files.items()):
            if under and not name.startswith(under.rstrip("/") + "/"):
                continue
            entry: dict[str, Any] = {"type": "file", "oid": blob.git_oid, "size": blob.size, "path": name}
            if self.is_lfs(name):
                entry["lfs"] = {"oid": blob.sha256, "size": blob.size, "pointerSize": 134}
            entries.append(entry)
        return entries

    def info(self, with_blobs: bool) -> dict[str, Any]:
        return {
            "_id": "0" * 24, "id": self.name, "modelId": self.name, "sha": self.commit, "private": False, "gated": False,
            "disabled": False, "tags": [], "downloads": 0, "likes": 0,
            "lastModified": "2026-01-01T00:00:00.000Z", "createdAt": "2026-01-01T00:00:00.000Z",
            "siblings": [self.sibling(name, with_blobs) for name in sorted(self.files)],
            "usedStorage": sum(blob.size for blob in self.files.values()),
        }  # fmt: skip


class Hub(ThreadingHTTPServer):
    """The server: repositories, wheelhouse, faults and the log of requests."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(
        self, address: tuple[str, int], root: Path, wheelhouse: Optional[Path] = None, token: str = "", gated: str = "*", rate: int = 0
    ) -> None:
        super().__init__(address, Handler)
        self.root, self.wheelhouse, self.token, self.gated = root, wheelhouse, token, gated
        self.pace = Pace(rate) if rate else None
        self.faults: list[Fault] = []
        self.log: list[dict[str, Any]] = []
        self.lock = threading.Lock()
        self._repos: dict[str, Repo] = {}
        self._scan = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://{self.server_address[0]!s}:{self.server_address[1]}"

    def repo(self, name: str) -> Optional[Repo]:
        """The repository as it is on disk now; hashes are kept until it changes."""
        folder = self.root / name
        if ".." in name or any(part.startswith(".") for part in name.split("/")) or not folder.is_dir():
            return None
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        state = tuple((str(path.relative_to(folder)), path.stat().st_size, path.stat().st_mtime_ns) for path in files)
        with self._scan:
            if name not in self._repos or self._repos[name].state != state:
                self._repos[name] = Repo(name, folder, state)
            return self._repos[name]

    def names(self) -> list[str]:
        return sorted(str(path.relative_to(self.root)) for path in self.root.glob("[!.]*/[!.]*") if path.is_dir())

    def take_fault(self, method: str, name: str, area: str) -> Fault:
        """The first fault that fits, used up by one; empty when none does."""
        with self.lock:
            for fault in self.faults:
                if fault.get("times", 1) <= 0 or method not in fault.get("methods", ["GET"]):
                    continue
                if fault.get("path", "resolve") == area and fnmatch.fnmatch(name, fault.get("match", "*")):
                    fault["times"] = fault.get("times", 1) - 1
                    return dict(fault)
        return {}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Hub

    def log_message(self, format: str, *args: Any) -> None:
        """The log is kept for GET /_mock/log instead."""

    def note(self, status: int, sent: int = 0, fault: Optional[str] = None) -> None:
        with self.server.lock:
            self.server.log.append({
                "t": round(time.time(), 3), "method": self.command, "path": self.path, "range": self.headers.get("Range"),
                "status": status, "sent": sent, "fault": fault, "ua": (self.headers.get("User-Agent") or "")[:60],
            })  # fmt: skip

    def reply(self, status: int, body: Any = b"", headers: Headers = (), kind: str = "application/json") -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for key, value in (("Content-Type", kind), ("Content-Length", str(len(data))), *headers):
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)
        self.note(status, len(data))

    def refuse(self, status: int, code: str, message: str, headers: Headers = ()) -> None:
        # huggingface_hub chooses its exception by X-Error-Code
        self.reply(status, {"error": message}, [("X-Error-Code", code), ("X-Error-Message", message), *headers])

    def refuse_by_fault(self, fault: Fault) -> None:
        headers = [("Retry-After", str(fault["retry_after"]))] if "retry_after" in fault else []
        self.refuse(fault["status"], "Mock", "injected", headers)

    # --- routes

    def do_DELETE(self) -> None:
        with self.server.lock:
            {"/_mock/faults": self.server.faults, "/_mock/log": self.server.log}.get(self.path, []).clear()
        self.reply(200, {})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/_mock/faults":
            with self.server.lock:
                self.server.faults.extend(json.loads(body))
            return self.reply(200, {"faults": self.server.faults})
        found = re.match(r"^/api/models/([^/]+/[^/]+)/paths-info/([^/]+)$", urlsplit(self.path).path)
        if not found:
            return self.refuse(404, "NotFound", "no such endpoint")
        repo = self.find_repo(found[1], found[2])
        if repo is not None:
            is_json = "json" in self.headers.get("Content-Type", "")
            wanted = json.loads(body).get("paths", []) if is_json else parse_qs(body.decode()).get("paths", [])
            self.reply(200, [entry for entry in repo.tree() if entry["path"] in wanted])
        return None

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        path = unquote(parts.path)
        if path in ("/_mock/log", "/_mock/faults"):
            return self.reply(200, self.server.log if path.endswith("log") else self.server.faults)
        if path == "/api/whoami-v2":
            return self.whoami()
        if path.startswith("/wheelhouse/"):
            return self.wheels(path[len("/wheelhouse/") :])
        found = re.match(r"^/api/models/([^/]+/[^/]+)(?:/(revision|tree|refs)(?:/([^/]+)(?:/(.*))?)?)?$", path)
        if found:
            return self.api(found[1], found[2] or "info", found[3], found[4] or "", "blobs" in parse_qs(parts.query))
        found = re.match(r"^/([^/]+/[^/]+)/resolve/([^/]+)/(.+)$", path)
        if found:
            return self.resolve(found[1], found[2], found[3])
        return self.refuse(404, "NotFound", "no such endpoint")

    # --- the hub

    def token_fits(self) -> bool:
        return not self.server.token or self.headers.get("Authorization") == f"Bearer {self.server.token}"

    def whoami(self) -> None:
        if not self.token_fits():
            return self.refuse(401, "InvalidToken", "Invalid credentials in Authorization header")
        return self.reply(200, {"type": "user", "name": "mock", "auth": {"accessToken": {"displayName": "t", "role": "read"}}})

    def find_repo(self, name: str, revision: Optional[str] = None) -> Optional[Repo]:
        if not self.token_fits() and fnmatch.fnmatch(name, self.server.gated):
            self.refuse(401, "GatedRepo", "Access to this model is restricted.")
            return None
        repo = self.server.repo(name)
        if repo is None:
            self.refuse(401, "RepoNotFound", "Repository not found")  # as the Hub answers an anonymous client
        elif revision not in (None, "main", repo.commit):
            self.refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        else:
            return repo
        return None

    def api(self, name: str, what: str, revision: Optional[str], under: str, with_blobs: bool) -> None:
        repo = self.find_repo(name, revision if what in ("revision", "tree") else None)
        if repo is None:
            return None
        fault = self.server.take_fault(self.command, what, "api")
        if fault.get("kind") == "status":
            return self.refuse_by_fault(fault)
        if what == "tree":
            return self.reply(200, repo.tree(under))
        if what == "refs":
            branch = {"name": "main", "ref": "refs/heads/main", "targetCommit": repo.commit}
            return self.reply(200, {"branches": [branch], "tags": [], "converts": []})
        return self.reply(200, repo.info(with_blobs))

    def resolve(self, name: str, revision: str, file: str) -> None:
        repo = self.find_repo(name, revision)
        if repo is None:
            return None
        headers = [("X-Repo-Commit", repo.commit)]
        blob = repo.files.get(file)
        if blob is None:
            return self.refuse(404, "EntryNotFound", "Entry not found", headers)
        fault = self.server.take_fault(self.command, file, "resolve")
        if fault.get("kind") == "status":
            return self.refuse_by_fault(fault)
        etag = f'"{blob.sha256 if repo.is_lfs(file) else blob.git_oid}"'
        headers.append(("ETag", etag))
        if repo.is_lfs(file):
            headers += [("X-Linked-Etag", etag), ("X-Linked-Size", str(blob.size))]
        return self.send_blob(blob, headers, fault)

    # --- the wheelhouse

    def wheels(self, rest: str) -> None:
        folder, _, file = rest.partition("/")
        base = self.server.wheelhouse
        if base is None or folder.startswith(".") or "/" in file or file.startswith(".") or not (base / folder).is_dir():
            return self.refuse(404, "NotFound", "no such wheelhouse")
        if not file:
            names = sorted(path.name for path in (base / folder).iterdir() if path.suffix in (".whl", ".gz", ".zip"))
            links = "\n".join(f'<a href="{quote(name)}">{html.escape(name)}</a><br>' for name in names)
            return self.reply(200, f"<!DOCTYPE html><html><body>\n{links}\n</body></html>\n".encode(), kind="text/html")
        path = base / folder / file
        if not path.is_file():
            return self.refuse(404, "NotFound", "no such file")
        return self.send_blob(Blob(path, path.stat().st_size), [], {})

    # --- bodies

    def wanted_range(self, size: int) -> Optional[tuple[int, int]]:
        """First and last byte of a Range header; None when there is none that we serve."""
        found = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range") or "")
        if not found or not (found[1] or found[2]):
            return None
        if not found[1]:
            return max(0, size - int(found[2])), size - 1
        return int(found[1]), min(int(found[2]) if found[2] else size - 1, size - 1)

    def send_blob(self, blob: Blob, headers: list[tuple[str, str]], fault: Fault) -> None:
        span = self.wanted_range(blob.size) if self.command == "GET" else None
        headers.append(("Accept-Ranges", "bytes"))
        if span and span[0] >= blob.size:
            return self.reply(416, b"", [("Content-Range", f"bytes */{blob.size}"), *headers])
        start, end = span or (0, blob.size - 1)
        if span:
            headers.append(("Content-Range", f"bytes {start}-{end}/{blob.size}"))
        self.send_response(206 if span else 200)
        for key, value in (*headers, ("Content-Type", "application/octet-stream"), ("Content-Length", str(end - start + 1))):
            self.send_header(key, value)
        self.end_headers()
        sent = 0
        if self.command == "GET":
            with contextlib.suppress(OSError):  # a client that went away
                sent = self.send_body(blob, start, end - start + 1, fault)
        return self.note(206 if span else 200, sent, fault.get("kind"))

    def send_body(self, blob: Blob, start: int, total: int, fault: Fault) -> int:
        kind, sent = fault.get("kind"), 0
        pause_at = fault.get("after", 0) if kind in ("cut", "stall") else None
        while sent < total:
            if pause_at is not None and sent >= pause_at:
                if kind == "cut":
                    self.close_connection = True
                    with contextlib.suppress(OSError):
                        self.connection.shutdown(socket.SHUT_RDWR)
                    return sent
                time.sleep(fault.get("seconds", 5))
                pause_at = None
            count = min(BLOCK, total - sent, pause_at - sent if pause_at is not None else BLOCK)
            if kind == "slow":  # before the bytes, in tenths of a second: the client sees a slow line and the log ends with the last byte
                count = min(count, max(1, fault.get("bps", BLOCK) // 10))
                time.sleep(count / fault.get("bps", BLOCK))
            if self.server.pace:
                count = min(count, max(1, self.server.pace.rate // 20))
                self.server.pace.wait(count)
            data = blob.read(start + sent, count)
            at = fault.get("at", 0) - start - sent
            if kind == "corrupt" and 0 <= at < count:
                data = data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]
            self.wfile.write(data)
            sent += count
        return sent


def main() -> None:
    parser = argparse.ArgumentParser(description="A mock Hugging Face Hub with faults on demand")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8900)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--wheelhouse", type=Path)
    parser.add_argument("--token", default="")
    parser.add_argument("--gated", default="*", metavar="PATTERN")
    parser.add_argument("--rate", type=int, default=0, metavar="BYTES_A_SECOND")
    options = parser.parse_args()
    hub = Hub((options.host, options.port), options.root, options.wheelhouse, options.token, options.gated, options.rate)
    for name in hub.names():
        repo = hub.repo(name)
        if repo is not None:
            for file in filter(repo.is_lfs, repo.files):
                repo.files[file].sha256  # noqa: B018  # hashed now, so that the first request need not wait
            print(f"{name}@{repo.commit[:12]}: {len(repo.files)} files, {sum(blob.size for blob in repo.files.values())} bytes", flush=True)
    print(f"HF_ENDPOINT={hub.url}", flush=True)
    hub.serve_forever()


if __name__ == "__main__":
    main()
