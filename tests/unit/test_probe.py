# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The proof of serving, against a real HTTP server whose answers the test chooses."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._probe import Probe, Wishes
from ansible_collections.inference.sglang.plugins.module_utils._probe_client import HttpClient
from ansible_collections.inference.sglang.plugins.module_utils._probe_judge import ProbeFailure, degenerate
from ansible_collections.inference.sglang.plugins.modules.serving_probe import hidden

KEY = "CANARY-key-0123456789"


class Model:
    """What the fake server answers; a test overrides one part."""

    def __init__(self) -> None:
        self.text = "The capital of France is Paris."
        self.sampled: str | None = None
        self.finish: Any = "stop"
        self.names = ["qwen"]
        self.health = 200
        self.chat_status = 200
        self.reasoning: str | None = None
        self.tool_calls: Any = None
        self.accept: float | None = 2.7
        self.stream_end = True
        self.raw: bytes | None = None
        self.trickle = False
        self.key = ""
        self.delay = 0.0
        self.requests: list[dict[str, Any]] = []
        self.running = 0
        self.most_running = 0
        self.lock = threading.Lock()

    def chat(self, payload: dict[str, Any]) -> dict[str, Any]:
        text = self.sampled if self.sampled is not None and payload.get("temperature") else self.text
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if payload.get("chat_template_kwargs", {}).get("enable_thinking"):
            message["reasoning_content"] = self.reasoning
        if payload.get("tools"):
            message["tool_calls"] = self.tool_calls
        return {"choices": [{"message": message, "finish_reason": self.finish}], "usage": {"completion_tokens": 7}}


class Handler(BaseHTTPRequestHandler):
    model: Model

    def log_message(self, *_args: object) -> None:
        """Silent."""

    def send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(OSError):  # the probe gave up
            self.wfile.write(body)

    def do_GET(self) -> None:
        model = self.model
        if self.path == "/health":
            self.send(model.health, b"")
        elif self.path == "/v1/models":
            if model.key and self.headers.get("Authorization") != f"Bearer {model.key}":
                self.send(401, b'{"error":"Unauthorized"}')
                return
            self.send(200, json.dumps({"data": [{"id": n, "max_model_len": 4096} for n in model.names]}).encode())
        else:
            state = {} if model.accept is None else {"avg_spec_accept_length": model.accept}
            self.send(200, json.dumps({"api_key": KEY, "internal_states": [state]}).encode())

    def do_POST(self) -> None:
        model = self.model
        payload = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with model.lock:
            model.requests.append(payload)
            model.running += 1
            model.most_running = max(model.most_running, model.running)
        time.sleep(model.delay)
        with model.lock:
            model.running -= 1
        if model.trickle:
            self.send_response(200)
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b" ")
                    time.sleep(0.05)
            except OSError:
                return
        if model.raw is not None or model.chat_status != 200:
            self.send(model.chat_status, model.raw or f"no, {KEY}".encode())
        elif payload.get("stream"):
            half = len(model.text) // 2
            parts = [{"delta": {"content": model.text[:half]}}, {"delta": {"content": model.text[half:]}, "finish_reason": model.finish}]
            events = [json.dumps({"choices": [p]}) for p in parts] + (["[DONE]"] if model.stream_end else [])
            self.send(200, "".join(f"data: {e}\n\n" for e in events).encode())
        else:
            self.send(200, json.dumps(model.chat(payload)).encode())


@pytest.fixture
def served() -> Iterator[tuple[Model, str]]:
    model = Model()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("H", (Handler,), {"model": model}))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield model, f"http://0.0.0.0:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def probe(url: str, key: str | None = None, **wishes: Any) -> Probe:
    wishes.setdefault("served_model_name", "qwen")
    return Probe(HttpClient(url, key), Wishes(**wishes), time.monotonic)


def test_a_good_server_passes_and_its_answer_is_returned(served: tuple[Model, str]) -> None:
    model, url = served
    model.delay = 0.05
    subject = probe(url)
    subject.run()
    result = subject.result()
    assert result["answer"] == "The capital of France is Paris."
    assert result["finish_reason"] == "stop"
    assert result["max_model_len"] == 4096
    assert [c["check"] for c in result["checks"]] == ["health", "models", "answer", "sampled", "concurrent", "stream"]
    assert model.most_running == 2
    assert any(r["temperature"] > 0 for r in model.requests)
    assert any(r.get("stream") for r in model.requests)
    assert all(r["chat_template_kwargs"] == {"enable_thinking": False} for r in model.requests)


def test_parsers_and_speculation_are_checked_only_where_they_are_wished(served: tuple[Model, str]) -> None:
    model, url = served
    model.reasoning = "17 and 25 make 42."
    model.tool_calls = [{"function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}}]
    subject = probe(url, reasoning=True, tools=True, speculative=True)
    subject.run()
    assert [c["check"] for c in subject.results][-3:] == ["reasoning", "tool call", "accept length"]
    assert subject.accept_length == 2.7
    assert KEY not in json.dumps(subject.result())


Change = Callable[[Model], None]


def change(**values: Any) -> Change:
    def apply(model: Model) -> None:
        for name, value in values.items():
            setattr(model, name, value)

    return apply


BAD: list[tuple[str, str, Change, dict[str, Any]]] = [
    ("unhealthy", "PROBE-002", change(health=503), {}),
    ("other model", "PROBE-003", change(names=["llama"]), {}),
    ("no model", "PROBE-003", change(names=[]), {"served_model_name": ""}),
    ("error", "PROBE-004", change(chat_status=500), {}),
    ("not JSON", "PROBE-004", change(raw=b"<html>"), {}),
    ("no choices", "PROBE-004", change(raw=b'{"choices": []}'), {}),
    ("not UTF-8", "PROBE-006", change(raw=b'{"choices": "\xff\xfe"}'), {}),
    ("empty", "PROBE-005", change(text="  \n"), {}),
    ("null", "PROBE-005", change(text=None), {}),
    ("one token", "PROBE-006", change(text=" t29742" * 16), {}),
    ("one character", "PROBE-006", change(text="!" * 64), {}),
    ("replacement characters", "PROBE-006", change(text="The capital is P�ris"), {}),
    ("wrong", "PROBE-007", change(text="The capital of France is London."), {}),
    ("part of a word", "PROBE-007", change(text="A comparison of parishes."), {}),
    ("aborted", "PROBE-008", change(finish="abort"), {}),
    ("unfinished", "PROBE-008", change(finish=None), {}),
    ("sampled nonsense", "PROBE-006", change(sampled="la " * 20), {}),
    ("stream without end", "PROBE-009", change(stream_end=False), {}),
    ("no reasoning", "PROBE-011", change(reasoning=None), {"reasoning": True}),
    ("no call", "PROBE-012", change(tool_calls=None), {"tools": True}),
    ("call as text", "PROBE-012", change(tool_calls=[{"function": {"name": "get_weather", "arguments": "{city"}}]), {"tools": True}),
    ("MTP does nothing", "PROBE-013", change(accept=1.0), {"speculative": True}),
    ("no speculation", "PROBE-013", change(accept=None), {"speculative": True}),
    ("key wanted", "PROBE-014", change(key=KEY), {}),
]


@pytest.mark.parametrize(("code", "make_bad", "wishes"), [b[1:] for b in BAD], ids=[b[0] for b in BAD])
def test_a_bad_server_is_refused_with_its_code(served: tuple[Model, str], code: str, make_bad: Change, wishes: dict[str, Any]) -> None:
    model, url = served
    make_bad(model)
    with pytest.raises(ProbeFailure) as caught:
        probe(url, **wishes).run()
    assert caught.value.code == code
    assert caught.value.next_step


def test_the_key_is_sent_and_never_told(served: tuple[Model, str]) -> None:
    model, url = served
    model.key = KEY
    probe(url, KEY).run()
    model.chat_status = 500
    subject = probe(url, KEY)
    with pytest.raises(ProbeFailure) as caught:
        subject.run()
    shown = json.dumps(hidden({**subject.result(), **caught.value.as_result()}, KEY))
    assert KEY in str(caught.value)
    assert KEY not in shown


def test_structure_only_takes_nonsense_but_not_a_broken_form(served: tuple[Model, str]) -> None:
    model, url = served
    model.text = " t29742" * 16
    subject = probe(url, structure_only=True, speculative=True, reasoning=True, tools=True)
    subject.run()
    assert subject.result()["structure_only"] is True
    assert "accept length" not in [c["check"] for c in subject.results]
    model.finish = None
    with pytest.raises(ProbeFailure):
        probe(url, structure_only=True).run()


def test_an_inventory_can_set_its_own_question(served: tuple[Model, str]) -> None:
    model, url = served
    model.text = "Four."
    subject = probe(url, question="What is two plus two?", expect=r"(?i)four|4")
    subject.run()
    assert subject.answer == "Four."
    assert model.requests[0]["messages"][0]["content"] == "What is two plus two?"


def test_a_server_that_trickles_for_ever_is_ended(served: tuple[Model, str]) -> None:
    model, url = served
    model.trickle = True
    began = time.monotonic()
    with pytest.raises(ProbeFailure) as caught:
        probe(url, request_timeout=0.5).run()
    assert caught.value.code == "PROBE-010"
    assert time.monotonic() - began < 3


def test_the_whole_probe_has_a_limit(served: tuple[Model, str]) -> None:
    model, url = served
    model.delay = 0.3
    with pytest.raises(ProbeFailure) as caught:
        probe(url, timeout=0.4, request_timeout=10).run()
    assert caught.value.code == "PROBE-010"


def test_no_server_at_all() -> None:
    with pytest.raises(ProbeFailure) as caught:
        probe("http://127.0.0.1:1").run()
    assert caught.value.code == "PROBE-001"
    with pytest.raises(SglangError):
        HttpClient("ftp://host")


@pytest.mark.parametrize(
    "text",
    [
        "The capital of France is Paris.",
        "Paris",
        "42",
        "one, two, three, four, five, six",
        "The sea is blue, and the waves are high, and the wind is strong.",
        "Paris.\n\n- It lies on the Seine.\n- It has 20 districts.",
    ],
)
def test_sensible_text_is_not_called_degenerate(text: str) -> None:
    assert degenerate(text) == ""
