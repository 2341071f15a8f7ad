# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What scripts/gpu leaves out on a machine without systemd is left out wherever a deployment does it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_role_that_refuses_such_a_machine_is_left_out_everywhere() -> None:
    left_out = re.search(r"skipped \+= \[(.*)\]", (ROOT / "scripts/gpu").read_text())
    assert left_out
    tags = ",".join(re.findall(r'"(\w+)"', left_out[1]))
    command = [
        sys.executable,
        "-m",
        "ansible",
        "playbook",
        str(ROOT / "playbooks/deploy.yml"),
        "-i",
        str(ROOT / "inventories/demo"),
        "--list-tasks",
    ]
    listed = {}
    for options in ([], ["--skip-tags", tags]):
        done = subprocess.run(
            [*command, *options],
            env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")},
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
        )
        listed[bool(options)] = done.stdout.count("inference.sglang.inference_host :")
    assert listed[False] > 0
    assert listed[True] == 0
