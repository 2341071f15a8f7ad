# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A message or document that tells a person to change a variable names one that exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts import role_tables

ROOT = Path(__file__).resolve().parents[2]
ROLES = [path for path in (ROOT / "roles").iterdir() if path.is_dir()]
NAME = re.compile(rf"(?<![\w.])(?:{'|'.join(role.name for role in ROLES)})_[a-z0-9_]+(?!\w|\.py|\.yml|/)")
OUTPUTS = {"ml_env_current", "model_shards_published"}
# Handlers' topics, files and prefixes that look like variables.
NOT_VARIABLES = {"sglang_server_x", "sglang_server_"}
FILES = sorted(
    path
    for pattern in (
        "plugins/**/*.py",
        "playbooks/*.yml",
        "inventories/**/*.yml",
        "docs/**/*.md",
        "README.md",
        "roles/*/README.md",
        "roles/*/tasks/*.yml",
    )
    for path in ROOT.glob(pattern)
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_variables_that_are_named_exist(path: Path) -> None:
    known = OUTPUTS | NOT_VARIABLES
    for role in ROLES:
        for spec in role_tables.read_specs(role).values():
            known |= set(spec.get("options") or {})
    assert set(NAME.findall(path.read_text())) - known == set()
