#!/usr/bin/python
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

DOCUMENTATION = r"""
module: model_peer
short_description: Lets a host hand its published model to other hosts
description:
  - Says whether a model is published on this host, serves it to other hosts of the fleet for the time of a transfer, and ends that.
  - The server hands out the files of this one model to whoever has the transfer's token, and nothing else. It opens the files, then
    gives up root's privileges. It ends when it is stopped, when nobody asked for O(idle) seconds, and after O(lifetime) seconds.
  - The transfer is not encrypted. What arrives is held against the manifest by M(inference.sglang.model_snapshot), so nobody on the way
    can alter it; whoever can listen to the network between the hosts can read the weights and the token while the transfer lasts.
version_added: "0.1.0"
author: inference.sglang maintainers (@inference-sglang)
options:
  state:
    description:
      - V(found) looks, V(serving) starts a server, V(stopped) ends the one at O(url).
    type: str
    choices: [found, serving, stopped]
    default: found
  root:
    description: Where models are published.
    type: path
    default: /opt/sglang/models
  repo:
    description: The repository, C(organisation/name).
    type: str
  revision:
    description: Branch, tag or commit. A branch means what it was resolved to when the model was fetched.
    type: str
    default: main
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
  - module: inference.sglang.model_snapshot
"""

EXAMPLES = r"""
- name: Look whether the model is here
  inference.sglang.model_peer:
    repo: Qwen/Qwen3.6-27B

- name: Serve it to a host that needs it
  inference.sglang.model_peer:
    state: serving
    repo: Qwen/Qwen3.6-27B
    address: 10.20.0.11
    token: "{{ transfer_token }}"
  register: offer

- name: End that
  inference.sglang.model_peer:
    state: stopped
    url: "{{ offer.url }}"
    token: "{{ transfer_token }}"
"""

RETURN = r"""
published:
  description: Whether the model is published here, by names, sizes and times.
  returned: O(state) is V(found) or V(serving)
  type: bool
revision:
  description: The commit that is published, or nothing.
  returned: O(state) is V(found) or V(serving)
  type: str
manifest:
  description: The manifest of what is served, for the option of that name of M(inference.sglang.model_snapshot).
  returned: O(state) is V(serving)
  type: dict
url:
  description: Where it is served.
  returned: O(state) is V(serving), not in check mode
  type: str
msg:
  description: What was found or done, in a sentence.
  returned: success
  type: str
error:
  description: The four parts of a refusal.
  returned: failure
  type: dict
"""

import json
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._peer import published, start
from ansible_collections.inference.sglang.plugins.module_utils._peer_process import Serving, stop
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_files import require_repo
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_manifest import dump
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_store import Place


def argument_spec() -> dict[str, Any]:
    return {
        "state": {"type": "str", "choices": ["found", "serving", "stopped"], "default": "found"},
        "root": {"type": "path", "default": "/opt/sglang/models"},
        "repo": {"type": "str"},
        "revision": {"type": "str", "default": "main"},
        "address": {"type": "str"},
        "port": {"type": "int", "default": 0},
        "token": {"type": "str", "no_log": True},
        "url": {"type": "str"},
        "idle": {"type": "float", "default": 600.0},
        "lifetime": {"type": "float", "default": 14400.0},
    }


def look(params: dict[str, Any]) -> dict[str, Any]:
    require_repo(params["repo"])
    manifest = published(params["root"], params["repo"], params["revision"])
    asked = f"{params['repo']}@{params['revision']}"
    if manifest is None:
        return {"published": False, "revision": "", "msg": f"{asked} is not published here."}
    return {"published": True, "revision": manifest.revision, "msg": f"{asked} is published here."}


def serve(params: dict[str, Any], check_mode: bool) -> dict[str, Any]:
    require_repo(params["repo"])
    place = Place(params["root"], params["repo"])
    manifest = published(params["root"], params["repo"], params["revision"])
    if manifest is None:
        raise SglangError(
            "There is no whole model here that could be served.",
            found=f"no published {params['repo']}@{params['revision']} below {params['root']}, or files that changed since",
            wanted="a model that model_snapshot has published",
            next_step="Run model_snapshot (the role model_shards) on this host first: it fetches, or repairs.",
        )
    result = {"changed": True, "published": True, "revision": manifest.revision, "manifest": json.loads(dump(manifest))}
    if check_mode:
        return {**result, "msg": f"Would serve {manifest.repo}@{manifest.revision} on {params['address']}."}
    serving = Serving(params["address"], params["port"], params["token"], params["idle"], params["lifetime"])
    url = serving.url(start(manifest, place.published(manifest.revision), serving))
    return {**result, "url": url, "msg": f"Serves {manifest.repo}@{manifest.revision} at {url}."}


def main() -> None:
    module = AnsibleModule(
        argument_spec=argument_spec(),
        supports_check_mode=True,
        required_if=[
            ("state", "found", ("repo",)),
            ("state", "serving", ("repo", "address", "token")),
            ("state", "stopped", ("url", "token")),
        ],
    )
    params = module.params
    try:
        if params["state"] == "found":
            result = look(params)
        elif params["state"] == "serving":
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
