#!/usr/bin/python
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

DOCUMENTATION = r"""
module: python_environment
short_description: Builds an immutable Python environment from a lock with hashes
description:
  - An environment lies in O(root) under its O(name) and the first twelve digits of a digest of its lock, its Python and its platform.
    The same wish finds the same directory again; another lock makes another directory.
  - It is built at its final path and counts as done only with the file C(.complete.json), which is written last. What a run
    left unfinished is removed and built anew. A finished environment is never written to.
  - A directory whose C(.complete.json) is damaged or of another kind is moved aside, never deleted. The module refuses while
    a process runs from it, or while a service names it.
  - uv does the work. The module puts a uv of its own in O(tools), hashed as well.
  - O(link) leads to the environment once it is done, switched in one step.
  - Bytecode is compiled, as the user that runs the engine cannot write it later and a start without it takes twice as long.
  - Runs in the background and shows its progress; do not give it C(async).
version_added: "0.1.0"
author: inference.sglang maintainers (@inference-sglang)
options:
  name:
    description: First part of the directory's name.
    type: str
    required: true
  root:
    description: Directory of the environments.
    type: path
    required: true
  tools:
    description: Directory of uv and of its cache. On the file system of O(root) wheels are linked instead of copied.
    type: path
    required: true
  lock:
    description: Requirements with a version and a hash each, on the host.
    type: path
    required: true
  lock_sha256:
    description:
      - SHA-256 of the lock as the controller knows it.
      - In check mode it stands in for a lock that is not on the host yet.
    type: str
    default: ""
  python:
    description: The interpreter to build with.
    type: path
    default: /usr/bin/python3
  uv_lock:
    description: Lock of uv itself, on the host. Needed unless O(uv) is given.
    type: path
  uv:
    description: A uv to use instead of installing one.
    type: path
  index_url:
    description: Package index. Credentials in it are kept out of every output, of argument lists and of files.
    type: str
    default: https://pypi.org/simple
  wheelhouse:
    description:
      - Directory on the host, or URL of a page with links, that holds the wheels. No index is asked then.
    type: str
    default: ""
  bundle:
    description:
      - Directory of an offline bundle on the host, see M(inference.sglang.offline_bundle), in the place of O(index_url) and O(wheelhouse).
        It must be for this lock, Python and platform, and its wheels are read and compared with its list before a build starts.
    type: path
    default: ""
  imports:
    description: Modules that must be importable before the environment counts as done.
    type: list
    elements: str
    default: []
  check_dependencies:
    description: Refuse an environment whose packages conflict with each other (C(uv pip check)).
    type: bool
    default: true
  only_binary:
    description: Never build a package from its source on the host.
    type: bool
    default: true
  link:
    description: Path of the link to the environment. Without it there is none.
    type: path
    default: ""
  adopt:
    description:
      - Use an environment that is already at O(link), a directory or a link that leads outside O(root), as it is.
      - Otherwise a directory there is moved aside, never deleted; its new name is in RV(moved_aside).
    type: bool
    default: false
  release:
    description: The SGLang release that an adopted environment must hold. Empty for environments without SGLang.
    type: str
    default: ""
  needed_mib:
    description: Free space that must be there before a build starts, in MiB.
    type: int
    default: 0
  timeout:
    description: Seconds that a build may take.
    type: int
    default: 3600
  lock_wait:
    description: Seconds to wait for another run that builds the same environment.
    type: int
    default: 3600
  progress_file:
    description: Internal, given by the action plugin of the same name.
    type: path
attributes:
  check_mode:
    description: Says what it would build, also on a host that lacks Python, uv and the lock.
    support: full
  diff_mode:
    description: Shows where the link leads before and after.
    support: full
  platform:
    description: Linux.
    support: full
    platforms: linux
notes:
  - Turn O(check_dependencies) off for a lock that is known to conflict and works all the same, for example one that holds a CPU build
    of a package where another package asks for a release that has none.
"""

EXAMPLES = r"""
- name: Build the environment of an SGLang release
  inference.sglang.python_environment:
    name: sglang-0.5.11
    root: /opt/sglang/envs
    tools: /opt/sglang/tools
    lock: /opt/sglang/envs/.locks/sglang-0.5.11.txt
    uv_lock: /opt/sglang/envs/.locks/uv.txt
    imports: [sglang, torch]
    link: /opt/sglang/ml-env

- name: The same from a directory of wheels, on a host without a way out
  inference.sglang.python_environment:
    name: sglang-0.5.11
    root: /opt/sglang/envs
    tools: /opt/sglang/tools
    lock: /srv/wheelhouse/lock.txt
    uv_lock: /srv/wheelhouse/uv.txt
    wheelhouse: /srv/wheelhouse
"""

RETURN = r"""
path:
  description: The environment's directory, of an adopted one its link. None in check mode when it cannot be known yet.
  returned: success
  type: str
python:
  description: The environment's interpreter.
  returned: success
  type: str
python_version:
  description: Its version.
  returned: success
  type: str
digest:
  description: Identity of the environment.
  returned: success
  type: str
sglang_version:
  description: Version of SGLang in it, empty without one.
  returned: success
  type: str
versions:
  description: Versions of sglang, torch and transformers in it.
  returned: success
  type: dict
adopted:
  description: Whether it was there before and is used as it is.
  returned: success
  type: bool
built:
  description: Whether this run built it, in check mode whether it would.
  returned: success
  type: bool
link:
  description: Where O(link) led before and leads now.
  returned: when O(link) is given
  type: dict
moved_aside:
  description: New name of a directory that was at O(link), empty without one.
  returned: success
  type: str
msg:
  description: What was done, or would be.
  returned: success
  type: str
"""

import os
import re
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inference.sglang.plugins.module_utils._bundle import WHEELS, require_environment
from ansible_collections.inference.sglang.plugins.module_utils._bundle_files import read_bundle, require_whole
from ansible_collections.inference.sglang.plugins.module_utils._environment_build import Builder, BuildRequest
from ansible_collections.inference.sglang.plugins.module_utils._environment_files import name_aside, switch_link
from ansible_collections.inference.sglang.plugins.module_utils._environment_survey import Survey, short, survey
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._progress import Progress
from ansible_collections.inference.sglang.plugins.module_utils._python_environment import Source, main_versions, url_secrets

ARGUMENTS = {
    "name": {"type": "str", "required": True},
    "root": {"type": "path", "required": True},
    "tools": {"type": "path", "required": True},
    "lock": {"type": "path", "required": True},
    "lock_sha256": {"type": "str", "default": ""},
    "python": {"type": "path", "default": "/usr/bin/python3"},
    "uv_lock": {"type": "path"},
    "uv": {"type": "path"},
    "index_url": {"type": "str", "default": "https://pypi.org/simple"},
    "wheelhouse": {"type": "str", "default": ""},
    "bundle": {"type": "path", "default": ""},
    "imports": {"type": "list", "elements": "str", "default": []},
    "check_dependencies": {"type": "bool", "default": True},
    "only_binary": {"type": "bool", "default": True},
    "link": {"type": "path", "default": ""},
    "adopt": {"type": "bool", "default": False},
    "release": {"type": "str", "default": ""},
    "needed_mib": {"type": "int", "default": 0},
    "timeout": {"type": "int", "default": 3600},
    "lock_wait": {"type": "int", "default": 3600},
    "progress_file": {"type": "path"},
}


def check_wheelhouse(wheelhouse: str) -> None:
    """An empty or missing directory is said before uv says the same about two hundred packages."""
    if not wheelhouse or re.match(r"https?://", wheelhouse):
        return
    try:
        wheels = sum(1 for name in os.listdir(wheelhouse) if name.endswith(".whl"))
        found = f"no .whl file in {wheelhouse}"
    except OSError as failure:
        wheels, found = 0, str(failure)
    if not wheels:
        raise SglangError(
            "there is no wheelhouse",
            found=found,
            wanted="a directory on the host with the wheels of the lock, or a URL that begins with http:// or https://",
            next_step="correct ml_env_wheelhouse, or copy the wheels to the host first; empty means PyPI",
        )


def use_bundle(params: dict[str, Any], found: Survey, progress: Progress, check_mode: bool) -> None:
    """Take the wheels of a bundle that is for this environment and whole; check mode reads only its list."""
    directory = params["bundle"].rstrip("/")
    bundle = read_bundle(directory)
    if found.interpreter is not None:
        require_environment(bundle, directory, found.lock_sha256, found.interpreter.minor, found.interpreter.platform)
    if not check_mode:
        progress.report("bundle", f"reading the wheels of {directory}", force=True)
        require_whole(directory, bundle.below(WHEELS))
    params["wheelhouse"] = f"{directory}/{WHEELS}"


def build_request(params: dict[str, Any], found: Survey) -> BuildRequest:
    if found.path is None or found.digest is None or found.interpreter is None:
        raise AssertionError("outside check mode a survey knows its path")
    return BuildRequest(
        name=params["name"],
        path=found.path,
        root=params["root"],
        tools=params["tools"],
        link=params["link"],
        lock=params["lock"],
        lock_sha256=found.lock_sha256,
        digest=found.digest,
        interpreter=found.interpreter,
        source=Source(params["index_url"], params["wheelhouse"]),
        uv=params["uv"] or "",
        uv_lock=params["uv_lock"] or "",
        imports=params["imports"],
        check_dependencies=params["check_dependencies"],
        only_binary=params["only_binary"],
        needed_mib=params["needed_mib"],
        timeout=params["timeout"],
        lock_wait=params["lock_wait"],
    )


def result_of(found: Survey, versions: dict[str, str], link: str) -> dict[str, Any]:
    """What stays the same whether the environment was there, was built or would be."""
    result: dict[str, Any] = {
        "path": found.path,
        "python": f"{found.path}/bin/python" if found.path else None,
        "python_version": found.python_version,
        "digest": found.digest,
        "sglang_version": main_versions(versions).get("sglang", ""),
        "versions": main_versions(versions),
        "adopted": found.action == "adopt",
    }
    if link:
        before = {"link": found.link.target, "directory": "a directory", "nothing": "absent"}[found.link.kind]
        after = before if found.action == "adopt" else (found.path or "the environment")
        result["link"] = {"path": link, "before": before, "after": after}
        result["diff"] = {"before": f"{link} -> {before}\n", "after": f"{link} -> {after}\n"}
    return result


def said(found: Survey, built: bool, aside: str, link: str, would: str) -> str:
    """One sentence for the operator."""
    if found.action == "adopt":
        return f"{found.path} is used as it is ({short(found.digest or '')})"
    parts = [f"{would}built {found.path}" if built else f"{found.path} is complete"]
    if found.path is None:
        parts = [f"would build an environment, its directory depends on what is missing now: {', '.join(found.missing)}"]
    elif found.missing:
        parts.append(f"first comes what is missing now: {', '.join(found.missing)}")
    if aside:
        parts.append(
            f"{'the directory at ' + link + ' would be moved' if would else 'what was at ' + link + ' was moved'} aside to {aside}"
        )
    return "; ".join(parts)


def run(module: AnsibleModule) -> None:
    params = module.params
    for url in (params["index_url"], params["wheelhouse"]):
        # Known only now that they are secrets; from here on they are hidden in every result, the arguments included.
        module.no_log_values.update(url_secrets(url))
    found = survey(
        **{key: params[key] for key in ("name", "root", "link", "lock", "lock_sha256", "python", "adopt", "release")},
        check_mode=module.check_mode,
    )
    for warning in found.warnings:
        module.warn(warning)
    link, build = params["link"], found.action == "build"
    progress = Progress(params["progress_file"])
    if build and params["bundle"]:
        use_bundle(params, found, progress, module.check_mode)
    switches = bool(link) and found.switches
    moves = switches and found.link.kind == "directory"
    if module.check_mode:
        aside = name_aside(link) if moves else ""
        result = result_of(found, found.versions, link)
        message = said(found, build, aside, link, "would have ")
        module.exit_json(changed=build or switches, built=build, moved_aside=aside, msg=message, **result)
    versions, built, aside = found.versions, False, ""
    if build:
        check_wheelhouse(params["wheelhouse"])
        marker, built = Builder(build_request(params, found), progress).build()
        versions = marker.versions
    if switches:
        aside = switch_link(link, found.path or "")
    message = said(found, built, aside, link, "")
    module.exit_json(changed=built or switches, built=built, moved_aside=aside, msg=message, **result_of(found, versions, link))


def main() -> None:
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    os.umask(0o022)  # everybody may read it, whatever the operator's own umask is
    try:
        run(module)
    except SglangError as refusal:
        module.fail_json(**refusal.as_result())
    except OSError as failure:
        error = SglangError(
            "the environment cannot be written",
            found=str(failure),
            wanted=f"a writable {module.params['root']}, {module.params['tools']} and directory of {module.params['link'] or 'the link'}",
            next_step="check the file system (read-only? full?) and the rights of the user that Ansible becomes",
        )
        module.fail_json(**error.as_result())


if __name__ == "__main__":
    main()
