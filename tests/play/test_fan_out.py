# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The role model_shards for several hosts: one asks a real HTTP hub, the others get the model from each other."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ansible_runner
import pytest
from ansible_collections.inference.sglang.plugins.module_utils._listeners import Proc

from tests.support.hub.mockhub import Hub
from tests.support.snapshot_lab import REPO, SHARDS, WANTED, make_model, running_hub, sent_bytes

ROOT = Path(__file__).resolve().parents[2]
PLAYBOOK = Path(__file__).resolve().parent / "model_shards" / "play.yml"
NAMES = ("a", "b", "c", "d", "e")


@dataclass
class Play:
    ok: bool
    output: str
    changed: int
    stats: dict[str, dict[str, int]]


class Fleet:
    """Hosts over the local connection, each with its own place for models."""

    def __init__(self, folder: Path, hub: Hub, tools: Path) -> None:
        self.folder, self.hub, self.tools = folder, hub, tools
        self.variables: dict[str, dict[str, Any]] = {name: {} for name in NAMES}

    def root(self, name: str) -> Path:
        return self.folder / f"host-{name}"

    def published(self, name: str) -> list[Path]:
        return sorted(path for path in self.root(name).glob("acme--tiny/[0-9a-f]*") if path.is_dir())

    def play(self, options: str = "", **variables: Any) -> Play:
        scratch = self.folder / f"runner-{len(list(self.folder.glob('runner-*')))}"
        (scratch / "inventory").mkdir(parents=True)
        hosts = {
            name: {
                "ansible_connection": "local",
                "ansible_host": "127.0.0.1",
                "ansible_python_interpreter": "/usr/bin/python3",
                "model_shards_root": str(self.root(name)),
                "model_shards_tools": str(self.tools),
                "model_shards_repo": REPO,
                "model_shards_endpoint": self.hub.url,
                "model_shards_retries": 1,
                "model_shards_seeds": 1,
                **variables,
                **own,
            }
            for name, own in self.variables.items()
        }
        (scratch / "inventory" / "hosts.json").write_text(json.dumps({"all": {"hosts": hosts}}))
        (scratch / "ansible.cfg").write_text("[defaults]\n")
        done = ansible_runner.run(
            private_data_dir=str(scratch),
            playbook=str(PLAYBOOK),
            envvars={
                "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
                "ANSIBLE_CONFIG": str(scratch / "ansible.cfg"),
                "ANSIBLE_NOCOLOR": "1",
                "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            },
            cmdline=options or None,
            quiet=True,
        )
        stats = done.stats or {}
        return Play(done.rc == 0, done.stdout.read(), sum(stats.get("changed", {}).values()), stats)

    def assert_whole(self, source: Path) -> None:
        """Every host has the same one revision, byte for byte."""
        for name in NAMES:
            (published,) = self.published(name)
            assert sorted(path.name for path in published.iterdir()) == WANTED
            for file in WANTED:
                assert (published / file).read_bytes() == (source / file).read_bytes()
        assert len({self.published(name)[0].name for name in NAMES}) == 1


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tools")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return make_model(tmp_path / "hub" / REPO)


@pytest.fixture
def fleet(tmp_path: Path, source: Path, tools: Path) -> Iterator[Fleet]:
    with running_hub(tmp_path / "hub") as hub:
        yield Fleet(tmp_path, hub, tools)


def size_of(source: Path) -> int:
    return sum((source / name).stat().st_size for name in WANTED)


def ports_of(output: str) -> list[int]:
    """Of the servers that a run has told about."""
    return [int(port) for port in re.findall(r"http://127\.0\.0\.1:(\d+)", output)]


def tokens_in(output: str) -> list[str]:
    """What looks like the token of a transfer; commits have its length, and only hexadecimal digits."""
    words = re.findall(r"\b[A-Za-z0-9]{40}\b", output)
    return [word for word in words if not re.fullmatch("[0-9a-f]{40}", word)]


def test_the_hub_is_asked_once_and_nothing_is_left_behind(fleet: Fleet, source: Path) -> None:
    # b cannot serve: whoever is paired with it goes to another peer in a later round.
    fleet.variables["b"]["model_shards_peer_address"] = "192.0.2.77"
    first = fleet.play("-vvv")
    assert first.ok, first.output
    fleet.assert_whole(source)
    assert first.stats["rescued"]["b"] > 0
    assert sent_bytes(fleet.hub) == size_of(source)
    peers = set(ports_of(first.output)) - {fleet.hub.server_address[1]}
    assert peers
    assert Proc().listeners(sorted(peers)) == []
    assert tokens_in(first.output) == []

    fleet.hub.log.clear()
    second = fleet.play()
    assert second.ok, second.output
    assert second.changed == 0
    assert fleet.hub.log == []


@pytest.mark.full
def test_a_new_host_and_a_broken_one_are_served_by_their_peers(fleet: Fleet, source: Path) -> None:
    assert fleet.play().ok
    fleet.hub.log.clear()
    (lost,), (broken,) = fleet.published("b"), fleet.published("d")
    for path in sorted(lost.parent.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    shard = broken / SHARDS[0]
    before = shard.stat()
    with shard.open("r+b") as handle:
        handle.seek(-1, os.SEEK_END)
        handle.write(bytes([(source / SHARDS[0]).read_bytes()[-1] ^ 1]))
    os.utime(shard, ns=(before.st_atime_ns, before.st_mtime_ns))
    healed = fleet.play(model_shards_verify="deep")
    assert healed.ok, healed.output
    fleet.assert_whole(source)
    assert fleet.hub.log == []


@pytest.mark.full
def test_a_branch_that_moves_moves_for_all(fleet: Fleet, source: Path) -> None:
    assert fleet.play().ok
    (source / "merges.txt").write_text("c d\n")
    assert fleet.play().changed == 0, "until it is asked for, a branch means what it meant"
    moved = fleet.play(model_shards_refresh=True)
    assert moved.ok, moved.output
    assert len({fleet.published(name)[-1].name for name in NAMES}) >= 1
    for name in NAMES:
        texts = {(path / "merges.txt").read_text() for path in fleet.published(name)}
        assert texts == {"a b\n", "c d\n"}


@pytest.mark.full
def test_a_seed_that_fails_is_said_once_and_another_seed_outlives_it(fleet: Fleet, source: Path) -> None:
    fleet.variables["a"]["model_shards_endpoint"] = "http://127.0.0.1:9"
    refused = fleet.play()
    assert not refused.ok
    assert "No seed has acme/tiny@main" in refused.output
    assert all(not fleet.published(name) for name in NAMES)
    served = fleet.play(model_shards_seeds=2)
    assert not served.ok, "the seed itself has failed"
    assert [name for name in NAMES if fleet.published(name)] == ["b", "c", "d", "e"]
    assert sent_bytes(fleet.hub) == size_of(source)


@pytest.mark.full
def test_a_check_run_says_what_each_host_would_fetch(fleet: Fleet) -> None:
    predicted = fleet.play("--check")
    assert predicted.ok, predicted.output
    assert predicted.changed >= len(NAMES)
    assert all(not fleet.root(name).exists() for name in NAMES)
