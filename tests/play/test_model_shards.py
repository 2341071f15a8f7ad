# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The role model_shards through ansible-runner over the local connection: its own tool environment, a real HTTP hub, a canary token."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ansible_runner
import pytest

from tests.support.hub.mockhub import Hub
from tests.support.snapshot_lab import REPO, SHARDS, WANTED, Watcher, file_requests, make_model, running_hub

ROOT = Path(__file__).resolve().parents[2]
PLAYBOOK = Path(__file__).resolve().parent / "model_shards" / "play.yml"
CANARY = "hf_canaryPlay" + "8" * 20


@dataclass
class Play:
    status: str
    output: str
    changed: int
    published: dict[str, Any]
    failures: list[dict[str, Any]]


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built by the first play, found by the others."""
    return tmp_path_factory.mktemp("tools")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return make_model(tmp_path / "hub" / REPO)


@pytest.fixture
def hub(tmp_path: Path, source: Path) -> Iterator[Hub]:
    with running_hub(tmp_path / "hub", token=CANARY) as running:
        yield running


def play(tmp_path: Path, hub: Hub, tools: Path, options: str = "", **variables: Any) -> Play:
    scratch = tmp_path / f"runner-{len(list(tmp_path.glob('runner-*')))}"
    (scratch / "inventory").mkdir(parents=True)
    host = {
        "ansible_connection": "local",
        "ansible_python_interpreter": "/usr/bin/python3",
        "model_shards_root": str(tmp_path / "models"),
        "model_shards_tools": str(tools),
        "model_shards_repo": REPO,
        "model_shards_endpoint": hub.url,
        "model_shards_token": CANARY,
        **variables,
    }
    (scratch / "inventory" / "hosts.json").write_text(json.dumps({"all": {"hosts": {"target": host}}}))
    (scratch / "ansible.cfg").write_text("[defaults]\n")
    run = ansible_runner.run(
        private_data_dir=str(scratch),
        playbook=str(PLAYBOOK),
        envvars={
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
            "ANSIBLE_CONFIG": str(scratch / "ansible.cfg"),
            "ANSIBLE_ASYNC_DIR": str(tmp_path / "remote" / "async"),
            "ANSIBLE_REMOTE_TEMP": str(tmp_path / "remote" / "tmp"),
            "ANSIBLE_LOCAL_TEMP": str(tmp_path / "local"),
            "ANSIBLE_NOCOLOR": "1",
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        },
        cmdline=options or None,
        quiet=True,
    )
    events = [event["event_data"] for event in run.events if "event_data" in event]
    published = [data["res"]["model_shards_published"] for data in events if "model_shards_published" in (data.get("res") or {})]
    return Play(
        status=run.status,
        output=(Path(run.config.artifact_dir) / "stdout").read_text(),
        changed=(run.stats or {}).get("changed", {}).get("target", 0),
        published=published[0] if published else {},
        failures=[data["res"] for data in events if "error" in (data.get("res") or {})],
    )


def test_from_an_empty_host_to_a_published_model_and_nothing_more_to_do(hub: Hub, source: Path, tools: Path, tmp_path: Path) -> None:
    predicted = play(tmp_path, hub, tools, "--check")
    assert predicted.status == "successful", predicted.output
    assert predicted.changed
    assert not (tmp_path / "models").exists()

    hub.faults.append({"match": SHARDS[0], "kind": "slow", "bps": 300_000})
    with Watcher(CANARY.encode(), every=0.2) as watcher:
        first = play(tmp_path, hub, tools, "-vvvv")
    assert first.status == "successful", first.output
    published = Path(first.published["path"])
    assert first.published == {
        "path": str(published),
        "repo": REPO,
        "revision": published.name,
        "manifest": f"{published}.manifest.json",
        "adopted": False,
    }
    assert first.published == predicted.published
    assert sorted(path.name for path in published.iterdir()) == WANTED
    assert "[target] publish: publishing 7 files" in first.output

    hub.log.clear()
    second = play(tmp_path, hub, tools)
    assert second.status == "successful", second.output
    assert second.changed == 0
    assert second.published == first.published
    assert hub.log == []
    assert play(tmp_path, hub, tools, "--check").changed == 0

    # The secret: in no process, in nothing printed, in nothing left on the host.
    assert watcher.rounds > 20
    assert watcher.seen == []
    for result in (predicted, first, second):
        assert CANARY not in result.output
    for folder in ("models", "remote", "local"):
        for path in (tmp_path / folder).rglob("*"):
            assert not path.is_file() or CANARY.encode() not in path.read_bytes(), path


def test_a_directory_that_is_there_is_adopted_without_a_tool_or_a_byte(hub: Hub, source: Path, tmp_path: Path) -> None:
    first = play(tmp_path, hub, tmp_path / "no-tools", model_shards_path=str(source))
    assert first.status == "successful", first.output
    assert first.published["path"] == str(source)
    assert first.published["adopted"] is True
    assert not (tmp_path / "no-tools").exists()
    assert file_requests(hub) == []
    second = play(tmp_path, hub, tmp_path / "no-tools", model_shards_path=str(source))
    assert second.changed == 0
    assert second.published == first.published


def test_a_refusal_says_four_things(hub: Hub, tools: Path, tmp_path: Path) -> None:
    failed = play(tmp_path, hub, tools, model_shards_repo="acme/nothing")
    assert failed.status == "failed"
    (failure,) = failed.failures
    assert failure["error"]["wrong"] == f"There is no repository acme/nothing on {hub.url}, or it is private."
    assert all(failure["error"].values())
    assert CANARY not in failed.output
