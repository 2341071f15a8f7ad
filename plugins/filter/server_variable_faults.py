# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The door to what can be told of the role's variables alone."""

from __future__ import annotations

DOCUMENTATION = r"""
---
name: server_variable_faults
short_description: Values of the role sglang_server's variables that cannot work
version_added: "0.1.0"
author: inference.sglang maintainers (@inference-sglang)
description:
  - Tells before anything is built or stopped what is wrong with an instance's variables.
  - It never repeats the key.
positional: _input
options:
  _input:
    description: The variables, without the role's prefix (C(api_key), C(settings), C(extra_args)).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Refuse values that cannot work
  ansible.builtin.assert:
    that: __faults | length == 0
    fail_msg: "{{ __faults | join('\n') }}"
    quiet: true
  vars:
    __faults: "{{ {'api_key': my_key, 'settings': my_settings} | inference.sglang.server_variable_faults }}"
"""

RETURN = r"""
_value:
  description: One text a fault. Empty when all is right.
  type: list
  elements: str
"""

from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.inference.sglang.plugins.module_utils._server_variables import variable_faults


def server_variable_faults(variables: Mapping[str, Any]) -> list[str]:
    if not isinstance(variables, Mapping):
        raise AnsibleFilterError("server_variable_faults wants a mapping of variables")
    return variable_faults(variables)


class FilterModule:
    def filters(self) -> dict[str, object]:
        return {"server_variable_faults": server_variable_faults}
