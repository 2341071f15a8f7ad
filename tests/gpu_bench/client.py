# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Sends a load to SGLang's own /generate as a stream, and notes when the first and the last token came. Standard library only.

The engine's `sglang.bench_serving` does the same, but needs `datasets` and `transformers` beside the engine, and a tokenizer's text.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Optional

from tests.gpu_bench.loads import Load, prompts

LONGEST_LINE = 1 << 24
"""Bytes of a line of the stream: each holds the whole answer so far."""


@dataclass(frozen=True)
class Answer:
    """What came of one request; seconds are after the load began."""

    seconds: float
    first: Optional[float] = None
    tokens: int = 0
    steps: Optional[int] = None
    """Verification steps, where the engine drafts."""
    problem: str = ""


@dataclass(frozen=True)
class Target:
    """Where the server listens, and how long a load may take."""

    port: int
    timeout: float
    host: str = "127.0.0.1"


def _body(ids: Sequence[int], tokens_out: int) -> bytes:
    sampling = {"max_new_tokens": tokens_out, "temperature": 0, "ignore_eos": True}
    return json.dumps({"input_ids": list(ids), "sampling_params": sampling, "stream": True}).encode()


def _read(line: bytes, seconds: float, first: Optional[float], wanted: int) -> Answer:
    """The last line of a stream, which has the request's figures."""
    try:
        found: dict[str, Any] = json.loads(line)
        tokens = int(found["meta_info"]["completion_tokens"])
    except (ValueError, KeyError, TypeError):
        return Answer(seconds, first, problem=line[:200].decode(errors="replace") or "no answer")
    problem = "" if tokens == wanted else f"{tokens} tokens instead of {wanted}"
    return Answer(seconds, first, tokens, found["meta_info"].get("spec_verify_ct"), problem)


async def _ask(target: Target, body: bytes, wanted: int, begun: float) -> Answer:
    reader, writer = await asyncio.open_connection(target.host, target.port, limit=LONGEST_LINE)
    first: Optional[float] = None
    last = b""
    try:
        head = f"POST /generate HTTP/1.1\r\nHost: {target.host}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        writer.write(head.encode() + b"Connection: close\r\n\r\n" + body)
        await writer.drain()
        status = await reader.readline()
        if b" 200 " not in status:
            said = (status + (await reader.read(400))[-200:]).decode(errors="replace")
            return Answer(time.monotonic() - begun, problem=said or "the connection was closed")
        while line := await reader.readline():
            if line.startswith(b"data: [DONE]"):
                break
            if line.startswith(b"data: "):
                first = time.monotonic() - begun if first is None else first
                last = line[6:]
    finally:
        writer.close()
    return _read(last, time.monotonic() - begun, first, wanted)


async def _within(target: Target, body: bytes, wanted: int, begun: float) -> Answer:
    try:
        return await asyncio.wait_for(_ask(target, body, wanted, begun), target.timeout)
    except (OSError, ValueError, asyncio.TimeoutError, asyncio.IncompleteReadError) as error:
        return Answer(time.monotonic() - begun, problem=repr(error)[:200])


async def _all(target: Target, bodies: list[bytes], load: Load) -> list[Answer]:
    begun = time.monotonic()
    return await asyncio.gather(*(_within(target, body, one.tokens_out, begun) for body, one in zip(bodies, load.requests)))


def send(target: Target, load: Load, seed: int) -> list[Answer]:
    """All requests of a load at once; returns when the last has ended, one answer each, in order."""
    bodies = [_body(ids, one.tokens_out) for ids, one in zip(prompts(load, seed), load.requests)]
    return asyncio.run(_all(target, bodies, load))
