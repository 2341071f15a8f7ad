# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

DOCUMENTATION = r"""
name: release_facts
short_description: What an SGLang release has to be installed beside
version_added: "0.1.0"
author: inference.sglang maintainers (@inference-sglang)
description:
  - Gives the facts of the release table that roles need, such as the lowest NVIDIA driver, Python and glibc.
  - Of a release that is newer than the table, it gives those of the newest known one; RV(_value.status) says so.
options:
  _input:
    description: SGLang release, for example V(0.5.11). One that is not in the table and not newer either is refused.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Show the lowest driver
  ansible.builtin.debug:
    msg: "{{ ('0.5.11' | inference.sglang.release_facts).driver_minimum }}"
"""

RETURN = r"""
_value:
  description: Facts of the release.
  type: dict
  contains:
    status: {description: 'V(verified), V(unverified) or V(newer) than the table.', type: str}
    driver_minimum: {description: Lowest major version of NVIDIA's driver., type: str}
    python_minimum: {description: Lowest Python., type: str}
    glibc_minimum: {description: Lowest glibc., type: str}
    cuda: {description: CUDA runtime of the wheels., type: str}
    torch: {description: Version of torch., type: str}
"""

from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._releases import release_facts


def _filter(version: Any) -> dict[str, Any]:
    try:
        return release_facts(version)
    except SglangError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """Jinja filters."""

    def filters(self) -> dict[str, Any]:
        """Names to functions."""
        return {"release_facts": _filter}
