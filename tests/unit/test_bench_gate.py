# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The benchmark of the gate: its percentiles and ratios, and that the modules in its archive can be loaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench_gate.archive import write_archive
from tests.bench_gate.events import GATE, MODULE, WAIT_FOR
from tests.bench_gate.report import OURS, percentile, table


@pytest.mark.parametrize(("share", "expected"), [(0.5, 50), (0.99, 99), (1.0, 100), (0.0, 1)])
def test_a_percentile_is_a_value_that_was_measured(share: float, expected: int) -> None:
    assert percentile(range(1, 101), share) == expected
    assert percentile([7], share) == 7


def test_ratios_are_to_the_gate_of_the_same_event() -> None:
    verdicts = [
        {"kind": kind, "who": who, "seconds": seconds}
        for kind, who, seconds in (("ready", OURS, 0.1), ("ready", "wait_for", 0.5), ("killed", OURS, 0.2), ("killed", "wait_for", 0.4))
    ]
    rows = table(verdicts)
    assert rows[3].split(" | ")[-2:] == ["5.0", "5.0 |"]
    assert rows[5].split(" | ")[-2:] == ["2.0", "2.0 |"]


@pytest.mark.parametrize("module", [GATE, WAIT_FOR])
def test_the_archive_holds_all_that_a_module_imports(tmp_path: Path, module: str) -> None:
    """A Python that knows neither Ansible nor this collection: the module refuses its missing options, and not itself."""
    write_archive(tmp_path / "modules.zip")
    command = [sys.executable, "-I", "-S", "-c", MODULE, str(tmp_path / "modules.zip"), module, '{"state": "nonsense"}']
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert '"failed": true' in done.stdout, done.stdout + done.stderr
