# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The operating systems that the preflight accepts, the package tables of the role and its README are one support table."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.inference.sglang.plugins.module_utils._host_facts import FFMPEG_LIBRARIES
from ansible_collections.inference.sglang.plugins.module_utils._preflight import CAPABILITIES, SUPPORTED

ROOT = Path(__file__).resolve().parents[2]
ROLE = ROOT / "roles/inference_host"
TABLES = {path.stem: path for path in (ROLE / "vars").glob("*-*.yml")}
# These are named after the interpreter, not after the operating system.
OF_THE_INTERPRETER = {"python_headers", "python_venv"}


def names(path: Path) -> dict[str, list[str]]:
    packages: dict[str, list[str]] = yaml.safe_load(path.read_text())["__inference_host_packages"]
    return packages


def test_every_supported_system_has_a_table_and_no_other_has_one() -> None:
    assert set(TABLES) == {f"{name.capitalize()}-{version}" for name, version in SUPPORTED}


@pytest.mark.parametrize("table", TABLES)
def test_a_table_brings_everything_that_the_engine_needs(table: str) -> None:
    assert set(names(TABLES[table])) == set(CAPABILITIES) - OF_THE_INTERPRETER
    assert all(names(TABLES[table]).values())


@pytest.mark.parametrize("table", TABLES)
def test_ffmpeg_packages_are_those_of_one_whole_major(table: str) -> None:
    packages = sorted(names(TABLES[table])["ffmpeg"])
    assert packages in [sorted(library.replace(".so.", "") for library in libraries) for libraries in FFMPEG_LIBRARIES.values()]


def test_the_roles_lists_hold_every_capability() -> None:
    variables: dict[str, Any] = yaml.safe_load((ROLE / "vars/main.yml").read_text())
    assert {*variables["__inference_host_capabilities"], *OF_THE_INTERPRETER} == set(CAPABILITIES)
    assert set(variables["__inference_host_python_packages"]) == OF_THE_INTERPRETER


def test_the_module_knows_every_capability() -> None:
    text = (ROOT / "plugins/modules/host_preflight.py").read_text()
    choices = re.search(r"^    choices: \[(.*)\]$", text, re.M)
    assert choices
    assert choices[1].split(", ") == list(CAPABILITIES)


def test_readme_says_what_is_tested_and_what_is_expected() -> None:
    rows = re.findall(r"^\| (\w+) ([\d.]+) \|.*\| \*(\w+)\*", (ROLE / "README.md").read_text(), re.M)
    assert {(name.lower(), version): state for name, version, state in rows} == dict(SUPPORTED)


# These only look, and what they look at may be a host whose variables are wrong.
LOOKING = {("sglang_server", "status"), ("sglang_server", "support_bundle")}


def entry_points() -> list[tuple[str, str]]:
    specs = sorted((ROOT / "roles").glob("*/meta/argument_specs.yml"))
    found = [(path.parts[-3], entry) for path in specs for entry in yaml.safe_load(path.read_text())["argument_specs"]]
    assert set(found) > LOOKING
    return [point for point in found if point not in LOOKING]


@pytest.mark.parametrize(("role", "entry"), entry_points())
def test_every_entry_point_refuses_misspelt_variables_first(role: str, entry: str) -> None:
    tasks = ROOT / "roles" / role / "tasks"
    first = yaml.safe_load((tasks / f"{entry}.yml").read_text())[0]
    for include in ("ansible.builtin.include_tasks", "ansible.builtin.import_tasks"):
        if include in first:
            first = yaml.safe_load((tasks / first[include]).read_text())[0]
    assert first["ansible.builtin.assert"]["that"] == f"__{role}_unknown | length == 0"
    assert first["vars"] == {
        f"__{role}_unknown": "{{ query('ansible.builtin.varnames', '.') | inference.sglang.unknown_variables }}",
    }
