# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The role model_shards for several hosts: one asks a real HTTP hub, the others get the model from each other."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._listeners import Proc

from tests.support.hub.mockhub import Hub
from tests.support.local_fleet import NAMES, LocalFleet
from tests.support.snapshot_lab import REPO, SHARDS, WANTED, make_model, running_hub, sent_bytes


class Fleet(LocalFleet):
    """Each host has its own place for models."""

    def __init__(self, folder: Path, hub: Hub, tools: Path) -> None:
        super().__init__(folder, "model_shards/play.yml")
        self.hub, self.tools = hub, tools

    def settings(self, name: str) -> dict[str, Any]:
        return {
            "model_shards_root": str(self.host(name)),
            "model_shards_tools": str(self.tools),
            "model_shards_repo": REPO,
            "model_shards_endpoint": self.hub.url,
            "model_shards_retries": 1,
            "model_shards_seeds": 1,
        }

    def published(self, name: str) -> list[Path]:
        return sorted(path for path in self.host(name).glob("acme--tiny/[0-9a-f]*") if path.is_dir())

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


def test_the_hub_is_asked_once_and_nothing_is_left_behind(fleet: Fleet, source: Path) -> None:
    # b cannot serve: whoever is paired with it goes to another peer in a later round.
    fleet.variables["b"]["model_shards_peer_address"] = "192.0.2.77"
    first = fleet.play("-vvv")
    assert first.ok, first.output
    fleet.assert_whole(source)
    assert first.stats["rescued"]["b"] > 0
    assert sent_bytes(fleet.hub) == size_of(source)
    peers = first.ports - {fleet.hub.server_address[1]}
    assert peers
    assert Proc().listeners(sorted(peers)) == []
    assert first.secrets == []

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
def test_seeds_that_asked_before_and_after_a_branch_moved_end_at_one_commit(fleet: Fleet, tmp_path: Path) -> None:
    (make_model(tmp_path / "moved" / REPO) / "merges.txt").write_text("c d\n")
    with running_hub(tmp_path / "moved") as moved:
        fleet.variables["b"]["model_shards_endpoint"] = moved.url
        play = fleet.play(model_shards_seeds=2)
        assert play.ok, play.output
        (first,) = fleet.published("a")
        assert set(re.findall(r'"revision": "([0-9a-f]{40})"', play.output)) == {first.name}, "what the other roles are told"
        assert all(first.name in {path.name for path in fleet.published(name)} for name in NAMES)
        again = fleet.play(model_shards_seeds=2)
        assert again.ok, again.output
        assert again.changed == 0


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
    assert all(not fleet.host(name).exists() for name in NAMES)
