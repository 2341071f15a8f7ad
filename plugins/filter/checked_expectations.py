# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Refuses expectations that could never be evaluated, before anything is changed."""

from __future__ import annotations

from typing import Any

from ansible_collections.inference.sglang.plugins.filter.failed_expectations import checked_expectations

DOCUMENTATION = r"""
name: checked_expectations
short_description: Expectations that can be evaluated
version_added: "0.1.0"
author: inference.sglang maintainers (@inference-sglang)
description:
  - Fails for an expression that is no JMESPath, names an unknown function, or gives one a wrong number of arguments.
  - Needs C(jmespath) in the controller's Python when there is an expectation.
options:
  _input:
    description: JMESPath expressions.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- ansible.builtin.assert:
    that: "['probe.accept_length > `1.5`'] | inference.sglang.checked_expectations | length == 1"
"""

RETURN = r"""
_value:
  description: The expressions.
  type: list
  elements: str
"""


class FilterModule:
    """Ansible's way to find the filter."""

    def filters(self) -> dict[str, Any]:
        """The filters of this file."""
        return {"checked_expectations": checked_expectations}
