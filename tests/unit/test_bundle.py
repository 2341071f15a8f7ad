# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A model and an environment out of a bundle: proven before use, published as from a hub, and nothing asked of a network."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils import basic
from ansible_collections.inference.sglang.plugins.module_utils import _bundle as core
from ansible_collections.inference.sglang.plugins.module_utils._bundle import Bundle, BundleFile
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.modules import python_environment
from hypothesis import given
from hypothesis import strategies as st

from tests.support.bundle_lab import UV, write_list
from tests.support.snapshot_lab import (
    COLLECTIONS,
    REPO,
    RUN_IN_PROCESS,
    SHARDS,
    WANTED,
    assert_published,
    make_model,
    params,
    running_hub,
    snapshot,
)
from tests.support.wheels import make_lock, make_wheel

PYTHON = "/usr/bin/python3"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hub's model, and a bundle with it, with other times than its manifest has: a copy on a disk keeps none."""
    folder = tmp_path_factory.mktemp("made")
    make_model(folder / "hub" / REPO)
    with running_hub(folder / "hub") as hub:
        outcome = snapshot(hub, folder / "bundle/models")
    write_list(folder / "bundle", Path(outcome.manifest))
    for file in Path(outcome.path).iterdir():
        os.utime(file, (1000, 1000))
    return folder


@pytest.fixture
def source(made: Path) -> Path:
    return made / "hub" / REPO


@pytest.fixture
def bundle(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made / "bundle", tmp_path / "bundle"))


def model_of(bundle: Path) -> Path:
    return next(path for path in (bundle / "models/acme--tiny").iterdir() if path.is_dir() and not path.name.startswith("."))


# --- the model ------------------------------------------------------------------------------------------------------------


def test_a_model_is_published_from_a_bundle_and_the_bundle_is_not_needed_again(bundle: Path, source: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in bundle.rglob("*") if path.is_file()}
    predicted = snapshot(None, tmp_path / "models", check_mode=True, bundle=str(bundle))
    assert predicted.changed
    assert not (tmp_path / "models").exists()
    outcome = snapshot(None, tmp_path / "models", bundle=str(bundle), python="")
    assert_published(outcome, source)
    assert (outcome.path, outcome.files, outcome.bytes) == (predicted.path, predicted.files, predicted.bytes)
    manifest = json.loads(Path(outcome.manifest).read_text())
    assert manifest["source"].startswith("http://127.0.0.1"), "where the bytes came from in the first place"
    assert not manifest["adopted"]
    assert before == {path: path.read_bytes() for path in bundle.rglob("*") if path.is_file()}
    shutil.rmtree(bundle)
    assert not snapshot(None, tmp_path / "models", bundle=str(bundle), verify="deep").changed


def test_a_broken_file_is_taken_from_the_bundle_again(bundle: Path, source: Path, tmp_path: Path) -> None:
    outcome = snapshot(None, tmp_path / "models", bundle=str(bundle))
    (Path(outcome.path) / SHARDS[0]).write_bytes(b"broken")
    again = snapshot(None, tmp_path / "models", bundle=str(bundle))
    assert again.repaired_files == [SHARDS[0]]
    assert_published(again, source)


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))


def to_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


DAMAGE: dict[str, Callable[[Path], Any]] = {
    "one bit": flip,
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"x"),
    "gone": Path.unlink,
    "a pipe": to_fifo,
    "a loop": lambda path: (path.unlink(), path.symlink_to(path)),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", ["config.json", SHARDS[1], "manifest"])
def test_a_damaged_file_is_named_and_nothing_is_published(bundle: Path, source: Path, tmp_path: Path, damage: str, name: str) -> None:
    whole = tmp_path / "whole"
    shutil.copytree(bundle, whole)
    path = Path(f"{model_of(bundle)}.manifest.json") if name == "manifest" else model_of(bundle) / name
    DAMAGE[damage](path)
    with pytest.raises(SglangError) as error:
        snapshot(None, tmp_path / "models", bundle=str(bundle))
    assert path.name in str(error.value)
    assert error.value.next_step
    home = tmp_path / "models/acme--tiny"
    assert not [entry for entry in home.iterdir() if not entry.name.startswith(".") and entry.name != "refs.json"]
    # The whole copy is taken up where the damaged one was left.
    outcome = snapshot(None, tmp_path / "models", bundle=str(whole))
    assert_published(outcome, source)
    assert name != SHARDS[1] or len(outcome.fetched_files) < len(WANTED)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"format": 2}', '{"format": 1, "files": {}}', "[" * 100_000])
def test_a_list_that_cannot_be_read_is_said(bundle: Path, tmp_path: Path, text: str) -> None:
    (bundle / "bundle.json").write_text(text)
    with pytest.raises(SglangError, match=r"bundle\.json"):
        snapshot(None, tmp_path / "models", bundle=str(bundle))


def test_no_bundle_is_said(tmp_path: Path) -> None:
    with pytest.raises(SglangError, match="There is no bundle"):
        snapshot(None, tmp_path / "models", bundle=str(tmp_path / "nothing"))


@pytest.mark.parametrize("change", [{"repo": "acme/other"}, {"revision": "0" * 40}, {"revision": "v2"}])
def test_another_model_is_refused(bundle: Path, tmp_path: Path, change: dict[str, str]) -> None:
    with pytest.raises(SglangError, match="holds another model"):
        snapshot(None, tmp_path / "models", bundle=str(bundle), **change)


def test_a_directory_that_is_there_is_adopted_also_on_a_site_with_a_bundle(bundle: Path, source: Path, tmp_path: Path) -> None:
    for other in (str(bundle), str(tmp_path / "nothing")):
        outcome = snapshot(None, tmp_path / "models", bundle=other, path=str(source), repo="acme/other", retries=0)
        assert outcome.adopted
        assert outcome.path == str(source)


KILL_AT = """
import os, signal
count = 0
real = os.replace
def replace(*arguments, **options):
    global count
    count += 1
    if count > {last}:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*arguments, **options)
os.replace = replace
"""


def test_a_run_that_is_killed_goes_on(bundle: Path, source: Path, tmp_path: Path) -> None:
    values = params(None, tmp_path / "models", bundle=str(bundle))
    environment = {"PYTHONPATH": str(COLLECTIONS), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-c", KILL_AT.format(last=4) + RUN_IN_PROCESS]
    killed = subprocess.run(command, input=json.dumps(values), text=True, capture_output=True, check=False, env=environment)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    outcome = snapshot(None, tmp_path / "models", bundle=str(bundle))
    assert_published(outcome, source)
    assert 0 < len(outcome.fetched_files) < len(WANTED), "what was copied and proven stays"


# --- the environment ------------------------------------------------------------------------------------------------------


class Wheels:
    """A bundle with wheels, and the module called with it."""

    def __init__(self, bundle: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.bundle, self._monkeypatch, self._capsys = bundle, monkeypatch, capsys
        self.wheel = make_wheel(bundle / "wheels", "sglang", "0.5.11", "VALUE = 1\n")
        (bundle / "locks").mkdir()
        self.lock = make_lock(bundle / "locks/lock.txt", [self.wheel])
        self.list()

    def list(self, **changes: str) -> None:
        write_list(self.bundle, Path(f"{model_of(self.bundle)}.manifest.json"), **changes)

    def build(self, check: bool = False, **changes: Any) -> dict[str, Any]:
        folder = self.bundle.parent
        arguments = {
            "name": "sglang-0.5.11",
            "root": str(folder / "envs"),
            "tools": str(folder / "tools"),
            "lock": str(self.lock),
            "python": PYTHON,
            "uv": str(UV),
            "bundle": str(self.bundle),
            "index_url": "http://127.0.0.1:9/simple",
            "imports": ["sglang"],
            "_ansible_check_mode": check,
            **changes,
        }
        self._monkeypatch.setattr(basic, "_ANSIBLE_ARGS", json.dumps({"ANSIBLE_MODULE_ARGS": arguments}).encode())
        self._monkeypatch.setattr(basic, "_ANSIBLE_PROFILE", "legacy", raising=False)
        self._capsys.readouterr()
        with pytest.raises(SystemExit):
            python_environment.main()
        result: dict[str, Any] = json.loads(self._capsys.readouterr().out.strip().splitlines()[-1])
        return result


@pytest.fixture
def wheels(bundle: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Wheels:
    wheels = Wheels(bundle, monkeypatch, capsys)
    version = subprocess.run(
        [PYTHON, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], check=True, capture_output=True, text=True
    )
    wheels.list(python=version.stdout.strip())
    return wheels


def test_an_environment_is_built_from_a_bundle_that_is_not_needed_again(wheels: Wheels) -> None:
    assert wheels.build(check=True)["built"]
    built = wheels.build()
    assert built["built"], built
    shutil.rmtree(wheels.bundle / "wheels")
    (wheels.bundle / "bundle.json").unlink()
    assert not wheels.build()["changed"]


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_wheel_is_named_and_nothing_is_built(wheels: Wheels, damage: str) -> None:
    DAMAGE[damage](wheels.wheel)
    refused = wheels.build()
    assert wheels.wheel.name in refused["error"]["found"], refused
    assert not (wheels.bundle.parent / "envs").exists()


def test_a_bundle_for_another_python_or_lock_is_refused_also_in_check_mode(wheels: Wheels, tmp_path: Path) -> None:
    other = make_lock(tmp_path / "other.txt", [make_wheel(tmp_path / "w", "sglang", "0.5.23")])
    for check in (True, False):
        assert "its locks are others" in wheels.build(check, lock=str(other))["error"]["found"]
    wheels.list(python="3.99")
    for check in (True, False):
        assert "made for Python 3.99" in wheels.build(check)["error"]["found"]


# --- the list -------------------------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["format", "files", "file", "size", "sha256"]), inner),
    max_leaves=8,
)


@given(JSON, st.sampled_from(["", "files", "python", "format"]))
def test_any_json_is_a_bundle_or_an_error(value: Any, place: str) -> None:
    good = json.loads(core.dump(Bundle("0.5.11", "3.11", "linux-x86_64", REPO, "0" * 40, "main", ())))
    data = {**good, place: value} if place else value
    try:
        bundle = core.load(json.dumps(data), "here")
    except SglangError as error:
        assert "here" in error.found
    else:
        assert core.load(core.dump(bundle), "here") == bundle


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "wheels/../../x", "wheels//x", ".lock", "a\0b"])
def test_no_file_of_a_list_leads_out_of_the_bundle(name: str) -> None:
    bundle = Bundle("0.5.11", "3.11", "linux-x86_64", REPO, "0" * 40, "main", (BundleFile(name, 1, "0" * 64, "x"),))
    with pytest.raises(SglangError):
        core.load(core.dump(bundle), "here")
