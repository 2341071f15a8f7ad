# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A fleet's state as lines that a person reads."""

from __future__ import annotations

from typing import Any

from ansible_collections.inference.sglang.plugins.module_utils import _status_table

DOCUMENTATION = r"""
name: status_table
short_description: The state of a fleet as tables
version_added: "0.1.0"
author: inference.sglang maintainers (@inference-sglang)
description:
  - Renders what M(inference.sglang.server_status) found on several hosts as lines, with what runs, what was accepted, and notes.
options:
  _input:
    description: The instances, each with its C(host) and, where it is known, C(as_planned).
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- inference.sglang.show_lines:
    lines: "{{ rows | inference.sglang.status_table }}"
"""

RETURN = r"""
_value:
  description: The lines.
  type: list
  elements: str
"""


def status_table(rows: Any) -> list[str]:
    """The tables' lines."""
    return _status_table.status_table(rows)


class FilterModule:
    """Ansible's way to find the filter."""

    def filters(self) -> dict[str, Any]:
        """The filters of this file."""
        return {"status_table": status_table}
