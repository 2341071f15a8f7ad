#!/usr/bin/env python3
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Write plugins/module_utils/_options_{base,changes_*}.py from records of each release's own argument parser.

A record is a JSON object {"sglang": release, "flags": [{flags, dest, action, nargs, type, choices, default, deprecated,
new_flag, error}]}, oldest first.
The oldest release is written in full, each later one as its difference from the one before. `scripts/release-row` makes records.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

MODULE_UTILS = Path(__file__).resolve().parents[3] / "plugins" / "module_utils"
TYPES = {"int": "integer", "float": "number", "human_readable_int": "size", "loads": "json", "json_list_type": "json"}
TYPES.update({"parse_cuda_graph_config_arg": "json", "nullable_str": "text", "str": "text", "None": "text"})
# Releases differ in which of two names is the first; the table keeps to one, so that settings have one key for all releases.
LONG_NAMES = ("tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size", "expert-parallel-size")
HEADER = """\
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
\"\"\"{text}

Written by scripts/release-row --write.
\"\"\"

from __future__ import annotations

"""
WIDTH = 130
# A part of the changes per so many releases; _options_read.py names the parts.
PER_FILE = 10


class Row(NamedTuple):
    """One option of a record."""

    kind: str
    many: str
    choices: tuple[str, ...]
    default: str
    aliases: tuple[str, ...]
    successor: str
    """With `>` in front where its value simply moves to that name, with `?` where a person has to translate it."""
    deprecated: bool

    @property
    def is_plain(self) -> bool:
        """Whether its kind says all there is to say."""
        return self == Row(self.kind, "1", (), "", (), "", False)


def kind_of(flag: dict[str, Any]) -> str:
    """The word our table has for an argparse action."""
    action = flag["action"]
    if action == "DeprecatedAction":
        return "dead"
    if action == "BooleanOptionalAction":
        return "toggle"
    if flag["nargs"] == 0:
        return "switch"
    return TYPES.get(str(flag["type"]), "text")


def default_of(flag: dict[str, Any], kind: str) -> str:
    """A default worth writing down: one word, and not what its absence means anyway."""
    value = flag.get("default")
    if value in (None, False, argparse.SUPPRESS) or kind == "dead" or isinstance(value, (list, dict)):
        return ""
    text = "true" if value is True else str(value)
    return text if text and len(text.split()) == 1 and text[0] not in "[{(<" and "|" not in text else ""


def successor_of(flag: dict[str, Any]) -> str:
    """The option that the parser names instead of a deprecated one."""
    text = flag.get("new_flag") or ""
    if not text:
        named = re.search(r"\bUse (--[a-z][a-z0-9-]+)", flag.get("error") or "")
        text = named[1] if named else ""
    name = text.split(" ")[0].lstrip("-")
    if not name:
        return ""
    moves = flag["action"] in ("DeprecatedAliasStoreAction", "DeprecatedStoreTrueAction") and name.replace("-", "_") == flag["dest"]
    return (">" if moves else "?") + name


def rows_of(record: dict[str, Any]) -> dict[str, Row]:
    """The options of a record by the name that the table has for them."""
    rows = {}
    for flag in record["flags"]:
        kind = kind_of(flag)
        names = [name[2:] for name in flag["flags"] if name.startswith("--")]
        if kind == "toggle":
            names = [name for name in names if not name.startswith("no-")]
        if flag["dest"] == "help" or not names:
            continue
        name = next((long for long in LONG_NAMES if long in names), names[0])
        nargs = flag["nargs"]
        many = nargs if nargs in ("+", "*", "?") and kind not in ("switch", "dead") else "1"
        choices = tuple(str(choice) for choice in flag["choices"] or ())
        aliases = tuple(other for other in names if other != name)
        rows[name] = Row(kind, many, choices, default_of(flag, kind), aliases, successor_of(flag), bool(flag["deprecated"]))
    return rows


def line_of(name: str, row: Row) -> str:
    words = [name, row.kind + ("" if row.many == "1" else row.many)]
    words += [f"[{'|'.join(row.choices)}]"] if row.choices else []
    words += [f"={row.default}"] if row.default else []
    words += [f"@{','.join(row.aliases)}"] if row.aliases else []
    words += [row.successor] if row.successor else []
    words += ["!"] if row.deprecated else []
    return " ".join(words)


def grouped(rows: dict[str, Row]) -> list[str]:
    """Plain options by kind, then one line for each of the others."""
    lines = []
    for kind in sorted({row.kind for row in rows.values() if row.is_plain}):
        names = [name for name, row in rows.items() if row.is_plain and row.kind == kind]
        lines.append(f"{kind}: {' '.join(names)}")
    return lines + [line_of(name, row) for name, row in rows.items() if not row.is_plain]


def changes_of(before: dict[str, Row], after: dict[str, Row]) -> list[str]:
    """What turns the rows of one release into those of the next."""
    lines = []
    gone = [name for name in before if name not in after]
    if gone:
        lines.append("-: " + " ".join(gone))
    new = {}
    for name, row in after.items():
        old = before.get(name)
        if old == row:
            continue
        if old is not None and old._replace(choices=row.choices) == row and old.choices and row.choices:
            more = "|".join(choice for choice in row.choices if choice not in old.choices)
            less = "|".join(choice for choice in old.choices if choice not in row.choices)
            if more or less:  # another order alone is no change
                lines.append(" ".join(["~", name, *([f"+{more}"] if more else []), *([f"-{less}"] if less else [])]))
        else:
            new[name] = row
    return lines + grouped(new)


def wrapped(lines: list[str]) -> str:
    """Long lines broken at a blank (which goes behind the four of a continuation) or behind a bar."""
    out = []
    for line in lines:
        current = ""
        for number, word in enumerate(line.split(" ")):
            parts = word.replace("|", "|\n").split("\n")
            for position, part in enumerate(parts):
                glue = " " if number and not position else ""
                if current and len(current) + len(glue) + len(part) > WIDTH:
                    out.append(current)
                    current = "    " + glue + part
                else:
                    current += glue + part
        out.append(current)
    return "\n".join(out)


def write(records: list[dict[str, Any]], directory: Path = MODULE_UTILS) -> None:
    """All files anew."""
    rows = [(record["sglang"], rows_of(record)) for record in records]
    version, first = rows[0]
    text = f'VERSION = "{version}"\nOPTIONS = """\n{wrapped(grouped(first))}\n"""\n'
    (directory / "_options_base.py").write_text(HEADER.format(text=f"The options of SGLang {version}.") + text)
    changes = [(version, wrapped(changes_of(before, after))) for (_, before), (version, after) in zip(rows, rows[1:])]
    for number, start in enumerate(range(0, len(changes), PER_FILE), 1):
        parts = [
            f'    "{version}": """\n{lines}\n""",' if lines else f'    "{version}": "",' for version, lines in changes[start:][:PER_FILE]
        ]
        head = HEADER.format(text=f"What changed in the options from release to release, part {number}.")
        (directory / f"_options_changes_{number}.py").write_text(head + "CHANGES = {\n" + "\n".join(parts) + "\n}\n")


def read(paths: list[Path]) -> list[dict[str, Any]]:
    """Records from files."""
    return [json.loads(path.read_text()) for path in paths]


def differences(record: dict[str, Any]) -> list[str]:
    """What the table of options says otherwise than a record of the same release."""
    from ansible_collections.inference.sglang.plugins.module_utils._options_read import option_tables

    table = option_tables()[record["sglang"]]
    wanted = rows_of(record)
    found = [f"option {name} is not in the table" for name in wanted if name not in table.options]
    found += [f"option {name} of the table is not in the wheel" for name in table.options if name not in wanted]
    for name, option in table.options.items():
        row = Row(
            option.kind,
            option.many,
            tuple(sorted(option.choices)),
            option.default,
            option.aliases,
            option.successor and ("?>"[option.moves] + option.successor),
            option.deprecated,
        )
        if name in wanted and row != wanted[name]._replace(choices=tuple(sorted(wanted[name].choices))):
            found.append(f"option {name} is {line_of(name, wanted[name])!r} in the wheel")
    return found


def write_places(found: dict[str, dict[str, Any]], directory: Path = MODULE_UTILS) -> None:
    """Fact -> release -> file:line; what stands where it stood in the release before is left out."""
    lines = []
    for fact in sorted({fact for places in found.values() for fact in places}):
        words, last = [fact], "-"
        for version, places in found.items():
            where = places[fact].place if fact in places else "-"
            if where != last:
                words.append(f"{version}={where}")
                last = where
        lines.append(" ".join(words))
    head = HEADER.format(text="Where the facts of the release table stand in each wheel, below sglang/srt.")
    (directory / "_releases_places.py").write_text(f'{head}PLACES = """\n{wrapped(lines)}\n"""\n')


def write_variables(found: dict[str, set[str]], directory: Path = MODULE_UTILS) -> None:
    """First and last release of the table whose Python mentions a variable -> their names."""
    versions = list(found)
    spans: dict[tuple[int, int], list[str]] = {}
    for name in sorted(set().union(*found.values())):
        present = [number for number, version in enumerate(versions) if name in found[version]]
        spans.setdefault((present[0], present[-1]), []).append(name.removeprefix("SGLANG_") if name.startswith("SGLANG_") else "=" + name)
    lines = [f"{versions[first]} {versions[last]} {' '.join(spans[first, last])}" for first, last in sorted(spans)]
    head = HEADER.format(text="Environment variables that SGLang's Python mentions: first release, last release, names without SGLANG_.")
    (directory / "_releases_variables.py").write_text(f'{head}VARIABLES = """\n{wrapped(lines)}\n"""\n')
