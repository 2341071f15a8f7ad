# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A host that serves its environment, and a line to it that breaks or stands still when a test wants it to."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional
from urllib.parse import urlsplit

from ansible_collections.inference.sglang.plugins.module_utils._environment_files import partial_of
from ansible_collections.inference.sglang.plugins.module_utils._environment_tree import walk
from ansible_collections.inference.sglang.plugins.modules import environment_peer

from tests.support.environments import Host

TOKEN = "canary-of-a-transfer-0123456789"
BIG = 3_000_000


def contents(path: Path) -> dict[str, tuple[Any, ...]]:
    """Everything that a copy must have in common with its original."""
    found: dict[str, tuple[Any, ...]] = {}
    for name, status in walk(str(path)):
        full = path / name
        if full.is_symlink():
            found[name] = ("link", os.readlink(full))
        elif full.is_dir():
            found[name] = ("directory", oct(status.st_mode))
        else:
            found[name] = ("file", oct(status.st_mode), status.st_mtime_ns, full.read_bytes())
    return found


@dataclass
class Builder:
    """A host that built the environment and serves it."""

    host: Host
    built: dict[str, Any]
    offers: list[dict[str, Any]] = field(default_factory=list)
    aside: Optional[Path] = None

    @property
    def path(self) -> Path:
        return Path(self.built["path"])

    @property
    def sha256(self) -> str:
        return str(self.built["manifest_sha256"])

    def serve(self, **changes: Any) -> dict[str, Any]:
        """The option ``peer`` for a receiver."""
        values = {"path": str(self.path), "digest": self.built["digest"], "address": "127.0.0.1", "port": 0, "token": TOKEN}
        offer = environment_peer.serve({**values, "idle": 60.0, "lifetime": 300.0, **changes}, check_mode=False)
        self.offers.append(offer)
        return {"url": offer["url"], "token": TOKEN, "manifest_sha256": self.sha256}

    def leave(self) -> None:
        """From now on the path is the receiver's."""
        self.aside = self.host.folder / f"original-{len(self.offers)}"
        self.path.rename(self.aside)
        self.host.link.unlink(missing_ok=True)

    def come_back(self) -> None:
        """The place of the original again, to be served once more."""
        assert self.aside is not None
        self.aside.rename(self.path)

    def again(self) -> dict[str, Any]:
        """One more server of the original, after the first one has gone."""
        self.come_back()
        peer = self.serve()
        self.leave()
        return peer

    @property
    def partial(self) -> Path:
        return Path(partial_of(str(self.path)))


class Line:
    """A connection between two hosts that lets so many bytes of answers through; then it breaks, or stands still.

    One number for each connection, the last one for all that follow; None lets everything through.
    """

    def __init__(self, url: str, allowed: list[Optional[int]], still: bool = False) -> None:
        self._target = urlsplit(url)
        self._allowed, self._still = iter(allowed + [allowed[-1]] * 99), still
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.requests: list[bytes] = []
        self.standing = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def starts(self) -> list[int]:
        """From which byte of the stream it was asked for, each time."""
        asked = [request for request in self.requests if b"/files " in request]
        return [int(request.split(b"Range: bytes=")[1].split(b"-")[0]) for request in asked]

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _address = self._listener.accept()
                threading.Thread(target=self._carry, args=(near, next(self._allowed)), daemon=True).start()

    def _carry(self, near: socket.socket, allowed: Optional[int]) -> None:
        with near, contextlib.suppress(OSError):
            request = near.recv(65536)
            self.requests.append(request)
            with socket.create_connection((self._target.hostname, self._target.port)) as far:
                far.sendall(request)
                while block := far.recv(65536):
                    if allowed is not None:
                        block, allowed = block[:allowed], allowed - len(block[:allowed])
                    near.sendall(block)
                    if allowed == 0:
                        self.standing.set()
                        if self._still:
                            near.recv(1)
                        return

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # closing alone does not wake the thread that accepts
        self._listener.close()


def slowed(peer: dict[str, Any], allowed: list[Optional[int]], still: bool = False) -> tuple[Line, dict[str, Any]]:
    line = Line(peer["url"], allowed, still)
    return line, {**peer, "url": line.url}
