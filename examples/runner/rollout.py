#!/usr/bin/env python3
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Drives a rollout with ansible-runner from Python: one line for each step of each host, and the verdicts at the end.

    python examples/runner/rollout.py deploy --limit gpu01 --check

The project beside this file holds nothing but the playbooks' names. Where the collection is not installed, say where it is:
ANSIBLE_COLLECTIONS_PATH=/path/of/the/checkout/.collections
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import ansible_runner

HERE = Path(__file__).resolve().parent
# Modules whose end is worth a line, and what of their result is.
STEPS = {
    "launch_plan": lambda result: "planned: " + ("as it is" if result.get("difference", {}).get("converged") else "to be changed"),
    "server_stop": lambda result: f"stopped after {result.get('seconds', 0)} s",
    "log_gate": lambda result: f"ready after {result.get('seconds', 0)} s" if result.get("verdict") == "ready" else "not waited for",
    "serving_probe": lambda result: f"answers: {result.get('answer', 'not asked')}",
}


def follow(event: dict[str, Any]) -> bool:
    """Print what an event of ansible-runner says of a host. True keeps the event among the artifacts."""
    kind, data = event["event"], event.get("event_data", {})
    if kind == "verbose":
        # The live lines of long tasks: [gpu01] weights 12/14
        lines = [line for line in event["stdout"].splitlines() if line.startswith("[") and "] " in line and not line.startswith("[WARN")]
        print("".join(f"{line}\n" for line in lines), end="", flush=True)
    elif kind in ("runner_on_failed", "runner_on_unreachable") and not data.get("ignore_errors"):
        result = data.get("res") or {}
        print(f"{data['host']}: {data.get('task')}: {str(result.get('msg', 'failed')).splitlines()[0]}", flush=True)
    elif kind == "runner_on_ok":
        step = STEPS.get(str(data.get("resolved_action") or data.get("task_action")).rsplit(".", 1)[-1])
        if step:
            print(f"{data['host']}: {step(data.get('res') or {})}", flush=True)
    return True


def run(playbook: str, limit: str, check: bool, inventory: str, data: Path) -> int:
    """One run; 0 when every host went well."""
    done = ansible_runner.run(
        private_data_dir=str(HERE),
        artifact_dir=str(data / "artifacts"),
        playbook=f"{playbook}.yml",
        inventory=inventory or None,
        limit=limit or None,
        cmdline="--check" if check else None,
        extravars={"report_directory": str(data / "reports")},
        event_handler=follow,
        quiet=True,
    )
    report = data / "reports/rollout-report.json"
    if report.is_file():
        for row in json.loads(report.read_text(encoding="utf-8"))["rows"]:
            cause = next((failure["wrong"] for failure in row["failures"]), "")
            print(f"{row['host']}: {row['verdict']}{': ' + cause if cause else ''}")
        print(f"the whole story: {report.with_suffix('.html')}")
    return 0 if done.rc == 0 else 1


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Drive a rollout with ansible-runner.")
    parser.add_argument("playbook", choices=["deploy", "rollback", "verify"])
    parser.add_argument("--limit", default="", help="hosts or groups")
    parser.add_argument("--check", action="store_true", help="change nothing")
    parser.add_argument("--inventory", default="", help="another inventory than the one beside this file")
    parser.add_argument("--data", type=Path, default=None, help="where artifacts and report go (a new directory unless given)")
    options = parser.parse_args()
    data = (options.data or Path(tempfile.mkdtemp(prefix="rollout-"))).resolve()
    return run(options.playbook, options.limit, options.check, options.inventory, data)


if __name__ == "__main__":
    sys.exit(main())
