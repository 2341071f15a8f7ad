# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""No secret of a command line survives, whatever form it was given in; the rest stays readable."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._scrub import command_line, is_secret_name, scrub_arguments, scrub_text
from hypothesis import given
from hypothesis import strategies as st

# A mark inside the secret: found by name however the secret around it is quoted.
MARK = "Q7canary7Q"
PRINTABLE = st.characters(min_codepoint=32, max_codepoint=0x17F, exclude_characters="\x7f")
SECRETS = st.tuples(st.text(PRINTABLE, max_size=8), st.text(PRINTABLE, max_size=8)).map(lambda around: MARK.join(around))
# In plain text nothing says where a secret with spaces ends.
WORDS = SECRETS.filter(lambda secret: not any(c.isspace() or c in "&'\"" for c in secret))
URL_SAFE = st.text(st.characters(codec="ascii", categories=["L", "N"]), max_size=8).map(lambda text: f"{text}{MARK}")
SECRET_OPTIONS = st.sampled_from(
    ["--api-key", "--admin-api-key", "--api-k", "--admin-api", "--hf-token", "--token", "--password", "--ssl-keyfile-password", "--apiKey"]
)
SECRET_VARIABLES = st.sampled_from(["HF_TOKEN", "SGLANG_API_KEY", "AWS_SECRET_ACCESS_KEY", "KEY", "PGPASSWORD_TOKEN", "my_password"])
HARMLESS = st.lists(
    st.sampled_from(["--port", "30000", "--tp", "2", "--tokenizer-path", "/m", "sglang", "serve", "-m", "--enable-metrics", "="]),
    max_size=4,
)


@given(HARMLESS, SECRET_OPTIONS, st.lists(SECRETS.filter(lambda secret: not secret.startswith("-")), min_size=2, max_size=4))
def test_an_option_with_several_values(before: list[str], option: str, secrets: list[str]) -> None:
    shown = command_line([*before, option, *secrets, "--port", "30000"], limit=10_000)
    assert MARK not in shown
    assert shown.endswith("--port 30000")


@given(HARMLESS, SECRET_OPTIONS, SECRETS, HARMLESS)
def test_an_option_with_its_value(before: list[str], option: str, secret: str, after: list[str]) -> None:
    assert MARK not in command_line([*before, option, secret, *after], limit=10_000)


@given(HARMLESS, SECRET_OPTIONS, SECRETS, HARMLESS)
def test_an_option_with_an_equals_sign(before: list[str], option: str, secret: str, after: list[str]) -> None:
    assert MARK not in command_line([*before, f"{option}={secret}", *after], limit=10_000)


@given(HARMLESS, SECRET_VARIABLES, SECRETS, HARMLESS)
def test_a_variable_before_a_command(before: list[str], name: str, secret: str, after: list[str]) -> None:
    assert MARK not in command_line(["env", *before, f"{name}={secret}", *after], limit=10_000)


SHELL_FORMS: list[Callable[[str, str, str], str]] = [
    lambda option, name, secret: f"exec sglang serve {option} {shlex.quote(secret)} --port 30000",
    lambda option, name, secret: f"exec sglang serve {option}={shlex.quote(secret)} --port 30000",
    lambda option, name, secret: f"cd /x; {name}={shlex.quote(secret)} sglang serve",
    lambda option, name, secret: f"{name}={shlex.quote(secret)} sglang serve",
    lambda option, name, secret: f"nohup sh -c {shlex.quote(f'sglang serve {option} {shlex.quote(secret)}')}",
    lambda option, name, secret: f"it's broken quoting {option} {secret}",
]


@given(st.sampled_from(SHELL_FORMS), SECRET_OPTIONS, SECRET_VARIABLES, SECRETS)
def test_a_shell_command_in_one_word(form: Callable[[str, str, str], str], option: str, name: str, secret: str) -> None:
    assert MARK not in command_line(["bash", "-c", form(option, name, secret)], limit=10_000)


@given(SECRETS, st.sampled_from(["api_key", "hf-token", "password", "Authorization"]))
def test_a_json_document(secret: str, name: str) -> None:
    document = json.dumps({"model": "m", "inner": [{name: secret}]})
    assert MARK not in command_line(["sglang", "serve", "--json-model-override-args", document], limit=10_000)


@given(URL_SAFE)
def test_urls_headers_and_shapes(secret: str) -> None:
    for word in (
        f"https://user:{secret}@hub.example/x",
        f"https://hub.example/x?a=1&token={secret}&b=2",
        f"url:https://hub.example/x?token={secret}",
        f"Authorization: Bearer {secret}",
        f"Authorization: Basic {secret}",
        f"X-Api-Key: {secret}",
        f"Bearer {secret}",
        f"hf_{secret}",
    ):
        assert MARK not in command_line(["curl", "-H", word], limit=10_000), word
        assert MARK not in scrub_text(f"GET {word} HTTP/1.1"), word
    assert MARK not in command_line(["curl", "-H", "Authorization:", "Bearer", secret], limit=10_000)


@given(WORDS, st.sampled_from(["api_key=%s", "api_key='%s', port=1", '"api_key": "%s"', "--api-key %s", "--opt --api-key %s", "token: %s"]))
def test_a_line_of_a_log(secret: str, form: str) -> None:
    assert MARK not in scrub_text(f"server_args=ServerArgs(model_path='/m', {form % secret}")


def test_a_quoted_secret_with_escaped_quotes() -> None:
    line = f"server_args=ServerArgs(model_path='/m', api_key={f'a{chr(39)}b{chr(34)}{MARK}'!r}, port=30000)"
    assert scrub_text(line) == "server_args=ServerArgs(model_path='/m', api_key=***, port=30000)"


@pytest.mark.parametrize(
    "line",
    [
        "[2026-11-30 02:00:00 TP0] GDN kernel dispatcher: decode=TritonGDNKernel, extend=TritonGDNKernel, verify=TritonGDNKernel",
        "KV Cache is allocated. #tokens: 416856, K size: 12.72 GB, V size: 12.72 GB",
        "Load weight end. elapsed=10.79 s, avail mem=88.07 GB, mem usage=51.05 GB.",
        "max_total_num_tokens=416856, chunked_prefill_size=8192, max_running_requests=31, context_len=262144",
        "The server is fired up and ready to roll!",
    ],
)
def test_the_engines_own_lines_stay_as_they_are(line: str) -> None:
    assert scrub_text(line) == line


def test_a_harmless_command_line_stays_as_it_is() -> None:
    words = "python -m sglang.launch_server --tokenizer-path /m --max-total-tokens 8192 --speculative-num-draft-tokens 4 --ssl-keyfile /k"
    assert scrub_arguments(words.split()) == words.split()


@pytest.mark.parametrize(
    "name", ["--tokenizer-path", "--speculative-num-draft-tokens", "--page-size", "--mamba-full-memory-ratio", "--tp", "-m"]
)
def test_names_that_only_sound_alike(name: str) -> None:
    assert not is_secret_name(name)


def test_a_long_command_line_is_cut() -> None:
    assert len(command_line(["x" * 50] * 50, limit=100)) == 100
