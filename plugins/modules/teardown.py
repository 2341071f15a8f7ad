#!/usr/bin/python
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Takes away what this collection made on a host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: teardown
short_description: Take away what this collection made on a host
version_added: "0.1.0"
description:
  - Removes what the roles of this collection made, each kind by itself, and tells what stays and why.
  - Ours is what carries a mark of this collection. A unit, an environment, a model or an account that others made or that was adopted
    stays, and so does what another unit or a process of the host uses.
  - Looks again when it has removed, and fails where something of ours is left.
  - Stops nothing. A unit that still runs is refused. The entry points C(teardown) of the roles do both in order.
options:
  kind:
    description:
      - C(servers) are units, releases, stamps, keys and compiled kernels; C(environments) the environments, the link, uv and its cache;
        C(models) the models and their records; C(router) the router with its keys, its list of servers and its environment; C(host) the
        empty directories. The account is only looked at.
    type: str
    choices: [servers, environments, models, router, host]
    required: true
  root:
    description: Root of the collection's files on the host.
    type: path
    default: /opt/sglang
  environments:
    description: Where environments are.
    type: path
    default: /opt/sglang/envs
  link:
    description: The link to the current environment.
    type: path
    default: /opt/sglang/ml-env
  tools:
    description: Where uv and the download tool are.
    type: path
    default: /opt/sglang/tools
  models:
    description: Where models are.
    type: path
    default: /opt/sglang/models
  router:
    description: Directory of the router's files.
    type: path
    default: /opt/sglang/router
  user:
    description: The service user.
    type: str
    default: sglang
  group:
    description: The service user's group.
    type: str
    default: sglang
extends_documentation_fragment: [action_common_attributes]
attributes:
  check_mode:
    details: The directories of C(host) are judged with what is in them now, and processes are not asked what they use.
    support: partial
  diff_mode:
    support: none
  platform:
    platforms: linux
    support: full
author:
  - inference.sglang maintainers (@inference-sglang)
"""

EXAMPLES = r"""
- name: Remove the environments that this collection built
  inference.sglang.teardown:
    kind: environments
"""

RETURN = r"""
removed:
  description: The paths that went; in check mode those that would go.
  type: list
  elements: str
  returned: success
kept:
  description: What stays and why, a line each.
  type: list
  elements: str
  returned: success
units:
  description: The units of this collection, with C(servers) and C(router).
  type: list
  elements: str
  returned: success
account:
  description: Whether the service user (C(user)) and its group (C(group)) are ours, with C(host) and C(router).
  type: dict
  returned: success
"""

import dataclasses

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inference.sglang.plugins.module_utils import _teardown as core
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError


def main() -> None:
    """Look, remove, tell."""
    paths = ("root", "environments", "link", "tools", "models", "router")
    module = AnsibleModule(
        argument_spec={
            "kind": {"type": "str", "choices": ["servers", "environments", "models", "router", "host"], "required": True},
            "root": {"type": "path", "default": "/opt/sglang"},
            "environments": {"type": "path", "default": "/opt/sglang/envs"},
            "link": {"type": "path", "default": "/opt/sglang/ml-env"},
            "tools": {"type": "path", "default": "/opt/sglang/tools"},
            "models": {"type": "path", "default": "/opt/sglang/models"},
            "router": {"type": "path", "default": "/opt/sglang/router"},
            "user": {"type": "str", "default": "sglang"},
            "group": {"type": "str", "default": "sglang"},
        },
        supports_check_mode=True,
    )
    params = module.params
    places = core.Places(
        **{name: params[name].rstrip("/") for name in paths},
        user=params["user"],
        group=params["group"],
        check_mode=module.check_mode,
    )
    user, group = False, False

    def run(command: list[str]) -> tuple[int, str, str]:
        code, output, errors = module.run_command(command, handle_exceptions=False)
        return code, output, errors

    kinds = {
        "servers": lambda where: core.servers(where, run),
        "environments": core.environments,
        "models": core.models,
        "router": lambda where: core.router(where, run),
        "host": core.host,
    }
    try:
        done = kinds[params["kind"]](places)
        if not places.check_mode:
            core.refuse_left(done, kinds[params["kind"]](dataclasses.replace(places, check_mode=True)))
        if params["kind"] == "host":
            user, group = core.account(places)
        elif params["kind"] == "router":
            user = group = core.router_is_ours(places)
    except SglangError as error:
        module.fail_json(**error.as_result())
    except OSError as error:
        refused = SglangError(
            "what this collection made cannot be removed",
            found=str(error),
            wanted="files that root may remove",
            next_step="look at the file system, then run again, which goes on",
        )
        module.fail_json(**refused.as_result())
    module.exit_json(
        changed=bool(done.removed),
        removed=done.removed,
        kept=[f"{path} stays: {reason}" for path, reason in sorted(done.kept.items())],
        units=done.units,
        account={"user": user, "group": group},
    )


if __name__ == "__main__":
    main()
