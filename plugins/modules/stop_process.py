#!/usr/bin/python
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Stops one process that no service manager looks after."""

from __future__ import annotations

DOCUMENTATION = r"""
module: stop_process
short_description: Stop one process and what it started, with a bounded wait
version_added: "0.1.0"
description:
  - Sends SIGTERM to the process, waits for its end, and after O(timeout) seconds sends SIGKILL to it and to its descendants.
  - For a server that somebody started by hand on the port that an instance is to have. A process that a unit looks after is
    stopped through its unit instead.
options:
  pid:
    description: The process.
    type: int
    required: true
  started:
    description: When it began, as it was reported with the pid. A pid that was given to another process meanwhile is not touched.
    type: str
    required: true
  timeout:
    description: Seconds to wait after SIGTERM. SGLang finishes its requests first, without a limit of its own.
    type: int
    default: 180
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
- name: Stop the server that was started by hand
  inference.sglang.stop_process:
    pid: 1234
    started: "2026-11-30T02:50:11Z"
"""

RETURN = r"""
command:
  description: What was stopped, without secrets.
  type: str
  returned: when there was something to stop
ended_by:
  description: C(SIGTERM), C(SIGKILL), or C(gone) when it was not there any more.
  type: str
  returned: success
seconds:
  description: How long it took to end.
  type: float
  returned: success
"""

import os
import select
import signal
import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._listeners import Proc

KILL_GRACE_SECONDS = 15.0


def _wait(handles: dict[int, int], seconds: float) -> set[int]:
    """The pids that have not ended after so many seconds. A pidfd becomes readable when its process ends: no polling."""
    deadline = time.monotonic() + seconds
    left = dict(handles)
    poller = select.poll()
    for handle in left.values():
        poller.register(handle, select.POLLIN)
    while left:
        rest = deadline - time.monotonic()
        if rest <= 0:
            break
        for handle, _event in poller.poll(rest * 1000):
            poller.unregister(handle)
            left = {pid: other for pid, other in left.items() if other != handle}
    return set(left)


def _open(pids: list[int]) -> dict[int, int]:
    handles = {}
    for pid in pids:
        try:
            handles[pid] = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
    return handles


def _stop(proc: Proc, pid: int, timeout: int) -> str:
    # The descendants are taken down now: once their parent is gone, nothing tells that they were its own.
    family = [pid, *(child for child in proc.pids() if pid in proc.ancestors(child))]
    handles = _open(family)
    if pid not in handles:
        return "gone"
    try:
        signal.pidfd_send_signal(handles[pid], signal.SIGTERM)
        ended_by = "SIGTERM"
        if _wait({pid: handles[pid]}, timeout):
            ended_by = "SIGKILL"
            signal.pidfd_send_signal(handles[pid], signal.SIGKILL)
        # Workers that outlive their server would hold its GPU memory.
        left = _wait(handles, KILL_GRACE_SECONDS / 3)
        for other in left:
            try:
                signal.pidfd_send_signal(handles[other], signal.SIGKILL)
            except ProcessLookupError:
                continue
        if left and _wait({other: handles[other] for other in left}, KILL_GRACE_SECONDS):
            raise SglangError(
                "a process does not end",
                found=f"pid {sorted(left)} after SIGKILL",
                wanted="its end",
                next_step="look at its state in /proc (D means it hangs in a driver)",
            )
        return ended_by
    finally:
        for handle in handles.values():
            os.close(handle)


def main() -> None:
    """Stop the process, if it still is the one that was meant."""
    module = AnsibleModule(
        argument_spec={
            "pid": {"type": "int", "required": True},
            "started": {"type": "str", "required": True},
            "timeout": {"type": "int", "default": 180},
        },
        supports_check_mode=True,
    )
    pid, started = module.params["pid"], time.monotonic()
    proc = Proc()
    process = proc.process(pid)
    if process is None or pid <= 1:
        module.exit_json(changed=False, ended_by="gone", seconds=0.0)
    if process.since != module.params["started"]:
        error = SglangError(
            f"pid {pid} is another process by now",
            found=f"began {process.since}: {process.command}",
            wanted=f"the process that began {module.params['started']}",
            next_step="run the play again: it looks at the port anew",
        )
        module.fail_json(**error.as_result())
    if module.check_mode:
        module.exit_json(changed=True, command=process.command, ended_by="SIGTERM", seconds=0.0)
    try:
        ended_by = _stop(proc, pid, module.params["timeout"])
    except SglangError as error:
        module.fail_json(**error.as_result())
    except PermissionError as error:
        module.fail_json(msg=f"cannot stop pid {pid}: {error}")
    module.exit_json(changed=True, command=process.command, ended_by=ended_by, seconds=round(time.monotonic() - started, 2))


if __name__ == "__main__":
    main()
