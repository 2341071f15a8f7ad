#!/usr/bin/python
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Watch a server that has become ready for a while: it must stay up."""

from __future__ import annotations

DOCUMENTATION = r"""
module: server_soak
short_description: Watch a ready SGLang server until it has stayed up for a while
version_added: "0.1.0"
description:
  - Follows the start that M(inference.sglang.log_gate) has watched for some seconds more, so that a server that dies of its first real
    requests is not accepted.
  - Ends at once when the main process ends, when systemd has started the unit again, or when the log shows that the server dies; at the
    end of the time a failure that the log has named counts as well. The failure names the cause and the one thing to change.
author:
  - inference.sglang maintainers (@inference-sglang)
options:
  unit:
    description: The systemd unit.
    type: str
    required: true
  invocation_id:
    description: The start that became ready, as M(inference.sglang.log_gate) returns it. Another one means that the server has died since.
    type: str
    required: true
  seconds:
    description: How long the server must stay up.
    type: int
    required: true
  log_file:
    description: The file that the unit logs to. Empty for the journal.
    type: path
  ready:
    description: The engine's ready line. What came before it is not looked at.
    type: str
    default: The server is fired up and ready to roll!
  progress_file:
    description: Where to report. Set by the action plugin.
    type: path
attributes:
  check_mode:
    support: full
    description: Can run in check mode; waits for nothing and says so.
  diff_mode:
    support: none
    description: Changes nothing, so there is no difference to show.
  platform:
    support: full
    platforms: linux
    description: Needs systemd.
"""

EXAMPLES = r"""
- name: Watch the server for two minutes
  inference.sglang.server_soak:
    unit: sglang-default.service
    invocation_id: "{{ gate.invocation_id }}"
    seconds: 120
"""

RETURN = r"""
verdict:
  description: C(ready) where it stayed up, C(dead); C(skipped) in check mode.
  type: str
  returned: always
seconds:
  description: How long it was watched.
  type: float
  returned: unless check mode
cause:
  description: On failure the code, what happened, what to change, in which variable, and the line that says so.
  type: dict
  returned: on failure
code:
  description: The stable code of the failure, which docs/troubleshooting.md explains.
  type: str
  returned: on failure
excerpt:
  description: The last lines of the log, with secrets hidden.
  type: list
  elements: str
  returned: on failure
"""

import time
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inference.sglang.plugins.module_utils._errors import CodedError, SglangError
from ansible_collections.inference.sglang.plugins.module_utils._log_gate import READY, READY_LINE, Expectation
from ansible_collections.inference.sglang.plugins.module_utils._log_source import FileSource, JournalSource, Source, run
from ansible_collections.inference.sglang.plugins.module_utils._progress import Progress
from ansible_collections.inference.sglang.plugins.module_utils._scrub import scrub_text
from ansible_collections.inference.sglang.plugins.module_utils._soak import Soak
from ansible_collections.inference.sglang.plugins.module_utils._unit_watch import UnitWatch

LONGEST_LINE = 400


def shown(line: str) -> str:
    """A log line as it may be printed."""
    return scrub_text(line)[:LONGEST_LINE]


def watch_it(params: dict[str, Any]) -> tuple[Soak, str]:
    """Watch to the end: the verdict, and what systemd said of the server's end."""
    invocation, log_file = params["invocation_id"].replace("-", ""), params["log_file"]
    soak = Soak(
        Expectation(None, 0, params["ready"]),
        time.monotonic,
        invocation_id=invocation,
        wait_for_marker=bool(log_file),
        soak=params["seconds"],
    )
    watch = UnitWatch(params["unit"], invocation)
    source: Source = FileSource(log_file, invocation) if log_file else JournalSource(invocation)
    try:
        run(soak, source, watch)
    finally:
        source.close()
        watch.close()
    return soak, watch.describe()


def failure(soak: Soak, unit: str, status: str) -> dict[str, Any]:
    """Arguments for fail_json."""
    cause = soak.cause
    if cause is None:
        raise RuntimeError(f"the verdict is {soak.verdict}, without a cause")
    error = CodedError(
        cause.code,
        f"the server was ready and did not stay so: {cause.what}",
        found=shown(cause.evidence) + (f" [{status}]" if status and status not in cause.evidence else ""),
        wanted=f"{unit} up for {soak.soak:.0f} s",
        next_step=cause.change + (f" (variable: {cause.variable})" if cause.variable else ""),
    )
    return {
        **error.as_result(),
        "cause": {**cause.as_dict(), "evidence": shown(cause.evidence)},
        "excerpt": [shown(line) for line in soak.excerpt()],
    }


def main() -> None:
    """Module entry."""
    module = AnsibleModule(
        argument_spec={
            "unit": {"type": "str", "required": True},
            "invocation_id": {"type": "str", "required": True},
            "seconds": {"type": "int", "required": True},
            "log_file": {"type": "path"},
            "ready": {"type": "str", "default": READY_LINE},
            "progress_file": {"type": "path"},
        },
        supports_check_mode=True,
    )
    unit, seconds = module.params["unit"], module.params["seconds"]
    if module.check_mode:
        module.exit_json(changed=False, verdict="skipped", msg=f"check mode: does not watch {unit}")
    Progress(module.params["progress_file"]).report("soak", f"{unit} must stay up for {seconds} s", force=True)
    try:
        soak, status = watch_it(module.params)
    except SglangError as error:
        module.fail_json(verdict="unknown", **error.as_result())
    result = {"changed": False, "verdict": soak.verdict, "seconds": soak.result()["seconds"]}
    if soak.verdict != READY:
        module.fail_json(**result, **failure(soak, unit, status))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
