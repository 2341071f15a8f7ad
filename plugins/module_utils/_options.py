# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The engine's command-line options by release: checking names and values, and turning settings into arguments."""

from __future__ import annotations

import difflib
import json
import math
import re
import shlex
from typing import Any

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._options_read import Option, OptionTable, option_tables
from ansible_collections.inference.sglang.plugins.module_utils._plain import shown
from ansible_collections.inference.sglang.plugins.module_utils._releases import Release

SECRETS = {"api_key": "sglang_server_api_key", "admin_api_key": "sglang_server_api_key"}
SECRET_WORDS = ("api-key", "ssl-keyfile-password")
_SIZE = re.compile(r"[0-9]{1,15}|[0-9]{1,9}(\.[0-9]{1,9})?[kMGT]|[0-9]{1,9}[KMGT]i")


def option_table(release: Release) -> OptionTable:
    """The options of a release."""
    return option_tables()[release.options]


def _base(successor: str) -> str:
    """The option's name in what a parser says to write: `a-{b,c}=d` is `a-b`."""
    return re.sub(r"\{([^,}]*)[^}]*\}", r"\1", successor.split("=", 1)[0])


def _later(release: Release, name: str) -> str:
    """Following what other releases' parsers say to write instead, as far as this release has it; the latest word counts."""
    table, wanted = option_table(release), name
    for _step in range(len(option_tables())):
        said = [option.successor for other in option_tables().values() if (option := other.options.get(wanted)) and option.successor]
        if not said:
            return ""
        wanted = said[-1]
        if table.find(_base(wanted)):
            return wanted
    return ""


def _earlier(release: Release, name: str) -> str:
    """The name here of what a later release calls otherwise; only where the value stays as it is."""
    table = option_table(release)
    for other in option_tables().values():
        for option in other.options.values():
            if option.moves and option.successor == name and table.find(option.name):
                return option.name
            if name in option.aliases and table.find(option.name):
                return option.name
    return ""


def successor_of(release: Release, name: str) -> str:
    """What an option that this release does not have is called here, perhaps with `=value`; empty where nothing is known."""
    return dict(release.renamed_options).get(name) or _later(release, name) or _earlier(release, name)


def _polarity(name: str) -> str:
    return name.split("-", 1)[0] if name.startswith(("enable-", "disable-", "no-")) else ""


def spelled(name: str, where: str) -> str:
    """An option's name as it is written there: a key of settings, or a flag."""
    if not where.endswith("settings"):
        return f"--{name}"
    key, tied, value = name.partition("=")
    return key.replace("-", "_") + (f": {value}" if tied else "")


def releases_with(name: str) -> str:
    """The releases that have an option, as spans."""
    versions = list(option_tables())
    having = [index for index, version in enumerate(versions) if option_tables()[version].find(name)]
    spans: list[list[int]] = []
    for index in having:
        if spans and spans[-1][-1] == index - 1:
            spans[-1].append(index)
        else:
            spans.append([index])
    return ", ".join(versions[span[0]] + (f" to {versions[span[-1]]}" if len(span) > 1 else "") for span in spans)


def _refuse_unknown(release: Release, name: str, where: str) -> SglangError:
    table, written = option_table(release), spelled(name, where)
    elsewhere = releases_with(name)
    known = f" (SGLang {elsewhere} has it)" if elsewhere else ""
    wrong = f"{written} in {where} is not an option of SGLang {release.version}{known}."
    renamed = successor_of(release, name)
    if renamed:
        new = spelled(renamed, where)
        return SglangError(
            wrong,
            found=written,
            wanted=f"{new}, its name in this release",
            next_step=f"Write {new} instead of {written}.",
        )
    begun = [] if elsewhere else completions(table, name)
    if len(begun) == 1:
        new = spelled(begun[0], where)
        return SglangError(wrong, found=written, wanted=f"{new}, in full", next_step=f"Write {new} instead of {written}.")
    # --disable-x is no hint for --enable-x: it would do the opposite.
    similar = [other for other in table.names() if _polarity(other) == _polarity(name)]
    near = [table.aliases.get(other, other) for other in difflib.get_close_matches(name, similar, n=1, cutoff=0.75)]
    return SglangError(
        wrong,
        found=written,
        wanted=f"perhaps {spelled(near[0], where)}" if near else f"an option of SGLang {release.version}",
        next_step="Remove it, or correct its name.",
    )


def completions(table: OptionTable, name: str) -> list[str]:
    """The options that a beginning of a name or of an alias could mean, by their own names."""
    return sorted({table.aliases.get(other, other) for other in table.names() if other.startswith(name)})


def refuse_secret(name: str, where: str) -> None:
    """Keys never belong on a command line: every process on the host can read it."""
    if name.endswith(SECRET_WORDS):
        raise SglangError(
            f"A secret does not belong into {where}.",
            found=f"--{name}",
            wanted="sglang_server_api_key, which reaches the engine without a command line",
            next_step=f"Remove {name} from {where} and set sglang_server_api_key (from a vault).",
        )


def find_setting(release: Release, key: str, where: str = "sglang_server_settings") -> Option:
    """The option that a settings key names."""
    name = key.replace("_", "-")
    refuse_secret(name, where)
    option = option_table(release).find(name)
    if option is None or name == "help" or name == "config":
        raise _refuse_unknown(release, name, where)
    return option


def _wrong(option: Option, value: object, wanted: str, where: str) -> SglangError:
    return SglangError(f"{option.key} in {where} cannot be used.", found=shown(value), wanted=wanted)


def _dead(option: Option, value: object, where: str) -> SglangError:
    instead = f"{spelled(option.successor, where)} instead" if option.successor else "nothing"
    return _wrong(option, value, f"{instead}: the engine no longer reads this option", where)


def _scalar(option: Option, value: object, where: str) -> str:
    if option.kind == "json":
        return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    if isinstance(value, (bool, dict, list)) or value is None:
        wanted = "one of " + ", ".join(option.choices) if option.choices else f"one {option.kind} value"
        raise _wrong(option, value, wanted, where)
    if isinstance(value, float) and not math.isfinite(value):
        raise _wrong(option, value, "a finite number", where)
    text = str(value)
    if option.kind == "integer" and not re.fullmatch(r"-?[0-9]{1,18}", text):
        raise _wrong(option, value, "a whole number", where)
    if option.kind == "number":
        try:
            finite = math.isfinite(float(text))
        except (ValueError, OverflowError):
            finite = False
        if not finite:
            raise _wrong(option, value, "a number", where)
    if option.kind == "size" and not _SIZE.fullmatch(text):
        raise _wrong(option, value, "a whole number, or one with k, M, G or Ki, Mi, Gi (case matters)", where)
    if option.choices and text not in option.choices:
        near = difflib.get_close_matches(text, option.choices, n=1)
        raise _wrong(option, value, "one of " + ", ".join(option.choices) + (f" (perhaps {near[0]})" if near else ""), where)
    if "\n" in text or "\0" in text:
        raise _wrong(option, value, "text of one line", where)
    return text


def render(option: Option, value: object, where: str = "sglang_server_settings") -> list[str]:
    """The arguments for one option; an empty list for one that is left alone."""
    if option.kind == "dead":
        raise _dead(option, value, where)
    if option.kind in ("switch", "toggle"):
        if not isinstance(value, bool):
            raise _wrong(option, value, "true or false", where)
        if value:
            return [option.flag]
        return ["--no-" + option.name] if option.kind == "toggle" else []
    if option.many in ("+", "*"):
        values = value if isinstance(value, list) else [value]
        if not values and option.many == "+":
            raise _wrong(option, value, "one value at least", where)
        return [option.flag, *(_scalar(option, item, where) for item in values)]
    if option.many == "?" and value is True:
        return [option.flag]
    text = _scalar(option, value, where)
    # An argument that starts with a dash is read as an option unless it is tied to its name.
    if text.startswith("-") and not re.fullmatch(r"-[0-9.]+", text):
        return [f"{option.flag}={text}"]
    return [option.flag, text]


def _resolve(release: Release, name: str) -> Option:
    """As argparse does it: the full name, or a beginning that fits one option only."""
    table = option_table(release)
    option = table.find(name)
    if option is not None:
        return option
    if name.startswith("no-"):
        toggle = table.find(name[3:])
        if toggle is not None and toggle.kind == "toggle":
            return toggle
    # A whole name of another release is no abbreviation, although argparse would take it for one.
    whole = bool(releases_with(name))
    fitting = completions(table, name)
    if not whole and len(fitting) == 1:
        return table.options[fitting[0]]
    if not whole and len(fitting) > 1:
        raise SglangError(
            f"--{name} in sglang_server_extra_args could be several options of SGLang {release.version}.",
            found=f"--{name}",
            wanted="one of " + ", ".join(f"--{other}" for other in fitting[:8]),
            next_step="Write the option's full name.",
        )
    raise _refuse_unknown(release, name, "sglang_server_extra_args")


def _refuse_several(word: str, where: str) -> None:
    """A command line's words in one entry would reach the engine as one word."""
    if any(character.isspace() for character in word.partition("=")[0]):
        try:
            parts = shlex.split(word)
        except ValueError:  # a quote that is never closed
            parts = word.split()
        raise SglangError(
            f"One entry of {where} holds several arguments.",
            found=json.dumps([word]),
            wanted="one argument an entry, as the engine gets them",
            next_step=f"Write {json.dumps(parts)}.",
        )


def parse_extra_args(release: Release, arguments: list[Any]) -> dict[str, Any]:
    """extra_args as settings (key -> value), each option checked against the release."""
    where = "sglang_server_extra_args"
    found: dict[str, Any] = {}
    words = []
    for word in arguments:
        if isinstance(word, bool) or not isinstance(word, (str, int, float)):
            raise SglangError(f"{where} holds something that is not text.", found=shown(word), wanted="a list of arguments as text")
        words.append(str(word))
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if not word.startswith("--") or word == "--":
            raise SglangError(
                f"{where} has a value without an option.",
                found=shown(word),
                wanted="options that start with --, each followed by its value",
                next_step="Write the option and its value as two entries, or as one: --name=value.",
            )
        _refuse_several(word, where)
        name, tied, value = word[2:].partition("=")
        refuse_secret(name.replace("_", "-"), where)
        option = _resolve(release, name)
        refuse_secret(option.name, where)
        if option.name == "config":
            raise _refuse_unknown(release, name, where)
        values = [value] if tied else []
        while not tied and index < len(words) and not words[index].startswith("--"):
            values.append(words[index])
            index += 1
        if option.key in found:
            raise SglangError(f"--{option.name} stands twice in {where}.", found=" ".join(words), wanted="each option once")
        found[option.key] = _extra_value(option, name, values, where)
    return found


def _extra_value(option: Option, name: str, values: list[str], where: str) -> Any:
    if option.kind == "dead":
        raise _dead(option, f"--{name}", where)
    if option.kind in ("switch", "toggle"):
        if values:
            raise _wrong(option, " ".join(values), f"--{name} without a value", where)
        return not (option.kind == "toggle" and name.startswith("no-"))
    if option.many in ("+", "*"):
        result: Any = values
    elif option.many == "?" and not values:
        result = True
    elif len(values) != 1:
        raise _wrong(option, " ".join(values) or "nothing", f"exactly one value after --{name}", where)
    else:
        result = values[0]
    render(option, result, where)
    return result
