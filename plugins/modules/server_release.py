#!/usr/bin/python
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Keeps an instance's releases and the stamp of the accepted one."""

from __future__ import annotations

DOCUMENTATION = r"""
module: server_release
short_description: Stage a release of an SGLang instance, or record that one was accepted
version_added: "0.1.0"
description:
  - With O(state=staged) writes a release's files to C(<root>/instances/<instance>/releases/<id>), published by rename.
  - With O(state=accepted) writes the stamp C(accepted.json) after the gate and the probe have passed; the stamp before it
    becomes C(previous.json), and old releases beyond O(keep) are removed.
  - With O(state=prepared) writes down what serves here before anything is stopped (C(replaced.json)), namely the instance's unit file,
    whether it is enabled and active, the servers of O(servers), and the key file beside the new one. What a killed run wrote down stays.
  - With O(state=put_back) places that unit file and that key file again, or removes them where there were none; starting them again
    is left to the caller, and O(state=forgotten) says that it was done. Accepting forgets too.
  - With O(state=read) reports the stamps, the releases that are there, and whose the instance's unit is.
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
    description: What to do.
    type: str
    choices: [staged, prepared, accepted, put_back, forgotten, read]
    default: read
  id:
    description:
      - The release's id, as the module M(inference.sglang.launch_plan) returned it.
      - With O(state=read), the release whose record is returned; empty means the accepted one.
    type: str
    default: ""
  files:
    description: The release's files, name to text; needed by O(state=staged).
    type: dict
    default: {}
  key_file:
    description: The file that holds the engine's API key; only its inode, size and time go into the stamp.
    type: path
  figures:
    description: What the gate and the probe measured, kept in the stamp.
    type: dict
    default: {}
  keep:
    description: How many releases stay on the host, the accepted and the previous one among them.
    type: int
    default: 5
  servers:
    description: With O(state=prepared), other servers that are about to be stopped, as M(inference.sglang.launch_plan) found them.
    type: list
    elements: dict
    default: []
extends_documentation_fragment: [action_common_attributes]
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
    details: Staging shows the accepted release's unit beside the new one's.
  platform:
    platforms: posix
    support: full
author:
  - inference.sglang maintainers (@inference-sglang)
"""

EXAMPLES = r"""
- name: Stage the release
  inference.sglang.server_release:
    state: staged
    id: "{{ plan.release.id }}"
    files: "{{ plan.release.files }}"

- name: Record that it was accepted
  inference.sglang.server_release:
    state: accepted
    id: "{{ plan.release.id }}"

- name: What is accepted here?
  inference.sglang.server_release:
    instance: default
"""

RETURN = r"""
directory:
  description: The release's directory; empty when there is none.
  type: str
  returned: success
release:
  description: The record of the release, as it was staged; empty when there is none.
  type: dict
  returned: success
accepted:
  description: The stamp of the accepted release, or none.
  type: dict
  returned: success
previous:
  description: The stamp before it, or none.
  type: dict
  returned: success
releases:
  description: The ids of the releases on the host.
  type: list
  elements: str
  returned: success
release_damage:
  description: Why the accepted release's record cannot be read; empty when it can.
  type: str
  returned: success
previous_damage:
  description: Why the stamp before the accepted one cannot be read; empty when it can.
  type: str
  returned: success
unit:
  description:
    - The instance's unit as systemd has it. C(path) is empty when there is none; C(ours) says whether this collection wrote it;
      C(release) is the release whose launcher the running process was started with.
  type: dict
  returned: success
changes:
  description: What the release O(id) has other than the accepted one (arguments, environment, unit), one line each.
  type: list
  elements: str
  returned: when O(state) is C(read)
before:
  description: What was here before the change, without the unit's text.
  type: dict
  returned: when O(state) is C(prepared) or C(put_back)
pruned:
  description: What was removed below C(releases/).
  type: list
  elements: str
  returned: success
"""

import os
import time
from dataclasses import asdict
from typing import Any, Optional

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inference.sglang.plugins.module_utils import _release_files as files
from ansible_collections.inference.sglang.plugins.module_utils import _unit_before as before
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._live_unit import UNIT_DIRECTORY, RunCommand, view_live, view_unit
from ansible_collections.inference.sglang.plugins.module_utils._release import (
    Stamp,
    check_release_id,
    instance_directory,
    release_directory,
)
from ansible_collections.inference.sglang.plugins.module_utils._release_changes import release_changes
from ansible_collections.inference.sglang.plugins.module_utils._text_files import read_text
from ansible_collections.inference.sglang.plugins.module_utils._unit import unit_name


def _stage(module: AnsibleModule, directory: str, home: str, unit: str) -> dict[str, Any]:
    wanted = module.params["files"]
    if not wanted:
        raise SglangError("a release without files cannot be staged", found="files: {}", wanted="the files of launch_plan's release")
    if files.same_files(directory, wanted):
        return {"changed": False}
    accepted = files.read_stamp(home, files.ACCEPTED_FILE)
    shown = ""
    if accepted is not None:
        shown = read_text(os.path.join(home, "releases", accepted.id, unit)) or ""
    if not module.check_mode:
        files.publish(directory, wanted)
    return {
        "changed": True,
        "diff": {
            "before_header": f"accepted release {accepted.id}" if accepted else "no accepted release",
            "before": shown,
            "after_header": f"release {module.params['id']}",
            "after": wanted.get(unit, ""),
        },
    }


def _refuse_another_process(release: str, identifier: str) -> None:
    """The gate and the probe have asked the process that runs, whatever the unit file says."""
    if release not in ("", identifier):
        raise SglangError(
            "the running server is not of the release that is to be accepted",
            found=f"a process of release {release}",
            wanted=f"a process of release {identifier}",
            next_step="see that nobody else changes this instance, then run the play again",
        )


def _accept(module: AnsibleModule, directory: str, home: str, unit: str) -> dict[str, Any]:
    if module.check_mode and not os.path.isdir(directory):
        return {"changed": True, "pruned": []}
    record = files.read_release(directory)
    launcher = os.path.join(directory, "launcher.py")
    live = view_live(unit, launcher, module.params["key_file"] or "", module.run_command)
    current = files.read_stamp(home, files.ACCEPTED_FILE)
    stamp = Stamp(
        id=module.params["id"],
        unit_sha256=record["unit_sha256"],
        launcher_sha256=record["launcher_sha256"],
        drop_ins=live.drop_ins,
        key=live.key,
        environment=record.get("environment", {}),
        model=record.get("model", {}),
        accepted_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        figures=module.params["figures"],
    )
    if not module.check_mode:
        _refuse_another_process(live.release, stamp.id)
        files.write_accepted(home, stamp)
        before.forget(home)
    pruned = _prune(module, home)
    return {"changed": True, "pruned": pruned, "diff": {"before": current.as_json() if current else "", "after": stamp.as_json()}}


def _prune(module: AnsibleModule, home: str) -> list[str]:
    """Remove old releases. The stamp stands by now: what cannot be removed is no reason to call the server a failure."""
    try:
        old = files.prunable(home, module.params["keep"])
        if not module.check_mode:
            files.prune(home, old)
    except OSError as error:
        module.warn(f"old releases could not be removed: {error}")
        return []
    return old


# ----- what was here before -----
def _prepare(module: AnsibleModule, home: str, unit: str) -> dict[str, Any]:
    accepted = files.read_stamp(home, files.ACCEPTED_FILE)
    found = view_unit(unit, module.run_command)
    stamp = f"{accepted.id} {accepted.accepted_at}" if accepted else ""
    active = found.active in ("active", "activating", "reloading")
    now = before.look(home, f"{UNIT_DIRECTORY}/{unit}", stamp, found.enabled, active, module.params["servers"])
    kept = now if module.check_mode else before.remember(home, now)
    return {"changed": False, "before": kept.shown()}


def _put_back(module: AnsibleModule, home: str, unit: str) -> dict[str, Any]:
    if module.check_mode:
        return {"changed": True}
    return {"changed": True, "before": before.put_back(home, f"{UNIT_DIRECTORY}/{unit}").shown()}


def _forget(module: AnsibleModule, home: str, _unit: str) -> dict[str, Any]:
    return {"changed": False if module.check_mode else before.forget(home)}


def _as_dict(stamp: Optional[Stamp]) -> Optional[dict[str, Any]]:
    return None if stamp is None else dict(stamp.__dict__)


def _changes(home: str, unit: str, accepted: Optional[Stamp], identifier: str) -> list[str]:
    """How a release differs from the accepted one; nothing to say where there is none, or it cannot be read any more."""
    if accepted is None or not identifier or accepted.id == identifier:
        return []
    try:
        return release_changes(files.read_kept(home, accepted.id, unit), files.read_kept(home, identifier, unit))
    except SglangError as error:
        return [f"the difference cannot be told: {error.wrong}"]


def _report(home: str, unit: str, identifier: str, run: RunCommand) -> dict[str, Any]:
    """The stamps and one release. What only one reader needs is reported as damaged and fails that reader alone."""
    accepted = files.read_stamp(home, files.ACCEPTED_FILE)
    previous, previous_damage = files.read_previous(home)
    present = files.present_releases(home)
    shown = identifier or (accepted.id if accepted else "")
    directory = os.path.join(home, "releases", shown) if shown in present else ""
    release, damage = {}, ""
    try:
        release = files.read_release(directory) if directory else {}
    except SglangError as error:
        if identifier:
            raise
        damage = str(error)
    return {
        "directory": directory,
        "release": release,
        "release_damage": damage,
        "accepted": _as_dict(accepted),
        "previous": _as_dict(previous),
        "previous_damage": previous_damage,
        "releases": present,
        "unit": asdict(view_unit(unit, run)),
    }


ACTIONS = {"prepared": _prepare, "put_back": _put_back, "forgotten": _forget}


def main() -> None:
    """Do what the state says, then report."""
    module = AnsibleModule(
        argument_spec={
            "root": {"type": "path", "default": "/opt/sglang"},
            "instance": {"type": "str", "default": "default"},
            "state": {"type": "str", "choices": ["staged", "prepared", "accepted", "put_back", "forgotten", "read"], "default": "read"},
            "id": {"type": "str", "default": ""},
            "files": {"type": "dict", "default": {}},
            # A path, not the key: without this the option's name alone would hide it from the log.
            "key_file": {"type": "path", "no_log": False},
            "figures": {"type": "dict", "default": {}},
            "keep": {"type": "int", "default": 5},
            "servers": {"type": "list", "elements": "dict", "default": []},
        },
        required_if=[("state", "staged", ["id"]), ("state", "accepted", ["id"])],
        supports_check_mode=True,
    )
    params = module.params
    result: dict[str, Any] = {"changed": False, "pruned": []}
    try:
        unit = unit_name(params["instance"])
        home = instance_directory(params["root"], params["instance"])
        directory = ""
        if params["id"]:
            directory = release_directory(params["root"], params["instance"], check_release_id(params["id"]))
        if params["state"] == "staged":
            result.update(_stage(module, directory, home, unit))
        elif params["state"] == "accepted":
            result.update(_accept(module, directory, home, unit))
        elif params["state"] in ACTIONS:
            result.update(ACTIONS[params["state"]](module, home, unit))
        result.update(_report(home, unit, params["id"], module.run_command))
        if params["state"] == "read":
            result["changes"] = _changes(home, unit, files.read_stamp(home, files.ACCEPTED_FILE), params["id"])
    except SglangError as error:
        module.fail_json(**error.as_result())
    except OSError as error:
        module.fail_json(msg=f"cannot read or write the instance's files: {error}")
    if not module._diff:  # under --diff Ansible prints whatever comes back, also where the task says diff: false
        result.pop("diff", None)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
