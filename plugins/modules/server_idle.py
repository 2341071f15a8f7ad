#!/usr/bin/python
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Waits until a server has no request in flight."""

from __future__ import annotations

DOCUMENTATION = r"""
module: server_idle
short_description: Wait until an SGLang server has no request in flight
version_added: "0.1.0"
description:
  - For a server that its balancer sends nothing to any more. Reads the engine's own figures under C(/v1/loads) until none was running or
    waiting in three looks in a row, a second apart.
  - A server that nobody listens for has none.
  - Changes nothing, and in check mode asks nothing.
options:
  url:
    description: The server's address, as its own host reaches it.
    type: str
    required: true
  api_key_file:
    description: A file on the host that holds the server's key and nothing else.
    type: path
  timeout:
    description: Seconds that the requests in flight may take.
    type: int
    default: 300
  force:
    description: Go on when the time is up, with a warning, instead of failing.
    type: bool
    default: false
  progress_file:
    description: Where progress is written; set by the action plugin of the same name.
    type: path
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
- name: Let the server finish
  inference.sglang.server_idle:
    url: http://127.0.0.1:30000
    timeout: 600
"""

RETURN = r"""
idle:
  description: Whether no request is in flight.
  type: bool
  returned: success
requests:
  description: The requests in flight at the first look and at the last.
  type: list
  elements: int
  returned: success
seconds:
  description: How long the wait took.
  type: float
  returned: success
"""

import time
from typing import Any, Optional

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._probe_client import HttpClient, TooSlow, Unreachable
from ansible_collections.inference.sglang.plugins.module_utils._progress import Progress
from ansible_collections.inference.sglang.plugins.module_utils._server_load import LOADS_PATH, IdleWatch, Load, parse_load

# The engine tells nobody when a request has ended.
POLL_SECONDS = 1.0
LOOKS = 3
ANSWER_SECONDS = 10.0


def read_load(http: HttpClient) -> Optional[Load]:
    """None where nobody listens. Raises TooSlow and Unreachable for a server that is there and does not answer."""
    try:
        reply = http.request("GET", LOADS_PATH, None, ANSWER_SECONDS)
    except Unreachable as error:
        if isinstance(error.__cause__, ConnectionRefusedError):
            return None
        raise
    if reply.status in (401, 403):
        raise SglangError(
            "the server does not take the key of its release",
            found=f"status {reply.status} for {LOADS_PATH}",
            wanted="the key in the release's file",
            next_step="playbooks/verify.yml shows the same; deploy the host again",
        )
    if reply.status >= 500:
        raise Unreachable(f"status {reply.status}")
    return parse_load(reply.body)


def wait(http: HttpClient, timeout: int, force: bool, progress: Progress) -> dict[str, Any]:
    """Until it is idle, or the time is up."""
    began = time.monotonic()
    watch = IdleWatch(LOOKS)
    seen: list[int] = []
    while True:
        try:
            load = read_load(http)
            words = load.describe() if load is not None else "nobody listens"
            total = load.total if load is not None else 0
            seen = [*seen[:1], total]
            done = watch.see(total)
        except (TooSlow, Unreachable) as error:
            # A server that is too busy to answer is not idle, and one that hangs never will be.
            words, done = f"no answer ({error})", watch.see(1)
        seconds = time.monotonic() - began
        if done or (force and seconds >= timeout):
            return {"idle": done, "requests": seen, "seconds": round(seconds, 1), "words": words}
        if seconds >= timeout:
            raise SglangError(
                "the server still has requests in flight",
                found=f"after {timeout} seconds: {words}",
                wanted="none",
                next_step="if it gets new ones, clients reach it past the balancer; raise fleet_rollout_drain_timeout for long answers; "
                "fleet_rollout_drain_force goes on and cuts them off",
            )
        progress.report("drain", f"{words}, {seconds:.0f} of {timeout} s")
        time.sleep(POLL_SECONDS)


def main() -> None:
    """Wait."""
    module = AnsibleModule(
        argument_spec={
            "url": {"type": "str", "required": True},
            # The path is no secret; its name looks like one.
            "api_key_file": {"type": "path", "no_log": False},
            "timeout": {"type": "int", "default": 300},
            "force": {"type": "bool", "default": False},
            "progress_file": {"type": "path"},
        },
        supports_check_mode=True,
    )
    params = module.params
    if module.check_mode:
        module.exit_json(changed=False, idle=False, requests=[], seconds=0.0)
    try:
        key = None
        if params["api_key_file"]:
            with open(params["api_key_file"], encoding="utf-8") as stream:
                key = stream.read().strip() or None
        if key:
            module.no_log_values.add(key)
        result = wait(HttpClient(params["url"], key), params["timeout"], params["force"], Progress(params["progress_file"]))
    except SglangError as error:
        module.fail_json(**error.as_result())
    except (OSError, UnicodeDecodeError) as error:
        fault = SglangError(
            "cannot read the server's key or write progress",
            found=str(error),
            wanted="the release's key file",
            next_step="run the play with become; deploy the host again if the file is gone",
        )
        module.fail_json(**fault.as_result())
    words = result.pop("words")
    if not result["idle"]:
        module.warn(f"goes on after {params['timeout']} seconds although the server is not idle: {words}")
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
