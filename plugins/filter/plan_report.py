# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A launch plan as readable lines."""

from __future__ import annotations

from typing import Any

from ansible_collections.inference.sglang.plugins.module_utils._plan_report import WIDTH, render_report

DOCUMENTATION = r"""
name: plan_report
short_description: A launch plan as lines that a person reads
version_added: "0.1.0"
author: inference.sglang maintainers (@inference-sglang)
description:
  - Renders what the module M(inference.sglang.launch_plan) returned, or a dictionary with a C(plan) from the filter of that name,
    as lines with every flag, its reason and its source, the memory sum and the verdict.
positional: title
options:
  _input:
    description: The result with C(plan), C(sources), C(missing), C(notes) and C(difference).
    type: dict
    required: true
  title:
    description: What the report is about, usually the host's name.
    type: str
    default: ""
  width:
    description: Columns of a line.
    type: int
    default: 112
"""

EXAMPLES = r"""
- ansible.builtin.debug:
    msg: "{{ planned | inference.sglang.plan_report(inventory_hostname) }}"
"""

RETURN = r"""
_value:
  description: The lines.
  type: list
  elements: str
"""


def plan_report(result: Any, title: str = "", width: int = WIDTH) -> list[str]:
    """The report's lines."""
    return render_report(result, title, width)


class FilterModule:
    """Ansible's way to find the filter."""

    def filters(self) -> dict[str, Any]:
        """The filters of this file."""
        return {"plan_report": plan_report}
