#!/usr/bin/python
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Puts a server into an sglang-router, or takes it out."""

from __future__ import annotations

DOCUMENTATION = r"""
module: router_worker
short_description: Put a server into an SGLang router, or take it out
version_added: "0.1.0"
description:
  - Runs on the router's host, which the role C(sglang_router) has set up. Address and key of the router are read from there.
  - The router does what it is told later, by a job of its own. This module waits until it is done, and for a server that was put in, until
    the router takes it for healthy and knows its model.
  - A server is put in only once it is healthy as seen from the router's host. The router would go on trying, and a removal meanwhile would
    not stop it.
  - What is in is written down as well, and comes back when the router starts again; what was taken out does not.
  - Taking out ends no request. Those in flight go on to their end.
options:
  root:
    description: Directory of the router's files on its host.
    type: path
    default: /opt/sglang/router
  url:
    description: The server, as the router reaches it.
    type: str
    required: true
  api_key:
    description: The server's own key, if it has one.
    type: str
    default: ""
  state:
    description: Whether the router sends requests to it.
    type: str
    choices: [present, absent]
    default: present
  timeout:
    description: Seconds until the router has done it.
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
- name: Take the server out of every router
  inference.sglang.router_worker:
    url: http://192.0.2.21:30000
    state: absent
  delegate_to: "{{ item }}"
  loop: "{{ groups['sglang_routers'] }}"
"""

RETURN = r"""
running:
  description: Whether the router runs. One that does not sends nothing to anybody; what it has written down is changed all the same.
  type: bool
  returned: success
steps:
  description: What the router was told, in order.
  type: list
  elements: str
  returned: success
model:
  description: The model that the router asked the server for.
  type: str
  returned: when O(state) is C(present) and nothing is only looked at
"""

import json
import os
from typing import Any, Optional

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inference.sglang.plugins.module_utils._balancer_host import Deadline, wait_until_healthy
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._router import (
    ADD,
    REMOVE,
    UNKNOWN_MODEL,
    Worker,
    entry,
    plain_url,
    steps_in,
)
from ansible_collections.inference.sglang.plugins.module_utils._router_client import RouterClient, RouterStopped, WorkersFile

# Looks at a list without the server, so that a registration that was on its way when it was removed is seen.
LOOKS = 3


class Work:
    """One server, one router, one deadline."""

    def __init__(self, params: dict[str, Any], client: RouterClient) -> None:
        self.url = plain_url(params["url"])
        self.api_key = params["api_key"]
        self.client = client
        self.file = WorkersFile(params["root"])
        # The router tells nobody when its job is done.
        self.deadline = Deadline(params["timeout"])

    def listed(self) -> list[Worker]:
        """This server, once for each spelling of its address."""
        return [worker for worker in self.client.workers() if worker.url == self.url]

    # -- in ------------------------------------------------------------------------------------------------------------------
    def put_in(self, check_mode: bool) -> dict[str, Any]:
        """Returns what was done."""
        listed = self.listed()
        with self.file.held():
            recorded = self.file.read().get(self.url)
        steps = steps_in(listed[0] if listed else None, recorded, self.api_key)
        if check_mode:
            return {"changed": bool(steps), "steps": list(steps), "running": True}
        if ADD in steps:
            wait_until_healthy(self.url, "the router", self.deadline)
        if REMOVE in steps:
            self.remove_listed()
        if ADD in steps:
            with self.file.held():
                self.file.write({**self.file.read(), self.url: entry(self.api_key)})
                identifier = self.client.add(self.url, self.api_key)
        else:
            identifier = listed[0].identifier
        worker = self.wait_for_listing(identifier)
        return {"changed": bool(steps), "steps": list(steps), "running": True, "model": worker.model}

    def wait_for_listing(self, identifier: str) -> Worker:
        """Listed, healthy, and with a model."""
        while True:
            healthy = [worker for worker in self.listed() if worker.healthy]
            if healthy and healthy[0].model == UNKNOWN_MODEL:
                self.take_out(False)
                raise SglangError(
                    "the router could not ask the server for its model",
                    found=f"{self.url} is healthy and refuses everything else: it has another API key than it should",
                    wanted="the key that the server was deployed with",
                    next_step="deploy the server with the inventory's sglang_server_api_key; it was taken out of the router again",
                )
            if healthy:
                return healthy[0]
            state, words = self.client.job(identifier)
            if state == "failed":
                raise SglangError(
                    "the router could not add the server", words or "no reason given", "a server that answers it", "correct what it says"
                )
            self.deadline.pause(
                "the router does not take the server for healthy", f"{self.url} {state}", "journalctl -u sglang-router says why"
            )

    # -- out -----------------------------------------------------------------------------------------------------------------
    def take_out(self, check_mode: bool) -> dict[str, Any]:
        """Returns what was done. A router that does not run is told by its file."""
        with self.file.held():
            workers = self.file.read()
            changed = self.url in workers
            if changed and not check_mode:
                workers.pop(self.url)
                self.file.write(workers)
        try:
            there = bool(self.listed())
            if there and not check_mode:
                self.remove_listed()
        except RouterStopped:
            return {"changed": changed, "steps": [], "running": False}
        return {"changed": changed or there, "steps": [REMOVE] if there else [], "running": True}

    def remove_listed(self) -> None:
        """Until it is not listed any more."""
        looks = 0
        while looks < LOOKS:
            listed = self.listed()
            for worker in listed:
                self.client.remove(worker.identifier)
            looks = 0 if listed else looks + 1
            self.deadline.pause("the router goes on listing the server", self.url, "journalctl -u sglang-router says why")


def read_record(root: str) -> tuple[str, Optional[str]]:
    """The router's address and key."""
    path = os.path.join(root, "router.json")
    try:
        with open(path, encoding="utf-8") as stream:
            record = json.load(stream)
        url, key_file = str(record["url"]), record["key_file"]
        if not key_file:
            return url, None
        with open(key_file, encoding="utf-8") as stream:
            return url, stream.read().strip()
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise SglangError(
            "there is no router of this collection on this host",
            found=f"{path}: {error}",
            wanted="a router that playbooks/router.yml has deployed",
            next_step="run playbooks/router.yml, or correct sglang_router_root and the group of the routers",
        ) from error


def main() -> None:
    """In or out."""
    module = AnsibleModule(
        argument_spec={
            "root": {"type": "path", "default": "/opt/sglang/router"},
            "url": {"type": "str", "required": True},
            "api_key": {"type": "str", "no_log": True, "default": ""},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "timeout": {"type": "int", "default": 180},
        },
        supports_check_mode=True,
    )
    params = module.params
    try:
        url, key = read_record(params["root"])
        if key:
            module.no_log_values.add(key)
        work = Work(params, RouterClient(url, key))
        try:
            result = work.put_in(module.check_mode) if params["state"] == "present" else work.take_out(module.check_mode)
        except RouterStopped as error:
            raise SglangError(
                "the router does not run",
                found=f"nothing listens on {url}",
                wanted="a running sglang-router.service",
                next_step="run playbooks/router.yml, or take the host out of the group of the routers",
            ) from error
    except SglangError as error:
        module.fail_json(**error.as_result())
    except OSError as error:
        fault = SglangError(
            "the router's list of servers cannot be read or written",
            found=str(error),
            wanted=f"the files that the role sglang_router made in {params['root']}, on a disk that is not full",
            next_step="mend that on the router's host, or run playbooks/router.yml",
        )
        module.fail_json(**fault.as_result())
    module.exit_json(**result)


if __name__ == "__main__":
    main()
