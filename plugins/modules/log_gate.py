#!/usr/bin/python
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Wait on one start's log until the server is ready, dead, wrong or silent."""

from __future__ import annotations

DOCUMENTATION = r"""
module: log_gate
short_description: Wait until an SGLang server is ready, or say why it is not
version_added: "0.1.0"
description:
  - Follows the log of one start of a systemd unit and ends within a second of success or of death.
  - A start is ready when the kernel dispatcher line of the model's family and then the engine's own ready line were logged by this start.
    Lines of earlier starts, of other units and of Ansible itself do not count.
  - A failure names the cause and the one thing to change.
author:
  - inference.sglang maintainers (@inference-sglang)
options:
  unit:
    description: The systemd unit.
    type: str
    required: true
  log_file:
    description:
      - The file that the unit logs to. Empty for the journal.
      - The start is found in it by the line that the collection's launcher writes first.
    type: path
  gate:
    description: What the log must say, as C(inference.sglang.launch_plan) returns it under C(gate).
    type: dict
    required: true
    suboptions:
      family:
        description: The model's recurrent family.
        type: str
        default: none
      dispatcher:
        description: Beginning of the kernel dispatcher line. Empty where the family logs none.
        type: str
      dispatcher_count:
        description: How often that line must come, twice with a draft model.
        type: int
        default: 0
      ready:
        description: The engine's ready line.
        type: str
        default: The server is fired up and ready to roll!
  planned:
    description: What the plan says of this start, as the release's record keeps it. Compared once the server is ready.
    type: dict
    default: {}
  invocation_id:
    description: The invocation of the unit to watch. Empty for the current one.
    type: str
    default: ""
  stall_timeout:
    description: Seconds without anything new in the log after which the start counts as hung.
    type: int
    default: 300
  timeout:
    description: Seconds after which the start counts as hung whatever it logs.
    type: int
    default: 3600
  progress_file:
    description: Where to report the stages. Set by the action plugin.
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
- name: Wait for the server that was just restarted
  inference.sglang.log_gate:
    unit: sglang-default.service
    gate:
      family: gdn
      dispatcher: GDN kernel dispatcher
      dispatcher_count: 2
    stall_timeout: 300
    timeout: 1800
"""

RETURN = r"""
verdict:
  description: C(ready), C(dead), C(wrong), C(stalled); C(skipped) in check mode.
  type: str
  returned: always
stage:
  description: The furthest stage that was reached.
  type: str
  returned: unless check mode
stages:
  description: The stages in order, each with the seconds after the start at which it began.
  type: list
  elements: dict
  returned: unless check mode
seconds:
  description: How long this task waited.
  type: float
  returned: unless check mode
figures:
  description: Weights, state slots, KV tokens, running requests and memory as the engine logged them, some for each rank.
  type: dict
  returned: unless check mode
dispatcher:
  description: How often the dispatcher line was seen and wanted, and the kernels that it named.
  type: dict
  returned: unless check mode
comparison:
  description:
    - C(rows), the plan beside the start (C(what), C(planned), C(found), C(same)), and C(changes), the settings that the engine changed by
      itself, each with the reason that its log gives. They are warnings.
  type: dict
  returned: when ready and O(planned) was given
warnings_seen:
  description: What the log warned of.
  type: list
  elements: str
  returned: unless check mode
cause:
  description: On failure the code, what happened, what to change, in which variable, and the line that says so.
  type: dict
  returned: unless check mode
code:
  description: The stable code of the failure, which docs/troubleshooting.md explains.
  type: str
  returned: on failure
excerpt:
  description: The last lines of the log, with secrets hidden.
  type: list
  elements: str
  returned: on failure
invocation_id:
  description: The invocation that was watched.
  type: str
  returned: unless check mode
"""

import time
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inference.sglang.plugins.module_utils._errors import CodedError, SglangError
from ansible_collections.inference.sglang.plugins.module_utils._log_gate import READY, READY_LINE, Expectation, LogGate
from ansible_collections.inference.sglang.plugins.module_utils._log_source import (
    FileSource,
    JournalSource,
    Source,
    name_full_disk,
    parent_directory_missing,
    run,
)
from ansible_collections.inference.sglang.plugins.module_utils._plan_reality import compare, comparison_lines, started_figures
from ansible_collections.inference.sglang.plugins.module_utils._progress import Progress
from ansible_collections.inference.sglang.plugins.module_utils._scrub import scrub_text
from ansible_collections.inference.sglang.plugins.module_utils._unit_watch import UnitWatch, show_unit

LONGEST_LINE = 400
VERDICT_IN_WORDS = {
    "dead": "the server died while starting",
    "wrong": "the server is up, but not as planned",
    "stalled": "the server stopped making progress",
}


def argument_spec() -> dict[str, Any]:
    """The module's options."""
    return {
        "unit": {"type": "str", "required": True},
        "log_file": {"type": "path"},
        "gate": {
            "type": "dict",
            "required": True,
            "options": {
                "family": {"type": "str", "default": "none"},
                "dispatcher": {"type": "str"},
                "dispatcher_count": {"type": "int", "default": 0},
                "ready": {"type": "str", "default": READY_LINE},
            },
        },
        "planned": {"type": "dict", "default": {}},
        "invocation_id": {"type": "str", "default": ""},
        "stall_timeout": {"type": "int", "default": 300},
        "timeout": {"type": "int", "default": 3600},
        "progress_file": {"type": "path"},
    }


def watched_invocation(unit: str, asked: str) -> str:
    """The invocation to watch; refuses a unit that was never started."""
    state = show_unit(unit)
    if state.load == "not-found":
        raise CodedError("GATE-100", f"there is no unit {unit}", "LoadState=not-found", "an installed unit", "deploy the server first")
    invocation = asked or state.invocation_id
    if not invocation:
        raise CodedError("GATE-101", f"{unit} has not been started", state.describe(), "a start to wait for", f"systemctl start {unit}")
    return invocation.replace("-", "")


def shown(line: str) -> str:
    """A log line as it may be printed."""
    clean = scrub_text(line)
    return clean if len(clean) <= LONGEST_LINE else f"{clean[:LONGEST_LINE]}…"


def make_gate(params: dict[str, Any], invocation: str, progress: Progress) -> LogGate:
    """The gate for these options, reporting its stages."""
    return LogGate(
        Expectation.from_plan(params["gate"]),
        time.monotonic,
        stall_timeout=params["stall_timeout"],
        timeout=params["timeout"],
        invocation_id=invocation,
        wait_for_marker=bool(params["log_file"]),
        on_stage=lambda name, what: progress.report(name, what, force=True),
        on_progress=lambda stage, text, done, total: progress.report(stage, shown(text), done, total),
    )


def failure(gate: LogGate, unit: str, status: str) -> dict[str, Any]:
    """Arguments for fail_json."""
    result = gate.result()
    cause = gate.cause
    if cause is None:
        raise RuntimeError(f"the gate's verdict is {gate.verdict}, without a cause")
    found = shown(cause.evidence) + (f" [{status}]" if status else "")
    next_step = cause.change + (f" (variable: {cause.variable})" if cause.variable else "")
    error = CodedError(
        cause.code,
        f"{VERDICT_IN_WORDS[gate.verdict]}: {cause.what}",
        found=found,
        wanted=f"{unit} ready",
        next_step=next_step,
    )
    result["cause"] = {**cause.as_dict(), "evidence": shown(cause.evidence)}
    return {**error.as_result(), **result, "excerpt": [shown(line) for line in gate.excerpt()]}


def wait_for(params: dict[str, Any]) -> tuple[LogGate, str, str]:
    """Follow the start to its end: the gate, the invocation, and what systemd said of its end."""
    unit, log_file = params["unit"], params["log_file"]
    invocation = watched_invocation(unit, params["invocation_id"])
    if log_file and parent_directory_missing(log_file):
        raise CodedError("GATE-102", "the log file's directory does not exist", log_file, "an existing directory", "correct log_file")
    gate = make_gate(params, invocation, Progress(params["progress_file"]))
    watch = UnitWatch(unit, invocation)
    source: Source = FileSource(log_file, invocation) if log_file else JournalSource(invocation)
    try:
        run(gate, source, watch)
    finally:
        source.close()
        watch.close()
    if log_file:
        name_full_disk(gate, log_file)
    return gate, invocation, watch.describe()


def compared(gate: LogGate, params: dict[str, Any]) -> dict[str, Any]:
    """The plan beside this start, told live; nothing where there is no plan to compare with."""
    if not params["planned"]:
        return {}
    found = compare(params["planned"], started_figures(gate.result()["figures"]), {k: shown(v) for k, v in gate.words.said.items()})
    progress = Progress(params["progress_file"])
    for line in comparison_lines(found["rows"]):
        progress.report("plan", line, force=True)
    return {"comparison": found}


def main() -> None:
    """Module entry."""
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    if module.check_mode:
        module.exit_json(changed=False, verdict="skipped", msg=f"check mode: does not wait for {module.params['unit']}")
    try:
        gate, invocation, status = wait_for(module.params)
    except SglangError as error:
        module.fail_json(verdict="unknown", **error.as_result())
    if gate.verdict != READY:
        module.fail_json(changed=False, invocation_id=invocation, **failure(gate, module.params["unit"], status))
    more = compared(gate, module.params)
    for change in more.get("comparison", {}).get("changes", []):
        module.warn(f"{module.params['unit']}: {change}")
    module.exit_json(changed=False, invocation_id=invocation, **gate.result(), **more)


if __name__ == "__main__":
    main()
