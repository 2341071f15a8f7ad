# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The HTTP endpoints that the collection uses, with the engine's status codes and shapes."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from sglang._standin.settings import Settings
from sglang.srt.server_args import ServerArgs
from sglang.version import __version__

OPEN_PATHS = ("/health", "/metrics")


@dataclass
class State:
    """What the handlers share with the process."""

    args: ServerArgs
    settings: Settings
    log: Callable[[str], None]
    on_request: Callable[[], None] = lambda: None
    ready: bool = False
    stopping: bool = False
    in_flight: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


def answer_for(settings: Settings, question: str) -> str:
    """Right, or wrong in the way that STANDIN_ANSWER names."""
    special = {"nonsense": " t29742" * 16, "wrong": "The capital of France is London.", "empty": "", "invalid": "\udcff\udcfe"}
    if settings.answer in special:
        return special[settings.answer]
    if settings.answer and settings.answer != "forever":
        return settings.answer
    if "France" in question:
        return "The capital of France is Paris."
    total = re.search(r"(\d+) (?:plus|\+) (\d+)", question)
    if total:
        return f"It is {int(total[1]) + int(total[2])}."
    return "This is a stand-in engine: it replays a recorded log and loads no model."


class Handler(BaseHTTPRequestHandler):
    """One request."""

    state: State
    protocol_version = "HTTP/1.1"

    def log_message(self, *_args: object) -> None:
        """Access lines are written by ``note`` in the engine's form."""

    def send(self, status: int, body: bytes = b"", kind: str = "application/json") -> None:
        """A whole answer, and its line in the log."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.note(status)

    def note(self, status: int) -> None:
        """The request's line in the log."""
        host, port = self.client_address[:2]
        self.state.log(f'INFO:     {host}:{port} - "{self.command} {self.path} HTTP/1.1" {status} {self.responses.get(status, ("",))[0]}')

    def send_json(self, document: object, status: int = 200) -> None:
        """JSON, with lone surrogates as the broken bytes they stand for."""
        self.send(status, json.dumps(document, ensure_ascii=False).encode("utf-8", "surrogateescape"))

    def allowed(self) -> bool:
        """The API key, where the engine asks for one."""
        key = self.state.args.api_key
        if not key or self.path.startswith(OPEN_PATHS) or self.headers.get("Authorization") == f"Bearer {key}":
            return True
        self.send_json({"error": "Unauthorized"}, 401)
        return False

    def do_GET(self) -> None:
        """Health, models and figures."""
        if not self.allowed():
            return
        state, args = self.state, self.state.args
        path = self.path.split("?")[0]
        if path in ("/health", "/health_generate"):
            self.send(200 if state.ready and not state.stopping else 503)
        elif path == "/v1/models":
            name = args.served_model_name
            self.send_json({"object": "list", "data": [{"id": name, "object": "model", "owned_by": "sglang", "max_model_len": 262144}]})
        elif path in ("/model_info", "/get_model_info"):
            self.send_json({"model_path": args.model_path, "tokenizer_path": args.model_path, "is_generation": True})
        elif path == "/v1/loads":
            self.send_json(self.loads())
        elif path in ("/server_info", "/get_server_info"):
            # The keys too, as the engine does.
            self.send_json({**vars(args), "version": __version__, "internal_states": [self.figures()]})
        elif path == "/metrics" and args.enable_metrics:
            lines = ["sglang:num_running_reqs 0.0", "sglang:num_queue_reqs 0.0", "sglang:token_usage 0.0"]
            if args.speculative_algorithm:
                lines.append(f"sglang:spec_accept_length {state.settings.accept_length}")
            self.send(200, ("\n".join(lines) + "\n").encode(), "text/plain")
        else:
            self.send_json({"detail": "Not Found"}, 404)

    def loads(self) -> dict[str, Any]:
        """As 0.5.11 answers with ``include=core``; what it knows nothing of is nought."""
        limit = self.state.args.max_running_requests or 6
        running = min(self.state.in_flight, limit)
        waiting = self.state.in_flight - running
        rank = {
            "dp_rank": 0,
            "num_running_reqs": running,
            "num_waiting_reqs": waiting,
            "num_used_tokens": 0,
            "num_total_tokens": 0,
            "max_total_num_tokens": 0,
            "token_usage": 0.0,
            "gen_throughput": 0.0,
            "cache_hit_rate": 0.0,
            "utilization": 0.0,
            "max_running_requests": limit,
            "num_total_reqs": running + waiting,
        }
        aggregate = {"total_running_reqs": running, "total_waiting_reqs": waiting, "total_reqs": running + waiting}
        return {"timestamp": "", "version": __version__, "dp_rank_count": 1, "loads": [rank], "aggregate": aggregate}

    def figures(self) -> dict[str, Any]:
        """Of /server_info's internal_states."""
        figures: dict[str, Any] = {"effective_max_running_requests_per_dp": self.state.args.max_running_requests or 6}
        if self.state.args.speculative_algorithm:
            figures["avg_spec_accept_length"] = self.state.settings.accept_length
        return figures

    def do_POST(self) -> None:
        """Completions."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if not self.allowed():
            return
        if self.path not in ("/v1/chat/completions", "/v1/completions", "/generate"):
            self.send_json({"detail": "Not Found"}, 404)
            return
        state = self.state
        with state.lock:
            state.in_flight += 1
        try:
            state.on_request()
            time.sleep(state.settings.delay)
            self.complete(json.loads(body or b"{}"))
        finally:
            with state.lock:
                state.in_flight -= 1

    def complete(self, payload: dict[str, Any]) -> None:
        """One completion, streamed or whole."""
        messages = payload.get("messages") or [{"content": payload.get("prompt") or payload.get("text") or ""}]
        text = answer_for(self.state.settings, str(messages[-1].get("content")))
        if self.state.settings.answer == "forever":
            self.trickle()
        elif self.path != "/v1/chat/completions":
            self.send_json({"object": "text_completion", "choices": [{"index": 0, "text": text, "finish_reason": "length"}], "text": text})
        elif payload.get("stream"):
            self.stream(text, payload)
        else:
            message: dict[str, Any] = {"role": "assistant", "content": text, "reasoning_content": None, "tool_calls": None}
            finish = "stop"
            if self.state.args.reasoning_parser and (payload.get("chat_template_kwargs") or {}).get("enable_thinking", True):
                message["reasoning_content"] = "The question is simple."
            if payload.get("tools") and self.state.args.tool_call_parser:
                name = payload["tools"][0]["function"]["name"]
                message.update(
                    content=None,
                    tool_calls=[{"id": "call_1", "type": "function", "function": {"name": name, "arguments": '{"city": "Paris"}'}}],
                )
                finish = "tool_calls"
            choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
            usage = {"prompt_tokens": 12, "completion_tokens": 8, "total_tokens": 20}
            self.send_json(
                {"id": "standin", "object": "chat.completion", "model": payload.get("model"), "choices": [choice], "usage": usage}
            )

    def stream(self, text: str, payload: dict[str, Any]) -> None:
        """Server-sent events, a word each, in their time; with ``ignore_eos`` as many as ``max_tokens`` says."""
        words, finish = re.findall(r"\S+\s*", text) or [text], "stop"
        if payload.get("ignore_eos"):
            words, finish = (
                [words[i % len(words)] for i in range(int(payload.get("max_completion_tokens") or payload.get("max_tokens") or 16))],
                "length",
            )
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.note(200)
        try:
            for word in words:
                time.sleep(self.state.settings.token_seconds)
                self.event({"choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]})
            self.event({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
            self.chunk(b"data: [DONE]\n\n")
            self.chunk(b"")
        except OSError:
            # The client has gone: the engine ends the request, too.
            self.close_connection = True

    def event(self, document: dict[str, Any]) -> None:
        """One server-sent event."""
        self.chunk(b"data: " + json.dumps(document, ensure_ascii=False).encode("utf-8", "surrogateescape") + b"\n\n")

    def chunk(self, data: bytes) -> None:
        """A piece of an answer whose length nobody knows yet; nothing ends it."""
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def trickle(self) -> None:
        """An answer that never ends."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            while True:
                self.wfile.write(b'data: {"choices": [{"delta": {"content": "and "}}]}\n\n')
                time.sleep(0.1)
        except OSError:
            self.close_connection = True


class Server(ThreadingHTTPServer):
    """Bound when it is made; it listens from then on, as uvicorn does."""

    daemon_threads = True
    request_queue_size = 128


def open_port(state: State) -> Server:
    """Raises OSError when the port is taken."""
    handler = type("BoundHandler", (Handler,), {"state": state})
    server = Server((state.args.host, state.args.port), handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
    return server
