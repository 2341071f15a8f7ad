# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The engine's command-line options by release: checking names and values, and turning settings into arguments."""

from __future__ import annotations

import difflib
import json
import math
import re
from dataclasses import dataclass, replace
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._plain import shown
from ansible_collections.inference.sglang.plugins.module_utils._releases import RELEASES, Release

SECRETS = {"api_key": "sglang_server_api_key", "admin_api_key": "sglang_server_api_key"}
SECRET_WORDS = ("api-key", "ssl-keyfile-password")
_SIZE = re.compile(r"[0-9]{1,15}|[0-9]{1,9}(\.[0-9]{1,9})?[kMGT]|[0-9]{1,9}[KMGT]i")
# Emitted by the spelling that works in every release; the tables' first name is not always it.
_EMITTED = {
    "tensor-parallel-size": "tp-size",
    "pipeline-parallel-size": "pp-size",
    "data-parallel-size": "dp-size",
    "expert-parallel-size": "ep-size",
}


@dataclass(frozen=True)
class Option:
    """One option: its name without dashes, the kind of its value and how many there are."""

    name: str
    kind: str
    many: str = "1"
    choices: tuple[str, ...] = ()
    deprecated: bool = False

    @property
    def key(self) -> str:
        """Its name as settings spell it."""
        return self.name.replace("-", "_")

    @property
    def flag(self) -> str:
        """Its name as the command line spells it."""
        return "--" + _EMITTED.get(self.name, self.name)


@dataclass(frozen=True)
class OptionTable:
    """All options of one release."""

    version: str
    options: dict[str, Option]
    aliases: dict[str, str]

    def find(self, name: str) -> Optional[Option]:
        """By full name or alias, without dashes in front."""
        return self.options.get(self.aliases.get(name, name))

    def names(self) -> list[str]:
        """Every accepted spelling."""
        return [*self.options, *self.aliases]


def _joined(text: str) -> list[str]:
    """Lines of a table; a line that starts with blanks continues the one before."""
    lines: list[str] = []
    for line in text.strip("\n").split("\n"):
        if line.startswith("    ") and lines:
            lines[-1] += line[4:]
        elif line:
            lines.append(line)
    return lines


def _load(release: Release) -> OptionTable:
    module = release.options
    options: dict[str, Option] = {}
    deprecated = set(module.DEPRECATED.split())
    for kind, names in module.PLAIN.items():
        for name in names.split():
            options[name] = Option(name, kind, deprecated=name in deprecated)
    for line in _joined(module.DETAILED):
        name, kind, many, *rest = line.split(" ", 3)
        choices = tuple(rest[0].split("|")) if rest else ()
        options[name] = Option(name, kind, many, choices, name in deprecated)
    aliases: dict[str, str] = {}
    for word in module.ALIASES.split():
        if "=" in word:
            alias, name = word.split("=", 1)
            aliases[alias] = name
    # Releases differ in which of two names is the first; settings have one key for both.
    for long, short in _EMITTED.items():
        if short in options and aliases.get(long) == short:
            options[long] = replace(options.pop(short), name=long)
            aliases = {alias: long if name == short else name for alias, name in aliases.items() if alias != long}
            aliases[short] = long
    return OptionTable(release.version, options, aliases)


_TABLES = {version: _load(release) for version, release in RELEASES.items()}


def option_table(release: Release) -> OptionTable:
    """The options of a release."""
    return _TABLES[release.version]


def _polarity(name: str) -> str:
    return name.split("-", 1)[0] if name.startswith(("enable-", "disable-", "no-")) else ""


def _refuse_unknown(release: Release, name: str, where: str) -> SglangError:
    table = option_table(release)
    spelled = name.replace("-", "_") if where.endswith("settings") else f"--{name}"
    renamed = dict(release.renamed_options).get(name)
    if renamed is not None:
        new = renamed.replace("-", "_") if where.endswith("settings") else f"--{renamed}"
        return SglangError(
            f"{spelled} in {where} is not an option of SGLang {release.version}.",
            found=spelled,
            wanted=f"{new}, its name in this release",
            next_step=f"Write {new} instead of {spelled}.",
        )
    elsewhere = [version for version, other in _TABLES.items() if version != release.version and other.find(name)]
    # --disable-x is no hint for --enable-x: it would do the opposite.
    similar = [other for other in table.names() if _polarity(other) == _polarity(name)]
    near = difflib.get_close_matches(name, similar, n=1, cutoff=0.75)
    hint = ""
    if near:
        hint = near[0].replace("-", "_") if where.endswith("settings") else f"--{near[0]}"
    known = f" (SGLang {', '.join(elsewhere)} has it)" if elsewhere else ""
    return SglangError(
        f"{spelled} in {where} is not an option of SGLang {release.version}{known}.",
        found=spelled,
        wanted=f"perhaps {hint}" if hint else f"an option of SGLang {release.version}",
        next_step="Remove it, or correct its name.",
    )


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
        raise _wrong(option, value, "nothing: the engine no longer reads this option", where)
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
    renamed = dict(release.renamed_options).get(name)
    fitting = sorted({table.aliases.get(other, other) for other in table.names() if other.startswith(name)})
    if renamed is None and len(fitting) == 1:
        return table.options[fitting[0]]
    if renamed is None and len(fitting) > 1:
        raise SglangError(
            f"--{name} in sglang_server_extra_args could be several options of SGLang {release.version}.",
            found=f"--{name}",
            wanted="one of " + ", ".join(f"--{other}" for other in fitting[:8]),
            next_step="Write the option's full name.",
        )
    raise _refuse_unknown(release, name, "sglang_server_extra_args")


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
        raise _wrong(option, f"--{name}", "nothing: the engine no longer reads this option", where)
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
