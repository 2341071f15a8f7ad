# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Making a bundle: the wheels of the hosts' Python and not this machine's, from a real index over HTTP with the real uv and pip."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.inference.sglang.plugins.module_utils import _bundle as core
from ansible_collections.inference.sglang.plugins.module_utils._bundle_make import BundleMaker, BundleOrder, Lock
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._progress import Progress
from ansible_collections.inference.sglang.plugins.module_utils._python_environment import Source
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_manifest import Manifest
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_store import entry_of, write_manifest

from tests.support.bundle_lab import Index, install_tools, locked, running_index, sha256
from tests.support.snapshot_lab import COLLECTIONS
from tests.support.wheels import make_wheel

PYTHON = "/usr/bin/python3"
COMMIT = "a" * 40
# What the hosts have: never the Python that runs the tests.
TARGET, OTHER = ("3.12", "3.11") if sys.version_info[:2] != (3, 12) else ("3.11", "3.12")

MAKE_AND_DIE = """
import json, os, signal, sys
from ansible_collections.inference.sglang.plugins.module_utils import _bundle_make as made
from ansible_collections.inference.sglang.plugins.module_utils._progress import Progress
from ansible_collections.inference.sglang.plugins.module_utils._python_environment import Source
values = json.load(sys.stdin)
values.update(locks=tuple(made.Lock(*lock) for lock in values["locks"]), source=Source(values["source"]))
maker = made.BundleMaker(made.BundleOrder(**values), Progress(None))
maker._wheels_there = lambda wanted: os.kill(os.getpid(), signal.SIGKILL)
maker.make()
"""


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tools")
    install_tools(path, PYTHON)
    return path


class Shop:
    """An index with a plain, a compiled and an unwanted package, locks over them, and a bundle with a model."""

    def __init__(self, folder: Path, tools: Path, index: Index) -> None:
        self.index, self.tools, self.path = index, tools, folder / "bundle"
        wheels = index.wheels
        self.plain = make_wheel(wheels, "plain", "1.0")
        scratch = make_wheel(folder / "scratch", "fast", "2.0")
        tags = [f"cp{python.replace('.', '')}" for python in (TARGET, OTHER)]
        self.fast, other = (wheels / f"fast-2.0-{tag}-{tag}-manylinux_2_28_x86_64.whl" for tag in tags)
        too_new = wheels / f"fast-2.0-{tags[0]}-{tags[0]}-manylinux_2_39_x86_64.whl"
        for number, path in enumerate((self.fast, other, too_new)):
            path.write_bytes(scratch.read_bytes())
            with path.open("ab") as handle:  # behind a zip's end stands its comment's room: other bytes, the same wheel
                handle.write(b"\0" * number)
        old = make_wheel(wheels, "backport", "3.0")
        self.lock = folder / "sglang-0.5.11.txt"
        self.lock.write_text(
            locked("plain==1.0 ; sys_platform == 'linux'", [self.plain])
            + locked("fast==2.0", [self.fast, other, too_new])
            + locked("backport==3.0 ; python_full_version < '3.9'", [old])
        )
        self.tool_lock = folder / "tool.txt"
        self.tool_lock.write_text(locked("plain==1.0", [self.plain]))
        model = self.path / "models/acme--tiny" / COMMIT
        model.mkdir(parents=True)
        (model / "config.json").write_text("{}")
        self.manifest = f"{model}.manifest.json"
        entry = entry_of(str(model), "config.json", sha256(model / "config.json"), "none")
        record = Manifest("acme/tiny", COMMIT, "main", "hub", "2026-01-01T00:00:00Z", False, str(model), (entry,))
        write_manifest(self.manifest, record)

    def order(self, python: str = TARGET) -> BundleOrder:
        return BundleOrder(
            path=str(self.path),
            sglang="0.5.11",
            python=python,
            locks=(Lock(str(self.lock), "environment"), Lock(str(self.tool_lock), "download tool")),
            uv_lock=str(self.tools / "uv.txt"),
            manifest=self.manifest,
            tools=str(self.tools),
            interpreter=PYTHON,
            source=Source(self.index.url),
            timeout=120,
        )

    def make(self, python: str = TARGET) -> tuple[core.Bundle, bool]:
        return BundleMaker(self.order(python), Progress(None)).make()

    def look(self) -> bool:
        return BundleMaker(self.order(), Progress(None)).look()

    def wheels(self) -> set[str]:
        return {path.name for path in (self.path / "wheels").iterdir()}


@pytest.fixture
def shop(tmp_path: Path, tools: Path) -> Iterator[Shop]:
    (tmp_path / "index").mkdir()
    with running_index(tmp_path / "index") as index:
        yield Shop(tmp_path, tools, index)


def test_wheels_are_the_hosts_and_a_second_run_asks_nobody(shop: Shop) -> None:
    assert shop.look()
    assert not (shop.path / "wheels").exists()
    bundle, changed = shop.make()
    assert changed
    assert shop.wheels() == {shop.plain.name, shop.fast.name}, "not this machine's, not a newer glibc's, not an older Python's"
    listed = {file.file: file for file in bundle.files}
    assert core.load((shop.path / "bundle.json").read_text(), "x") == bundle
    assert (bundle.sglang, bundle.python, bundle.repo, bundle.revision, bundle.requested) == ("0.5.11", TARGET, "acme/tiny", COMMIT, "main")
    for name, file in listed.items():
        assert (file.sha256, file.size) == (sha256(shop.path / name), (shop.path / name).stat().st_size)
    assert {name: file.purpose for name, file in listed.items()} == {
        f"wheels/{shop.plain.name}": "environment, download tool",
        f"wheels/{shop.fast.name}": "environment",
        "locks/sglang-0.5.11.txt": "lock of the environment",
        "locks/tool.txt": "lock of the download tool",
        f"models/acme--tiny/{COMMIT}/config.json": "model",
        f"models/acme--tiny/{COMMIT}.manifest.json": "manifest of the model",
    }
    shop.index.asked.clear()
    assert not shop.look()
    assert shop.make() == (bundle, False)
    assert shop.index.asked == []


@pytest.mark.parametrize(
    "damage", ["cut", "list", pytest.param("gone", marks=pytest.mark.full), pytest.param("lock", marks=pytest.mark.full)]
)
def test_what_is_damaged_is_made_whole_again(shop: Shop, damage: str) -> None:
    bundle, _changed = shop.make()
    wheel = shop.path / "wheels" / shop.fast.name
    if damage == "cut":
        wheel.write_bytes(wheel.read_bytes()[:100])
    elif damage == "gone":
        wheel.unlink()
    elif damage == "list":
        (shop.path / "bundle.json").write_text("{")
    else:
        (shop.path / "locks/tool.txt").write_text("")
    assert shop.look()
    assert shop.make() == (bundle, True)
    assert sha256(wheel) == sha256(shop.fast)
    assert (shop.path / "locks/tool.txt").read_text() == shop.tool_lock.read_text()


def test_a_run_that_is_killed_leaves_nothing_that_looks_whole_and_goes_on(shop: Shop) -> None:
    (shop.path / "bundle.json").write_text("{}")
    values = {**shop.order().__dict__, "source": shop.index.url}
    values["locks"] = [[lock.path, lock.purpose] for lock in shop.order().locks]
    environment = {"PYTHONPATH": str(COLLECTIONS), "PATH": os.environ["PATH"]}
    killed = subprocess.run(
        [sys.executable, "-c", MAKE_AND_DIE], input=json.dumps(values), text=True, capture_output=True, check=False, env=environment
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not (shop.path / "bundle.json").exists()
    shop.index.asked.clear()
    bundle, changed = shop.make()
    assert changed
    assert bundle.python == TARGET
    assert [path for path in shop.index.asked if path.endswith(".whl")] == [], "what came before the kill is not fetched again"


def test_a_wheel_that_is_not_the_locks_is_refused_and_nothing_is_listed(shop: Shop) -> None:
    shutil.copy(shop.plain, shop.index.wheels / "other.whl")
    with shop.plain.open("ab") as handle:
        handle.write(b"tampered")
    with pytest.raises(SglangError) as error:
        shop.make()
    assert "plain" in error.value.found
    assert not (shop.path / "bundle.json").exists()


def test_no_wheel_for_the_hosts_python_is_said(shop: Shop) -> None:
    with pytest.raises(SglangError) as error:
        shop.make("3.13")
    assert "fast" in error.value.found
    assert not (shop.path / "bundle.json").exists()


@pytest.mark.parametrize("version", ["", "3", "3.11.2", "2.7", "python3.11", "3.1000"])
def test_a_python_that_is_no_version_is_refused(version: str) -> None:
    with pytest.raises(SglangError, match="bundle_python"):
        core.require_python(version)


def test_requirements_of_a_lock_keep_every_hash() -> None:
    lock = f"a-b==1.0 \\\n    --hash=sha256:{'1' * 64} \\\n    --hash=sha256:{'2' * 64}\nc_d==2 \\\n    --hash=sha256:{'3' * 64}\n"
    found = core.requirements_of(lock)
    assert found == {"a-b==1.0": frozenset(("1" * 64, "2" * 64)), "c-d==2": frozenset(("3" * 64,))}
    assert core.missing_wheels(found, ["2" * 64]) == ["c-d==2"]
