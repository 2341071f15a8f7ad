#!/usr/bin/python
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Takes a server out of the running HAProxy, or puts it back."""

from __future__ import annotations

DOCUMENTATION = r"""
module: haproxy_server
short_description: Take a server out of the running HAProxy, or put it back
version_added: "0.1.0"
description:
  - Runs on HAProxy's host and speaks to its runtime API (C(stats socket PATH level admin)). HAProxy's configuration is not changed.
  - The server is found by its address, in every backend. A name that HAProxy does not list as such is resolved on HAProxy's host.
  - C(drain) takes it out of load balancing and ends no request. HAProxy goes on sending it what a cookie or a stick table binds to it.
  - C(ready) is told only once the server is healthy as seen from HAProxy's host, and is done once HAProxy's own check takes it for healthy.
options:
  socket:
    description: HAProxy's stats socket.
    type: path
    default: /run/haproxy/admin.sock
  url:
    description: The server, as HAProxy reaches it.
    type: str
    required: true
  state:
    description: Whether HAProxy sends new requests to it.
    type: str
    choices: [ready, drain]
    default: ready
  state_file:
    description:
      - The file of HAProxy's C(server-state-file). What is out is kept there, so that it stays out when HAProxy is reloaded or started
        again (C(load-server-state-from-file global)).
      - Without it, a reload or a restart puts the server in.
    type: path
  idle:
    description:
      - For V(drain), wait until HAProxy itself has no request there any more. Processes that a reload of HAProxy left behind are not asked.
    type: bool
    default: false
  force:
    description: For O(idle), go on when the time is up, with a warning, instead of failing.
    type: bool
    default: false
  timeout:
    description: Seconds until it is done.
    type: int
    default: 180
extends_documentation_fragment: [action_common_attributes]
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  platform:
    platforms: posix
    support: full
author:
  - inference.sglang maintainers (@inference-sglang)
"""

EXAMPLES = r"""
- name: Take the server out of every HAProxy
  inference.sglang.haproxy_server:
    url: http://192.0.2.21:30000
    state: drain
  delegate_to: "{{ item }}"
  loop: "{{ groups['balancers'] }}"
"""

RETURN = r"""
servers:
  description: The server lines that lead there, as C(backend/server).
  type: list
  elements: str
  returned: success
steps:
  description: What HAProxy was told, in order, and C(keep) where the state file was written.
  type: list
  elements: str
  returned: success
"""

import os
import socket
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inference.sglang.plugins.module_utils._balancer_host import Deadline, locked, split_url, wait_until_healthy
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._haproxy import (
    DRAIN,
    READY,
    STAT_COMMAND,
    STATE_COMMAND,
    Listed,
    at_address,
    commands,
    parse_listed,
    parse_state,
    recorded,
    unknown_server,
)
from ansible_collections.inference.sglang.plugins.module_utils._release_files import write_atomic
from ansible_collections.inference.sglang.plugins.module_utils._text_files import read_text

ANSWER_SECONDS = 10.0
# A thousand servers are 0.2 MB.
LARGEST_ANSWER = 64 << 20
KEEP = "keep"


class RuntimeApi:
    """One HAProxy; each command has a connection of its own."""

    def __init__(self, path: str) -> None:
        self.path = path

    def ask(self, command: str) -> str:
        """The whole answer."""
        parts: list[bytes] = []
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.settimeout(ANSWER_SECONDS)
                connection.connect(self.path)
                connection.sendall(command.encode() + b"\n")
                while sum(map(len, parts)) <= LARGEST_ANSWER:
                    part = connection.recv(1 << 16)
                    if not part:
                        return b"".join(parts).decode("utf-8", "replace")
                    parts.append(part)
            raise OSError("an answer without an end")
        except (OSError, ValueError) as error:
            raise SglangError(
                "HAProxy cannot be told",
                found=f"{self.path}: {error}",
                wanted="a running HAProxy with 'stats socket PATH level admin' in its global section",
                next_step="start HAProxy, add that line, or name the socket with fleet_rollout_haproxy_socket; a host without HAProxy does "
                "not belong into the group of balancers",
            ) from error

    def listed(self) -> list[Listed]:
        """Every server of every backend."""
        return parse_listed(self.ask(STATE_COMMAND), self.ask(STAT_COMMAND))

    def tell(self, command: str) -> None:
        """Silence is consent."""
        answer = self.ask(command).strip()
        if answer:
            raise SglangError(
                "HAProxy refused a command",
                found=f"'{command}': {answer[:200]}",
                wanted="no answer, which is HAProxy's way to say yes",
                next_step="give the socket its rights: stats socket PATH level admin" if "ermission" in answer else "correct what it says",
            )


class Work:
    """One server, one HAProxy, one deadline."""

    def __init__(self, params: dict[str, Any]) -> None:
        self.params = params
        self.url: str = params["url"]
        self.host, self.port = split_url(self.url)
        self.api = RuntimeApi(params["socket"])
        self.deadline = Deadline(params["timeout"])

    def addresses(self) -> list[str]:
        """The name, and what it resolves to here."""
        try:
            found = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            # HAProxy may know the name all the same.
            found = []
        return list(dict.fromkeys([self.host, *(str(one[4][0]) for one in found)]))

    def find(self) -> list[Listed]:
        """The `server` lines that lead there."""
        listed, addresses = self.api.listed(), self.addresses()
        found = at_address(listed, addresses, self.port)
        if not found:
            raise unknown_server(addresses, self.port, listed)
        return found

    def to(self, state: str, check_mode: bool) -> dict[str, Any]:
        """Returns what was done."""
        found = self.find()
        steps = list(commands(found, state))
        if steps and state == READY and not check_mode:
            wait_until_healthy(self.url, "HAProxy", self.deadline)
        for command in [] if check_mode else steps:
            self.api.tell(command)
        if self.keep(check_mode, bool(steps)):
            steps.append(KEEP)
        if state == READY and not check_mode:
            self.wait_until_served()
        return {"changed": bool(steps), "servers": [one.label for one in found], "steps": steps}

    def keep(self, check_mode: bool, told: bool) -> bool:
        """Writes down who is out. Returns whether that had to be done."""
        path = self.params["state_file"]
        if not path:
            return False
        if check_mode:
            return told or not recorded(read_text(path) or "", self.find())
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path + ".lock", "a", encoding="utf-8") as stream, locked(stream, "HAProxy's state file"):
                text = self.api.ask(STATE_COMMAND)
                differs = not recorded(read_text(path) or "", at_address(parse_state(text), self.addresses(), self.port))
                if differs:
                    write_atomic(path, text)
                return differs
        except OSError as error:
            raise SglangError(
                "HAProxy's state file cannot be written",
                found=str(error),
                wanted="the file that server-state-file names in HAProxy's configuration",
                next_step="correct fleet_rollout_haproxy_state_file; run the play with become",
            ) from error

    def wait_until_served(self) -> None:
        """Until HAProxy's own checks take it for healthy."""
        while True:
            waiting = [one for one in self.find() if not one.serves]
            if not waiting:
                return
            self.deadline.pause(
                "HAProxy does not take the server for healthy",
                ", ".join(one.describe() for one in waiting),
                "HAProxy's log says what its check finds; the servers answer 200 under /health",
            )

    def wait_until_idle(self, force: bool) -> str:
        """Until HAProxy has no request there; what there still is where the time was up and that does not matter."""
        while True:
            busy = [one for one in self.find() if one.requests]
            words = ", ".join(one.describe() for one in busy)
            if not busy or (force and self.deadline.passed):
                return words
            self.deadline.pause(
                "HAProxy still has requests at the server",
                words,
                "where there are always new ones, a cookie or a stick table binds them to it; fleet_rollout_drain_force cuts them off",
            )


def main() -> None:
    """Ready or drained."""
    module = AnsibleModule(
        argument_spec={
            "socket": {"type": "path", "default": "/run/haproxy/admin.sock"},
            "url": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["ready", "drain"], "default": "ready"},
            "state_file": {"type": "path"},
            "idle": {"type": "bool", "default": False},
            "force": {"type": "bool", "default": False},
            "timeout": {"type": "int", "default": 180},
        },
        supports_check_mode=True,
    )
    params = module.params
    try:
        work = Work(params)
        result = work.to(params["state"], module.check_mode)
        left = ""
        if params["idle"] and params["state"] == DRAIN and not module.check_mode:
            left = work.wait_until_idle(params["force"])
    except SglangError as error:
        module.fail_json(**error.as_result())
    if left:
        module.warn(f"goes on after {params['timeout']} seconds although HAProxy has requests at the server: {left}")
    module.exit_json(**result)


if __name__ == "__main__":
    main()
