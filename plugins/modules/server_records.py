#!/usr/bin/python
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reads what the instances of a host wrote down of their last change."""

from __future__ import annotations

DOCUMENTATION = r"""
module: server_records
short_description: Read what the instances of a host have recorded of their last change
version_added: "0.1.0"
description:
  - Reads stamps, releases, plans and the record of the rollout below O(root), for C(playbooks/report.yml).
  - Changes nothing and asks no server.
  - What is damaged is noted and no failure. Command lines and keys stay on the host.
options:
  root:
    description: Root of the collection's files on the host.
    type: path
    default: /opt/sglang
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
- name: Read the records
  inference.sglang.server_records:
  register: found
"""

RETURN = r"""
instances:
  description:
    - One dictionary for each instance, with C(instance), C(rollout), C(accepted), C(release), C(before), C(changes), C(memory) (the
      plan's), C(gate) and C(probe) (the figures of the accepted release) and C(notes).
  type: list
  elements: dict
  returned: success
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._prune_users import instance_homes
from ansible_collections.inference.sglang.plugins.module_utils._rollout_report_records import instance_record


def main() -> None:
    """Look and report."""
    module = AnsibleModule(argument_spec={"root": {"type": "path", "default": "/opt/sglang"}}, supports_check_mode=True)
    try:
        instances = [instance_record(home) for home in instance_homes(module.params["root"])]
    except OSError as error:
        refused = SglangError(
            "the records of this host cannot be read",
            found=str(error),
            wanted=f"a readable {module.params['root']}/instances",
            next_step="run the play with become, or correct sglang_server_root",
        )
        module.fail_json(**refused.as_result())
    module.exit_json(changed=False, instances=instances)


if __name__ == "__main__":
    main()
