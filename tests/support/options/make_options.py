# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Write plugins/module_utils/_options_<release>.py from a record of that release's own argument parser.

    python3 tests/support/options/make_options.py tests/data/expected/flags-0.5.11.json

The record is a JSON object {"sglang": release, "flags": [{flags, dest, action, nargs, type, choices, deprecated}]}.
"""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path

MODULE_UTILS = Path(__file__).resolve().parents[3] / "plugins" / "module_utils"
TYPES = {"int": "integer", "float": "number", "human_readable_int": "size", "loads": "json", "json_list_type": "json"}
TYPES.update({"parse_cuda_graph_config_arg": "json", "nullable_str": "text", "str": "text", "None": "text"})


def kind_of(flag: dict) -> str:
    """The word our table has for an argparse action."""
    action = flag["action"]
    if action in ("_StoreTrueAction", "DeprecatedStoreTrueAction"):
        return "switch"
    if action == "DeprecatedAction":
        return "dead"
    if action == "BooleanOptionalAction":
        return "toggle"
    return TYPES.get(str(flag["type"]), "text")


def rows(record: dict) -> tuple[dict[str, list[str]], list[str], list[str]]:
    """Plain names by kind, detailed lines (choices or several values), and aliases."""
    plain: dict[str, list[str]] = {}
    detailed: list[str] = []
    aliases: list[str] = []
    for flag in record["flags"]:
        names = [name for name in flag["flags"] if name.startswith("--")]
        if flag["dest"] == "help" or not names:
            continue
        kind = kind_of(flag)
        if kind == "toggle":
            names = [name for name in names if not name.startswith("--no-")]
        name = names[0][2:]
        if flag["dest"] != name.replace("-", "_"):
            aliases.append(f"{name}>{flag['dest']}")
        aliases += [f"{other[2:]}={name}" for other in names[1:]]
        choices, nargs = flag["choices"], flag["nargs"]
        if choices or (nargs in ("+", "*", "?") and kind != "switch"):
            many = nargs if nargs in ("+", "*", "?") else "1"
            detailed.append(f"{name} {kind} {many} {'|'.join(str(choice) for choice in choices or [])}".rstrip())
        else:
            plain.setdefault(kind, []).append(name)
    return plain, detailed, aliases


def wrapped(words: list[str]) -> str:
    return "\n".join(textwrap.wrap(" ".join(words), 130, break_long_words=False, break_on_hyphens=False))


def split_choices(line: str) -> list[str]:
    """One option's line, broken behind a bar where it is long; what follows is indented and joined again as it stands."""
    words = line.split("|")
    lines = [words[0]]
    for word in words[1:]:
        if len(lines[-1]) + len(word) > 128:
            lines[-1] += "|"
            lines.append("    " + word)
        else:
            lines[-1] += "|" + word
    return lines


def main(path: str) -> None:
    record = json.loads(Path(path).read_text())
    plain, detailed, aliases = rows(record)
    deprecated = [flag["flags"][0][2:] for flag in record["flags"] if flag.get("deprecated")]
    parts = [
        "# Copyright (c) 2026, inference.sglang maintainers",
        "# SPDX-License-Identifier: Apache-2.0",
        f'"""Option names of SGLang {record["sglang"]}, recorded from its own parser. Written by tests/support/options/make_options.py."""',
        "",
        "from __future__ import annotations",
        "",
        "# kind -> names without dashes; one value each, any value",
        "PLAIN = {",
    ]
    for kind in sorted(plain):
        parts += [f'    "{kind}": """', wrapped(plain[kind]), '""",']
    parts += ["}", "# name kind values choices", 'DETAILED = """']
    for line in detailed:
        parts += split_choices(line)
    parts += ['"""', "# other spelling=name, and name>dest where the two differ", 'ALIASES = """', wrapped(aliases), '"""']
    parts += ['DEPRECATED = """', wrapped(deprecated), '"""', ""]
    target = MODULE_UTILS / f"_options_{record['sglang'].replace('.', '_')}.py"
    target.write_text("\n".join(parts))


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        main(argument)
