# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What was here before a change is written down once, survives killed runs, and comes back exactly."""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from ansible_collections.inference.sglang.plugins.module_utils import _unit_before as module
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError

SERVICE = {"unit": "by-hand.service", "service": True, "enabled": True, "pid": 7, "started": "t1", "text": "by hand"}
BARE = {"unit": "", "service": False, "enabled": False, "pid": 8, "started": "t1", "text": "bare"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An instance's directory, and its unit file's place beside it."""
    (tmp_path / "home/secrets").mkdir(parents=True)
    return tmp_path / "home"


def _look(home: Path, stamp: str = "", servers: tuple[dict[str, object], ...] = (), active: bool = True) -> module.Before:
    return module.look(str(home), str(home.parent / "x.service"), stamp, True, active, servers)


def _put_back(home: Path) -> module.Before:
    return module.put_back(str(home), str(home.parent / "x.service"))


@pytest.mark.parametrize("text", [None, "", "[Service]\nExecStart=/bin/true\n", "caf\udce9\n"])
def test_the_unit_file_comes_back_as_it_was(home: Path, text: str | None) -> None:
    unit = home.parent / "x.service"
    if text is not None:
        unit.write_text(text, errors="surrogateescape")
    before = module.remember(str(home), _look(home))
    unit.write_text("ours")
    assert _put_back(home) == before
    assert unit.exists() == (text is not None)
    if text is not None:
        assert unit.read_text(errors="surrogateescape") == text


def test_a_linked_unit_comes_back_as_a_link(home: Path) -> None:
    unit = home.parent / "x.service"
    unit.symlink_to("/dev/null")
    module.remember(str(home), _look(home))
    unit.unlink()
    unit.write_text("ours")
    _put_back(home)
    assert os.readlink(unit) == "/dev/null"


def test_what_a_killed_run_wrote_down_stays(home: Path) -> None:
    unit = home.parent / "x.service"
    unit.write_text("theirs")
    module.remember(str(home), _look(home, servers=(SERVICE, BARE)))
    unit.write_text("ours")  # and the run is killed here: the foreign server is stopped and disabled
    second = module.remember(str(home), _look(home, servers=({**SERVICE, "enabled": False, "pid": 9}, {**BARE, "pid": 10}), active=False))
    assert second.unit == "theirs"
    assert second.active
    assert [(server["pid"], server["enabled"]) for server in second.servers] == [(7, True), (8, False), (10, False)]
    assert module.read_before(str(home)) == second


def test_a_record_from_before_another_stamp_is_not_believed(home: Path) -> None:
    unit = home.parent / "x.service"
    unit.write_text("old")
    module.remember(str(home), _look(home, "a t1", servers=(SERVICE,)))
    unit.write_text("accepted since")
    fresh = module.remember(str(home), _look(home, "b t2"))
    assert (fresh.unit, fresh.servers) == ("accepted since", ())


@pytest.mark.parametrize("kill", [False, True])
def test_the_key_comes_back_under_its_inode(home: Path, kill: bool) -> None:
    key = home / "secrets/api-key"
    key.write_text("one")
    inode = key.stat().st_ino
    module.remember(str(home), _look(home))
    for value in ("two", "three")[: 2 if kill else 1]:
        (home / "new").write_text(value)
        (home / "new").replace(key)
        if kill:
            module.remember(str(home), _look(home))
    _put_back(home)
    _put_back(home)
    assert (key.read_text(), key.stat().st_ino) == ("one", inode)
    assert module.forget(str(home))
    assert sorted(entry.name for entry in home.rglob("*")) == ["api-key", "secrets"]
    assert not module.forget(str(home))


@pytest.mark.parametrize("stamp", ["", "a t1"])
def test_no_key_before_is_no_key_after_unless_an_accepted_release_may_need_it(home: Path, stamp: str) -> None:
    (home / "secrets").rmdir()
    module.remember(str(home), _look(home, stamp))
    (home / "secrets").mkdir()
    (home / "secrets/api-key").write_text("new")
    _put_back(home)
    assert (home / "secrets").exists() == bool(stamp)


def test_the_unit_s_text_is_for_the_host_alone(home: Path) -> None:
    (home.parent / "x.service").write_text("ExecStart=x --api-key canary")
    before = module.remember(str(home), _look(home))
    assert "canary" not in str(before.shown())
    assert (home / module.BEFORE_FILE).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["", "[]", "null", "{", '{"format": 2}', '{"format": 1}', '{"format": 1, "servers": 3}', "[" * 100_000])
def test_a_damaged_record_is_said_and_written_anew(home: Path, text: str) -> None:
    (home / module.BEFORE_FILE).write_text(text)
    with pytest.raises(SglangError, match="cannot be read") as caught:
        _put_back(home)
    assert caught.value.next_step
    assert module.remember(str(home), _look(home)) == _look(home)
    _put_back(home)


def test_no_record_is_said(home: Path) -> None:
    with pytest.raises(SglangError, match="not known"):
        _put_back(home)


def test_every_field_survives_the_disk(home: Path) -> None:
    before = replace(_look(home, "a t1", (SERVICE,)), unit="text", enabled=True, key=False)
    module.remember(str(home), before)
    read = module.read_before(str(home))
    assert read is not None
    assert asdict(read) == asdict(before)
