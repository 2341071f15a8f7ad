# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A role's public API is its argument spec, its defaults and its README: the three must agree."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from scripts import role_tables

ROOT = Path(__file__).resolve().parents[2]
ROLES = sorted(path for path in (ROOT / "roles").iterdir() if path.is_dir())
PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "path": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "list": (list,),
    "dict": (dict,),
    "raw": (object,),
}

pytestmark = pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)


def defaults_of(role: Path) -> dict[str, Any]:
    return yaml.safe_load((role / "defaults/main.yml").read_text()) or {}


def options_of(role: Path) -> dict[str, dict[str, Any]]:
    """The options of every entry point; the same option must not say two things."""
    options: dict[str, dict[str, Any]] = {}
    for entry, spec in role_tables.read_specs(role).items():
        for name, option in (spec.get("options") or {}).items():
            assert options.setdefault(name, option) == option, f"{name} differs between entry points ({entry})"
    return options


def test_defaults_and_specs_name_the_same_variables(role: Path) -> None:
    options = options_of(role)
    optional = {name for name, option in options.items() if not option.get("required")}
    assert optional == set(defaults_of(role))


def test_defaults_and_specs_have_the_same_values(role: Path) -> None:
    options = options_of(role)
    differing = {
        name: (value, options[name].get("default"))
        for name, value in defaults_of(role).items()
        if value != options[name].get("default") or type(value) is not type(options[name].get("default"))
    }
    assert differing == {}


def test_defaults_have_the_type_that_the_spec_says(role: Path) -> None:
    options = options_of(role)
    for name, value in defaults_of(role).items():
        kind = options[name]["type"]
        assert isinstance(value, PYTHON_TYPES[kind]), f"{name}: {value!r} is no {kind}"
        assert kind == "bool" or not isinstance(value, bool), f"{name}: {value!r} is no {kind}"


def test_every_option_is_typed_described_and_prefixed(role: Path) -> None:
    for name, option in options_of(role).items():
        assert name.startswith(f"{role.name}_"), name
        assert option.get("type"), f"{name} has no type"
        assert role_tables.as_text(option.get("description", "")).strip(), f"{name} has no description"
        if option["type"] == "list":
            assert option.get("elements"), f"{name} says nothing of its elements"


def test_defaults_are_literal(role: Path) -> None:
    # Argument specs are validated even where every tag is skipped, so a default must not need facts or other variables.
    text = (role / "defaults/main.yml").read_text()
    assert "{{" not in text and "{%" not in text


def test_secrets_are_marked(role: Path) -> None:
    for name, option in options_of(role).items():
        secret = re.search(r"_(token|api_key|password|secret)$", name) is not None
        assert bool(option.get("no_log")) == secret, f"{name}: no_log is {option.get('no_log')}"


def test_readme_table_is_generated_from_the_specs(role: Path) -> None:
    readme = (role / "README.md").read_text()
    assert role_tables.updated(readme, role_tables.render(role_tables.read_specs(role))) == readme, "run `make docs`"


def test_every_set_internal_carries_the_prefix(role: Path) -> None:
    """Registered and set variables of a role are `__role_x`, except its documented outputs."""
    outputs = {"ml_env_current", "model_shards_published"}
    for path in [*role.glob("tasks/**/*.yml"), *role.glob("handlers/*.yml")]:
        text = path.read_text()
        names = re.findall(r"^\s+register: (\w+)", text, re.M)
        for name in names:
            assert name.startswith(f"__{role.name}_") or name in outputs, f"{path.name}: {name}"
