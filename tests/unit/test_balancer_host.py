# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is alike on the hosts of any balancer: one run at a time, and addresses that may go into a configuration."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.inference.sglang.plugins.module_utils import _balancer_host
from ansible_collections.inference.sglang.plugins.module_utils._balancer_host import locked, split_url
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError


@pytest.mark.parametrize(
    "url", ["", "http://", "http://a", "http://a:x", "http://a;b:1", "http://a b:1", "http://[::1", "http://{a}:1", "http://a:99999"]
)
def test_addresses_that_would_break_a_configuration(url: str) -> None:
    with pytest.raises(SglangError):
        split_url(url)


def test_one_run_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_balancer_host, "LOCK_SECONDS", 0.0)
    path = tmp_path / "lock"
    refused = pytest.raises(SglangError, match="it is held by another run")
    with path.open("a") as one, path.open("a") as other, locked(one, "it"), refused, locked(other, "it"):
        pass
    with path.open("a") as third, locked(third, "it"):
        pass
