#!/usr/bin/python
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

DOCUMENTATION = r"""
module: prune_unused
short_description: Removes models or environments that nothing on the host uses, beyond the newest few
description:
  - Looks at what M(inference.sglang.model_snapshot) or M(inference.sglang.python_environment) made below O(root), and at what names it.
    Named by the accepted or the previous release of any instance, by a change that has not ended, by a unit, by a link of O(links) or by a
    process, or asked for by the settings, it stays. Of the others the newest O(keep) stay.
  - What has no manifest or marker of this collection is not touched, and told. Adopted models and environments are never pruned.
  - Downloads and builds that no run goes on with are removed as well.
  - A directory is renamed to C(.trash-…) while all locks are held, and removed after that. A run that was killed is finished by the next.
  - Fails, and removes nothing, while another run changes an instance, or where a stamp cannot be read.
version_added: "0.1.0"
author: inference.sglang maintainers (@inference-sglang)
options:
  kind:
    description: What lies below O(root).
    type: str
    choices: [models, environments]
    required: true
  root:
    description: Where they are.
    type: path
    required: true
  keep:
    description: How many that nothing uses stay, the newest. V(0) prunes nothing.
    type: int
    default: 0
  server_root:
    description: Root of the servers' files, whose C(instances) name what is in use.
    type: path
    default: /opt/sglang
  repo:
    description: Of models, the repository that the settings ask for. Its O(revision) stays.
    type: str
    default: ""
  revision:
    description: Branch, tag or commit of O(repo). A branch means what it was resolved to when the model was fetched.
    type: str
    default: main
  links:
    description: Links whose targets stay.
    type: list
    elements: path
    default: []
attributes:
  check_mode:
    description: Says what would go, and how many bytes that would free. Writes nothing.
    support: full
  diff_mode:
    description: Shows what is there before and after.
    support: full
  platform:
    description: Linux.
    support: full
    platforms: linux
seealso:
  - module: inference.sglang.model_snapshot
  - module: inference.sglang.python_environment
"""

EXAMPLES = r"""
- name: Leave two models that nothing uses
  inference.sglang.prune_unused:
    kind: models
    root: /opt/sglang/models
    keep: 2
    repo: Qwen/Qwen3.6-27B
"""

RETURN = r"""
versions:
  description: What was found, each with C(path), C(kind), whether it is pruned (C(prune)) and the C(reason).
  returned: success
  type: list
  elements: dict
pruned:
  description: The paths that went, in check mode those that would.
  returned: success
  type: list
  elements: str
completed:
  description: What an earlier run had left to remove.
  returned: success
  type: list
  elements: str
freed_bytes:
  description: Bytes on the disk that this frees.
  returned: success
  type: int
shared_bytes:
  description: Bytes of these directories that stay, as uv's cache or another environment links to the same files.
  returned: success
  type: int
lines:
  description: The same for people.
  returned: success
  type: list
  elements: str
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
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._prune import FOREIGN
from ansible_collections.inference.sglang.plugins.module_utils._prune_work import Done, Order, prune
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_files import describe

ARGUMENTS = {
    "kind": {"type": "str", "choices": ["models", "environments"], "required": True},
    "root": {"type": "path", "required": True},
    "keep": {"type": "int", "default": 0},
    "server_root": {"type": "path", "default": "/opt/sglang"},
    "repo": {"type": "str", "default": ""},
    "revision": {"type": "str", "default": "main"},
    "links": {"type": "list", "elements": "path", "default": []},
}


def result_of(done: Done, order: Order) -> dict[str, Any]:
    """What the module returns."""
    pruned = [decision.item.path for decision in done.decisions if decision.prune]
    left = [decision.item.path for decision in done.decisions if not decision.prune and decision.item.kind != FOREIGN]
    would = "Would remove" if order.check_mode else "Removed"
    message = f"{would} {len(pruned)} below {order.root}, {describe(done.freed)}." if pruned else f"Nothing to prune below {order.root}."
    if done.shared:
        message += f" {describe(done.shared)} more are shared with uv's cache or other environments and stay."
    lines = [f"{'prune' if decision.prune else 'keep '} {decision.item.path}: {decision.reason}" for decision in done.decisions]
    lines += [f"prune {path}: an earlier run did not come to its end" for path in done.finished]
    return {
        "changed": bool(pruned or done.finished),
        "versions": [
            {"path": decision.item.path, "kind": decision.item.kind, "prune": decision.prune, "reason": decision.reason}
            for decision in done.decisions
        ],
        "pruned": pruned,
        "completed": done.finished,
        "freed_bytes": done.freed,
        "shared_bytes": done.shared,
        "lines": [*lines, message],
        "msg": message,
        "diff": {"before": _text([*left, *pruned, *done.finished]), "after": _text(left)},
    }


def _text(paths: list[str]) -> str:
    return "".join(f"{path}\n" for path in sorted(paths))


def main() -> None:
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    params = module.params
    order = Order(
        kind=params["kind"],
        root=params["root"].rstrip("/"),
        keep=params["keep"],
        server_root=params["server_root"].rstrip("/"),
        links=tuple(params["links"]),
        repo=params["repo"],
        revision=params["revision"],
        check_mode=module.check_mode,
    )
    try:
        if order.keep < 0:
            raise SglangError("keep is negative.", f"{order.keep}", "0, which prunes nothing, or more", "Correct keep.")
        result = result_of(prune(order), order)
    except SglangError as error:
        module.fail_json(**error.as_result())
    except OSError as error:
        refused = SglangError(
            f"{order.root} cannot be pruned.",
            found=str(error),
            wanted="a directory that root may read and write",
            next_step="Look at the file system, then run again, which goes on.",
        )
        module.fail_json(**refused.as_result())
    module.exit_json(**result)


if __name__ == "__main__":
    main()
