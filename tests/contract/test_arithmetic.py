# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A number from a command line (-e) is text in Ansible: "60" * 3 is "606060". Roles reckon with ``| int`` or ``| float`` only."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts import role_tables

ROOT = Path(__file__).resolve().parents[2]
ROLES = sorted(path for path in (ROOT / "roles").iterdir() if path.is_dir())
NUMBERS = sorted(
    {
        name
        for role in ROLES
        for spec in role_tables.read_specs(role).values()
        for name, option in (spec.get("options") or {}).items()
        if option.get("type") in ("int", "float")
    }
)
_OPERATOR = r"(?:\*|/|%|\+|-|<|>|==|!=|and\b|or\b)"
FILES = sorted(
    path
    for pattern in ("roles/*/tasks/*.yml", "roles/*/vars/*.yml", "roles/*/handlers/*.yml", "roles/*/templates/*", "playbooks/*.yml")
    for path in ROOT.glob(pattern)
)


def bare(name: str, text: str) -> list[str]:
    """Places where the variable is an operand without having been made a number."""
    after = re.findall(rf"\b{name}\b(?!\s*\|)\s*{_OPERATOR}", text)
    before = re.findall(rf"(?:\*|/|%|\+|(?<= )-|<|>|==|!=)\s*{name}\b(?!\s*\|\s*(?:int|float)\b)", text)
    return after + before


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_numbers_are_made_numbers_before_they_are_reckoned_with(path: Path) -> None:
    text = path.read_text()
    assert [place for name in NUMBERS for place in bare(name, text)] == []


def test_the_rule_sees_what_it_forbids() -> None:
    name = "sglang_server_probe_timeout"
    assert name in NUMBERS and len(NUMBERS) > 10
    assert all(
        bare(name, text) for text in (f"{{{{ {name} * 3 }}}}", f"{{{{ 3 * {name} }}}}", f"{{{{ {name} or none }}}}", f"when: {name} > 0")
    )
    assert not any(bare(name, text) for text in (f"{{{{ {name} | int * 3 }}}}", f'timeout: "{{{{ {name} }}}}"', f"- {name}: 3"))
