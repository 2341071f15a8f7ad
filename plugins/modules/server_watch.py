#!/usr/bin/python
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Installs or removes the timer that probes a serving instance every so often."""

from __future__ import annotations

DOCUMENTATION = r"""
module: server_watch
short_description: Probe a serving SGLang instance every so often by a systemd timer
version_added: "0.1.0"
description:
  - Puts a small program with this collection's own prober beside the instance and a systemd timer that runs it as the service user.
  - Each look asks the accepted release one question and, with speculation, for the accept length of what it served meanwhile. The result
    is in C(<root>/instances/<instance>/watch/result/last.json), where M(inference.sglang.server_status) reads it; a wrong one is a line in
    the journal that begins with the prober's stable code, and makes the watch's unit count as failed.
  - Nothing is asked while the server is stopped, while another release than the accepted one runs, or counted while it is starting.
options:
  root:
    description: Root of the collection's files on the host.
    type: path
    default: /opt/sglang
  instance:
    description: The instance's name.
    type: str
    default: default
  state:
    description: Whether the instance is watched. Without a watch nothing of it is left on the host.
    type: str
    choices: [present, absent]
    default: present
  user:
    description: The user to run as.
    type: str
    default: sglang
  group:
    description: Its group.
    type: str
    default: sglang
  key_file:
    description: The file with the server's API key, which systemd hands to the program.
    type: path
  question:
    description: A question with a checkable answer.
    type: str
    default: What is the capital of France?
  expect:
    description: A regular expression that the answer must match.
    type: str
    default: (?i)\bparis\b
  min_accept_length:
    description: Least average of tokens a verification step.
    type: float
    default: 1.1
  request_timeout:
    description: Seconds for one request.
    type: int
    default: 180
  start_timeout:
    description: Seconds that a start of the server may take before no answer counts as a failure.
    type: int
    default: 3600
  interval:
    description: Seconds from the end of one look to the next.
    type: int
    default: 300
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
- name: Watch the instance
  inference.sglang.server_watch:
    instance: default
    interval: 600
"""

RETURN = r"""
files:
  description: The files that were written or removed, or would be.
  type: list
  elements: str
  returned: success
timer:
  description: The timer's unit.
  type: str
  returned: success
"""

import os
import shutil
import sys
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._live_unit import UNIT_DIRECTORY, parse_show
from ansible_collections.inference.sglang.plugins.module_utils._release import instance_directory
from ansible_collections.inference.sglang.plugins.module_utils._watch_files import Watch, watch_files, watch_unit
from ansible_collections.inference.sglang.plugins.module_utils._watch_place import place, unlike


def systemctl(module: AnsibleModule, *words: str) -> str:
    """Run it; it must succeed."""
    code, output, errors = module.run_command(["systemctl", *words])
    if code != 0:
        raise SglangError(
            "systemd does not take the watch",
            found=f"systemctl {' '.join(words)}: {errors.strip() or output.strip()}",
            wanted="status 0",
            next_step="run that command on the host; the server itself is not touched by it",
        )
    return str(output)


def watch_of(params: dict[str, Any]) -> Watch:
    """From the module's options."""
    names = ("instance", "user", "group", "question", "expect", "min_accept_length", "request_timeout", "start_timeout", "interval")
    home = instance_directory(params["root"], params["instance"])
    return Watch(home=home, python=sys.executable, key_file=params["key_file"] or "", **{name: params[name] for name in names})


def install(module: AnsibleModule, watch: Watch) -> dict[str, Any]:
    """Files first, then systemd; a run that was killed in between goes on from there."""
    files = watch_files(watch, UNIT_DIRECTORY)
    changed = unlike(watch, files)
    name = watch_unit(watch.instance, "timer")
    shown = parse_show(systemctl(module, "show", name, "--property", "ActiveState,UnitFileState,NeedDaemonReload"))
    runs = shown.get("ActiveState") == "active" and shown.get("UnitFileState") == "enabled" and shown.get("NeedDaemonReload") == "no"
    if (changed or not runs) and not module.check_mode:
        place(watch, files, changed)
        systemctl(module, "daemon-reload")
        systemctl(module, "enable", name)
        systemctl(module, "restart", name)
    return {"changed": bool(changed) or not runs, "files": changed, "timer": name}


def remove(module: AnsibleModule, instance: str, home: str) -> dict[str, Any]:
    """Nothing of it stays. Where nothing is, systemd is not asked."""
    units = [f"{UNIT_DIRECTORY}/{watch_unit(instance, kind)}" for kind in ("timer", "service")]
    present = [path for path in (*units, f"{home}/watch") if os.path.lexists(path)]
    if present and not module.check_mode:
        if units[0] in present:
            systemctl(module, "disable", "--now", os.path.basename(units[0]))
        if units[1] in present:
            systemctl(module, "stop", os.path.basename(units[1]))
            module.run_command(["systemctl", "reset-failed", os.path.basename(units[1])])
        for path in present:
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)
        systemctl(module, "daemon-reload")
    return {"changed": bool(present), "files": present, "timer": watch_unit(instance, "timer")}


def main() -> None:
    """Module entry."""
    module = AnsibleModule(
        argument_spec={
            "root": {"type": "path", "default": "/opt/sglang"},
            "instance": {"type": "str", "default": "default"},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "user": {"type": "str", "default": "sglang"},
            "group": {"type": "str", "default": "sglang"},
            # The path is no secret; its name looks like one.
            "key_file": {"type": "path", "no_log": False},
            "question": {"type": "str", "default": "What is the capital of France?"},
            "expect": {"type": "str", "default": r"(?i)\bparis\b"},
            "min_accept_length": {"type": "float", "default": 1.1},
            "request_timeout": {"type": "int", "default": 180},
            "start_timeout": {"type": "int", "default": 3600},
            "interval": {"type": "int", "default": 300},
        },
        supports_check_mode=True,
    )
    params = module.params
    try:
        watch = watch_of(params)
        result = install(module, watch) if params["state"] == "present" else remove(module, watch.instance, watch.home)
    except SglangError as error:
        module.fail_json(**error.as_result())
    except OSError as error:
        fault = SglangError(
            "the files of the watch cannot be written or removed",
            found=str(error),
            wanted=f"room and leave to write in {watch_of(params).directory} and {UNIT_DIRECTORY}",
            next_step="mend that on the host and run the play again; the server itself was not touched",
        )
        module.fail_json(**fault.as_result())
    module.exit_json(**result)


if __name__ == "__main__":
    main()
