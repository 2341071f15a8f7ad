# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Release ids, stamps and the difference that drives a restart."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Optional

import pytest
from ansible_collections.inference.sglang.plugins.module_utils import _release_files as files
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._release import (
    Live,
    ReleaseParts,
    Stamp,
    Wanted,
    check_release_id,
    difference,
    parse_stamp,
    release_id,
    releases_to_prune,
    sha256_text,
)

PARTS = ReleaseParts(environment_digest="e1", model_revision="r1", unit_template="[Unit]\n", launcher="print()", weights="w1")
STAMP = Stamp(id="a" * 16, unit_sha256="u1", launcher_sha256="l1", drop_ins={"/etc/x.conf": "d1"}, key="1:2:3")
WANTED = Wanted(id="a" * 16, unit_sha256="u1", launcher_sha256="l1", wants_key=True)
LIVE = Live(
    unit_sha256="u1", launcher_sha256="l1", drop_ins={"/etc/x.conf": "d1"}, active=True, enabled=True, key="1:2:3", state="active, running"
)


def _live(**changes: object) -> Live:
    return dataclasses.replace(LIVE, **changes)


def _wanted(**changes: object) -> Wanted:
    return dataclasses.replace(WANTED, **changes)


def test_every_part_makes_another_release() -> None:
    ids = {release_id(PARTS)} | {release_id(dataclasses.replace(PARTS, **{name: "x"})) for name in PARTS.__dataclass_fields__}
    assert len(ids) == 1 + len(PARTS.__dataclass_fields__)
    assert all(check_release_id(identifier) for identifier in ids)
    assert release_id(PARTS) == release_id(dataclasses.replace(PARTS))


@pytest.mark.parametrize("name", ["", "../../etc", "A" * 16, "a" * 15, "a" * 16 + "/"])
def test_a_release_id_is_never_a_path(name: str) -> None:
    with pytest.raises(SglangError, match="release id"):
        check_release_id(name)


def test_a_converged_host_has_no_reason() -> None:
    found = difference(WANTED, STAMP, LIVE)
    assert found.converged
    assert found.reasons == ()


@pytest.mark.parametrize(
    ("wanted", "stamp", "live", "reason"),
    [
        (WANTED, None, Live(), "no release of this instance has been accepted"),
        (WANTED, None, LIVE, "no release of this instance has been accepted"),
        (_wanted(id="b" * 16, unit_sha256="u2"), STAMP, LIVE, "is the accepted one"),
        (_wanted(id="b" * 16, unit_sha256="u2"), STAMP, _live(unit_sha256="u2"), "is the accepted one"),
        (WANTED, STAMP, _live(unit_sha256="edited"), "changed by hand"),
        (WANTED, STAMP, _live(unit_sha256=None), "unit file is not there"),
        (WANTED, STAMP, _live(launcher_sha256="edited"), "launcher"),
        (WANTED, STAMP, _live(drop_ins={}), "drop-in /etc/x.conf is gone"),
        (WANTED, STAMP, _live(drop_ins={"/etc/x.conf": "d2"}), "drop-in /etc/x.conf was changed"),
        (WANTED, STAMP, _live(drop_ins={"/etc/x.conf": "d1", "/etc/y.conf": "d"}), "new drop-in /etc/y.conf"),
        (WANTED, STAMP, _live(active=False, state="failed, failed"), "not running (failed, failed)"),
        (WANTED, STAMP, _live(needs_reload=True), "has not read"),
        (WANTED, STAMP, _live(key="9:9:9"), "API key file"),
        (WANTED, STAMP, _live(release="b" * 16), "was started as release " + "b" * 16),
        (_wanted(key_changes=True), STAMP, LIVE, "API key changes"),
    ],
)
def test_each_difference_restarts_and_says_why(wanted: Wanted, stamp: Stamp, live: Live, reason: str) -> None:
    found = difference(wanted, stamp, live)
    assert found.restart
    assert any(reason in line for line in found.reasons), found.reasons


def test_a_disabled_unit_is_enabled_without_a_restart() -> None:
    found = difference(WANTED, STAMP, _live(enabled=False))
    assert (found.restart, found.enable, found.converged) == (False, True, False)


def test_owners_and_modes_are_repaired_without_a_restart() -> None:
    found = difference(WANTED, STAMP, _live(amiss=("the key is open",)))
    assert (found.restart, found.enable, found.converged) == (False, False, False)
    assert found.reasons == ("the key is open",)


@pytest.mark.parametrize("release", ["", "a" * 16])
def test_the_process_of_the_accepted_release_is_left_alone(release: str) -> None:
    assert difference(WANTED, STAMP, _live(release=release)).converged


def test_no_key_wanted_means_no_look_at_the_key_file() -> None:
    assert difference(_wanted(wants_key=False), STAMP, _live(key="9:9:9")).converged


def test_stamps_survive_the_disk() -> None:
    assert parse_stamp(STAMP.as_json(), "accepted.json") == STAMP
    assert parse_stamp(None, "accepted.json") is None


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": 99, "id": "x"}', '{"format": 1}'])
def test_a_broken_stamp_is_an_error_with_a_next_step(text: str) -> None:
    with pytest.raises(SglangError, match="cannot be read") as caught:
        parse_stamp(text, "accepted.json")
    assert caught.value.next_step


def test_prunes_the_oldest_but_never_what_a_rollback_needs() -> None:
    present = {"old": 1.0, "previous": 2.0, "failed": 3.0, "accepted": 4.0, "newer": 5.0}
    assert releases_to_prune(present, 3, ("accepted", "previous")) == ["failed", "old"]
    assert releases_to_prune(present, 1, ("accepted", "previous")) == ["failed", "newer", "old"]
    assert releases_to_prune(present, 9, ("accepted", "previous")) == []
    assert releases_to_prune(present, 2, ("accepted", "gone")) == ["failed", "old", "previous"]


# ----- on disk -----
def test_a_published_release_is_whole_or_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "releases" / ("a" * 16)
    files.publish(str(target), {"x.service": "one", "release.json": "{}"})
    assert files.same_files(str(target), {"x.service": "one"})
    monkeypatch.setattr(os, "rename", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        files.publish(str(tmp_path / "releases" / ("b" * 16)), {"x.service": "two"})
    assert [entry.name for entry in (tmp_path / "releases").iterdir()] == ["a" * 16]


def test_the_service_user_can_reach_a_release_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        files.publish(str(tmp_path / "instances/i/releases/x"), {"launcher.py": "one"})
    finally:
        os.umask(before)
    for path in ("instances", "instances/i", "instances/i/releases", "instances/i/releases/x"):
        assert (tmp_path / path).stat().st_mode & 0o777 == 0o755, path
    assert (tmp_path / "instances/i/releases/x/launcher.py").stat().st_mode & 0o777 == 0o644


def test_a_damaged_release_is_replaced(tmp_path: Path) -> None:
    target = tmp_path / "releases" / ("a" * 16)
    files.publish(str(target), {"x.service": "one"})
    (target / "x.service").write_text("edited")
    files.publish(str(target), {"x.service": "one"})
    assert (target / "x.service").read_text() == "one"
    assert len(list((tmp_path / "releases").iterdir())) == 1


def test_the_stamp_before_is_kept_for_the_rollback(tmp_path: Path) -> None:
    newer = dataclasses.replace(STAMP, id="b" * 16)
    files.write_accepted(str(tmp_path), STAMP)
    assert files.read_stamp(str(tmp_path), files.PREVIOUS_FILE) is None
    files.write_accepted(str(tmp_path), newer)
    files.write_accepted(str(tmp_path), newer)
    assert files.read_stamp(str(tmp_path), files.ACCEPTED_FILE) == newer
    assert files.read_stamp(str(tmp_path), files.PREVIOUS_FILE) == STAMP


def test_what_a_killed_run_left_half_written_is_pruned(tmp_path: Path) -> None:
    for name in (".partial-x", "a" * 16, "c" * 16):
        (tmp_path / "releases" / name).mkdir(parents=True)
    files.write_accepted(str(tmp_path), STAMP)
    assert files.prunable(str(tmp_path), 1) == [".partial-x", "c" * 16]
    files.prune(str(tmp_path), files.prunable(str(tmp_path), 1))
    assert [entry.name for entry in (tmp_path / "releases").iterdir()] == ["a" * 16]


def test_what_lies_beside_the_releases_is_nobody_s_to_remove(tmp_path: Path) -> None:
    releases = tmp_path / "releases"
    for name in ("a" * 16, "c" * 16, "backup", ".partial-x"):
        (releases / name).mkdir(parents=True)
    for name in ("NOTES", "d" * 16, ".partial-file"):
        (releases / name).write_text("")
    files.write_accepted(str(tmp_path), STAMP)
    assert files.present_releases(str(tmp_path)) == ["a" * 16, "c" * 16]
    assert files.prunable(str(tmp_path), 1) == [".partial-x", "c" * 16]
    files.prune(str(tmp_path), files.prunable(str(tmp_path), 1))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"id unit"', "{}", '{"id": 1}', "[" * 100_000, "NaN"])
def test_a_damaged_record_is_an_error_with_a_next_step(tmp_path: Path, text: str) -> None:
    (tmp_path / files.RELEASE_FILE).write_text(text)
    with pytest.raises(SglangError, match="damaged") as caught:
        files.read_release(str(tmp_path))
    assert caught.value.next_step


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000])
def test_a_damaged_stamp_before_the_accepted_one_stops_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "releases" / ("a" * 16)).mkdir(parents=True)
    (tmp_path / files.PREVIOUS_FILE).write_text(text)
    stamp, damage = files.read_previous(str(tmp_path))
    assert stamp is None
    assert "previous.json" in damage
    files.write_accepted(str(tmp_path), STAMP)
    assert files.prunable(str(tmp_path), 1) == []


@pytest.mark.parametrize(("place", "mode"), [("", 0o700), ("x.service", 0o600), ("launcher.py", 0o666), ("..", 0o700), ("../..", 0o700)])
def test_a_release_that_was_closed_is_published_again(tmp_path: Path, place: str, mode: int) -> None:
    target, wanted = tmp_path / "home/releases" / ("a" * 16), {"x.service": "one", "launcher.py": "two"}
    files.publish(str(target), wanted)
    assert files.same_files(str(target), wanted)
    (target / place).chmod(mode)
    assert not files.same_files(str(target), wanted)
    files.publish(str(target), wanted)
    assert files.same_files(str(target), wanted)


UNIT = "sglang-x.service"
RECORD = json.dumps(dict.fromkeys(("id", "unit", "unit_sha256", "launcher_sha256", "environment", "model", "serving"), ""))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("release.json", "", "record is damaged"),
        ("release.json", "[]", "record is damaged"),
        ("release.json", "{}", "record is damaged"),
        ("release.json", None, "not on this host"),
        (UNIT, "", "the unit that the release keeps is damaged"),
        (UNIT, None, "the unit that the release keeps is damaged"),
    ],
)
def test_a_release_that_could_not_be_proven_or_gone_back_to_is_staged_anew(
    tmp_path: Path, name: str, text: Optional[str], said: str
) -> None:
    target = tmp_path / "releases" / ("a" * 16)
    files.publish(str(target), {"release.json": RECORD, UNIT: "unit"})
    assert files.damage_of(str(target), UNIT, sha256_text("unit")) == ()
    (target / name).unlink()
    if text is not None:
        (target / name).write_text(text)
    (damage,) = files.damage_of(str(target), UNIT, sha256_text("unit"))
    assert said in damage
    found = difference(WANTED, STAMP, _live(amiss=(damage,)))
    assert (found.restart, found.converged) == (False, False)


def test_a_release_that_is_not_staged_yet_is_not_damaged(tmp_path: Path) -> None:
    assert files.damage_of(str(tmp_path / "none"), UNIT, "") == ()


def test_a_missing_release_says_where_to_look(tmp_path: Path) -> None:
    with pytest.raises(SglangError, match="not on this host"):
        files.read_release(str(tmp_path / "releases" / "x"))
