#!/usr/bin/env python3
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Runs sglang-router for a systemd unit: ``launcher.py router.json``, and ``launcher.py --check < router.json`` to parse its options only.

* sglang-router 0.3.2 takes its key from the command line only. It is read from a systemd credential instead and handed over in memory.
* It forgets its servers when it ends. What the collection registered stands in ``workers.json`` beside router.json, and a child puts
  that back, each server as soon as it is healthy itself: the router goes on adding an unhealthy one for as long as it was told to,
  and a removal meanwhile does not stop it.

It needs nothing but the standard library and the router in the same environment.
"""

from __future__ import annotations

import fcntl
import json
import os
import resource
import signal
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any, Optional

PAUSE_SECONDS = 2.0
ANSWER_SECONDS = 5.0


def say(text: str) -> None:
    """One line for the journal."""
    print(f"inference.sglang: {text}", flush=True)


def arguments_of(options: dict[str, Any]) -> list[str]:
    """The command line that the options stand for; false and none stand for the router's own default."""
    words: list[str] = []
    for name, value in sorted(options.items()):
        option = "--" + name.replace("_", "-")
        if value is True:
            words.append(option)
        elif isinstance(value, list):
            words += [option, *map(str, value)]
        elif value is not None and value is not False:
            words.append(f"{option}={value}")
    return words


def parsed(options: dict[str, Any]) -> Any:
    """The router's own arguments; ends with status 2 and its words when it refuses one."""
    from sglang_router.launch_router import parse_router_args

    return parse_router_args(arguments_of(options))


def read_key() -> Optional[str]:
    """The unit's credential, if it has one. An empty one must not become an open router."""
    path = Path(os.environ.get("CREDENTIALS_DIRECTORY", "/nonexistent"), "api-key")
    if not path.exists():
        return None
    key = path.read_text(encoding="utf-8").strip()
    if not key:
        raise SystemExit("inference.sglang: the credential api-key is empty: a router that should have a key would be open")
    return key


class Restorer:
    """Puts back what was registered."""

    def __init__(self, home: Path, url: str, key: Optional[str]) -> None:
        self.workers = home / "workers.json"
        self.lock = home / "workers.lock"
        self.url = url
        self.headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}

    def ask(self, url: str, body: Optional[dict[str, Any]] = None) -> bytes:
        """One request. Raises OSError."""
        data = json.dumps(body).encode() if body is not None else None
        headers = self.headers if url.startswith(self.url + "/") else {}
        # Never by a proxy: the fleet's servers are neighbours.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(urllib.request.Request(url, data, headers), timeout=ANSWER_SECONDS) as answer:
            return bytes(answer.read())

    def round(self) -> bool:
        """Whether all are there again. Locked, as a server that is being drained must not come back by this."""
        with self.lock.open() as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            wanted = json.loads(self.workers.read_text(encoding="utf-8"))["workers"]
            there = {worker["url"].rstrip("/") for worker in json.loads(self.ask(f"{self.url}/workers"))["workers"]}
            missing = {url: worker for url, worker in wanted.items() if url not in there}
            for url, worker in missing.items():
                self.put_back(url, worker)
        return not missing

    def put_back(self, url: str, worker: dict[str, Any]) -> None:
        """One server, if it is healthy."""
        try:
            self.ask(f"{url}/health")
        except OSError:
            return
        key = worker.get("api_key")
        self.ask(f"{self.url}/workers", {"url": url, **({"api_key": key} if key else {})})
        say(f"puts back {url}, which it had before")

    def run(self, parent: int) -> None:
        """Until all are there, or the router has ended."""
        while os.getppid() == parent:
            try:
                if self.round():
                    return
            except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
                # The router is not up yet, or the file is damaged: the next round may find both mended.
                reason = f"{type(error).__name__}: {error}"
                if not isinstance(error, OSError):
                    say(f"cannot put back what the router had before: {reason}")
            time.sleep(PAUSE_SECONDS)


def main(argv: list[str]) -> None:
    """Options, key, child, router."""
    if argv == ["--check"]:
        parsed(json.load(sys.stdin)["options"])
        return
    record_file = Path(argv[0])
    record = json.loads(record_file.read_text(encoding="utf-8"))
    key = read_key()
    runtime = os.environ.get("RUNTIME_DIRECTORY")
    if runtime:
        # What runs, for the role to compare with what it wants.
        Path(runtime, "release").write_text(record["release"] + "\n", encoding="utf-8")
    # Nobody waits for the child: the router's own code knows nothing of it.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    parent = os.getpid()
    if os.fork() == 0:
        Restorer(record_file.parent, record["url"], key).run(parent)
        os._exit(0)
    # Each stream takes two descriptors, and systemd's soft limit is 1024.
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    arguments = parsed(record["options"])
    arguments.api_key = key
    from sglang_router.launch_router import launch_router

    launch_router(arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
