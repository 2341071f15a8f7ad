#!/usr/bin/python
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plans an instance on its host and compares the plan with what was accepted there."""

from __future__ import annotations

DOCUMENTATION = r"""
module: launch_plan
short_description: Plan an SGLang instance on its host and compare it with the accepted release
version_added: "0.1.0"
description:
  - Gathers on the host what a launch depends on (the model's config.json and shard headers, the GPUs, the Python environment,
    the real paths), derives the command with a reason for every flag, renders the systemd unit, and tells how the result
    differs from the release that was accepted and from what runs.
  - It changes nothing. This one call tells a converged host from one that needs work.
options:
  instance:
    description: The instance's name.
    type: str
    default: default
  root:
    description: Root of the collection's files on the host.
    type: path
    default: /opt/sglang
  user:
    description: The user that the engine runs as.
    type: str
    default: sglang
  group:
    description: The group that the engine runs as.
    type: str
    default: sglang
  environment_path:
    description: The Python environment, or a link to it.
    type: path
    required: true
  environment_digest:
    description: What tells this environment from others; empty means the version of SGLang in it.
    type: str
    default: ""
  sglang_version:
    description: The release to plan for while there is no environment yet. An environment's own release counts otherwise.
    type: str
    default: ""
  model_path:
    description: The model's directory; empty while it is not known.
    type: path
    default: ""
  model_revision:
    description: The model's revision.
    type: str
    default: ""
  model_manifest:
    description: The manifest beside the model; the digest of the content that it lists is part of the release.
    type: path
  served_model_name:
    description: Name that clients ask for; empty means the directory's name.
    type: str
    default: ""
  config:
    description: The content of a config.json from elsewhere, used where the host has none.
    type: dict
    default: {}
  hf_quant_config:
    description: The content of a hf_quant_config.json that belongs to O(config).
    type: dict
    default: {}
  config_source:
    description: Where O(config) is from, for the report.
    type: str
    default: ""
  weights:
    description: What M(inference.sglang.model_info) returned as C(weights) beside O(config).
    type: dict
    default: {}
  origins:
    description: Which variable gave O(model_path) and O(served_model_name), by the option's name, for the plan's reasons.
    type: dict
    default: {}
  wanted_environment:
    description:
      - What the role ml_env is asked for. Given, the module looks for that environment itself (its marker, and the link to it) and
        plans with it, instead of with what that role handed on. What keeps the role from having nothing to do is RV(unstaged).
    type: dict
    suboptions:
      name: {description: "The environments' name without its digest.", type: str, required: true}
      root: {description: Where environments lie., type: path, required: true}
      link: {description: The link to the current one., type: path, default: ""}
      lock: {description: Where the role puts the lock on the host., type: path, required: true}
      lock_sha256: {description: SHA-256 of the lock on the controller., type: str, required: true}
      python: {description: The interpreter that it is built with., type: path, required: true}
      adopt: {description: Whether an environment of others is used., type: bool, default: false}
      release: {description: The SGLang release that it must hold., type: str, default: ""}
      used: {description: "Whether the server is launched with it, and not with O(environment_path).", type: bool, default: true}
  wanted_model:
    description:
      - What the role model_shards is asked for. Given, the module holds the files there against their manifest by size and time, and
        plans with the model, instead of with what that role handed on.
    type: dict
    suboptions:
      root: {description: Where models lie., type: path, required: true}
      repo: {description: The repository., type: str, default: ""}
      revision: {description: "Its revision; a branch means what it was resolved to on the host.", type: str, required: true}
      refresh: {description: Whether a branch is to be resolved anew., type: bool, default: false}
      path: {description: A directory that was adopted., type: path, default: ""}
      patterns: {description: The files that count., type: list, elements: str, required: true}
      used: {description: "Whether the server is launched with it, and not with O(model_path).", type: bool, default: true}
      named: {description: Whether it is served under its repository's name., type: bool, default: true}
  look_at_host:
    description:
      - Off, nothing of the machine that the module runs on is looked at. The plan is made from O(config), O(weights), O(sglang_version)
        and O(declared_gpus) alone, so that it can be made on the controller for a host that is not there yet.
    type: bool
    default: true
  host:
    description: Address to listen on.
    type: str
    default: 127.0.0.1
  port:
    description: Port to listen on.
    type: int
    default: 30000
  api_key_sha256:
    description:
      - SHA-256 of the engine's key; it is compared with that of the key on the host. Not the key itself, as Ansible blanks a secret
        out of whatever a module returns, and a short key would take pieces out of the unit.
    type: str
  gpus:
    description: Indices of the instance's GPUs; empty means all.
    type: list
    elements: int
    default: []
  declared_gpus:
    description: GPUs as the inventory declares them, used where nvidia-smi shows none.
    type: list
    elements: dict
    default: []
  tensor_parallel_size:
    description: GPUs that one copy of the model is spread over; 0 means derived.
    type: int
    default: 0
  settings:
    description: SGLang's options by their own names with underscores.
    type: dict
    default: {}
  workload:
    description: What the server must carry.
    type: dict
    default: {}
  extra_args:
    description: More arguments for the engine.
    type: list
    elements: str
    default: []
  environment:
    description: More environment variables for the unit.
    type: dict
    default: {}
  log_file:
    description: A file for the engine's output; without it the journal.
    type: path
  read_only_paths:
    description: More paths that the engine reads.
    type: list
    elements: path
    default: []
  read_write_paths:
    description: More paths that the engine writes.
    type: list
    elements: path
    default: []
  stop_timeout:
    description: Seconds that a stopping server may take.
    type: int
    default: 180
  launcher:
    description: The text of the program that starts the engine.
    type: str
    default: ""
  allow_unverified_release:
    description: Plan for a release whose parser was never asked about such plans, or that is newer than the table, all the same.
    type: bool
    default: false
  require_complete:
    description:
      - Fail where the environment or the model is missing, or where the plan does not fit. Off, the plan is made as far as it can be.
      - In check mode a missing environment or model is never an error, as an earlier role would have made it.
    type: bool
    default: true
extends_documentation_fragment: [action_common_attributes]
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
    details: It changes nothing; M(inference.sglang.server_release) shows the difference when it stages the release.
  platform:
    platforms: linux
    support: full
author:
  - inference.sglang maintainers (@inference-sglang)
"""

EXAMPLES = r"""
- name: Plan the launch
  inference.sglang.launch_plan:
    environment_path: /opt/sglang/ml-env
    model_path: "{{ model_shards_published.path }}"
  register: planned
"""

RETURN = r"""
planned:
  description: Whether there is a plan at all; without any config.json there is none.
  type: bool
  returned: success
complete:
  description: Whether the host has all that the release needs, so that RV(release) is there.
  type: bool
  returned: success
missing:
  description: What keeps it from being complete.
  type: list
  elements: str
  returned: success
unstaged:
  description: Why the roles of O(wanted_environment) and O(wanted_model) would have something to do.
  type: list
  elements: str
  returned: when O(look_at_host) is true
rollout:
  description: The record of the last rollout, as M(inference.sglang.rollout_record) wrote it; its phase is empty where there is none.
  type: dict
  returned: when O(look_at_host) is true
out:
  description: Whether that rollout took the server out of its balancer and did not put it back.
  type: bool
  returned: when O(look_at_host) is true
active:
  description: Whether the instance's unit runs, whoever wrote it.
  type: bool
  returned: when O(look_at_host) is true
plan:
  description: The launch plan, as the filter of the same name returns it.
  type: dict
  returned: when planned
release:
  description: The release's id, directory, unit, environment and files.
  type: dict
  returned: when complete
difference:
  description:
    - Whether the server must be restarted or only enabled, every reason, and (C(changes)) each argument and line of the unit that the
      accepted release has otherwise.
  type: dict
  returned: when complete
refusal:
  description: Why the plan does not fit and what would, for a person; empty where it fits.
  type: str
  returned: when planned
predicted:
  description: Settings as the engine should resolve them.
  type: dict
  returned: when planned
sources:
  description: Where the model's facts, the GPUs' and the release are from.
  type: dict
  returned: success
accepted:
  description: The stamp of the accepted release, or none.
  type: dict
  returned: when O(look_at_host) is true
port_holders:
  description: Servers on the port that are not the instance's.
  type: list
  elements: dict
  returned: when O(look_at_host) is true
user_exists:
  description: Whether the service account is there.
  type: bool
  returned: when O(look_at_host) is true
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._planner import HostPlanner, plan_without_host


def main() -> None:
    """Plan and report."""
    module = AnsibleModule(
        argument_spec={
            "instance": {"type": "str", "default": "default"},
            "root": {"type": "path", "default": "/opt/sglang"},
            "user": {"type": "str", "default": "sglang"},
            "group": {"type": "str", "default": "sglang"},
            "environment_path": {"type": "path", "required": True},
            "environment_digest": {"type": "str", "default": ""},
            "sglang_version": {"type": "str", "default": ""},
            "model_path": {"type": "path", "default": ""},
            "model_revision": {"type": "str", "default": ""},
            "model_manifest": {"type": "path"},
            "served_model_name": {"type": "str", "default": ""},
            "config": {"type": "dict", "default": {}},
            "hf_quant_config": {"type": "dict", "default": {}},
            "config_source": {"type": "str", "default": ""},
            "weights": {"type": "dict", "default": {}},
            "origins": {"type": "dict", "default": {}},
            "wanted_environment": {
                "type": "dict",
                "options": {
                    "name": {"type": "str", "required": True},
                    "root": {"type": "path", "required": True},
                    "link": {"type": "path", "default": ""},
                    "lock": {"type": "path", "required": True},
                    "lock_sha256": {"type": "str", "required": True},
                    "python": {"type": "path", "required": True},
                    "adopt": {"type": "bool", "default": False},
                    "release": {"type": "str", "default": ""},
                    "used": {"type": "bool", "default": True},
                },
            },
            "wanted_model": {
                "type": "dict",
                "options": {
                    "root": {"type": "path", "required": True},
                    "repo": {"type": "str", "default": ""},
                    "revision": {"type": "str", "required": True},
                    "refresh": {"type": "bool", "default": False},
                    "path": {"type": "path", "default": ""},
                    "patterns": {"type": "list", "elements": "str", "required": True},
                    "used": {"type": "bool", "default": True},
                    "named": {"type": "bool", "default": True},
                },
            },
            "look_at_host": {"type": "bool", "default": True},
            "host": {"type": "str", "default": "127.0.0.1"},
            "port": {"type": "int", "default": 30000},
            "api_key_sha256": {"type": "str", "no_log": True},
            "gpus": {"type": "list", "elements": "int", "default": []},
            "declared_gpus": {"type": "list", "elements": "dict", "default": []},
            "tensor_parallel_size": {"type": "int", "default": 0},
            "settings": {"type": "dict", "default": {}},
            "workload": {"type": "dict", "default": {}},
            "extra_args": {"type": "list", "elements": "str", "default": []},
            "environment": {"type": "dict", "default": {}},
            "log_file": {"type": "path"},
            "read_only_paths": {"type": "list", "elements": "path", "default": []},
            "read_write_paths": {"type": "list", "elements": "path", "default": []},
            "stop_timeout": {"type": "int", "default": 180},
            "launcher": {"type": "str", "default": ""},
            "allow_unverified_release": {"type": "bool", "default": False},
            "require_complete": {"type": "bool", "default": True},
        },
        supports_check_mode=True,
    )

    def run(command: list[str]) -> tuple[int, str, str]:
        """A command of the host; one that is not there raises OSError."""
        code, output, errors = module.run_command(command, handle_exceptions=False)
        return code, output, errors

    params = module.params
    try:
        planner = HostPlanner(params, run, module.warn, module.check_mode)
        result = planner.result() if params["look_at_host"] else plan_without_host(params)
    except SglangError as error:
        module.fail_json(msg=str(error))
    except OSError as error:
        module.fail_json(msg=f"cannot look at the host: {error}")
    # A plan that is only looked at is shown with its warnings.
    for warning in result.get("plan", {}).get("warnings", []) if params["require_complete"] else []:
        module.warn(warning)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
