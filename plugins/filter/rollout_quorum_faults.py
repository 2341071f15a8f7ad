# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Does the quorum hold at this moment?"""

from __future__ import annotations

from typing import Any

from ansible_collections.inference.sglang.plugins.module_utils._rollout_plan import quorum_faults

DOCUMENTATION = r"""
name: rollout_quorum_faults
short_description: Whether enough other hosts serve for a batch to go down
version_added: "0.1.0"
author: inference.sglang maintainers (@inference-sglang)
description:
  - Counts, for each group of the batch, the hosts outside of it that were asked just now and whose server answers.
options:
  _input:
    description: The plan, as the filter P(inference.sglang.rollout_plan#filter) made it.
    type: dict
    required: true
  rows:
    description: What is known of each host.
    type: list
    elements: dict
    required: true
  batch:
    description: The hosts that are about to be changed.
    type: list
    elements: str
    required: true
  asked:
    description: What M(inference.sglang.server_status) returned of the hosts outside of the batch, each result with its host as C(item).
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- ansible.builtin.assert:
    that: plan | inference.sglang.rollout_quorum_faults(rows, ansible_play_batch, asked.results) | length == 0
"""

RETURN = r"""
_value:
  description: One text for each group whose quorum would break.
  type: list
  elements: str
"""


class FilterModule:
    """Ansible's way to find the filter."""

    def filters(self) -> dict[str, Any]:
        """The filters of this file."""
        return {"rollout_quorum_faults": quorum_faults}
