# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The names of all role variables, from the argument specs of this collection. They lie on the controller."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

_ROLES = Path(__file__).resolve().parents[2] / "roles"

# What a role sets for the roles after it.
ROLE_OUTPUTS = frozenset({"ml_env_current", "model_shards_published"})
# A prefix of ours is guarded whether or not its role is here yet.
PREFIXES = frozenset({"inference_host", "ml_env", "model_shards", "sglang_server", "sglang_router", "fleet_rollout"})


@cache
def variable_specs(roles: Path = _ROLES) -> dict[str, dict[str, Any]]:
    """Every option of every entry point of every role, with its argument spec."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(roles.glob("*/meta/argument_specs.yml")):
        specs = (yaml.safe_load(path.read_text(encoding="utf-8")) or {}).get("argument_specs", {})
        for entry_point in specs.values():
            found.update(entry_point.get("options") or {})
    return found


@cache
def known_variables(roles: Path = _ROLES) -> frozenset[str]:
    """The names of all these, and of what roles set."""
    return ROLE_OUTPUTS.union(variable_specs(roles))


@cache
def balancers(roles: Path = _ROLES) -> tuple[str, ...]:
    """The balancers that the role fleet_rollout has task files for."""
    return tuple(sorted(path.name for path in (roles / "fleet_rollout/tasks/balancers").iterdir() if path.is_dir()))
