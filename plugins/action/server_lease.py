# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Names the run that holds an instance, and says of a holder from this controller whether it still runs."""

from __future__ import annotations

from typing import Any, Optional

from ansible.plugins.action import ActionBase
from ansible_collections.inference.sglang.plugins.plugin_utils._this_run import has_ended, this_run


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible-core ships no type marker
    """The module of the same name, with this run as its holder."""

    TRANSFERS_FILES = False
    _supports_check_mode = True

    def run(self, tmp: Optional[str] = None, task_vars: Optional[dict[str, Any]] = None) -> dict[str, Any]:
        """Ask once; take over from a run that was killed."""
        super().run(tmp, task_vars)
        own = this_run()
        arguments = {**self._task.args, "holder": own}
        result = self._call(arguments, task_vars)
        holder = result.get("holder")
        if result.get("failed") and isinstance(holder, dict) and has_ended(holder, own):
            return self._call({**arguments, "gone": holder}, task_vars)
        return result

    def _call(self, arguments: dict[str, Any], task_vars: Optional[dict[str, Any]]) -> dict[str, Any]:
        result: dict[str, Any] = self._execute_module(
            module_name="inference.sglang.server_lease", module_args=arguments, task_vars=task_vars
        )
        return result
