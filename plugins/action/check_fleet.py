# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Tells everything that is wrong with the variables of a fleet in one message, before any host is touched."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Optional

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible_collections.inference.sglang.plugins.action.check_variables import fault_of
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._rollout_fleet import fleet_faults, groups_of, member_of
from ansible_collections.inference.sglang.plugins.module_utils._variable_names import unknown_names
from ansible_collections.inference.sglang.plugins.plugin_utils._role_specs import PREFIXES, balancers, known_variables, variable_specs

# What of a host's variables makes it a member of a fleet.
FLEET_VARIABLES = (
    "ansible_host",
    "fleet_rollout_balancer",
    "fleet_rollout_group",
    "fleet_rollout_min_serving",
    "model_shards_path",
    "model_shards_repo",
    "sglang_server_instance",
    "sglang_server_model_path",
    "sglang_server_port",
    "sglang_server_served_model_name",
)


def value_of(variables: Mapping[str, Any], name: str) -> Any:
    """A variable's value; None where it is not set, or needs what is not known yet."""
    if name not in variables:
        return None
    try:
        return variables[name]
    except AnsibleError:
        return None


def grouped(found: Mapping[str, list[str]]) -> list[str]:
    """A fault that many hosts share is told once."""
    lines = []
    for fault, hosts in found.items():
        named = ", ".join(hosts[:5]) + (f" and {len(hosts) - 5} more" if len(hosts) > 5 else "")
        lines.append(f"{named}: {fault}")
    return lines


def directory_fault(path: str) -> str:
    """Why a site's own directory of a balancer cannot be used; empty where it can."""
    lacking = [name for name in ("drain.yml", "undrain.yml") if not os.path.isfile(os.path.join(path, name))]
    return f"{path} has no {' and no '.join(lacking)}" if lacking else ""


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible-core ships no type marker
    """Runs once for all hosts, on the controller, and touches none of them."""

    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: Optional[str] = None, task_vars: Optional[dict[str, Any]] = None) -> dict[str, Any]:
        """Every fault of every host at once; else who belongs together."""
        super().run(tmp, task_vars)
        _result, arguments = self.validate_argument_spec(
            argument_spec={
                "hosts": {"type": "list", "elements": "str", "required": True},
                "inventory": {"type": "list", "elements": "str", "default": []},
                "batches": {"type": "raw", "default": [1, "25%", "100%"]},
            }
        )
        hostvars = (task_vars or {})["hostvars"]
        hosts = [str(host) for host in arguments["hosts"]]
        outside = [str(host) for host in arguments["inventory"] if str(host) not in set(hosts)]
        found: dict[str, list[str]] = {}
        members = []
        for host in [*hosts, *outside]:
            variables = hostvars[host]
            members.append(member_of(host, {name: value_of(variables, name) for name in FLEET_VARIABLES}, host in set(hosts)))
            if host not in outside:
                for fault in self._faults(variables):
                    found.setdefault(fault, []).append(host)
        directories = {member.balancer: directory_fault(member.balancer) for member in members if member.balancer.startswith("/")}
        faults = grouped(found) + fleet_faults(members, arguments["batches"], balancers(), directories)
        if not faults:
            return {"changed": False, "fleet": groups_of(members)}
        error = SglangError(
            "the inventory cannot be deployed as it is",
            found="\n         ".join(line.replace("\n", "\n         ") for line in faults),
            wanted="variables as the roles' README files give them",
            next_step="Correct them in the inventory; on the command line -e name=value is text, -e '{\"name\": value}' keeps the type. "
            "No host was touched.",
        )
        return {"failed": True, **error.as_result(), "changed": False}

    def _faults(self, variables: Mapping[str, Any]) -> list[str]:
        faults = [unknown.describe() for unknown in unknown_names(list(variables), known_variables(), PREFIXES)]
        for name, spec in variable_specs().items():
            value = value_of(variables, name)
            fault = "" if value is None else fault_of(name, spec, value)
            if fault:
                faults.append(fault)
        return faults
