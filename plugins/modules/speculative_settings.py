#!/usr/bin/python
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Decides on speculative decoding for a model on the target."""

from __future__ import annotations

DOCUMENTATION = r"""
module: speculative_settings
short_description: Settings for speculative decoding of a model on the host
version_added: "0.1.0"
description:
  - Reads a model's config and the headers of its weights on the host, and decides whether its own MTP layer is used.
  - Same core as the filter of this name; here the weights themselves are looked at, so the answer is not provisional.
options:
  path:
    description: The model's directory.
    type: path
    required: true
  sglang_version:
    description: SGLang release.
    type: str
    required: true
  num_steps:
    description: Draft steps.
    type: int
    default: 3
  settings:
    description: Explicit SGLang options (names with underscores), which win over what is derived.
    type: dict
    default: {}
  allow_unverified_release:
    description: Decide for a release whose parser was never asked about such commands, or that is newer than the table, all the same.
    type: bool
    default: false
extends_documentation_fragment: [action_common_attributes]
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  platform:
    platforms: posix
    support: full
author:
  - inference.sglang maintainers (@inference-sglang)
"""

EXAMPLES = r"""
- name: Decide on speculation
  inference.sglang.speculative_settings:
    path: /root/models/Qwen3.6-27B
    sglang_version: 0.5.11
  register: speculation
"""

RETURN = r"""
speculative:
  description: As the filter P(inference.sglang.speculative_settings#filter) returns it.
  returned: success
  type: dict
  contains:
    enabled: {description: Whether speculation is on., type: bool}
    provisional: {description: Whether the weights could not be looked at., type: bool}
    algorithm: {description: V(NEXTN) or none., type: str}
    num_steps: {description: Draft steps., type: int}
    eagle_topk: {description: Always 1 when on., type: int}
    num_draft_tokens: {description: Steps plus one., type: int}
    env: {description: Environment variables the release needs for it., type: dict}
    flags: {description: Arguments of C(sglang serve)., type: list, elements: str}
    reasons: {description: 'One mapping a flag: flag, why, source.', type: list, elements: dict}
weights:
  description: What is known of the weights, as M(inference.sglang.model_info) returns it.
  returned: success
  type: dict
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._model_files import read_drafter_config, read_model
from ansible_collections.inference.sglang.plugins.module_utils._speculative import speculative_settings
from ansible_collections.inference.sglang.plugins.module_utils._weights import read_evidence


def main() -> None:
    """Entry point."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "sglang_version": {"type": "str", "required": True},
            "num_steps": {"type": "int", "default": 3},
            "settings": {"type": "dict", "default": {}},
            "allow_unverified_release": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    params = module.params
    try:
        found = read_model(params["path"])
        decision = speculative_settings(
            found["config"],
            params["sglang_version"],
            read_evidence(found["weights"]).mtp,
            params["num_steps"],
            params["settings"],
            found["hf_quant_config"],
            params["allow_unverified_release"],
            read_drafter_config(params["settings"]),
        )
    except SglangError as error:
        module.fail_json(**error.as_result())
        return
    module.exit_json(changed=False, speculative=decision, weights=found["weights"])


if __name__ == "__main__":
    main()
