#!/usr/bin/python
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Writes down on a host how far a rollout came there."""

from __future__ import annotations

DOCUMENTATION = r"""
module: rollout_record
short_description: Write down how far a rollout came on a host
version_added: "0.1.0"
description:
  - Keeps C(<root>/instances/<instance>/rollout.json), from which the next run and C(playbooks/status.yml) see where a rollout stands,
    also after its controller was killed.
  - It is bookkeeping, no change of the server, and is not reported as such. In check mode nothing is written.
options:
  root:
    description: Root of the collection's files on the host.
    type: path
    default: /opt/sglang
  instance:
    description: The instance's name.
    type: str
    default: default
  phase:
    description:
      - How far it came. Without it nothing is written, and the record is returned as it is.
      - V(drained) means that the balancer sends the server nothing, V(rejoined) and V(rolled_back) that it does again.
    type: str
    choices: [admitted, drained, switched, rejoined, failed, rolled_back]
  rollout:
    description: What tells this rollout from others; needed with O(phase).
    type: str
    default: ""
  release:
    description: The release that is wanted.
    type: str
    default: ""
  origin:
    description: The release that was accepted before; C(from) in the file.
    type: str
    default: ""
  verdict:
    description: In a few words, how it went.
    type: str
    default: ""
  code:
    description: The stable code of a failure.
    type: str
    default: ""
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
- name: Record the rollout
  inference.sglang.rollout_record:
    rollout: 20261130T171200Z-5d21
    phase: rejoined
"""

RETURN = r"""
rollout:
  description: The record, as the file has it.
  type: dict
  returned: success
out:
  description: Whether the server was taken out of its balancer and not put back since.
  type: bool
  returned: success
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._release import instance_directory
from ansible_collections.inference.sglang.plugins.module_utils._rollout_record import advance, read_rollout, utc, write_rollout
from ansible_collections.inference.sglang.plugins.module_utils._unit import unit_name


def main() -> None:
    """Write one phase."""
    module = AnsibleModule(
        argument_spec={
            "root": {"type": "path", "default": "/opt/sglang"},
            "instance": {"type": "str", "default": "default"},
            "phase": {
                "type": "str",
                "choices": ["admitted", "drained", "switched", "rejoined", "failed", "rolled_back"],
            },
            "rollout": {"type": "str", "default": ""},
            "release": {"type": "str", "default": ""},
            "origin": {"type": "str", "default": ""},
            "verdict": {"type": "str", "default": ""},
            "code": {"type": "str", "default": ""},
        },
        supports_check_mode=True,
    )
    params = module.params
    values = {"from" if name == "origin" else name: params[name] for name in ("rollout", "release", "origin", "verdict", "code")}
    try:
        unit_name(params["instance"])
        home = instance_directory(params["root"], params["instance"])
        record = read_rollout(home)
        if params["phase"]:
            record = advance(record, params["phase"], utc(), values)
        if params["phase"] and not module.check_mode:
            write_rollout(home, record)
    except SglangError as error:
        module.fail_json(**error.as_result())
    except OSError as error:
        fault = SglangError(
            f"The record of the rollout of the instance {params['instance']} cannot be written.",
            found=str(error),
            wanted=f"a writable {params['root']} on a disk that is not full",
            next_step="Mend that on the host and run the same command again.",
        )
        module.fail_json(**fault.as_result())
    module.exit_json(changed=False, rollout=record.shown(), out=record.out)


if __name__ == "__main__":
    main()
