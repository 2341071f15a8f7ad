# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

DOCUMENTATION = r"""
name: model_profile
short_description: What a model is, read from its config.json
version_added: "0.1.0"
author: inference.sglang maintainers (@inference-sglang)
description:
  - Reads a model's C(config.json) and says what it is made of.
  - A spelling or an architecture that is not known is an error that names the key; nothing is guessed.
positional: hf_quant_config
options:
  _input:
    description: Content of the model's C(config.json).
    type: dict
    required: true
  hf_quant_config:
    description: Content of C(hf_quant_config.json), which some checkpoints have beside C(config.json).
    type: dict
"""

EXAMPLES = r"""
- name: Show the kinds of layers
  ansible.builtin.debug:
    msg: "{{ (lookup('ansible.builtin.file', 'config.json') | from_json | inference.sglang.model_profile).layer_counts }}"
"""

RETURN = r"""
_value:
  description:
    - The profile, with at least RV(_value.architecture),
      RV(_value.recurrent_family) (gdn, kda, mamba2, mamba1, lightning, short_conv or none),
      RV(_value.layer_counts) (full_attention, sliding_attention, recurrent, mlp, moe), RV(_value.mtp_layers_declared), RV(_value.is_moe),
      RV(_value.quantization), RV(_value.dtype) and RV(_value.vocab_size).
  type: dict
  contains:
    architecture: {description: First entry of C(architectures)., type: str}
    recurrent_family: {description: Family of the recurrent layers., type: str}
    layer_counts: {description: Number of layers by kind., type: dict}
    mtp_layers_declared: {description: MTP layers that config.json declares. Only the weights prove them., type: int}
    is_moe: {description: Whether it has experts., type: bool}
    quantization: {description: How the checkpoint is quantised., type: dict}
    dtype: {description: Type of the weights., type: str}
    vocab_size: {description: Size of the vocabulary., type: int}
"""

from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._model_profile import model_profile


def _filter(config: Any, hf_quant_config: Any = None) -> dict[str, Any]:
    try:
        return model_profile(config, hf_quant_config)
    except SglangError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """Jinja filters."""

    def filters(self) -> dict[str, Any]:
        """Names to functions."""
        return {"model_profile": _filter}
