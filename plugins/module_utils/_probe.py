# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The proof of serving: which requests are made, in which order, within which time. What an answer is worth: _probe_judge.py."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Optional, Protocol

from ansible_collections.inference.sglang.plugins.module_utils._plan_reality import served_figures
from ansible_collections.inference.sglang.plugins.module_utils._probe_client import Reply, TooSlow, Unreachable
from ansible_collections.inference.sglang.plugins.module_utils._probe_judge import (
    Answer,
    ProbeFailure,
    accept_length,
    check_accept_length,
    check_expected,
    check_models,
    check_reasoning,
    check_text,
    check_tool_call,
    decode,
    degenerate,
    read_answer,
    read_stream,
    short,
)

# SGLang averages the accept length over its last decode reports, one every 40 steps: enough tokens for several.
TOKENS_FOR_ACCEPT_LENGTH = 256
TOKENS_FOR_REASONING = 1024
HEALTH_TRIES = 3
TOOL = "get_weather"
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": TOOL,
            "description": "Current weather of a city",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    }
]


class Transport(Protocol):
    """What the probe needs of an HTTP client."""

    def request(self, method: str, path: str, payload: Optional[Mapping[str, Any]], timeout: float) -> Reply:
        """One request and its whole answer."""


@dataclass(frozen=True)
class Wishes:
    """What to ask and what to demand."""

    served_model_name: str = ""
    question: str = "What is the capital of France?"
    expect: str = r"(?i)\bparis\b"
    max_tokens: int = 64
    structure_only: bool = False
    reasoning: bool = False
    tools: bool = False
    speculative: bool = False
    min_accept_length: float = 1.1
    request_timeout: float = 180.0
    timeout: float = 420.0
    # A model that thinks by default is asked for the plain answer; a template without such a switch ignores it.
    chat_template_kwargs: Mapping[str, Any] = field(default_factory=lambda: {"enable_thinking": False})


@dataclass
class Probe:
    """One proof. ``results`` grows with every check that passed."""

    transport: Transport
    wishes: Wishes
    clock: Callable[[], float]
    report: Callable[[str], None] = lambda _text: None
    results: list[dict[str, Any]] = field(default_factory=list)
    answer: str = ""
    finish_reason: str = ""
    accept_length: Optional[float] = None
    max_model_len: int = 0
    tokens_per_second: Optional[float] = None
    # How the engine is set, by its own words; empty until it was asked, and where it does not tell.
    engine: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._began = self.clock()

    # -- requests ------------------------------------------------------------------------------------------------------------
    def _left(self, what: str) -> float:
        left = self.wishes.timeout - (self.clock() - self._began)
        if left <= 0:
            raise ProbeFailure(
                "PROBE-010",
                f"the time for the probe was up before {what}",
                f"{self.wishes.timeout:.0f} s",
                "all checks within it",
                "raise the probe's time if this server is that slow; otherwise look at its log",
            )
        return min(left, self.wishes.request_timeout)

    def _request(self, method: str, path: str, payload: Optional[Mapping[str, Any]], what: str) -> Reply:
        try:
            reply = self.transport.request(method, path, payload, self._left(what))
        except TooSlow as error:
            raise ProbeFailure(
                "PROBE-010",
                f"{what} was not answered in time",
                str(error),
                "a whole answer",
                "a first sampled request may wait for a compiler: raise request_timeout; otherwise look at the server's log",
            ) from error
        except Unreachable as error:
            raise ProbeFailure(
                "PROBE-001", f"{what} could not be asked", str(error), "a server at that address", "look at the unit and its log"
            ) from error
        if reply.status == 401:
            raise ProbeFailure(
                "PROBE-014", "the server refuses the key", f"{what}: HTTP 401", "the server's API key", "give api_key or api_key_file"
            )
        return reply

    def _chat(self, question: str, what: str, **more: Any) -> tuple[Answer, Reply]:
        reply = self._request("POST", "/v1/chat/completions", self._payload(question, **more), what)
        if reply.status != 200:
            found = f"HTTP {reply.status}: {short(reply.body.decode('utf-8', 'replace'))}"
            raise ProbeFailure("PROBE-004", f"{what} was refused", found, "HTTP 200", "look at the server's log")
        return read_answer(decode(reply.body, what), what), reply

    def _payload(self, question: str, **more: Any) -> dict[str, Any]:
        payload: dict[str, Any] = {
            "model": self.wishes.served_model_name or "default",
            "messages": [{"role": "user", "content": question}],
            "temperature": 0,
            "max_tokens": self.wishes.max_tokens,
        }
        if self.wishes.chat_template_kwargs:
            payload["chat_template_kwargs"] = dict(self.wishes.chat_template_kwargs)
        payload.update(more)
        return payload

    def _passed(self, check: str, reply: Optional[Reply], detail: str) -> None:
        self.results.append({"check": check, "seconds": round(reply.seconds, 2) if reply else None, "detail": detail})
        self.report(f"{check}: {detail}")

    # -- checks --------------------------------------------------------------------------------------------------------------
    def run(self) -> None:
        """All checks that the wishes call for. Raises ProbeFailure at the first that fails."""
        self.check_health()
        self.check_models()
        self.check_answer()
        self.check_two_at_once()
        self.check_stream()
        if not self.wishes.structure_only:
            if self.wishes.reasoning:
                self.check_reasoning()
            if self.wishes.tools:
                self.check_tools()
            if self.wishes.speculative:
                self.check_accept_length()
        if not self.engine:
            self.read_engine()

    def run_light(self) -> None:
        """What a server in use can be asked every few minutes: one question, and the accept length of what it served meanwhile."""
        self.check_models()
        self.check_answer()
        if self.wishes.speculative and not self.wishes.structure_only:
            self.read_engine()
            if self.accept_length is not None:  # until enough was generated there is none, which is no fault
                check_accept_length(self.accept_length, self.wishes.min_accept_length)

    def read_engine(self) -> None:
        """/server_info holds every argument of the server, its keys too: read a few figures and let go of the rest."""
        reply = self._request("GET", "/server_info", None, "the engine's figures")
        if reply.status == 200:
            info = decode(reply.body, "the engine's figures")
            self.engine, self.accept_length = served_figures(info), accept_length(info)

    def check_health(self) -> None:
        """/health generates a token itself; it may be refused once while the server is busy."""
        for attempt in range(1, HEALTH_TRIES + 1):
            reply = self._request("GET", "/health", None, "the health check")
            if reply.status == 200:
                self._passed("health", reply, "200")
                return
            if attempt == HEALTH_TRIES:
                raise ProbeFailure(
                    "PROBE-002", "the server says that it is not healthy", f"HTTP {reply.status}", "HTTP 200", "look at its log"
                )

    def check_models(self) -> None:
        """The model is listed under the name that clients use."""
        reply = self._request("GET", "/v1/models", None, "the list of models")
        if reply.status != 200:
            raise ProbeFailure(
                "PROBE-003", "the server lists no models", f"HTTP {reply.status}", "HTTP 200", "is another server on that port?"
            )
        self.max_model_len = check_models(decode(reply.body, "the list of models"), self.wishes.served_model_name)
        self._passed("models", reply, self.wishes.served_model_name or "any name")

    def check_answer(self) -> None:
        """The question with a checkable answer."""
        answer, reply = self._chat(self.wishes.question, "the question")
        self.answer, self.finish_reason = answer.text, answer.finish_reason
        if not self.wishes.structure_only:
            check_text(answer, "the question")
            check_expected(answer, self.wishes.question, self.wishes.expect)
        self._passed("answer", reply, short(answer.text, 80))

    def check_two_at_once(self) -> None:
        """Two requests in flight, one of them sampled: another kernel, and a batch of two."""
        outcomes: dict[str, Any] = {}

        def ask(what: str, question: str, more: dict[str, Any]) -> None:
            try:
                outcomes[what] = self._chat(question, what, **more)
            except Exception as error:
                outcomes[what] = error

        plan = {
            "a sampled request": ("Write one short sentence about the sea.", {"temperature": 0.7, "top_p": 0.9, "max_tokens": 32}),
            "a second request at the same time": (self.wishes.question, {}),
        }
        threads = [threading.Thread(target=ask, args=(what, question, more), daemon=True) for what, (question, more) in plan.items()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for what in plan:
            if isinstance(outcomes[what], Exception):
                raise outcomes[what]
            answer, reply = outcomes[what]
            if not self.wishes.structure_only:
                check_text(answer, what)
            self._passed("sampled" if "sampled" in what else "concurrent", reply, short(answer.text, 80))

    def check_stream(self) -> None:
        """Tokens as they come, to the end mark."""
        payload = self._payload(self.wishes.question, stream=True)
        reply = self._request("POST", "/v1/chat/completions", payload, "a streamed request")
        if reply.status != 200:
            raise ProbeFailure(
                "PROBE-009", "a streamed request was refused", f"HTTP {reply.status}", "HTTP 200", "look at the server's log"
            )
        text, finish = read_stream(reply.body)
        why = "" if self.wishes.structure_only else degenerate(text)
        if why:
            raise ProbeFailure("PROBE-009", f"the stream holds no sensible text: {why}", short(text), "text", "look at the server's log")
        self._passed("stream", reply, f"[DONE] after {finish}")

    def check_reasoning(self) -> None:
        """Thinking comes apart from the answer."""
        more = {"max_tokens": TOKENS_FOR_REASONING, "chat_template_kwargs": {"enable_thinking": True}}
        answer, reply = self._chat("What is 17 plus 25? Think briefly.", "a question with reasoning", **more)
        check_reasoning(answer)
        self._passed("reasoning", reply, short(answer.reasoning, 60))

    def check_tools(self) -> None:
        """A tool call comes as data."""
        more = {"tools": TOOLS, "tool_choice": "auto", "max_tokens": 256}
        answer, reply = self._chat("What is the weather in Paris now? Use the tool.", "a request with a tool", **more)
        check_tool_call(answer, TOOL)
        self._passed("tool call", reply, TOOL)

    def check_accept_length(self) -> None:
        """The engine's own average, after enough tokens for it to be one."""
        payload = {
            "model": self.wishes.served_model_name or "default",
            "prompt": "Count from one to one hundred in words: one, two, three, four, five,",
            "temperature": 0,
            "max_tokens": TOKENS_FOR_ACCEPT_LENGTH,
            "ignore_eos": True,
        }
        reply = self._request("POST", "/v1/completions", payload, "a long completion")
        if reply.status != 200:
            raise ProbeFailure("PROBE-004", "a long completion was refused", f"HTTP {reply.status}", "HTTP 200", "look at the server's log")
        if reply.seconds > 0:
            self.tokens_per_second = round(TOKENS_FOR_ACCEPT_LENGTH / reply.seconds, 1)
        self.read_engine()
        check_accept_length(self.accept_length, self.wishes.min_accept_length)
        self._passed("accept length", reply, f"{self.accept_length:.2f}")

    def result(self) -> dict[str, Any]:
        """For the module's result."""
        return {
            "answer": self.answer,
            "finish_reason": self.finish_reason,
            "question": self.wishes.question,
            "checks": self.results,
            "accept_length": self.accept_length,
            "tokens_per_second": self.tokens_per_second,
            "max_model_len": self.max_model_len,
            "engine": self.engine,
            "structure_only": self.wishes.structure_only,
            "seconds": round(self.clock() - self._began, 1),
        }
