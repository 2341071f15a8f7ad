# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Who is staged, who changes at once, and who in which batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.inference.sglang.plugins.module_utils import _rollout_plan

DOCUMENTATION = r"""
name: rollout_plan
short_description: The course of a rollout
version_added: "0.1.0"
author: inference.sglang maintainers (@inference-sglang)
description:
  - Orders the hosts of a rollout. Hosts that serve nothing change first; serving ones change in batches that leave enough of each group
    serving. A host whose state is not known stops everything.
options:
  _input:
    description: What was found of each host, as the filter P(inference.sglang.rollout_state#filter) says it, with its C(host) and C(group).
    type: list
    elements: dict
    required: true
  groups:
    description: Each group's C(min_serving) and how many of its hosts are C(outside) of this run, as M(inference.sglang.check_fleet) found.
    type: dict
    required: true
  batches:
    description: The sizes of the batches.
    type: raw
    required: true
  full:
    description: Let every role walk over the converged hosts too.
    type: bool
    default: false
"""

EXAMPLES = r"""
- ansible.builtin.set_fact:
    plan: "{{ rows | inference.sglang.rollout_plan(fleet.groups, [1, '25%', '100%']) }}"
"""

RETURN = r"""
_value:
  description: >-
    The hosts to stage, those that change at once (C(fresh)), C(batches), their C(order) and sizes (C(serial)), why nothing may be changed
    (C(halt), empty where all is well), and C(lines) for a person.
  type: dict
"""


def _filter(rows: Sequence[Mapping[str, Any]], groups: Mapping[str, Any], batches: object, full: bool = False) -> dict[str, Any]:
    plan = _rollout_plan.make_plan(rows, groups, batches, full)
    return {**plan, "lines": _rollout_plan.table(plan, rows)}


class FilterModule:
    """Ansible's way to find the filter."""

    def filters(self) -> dict[str, Any]:
        """The filters of this file."""
        return {"rollout_plan": _filter}
