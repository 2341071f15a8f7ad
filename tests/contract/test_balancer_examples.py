# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The configurations that docs/rollout.md shows are the files that the tests use."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(("name", "language"), [("nginx.conf", "nginx"), ("haproxy.cfg", "haproxy")])
def test_the_page_shows_the_file(name: str, language: str) -> None:
    text = (ROOT / "examples/balancers" / name).read_text()
    assert f"```{language}\n{text}```" in (ROOT / "docs/rollout.md").read_text()
