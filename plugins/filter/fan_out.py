# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The door to who hands a model or an environment to whom."""

from __future__ import annotations

DOCUMENTATION = r"""
---
name: fan_out
short_description: Pairs hosts that need something with hosts that have it
version_added: "0.1.0"
author: inference.sglang maintainers (@inference-sglang)
description:
  - One round of a transfer between hosts. Each host that has it hands it to one that needs it, so that those that have it double.
  - A host that could not hand it over in an earlier round comes last, and never twice to the same host. A host that three others
    could not serve gets no further one.
positional: _input
options:
  _input:
    description:
      - What each host says about itself, with the keys C(host), C(wants) (hosts with the same may hand it to each other), C(needs)
        (true while it has not got it), C(offers) (what it can hand on, empty for nothing) and C(failed) (hosts that could not serve it).
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Show who takes it from whom
  ansible.builtin.debug:
    msg: "{{ (states | inference.sglang.fan_out).sources }}"
  vars:
    states:
      - {host: a, wants: acme/tiny, needs: false, offers: v1, failed: []}
      - {host: b, wants: acme/tiny, needs: true, offers: "", failed: []}
"""

RETURN = r"""
_value:
  description: The round.
  type: dict
  contains:
    sources: {description: Receiver to source., type: dict}
    receivers: {description: Source to receiver., type: dict}
    groups:
      description: "For each thing that is wanted: the hosts that C(need) it, the hosts that C(have) it, and what is C(offered)."
      type: dict
"""

from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.inference.sglang.plugins.module_utils._fan_out import Member, groups, pairs


def _filter(states: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    alike = groups(Member(**{**state, "failed": tuple(state["failed"])}) for state in states)
    sources = {receiver: source for group in alike.values() for receiver, source in pairs(group).items()}
    return {
        "sources": sources,
        "receivers": {source: receiver for receiver, source in sources.items()},
        "groups": {wants: {"need": group.need, "have": group.have, "offered": group.offered} for wants, group in alike.items()},
    }


class FilterModule:
    """Jinja filters."""

    def filters(self) -> dict[str, Any]:
        """Names to functions."""
        return {"fan_out": _filter}
