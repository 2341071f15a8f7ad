# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a look before a rollback found on a host."""

from __future__ import annotations

from typing import Any

from ansible_collections.inference.sglang.plugins.module_utils._rollout_plan import view_before_rollback

DOCUMENTATION = r"""
name: rollback_state
short_description: The state of a host before a rollback
version_added: "0.1.0"
author: inference.sglang maintainers (@inference-sglang)
description:
  - Says whether a host serves, and to which release it would go back. A host that has gone back already stays where it is, so that the
    same command can be run again.
options:
  _input:
    description: The result of M(inference.sglang.server_release), or a dictionary with C(unreachable) or C(failed) and C(msg).
    type: dict
    required: true
  last:
    description: The result of M(inference.sglang.rollout_record).
    type: dict
    required: true
  to:
    description: The release that was named; empty means the one before the accepted one.
    type: str
    default: ""
"""

EXAMPLES = r"""
- ansible.builtin.debug:
    msg: "{{ stamps | inference.sglang.rollback_state(record) }}"
"""

RETURN = r"""
_value:
  description: As the filter P(inference.sglang.rollout_state#filter) returns it; C(release) is the one to go to.
  type: dict
"""


class FilterModule:
    """Ansible's way to find the filter."""

    def filters(self) -> dict[str, Any]:
        """The filters of this file."""
        return {"rollback_state": view_before_rollback}
