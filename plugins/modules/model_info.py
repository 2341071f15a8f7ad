#!/usr/bin/python
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reads a model's config and the headers of its weights."""

from __future__ import annotations

DOCUMENTATION = r"""
module: model_info
short_description: Read a model's config and the headers of its weights
version_added: "0.1.0"
description:
  - Reads C(config.json), C(hf_quant_config.json), the weights' index and the header of every shard of a model's directory,
    a few kilobytes a file. Nothing is loaded and nothing is changed.
  - A missing, truncated or foreign shard, a git-lfs pointer and an index that names tensors no shard holds fail with the file's name.
options:
  path:
    description: The model's directory.
    type: path
  repo:
    description:
      - The model's repository on a hub, instead of O(path). Its config.json and the headers of its shards are read over HTTP, some KB
        each; nothing is downloaded.
    type: str
  revision:
    description: Branch, tag or commit of O(repo).
    type: str
    default: main
  endpoint:
    description: Address of the hub; empty means https://huggingface.co.
    type: str
    default: ""
  token:
    description: Token for the hub.
    type: str
  config_file:
    description:
      - A C(config.json) that is kept without its weights, instead of O(path). A C(hf_quant_config.json) beside it is read too.
    type: path
  headers:
    description: Whether to read the weights' index and headers.
    type: bool
    default: true
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
- name: Look at the model
  inference.sglang.model_info:
    path: /root/models/Qwen3.6-27B
  register: model

- name: Look at a model that is only on the hub
  inference.sglang.model_info:
    repo: Qwen/Qwen3.6-27B
  register: remote

- name: Plan its server
  ansible.builtin.debug:
    msg: "{{ model.config | inference.sglang.launch_plan('0.5.11', gpus, weights=model.weights) }}"
"""

RETURN = r"""
commit:
  description: Commit that O(revision) of O(repo) is.
  returned: for a repository
  type: str
config:
  description: Content of C(config.json).
  returned: success
  type: dict
hf_quant_config:
  description: Content of C(hf_quant_config.json), or none.
  returned: success
  type: dict
profile:
  description: As the filter P(inference.sglang.model_profile#filter) returns it.
  returned: success
  type: dict
weights:
  description: What is known of the weights.
  returned: when O(headers) is true; none of O(config_file)
  type: dict
  contains:
    evidence:
      description: V(headers) when the shards were read, V(index) when only their index is there, V(none) otherwise.
      type: str
    mtp_tensors:
      description: Number of tensors of the MTP layer; none when there is no evidence.
      type: int
    bytes_by_group:
      description: Bytes of text, embedding, lm_head, vision and mtp.
      type: dict
    dtypes:
      description: Bytes by type.
      type: dict
    shards:
      description: Files that hold the weights.
      type: list
      elements: str
    ghosts:
      description: MTP tensors that the index names and no shard holds.
      type: list
      elements: str
    unlisted:
      description: Weight files that the index does not name, and that the engine does not load.
      type: list
      elements: str
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._hub_headers import read_remote_model
from ansible_collections.inference.sglang.plugins.module_utils._model_files import read_config_file, read_model
from ansible_collections.inference.sglang.plugins.module_utils._model_profile import model_profile
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_hub import Hub, require_token


def _read(params: dict[str, Any]) -> dict[str, Any]:
    if params["path"]:
        return read_model(params["path"], params["headers"])
    if params["config_file"]:
        return read_config_file(params["config_file"])
    require_token(params["token"] or "")
    # Whoever asks has other sources, or asks again.
    hub = Hub(params["endpoint"], params["token"] or "", retries=2)
    return read_remote_model(hub, params["repo"], params["revision"], params["headers"])


def main() -> None:
    """Entry point."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path"},
            "repo": {"type": "str"},
            "revision": {"type": "str", "default": "main"},
            "endpoint": {"type": "str", "default": ""},
            "token": {"type": "str", "no_log": True},
            "config_file": {"type": "path"},
            "headers": {"type": "bool", "default": True},
        },
        required_one_of=[("path", "repo", "config_file")],
        mutually_exclusive=[("path", "repo", "config_file")],
        supports_check_mode=True,
    )
    try:
        found = _read(module.params)
        profile = model_profile(found["config"], found["hf_quant_config"])
    except SglangError as error:
        module.fail_json(msg=str(error))
        return
    module.exit_json(changed=False, profile=profile, **found)


if __name__ == "__main__":
    main()
