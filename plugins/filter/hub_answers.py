# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The door to what a hub's answers say."""

from __future__ import annotations

DOCUMENTATION = r"""
---
name: hub_answers
short_description: What a hub's answers say of a model
version_added: "0.1.0"
author: inference.sglang maintainers (@inference-sglang)
description:
  - Reads the answers to requests for a model's C(config.json), C(hf_quant_config.json) and C(model.safetensors.index.json).
  - An answer that is no such file, such as a proxy's login page with status 200, becomes a note and never a failure.
positional: _input
options:
  _input:
    description: The C(results) of a looped M(ansible.builtin.uri) with C(return_content), whose items are the files' names.
    type: list
    elements: dict
    required: true
  repo:
    description: The model's repository, for the notes.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Keep what the hub has
  ansible.builtin.set_fact:
    facts_of_the_hub: "{{ hub_files.results | inference.sglang.hub_answers('Qwen/Qwen3.6-27B') }}"
"""

RETURN = r"""
_value:
  description: The files' contents, each empty where the hub has none, and what a person should know.
  type: dict
  contains:
    config: {description: The C(config.json)., type: dict}
    hf_quant_config: {description: The C(hf_quant_config.json)., type: dict}
    tensor_index: {description: The C(model.safetensors.index.json)., type: dict}
    notes: {description: What came instead of a file., type: list, elements: str}
"""

from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.inference.sglang.plugins.module_utils._hub_answers import read_answers


def _filter(answers: Iterable[Mapping[str, Any]], repo: str) -> dict[str, Any]:
    return read_answers(answers, repo)


class FilterModule:
    """Jinja filters."""

    def filters(self) -> dict[str, Any]:
        """Names to functions."""
        return {"hub_answers": _filter}
