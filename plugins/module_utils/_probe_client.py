# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""HTTP to one server with a deadline for the whole answer, not only for each read: a server that trickles for ever is ended."""

from __future__ import annotations

import http.client
import json
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Optional
from urllib.parse import urlsplit

from ansible_collections.inference.sglang.plugins.module_utils._errors import CodedError

LARGEST_ANSWER = 8 << 20
_ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}


@dataclass(frozen=True)
class Reply:
    """A whole answer."""

    status: int
    body: bytes
    seconds: float


class TooSlow(Exception):
    """The answer was not complete when the time was up."""


class Unreachable(Exception):
    """No connection, or one that broke."""


class HttpClient:
    """Requests to the server's address; the key goes into a header and nowhere else."""

    def __init__(self, url: str, api_key: Optional[str] = None, validate_certs: bool = True) -> None:
        parts = urlsplit(url if "//" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise CodedError("PROBE-020", "not a server's address", url, "http://host:port", "correct url")
        self._tls = parts.scheme == "https"
        # A server that listens everywhere is asked over loopback.
        self._host = _ANY_ADDRESS.get(parts.hostname, parts.hostname)
        self._port = parts.port or (443 if self._tls else 80)
        self._base = parts.path.rstrip("/")
        self._headers = {"Content-Type": "application/json", "Connection": "close"}
        if api_key:
            if not all(33 <= ord(character) <= 126 for character in api_key):
                # Without the key: http.client would print all of it.
                raise CodedError(
                    "PROBE-021",
                    "the API key holds characters that an HTTP header cannot carry",
                    "a blank, a line break or another such character",
                    "printable ASCII characters without blanks",
                    "deploy with another sglang_server_api_key",
                )
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._context = ssl.create_default_context() if self._tls else None
        if self._context is not None and not validate_certs:
            self._context.check_hostname = False
            self._context.verify_mode = ssl.CERT_NONE

    def _connect(self, timeout: float) -> http.client.HTTPConnection:
        if self._context is not None:
            return http.client.HTTPSConnection(self._host, self._port, timeout=timeout, context=self._context)
        return http.client.HTTPConnection(self._host, self._port, timeout=timeout)

    def request(self, method: str, path: str, payload: Optional[Mapping[str, Any]], timeout: float) -> Reply:
        """One request and its whole answer within ``timeout`` seconds."""
        began = time.monotonic()
        deadline = began + timeout
        connection = self._connect(timeout)
        try:
            body = json.dumps(payload).encode() if payload is not None else None
            connection.request(method, self._base + path, body, self._headers)
            response = connection.getresponse()
            data = self._read(connection, response, deadline)
            return Reply(response.status, data, time.monotonic() - began)
        except TimeoutError as error:
            raise TooSlow(f"{method} {path}: no whole answer within {timeout:.0f} s") from error
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(f"{method} {path}: {type(error).__name__}: {error}") from error
        except ValueError as error:
            # Such an error repeats what it could not send, and that may be the key.
            raise Unreachable(f"{method} {path}: {type(error).__name__}: the request cannot be sent") from None
        finally:
            connection.close()

    @staticmethod
    def _read(connection: http.client.HTTPConnection, response: http.client.HTTPResponse, deadline: float) -> bytes:
        parts: list[bytes] = []
        size = 0
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            if connection.sock is not None:
                connection.sock.settimeout(left)
            data = response.read1(1 << 16)
            if not data:
                return b"".join(parts)
            parts.append(data)
            size += len(data)
            if size > LARGEST_ANSWER:
                raise http.client.HTTPException(f"an answer of more than {LARGEST_ANSWER >> 20} MiB")
