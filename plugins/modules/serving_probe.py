#!/usr/bin/python
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Ask a running server real questions and judge its answers."""

from __future__ import annotations

DOCUMENTATION = r"""
module: serving_probe
short_description: Prove that an SGLang server serves
version_added: "0.1.0"
description:
  - Makes real requests to a running server and fails when an answer is missing, late, wrong or no sensible text.
  - Checks the health endpoint, the served model name, a chat completion with a checkable answer, two requests at once, one of them sampled,
    and streaming. Where they are configured also a reasoning split, a tool call and the accept length of speculative decoding.
  - Runs on the host of the server. All prompts are short and harmless.
author:
  - inference.sglang maintainers (@inference-sglang)
options:
  url:
    description: The server's address. C(0.0.0.0) is asked over loopback.
    type: str
    default: http://127.0.0.1:30000
  served_model_name:
    description: The name under which clients know the model. Empty takes any.
    type: str
    default: ""
  api_key:
    description: The server's API key. Prefer O(api_key_file).
    type: str
  api_key_file:
    description: A file on the host that holds the key and nothing else.
    type: path
  question:
    description: A question with a checkable answer.
    type: str
    default: What is the capital of France?
  expect:
    description: A regular expression that the answer must match.
    type: str
    default: (?i)\bparis\b
  max_tokens:
    description: Most tokens of an answer.
    type: int
    default: 64
  chat_template_kwargs:
    description: Passed to the chat template; by default a model that thinks is asked not to.
    type: dict
    default: {enable_thinking: false}
  structure_only:
    description: Whether to look at the form of the answers only. For dummy weights.
    type: bool
    default: false
  reasoning:
    description: Whether a reasoning parser is configured and must split reasoning off.
    type: bool
    default: false
  tools:
    description: Whether a tool call parser is configured and must understand a call.
    type: bool
    default: false
  speculative:
    description: Whether speculative decoding is on and must accept tokens.
    type: bool
    default: false
  min_accept_length:
    description: Least average of tokens a verification step. Without any accepted token it is 1.0.
    type: float
    default: 1.1
  request_timeout:
    description: Seconds for one request. A first sampled request may wait for a compiler for a minute and a half.
    type: int
    default: 180
  timeout:
    description: Seconds for all of them.
    type: int
    default: 420
  validate_certs:
    description: Whether to check the certificate of an C(https) address.
    type: bool
    default: true
  planned:
    description: What the plan says of this server, as its release's record keeps it. Compared with what the engine tells of itself.
    type: dict
    default: {}
  progress_file:
    description: Where to report each check. Set by the action plugin.
    type: path
attributes:
  check_mode:
    support: full
    description: Can run in check mode; asks nothing and says so.
  diff_mode:
    support: none
    description: Changes nothing, so there is no difference to show.
  platform:
    support: full
    platforms: posix
    description: Needs Python only.
"""

EXAMPLES = r"""
- name: Prove that the server answers
  inference.sglang.serving_probe:
    url: http://127.0.0.1:30000
    served_model_name: Qwen/Qwen3.6-27B
    speculative: true
  register: proof

- name: Show the answer
  ansible.builtin.debug:
    var: proof.answer
"""

RETURN = r"""
answer:
  description: The answer to the question.
  type: str
  returned: unless check mode
  sample: The capital of France is Paris.
finish_reason:
  description: Why that answer ended.
  type: str
  returned: unless check mode
question:
  description: The question.
  type: str
  returned: unless check mode
checks:
  description: The checks that passed, each with its seconds and a detail.
  type: list
  elements: dict
  returned: unless check mode
accept_length:
  description: Average of tokens a verification step, where speculation was checked.
  type: float
  returned: unless check mode
tokens_per_second:
  description: Speed of one request of 256 tokens, where speculation was checked.
  type: float
  returned: unless check mode
max_model_len:
  description: The longest context that the server offers.
  type: int
  returned: unless check mode
engine:
  description: Settings and figures that the running engine tells of itself, where it does.
  type: dict
  returned: unless check mode
comparison:
  description: The plan beside them, as M(inference.sglang.log_gate) returns it.
  type: dict
  returned: on success when O(planned) was given
structure_only:
  description: Whether only the form of the answers was looked at.
  type: bool
  returned: unless check mode
seconds:
  description: How long all of it took.
  type: float
  returned: unless check mode
code:
  description: The stable code of the check that failed.
  type: str
  returned: on failure
"""

import re
import time
from typing import Any, Optional

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inference.sglang.plugins.module_utils._errors import CodedError
from ansible_collections.inference.sglang.plugins.module_utils._plan_reality import compare, comparison_lines
from ansible_collections.inference.sglang.plugins.module_utils._probe import Probe, Wishes
from ansible_collections.inference.sglang.plugins.module_utils._probe_client import HttpClient
from ansible_collections.inference.sglang.plugins.module_utils._probe_judge import ProbeFailure
from ansible_collections.inference.sglang.plugins.module_utils._progress import Progress

WISHES = (
    "served_model_name",
    "question",
    "expect",
    "max_tokens",
    "chat_template_kwargs",
    "structure_only",
    "reasoning",
    "tools",
    "speculative",
    "min_accept_length",
    "request_timeout",
    "timeout",
)


def argument_spec() -> dict[str, Any]:
    """The module's options."""
    return {
        "url": {"type": "str", "default": "http://127.0.0.1:30000"},
        "served_model_name": {"type": "str", "default": ""},
        "api_key": {"type": "str", "no_log": True},
        # The path is no secret; its name looks like one.
        "api_key_file": {"type": "path", "no_log": False},
        "question": {"type": "str", "default": "What is the capital of France?"},
        "expect": {"type": "str", "default": r"(?i)\bparis\b"},
        "max_tokens": {"type": "int", "default": 64, "no_log": False},
        "chat_template_kwargs": {"type": "dict", "default": {"enable_thinking": False}},
        "structure_only": {"type": "bool", "default": False},
        "reasoning": {"type": "bool", "default": False},
        "tools": {"type": "bool", "default": False},
        "speculative": {"type": "bool", "default": False},
        "min_accept_length": {"type": "float", "default": 1.1},
        "request_timeout": {"type": "int", "default": 180},
        "timeout": {"type": "int", "default": 420},
        "validate_certs": {"type": "bool", "default": True},
        "planned": {"type": "dict", "default": {}},
        "progress_file": {"type": "path"},
    }


def read_key(params: dict[str, Any]) -> Optional[str]:
    """The key, from the option or the file."""
    path = params["api_key_file"]
    if not path:
        return params["api_key"] or None
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read().strip() or None
    except (OSError, UnicodeDecodeError) as error:
        raise CodedError("PROBE-022", "cannot read the API key", str(error), f"a readable {path}", "run the play with become") from error


def check_pattern(expect: str) -> None:
    """Before anything is asked."""
    try:
        re.compile(expect)
    except re.error as error:
        raise CodedError(
            "PROBE-023", "expect is not a regular expression", f"{expect}: {error}", "a Python regular expression", "correct it"
        ) from error


def hidden(value: Any, key: Optional[str]) -> Any:
    """A result without the key, wherever a server may have repeated it."""
    if not key:
        return value
    if isinstance(value, str):
        return value.replace(key, "***")
    if isinstance(value, dict):
        return {name: hidden(item, key) for name, item in value.items()}
    if isinstance(value, list):
        return [hidden(item, key) for item in value]
    return value


def main() -> None:
    """Module entry."""
    module = AnsibleModule(argument_spec=argument_spec(), mutually_exclusive=[("api_key", "api_key_file")], supports_check_mode=True)
    params = module.params
    if module.check_mode:
        module.exit_json(changed=False, msg=f"check mode: does not ask the server at {params['url']}")
    progress = Progress(params["progress_file"])
    key: Optional[str] = None
    try:
        key = read_key(params)
        if key:
            module.no_log_values.add(key)
        check_pattern(params["expect"])
        client = HttpClient(params["url"], key, params["validate_certs"])
        wishes = Wishes(**{name: params[name] for name in WISHES})
        probe = Probe(client, wishes, time.monotonic, lambda text: progress.report("probe", hidden(text, key), force=True))
    except CodedError as error:
        module.fail_json(**error.as_result())
    try:
        probe.run()
    except ProbeFailure as error:
        module.fail_json(changed=False, **hidden({**probe.result(), **error.as_result()}, key))
    result = probe.result()
    if params["planned"]:
        result["comparison"] = compare(params["planned"], probe.engine)
        for line in comparison_lines(result["comparison"]["rows"]):
            progress.report("plan", line, force=True)
        for change in result["comparison"]["changes"]:
            module.warn(f"{params['url']}: {change}")
    module.exit_json(changed=False, **hidden(result, key))


if __name__ == "__main__":
    main()
