#!/usr/bin/python
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Asks the installed engine whether it accepts a release's arguments."""

from __future__ import annotations

DOCUMENTATION = r"""
module: engine_check
short_description: Ask the installed SGLang whether it accepts a command line
version_added: "0.1.0"
description:
  - Runs the engine's own argument parser and its whole resolution of settings in the environment's Python, as the service
    user, with exactly the arguments and the environment that the unit will have. No server is started.
  - A refusal fails with the engine's own words, before anything that runs is touched.
options:
  python:
    description: The environment's interpreter, as the unit starts it.
    type: path
    required: true
  argv:
    description: The arguments after C(sglang serve).
    type: list
    elements: str
    required: true
  environment:
    description: The unit's environment, whole; nothing else is inherited.
    type: dict
    default: {}
  user:
    description: The user that the unit runs as.
    type: str
    default: root
  group:
    description: The group that the unit runs as.
    type: str
    default: root
  predicted:
    description: Settings as the plan predicts the engine to resolve them; differences are reported in RV(mismatches).
    type: dict
    default: {}
  timeout:
    description: Seconds after which the check is ended. Importing SGLang from a cold disk takes most of a minute.
    type: int
    default: 300
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
- name: Ask the engine
  inference.sglang.engine_check:
    python: /opt/sglang/ml-env/bin/python
    argv: [--model-path, "{{ model_shards_published.path }}", --tp-size, "2"]
    user: sglang
    group: sglang
"""

RETURN = r"""
accepted:
  description: The engine accepts the arguments.
  type: bool
  returned: always
version:
  description: The engine's release, as it names itself.
  type: str
  returned: success
resolved:
  description: The settings as the engine resolved them, without secrets.
  type: dict
  returned: success
mismatches:
  description: Settings that the engine resolved otherwise than the plan predicted.
  type: list
  elements: dict
  returned: success
error:
  description: What is wrong, what was found, what was wanted, what to do next.
  type: dict
  returned: failure
code:
  description: The stable code of the refusal, which docs/troubleshooting.md explains.
  type: str
  returned: failure
stderr:
  description: The last lines that the engine wrote.
  type: str
  returned: failure
seconds:
  description: How long the check took.
  type: float
  returned: always
"""

import contextlib
import grp
import os
import pwd
import tempfile
import time
from collections.abc import Iterator

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inference.sglang.plugins.module_utils._engine_process import TookTooLong, run_to_end
from ansible_collections.inference.sglang.plugins.module_utils._engine_runner import (
    RUNNER,
    compare,
    died,
    parse_answer,
    public_settings,
    refusal,
)
from ansible_collections.inference.sglang.plugins.module_utils._errors import CodedError, SglangError
from ansible_collections.inference.sglang.plugins.module_utils._progress import Progress


def _account(user: str, group: str) -> dict[str, object]:
    """How to become the service user; only root can."""
    if os.geteuid() != 0:
        return {}
    try:
        entry, group_id = pwd.getpwnam(user), grp.getgrnam(group).gr_gid
    except KeyError as error:
        raise CodedError(
            "CHECK-006",
            "the service account is not there",
            found=str(error),
            wanted=f"user {user} and group {group}",
            next_step="run the role inference_host",
        ) from error
    return {"user": entry.pw_uid, "group": group_id, "extra_groups": os.getgrouplist(user, group_id)}


@contextlib.contextmanager
def _environment(params: dict, account: dict) -> Iterator[dict[str, str]]:
    """The unit's environment. Where its home is not made yet (a first run in check mode), a temporary one stands in:
    libraries write caches while they are imported."""
    environment = {str(name): str(value) for name, value in params["environment"].items()}
    environment.setdefault("PATH", "/usr/local/bin:/usr/bin:/bin")
    home = environment.get("HOME", "")
    if not home or os.path.isdir(home):
        yield environment
        return
    with tempfile.TemporaryDirectory(prefix="inference.sglang-") as scratch:
        os.chown(scratch, account.get("user", -1), account.get("group", -1))
        yield {
            name: scratch + value[len(home) :] if value == home or value.startswith(home + "/") else value
            for name, value in environment.items()
        }


def _run(params: dict, progress: Progress) -> tuple[int, str, str]:
    """The runner as the service user, in the unit's environment."""
    account = _account(params["user"], params["group"])
    with _environment(params, account) as environment:
        return _ask(params, environment, account, progress)


def _ask(params: dict, environment: dict[str, str], account: dict, progress: Progress) -> tuple[int, str, str]:
    """Give the runner to the environment's Python."""
    command = [params["python"], "-", *params["argv"]]
    progress.report("engine check", "asking the engine's own parser (importing SGLang takes a while)", force=True)
    try:
        status, output, errors = run_to_end(command, RUNNER, environment, account, params["timeout"])
    except TookTooLong as busy:
        raise CodedError(
            "CHECK-005",
            "the engine check did not end in time",
            found=f"still busy after {params['timeout']} seconds; last words: {busy.words[-400:].strip() or '(none)'}",
            wanted="an answer of the engine's argument parser",
            next_step="raise sglang_server_engine_check_timeout, or look at the host's disk and load",
        ) from None
    return status, output, errors


def main() -> None:
    """Run the check and report."""
    module = AnsibleModule(
        argument_spec={
            "python": {"type": "path", "required": True},
            "argv": {"type": "list", "elements": "str", "required": True},
            "environment": {"type": "dict", "default": {}},
            "user": {"type": "str", "default": "root"},
            "group": {"type": "str", "default": "root"},
            "predicted": {"type": "dict", "default": {}},
            "timeout": {"type": "int", "default": 300},
            "progress_file": {"type": "path"},
        },
        supports_check_mode=True,
    )
    started = time.monotonic()
    stderr = ""
    try:
        status, stdout, stderr = _run(module.params, Progress(module.params["progress_file"]))
        answer = parse_answer(stdout)
        if answer is None:
            raise died(status, stderr)
        if not answer.accepted:
            raise refusal(answer, stderr)
    except SglangError as error:
        module.fail_json(
            accepted=False, stderr="\n".join(stderr.splitlines()[-20:]), seconds=round(time.monotonic() - started, 2), **error.as_result()
        )
    except OSError as error:
        refused = CodedError(
            "CHECK-007",
            "the environment's interpreter cannot be started",
            found=str(error),
            wanted="an executable " + module.params["python"],
            next_step="rebuild the environment (role ml_env), or correct sglang_server_environment_path",
        )
        module.fail_json(accepted=False, seconds=round(time.monotonic() - started, 2), **refused.as_result())
    module.exit_json(
        changed=False,
        accepted=True,
        version=answer.version,
        resolved=public_settings(answer.resolved),
        mismatches=compare(module.params["predicted"], answer.resolved),
        seconds=round(time.monotonic() - started, 2),
    )


if __name__ == "__main__":
    main()
