# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Documentation of the action plugin of the same name; nothing runs on a host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: check_fleet
short_description: Refuse an inventory that cannot be rolled out, with all reasons in one message
version_added: "0.1.0"
description:
  - Looks at the variables of all hosts at once. Misspelt names and values of the wrong type, two entries with one port or one
    instance of the same address, sizes of batches that cannot be used, balancers that nobody knows, and a quorum that would let no host
    be changed.
  - Runs on the controller, once; no host is touched.
options:
  hosts:
    description: The hosts of this run.
    type: list
    elements: str
    required: true
  inventory:
    description: All hosts of the fleet, those of this run among them. The others count as serving where a quorum is a number.
    type: list
    elements: str
    default: []
  batches:
    description: The sizes of the batches, as numbers of hosts or shares such as V(25%).
    type: raw
    default: [1, "25%", "100%"]
extends_documentation_fragment: [action_common_attributes]
attributes:
  action:
    description: Has a corresponding action plugin that runs on the controller.
    support: full
  check_mode:
    support: full
  diff_mode:
    support: none
  platform:
    platforms: all
    support: full
author:
  - inference.sglang maintainers (@inference-sglang)
"""

EXAMPLES = r"""
- name: Check the fleet
  inference.sglang.check_fleet:
    hosts: "{{ ansible_play_hosts_all }}"
    inventory: "{{ groups.sglang_hosts }}"
  run_once: true
"""

RETURN = r"""
fleet:
  description: >-
    The group of each host (C(group_of)), and what the filter P(inference.sglang.rollout_plan#filter) wants to know of each (C(groups)).
  type: dict
  returned: success
msg:
  description: Every reason why the inventory cannot be rolled out.
  type: str
  returned: failure
"""
