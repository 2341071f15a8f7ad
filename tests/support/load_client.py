# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Steady load on an OpenAI-style address, from a client that never tries twice: what fails is counted, not hidden.

A share of the requests are long streams. Each must end with a ``finish_reason`` and ``[DONE]``, and have as many tokens as were asked for.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Optional


@dataclass(frozen=True)
class Outcome:
    """How one request went; ``fault`` is empty when all was well."""

    stream: bool
    began: float
    seconds: float
    fault: str


def ask(address: tuple[str, int], payload: dict[str, Any], api_key: str, timeout: float) -> str:
    """One request on a connection of its own. Returns the fault."""
    connection = http.client.HTTPConnection(*address, timeout=timeout)
    try:
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {api_key}"} if api_key else {})}
        connection.request("POST", "/v1/chat/completions", json.dumps(payload), headers)
        response = connection.getresponse()
        body = response.read()
        if response.status != 200:
            return f"status {response.status}: {body[:200]!r}"
        return judge_stream(body, payload["max_tokens"]) if payload.get("stream") else judge_answer(body)
    except (OSError, http.client.HTTPException) as error:
        return f"{type(error).__name__}: {error}"
    finally:
        connection.close()


def judge_answer(body: bytes) -> str:
    """A whole answer has text and a reason to have ended."""
    try:
        choice = json.loads(body)["choices"][0]
    except (ValueError, KeyError, IndexError):
        return f"no answer: {body[:200]!r}"
    return "" if choice.get("finish_reason") and choice["message"].get("content") else f"an unfinished answer: {body[:200]!r}"


def judge_stream(body: bytes, tokens: int) -> str:
    """Every event of a stream, its end too."""
    events = [line[6:] for line in body.decode("utf-8", "replace").splitlines() if line.startswith("data: ")]
    if not events or events[-1] != "[DONE]":
        return f"a stream of {len(events)} events without [DONE]"
    choices = [json.loads(event)["choices"][0] for event in events[:-1]]
    if not any(choice.get("finish_reason") for choice in choices):
        return "a stream without finish_reason"
    words = sum(1 for choice in choices if choice.get("delta", {}).get("content"))
    return "" if words >= tokens else f"a stream of {words} of {tokens} tokens"


@dataclass
class Load:
    """``clients`` at once, every third of them with streams of ``tokens`` tokens; ``with`` begins and ends it."""

    address: tuple[str, int]
    clients: int = 6
    tokens: int = 100
    api_key: str = ""
    model: str = "standin"
    pause: float = 0.1
    timeout: float = 120.0
    outcomes: list[Outcome] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> Load:
        self._threads = [threading.Thread(target=self._client, args=(number,), daemon=True) for number in range(self.clients)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Every request comes to its own end; what is cut off is not the client's doing."""
        self._stop.set()
        for thread in self._threads:
            thread.join(self.timeout + 10)

    def _client(self, number: int) -> None:
        count = 0
        stream = number % 3 == 0
        while not self._stop.is_set():
            count += 1
            question = f"{number}-{count}: what is the capital of France?"
            payload: dict[str, Any] = {"model": self.model, "messages": [{"role": "user", "content": question}], "max_tokens": 16}
            if stream:
                payload.update(stream=True, max_tokens=self.tokens, ignore_eos=True)
            began = time.monotonic()
            fault = ask(self.address, payload, self.api_key, self.timeout)
            self.outcomes.append(Outcome(stream, began, time.monotonic() - began, fault))
            self._stop.wait(self.pause)

    @property
    def faults(self) -> list[str]:
        """Of requests that failed."""
        return [f"{'stream' if outcome.stream else 'answer'}: {outcome.fault}" for outcome in self.outcomes if outcome.fault]

    def count(self, stream: Optional[bool] = None) -> int:
        """Requests, of one kind or all."""
        return sum(1 for outcome in self.outcomes if stream is None or outcome.stream == stream)
