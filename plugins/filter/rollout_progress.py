# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""How a rollout goes: may the next hosts be changed, and how did it go so far?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.inference.sglang.plugins.module_utils import _rollout_plan

DOCUMENTATION = r"""
name: rollout_progress
short_description: How a rollout goes
version_added: "0.1.0"
author: inference.sglang maintainers (@inference-sglang)
description:
  - Holds what is known of the hosts by now against the rollout's plan. A host that should be through and says nothing was lost.
options:
  _input:
    description: The plan, as the filter P(inference.sglang.rollout_plan#filter) made it.
    type: dict
    required: true
  rows:
    description: What is known of each host by now.
    type: list
    elements: dict
    required: true
  upcoming:
    description: The hosts that come next; none means that all are through.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- ansible.builtin.debug:
    msg: "{{ (plan | inference.sglang.rollout_progress(rows, ansible_play_batch)).halt }}"
"""

RETURN = r"""
_value:
  description:
    - C(halt) says why the next hosts must not be changed, empty where they may. C(failed) are the hosts that failed or were lost,
      C(lines) the verdicts for a person, C(ask) which of the batch asks which others whether they serve.
  type: dict
"""


def _filter(plan: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], upcoming: Sequence[str] = ()) -> dict[str, Any]:
    return {
        "halt": _rollout_plan.reason_to_halt(plan, rows, upcoming),
        "failed": _rollout_plan.failed_hosts(plan, rows),
        "lines": _rollout_plan.verdicts(plan, rows),
        "ask": _rollout_plan.to_ask(rows, upcoming),
    }


class FilterModule:
    """Ansible's way to find the filter."""

    def filters(self) -> dict[str, Any]:
        """The filters of this file."""
        return {"rollout_progress": _filter}
