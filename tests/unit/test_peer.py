# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A host hands its published model to another: real processes, real ports, real files."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._listeners import Proc
from ansible_collections.inference.sglang.plugins.module_utils._peer import published, start
from ansible_collections.inference.sglang.plugins.module_utils._peer_process import SHORTEST_TOKEN, Serving, stop
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_manifest import Manifest, dump
from ansible_collections.inference.sglang.plugins.modules import model_peer

from tests.support.hub.mockhub import Hub
from tests.support.snapshot_lab import (
    REPO,
    SHARDS,
    Watcher,
    assert_published,
    make_model,
    params,
    running_hub,
    sent_bytes,
    snapshot,
    start_process,
)

TOKEN = "canary-of-a-transfer-0123456789"
SHARD = 3_000_000


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return make_model(tmp_path / "hub" / REPO, SHARD)


@pytest.fixture
def hub(tmp_path: Path, source: Path) -> Iterator[Hub]:
    with running_hub(tmp_path / "hub") as running:
        yield running


@pytest.fixture
def seed(hub: Hub, tmp_path: Path) -> Path:
    """The models of a host that asked the hub."""
    snapshot(hub, tmp_path / "seed")
    return tmp_path / "seed"


class Offer:
    """A peer's server, and what a receiver is told of it."""

    def __init__(self, root: Path, **changes: Any) -> None:
        found = published(str(root), REPO, "main")
        assert found is not None
        self.manifest: Manifest = found
        serving = {"address": "127.0.0.1", "port": 0, "token": TOKEN, "idle": 60.0, "lifetime": 300.0, **changes}
        self.directory = root / REPO.replace("/", "--") / found.revision
        self.port = start(found, str(self.directory), Serving(**serving))
        self.url = f"http://127.0.0.1:{self.port}"

    @property
    def peer(self) -> dict[str, Any]:
        return {"url": self.url, "token": TOKEN, "manifest": json.loads(dump(self.manifest))}

    def pid(self) -> int:
        (listener,) = Proc().listeners([self.port])
        assert listener.pid
        return listener.pid

    def is_up(self) -> bool:
        return bool(Proc().listeners([self.port]))

    def ask(self, path: str, token: str = TOKEN, method: str = "GET", **headers: str) -> tuple[int, bytes]:
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=20)
        with contextlib.closing(connection):
            connection.request(method, path, headers={"Authorization": f"Bearer {token}", **headers})
            response = connection.getresponse()
            return response.status, response.read()


@pytest.fixture
def offer(seed: Path) -> Iterator[Offer]:
    made = Offer(seed)
    yield made
    stop(made.url, TOKEN)


def runs(pid: int) -> bool:
    """A dead child of this very process stays there as a zombie until it is waited for."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    return False


def until(condition: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def test_a_receiver_gets_every_byte_from_the_peer_and_none_from_the_hub(offer: Offer, hub: Hub, source: Path, tmp_path: Path) -> None:
    hub.log.clear()
    outcome = snapshot(None, tmp_path / "receiver", peer=offer.peer, python="")
    assert_published(outcome, source)
    assert outcome.changed
    assert hub.log == []
    manifest = json.loads(Path(outcome.manifest).read_text())
    assert manifest["source"] == offer.manifest.source, "where the bytes come from in the first place"
    assert snapshot(None, tmp_path / "receiver", peer=offer.peer).changed is False
    again = snapshot(None, tmp_path / "receiver")
    assert again.changed is False, "the branch is known there, too, so no hub is asked"
    # and it can hand the model on
    second = Offer(tmp_path / "receiver")
    assert_published(snapshot(None, tmp_path / "third", peer=second.peer), source)
    assert stop(second.url, TOKEN)


def test_an_older_meaning_of_the_branch_gives_way(offer: Offer, hub: Hub, source: Path, tmp_path: Path) -> None:
    (source / "merges.txt").write_text("c d\n")
    snapshot(hub, tmp_path / "receiver")
    assert published(str(tmp_path / "receiver"), REPO, "main") != offer.manifest
    (source / "merges.txt").write_text("a b\n")
    assert_published(snapshot(None, tmp_path / "receiver", peer=offer.peer), source)
    found = published(str(tmp_path / "receiver"), REPO, "main")
    assert found is not None
    assert found.revision == offer.manifest.revision


def test_a_peer_that_dies_half_way_is_no_loss(offer: Offer, seed: Path, source: Path, tmp_path: Path) -> None:
    partial = tmp_path / "receiver/acme--tiny" / f".partial-{offer.manifest.revision}"
    # Half of one shard has come when the peer is killed.
    os.kill(offer.pid(), signal.SIGKILL)
    until(lambda: not offer.is_up())
    (partial / ".parts").mkdir(parents=True)
    name = hashlib.sha1(SHARDS[0].encode()).hexdigest()
    (partial / ".parts" / f"{name}.part").write_bytes((source / SHARDS[0]).read_bytes()[: SHARD // 2])
    with pytest.raises(SglangError) as caught:
        snapshot(None, tmp_path / "receiver", peer=offer.peer)
    assert offer.url in str(caught.value)
    second = Offer(seed)
    outcome = snapshot(None, tmp_path / "receiver", peer=second.peer)
    stop(second.url, TOKEN)
    assert_published(outcome, source)
    assert outcome.fetched_bytes < offer.manifest.size - SHARD // 4, "what had come is kept (the journal's own bytes count, too)"


def test_a_flipped_byte_on_the_peer_is_found_by_the_receiver(seed: Path, tmp_path: Path) -> None:
    offer = Offer(seed)
    shard = offer.directory / SHARDS[1]
    before = shard.stat()
    with shard.open("r+b") as handle:
        handle.seek(-5, os.SEEK_END)
        byte = handle.read(1)
        handle.seek(-5, os.SEEK_END)
        handle.write(bytes([byte[0] ^ 1]))
    os.utime(shard, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(SglangError) as caught:
        snapshot(None, tmp_path / "receiver", peer=offer.peer)
    stop(offer.url, TOKEN)
    assert SHARDS[1] in str(caught.value)
    assert not list((tmp_path / "receiver/acme--tiny").glob("[!.]*/config.json"))


def test_files_that_changed_since_they_were_proven_are_not_served(seed: Path) -> None:
    found = published(str(seed), REPO, "main")
    assert found is not None
    directory = seed / "acme--tiny" / found.revision
    with (directory / SHARDS[0]).open("ab") as handle:
        handle.write(b"more")
    assert published(str(seed), REPO, "main") is None
    with pytest.raises(SglangError, match="has changed since it was verified"):
        start(found, str(directory), Serving("127.0.0.1", 0, TOKEN, 60, 300))


@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1], TOKEN + "x"])
@pytest.mark.parametrize("path", ["config.json", "/stop", ""])
def test_nothing_is_answered_without_the_token(offer: Offer, token: str, path: str) -> None:
    where = path if path.startswith("/") else f"/{REPO}/resolve/{offer.manifest.revision}/{path}"
    for method in ("GET", "POST", "HEAD"):
        assert offer.ask(where, token, method) == (401, b"")
    assert offer.is_up()


@pytest.mark.parametrize(
    "name",
    ["../../../../etc/passwd", "%2e%2e/%2e%2e/etc/passwd", "/etc/passwd", "README.md", "", ".", "config.json/", "..%2f.lock"],
)
def test_nothing_but_the_model_is_handed_out(offer: Offer, seed: Path, name: str) -> None:
    (offer.directory / "README.md").write_text("not part of the manifest")
    status, body = offer.ask(f"/{REPO}/resolve/{offer.manifest.revision}/{name}")
    assert (status, body) == (404, b"")
    assert offer.ask(f"/{REPO}/resolve/main/config.json")[0] == 404


def test_ranges(offer: Offer, source: Path) -> None:
    whole = (source / SHARDS[0]).read_bytes()
    where = f"/{REPO}/resolve/{offer.manifest.revision}/{SHARDS[0]}"
    assert offer.ask(where) == (200, whole)
    assert offer.ask(where, Range="bytes=1000-") == (206, whole[1000:])
    assert offer.ask(where, Range="bytes=0-") == (206, whole)
    assert offer.ask(where, Range=f"bytes={len(whole)}-") == (416, b"")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has something to give up")
def test_root_is_given_up(offer: Offer) -> None:
    status = Path(f"/proc/{offer.pid()}/status").read_text()
    ids = {line.split(":")[0]: line.split()[1:] for line in status.splitlines() if line.startswith(("Uid", "Gid", "Groups"))}
    assert ids["Uid"] == ["65534"] * 4
    assert ids["Gid"] == ["65534"] * 4
    assert ids["Groups"] == []


def test_it_ends_when_it_is_told_to(offer: Offer) -> None:
    pid = offer.pid()
    assert stop(offer.url, "wrong-token-wrong-token") is False
    assert offer.is_up()
    assert stop(offer.url, TOKEN) is True
    until(lambda: not offer.is_up() and not runs(pid))
    assert stop(offer.url, TOKEN) is False


@pytest.mark.parametrize("limit", [{"idle": 0.5}, {"lifetime": 0.5}])
def test_it_ends_by_itself(seed: Path, limit: dict[str, float]) -> None:
    offer = Offer(seed, **limit)
    until(lambda: not offer.is_up())


def test_the_token_is_in_no_command_line_and_no_environment(seed: Path, tmp_path: Path) -> None:
    with Watcher(TOKEN.encode()) as watcher:
        offer = Offer(seed)
        child = start_process(params(None, tmp_path / "receiver", peer=offer.peer))
        out, errors = child.communicate(timeout=60)
        stop(offer.url, TOKEN)
    assert child.returncode == 0, errors
    assert TOKEN not in out
    assert watcher.rounds > 3
    assert watcher.seen == []


def test_another_model_is_refused(offer: Offer, tmp_path: Path) -> None:
    for changes in ({"repo": "acme/other"}, {"revision": "0" * 40}):
        with pytest.raises(SglangError, match="offers another model"):
            snapshot(None, tmp_path / "receiver", peer=offer.peer, **changes)


@pytest.mark.parametrize("spoil", [{"files": [{"file": "../x"}]}, {"format": 2}, {}])
def test_a_manifest_that_is_none_is_refused(offer: Offer, tmp_path: Path, spoil: dict[str, Any]) -> None:
    manifest = {**offer.peer["manifest"], **spoil} if spoil else {}
    with pytest.raises(SglangError, match="manifest cannot be read"):
        snapshot(None, tmp_path / "receiver", peer={**offer.peer, "manifest": manifest})


def test_a_wrong_address_is_said(seed: Path) -> None:
    for address in ("192.0.2.77", "no.such.host.invalid"):
        with pytest.raises(SglangError, match="cannot serve the model") as caught:
            Offer(seed, address=address)
        assert "model_shards_peer_address" in str(caught.value)


def test_a_weak_token_is_refused(seed: Path) -> None:
    for token in ("", "short", "a token with blanks in it, long"):
        with pytest.raises(SglangError, match="token"):
            Offer(seed, token=token)


def test_the_module_looks_and_serves_only_what_is_whole(seed: Path, tmp_path: Path) -> None:
    values = {"root": str(seed), "repo": REPO, "revision": "main", "address": "127.0.0.1", "token": TOKEN}
    assert model_peer.look(values)["published"] is True
    assert model_peer.look({**values, "root": str(tmp_path / "empty")})["published"] is False
    assert "url" not in model_peer.serve(values, check_mode=True)
    with pytest.raises(SglangError, match="no whole model"):
        model_peer.serve({**values, "root": str(tmp_path / "empty")}, check_mode=False)


def test_the_hub_was_asked_for_each_byte_once(offer: Offer, hub: Hub, source: Path, tmp_path: Path) -> None:
    for number in range(3):
        snapshot(None, tmp_path / f"receiver{number}", peer=offer.peer)
    assert sent_bytes(hub) == offer.manifest.size
    assert len(TOKEN) >= SHORTEST_TOKEN
