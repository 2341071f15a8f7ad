# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a look found on a host, as a rollout counts it."""

from __future__ import annotations

from typing import Any

from ansible_collections.inference.sglang.plugins.module_utils._rollout_plan import view_host

DOCUMENTATION = r"""
name: rollout_state
short_description: The state of a host out of what a look at it returned
version_added: "0.1.0"
author: inference.sglang maintainers (@inference-sglang)
description:
  - Sorts a host by what M(inference.sglang.launch_plan) returned there, or by how that failed.
options:
  _input:
    description: The result of the module, or a dictionary with C(unreachable) or C(failed) and C(msg).
    type: dict
    required: true
"""

EXAMPLES = r"""
- ansible.builtin.debug:
    msg: "{{ looked | inference.sglang.rollout_state }}"
"""

RETURN = r"""
_value:
  description:
    - C(state) is one of lost, unknown, converged, finish (serves, but is not back in its balancer), fresh, down and serving.
      C(why) says what differs.
  type: dict
"""


class FilterModule:
    """Ansible's way to find the filter."""

    def filters(self) -> dict[str, Any]:
        """The filters of this file."""
        return {"rollout_state": view_host}
