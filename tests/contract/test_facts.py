# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a role keeps of a host has a name of its own: a fact would win over a variable of that name for the rest of the run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROLES = Path(__file__).resolve().parents[2] / "roles"


def facts(tasks: Any) -> Iterator[str]:
    """The names that tasks set, in blocks too."""
    for task in tasks or []:
        yield from task.get("ansible.builtin.set_fact") or {}
        for part in ("block", "rescue", "always"):
            yield from facts(task.get(part))


@pytest.mark.parametrize("role", sorted(path.name for path in ROLES.iterdir()))
def test_no_fact_has_the_name_of_a_variable_of_its_role(role: str) -> None:
    variables = {name for file in (ROLES / role).glob("[dv]*/main.yml") for name in yaml.safe_load(file.read_text()) or {}}
    kept = {name for file in (ROLES / role / "tasks").rglob("*.yml") for name in facts(yaml.safe_load(file.read_text()))}
    assert variables
    assert kept & variables == set()
