# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The guard against misspelt variables."""

from __future__ import annotations

DOCUMENTATION = r"""
---
name: unknown_variables
short_description: Names that look like variables of this collection and are none
version_added: "0.1.0"
author: inference.sglang maintainers (@inference-sglang)
description:
  - Ansible accepts any variable name, so a typing error silently deploys a default. This filter compares the names that are defined with
    the argument specs of this collection's roles.
  - A name that begins with the name of one of the roles must be one of its variables. Any other name is the site's own, unless it is
    nearly one of ours, such as C(sglangserver_port).
positional: _input
options:
  _input:
    description: The defined names, from the lookup P(ansible.builtin.varnames#lookup).
    type: list
    elements: str
    required: true
  also_known:
    description: Further names that are right, such as a site's own that begin with a role's name.
    type: list
    elements: str
    default: []
seealso:
  - plugin: ansible.builtin.varnames
    plugin_type: lookup
"""

EXAMPLES = r"""
- name: Refuse misspelt variables
  ansible.builtin.assert:
    that: __unknown_variables | length == 0
    fail_msg: "{{ __unknown_variables | join('\n') }}"
    quiet: true
  vars:
    __unknown_variables: "{{ query('ansible.builtin.varnames', '.') | inference.sglang.unknown_variables }}"
"""

RETURN = r"""
_value:
  description: One line for each unknown name, with the nearest real one. Empty when all is right.
  type: list
  elements: str
"""

from collections.abc import Iterable

from ansible.errors import AnsibleFilterError
from ansible_collections.inference.sglang.plugins.module_utils._variable_names import unknown_names
from ansible_collections.inference.sglang.plugins.plugin_utils._role_specs import PREFIXES, known_variables


def unknown_variables(defined: Iterable[str], also_known: Iterable[str] = ()) -> list[str]:
    if isinstance(defined, str) or not all(isinstance(name, str) for name in defined):
        raise AnsibleFilterError("unknown_variables wants a list of variable names, such as query('ansible.builtin.varnames', '.')")
    return [unknown.describe() for unknown in unknown_names(defined, {*known_variables(), *also_known}, PREFIXES)]


class FilterModule:
    def filters(self) -> dict[str, object]:
        return {"unknown_variables": unknown_variables}
