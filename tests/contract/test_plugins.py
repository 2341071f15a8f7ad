# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Every plugin is documented honestly and listed where people look for it."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted((ROOT / "plugins/modules").glob("*.py"))
CORE = sorted((ROOT / "plugins/module_utils").glob("*.py"))


def constants_of(path: Path) -> dict[str, Any]:
    found = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Constant):
            found[node.targets[0].id] = node.value.value
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_module_is_documented(path: Path) -> None:
    constants = constants_of(path)
    documentation = yaml.safe_load(constants["DOCUMENTATION"])
    assert documentation["module"] == path.stem
    assert {"check_mode", "diff_mode", "platform"} <= set(documentation["attributes"])
    assert yaml.safe_load(constants["EXAMPLES"]), "an example that parses"
    returned = yaml.safe_load(constants["RETURN"])
    assert returned, "what it returns"
    assert not {"started", "finished", "ansible_job_id", "results_file"} & set(returned), "ansible-core's own keys of a background job"


def test_action_group_holds_every_module() -> None:
    groups = yaml.safe_load((ROOT / "meta/runtime.yml").read_text())["action_groups"]
    assert groups["all"] == [path.stem for path in MODULES]


@pytest.mark.parametrize("path", CORE, ids=lambda path: path.stem)
def test_core_has_no_ansible(path: Path) -> None:
    """The deciding parts run on the controller, on targets and in tests: none of them may need Ansible."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        for name in names:
            assert not name.startswith("ansible.") and name != "ansible", f"{path.name} imports {name}"


@pytest.mark.parametrize("path", sorted(ROOT.glob("plugins/**/*.py")), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_licence_header(path: Path) -> None:
    assert "SPDX-License-Identifier: Apache-2.0" in path.read_text()[:300]


@pytest.mark.parametrize("path", sorted((ROOT / "plugins/callback").glob("*.py")), ids=lambda path: path.stem)
def test_callback_is_documented_and_enabled(path: Path) -> None:
    documentation = yaml.safe_load(constants_of(path)["DOCUMENTATION"])
    assert documentation["name"] == path.stem
    assert documentation["description"] and documentation["requirements"]
    options = documentation["options"]
    asked = {
        node.args[0].value
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get_option"
        if isinstance(node.args[0], ast.Constant)
    }
    assert asked == set(options), "the options that are documented are the ones that are read"
    for option in options.values():
        assert option["description"] and option["ini"] and option["env"]
    assert f"callbacks_enabled = inference.sglang.{path.stem}" in (ROOT / "ansible.cfg").read_text()
