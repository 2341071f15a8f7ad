# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Tells in a few lines which variables of the collection have a value of the wrong type.

Ansible's own check of a role's arguments tells it too, and prints the whole argument spec with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Optional

from ansible.errors import AnsibleError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._plain import shown
from ansible_collections.inference.sglang.plugins.plugin_utils._role_specs import variable_specs


def fault_of(name: str, spec: Mapping[str, Any], value: Any) -> str:
    """What is wrong with a value; empty when it can be used. A secret is never shown."""
    messages = ArgumentSpecValidator({name: {**spec, "required": False}}).validate({name: value}).error_messages
    if not messages:
        return ""
    wanted = f"wanted {spec.get('type', 'str')}"
    if spec.get("no_log"):
        return f"{name}: {wanted}"
    text = str(messages[0])
    if "unable to convert" not in text or " found in " in text:
        return text
    # Ansible's own words name its internal types.
    kind = next((base.__name__ for base in (bool, int, float, str, list, dict) if isinstance(value, base)), type(value).__name__)
    return f"{name}: {shown(value)} ({kind}), {wanted}"


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible-core ships no type marker
    """Runs on the controller and touches no host."""

    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: Optional[str] = None, task_vars: Optional[dict[str, Any]] = None) -> dict[str, Any]:
        """Every fault at once."""
        super().run(tmp, task_vars)
        self.validate_argument_spec(argument_spec={})
        found = [fault for name, spec in variable_specs().items() if (fault := self._fault(name, spec, task_vars or {}))]
        if not found:
            return {"changed": False}
        error = SglangError(
            "variables have values that cannot be used",
            found="\n         ".join(found),
            wanted="the types that the roles' README files give",
            next_step="Correct them in the inventory; on the command line -e name=value is text, -e '{\"name\": value}' keeps the type.",
        )
        return {"failed": True, "changed": False, "msg": str(error)}

    def _fault(self, name: str, spec: Mapping[str, Any], variables: Mapping[str, Any]) -> str:
        if variables.get(name) is None:
            return ""
        try:
            value = self._templar.template(variables[name])
        except AnsibleError:
            return ""  # it needs what is not known yet; the role that reads it will say so
        return fault_of(name, spec, value)
