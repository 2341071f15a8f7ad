# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Documentation of the action plugin of the same name; nothing runs on a host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: check_variables
short_description: Refuse values of the wrong type in a few lines
version_added: "0.1.0"
description:
  - Holds every defined variable of this collection's roles against its argument spec, and names all that have a value of the wrong
    type or none of the allowed ones. Ansible's own check of a role does so too, and prints the whole argument spec of the role with it.
  - Runs on the controller; no host is touched.
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
- name: Check the variables' values
  inference.sglang.check_variables:
"""

RETURN = r"""
msg:
  description: Every variable with a value that cannot be used, and what is wanted.
  type: str
  returned: failure
"""
