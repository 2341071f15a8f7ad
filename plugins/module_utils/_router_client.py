# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The router's administration by HTTP, and its list of servers on the disk."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._balancer_host import locked
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._probe_client import HttpClient, Reply, TooSlow, Unreachable
from ansible_collections.inference.sglang.plugins.module_utils._router import (
    Worker,
    dump_recorded,
    parse_job,
    parse_recorded,
    parse_workers,
)

ANSWER_SECONDS = 10.0


class RouterStopped(Exception):
    """Nothing listens on its port: it sends nothing to anybody."""


class RouterClient:
    """One router."""

    def __init__(self, url: str, api_key: Optional[str]) -> None:
        self._url = url
        self._http = HttpClient(url, api_key)

    def _ask(self, method: str, path: str, payload: Optional[Mapping[str, Any]] = None) -> Reply:
        try:
            reply = self._http.request(method, path, payload, ANSWER_SECONDS)
        except Unreachable as error:
            if isinstance(error.__cause__, ConnectionRefusedError):
                raise RouterStopped from error
            raise self._silent(str(error)) from error
        except TooSlow as error:
            raise self._silent(str(error)) from error
        if reply.status in (401, 403):
            raise SglangError(
                "the router does not take its key",
                found=f"status {reply.status} for {method} {path}",
                wanted="the key that the role sglang_router wrote",
                next_step="run playbooks/router.yml: the running router has another key than its file",
            )
        return reply

    def _silent(self, found: str) -> SglangError:
        return SglangError(
            "the router does not answer",
            found=f"{self._url}: {found}",
            wanted=f"an answer within {ANSWER_SECONDS:.0f} seconds",
            next_step="journalctl -u sglang-router on the router's host says what it does",
        )

    def workers(self) -> list[Worker]:
        """All that it lists."""
        return parse_workers(self._ask("GET", "/workers").body)

    def add(self, url: str, api_key: str) -> str:
        """Asks for a server to be added; the id of the job, and of the server once it is there."""
        reply = self._ask("POST", "/workers", {"url": url, **({"api_key": api_key} if api_key else {})})
        try:
            return str(json.loads(reply.body)["worker_id"])
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise self._refused(f"adding {url}", reply) from error

    def remove(self, identifier: str) -> None:
        """Asks for a server to be removed; one that is gone already is fine."""
        reply = self._ask("DELETE", f"/workers/{identifier}")
        if reply.status not in (200, 202, 404):
            raise self._refused(f"removing {identifier}", reply)

    def job(self, identifier: str) -> tuple[str, str]:
        """(state, words) of a registration."""
        return parse_job(self._ask("GET", f"/workers/{identifier}").body)

    @staticmethod
    def _refused(what: str, reply: Reply) -> SglangError:
        return SglangError(
            f"the router refused {what}",
            found=f"status {reply.status}: {reply.body[:300].decode('utf-8', 'replace')}",
            wanted="202 and a worker_id",
            next_step="journalctl -u sglang-router on the router's host says more",
        )


class WorkersFile:
    """``workers.json`` and its lock, which the launcher's child takes as well."""

    def __init__(self, home: str) -> None:
        self.path = os.path.join(home, "workers.json")
        self._lock = os.path.join(home, "workers.lock")

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nobody else reads it to act on it meanwhile. Raises OSError where the role made no router."""
        with open(self._lock, encoding="utf-8") as stream, locked(stream, "the router's list of servers"):
            yield

    def read(self) -> dict[str, dict[str, Any]]:
        """{url: {"api_key": str}}."""
        with open(self.path, encoding="utf-8", errors="replace") as stream:
            return parse_recorded(stream.read(), self.path)

    def write(self, workers: Mapping[str, Mapping[str, Any]]) -> None:
        """At once, with the owner and mode that the role gave it: it holds keys."""
        before = os.stat(self.path)
        part = self.path + ".new"
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as stream:
            stream.write(dump_recorded(workers))
            stream.flush()
            os.fsync(stream.fileno())
        os.chown(part, before.st_uid, before.st_gid)
        os.chmod(part, before.st_mode & 0o777)
        os.replace(part, self.path)
