# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The role ml_env for several hosts: one builds, the others get the environment from each other, at the same path.

Hosts over the local connection. An environment has the same absolute path on all of them, so each host's Python runs in a mount
namespace of its own, where its directory lies at that path.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._listeners import Proc

from tests.support.bundle_lab import write_list_of_wheels
from tests.support.environments import UV
from tests.support.local_fleet import NAMES, LocalFleet
from tests.support.wheels import make_lock, make_wheel

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mount namespaces need root")


class Fleet(LocalFleet):
    """Hosts that share a machine, but not what lies at `place`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "ml_env/build.yml")
        self.place = folder / "opt"
        self.place.mkdir()
        folder.chmod(0o755)
        self.wheels, self.lock, self.uv_lock = folder / "wheels", folder / "lock.txt", folder / "uv.txt"
        names = {"sglang": "0.5.11", "torch": "2.11.0", "transformers": "5.6.0"}
        make_lock(self.lock, [make_wheel(self.wheels, name, version, f"NAME = '{name}'\n") for name, version in names.items()])
        make_lock(self.uv_lock, [make_wheel(self.wheels, "uv", "0.13.9", scripts={"uv": f'#!/bin/sh\nexec {UV} "$@"\n'})])
        for name in NAMES:
            self.host(name).mkdir()
            interpreter = self.interpreter(name)
            # The server of a transfer is a child of the module, so it sees what its host sees.
            mount = f'mount --bind {self.host(name)} {self.place} && exec /usr/bin/python3 "$@"'
            interpreter.write_text(f"#!/bin/sh\nexec unshare --mount --propagation private sh -c '{mount}' python3 \"$@\"\n")
            interpreter.chmod(0o755)

    def interpreter(self, name: str) -> Path:
        return self.folder / f"python-{name}"

    def settings(self, name: str) -> dict[str, Any]:
        return {
            "ansible_python_interpreter": str(self.interpreter(name)),
            "ml_env_root": str(self.place / "envs"),
            "ml_env_link": str(self.place / "ml-env"),
            "ml_env_tools": str(self.place / "tools"),
            "ml_env_python": "/usr/bin/python3",
            "ml_env_lock": str(self.lock),
            "ml_env_uv_lock": str(self.uv_lock),
            "ml_env_wheelhouse": str(self.wheels),
            "ml_env_disk_needed_mib": 10,
            "ml_env_builders": 1,
        }

    def environment(self, name: str) -> Path:
        (found,) = self.host(name).glob("envs/sglang-*")
        return found

    def markers(self) -> dict[str, dict[str, Any]]:
        return {name: json.loads((self.environment(name) / ".complete.json").read_text()) for name in NAMES}

    def builders(self) -> list[str]:
        return [name for name, marker in self.markers().items() if not marker["copied_from"]]

    def spoil(self, name: str) -> None:
        """One flipped byte, which nothing but its hash gives away."""
        (file,) = self.environment(name).glob("lib/python3*/site-packages/torch/__init__.py")
        before = file.stat()
        with file.open("r+b") as handle:
            handle.write(b"M")
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    def lose(self, name: str) -> None:
        for path in sorted(self.host(name).rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    yield Fleet(tmp_path)


def test_one_builds_the_others_copy_and_nothing_is_left_behind(fleet: Fleet) -> None:
    # b cannot serve: whoever is paired with it goes to another peer in a later round.
    fleet.variables["b"]["ml_env_peer_address"] = "192.0.2.77"
    first = fleet.play("-vvv")
    assert first.ok, first.output
    assert fleet.builders() == ["a"]
    assert first.stats["rescued"]["b"] > 0
    markers = fleet.markers()
    assert len({marker["digest"] for marker in markers.values()}) == 1
    assert len({marker["path"] for marker in markers.values()}) == 1
    assert not list(fleet.folder.glob("host-[bcde]/tools/uv*")), "no host but the builder needs uv"
    assert not list(fleet.folder.glob("host-*/envs/.partial-*"))
    assert first.ports
    assert Proc().listeners(sorted(first.ports)) == []
    assert first.secrets == []

    second = fleet.play()
    assert second.ok, second.output
    assert second.changed == 0


@pytest.mark.full
def test_a_new_host_is_served_by_its_peers_and_never_with_a_wrong_byte(fleet: Fleet) -> None:
    assert fleet.play().ok
    fleet.lose("e")
    for name in ("a", "b"):
        fleet.spoil(name)
    # Nothing to build from: what comes, comes from a peer.
    healed = fleet.play(ml_env_wheelhouse=str(fleet.folder / "nothing"))
    assert healed.ok, healed.output
    assert healed.stats["rescued"]["e"] == 2
    assert fleet.markers()["e"]["copied_from"] == "127.0.0.1"
    (file,) = fleet.environment("e").glob("lib/python3*/site-packages/torch/__init__.py")
    assert file.read_text() == "NAME = 'torch'\n"


@pytest.mark.full
def test_a_host_with_another_place_builds_its_own(fleet: Fleet) -> None:
    fleet.variables["d"]["ml_env_root"] = str(fleet.place / "other/envs")
    play = fleet.play()
    assert play.ok, play.output
    (own,) = fleet.host("d").glob("other/envs/sglang-*/.complete.json")
    assert json.loads(own.read_text())["copied_from"] == ""


@pytest.mark.full
def test_a_builder_that_fails_is_said_once_and_another_one_outlives_it(fleet: Fleet) -> None:
    fleet.variables["a"]["ml_env_wheelhouse"] = str(fleet.folder / "nothing")
    refused = fleet.play()
    assert not refused.ok
    assert "No builder has" in refused.output
    served = fleet.play(ml_env_builders=2)
    assert not served.ok, "the builder itself has failed"
    built = [name for name in NAMES if list(fleet.host(name).glob("envs/sglang-*/.complete.json"))]
    assert built == ["b", "c", "d", "e"]


@pytest.mark.full
def test_one_disk_is_enough_for_a_fleet(fleet: Fleet) -> None:
    """The builder alone has the bundle, and no host has an index or a wheelhouse."""
    disk = fleet.folder / "disk"
    shutil.copytree(fleet.wheels, disk / "wheels")
    (disk / "locks").mkdir()
    shutil.copy(fleet.lock, disk / "locks")
    minor = subprocess.run(["/usr/bin/python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True)
    write_list_of_wheels(disk, minor.stdout.strip())
    settings = {"ml_env_wheelhouse": "", "ml_env_index_url": "http://127.0.0.1:9", "ml_env_bundle": "/nowhere/on/this/machine"}
    fleet.variables["a"]["ml_env_bundle"] = str(disk)

    (wheel,) = (disk / "wheels").glob("torch-*.whl")
    whole = wheel.read_bytes()
    wheel.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    refused = fleet.play(**settings)
    assert not refused.ok
    assert wheel.name in refused.output
    assert not list(fleet.folder.glob("host-*/envs/*/.complete.json"))

    wheel.write_bytes(whole)
    served = fleet.play(**settings)
    assert served.ok, served.output
    assert fleet.builders() == ["a"]
    disk.rename(fleet.folder / "unmounted")
    again = fleet.play(**settings)
    assert again.ok, again.output
    assert again.changed == 0


@pytest.mark.full
def test_a_check_run_changes_nothing(fleet: Fleet) -> None:
    predicted = fleet.play("--check")
    assert predicted.ok, predicted.output
    assert predicted.changed >= len(NAMES)
    assert all(not list(fleet.host(name).iterdir()) for name in NAMES)
