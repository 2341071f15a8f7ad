# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Prints lines as they are: ansible.builtin.debug folds or escapes them, depending on how results are shown."""

from __future__ import annotations

from typing import Any, Optional

from ansible.plugins.action import ActionBase
from ansible_collections.inference.sglang.plugins.plugin_utils._terminal import wrapped


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible-core ships no type marker
    """Runs on the controller and touches no host."""

    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: Optional[str] = None, task_vars: Optional[dict[str, Any]] = None) -> dict[str, Any]:
        """One call for all lines, so that those of several hosts do not mix."""
        super().run(tmp, task_vars)
        _result, arguments = self.validate_argument_spec(argument_spec={"lines": {"type": "list", "elements": "str", "required": True}})
        self._display.display("\n".join(wrapped(str(line)) for line in arguments["lines"]))
        return {"changed": False}
