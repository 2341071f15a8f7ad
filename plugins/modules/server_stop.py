#!/usr/bin/python
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Stops an instance's unit and waits until its GPU memory is free."""

from __future__ import annotations

DOCUMENTATION = r"""
module: server_stop
short_description: Stop an SGLang unit so that it can be started afresh
version_added: "0.1.0"
description:
  - Lets systemd read the unit's newest files, then stops the unit, which drains for as long as its own stop timeout allows.
  - Then waits until NVIDIA's driver lists none of the unit's processes any more. SGLang 0.5.11 kills itself at the end of
    every stop, and a server that starts while the old one's memory is still held dies of it.
  - Forgets earlier failed starts, which would count towards systemd's limit for the next one.
options:
  unit:
    description: The unit.
    type: str
    required: true
  gpu_timeout:
    description: Seconds to wait for the GPU memory.
    type: int
    default: 120
  progress_file:
    description: Where progress is written; set by the action plugin of the same name.
    type: path
extends_documentation_fragment: [action_common_attributes]
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  platform:
    platforms: linux
    support: full
author:
  - inference.sglang maintainers (@inference-sglang)
"""

EXAMPLES = r"""
- name: Stop the server
  inference.sglang.server_stop:
    unit: sglang-default.service
"""

RETURN = r"""
seconds:
  description: How long the stop took, the wait for the GPUs included.
  type: float
  returned: success
was:
  description: The unit's state before.
  type: str
  returned: success
"""

import os
import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._live_unit import RunCommand, parse_show
from ansible_collections.inference.sglang.plugins.module_utils._progress import Progress
from ansible_collections.inference.sglang.plugins.module_utils._server_host import measure_gpus
from ansible_collections.inference.sglang.plugins.module_utils._text_files import read_text

# The driver tells nobody when memory becomes free.
POLL_SECONDS = 1.0


def unit_processes(control_group: str) -> set[int]:
    """The pids of a unit's control group, those of its children included."""
    found: set[int] = set()
    if not control_group:
        return found
    for directory, _subdirectories, names in os.walk("/sys/fs/cgroup" + control_group):
        if "cgroup.procs" in names:
            found |= {int(line) for line in (read_text(f"{directory}/cgroup.procs") or "").split()}
    return found


def gpu_users(run: RunCommand, pids: set[int]) -> list[str]:
    """Which of these processes the driver still lists."""
    return [
        f"pid {user['pid']} ({user['name']}) on GPU {gpu['index']}"
        for gpu in measure_gpus(run) or []
        for user in gpu["processes"]
        if user["pid"] in pids
    ]


def wait_for_memory(run: RunCommand, pids: set[int], timeout: int, progress: Progress) -> None:
    """Until none of the processes is listed; fails when one still is at the end."""
    deadline = time.monotonic() + timeout
    while True:
        users = gpu_users(run, pids)
        if not users:
            return
        if time.monotonic() >= deadline:
            raise SglangError(
                "the stopped server's GPU memory is not free",
                found=f"after {timeout} seconds still {', '.join(users)}",
                wanted="no process of the unit in nvidia-smi",
                next_step="look at those processes (nvidia-smi); raise sglang_server_gpu_free_timeout if the driver is only slow",
            )
        progress.report("stop", f"waiting for GPU memory: {', '.join(users)}")
        time.sleep(POLL_SECONDS)


def main() -> None:
    """Stop and wait."""
    module = AnsibleModule(
        argument_spec={
            "unit": {"type": "str", "required": True},
            "gpu_timeout": {"type": "int", "default": 120},
            "progress_file": {"type": "path"},
        },
        supports_check_mode=True,
    )
    unit, started = module.params["unit"], time.monotonic()
    progress = Progress(module.params["progress_file"])

    def run(command: list[str]) -> tuple[int, str, str]:
        return module.run_command(command, handle_exceptions=False)

    shown = parse_show(run(["systemctl", "show", unit, "--property", "ActiveState,ControlGroup"])[1])
    state = shown.get("ActiveState", "unknown")
    idle = state in ("inactive", "failed")
    if module.check_mode:
        module.exit_json(changed=not idle, was=state, seconds=0.0)
    commands = [["systemctl", "daemon-reload"]]
    if not idle:
        progress.report("stop", f"stopping {unit}; it finishes its requests first", force=True)
        commands.append(["systemctl", "stop", unit])
    pids = unit_processes(shown.get("ControlGroup", ""))
    for command in commands:
        code, _output, errors = run(command)
        if code != 0:
            module.fail_json(msg=f"{' '.join(command)}: {errors.strip()}")
    # Fails for a unit that systemd has not loaded: then there is nothing to forget.
    run(["systemctl", "reset-failed", unit])
    try:
        wait_for_memory(run, pids, module.params["gpu_timeout"], progress)
    except SglangError as error:
        module.fail_json(**error.as_result())
    if idle:
        module.exit_json(changed=False, was=state, seconds=round(time.monotonic() - started, 2))
    module.exit_json(changed=True, was=state, seconds=round(time.monotonic() - started, 2))


if __name__ == "__main__":
    main()
