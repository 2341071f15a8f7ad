#!/usr/bin/env python3
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Keep the variable tables of the roles' READMEs equal to their argument specs.

`role_tables.py --write` rewrites what stands between the markers; without it, a table that differs is named and the exit status is 1.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- specs:begin -->", "<!-- specs:end -->"


def read_specs(role: Path) -> dict[str, Any]:
    specs: dict[str, Any] = yaml.safe_load((role / "meta/argument_specs.yml").read_text())["argument_specs"]
    return specs


def as_text(value: Any) -> str:
    return " ".join(value) if isinstance(value, list) else str(value)


def option_row(name: str, option: dict[str, Any]) -> str:
    kind = option.get("type", "str")
    if kind == "list" and option.get("elements"):
        kind = f"list of {option['elements']}"
    default = "required" if option.get("required") else f"`{json.dumps(option.get('default'))}`"
    description = as_text(option.get("description", "")).replace("|", "\\|").replace("\n", " ").strip()
    # Ansible's markup for option names and code reads as Markdown code.
    description = re.sub(r"\b[OCVM]\(([^()]*)\)", r"`\1`", description)
    if option.get("choices"):
        description += " One of " + ", ".join(f"`{choice}`" for choice in option["choices"]) + "."
    return f"| `{name}` | {kind} | {default} | {description} |"


def render(specs: dict[str, Any]) -> str:
    lines: list[str] = []
    for entry, spec in specs.items():
        options = spec.get("options") or {}
        if not options:
            continue
        title = "Variables" if entry == "main" else f"Variables of the entry point `{entry}`"
        main_options = (specs.get("main") or {}).get("options") or {}
        rows = {name: option for name, option in options.items() if entry == "main" or main_options.get(name) != option}
        if not rows:
            lines += [f"The entry point `{entry}` takes variables of the list above.", ""]
            continue
        lines += [f"**{title}**", "", "| variable | type | default | meaning |", "| --- | --- | --- | --- |"]
        lines += [option_row(name, option) for name, option in rows.items()]
        lines.append("")
    return "\n".join(lines)


def updated(readme: str, table: str) -> str:
    head, marker, rest = readme.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not marker or not end:
        raise ValueError(f"no {BEGIN} … {END}")
    return f"{head}{BEGIN}\n{table}{END}{tail}"


def main(argv: list[str]) -> int:
    stale = []
    for role in sorted((ROOT / "roles").iterdir()):
        readme = role / "README.md"
        wanted = updated(readme.read_text(), render(read_specs(role)))
        if wanted != readme.read_text():
            if "--write" in argv:
                readme.write_text(wanted)
                print(f"wrote {readme.relative_to(ROOT)}")
            else:
                stale.append(str(readme.relative_to(ROOT)))
    if stale:
        print(f"out of date: {', '.join(stale)}; run `make docs`")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
