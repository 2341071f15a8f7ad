# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""model_snapshot killed, doubled, out of disk, and watched for its token."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.inference.sglang.plugins.module_utils import _snapshot, _snapshot_store
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError

from tests.support.hub.mockhub import Handler, Hub, Pace
from tests.support.snapshot_lab import (
    REPO,
    SHARDS,
    WANTED,
    Watcher,
    assert_published,
    file_requests,
    make_model,
    params,
    running_hub,
    sent_bytes,
    snapshot,
    start_process,
)

SHARD = 4_000_000
DEADLINE = 60.0


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return make_model(tmp_path / "hub" / REPO, SHARD)


@pytest.fixture
def hub(tmp_path: Path, source: Path) -> Iterator[Hub]:
    with running_hub(tmp_path / "hub") as running:
        yield running


def wait_until(condition: Callable[[], Any]) -> Any:
    """For states of other processes, which send no event."""
    end = time.monotonic() + DEADLINE
    while not (value := condition()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
    return value


def parts_size(root: Path) -> int:
    total = 0
    for path in root.glob("acme--tiny/.partial-*/.parts/*.part"):
        with contextlib.suppress(FileNotFoundError):  # a part gets its file's name while we look
            total += path.stat().st_size
    return total


def children(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    return False


def shard_requests(hub: Hub) -> list[dict[str, Any]]:
    return [line for line in file_requests(hub) if line["path"].endswith(".safetensors")]


def slow(hub: Hub) -> None:
    hub.faults.append({"match": "*.safetensors", "kind": "slow", "bps": 2_000_000, "times": 2})


def everything(source: Path) -> int:
    return sum((source / name).stat().st_size for name in WANTED)


def result_of(child: subprocess.Popen[str]) -> dict[str, Any]:
    out, errors = child.communicate(timeout=DEADLINE)
    assert out, errors
    return dict(json.loads(out))


def test_a_killed_downloader_is_replaced_and_goes_on(hub: Hub, source: Path, tmp_path: Path) -> None:
    slow(hub)
    child = start_process(params(hub, tmp_path / "models"))
    wait_until(lambda: parts_size(tmp_path / "models") > SHARD // 2)
    (downloader,) = children(child.pid)
    os.kill(downloader, signal.SIGKILL)
    result = result_of(child)
    assert child.returncode == 0, result
    assert snapshot(hub, tmp_path / "models").changed is False
    assert [line for line in file_requests(hub) if line["range"]]
    published = Path(result["path"])
    assert (published / SHARDS[0]).read_bytes() == (source / SHARDS[0]).read_bytes()


def test_a_killed_run_takes_its_downloader_along_and_the_next_run_resumes(hub: Hub, source: Path, tmp_path: Path) -> None:
    slow(hub)
    child = start_process(params(hub, tmp_path / "models"))
    wait_until(lambda: parts_size(tmp_path / "models") > SHARD // 2)
    (downloader,) = children(child.pid)
    child.kill()
    child.communicate()
    wait_until(lambda: not alive(downloader))
    kept = parts_size(tmp_path / "models")
    wait_until(lambda: len(shard_requests(hub)) == 2)  # the hub notes a request when it is over
    hub.log.clear()
    outcome = snapshot(hub, tmp_path / "models")
    assert_published(outcome, source)
    assert sent_bytes(hub) <= everything(source) - kept
    assert all(line["range"] for line in shard_requests(hub))


@pytest.mark.parametrize("step", ["write_manifest", "publish", "sync_directory"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_run_killed_while_publishing_heals_without_fetching(
    step: str, when: str, hub: Hub, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = getattr(_snapshot_store, step)

    class Killed(BaseException):
        pass

    def die(*arguments: Any) -> None:
        if when == "after":
            real(*arguments)
        raise Killed

    with monkeypatch.context() as patch:
        # sync_directory is called on the way to every one of these states: die at its first call after the download.
        bring = _snapshot.Snapshot._bring

        def bring_then_arm(self: Any, *arguments: Any) -> Any:
            entries = bring(self, *arguments)
            patch.setattr(_snapshot_store, step, die)
            return entries

        patch.setattr(_snapshot.Snapshot, "_bring", bring_then_arm)
        with pytest.raises(Killed):
            snapshot(hub, tmp_path / "models")
    hub.log.clear()
    outcome = snapshot(hub, tmp_path / "models")
    assert outcome.changed
    assert file_requests(hub) == []
    assert_published(outcome, source)
    assert not snapshot(hub, tmp_path / "models").changed


def test_two_at_once_the_second_waits_and_finds_it_done(hub: Hub, source: Path, tmp_path: Path) -> None:
    hub.pace = Pace(100_000)
    progress = tmp_path / "progress"
    first = start_process(params(hub, tmp_path / "models"))
    wait_until(lambda: parts_size(tmp_path / "models") > 0)
    second = start_process(params(hub, tmp_path / "models", progress_file=str(progress)))
    wait_until(lambda: progress.exists() and f"process {first.pid} since" in progress.read_text())
    hub.pace.rate = 1 << 30
    one, two = result_of(first), result_of(second)
    assert (one["changed"], two["changed"]) == (True, False)
    assert one["path"] == two["path"]
    wait_until(lambda: len(shard_requests(hub)) == 2)
    assert sent_bytes(hub) == everything(source)


def test_the_second_says_who_holds_it_when_it_may_not_wait(hub: Hub, tmp_path: Path) -> None:
    slow(hub)
    first = start_process(params(hub, tmp_path / "models"))
    wait_until(lambda: parts_size(tmp_path / "models") > 0)
    with pytest.raises(SglangError, match="Another run works on this model") as caught:
        snapshot(hub, tmp_path / "models", lock_timeout=0.1)
    assert f"process {first.pid} since" in caught.value.found
    assert result_of(first)["changed"]


def test_the_lock_outlives_the_run_as_long_as_its_downloader_writes(hub: Hub, tmp_path: Path) -> None:
    slow(hub)
    first = start_process(params(hub, tmp_path / "models"))
    wait_until(lambda: parts_size(tmp_path / "models") > 0)
    (downloader,) = children(first.pid)
    os.kill(downloader, signal.SIGSTOP)
    first.kill()
    first.communicate()
    try:
        with pytest.raises(SglangError, match="Another run works on this model"):
            snapshot(hub, tmp_path / "models", lock_timeout=0.2)
    finally:
        os.kill(downloader, signal.SIGCONT)
    assert snapshot(hub, tmp_path / "models").changed


def test_a_file_size_limit_is_named_and_what_came_is_kept(hub: Hub, source: Path, tmp_path: Path) -> None:
    limit = 3_000_000
    child = start_process(params(hub, tmp_path / "models"), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    result = result_of(child)
    assert child.returncode == 1
    assert "The disk is full" in result["msg"]
    assert "free" in result["error"]["found"]
    assert parts_size(tmp_path / "models") >= limit
    hub.log.clear()
    assert_published(snapshot(hub, tmp_path / "models"), source)
    assert sent_bytes(hub) <= everything(source) - limit


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_disk_that_fills_up_during_the_download_is_named_with_numbers(
    hub: Hub, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "small"
    root.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=5m", "tmpfs", str(root)], check=True)
    try:
        with pytest.raises(SglangError, match="Not enough disk space"):
            snapshot(hub, root)
        # Somebody else takes the space after the look at it.
        with monkeypatch.context() as patch:
            patch.setattr(_snapshot_store, "free_bytes", lambda path: 1 << 40)
            with pytest.raises(SglangError, match="The disk is full: writing model-0000") as caught:
                snapshot(hub, root)
        assert caught.value.found.endswith("free")
        assert "more for acme/tiny@" in caught.value.wanted
        subprocess.run(["mount", "-o", "remount,size=100m", str(root)], check=True)
        assert_published(snapshot(hub, root), source)
    finally:
        subprocess.run(["umount", str(root)], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_read_only_target_is_named(hub: Hub, tmp_path: Path) -> None:
    root = tmp_path / "readonly"
    root.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(root)], check=True)
    try:
        with pytest.raises(OSError, match="Read-only file system") as caught:
            snapshot(hub, root)
        from ansible_collections.inference.sglang.plugins.modules.model_snapshot import _explained

        assert "cannot be written" in str(_explained(caught.value, params(hub, root)))
    finally:
        subprocess.run(["umount", str(root)], check=True)


@pytest.mark.parametrize("place", ["argv", "environment"])
def test_the_watcher_sees_a_secret_where_there_is_one(place: str) -> None:
    canary = "hf_seen" + "1" * 20
    command = [sys.executable, "-c", "import time; time.sleep(30)"]
    with Watcher(canary.encode()) as watcher:
        child = subprocess.Popen(
            [*command, canary] if place == "argv" else command,
            env={**os.environ, "HF_TOKEN": canary} if place == "environment" else None,
        )
        try:
            wait_until(lambda: watcher.seen)
        finally:
            child.kill()
            child.wait()


class Echo(Handler):
    """A hub that repeats the credentials it was sent in its error message, on a file."""

    def resolve(self, name: str, revision: str, file: str) -> None:
        if file == SHARDS[1]:
            return self.refuse(403, "Nope", f"no access with {self.headers.get('Authorization')}")
        return super().resolve(name, revision, file)


class EchoHub(Hub):
    def finish_request(self, request: Any, client_address: Any) -> None:
        Echo(request, client_address, self)


@pytest.mark.parametrize("hub_class", [Hub, EchoHub], ids=["good", "echoing"])
def test_the_token_appears_nowhere(hub_class: type[Hub], source: Path, tmp_path: Path) -> None:
    canary = "hf_canaryQ7x" + "Z" * 20
    progress = tmp_path / "progress"
    with running_hub(tmp_path / "hub", hub_class, token=canary) as hub, Watcher(canary.encode()) as watcher:
        slow(hub)
        child = start_process(params(hub, tmp_path / "models", token=canary, progress_file=str(progress)))
        out, errors = child.communicate(timeout=DEADLINE)
    assert child.returncode == (0 if hub_class is Hub else 1), out + errors
    assert watcher.rounds > 5
    assert watcher.seen == []
    assert canary not in out + errors + progress.read_text()
    for path in (tmp_path / "models").rglob("*"):
        assert canary not in path.name
        if path.is_file():
            assert canary.encode() not in path.read_bytes(), path
    if hub_class is EchoHub:
        assert "no access with Bearer ***" in out


def test_a_stray_token_of_whoever_logged_in_is_not_used(hub: Hub, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    class Listening(Handler):
        def do_GET(self) -> None:
            seen.append(self.headers.get("Authorization") or "")
            super().do_GET()

    class ListeningHub(Hub):
        def finish_request(self, request: Any, client_address: Any) -> None:
            Listening(request, client_address, self)

    monkeypatch.setenv("HF_TOKEN", "hf_stray")
    with running_hub(tmp_path / "hub", ListeningHub) as listening:
        snapshot(listening, tmp_path / "models")
    assert len(seen) > len(WANTED)
    assert set(seen) == {""}
