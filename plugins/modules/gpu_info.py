#!/usr/bin/python
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Lists the host's NVIDIA GPUs and who uses them."""

from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_info
short_description: List the host's NVIDIA GPUs and who uses them
version_added: "0.1.0"
description:
  - Asks C(nvidia-smi). A host without it is not an error; RV(found) is false then.
options:
  executable:
    description: The program to ask, by name or path.
    type: str
    default: nvidia-smi
  timeout:
    description: Seconds to wait for its answer; a wedged driver never gives one.
    type: int
    default: 60
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
- name: List the GPUs
  inference.sglang.gpu_info:
  register: gpu
"""

RETURN = r"""
found:
  description: Whether C(nvidia-smi) is there and answered.
  returned: always
  type: bool
why:
  description: Why nothing was found.
  returned: when RV(found) is false
  type: str
gpus:
  description: The GPUs by index.
  returned: always
  type: list
  elements: dict
  contains:
    index: {description: Number as nvidia-smi counts., type: int}
    uuid: {description: UUID., type: str}
    name: {description: Name., type: str}
    memory_mib: {description: Memory in MiB; none where the driver does not say., type: int}
    memory_used_mib: {description: Memory in use., type: int}
    compute_capability: {description: 'NVIDIA''s compute capability, such as 8.6.', type: str}
    driver_version: {description: Version of the driver., type: str}
    processes: {description: 'Processes on it: pid, name, memory_used_mib.', type: list, elements: dict}
"""

import threading
from typing import Any, Optional

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inference.sglang.plugins.module_utils._gpus import GPU_QUERY, PROCESS_QUERY, parse_nvidia_smi


def ask(module: AnsibleModule, executable: str, query: str, timeout: int) -> tuple[Optional[str], str]:
    """The program's answer, or why there is none."""
    late = threading.Event()
    alarms: list[threading.Timer] = []

    def limit(process: Any) -> None:
        """run_command knows no time limit, and the program can hang in the driver."""

        def end() -> None:
            late.set()
            process.kill()

        alarms.append(threading.Timer(timeout, end))
        alarms[0].start()

    command = [executable, query, "--format=csv,noheader,nounits"]
    try:
        code, output, errors = module.run_command(
            command, expand_user_and_vars=False, before_communicate_callback=limit, handle_exceptions=False
        )
    except OSError as error:
        return None, f"{executable}: {error.strerror}"
    finally:
        for alarm in alarms:
            alarm.cancel()
    if code != 0 and late.is_set():
        return None, f"{executable} did not answer in {timeout} seconds"
    if code != 0:
        return None, (errors.strip() or output.strip() or f"{executable} ended with {code}")[:500]
    return output, ""


def main() -> None:
    """Entry point."""
    module = AnsibleModule(
        argument_spec={"executable": {"type": "str", "default": "nvidia-smi"}, "timeout": {"type": "int", "default": 60}},
        supports_check_mode=True,
    )
    executable = module.params["executable"]
    path = executable if "/" in executable else module.get_bin_path(executable)
    if path is None:
        module.exit_json(changed=False, found=False, why=f"{executable} is not there", gpus=[])
        return
    timeout = module.params["timeout"]
    cards, why = ask(module, path, "--query-gpu=" + ",".join(GPU_QUERY), timeout)
    if cards is None:
        module.exit_json(changed=False, found=False, why=why, gpus=[])
        return
    processes, _why = ask(module, path, "--query-compute-apps=" + ",".join(PROCESS_QUERY), timeout)
    found = parse_nvidia_smi(cards, processes or "")
    if not found:
        module.exit_json(changed=False, found=False, why=f"{executable} lists no GPU", gpus=[])
        return
    module.exit_json(changed=False, found=True, gpus=found)


if __name__ == "__main__":
    main()
