# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Documentation of the action plugin of the same name; nothing runs on a host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: show_lines
short_description: Print lines as a person reads them
version_added: "0.1.0"
description:
  - Prints lines on the controller's terminal, unescaped, in whatever format results are shown. What is longer than 120 columns goes on in
    the next line, indented.
  - Runs on the controller; no host is touched.
options:
  lines:
    description: The lines.
    type: list
    elements: str
    required: true
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
- name: Show the plan
  inference.sglang.show_lines:
    lines: "{{ planned | inference.sglang.plan_report(inventory_hostname) }}"
"""

RETURN = r"""
lines:
  description: Nothing is returned; the lines are on the terminal.
  type: list
  elements: str
  returned: never
"""
