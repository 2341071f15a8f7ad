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
    left unfinished is removed and built anew. A finished environment is never written to, but for its manifest.
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
  peer:
    description:
      - Another host of the fleet that has the same environment at the same path; it is copied from there instead of built.
      - Every file is held against the manifest of the host that built it, so a peer can neither add nor alter a byte. The host must have
        the same RV(foundation). uv and an index are not needed.
      - What a run that was killed had copied is kept. Ignored where the environment is complete, or adopted.
    type: dict
    suboptions:
      url:
        description: Where the peer serves, as M(inference.sglang.environment_peer) returned it.
        type: str
        required: true
      token:
        description: The token of this one transfer.
        type: str
        required: true
      manifest_sha256:
        description: RV(manifest_sha256) of the host that built it.
        type: str
        required: true
  manifest:
    description:
      - Make the manifest that copies are proven by, where the environment was built here and has none yet. Every file is read for it.
    type: bool
    default: false
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

- name: Take it from a host that has it
  inference.sglang.python_environment:
    name: sglang-0.5.11
    root: /opt/sglang/envs
    tools: /opt/sglang/tools
    lock: /opt/sglang/envs/.locks/sglang-0.5.11.txt
    imports: [sglang, torch]
    link: /opt/sglang/ml-env
    peer:
      url: "{{ offer.url }}"
      token: "{{ transfer_token }}"
      manifest_sha256: "{{ offer.manifest_sha256 }}"
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
copied:
  description: Whether this run copied it from O(peer), in check mode whether it would.
  returned: success
  type: bool
foundation:
  description: What hosts must have in common, besides the digest, to copy the environment from each other. Empty where that is not known.
  returned: success
  type: str
manifest_sha256:
  description: SHA-256 of the manifest. Empty without O(manifest), for a copy that lost its own, and in check mode where it would be made.
  returned: success
  type: str
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
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inference.sglang.plugins.module_utils._bundle import WHEELS, require_environment
from ansible_collections.inference.sglang.plugins.module_utils._bundle_files import read_bundle, require_whole
from ansible_collections.inference.sglang.plugins.module_utils._environment_build import Builder, check_wheelhouse, request_of
from ansible_collections.inference.sglang.plugins.module_utils._environment_copy import Copier
from ansible_collections.inference.sglang.plugins.module_utils._environment_files import exclusive, lock_of, switch_link
from ansible_collections.inference.sglang.plugins.module_utils._environment_report import predict, result_of, said
from ansible_collections.inference.sglang.plugins.module_utils._environment_survey import Survey, survey
from ansible_collections.inference.sglang.plugins.module_utils._environment_tree import ensure_manifest
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._peer_stream import Peer
from ansible_collections.inference.sglang.plugins.module_utils._progress import Progress
from ansible_collections.inference.sglang.plugins.module_utils._python_environment import Marker, human_bytes, url_secrets

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
    "peer": {
        "type": "dict",
        "options": {
            "url": {"type": "str", "required": True},
            "token": {"type": "str", "required": True, "no_log": True},
            "manifest_sha256": {"type": "str", "required": True},
        },
    },
    "manifest": {"type": "bool", "default": False},
    "needed_mib": {"type": "int", "default": 0},
    "timeout": {"type": "int", "default": 3600},
    "lock_wait": {"type": "int", "default": 3600},
    "progress_file": {"type": "path"},
}


def bring(params: dict[str, Any], found: Survey, progress: Progress) -> tuple[Marker, str]:
    """(marker, what was done in words): copied from a peer or built; nothing where another run has done it meanwhile."""
    request = request_of(params, found)
    if params["peer"]:
        peer = Peer(**params["peer"])
        marker, done = Copier(request, peer, found.foundation, progress).copy()
        return marker, f"copied {request.path} from {peer.host}" if done else ""
    check_wheelhouse(params["wheelhouse"])
    marker, done = Builder(request, progress).build()
    return marker, f"built {request.path}" if done else ""


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


def vouch(params: dict[str, Any], found: Survey, marker: Marker, progress: Progress) -> tuple[str, bool]:
    """(SHA-256 of the manifest, whether it was made just now)."""
    with exclusive(lock_of(marker.path), params["lock_wait"], lambda text: progress.report("wait", text)):
        return ensure_manifest(marker, found.foundation, lambda done: progress.report("manifest", f"{human_bytes(done)} read"))


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
    link, progress = params["link"], Progress(params["progress_file"])
    if found.action == "build" and params["bundle"] and not params["peer"]:
        use_bundle(params, found, progress, module.check_mode)
    if module.check_mode:
        module.exit_json(**predict(params, found))
    marker, versions, done, aside, sha256, made = found.marker, found.versions, "", "", "", False
    if found.action == "build":
        marker, done = bring(params, found, progress)
        versions = marker.versions
    if params["manifest"] and marker is not None:
        sha256, made = vouch(params, found, marker, progress)
    switches = bool(link) and found.switches
    if switches:
        aside = switch_link(link, found.path or "")
    module.exit_json(
        changed=bool(done) or switches or made,
        built=bool(done) and not params["peer"],
        copied=bool(done) and bool(params["peer"]),
        manifest_sha256=sha256,
        moved_aside=aside,
        msg=said(found, done, aside, link, ""),
        **result_of(found, versions, link),
    )


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
