# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""One run changes an instance at a time; a killed one holds nobody up for ever."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from ansible_collections.inference.sglang.plugins.module_utils import _lease as module
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.plugin_utils import _this_run as this

ONE = module.Run(user="ann", host="controller", place="boot ns", pid=10, started="100")
TWO = replace(ONE, user="bob", pid=11)


def test_the_second_run_is_told_who_holds_it(tmp_path: Path) -> None:
    home = str(tmp_path / "instances/i")
    assert module.take(home, ONE, 60) is None
    holding = module.take(home, TWO, 60)
    assert holding is not None
    error = module.refusal(holding, f"{home}/lease.json")
    for words in ("ann on controller", "process 10", "lease.json"):
        assert words in str(error)
    module.give_back(home, TWO)
    assert module.take(home, TWO, 60) is not None, "another run's lease is not given back"
    assert module.take(home, ONE, 60) is None, "one's own is"
    module.give_back(home, ONE)
    assert not (tmp_path / "instances/i").exists(), "a run that did nothing leaves nothing"
    assert module.take(home, TWO, 60) is None


def test_who_may_take_it() -> None:
    lease = module.Lease(run=ONE, since=1000.0, until=2000.0)
    assert not module.may_take(lease, TWO, 1999.0)
    assert module.may_take(lease, TWO, 2000.0), "a run of another controller that was killed"
    assert module.may_take(lease, TWO, 1500.0, gone=ONE), "one of this controller"
    assert not module.may_take(lease, TWO, 1500.0, gone=replace(ONE, pid=12))
    assert not module.may_take(lease, replace(ONE, started="200"), 1500.0), "the same number, another process"
    assert module.may_take(lease, TWO, 1000.0 - 90000), "a clock that was set back must not shut it for years"
    assert module.may_take(None, TWO, 0.0)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"run": {}}', '{"run": {"pid": 1}, "since": 1, "until": 2}', "[" * 100_000])
def test_a_damaged_lease_holds_nothing_shut(tmp_path: Path, text: str) -> None:
    (tmp_path / module.LEASE_FILE).write_text(text)
    assert module.take(str(tmp_path), ONE, 60) is None
    lease = module.parse_lease((tmp_path / module.LEASE_FILE).read_text())
    assert lease is not None
    assert lease.run == ONE


def test_of_many_at_once_one_gets_it(tmp_path: Path) -> None:
    runs = [replace(ONE, pid=number) for number in range(8)]
    for _round in range(20):
        with ThreadPoolExecutor(8) as pool:
            taken = list(pool.map(lambda run: module.take(str(tmp_path / "i"), run, 60), runs))
        assert taken.count(None) == 1
        module.give_back(str(tmp_path / "i"), runs[taken.index(None)])


def test_a_run_that_ended_is_known_by_its_controller() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    own = this.this_run()
    holder = {**own, "pid": child.pid, "started": this.started(child.pid)}
    assert own["pid"] == os.getppid()
    assert not this.has_ended(holder, own)
    assert this.has_ended({**holder, "started": "1"}, own), "its number was given to another process"
    child.communicate(b"\n")
    assert this.has_ended(holder, own)
    assert not this.has_ended({**holder, "place": "another boot"}, own), "of another controller nothing is known"
    assert not this.has_ended({**holder, "started": ""}, own)
    assert module.run_of(own) == module.Run(**own)


def test_what_ansible_hands_over_is_read_leniently() -> None:
    assert module.run_of({}) is None
    assert module.run_of({**asdict(ONE), "pid": "10", "started": 100}) == ONE
    with pytest.raises(SglangError, match="description of a run"):
        module.run_of({"pid": 1})
