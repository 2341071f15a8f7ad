# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whether a server's answers are those of a working model: decisions only, no I/O."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._errors import CodedError

FEWEST_WORDS = 6
SHARE_OF_ONE_WORD = 0.7
_REPEATED = re.compile(r"(?s)(.{1,12}?)\1{9,}")
FINISHED = ("stop", "length", "tool_calls")


class ProbeFailure(CodedError):
    """A check that the server did not pass."""


@dataclass(frozen=True)
class Answer:
    """One completion."""

    text: str
    finish_reason: str
    reasoning: str = ""
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    tokens: int = 0


def decode(body: bytes, what: str) -> Any:
    """JSON of an answer. Bytes that are not UTF-8 mean a broken detokenizer."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ProbeFailure(
            "PROBE-006", f"the answer to {what} is not UTF-8", str(error), "text", "look at the model's files: tokenizer, quantisation"
        ) from error
    try:
        return json.loads(text)
    except ValueError as error:
        raise ProbeFailure(
            "PROBE-004", f"the answer to {what} is not JSON", short(text), "an OpenAI answer", "is another server on that port?"
        ) from error


def short(text: str, limit: int = 200) -> str:
    """Text as it may stand in a message."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else f"{flat[:limit]}…"


def degenerate(text: str) -> str:
    """Why this is no sensible text; empty when it may be one."""
    if not text.strip():
        return "it is empty"
    if "�" in text:
        return "it holds invalid UTF-8"
    words = text.split()
    if len(words) >= FEWEST_WORDS:
        word, count = Counter(words).most_common(1)[0]
        if count >= SHARE_OF_ONE_WORD * len(words):
            return f"one token is repeated: {word!r}, {count} of {len(words)} words"
    repeated = _REPEATED.search(text)
    if repeated and repeated[1].strip() and len(repeated[0]) >= 0.5 * len(text):
        return f"one piece is repeated: {repeated[1]!r}"
    return ""


def check_models(document: Any, served_name: str) -> int:
    """The served name is listed. Returns the model's longest context, 0 if it is not told."""
    models = document.get("data") if isinstance(document, Mapping) else None
    names = [str(m.get("id")) for m in models or [] if isinstance(m, Mapping)]
    if served_name and served_name not in names:
        raise ProbeFailure(
            "PROBE-003",
            "the server does not serve the model under its name",
            ", ".join(names) or "no model",
            served_name,
            "correct served_model_name; is another server on that port?",
        )
    if not names:
        raise ProbeFailure("PROBE-003", "the server lists no model", "nothing", "one model", "is another server on that port?")
    length = next((m.get("max_model_len") for m in models or [] if isinstance(m, Mapping) and m.get("id") == (served_name or names[0])), 0)
    return int(length or 0)


def read_answer(document: Any, what: str) -> Answer:
    """The first choice of a chat completion."""
    choices = document.get("choices") if isinstance(document, Mapping) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if choice is None or not isinstance(message, Mapping):
        raise ProbeFailure(
            "PROBE-004",
            f"the answer to {what} holds no message",
            short(json.dumps(document)),
            "choices[0].message",
            "look at the server's log",
        )
    finish = choice.get("finish_reason")
    if finish not in FINISHED:
        raise ProbeFailure(
            "PROBE-008", f"{what} did not finish", f"finish_reason {finish!r}", " or ".join(FINISHED), "look at the server's log"
        )
    usage = document.get("usage")
    tokens = int(usage.get("completion_tokens") or 0) if isinstance(usage, Mapping) else 0
    calls = message.get("tool_calls")
    return Answer(
        str(message.get("content") or ""),
        str(finish),
        str(message.get("reasoning_content") or ""),
        tuple(call for call in calls if isinstance(call, Mapping)) if isinstance(calls, list) else (),
        tokens,
    )


def check_text(answer: Answer, what: str) -> None:
    """It is text that a working model could have written."""
    why = degenerate(answer.text)
    if why and not answer.text.strip() and answer.reasoning and answer.finish_reason == "length":
        raise ProbeFailure(
            "PROBE-005",
            f"the answer to {what} ended while the model was still thinking",
            f"{answer.tokens} tokens of reasoning",
            "an answer",
            "raise max_tokens",
        )
    if why:
        code = "PROBE-005" if not answer.text.strip() else "PROBE-006"
        raise ProbeFailure(
            code,
            f"the answer to {what} is no sensible text: {why}",
            short(answer.text) or "nothing",
            "a sensible answer",
            "check the model's files, the quantisation and the kernels; with dummy weights set structure_only",
        )


def check_expected(answer: Answer, question: str, expect: str) -> None:
    """The checkable answer."""
    if not re.search(expect, answer.text):
        raise ProbeFailure(
            "PROBE-007",
            f"the server answers {question!r} wrongly",
            short(answer.text),
            f"text that matches {expect}",
            "check the model's files and its chat template; a site can set its own question and expectation",
        )


def read_stream(body: bytes) -> tuple[str, str]:
    """Text and finish reason of a stream of server-sent events that ends with [DONE]."""
    events = [line[5:].strip() for line in body.decode("utf-8", "replace").splitlines() if line.startswith("data:")]
    if not events or events[-1] != "[DONE]":
        last = short(events[-1]) if events else "no event"
        raise ProbeFailure("PROBE-009", "the stream does not end with [DONE]", last, "data: [DONE]", "look at the server's log")
    text, finish = "", ""
    for event in events[:-1]:
        try:
            document = json.loads(event)
        except ValueError as error:
            raise ProbeFailure(
                "PROBE-009", "the stream holds an event that is not JSON", short(event), "JSON", "look at the log"
            ) from error
        for choice in document.get("choices") or []:
            delta = choice.get("delta") or {}
            text += (delta.get("reasoning_content") or "") + (delta.get("content") or "")
            finish = choice.get("finish_reason") or finish
    if finish not in FINISHED:
        raise ProbeFailure("PROBE-009", "the stream ends without a finish reason", repr(finish), " or ".join(FINISHED), "look at the log")
    return text, finish


def check_reasoning(answer: Answer) -> None:
    """With a reasoning parser, thinking and answer come apart."""
    if not answer.reasoning.strip():
        raise ProbeFailure(
            "PROBE-011",
            "a reasoning parser is configured, but no reasoning was split off",
            short(answer.text) or "nothing",
            "reasoning_content",
            "choose the model's own reasoning_parser, or none",
        )
    if "<think>" in answer.text or "</think>" in answer.text:
        raise ProbeFailure(
            "PROBE-011",
            "the reasoning parser leaves thinking in the answer",
            short(answer.text),
            "an answer alone",
            "choose the model's parser",
        )


def check_tool_call(answer: Answer, name: str) -> None:
    """With a tool parser, a call comes as data."""
    for call in answer.tool_calls:
        function = call.get("function")
        if not isinstance(function, Mapping) or function.get("name") != name:
            continue
        try:
            arguments = json.loads(str(function.get("arguments") or ""))
        except ValueError:
            continue
        if isinstance(arguments, Mapping):
            return
    raise ProbeFailure(
        "PROBE-012",
        "a tool call parser is configured, but the model's tool call was not understood",
        short(json.dumps([dict(c) for c in answer.tool_calls])) if answer.tool_calls else short(answer.text) or "no call",
        f"a call of {name} with JSON arguments",
        "choose the model's own tool_call_parser, or none",
    )


def accept_length(server_info: Any) -> Optional[float]:
    """The engine's own average of tokens a verification step. None until it has measured one."""
    states = server_info.get("internal_states") if isinstance(server_info, Mapping) else None
    if not isinstance(states, list):
        return None
    lengths = [s["avg_spec_accept_length"] for s in states if isinstance(s, Mapping) and s.get("avg_spec_accept_length") is not None]
    return min(float(length) for length in lengths) if lengths else None


def check_accept_length(length: Optional[float], floor: float) -> None:
    """Speculation does something."""
    if length is None:
        raise ProbeFailure(
            "PROBE-013",
            "speculative decoding is planned, but the engine measures no accept length",
            "no avg_spec_accept_length in /server_info",
            f"at least {floor}",
            "compare the plan with the arguments that the engine printed",
        )
    if length < floor:
        raise ProbeFailure(
            "PROBE-013",
            "speculative decoding does nothing: hardly a draft token is accepted",
            f"accept length {length:.2f}",
            f"at least {floor}",
            "do the weights hold the MTP tensors (mtp.*)? otherwise turn speculation off",
        )
