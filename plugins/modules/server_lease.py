#!/usr/bin/python
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Lets one run at a time change an instance."""

from __future__ import annotations

DOCUMENTATION = r"""
module: server_lease
short_description: Hold an SGLang instance, or a fleet, for the one run that changes it
version_added: "0.1.0"
description:
  - Two plays that change one instance at the same time would take each other's server for their own. The lease is the file
    C(<root>/instances/<instance>/lease.json) on the host; a run that finds it held fails with the holder's name.
  - A run that was killed leaves its lease. The next run from the same controller sees that its process is gone and goes on at once;
    other controllers wait until O(seconds) have passed since it was taken.
  - With O(scope=fleet) it is the file C(<root>/fleet/lease.json) on the one host at which all rollouts of a fleet meet.
  - Taking and giving back are no changes of the server and are not reported as such. In check mode nothing is looked at or written.
options:
  root:
    description: Root of the collection's files on the host.
    type: path
    default: /opt/sglang
  instance:
    description: The instance's name.
    type: str
    default: default
  scope:
    description: What is held.
    type: str
    choices: [instance, fleet]
    default: instance
  state:
    description: Take the lease, or give it back. Giving back a lease that another run holds does nothing.
    type: str
    choices: [held, free]
    default: held
  seconds:
    description: How long the longest change can take.
    type: int
    default: 14400
  holder:
    description: The run; set by the action plugin of the same name.
    type: dict
    default: {}
  gone:
    description: A run that has ended without giving its lease back; set by the action plugin of the same name.
    type: dict
    default: {}
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
- name: Hold the instance
  inference.sglang.server_lease:
    instance: default
"""

RETURN = r"""
holder:
  description: The run that holds the lease.
  type: dict
  returned: when another one does
"""

from dataclasses import asdict

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._lease import LEASE_FILE, give_back, refusal, run_of, take
from ansible_collections.inference.sglang.plugins.module_utils._release import instance_directory
from ansible_collections.inference.sglang.plugins.module_utils._unit import unit_name


def main() -> None:
    """Take the lease, or give it back."""
    module = AnsibleModule(
        argument_spec={
            "root": {"type": "path", "default": "/opt/sglang"},
            "instance": {"type": "str", "default": "default"},
            "scope": {"type": "str", "choices": ["instance", "fleet"], "default": "instance"},
            "state": {"type": "str", "choices": ["held", "free"], "default": "held"},
            "seconds": {"type": "int", "default": 14400},
            "holder": {"type": "dict", "default": {}},
            "gone": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
    )
    params = module.params
    if module.check_mode:
        module.exit_json(changed=False)
    fleet = params["scope"] == "fleet"
    try:
        unit_name(params["instance"])
        home = f"{params['root'].rstrip('/')}/fleet" if fleet else instance_directory(params["root"], params["instance"])
        run = run_of(params["holder"])
        if run is None:
            raise SglangError("nobody is named to hold the instance", found="holder: {}", wanted="the action plugin of the same name")
        if params["state"] == "free":
            give_back(home, run)
            module.exit_json(changed=False)
        holding = take(home, run, params["seconds"], run_of(params["gone"]))
        if holding is not None:
            refused = refusal(holding, f"{home}/{LEASE_FILE}", f"this {params['scope']}")
            module.fail_json(holder=asdict(holding.run), **refused.as_result())
    except SglangError as error:
        module.fail_json(**error.as_result())
    except OSError as error:
        fault = SglangError(
            f"The lease of the {params['scope']}{'' if fleet else ' ' + params['instance']} cannot be written or removed.",
            found=str(error),
            wanted=f"a writable {params['root']} on a disk that is not full",
            next_step="Mend that on the host and run again; nothing was changed by this step.",
        )
        module.fail_json(**fault.as_result())
    module.exit_json(changed=False)


if __name__ == "__main__":
    main()
