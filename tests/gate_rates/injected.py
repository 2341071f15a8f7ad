# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What was said of the faults that tests/play/test_gate_injections.py puts into servers on real hosts, as its last recorded run wrote it.

`RECORD_INJECTED_FAULTS=FILE pytest tests/play/test_gate_injections.py` appends to FILE.
"""

from __future__ import annotations

import json
from pathlib import Path

RECORD = Path(__file__).resolve().parents[1] / "data/injected-faults.jsonl"


def injected() -> list[dict[str, str]]:
    """`fault`, and the codes `wanted` and `found`."""
    return [json.loads(line) for line in RECORD.read_text().splitlines()]
