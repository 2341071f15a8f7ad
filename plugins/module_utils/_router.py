# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a router knows of its servers, and what it must be told. Pure.

How sglang-router 0.3.2 behaves was tried; docs/router.md holds what was found.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError

# What the router calls a model that it could not ask for: the server's key was wrong. /health needs none, so it is healthy all the same.
UNKNOWN_MODEL = "unknown"
ADD, REMOVE = "add", "remove"


@dataclass(frozen=True)
class Worker:
    """A server as a router lists it."""

    identifier: str
    url: str
    model: str
    healthy: bool


def parse_workers(body: bytes) -> list[Worker]:
    """The answer to ``GET /workers``."""
    try:
        return [
            Worker(str(worker["id"]), plain_url(worker["url"]), str(worker.get("model_id") or UNKNOWN_MODEL), worker["is_healthy"] is True)
            for worker in json.loads(body)["workers"]
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SglangError(
            "what answers is no sglang-router",
            found=body[:200].decode("utf-8", "replace"),
            wanted="a list of workers with id, url and is_healthy",
            next_step="look at what listens on the router's port; the release that this collection installs is in sglang_router's lock",
        ) from error


def parse_job(body: bytes) -> tuple[str, str]:
    """The answer to ``GET /workers/<id>`` as (state, words): there, failed, or waiting."""
    try:
        document = json.loads(body)
        job = document.get("job_status")
        if not job:
            return ("there", "") if document.get("id") else ("waiting", "")
        return ("failed", str(job.get("message") or "")) if job.get("status") == "failed" else ("waiting", "")
    except (ValueError, AttributeError, RecursionError):
        return "waiting", ""


def plain_url(url: str) -> str:
    """One spelling: the router takes ``http://a:1`` and ``http://a:1/`` for two servers."""
    return str(url).rstrip("/")


def parse_recorded(text: Optional[str], path: str) -> dict[str, dict[str, Any]]:
    """``workers.json``: {url: {"api_key": str}}."""
    try:
        workers = json.loads(text or "")["workers"]
        if not isinstance(workers, dict) or not all(isinstance(worker, dict) for worker in workers.values()):
            raise TypeError("workers is no dictionary of dictionaries")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise SglangError(
            "the router's list of servers cannot be read",
            found=f"{path}: {error}",
            wanted="the file that the role sglang_router made",
            next_step="remove the file, run playbooks/router.yml, and undrain the servers that should be in it",
        ) from error
    return {plain_url(url): dict(worker) for url, worker in workers.items()}


def dump_recorded(workers: Mapping[str, Mapping[str, Any]]) -> str:
    """The file's text."""
    return json.dumps({"format": 1, "workers": workers}, indent=2, sort_keys=True) + "\n"


def entry(api_key: str) -> dict[str, Any]:
    """What is written down of a server."""
    return {"api_key": api_key} if api_key else {}


def steps_in(listed: Optional[Worker], recorded: Optional[Mapping[str, Any]], api_key: str) -> tuple[str, ...]:
    """To have a server in. The router takes a second registration and goes on with the first one's key, so another key means both."""
    if listed is None:
        return (ADD,)
    if recorded is not None and dict(recorded) == entry(api_key) and listed.model != UNKNOWN_MODEL:
        return ()
    return (REMOVE, ADD)
