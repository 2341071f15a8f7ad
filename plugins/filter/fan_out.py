# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The door to who hands a model to whom."""

from __future__ import annotations

DOCUMENTATION = r"""
---
name: fan_out
short_description: Pairs hosts that need something with hosts that have it
version_added: "0.1.0"
author: inference.sglang maintainers (@inference-sglang)
description:
  - One round of a transfer between hosts. Each host that has it hands it to one that needs it, so that those that have it double.
  - A host that could not hand it over in an earlier round comes last, and never twice to the same host.
positional: _input
options:
  _input:
    description: The hosts that need it.
    type: list
    elements: str
    required: true
  have:
    description: The hosts that have it.
    type: list
    elements: str
    required: true
  failed:
    description: Pairs of earlier rounds that did not work, each a list of receiver and source.
    type: list
    elements: list
    default: []
"""

EXAMPLES = r"""
- name: Show who takes it from whom
  ansible.builtin.debug:
    msg: "{{ ['c', 'd'] | inference.sglang.fan_out(['a', 'b']) }}"
"""

RETURN = r"""
_value:
  description: The round.
  type: dict
  contains:
    pairs: {description: Receiver to source., type: dict}
    rounds: {description: "How many rounds it takes at most from here on, spare ones for failures included.", type: int}
"""

from collections.abc import Iterable, Sequence
from typing import Any

from ansible_collections.inference.sglang.plugins.module_utils._fan_out import pairs, rounds


def _filter(need: Iterable[str], have: Iterable[str], failed: Iterable[Sequence[str]] = ()) -> dict[str, Any]:
    needing, having = list(need), list(have)
    earlier = {(pair[0], pair[1]) for pair in failed}
    return {"pairs": pairs(needing, having, earlier), "rounds": rounds(len(needing) + len(having), len(having))}


class FilterModule:
    """Jinja filters."""

    def filters(self) -> dict[str, Any]:
        """Names to functions."""
        return {"fan_out": _filter}
