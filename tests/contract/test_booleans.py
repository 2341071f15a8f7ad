# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A boolean from `-e name=false` or an INI inventory is the text "false", which is true: every decision goes through the filter bool."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from scripts import role_tables

ROOT = Path(__file__).resolve().parents[2]
CONDITIONS = {"when", "that", "until", "changed_when", "failed_when"}
EXPRESSION = re.compile(r"\{\{(.*?)\}\}|\{%(.*?)%\}", re.S)
BOOLEANS = sorted(
    name
    for role in (ROOT / "roles").iterdir()
    if role.is_dir()
    for spec in role_tables.read_specs(role).values()
    for name, option in (spec.get("options") or {}).items()
    if option.get("type") == "bool"
)
FILES = sorted(
    path
    for pattern in ("roles/*/tasks/**/*.yml", "roles/*/handlers/*.yml", "roles/*/vars/*.yml", "playbooks/*.yml")
    for path in ROOT.glob(pattern)
)


def expressions(node: Any, condition: bool = False) -> Iterator[tuple[str, bool]]:
    """Every Jinja expression of a YAML file and whether it stands in a condition."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from expressions(value, key in CONDITIONS)
    elif isinstance(node, list):
        for value in node:
            yield from expressions(value, condition)
    elif isinstance(node, str) and condition:
        yield node, True
    elif isinstance(node, str):
        yield from ((first or second, False) for first, second in EXPRESSION.findall(node))


def bare_booleans(document: Any) -> list[str]:
    """Booleans that decide something as they are. Handing one on whole is fine: module and role options are typed."""
    found = []
    for expression, condition in expressions(document):
        for name in BOOLEANS:
            bare = re.search(rf"\b{name}\b(?!\s*\|\s*bool\b)", expression)
            if bare and (condition or expression.strip() != name):
                found.append(f"{name} in {expression.strip()!r}")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_boolean_decides_without_the_filter_bool(path: Path) -> None:
    assert bare_booleans(yaml.safe_load(path.read_text())) == []


@pytest.mark.parametrize(
    ("task", "wrong"),
    [
        ({"when": ["sglang_server_replace_unmanaged"]}, True),
        ({"when": "not sglang_server_replace_unmanaged"}, True),
        ({"assert": {"that": "sglang_server_replace_unmanaged and x"}}, True),
        ({"copy": {"mode": "{{ sglang_server_replace_unmanaged | ternary('a', 'b') }}"}}, True),
        ({"copy": {"mode": "{{ 'a' if sglang_server_replace_unmanaged else 'b' }}"}}, True),
        ({"when": ["not (sglang_server_replace_unmanaged | bool)"]}, False),
        ({"module": {"replace": "{{ sglang_server_replace_unmanaged }}"}}, False),
        ({"fail": {"msg": "set sglang_server_replace_unmanaged to true"}}, False),
    ],
)
def test_the_search_sees_what_it_is_for(task: dict[str, Any], wrong: bool) -> None:
    assert bool(bare_booleans([task])) == wrong
