# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is done on the host of any balancer: one run at a time, and a look at the server from there."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO
from urllib.parse import urlsplit

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._probe_client import HttpClient, TooSlow, Unreachable

LOCK_SECONDS = 30.0
# The server tells nobody when it is healthy.
POLL_SECONDS = 0.5
HEALTH_SECONDS = 10.0


@contextmanager
def locked(stream: IO[str], what: str) -> Iterator[None]:
    """Hold an open file for as long as the block takes; hosts of one batch are told to a balancer side by side."""
    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError as error:
            if time.monotonic() >= deadline:
                raise SglangError(
                    f"{what} is held by another run",
                    found=f"{stream.name} is locked for {LOCK_SECONDS:.0f} seconds",
                    wanted="a lock that is held for moments only",
                    next_step="look for a process that hangs (fuser), then run again",
                ) from error
            time.sleep(0.1)
    yield


class Deadline:
    """How long a balancer may take in all, in seconds."""

    def __init__(self, seconds: int) -> None:
        self._seconds = seconds
        self._at = time.monotonic() + seconds

    @property
    def passed(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() >= self._at

    def pause(self, wrong: str, found: str, next_step: str) -> None:
        """Until the next look; fails when the time is up."""
        if self.passed:
            raise SglangError(wrong, found=f"after {self._seconds} seconds: {found}", wanted="that in less time", next_step=next_step)
        time.sleep(POLL_SECONDS)


def wait_until_healthy(url: str, balancer: str, deadline: Deadline) -> None:
    """Until the server says so to this host, as it will to the balancer."""
    http = HttpClient(url)
    while True:
        try:
            status = http.request("GET", "/health", None, HEALTH_SECONDS).status
            if status == 200:
                return
            found = f"status {status} for {url}/health"
        except (Unreachable, TooSlow) as error:
            found = f"{url}: {error}"
        deadline.pause(
            f"the server is not healthy as seen from {balancer}",
            found,
            f"let it listen on an address that {balancer} reaches (sglang_server_host) and open the way; "
            "fleet_rollout_address names another address",
        )


def split_url(url: str) -> tuple[str, int]:
    """Host (an IPv6 address without brackets) and port of ``http://host:port``."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    # What goes on into a configuration file must not end its line or its statement.
    if not host or not port or any(character in host for character in " \t\r\n;{}#'\"\\$"):
        raise SglangError(
            "a balancer cannot be told this address of a server",
            found=repr(url),
            wanted="http://host:port",
            next_step="correct fleet_rollout_address or sglang_server_port",
        )
    return host, port
