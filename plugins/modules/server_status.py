#!/usr/bin/python
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Says what a host's SGLang instances are doing."""

from __future__ import annotations

DOCUMENTATION = r"""
module: server_status
short_description: Say what the SGLang instances of a host are doing
version_added: "0.1.0"
description:
  - Reads the stamps of every instance on the host, asks systemd for its unit and each running server for its list of models.
  - Generates nothing, so a busy server is not loaded, and changes nothing. M(inference.sglang.serving_probe) proves that a server works.
  - An instance that was never deployed, or whose files are damaged, is reported and is no failure.
options:
  root:
    description: Root of the collection's files on the host.
    type: path
    default: /opt/sglang
  instance:
    description: An instance that is reported even when it was never deployed here.
    type: str
    default: default
  timeout:
    description: Seconds that a server may take to answer.
    type: int
    default: 5
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
- name: Look at the instances
  inference.sglang.server_status:
  register: found
"""

RETURN = r"""
instances:
  description:
    - One dictionary for each instance, with C(instance), C(unit), C(deployed), C(active), C(restarts), C(since), C(release), C(sglang),
      C(model), C(revision), C(accepted_at), C(probe) (figures of the last proof), C(watch) (the last result of the instance's watch,
      where it has one), C(rollout) (the record of the last one) and C(out) (of its balancer), C(url), C(answers), C(answer_seconds)
      and C(notes).
  type: list
  elements: dict
  returned: always
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._server_status import instances_of, view_instance


def main() -> None:
    """Look and report."""
    module = AnsibleModule(
        argument_spec={
            "root": {"type": "path", "default": "/opt/sglang"},
            "instance": {"type": "str", "default": "default"},
            "timeout": {"type": "int", "default": 5},
        },
        supports_check_mode=True,
    )

    def run(command: list[str]) -> tuple[int, str, str]:
        code, output, errors = module.run_command(command, handle_exceptions=False)
        return code, output, errors

    params = module.params
    try:
        names = instances_of(params["root"], params["instance"])
        rows = [view_instance(params["root"], name, run, params["timeout"]) for name in names]
    except SglangError as error:
        module.fail_json(**error.as_result())
    except OSError as error:
        module.fail_json(msg=f"cannot look at the instances: {error}")
    module.exit_json(changed=False, instances=rows)


if __name__ == "__main__":
    main()
