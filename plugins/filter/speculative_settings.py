# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

DOCUMENTATION = r"""
name: speculative_settings
short_description: Settings for speculative decoding with the model's own MTP layer
version_added: "0.1.0"
author: inference.sglang maintainers (@inference-sglang)
description:
  - Decides whether a model's own MTP layer is used, and gives all settings that a release needs with it.
  - All three speculative numbers are given or none.
positional: sglang_version, mtp_weights
options:
  _input:
    description: Content of the model's C(config.json).
    type: dict
    required: true
  sglang_version:
    description: SGLang release, for example V(0.5.11). A release outside the table is refused, see O(allow_unverified_release).
    type: str
    required: true
  mtp_weights:
    description:
      - Number of MTP tensors in the weights, or whether there are any.
      - Leaving it out means that nobody looked, not that there are none. The answer is provisional then.
    type: raw
  num_steps:
    description: Draft steps.
    type: int
    default: 3
  settings:
    description: Explicit SGLang options (names with underscores), which win over what is derived.
    type: dict
  hf_quant_config:
    description: Content of C(hf_quant_config.json), which some checkpoints have beside C(config.json).
    type: dict
  drafter_config:
    description: C(config.json) of an external drafter, which C(speculative_draft_model_path) in O(settings) goes with.
    type: dict
  allow_unverified_release:
    description: Decide for a release whose parser was never asked about such commands, or that is newer than the table, all the same.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Show the flags for a model whose weights hold 15 MTP tensors
  ansible.builtin.debug:
    msg: "{{ (config | inference.sglang.speculative_settings('0.5.11', mtp_weights=15)).flags }}"
"""

RETURN = r"""
_value:
  description: The decision with its reasons.
  type: dict
  contains:
    enabled: {description: Whether speculation is on., type: bool}
    provisional: {description: Whether the weights still have to be looked at., type: bool}
    algorithm: {description: V(NEXTN) or none., type: str}
    num_steps: {description: Draft steps., type: int}
    eagle_topk: {description: Always 1 when on., type: int}
    num_draft_tokens: {description: Steps plus one., type: int}
    env: {description: Environment variables the release needs for it., type: dict}
    flags: {description: Arguments of C(sglang serve)., type: list, elements: str}
    reasons: {description: 'One mapping a flag: flag, why, source.', type: list, elements: dict}
"""

from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._speculative import speculative_settings


def _filter(
    config: Any,
    sglang_version: Any,
    mtp_weights: Any = None,
    num_steps: Any = 3,
    settings: Any = None,
    hf_quant_config: Any = None,
    allow_unverified_release: Any = False,
    drafter_config: Any = None,
) -> dict[str, Any]:
    try:
        return speculative_settings(
            config, sglang_version, mtp_weights, num_steps, settings, hf_quant_config, allow_unverified_release, drafter_config
        )
    except SglangError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """Jinja filters."""

    def filters(self) -> dict[str, Any]:
        """Names to functions."""
        return {"speculative_settings": _filter}
