# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Takes bytes from the server of a transfer (_peer_server). Every way in which a peer can fail is a PeerBroken."""

from __future__ import annotations

import contextlib
import io
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from typing import Union
from urllib.parse import urlsplit

# Without a byte for so long a peer is gone; as on its side.
SILENCE = 60.0


class PeerBroken(Exception):
    """The peer did not send what was asked; the text says how."""


class Incoming:
    """The bytes of one answer."""

    def __init__(self, response: Union[HTTPResponse, io.BytesIO]) -> None:
        self._response = response

    def read(self, length: int) -> bytes:
        """At most `length` bytes (1 or more), and at least one; PeerBroken where no more come."""
        block = self._next(length)
        if not block:
            raise PeerBroken("the answer ended early")
        return block

    def all(self, limit: int, on_block: Callable[[], None]) -> bytes:
        """Everything, or the first `limit` bytes of it."""
        pieces: list[bytes] = []
        while limit > 0 and (block := self._next(min(limit, 1 << 20))):
            on_block()
            pieces.append(block)
            limit -= len(block)
        return b"".join(pieces)

    def _next(self, length: int) -> bytes:
        try:
            # What is there now: a peer that trickles must not keep the receiver from looking at its time limit.
            return self._response.read1(length)
        except (OSError, HTTPException, ValueError) as failure:
            raise PeerBroken(f"the connection broke: {failure or type(failure).__name__}") from failure


@dataclass(frozen=True)
class Peer:
    """A host that serves an environment, and the SHA-256 of the manifest that its builder vouches for."""

    url: str
    token: str
    manifest_sha256: str

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or self.url

    @contextlib.contextmanager
    def open(self, path: str, start: int = 0) -> Iterator[Incoming]:
        """The answer to a path, from a byte on."""
        headers = {"Authorization": f"Bearer {self.token}", "Range": f"bytes={start}-"}
        try:
            # A proxy of the host's is for the way out of the fleet.
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            response = opener.open(urllib.request.Request(self.url + path, headers=headers), timeout=SILENCE)
        except urllib.error.HTTPError as error:
            with error:
                raise PeerBroken(f"it answers {error.code} {error.headers.get('X-Error-Message') or error.reason}") from None
        except (OSError, HTTPException, ValueError) as failure:
            raise PeerBroken(f"it cannot be asked: {getattr(failure, 'reason', failure)}") from failure
        with response:
            if response.status != 206:
                raise PeerBroken(f"it answers {response.status} to a request for a part")
            yield Incoming(response)
