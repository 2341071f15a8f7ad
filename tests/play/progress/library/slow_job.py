#!/usr/bin/python
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A long module whose end the test decides: it reports, then does what ``ending`` says."""

from __future__ import annotations

import os
import signal
import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._progress import Progress


def wait_for(path: str) -> None:
    """The test says when to go on, so that nothing here depends on how fast the machine is."""
    while not os.path.exists(path):
        time.sleep(0.05)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "progress_file": {"type": "path"},
            "steps": {"type": "int", "default": 2},
            "ending": {"type": "str", "default": "ok"},
            "token": {"type": "str", "no_log": True},
            "timeout": {"type": "int"},
            "pause_until": {"type": "path"},
            "nothing_to_do": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    progress = Progress(module.params["progress_file"])
    for step in range(module.params["steps"]):
        progress.report(f"phase-{step}", f"step {step + 1} of {module.params['steps']} \x1b[31m", done=step, force=True)
    if module.params["pause_until"]:
        wait_for(module.params["pause_until"])
    ending = module.params["ending"]
    if ending == "fail":
        module.fail_json(**SglangError("it broke", found="a", wanted="b", next_step="c").as_result())
    if ending == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if ending == "vanish":
        # Everything that could tidy up, one by one: the watcher, the wrapper and this very process. They need not be one process group, as
        # the watcher makes the group after it has forked the wrapper.
        wrapper = os.getppid()
        with open(f"/proc/{wrapper}/stat", encoding="utf-8") as handle:
            watcher = int(handle.read().rpartition(")")[2].split()[1])
        for process in (watcher, wrapper, os.getpid()):
            os.kill(process, signal.SIGKILL)
    if ending == "hang":
        signal.pause()
    module.warn("a warning of the module")
    changed = not module.params["nothing_to_do"]
    module.exit_json(changed=changed, background=bool(module.params["progress_file"]), checked=module.check_mode)


if __name__ == "__main__":
    main()
