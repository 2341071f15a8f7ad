# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Secrets out of command lines, before a person or a log sees them.

It errs on the side of hiding: a harmless value after an option that sounds secret is hidden too.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Sequence

HIDDEN = "***"

# Whole words of an option's or variable's name. Whole words, so that --tokenizer-path, --max-total-tokens
# and --speculative-num-draft-tokens stay readable.
_SECRET_WORDS = frozenset(
    [
        *("apikey", "auth", "authentication", "authorization", "bearer", "cookie", "credential", "credentials", "key", "keys"),
        *("pass", "passphrase", "passwd", "password", "pat", "pwd", "secret", "secrets", "token"),
    ]
)
# Words that make a variable's name secret wherever they stand in it; the others of _SECRET_WORDS only at its end:
# AWS_SECRET_ACCESS_KEY and DB_PASS, but not SGLANG_PREFILL_DELAYER_TOKEN_USAGE_LOW_WATERMARK or SSH_AUTH_SOCK.
_ANYWHERE = frozenset(["apikey", "credential", "credentials", "passphrase", "passwd", "password", "secret", "secrets"])
# argparse takes any unambiguous beginning of an option: --api-k, --admin.
_SECRET_OPTIONS = ("--api-key", "--admin-api-key")
_SHORTEST_ABBREVIATION = len("--ap")

_NAME = re.compile(r"-{0,2}[A-Za-z][A-Za-z0-9_.-]*")
_WORD_EDGE = re.compile(r"[-_.]+|(?<=[a-z0-9])(?=[A-Z])")
_VALUE = r"(?P<value>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|[^\s&]+)"
# NAME=value, "name": value, ?name=value; and --option value. A value in quotes ends at the quote, another at a space.
_FIELD = re.compile(rf"(?P<name>[A-Za-z][A-Za-z0-9_.-]*)(?P<between>[\"']?\s*[=:]\s*){_VALUE}")
_OPTION = re.compile(rf"(?P<name>(?<![\w-])--?[A-Za-z][A-Za-z0-9_.-]*)(?P<between>\s+){_VALUE}")
_URL_USER = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)[^/?#\s]*@")
_URL_PASSWORD = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#\s:@]*:[^/?#\s@]+@")
# A header's value has a scheme before the secret: Authorization: Bearer x, or Basic x.
_HEADER = re.compile(r"(?i)\b(?P<name>(?:proxy-)?authorization)(?P<between>[\"']?\s*[=:]\s*)[\"']?(?:[a-z]+\s+)?[^\s,]+")
_BEARER = re.compile(r"(?i)\b(?P<name>bearer)(?P<between>\s+)\S+")
_KNOWN_SHAPES = re.compile(r"\b(?:hf_|sk-|ghp_|gho_|github_pat_|glpat-|xox[abp]-|AKIA|eyJ)[A-Za-z0-9_.-]{6,}")


def is_secret_name(name: str) -> bool:
    """Whether a value given under this option or variable name must not be shown."""
    words = {word.lower() for word in _WORD_EDGE.split(name.lstrip("-")) if word}
    if words & _SECRET_WORDS:
        return True
    dashed = name.lower().replace("_", "-")
    return len(dashed) >= _SHORTEST_ABBREVIATION and any(option.startswith(dashed) for option in _SECRET_OPTIONS)


def is_secret_variable(name: str) -> bool:
    """Whether an environment variable of this name is there to hold a secret."""
    words = [word.lower() for word in _WORD_EDGE.split(name) if word]
    return bool(words) and (words[-1] in _SECRET_WORDS or bool(_ANYWHERE.intersection(words)))


def holds_secret(value: str) -> bool:
    """Whether a value is one by its shape: a known kind of token, or a password in a URL."""
    return _KNOWN_SHAPES.search(value) is not None or _URL_PASSWORD.search(value) is not None


def scrub_text(text: str) -> str:
    """Free text, such as a line of a log: fields and options with a secret name, URL users, headers, known token shapes."""
    text = _URL_USER.sub(rf"\g<scheme>{HIDDEN}@", text)
    text = _BEARER.sub(_hidden, _HEADER.sub(_hidden, text))
    text = _hide_secret_values(_FIELD, _hide_secret_values(_OPTION, text))
    return _KNOWN_SHAPES.sub(HIDDEN, text)


def _hidden(match: re.Match[str]) -> str:
    return f"{match['name']}{match['between']}{HIDDEN}"


def _hide_secret_values(pattern: re.Pattern[str], text: str) -> str:
    """Not ``sub``: the value of a harmless name may itself hold a secret one (``url: http://h/?token=…``)."""
    clean: list[str] = []
    position = 0
    while match := pattern.search(text, position):
        secret = is_secret_name(match["name"])
        clean += [text[position : match.start()], _hidden(match) if secret else text[match.start() : match.start("value")]]
        position = match.end() if secret else match.start("value")
    return "".join([*clean, text[position:]])


def scrub_arguments(arguments: Sequence[str]) -> list[str]:
    """A command line's words with every secret value replaced."""
    clean: list[str] = []
    hide_next = hide_more = False
    for argument in arguments:
        # An option may take several secrets (vllm's --api-key k1 k2): all words are hidden as far as the next option.
        if hide_next or (hide_more and not argument.startswith("-")):
            clean.append(HIDDEN)
            hide_next = False
            continue
        hide_more = False
        name, equals, _value = argument.partition("=")
        if equals and _NAME.fullmatch(name) and is_secret_name(name):
            clean.append(f"{name}={HIDDEN}")
            continue
        if argument.startswith("-") and _NAME.fullmatch(argument) and is_secret_name(argument):
            hide_next = hide_more = True
            clean.append(argument)
            continue
        if argument.lower() == "bearer":
            hide_next = True
        clean.append(_scrub_nested(argument) if any(c.isspace() for c in argument) else scrub_text(argument))
    return clean


def _scrub_nested(argument: str) -> str:
    """A whole command in one word, as in ``bash -c "HF_TOKEN=… sglang serve --api-key …"``, a header, or a JSON document."""
    try:
        document = json.loads(argument)
    except ValueError:
        pass
    else:
        return json.dumps(_scrub_document(document))
    try:
        words = shlex.split(argument)
    except ValueError:
        return _until_secret(argument)
    # One quoted word would be split again for ever; and a header's value may have several words.
    if argument in words or any(word.endswith(":") and is_secret_name(word[:-1]) for word in words):
        return _until_secret(argument)
    return " ".join(scrub_arguments(words))


def _scrub_document(value: object) -> object:
    if isinstance(value, dict):
        return {name: HIDDEN if is_secret_name(str(name)) else _scrub_document(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_scrub_document(inner) for inner in value]
    return scrub_text(value) if isinstance(value, str) else value


def _until_secret(text: str) -> str:
    """Text that no shell would split: shown as far as the first name that sounds secret."""
    for match in re.finditer(_NAME, text):
        if is_secret_name(match[0]):
            return f"{scrub_text(text[: match.start()])}{match[0]} {HIDDEN}"
    return scrub_text(text)


def command_line(arguments: Iterable[str], limit: int = 400) -> str:
    """The scrubbed command line as one string of at most ``limit`` characters."""
    text = " ".join(scrub_arguments(list(arguments)))
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
