#!/usr/bin/python
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

DOCUMENTATION = r"""
module: environment_peer
short_description: Lets a host hand its Python environment to other hosts
description:
  - Serves a finished environment of M(inference.sglang.python_environment) to other hosts of the fleet for the time of a transfer, and
    ends that.
  - The server hands out the manifest and the files of this one environment to whoever has the transfer's token, and nothing else. It
    gives up root's privileges first. It ends when it is stopped, when nobody asked for O(idle) seconds, and after O(lifetime) seconds.
  - The transfer is not encrypted. What arrives is held against the manifest of the host that built the environment by
    M(inference.sglang.python_environment), so nobody on the way can alter it.
version_added: "0.1.0"
author: inference.sglang maintainers (@inference-sglang)
options:
  state:
    description:
      - V(serving) starts a server, V(stopped) ends the one at O(url).
    type: str
    choices: [serving, stopped]
    default: serving
  path:
    description: The environment. M(inference.sglang.python_environment) must have made its manifest.
    type: path
  digest:
    description: Its digest, as M(inference.sglang.python_environment) returned it.
    type: str
  address:
    description: Address or name of this host on which the others reach it.
    type: str
  port:
    description: The port to listen on. V(0) takes a free one.
    type: int
    default: 0
  token:
    description: At least 20 random characters, made anew for each transfer.
    type: str
    required: true
  url:
    description: The server to stop.
    type: str
  idle:
    description: Seconds without a request after which the server ends itself.
    type: float
    default: 600.0
  lifetime:
    description: Seconds after which it ends whatever happens.
    type: float
    default: 14400.0
attributes:
  check_mode:
    description: Looks in every state; starts and stops nothing.
    support: full
  diff_mode:
    description: There is no difference to show.
    support: none
  platform:
    description: Linux.
    support: full
    platforms: linux
seealso:
  - module: inference.sglang.python_environment
  - module: inference.sglang.model_peer
"""

EXAMPLES = r"""
- name: Serve the environment to a host that needs it
  inference.sglang.environment_peer:
    path: "{{ environment.path }}"
    digest: "{{ environment.digest }}"
    address: 10.20.0.11
    token: "{{ transfer_token }}"
  register: offer

- name: End that
  inference.sglang.environment_peer:
    state: stopped
    url: "{{ offer.url }}"
    token: "{{ transfer_token }}"
"""

RETURN = r"""
manifest_sha256:
  description: SHA-256 of the manifest of what is served.
  returned: O(state) is V(serving)
  type: str
url:
  description: Where it is served.
  returned: O(state) is V(serving), not in check mode
  type: str
msg:
  description: What was done, in a sentence.
  returned: success
  type: str
error:
  description: The four parts of a refusal.
  returned: failure
  type: dict
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inference.sglang.plugins.module_utils._environment_files import read_marker
from ansible_collections.inference.sglang.plugins.module_utils._environment_manifest import MANIFEST, STREAM
from ansible_collections.inference.sglang.plugins.module_utils._environment_tree import changed_since, file_of, read_manifest
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._peer_process import Offered, Serving, launch, stop

HEALING = "remove the environment there and run the role once more, which brings it anew"


def argument_spec() -> dict[str, Any]:
    return {
        "state": {"type": "str", "choices": ["serving", "stopped"], "default": "serving"},
        "path": {"type": "path"},
        "digest": {"type": "str"},
        "address": {"type": "str"},
        "port": {"type": "int", "default": 0},
        "token": {"type": "str", "required": True, "no_log": True},
        "url": {"type": "str"},
        "idle": {"type": "float", "default": 600.0},
        "lifetime": {"type": "float", "default": 14400.0},
    }


def serve(params: dict[str, Any], check_mode: bool) -> dict[str, Any]:
    path, digest = params["path"], params["digest"]
    marker = read_marker(path, digest)
    found = read_manifest(marker) if marker else None
    if found is None:
        raise SglangError(
            f"{path} cannot be served to other hosts",
            found="no finished environment" if marker is None else "no manifest that it was built or proven with",
            wanted="a finished environment with its manifest",
            next_step="run python_environment with manifest: true on this host first (the role ml_env does)",
        )
    manifest, sha256 = found
    changed = changed_since(manifest)
    if changed:
        raise SglangError(
            f"{path} cannot be served to other hosts",
            found=f"{changed} has changed since the manifest was made",
            wanted="the files that were built: a finished environment is never written to",
            next_step=f"{HEALING}; what runs from it has to be stopped for that",
        )
    result = {"changed": True, "manifest_sha256": sha256}
    if check_mode:
        return {**result, "msg": f"Would serve {path} on {params['address']}."}
    job = {
        "prefix": f"/{digest}/",
        "directory": path,
        "files": [file_of(path, MANIFEST)],
        "stream": {"name": STREAM, "files": manifest.job_files()},
    }
    serving = Serving(params["address"], params["port"], params["token"], params["idle"], params["lifetime"])
    url = serving.url(launch(job, serving, Offered("the environment", "ml_env", HEALING)))
    return {**result, "url": url, "msg": f"Serves {path} at {url}."}


def main() -> None:
    module = AnsibleModule(
        argument_spec=argument_spec(),
        supports_check_mode=True,
        required_if=[("state", "serving", ("path", "digest", "address")), ("state", "stopped", ("url",))],
    )
    params = module.params
    try:
        if params["state"] == "serving":
            result = serve(params, module.check_mode)
        elif module.check_mode:
            result = {"changed": True, "msg": f"Would end the server at {params['url']}."}
        else:
            ended = stop(params["url"], params["token"])
            result = {"changed": ended, "msg": f"Ended the server at {params['url']}." if ended else "No server was there any more."}
    except SglangError as error:
        module.fail_json(**error.as_result())
    module.exit_json(**result)


if __name__ == "__main__":
    main()
