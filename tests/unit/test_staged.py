# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The fast look at environment and model says the same as the roles' own modules: nothing to do, or something."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.inference.sglang.plugins.module_utils import _snapshot_store as store
from ansible_collections.inference.sglang.plugins.module_utils._environment_survey import probe_interpreter
from ansible_collections.inference.sglang.plugins.module_utils._python_environment import (
    Marker,
    environment_digest,
    environment_path,
)
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_manifest import Manifest
from ansible_collections.inference.sglang.plugins.module_utils._staged import staged_environment, staged_model

LOCK = "0" * 64
COMMIT = "c" * 40


def environment(folder: Path) -> tuple[dict[str, Any], Path]:
    digest = environment_digest(LOCK, probe_interpreter(sys.executable))
    path = Path(environment_path(str(folder / "envs"), "sglang-0.5.11", digest))
    (path / "bin").mkdir(parents=True)
    (path / "bin/python").symlink_to(sys.executable)
    text = Marker(str(path), "sglang-0.5.11", digest, LOCK, "3.11.2", "linux", "0.9", {"sglang": "0.5.11"}).to_json()
    (path / ".complete.json").write_text(text)
    (folder / "ml-env").symlink_to(path)
    wanted = {"name": "sglang-0.5.11", "root": str(folder / "envs"), "link": str(folder / "ml-env"), "lock": str(folder / "lock.txt")}
    return {**wanted, "lock_sha256": LOCK, "python": sys.executable, "adopt": False, "release": "0.5.11", "used": True}, path


def test_a_complete_environment_is_found_without_its_role(tmp_path: Path) -> None:
    wanted, path = environment(tmp_path)
    found = staged_environment(wanted)
    assert (found.path, found.faults) == (str(path), ())
    assert found.path.endswith(found.digest[:12])


def other_marker(path: Path, _folder: Path) -> None:
    (path / ".complete.json").write_text((path / ".complete.json").read_text().replace('"digest": "', '"digest": "x'))


def no_marker(path: Path, _folder: Path) -> None:
    (path / ".complete.json").unlink()


def cut_marker(path: Path, _folder: Path) -> None:
    (path / ".complete.json").write_text("{")


def other_link(_path: Path, folder: Path) -> None:
    (folder / "ml-env").unlink()
    (folder / "ml-env").symlink_to(folder)


def no_interpreter(path: Path, _folder: Path) -> None:
    (path / "bin/python").unlink()


@pytest.mark.parametrize("change", [other_marker, no_marker, cut_marker, other_link, no_interpreter])
def test_what_was_changed_in_an_environment_is_seen(change: Any, tmp_path: Path) -> None:
    wanted, path = environment(tmp_path)
    change(path, tmp_path)
    (fault,) = staged_environment(wanted).faults
    assert fault.startswith("the environment: ")


def test_another_lock_is_another_environment(tmp_path: Path) -> None:
    wanted, _path = environment(tmp_path)
    assert staged_environment({**wanted, "lock_sha256": "1" * 64}).faults
    assert staged_environment({**wanted, "lock_sha256": ""}).faults


def model(folder: Path, adopted: bool) -> tuple[dict[str, Any], Path]:
    root = folder / "models"
    place = store.Place(str(root), "acme/tiny")
    path = folder / "given" if adopted else Path(place.published(COMMIT))
    path.mkdir(parents=True)
    for name in ("config.json", "a.safetensors"):
        (path / name).write_text(name)
    entries = tuple(store.entry_of(str(path), name, "d" * 64, "none") for name in ("a.safetensors", "config.json"))
    manifest = Manifest("acme/tiny", COMMIT, "main", "none", "now", adopted, str(path), entries)
    where = store.adopted_manifest(str(root), str(path)) if adopted else place.manifest(COMMIT)
    store.write_manifest(where, manifest)
    if not adopted:
        store.record_ref(place, "main", COMMIT, "hub")
    wanted = {"root": str(root), "repo": "acme/tiny", "revision": "main", "refresh": False, "path": str(path) if adopted else ""}
    return {**wanted, "patterns": ["*.safetensors", "*.json"], "used": True, "named": True}, path


BOTH = pytest.mark.parametrize("adopted", [False, True], ids=["published", "adopted"])


@BOTH
def test_a_whole_model_is_found_without_its_role(adopted: bool, tmp_path: Path) -> None:
    wanted, path = model(tmp_path, adopted)
    found = staged_model(wanted)
    assert (found.path, found.revision, found.repo, found.faults) == (str(path), COMMIT, "acme/tiny", ())
    assert os.path.exists(found.manifest)


def longer(path: Path) -> None:
    with open(path / "a.safetensors", "a", encoding="utf-8") as handle:
        handle.write("x")


def same_size(path: Path) -> None:
    (path / "a.safetensors").write_text("A.safetensors")
    os.utime(path / "a.safetensors", (1, 1))


def gone(path: Path) -> None:
    (path / "config.json").unlink()


@BOTH
@pytest.mark.parametrize(("change", "words"), [(longer, "another size"), (same_size, "changed since"), (gone, "missing")])
def test_what_was_changed_in_a_model_is_seen(adopted: bool, change: Any, words: str, tmp_path: Path) -> None:
    wanted, path = model(tmp_path, adopted)
    change(path)
    (fault,) = staged_model(wanted).faults
    assert words in fault


@BOTH
@pytest.mark.parametrize("change", [{"revision": "other"}, {"refresh": True}, {"repo": "acme/other"}], ids=str)
def test_another_wish_is_another_model(adopted: bool, change: dict[str, Any], tmp_path: Path) -> None:
    wanted, _path = model(tmp_path, adopted)
    assert staged_model({**wanted, **change}).faults


@BOTH
def test_a_damaged_manifest_is_a_fault_and_no_crash(adopted: bool, tmp_path: Path) -> None:
    wanted, _path = model(tmp_path, adopted)
    Path(staged_model(wanted).manifest).write_text("{")
    assert staged_model(wanted).faults


def test_a_file_more_counts_only_where_the_directory_is_somebody_elses(tmp_path: Path) -> None:
    for adopted in (False, True):
        wanted, path = model(tmp_path / str(adopted), adopted)
        (path / "b.safetensors").write_text("b")
        assert bool(staged_model(wanted).faults) is adopted
