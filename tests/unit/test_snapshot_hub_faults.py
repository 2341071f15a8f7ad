# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""model_snapshot against a real HTTP hub that misbehaves, with the real huggingface_hub: one test a kind of fault."""

from __future__ import annotations

import email.utils
import json
import os
import random
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError

from tests.support.hub.mockhub import Handler, Hub
from tests.support.snapshot_lab import (
    REPO,
    SHARDS,
    WANTED,
    assert_published,
    file_requests,
    make_model,
    running_hub,
    sent_bytes,
    shard_bytes,
    snapshot,
)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return make_model(tmp_path / "hub" / REPO)


@pytest.fixture
def hub(tmp_path: Path, source: Path) -> Iterator[Hub]:
    with running_hub(tmp_path / "hub") as running:
        yield running


def test_fetches_proves_and_publishes_then_changes_nothing(hub: Hub, source: Path, tmp_path: Path) -> None:
    first = snapshot(hub, tmp_path / "models")
    assert first.changed
    assert_published(first, source)
    assert first.fetched_files == WANTED
    assert {line["path"].rsplit("/", 1)[1] for line in file_requests(hub)} == set(WANTED)
    hub.log.clear()

    second = snapshot(hub, tmp_path / "models")
    assert not second.changed
    assert (second.path, second.revision, second.manifest) == (first.path, first.revision, first.manifest)
    assert hub.log == [], "a published model needs no hub"


def test_a_connection_cut_at_random_bytes_again_and_again_costs_no_byte_twice(hub: Hub, source: Path, tmp_path: Path) -> None:
    draw = random.Random(7)
    hub.faults.extend({"match": "*.safetensors", "kind": "cut", "after": draw.randrange(1, 90_000)} for _ in range(12))
    outcome = snapshot(hub, tmp_path / "models")
    assert_published(outcome, source)
    assert not [fault for fault in hub.faults if fault["times"]], "every cut must have happened"
    ranges = [line for line in file_requests(hub) if line["range"]]
    assert len(ranges) >= 10
    everything = sum((source / name).stat().st_size for name in WANTED)
    # What was on the way when the connection broke is lost; what was written is not.
    assert sent_bytes(hub) < everything * 1.5


def test_a_storm_of_503_is_outlasted(hub: Hub, source: Path, tmp_path: Path) -> None:
    hub.faults.append({"match": "*", "kind": "status", "status": 503, "times": 9})
    hub.faults.append({"match": "*", "kind": "status", "status": 503, "times": 2, "path": "api"})
    assert_published(snapshot(hub, tmp_path / "models"), source)


def test_a_lasting_503_ends_with_what_to_do_and_keeps_what_came(hub: Hub, source: Path, tmp_path: Path) -> None:
    hub.faults.append({"match": SHARDS[1], "kind": "status", "status": 503, "times": 1000})
    with pytest.raises(SglangError, match="answers with an error, also after retries") as caught:
        snapshot(hub, tmp_path / "models", retries=2)
    assert f"HTTP 503 Mock for {SHARDS[1]}" in caught.value.found
    hub.faults.clear()
    hub.log.clear()
    outcome = snapshot(hub, tmp_path / "models")
    assert_published(outcome, source)
    assert {line["path"].rsplit("/", 1)[1] for line in file_requests(hub)} == {SHARDS[1]}


def test_a_rate_limit_is_waited_out_by_all_workers(hub: Hub, source: Path, tmp_path: Path) -> None:
    hub.faults.append({"match": "config.json", "kind": "status", "status": 429, "retry_after": 1})
    assert_published(snapshot(hub, tmp_path / "models", workers=1), source)
    times = [line["t"] for line in file_requests(hub)]
    limited = next(line["t"] for line in file_requests(hub) if line["status"] == 429)
    assert all(time - limited >= 0.99 for time in times if time > limited)


YEAR = 365 * 86400


@pytest.mark.parametrize("skew", [-YEAR, YEAR])
def test_a_hub_whose_clock_is_another_years_is_understood(skew: int, source: Path, tmp_path: Path) -> None:
    class Skewed(Handler):
        def date_time_string(self, timestamp: Optional[float] = None) -> str:
            return super().date_time_string(time.time() + skew)

    with running_hub(tmp_path / "hub", _with_handler(Skewed)) as hub:
        again = email.utils.formatdate(time.time() + skew + 500, usegmt=True)
        hub.faults.append({"match": SHARDS[0], "kind": "status", "status": 429, "retry_after": again})
        with pytest.raises(SglangError) as caught:
            snapshot(hub, tmp_path / "models", retries=0)
        # By this host's clock it would be no wait, or a year.
        assert re.search(r"asks to wait ([1-4]\d\d|500) s", f"{caught.value}"), caught.value
        assert_published(snapshot(hub, tmp_path / "models"), source)
        assert not snapshot(hub, tmp_path / "models").changed


def test_a_lasting_rate_limit_names_the_wait(hub: Hub, tmp_path: Path) -> None:
    hub.faults.append({"match": "*", "kind": "status", "status": 429, "times": 1000})
    with pytest.raises(SglangError, match="limits the rate of requests"):
        snapshot(hub, tmp_path / "models", retries=1)


@pytest.mark.parametrize("name", [SHARDS[0], "config.json"])
def test_a_flipped_byte_is_seen_and_only_that_file_fetched_again(name: str, hub: Hub, source: Path, tmp_path: Path) -> None:
    hub.faults.append({"match": name, "kind": "corrupt", "at": 7})
    outcome = snapshot(hub, tmp_path / "models")
    assert_published(outcome, source)
    requests = [line["path"].rsplit("/", 1)[1] for line in file_requests(hub)]
    assert requests.count(name) == 2
    assert len(requests) == len(WANTED) + 1


def test_bytes_that_stay_wrong_are_never_published(hub: Hub, tmp_path: Path) -> None:
    hub.faults.append({"match": SHARDS[0], "kind": "corrupt", "at": 1000, "times": 1000})
    with pytest.raises(SglangError, match=f"{SHARDS[0]} arrives wrong again and again") as caught:
        snapshot(hub, tmp_path / "models")
    assert "expected" in caught.value.found
    directory = tmp_path / "models" / "acme--tiny"
    assert not [path for path in directory.iterdir() if path.name.endswith("manifest.json") or len(path.name) == 40]
    assert not list(directory.glob(f".partial-*/{SHARDS[0]}"))


class LyingHandler(Handler):
    """Sends a shard shorter or longer than the hub declares it."""

    extra = b""
    cut = 0

    def resolve(self, name: str, revision: str, file: str) -> None:
        if file != SHARDS[0]:
            return super().resolve(name, revision, file)
        repo = self.find_repo(name, revision)
        assert repo is not None
        path = repo.files[file].path
        assert path is not None
        data = path.read_bytes()
        body = data[: len(data) - self.cut] + self.extra
        return self.reply(200, body, kind="application/octet-stream")


class NoLengthHandler(Handler):
    """A proxy that strips Content-Length and does not do ranges."""

    def resolve(self, name: str, revision: str, file: str) -> None:
        repo = self.find_repo(name, revision)
        assert repo is not None
        path = repo.files[file].path
        assert path is not None
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(path.read_bytes())
        self.close_connection = True
        self.note(200, path.stat().st_size)


def _with_handler(handler: type[Handler], **attributes: object) -> type[Hub]:
    made = type("Made", (handler,), attributes)

    class MadeHub(Hub):
        def finish_request(self, request: Any, client_address: Any) -> None:
            made(request, client_address, self)

    return MadeHub


@pytest.mark.parametrize("attributes", [{"cut": 100}, {"extra": b"junk at the end"}], ids=["short", "long"])
def test_a_file_of_the_wrong_size_is_never_published(attributes: dict[str, object], source: Path, tmp_path: Path) -> None:
    with running_hub(tmp_path / "hub", _with_handler(LyingHandler, **attributes)) as hub, pytest.raises(SglangError) as caught:
        snapshot(hub, tmp_path / "models", retries=2)
    assert SHARDS[0] in str(caught.value)
    assert not list((tmp_path / "models" / "acme--tiny").glob("*.manifest.json"))


def test_a_hub_without_content_length_is_good_enough(source: Path, tmp_path: Path) -> None:
    with running_hub(tmp_path / "hub", _with_handler(NoLengthHandler)) as hub:
        assert_published(snapshot(hub, tmp_path / "models"), source)


def test_a_stall_is_broken_off_and_continued(hub: Hub, source: Path, tmp_path: Path) -> None:
    hub.faults.append({"match": SHARDS[0], "kind": "stall", "after": 100_000, "seconds": 60})
    assert_published(snapshot(hub, tmp_path / "models", stall_timeout=6), source)
    assert [line for line in file_requests(hub) if line["range"]], "the second connection goes on where the first stalled"


def test_a_downloader_that_hangs_for_good_is_killed_and_named(hub: Hub, tmp_path: Path) -> None:
    hanging = tmp_path / "python"
    hanging.write_text("#!/bin/sh\nexec sleep 1000\n")
    hanging.chmod(0o755)
    with pytest.raises(SglangError, match="does not get on") as caught:
        snapshot(hub, tmp_path / "models", python=str(hanging), stall_timeout=0.2)
    assert "brought no byte" in caught.value.found


def test_a_downloader_that_ends_well_without_files_is_not_believed(hub: Hub, tmp_path: Path) -> None:
    liar = tmp_path / "python"
    liar.write_text("#!/bin/sh\necho oops, nothing done >&2\nexit 0\n")
    liar.chmod(0o755)
    with pytest.raises(SglangError, match="does not get on") as caught:
        snapshot(hub, tmp_path / "models", python=str(liar))
    assert "ended with status 0 before its work was done (oops, nothing done)" in caught.value.found
    assert not list((tmp_path / "models" / "acme--tiny").glob("*.manifest.json"))


def test_a_repository_that_holds_an_lfs_pointer_is_named_before_it_is_published(hub: Hub, source: Path, tmp_path: Path) -> None:
    (source / SHARDS[1]).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 300\n")
    with pytest.raises(SglangError, match="are broken") as caught:
        snapshot(hub, tmp_path / "models")
    assert "git-lfs pointer" in caught.value.found
    assert not list((tmp_path / "models" / "acme--tiny").glob("*.manifest.json"))


def test_an_index_naming_missing_shards_stops_before_the_weights(hub: Hub, source: Path, tmp_path: Path) -> None:
    (source / SHARDS[1]).unlink()
    with pytest.raises(SglangError, match="names shards that are not there") as caught:
        snapshot(hub, tmp_path / "models", workers=1)
    assert SHARDS[1] in caught.value.found
    assert not [line for line in file_requests(hub) if line["path"].endswith(".safetensors")]


def test_left_overs_of_other_tools_do_not_look_done_and_do_not_stay(hub: Hub, source: Path, tmp_path: Path) -> None:
    with pytest.raises(SglangError):  # makes the partial directory under its right name
        snapshot(hub, tmp_path / "models", python="/nonexistent")
    (partial,) = (tmp_path / "models" / "acme--tiny").glob(".partial-*")
    cache = partial / ".cache" / "huggingface" / "download"
    cache.mkdir(parents=True)
    (cache / f"{SHARDS[0]}.lock").touch()
    (cache / "abc.def.incomplete").write_bytes(b"x" * 1000)
    (partial / SHARDS[0]).write_bytes(b"x" * (source / SHARDS[0]).stat().st_size)  # right size, wrong bytes
    (partial / SHARDS[1]).write_bytes((source / SHARDS[1]).read_bytes()[:-5])
    (partial / "training_args.bin").write_bytes(b"x")
    outcome = snapshot(hub, tmp_path / "models")
    assert_published(outcome, source)


def test_a_part_larger_than_the_file_starts_again(hub: Hub, source: Path, tmp_path: Path) -> None:
    hub.faults.append({"match": SHARDS[0], "kind": "cut", "after": 100_000, "times": 100})
    with pytest.raises(SglangError):
        snapshot(hub, tmp_path / "models", retries=0)
    hub.faults.clear()
    parts = [path for path in (tmp_path / "models" / "acme--tiny").glob(".partial-*/.parts/*.part") if path.stat().st_size]
    assert parts
    for part in parts:
        part.write_bytes(b"z" * 1_000_000)
    assert_published(snapshot(hub, tmp_path / "models"), source)


def test_a_missing_repository_is_named(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(SglangError, match="There is no repository acme/nothing") as caught:
        snapshot(hub, tmp_path / "models", repo="acme/nothing")
    assert "HTTP 401 RepoNotFound" in caught.value.found


def test_a_missing_revision_is_named(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(SglangError, match="has no revision 'v9'"):
        snapshot(hub, tmp_path / "models", revision="v9")


def test_a_commit_that_the_hub_dropped_after_a_run_was_interrupted_is_not_followed_silently(hub: Hub, source: Path, tmp_path: Path) -> None:
    hub.faults.append({"match": SHARDS[0], "kind": "status", "status": 403, "times": 100})
    with pytest.raises(SglangError):
        snapshot(hub, tmp_path / "models")
    hub.faults.clear()
    (source / SHARDS[0]).write_bytes(shard_bytes(200_000, 99, "layer.0"))
    with pytest.raises(SglangError, match="no longer has the commit that 'main'") as caught:
        snapshot(hub, tmp_path / "models")
    assert "model_shards_refresh" in caught.value.next_step
    assert_published(snapshot(hub, tmp_path / "models", refresh=True), source)


def test_gated_without_a_token_and_a_wrong_token_are_told_apart(source: Path, tmp_path: Path) -> None:
    with running_hub(tmp_path / "hub", token="hf_right") as hub:
        with pytest.raises(SglangError, match="is gated") as caught:
            snapshot(hub, tmp_path / "models")
        assert "no token was sent" in caught.value.found
        with pytest.raises(SglangError, match="refuses the token") as caught:
            snapshot(hub, tmp_path / "models", token="hf_wrong")
        assert "hf_wrong" not in str(caught.value)
        assert_published(snapshot(hub, tmp_path / "models", token="hf_right"), source)


def test_no_hub_at_all_is_named_with_the_ways_out(tmp_path: Path) -> None:
    with pytest.raises(SglangError, match="cannot be reached") as caught:
        snapshot(None, tmp_path / "models", retries=1)
    assert "model_shards_path" in caught.value.next_step


@pytest.mark.parametrize("page", [b"<html>please log in</html>", b"[" * 200_000, b"\xff\xfe", b"[]"], ids=["html", "deep", "bytes", "list"])
def test_something_else_on_the_address_is_named(page: bytes, tmp_path: Path) -> None:
    class LoginPage(Handler):
        def do_GET(self) -> None:
            self.reply(200, page, kind="text/html")

    with running_hub(tmp_path, _with_handler(LoginPage)) as hub, pytest.raises(SglangError, match="does not answer like a model hub"):
        snapshot(hub, tmp_path / "models")


def test_a_branch_is_resolved_once_and_moves_only_when_asked(hub: Hub, source: Path, tmp_path: Path) -> None:
    first = snapshot(hub, tmp_path / "models")
    (source / SHARDS[0]).write_bytes(shard_bytes(200_000, 99, "layer.0"))
    assert snapshot(hub, tmp_path / "models").revision == first.revision
    moved = snapshot(hub, tmp_path / "models", refresh=True)
    assert moved.changed
    assert moved.revision != first.revision
    assert Path(first.path).is_dir(), "the old revision stays: a server may be running from it"
    assert snapshot(hub, tmp_path / "models").revision == moved.revision


class MainOnlyHandler(Handler):
    """A mirror that keeps one revision and gives it to everybody."""

    def find_repo(self, name: str, revision: Optional[str] = None) -> Any:
        return super().find_repo(name, "main")


@pytest.mark.parametrize("check_mode", [False, True])
@pytest.mark.parametrize("adopted", [False, True])
def test_a_mirror_that_answers_a_pinned_commit_with_another_is_not_believed(
    adopted: bool, check_mode: bool, source: Path, tmp_path: Path
) -> None:
    pinned = "f" * 40
    with running_hub(tmp_path / "hub", _with_handler(MainOnlyHandler)) as hub, pytest.raises(SglangError) as caught:
        snapshot(hub, tmp_path / "models", check_mode, revision=pinned, path=str(source) if adopted else "")
    commit = hub.repo(REPO).commit
    assert (caught.value.found, caught.value.wanted) == (f"commit {commit}", f"commit {pinned}")
    made = [path.name for path in (tmp_path / "models").rglob("*")]
    assert not [name for name in made if name.startswith((pinned, commit)) or name.endswith(".manifest.json")]
    with running_hub(tmp_path / "hub", _with_handler(MainOnlyHandler)) as hub:
        assert snapshot(hub, tmp_path / "models", check_mode, revision=commit).revision == commit


def test_a_broken_published_file_is_the_only_one_fetched_again(hub: Hub, source: Path, tmp_path: Path) -> None:
    first = snapshot(hub, tmp_path / "models")
    shard = Path(first.path) / SHARDS[1]
    data = bytearray(shard.read_bytes())
    data[5000] ^= 1
    shard.write_bytes(data)
    hub.log.clear()
    with open(shard, "rb") as held:
        repaired = snapshot(hub, tmp_path / "models")
        assert held.read() == bytes(data), "a running engine keeps what it has mapped"
    assert repaired.changed
    assert repaired.repaired_files == [SHARDS[1]]
    assert [line["path"].rsplit("/", 1)[1] for line in file_requests(hub)] == [SHARDS[1]]
    assert_published(repaired, source)
    assert not snapshot(hub, tmp_path / "models").changed


def test_only_a_deep_look_sees_a_flipped_byte_behind_an_old_time(hub: Hub, source: Path, tmp_path: Path) -> None:
    first = snapshot(hub, tmp_path / "models")
    shard = Path(first.path) / SHARDS[0]
    before = shard.stat()
    data = bytearray(shard.read_bytes())
    data[-1] ^= 1
    shard.write_bytes(data)
    os.utime(shard, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert not snapshot(hub, tmp_path / "models").changed
    with pytest.raises(SglangError, match="is broken") as caught:
        snapshot(hub, tmp_path / "models", verify="deep", repair=False)
    assert caught.value.found == SHARDS[0]
    assert snapshot(hub, tmp_path / "models", verify="deep").repaired_files == [SHARDS[0]]
    assert_published(first, source)


def test_a_touched_file_is_read_once_and_recorded(hub: Hub, tmp_path: Path) -> None:
    first = snapshot(hub, tmp_path / "models")
    (Path(first.path) / SHARDS[0]).touch()
    hub.log.clear()
    assert snapshot(hub, tmp_path / "models").changed, "the manifest was brought up to date"
    assert not snapshot(hub, tmp_path / "models").changed
    assert hub.log == []


def test_a_lost_manifest_is_made_anew_from_the_hubs_digests(hub: Hub, source: Path, tmp_path: Path) -> None:
    first = snapshot(hub, tmp_path / "models")
    Path(first.manifest).unlink()
    (Path(first.path) / "config.json").write_text("{}")
    hub.log.clear()
    again = snapshot(hub, tmp_path / "models")
    assert again.repaired_files == ["config.json"]
    assert [line["path"].rsplit("/", 1)[1] for line in file_requests(hub)] == ["config.json"]
    assert_published(again, source)


def test_check_mode_tells_the_truth_and_touches_nothing(hub: Hub, source: Path, tmp_path: Path) -> None:
    root = tmp_path / "models"
    predicted = snapshot(hub, root, check_mode=True, python="/not/there/yet")
    assert predicted.changed
    assert predicted.files == len(WANTED)
    assert predicted.bytes == sum((source / name).stat().st_size for name in WANTED)
    assert not root.exists()
    real = snapshot(hub, root)
    assert (real.path, real.files, real.bytes) == (predicted.path, predicted.files, predicted.bytes)
    assert not snapshot(hub, root, check_mode=True).changed
    (Path(real.path) / SHARDS[0]).unlink()
    assert snapshot(hub, root, check_mode=True).changed


def test_check_mode_without_a_hub_warns(tmp_path: Path) -> None:
    predicted = snapshot(None, tmp_path / "models", check_mode=True)
    assert predicted.changed
    assert "cannot be reached" in predicted.warnings[0]
    assert not (tmp_path / "models").exists()


def test_check_mode_fails_where_the_run_would(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(SglangError, match="There is no repository"):
        snapshot(hub, tmp_path / "models", check_mode=True, repo="acme/nothing")


def test_pickles_and_doubles_are_never_asked_for(hub: Hub, source: Path, tmp_path: Path) -> None:
    (source / "consolidated.safetensors").write_bytes(shard_bytes(1000))
    outcome = snapshot(hub, tmp_path / "models")
    assert_published(outcome, source)
    with pytest.raises(SglangError, match="never fetched"):
        snapshot(hub, tmp_path / "models", patterns=["*.safetensors", "*.bin"])


def test_progress_tells_bytes_rate_and_files(hub: Hub, tmp_path: Path) -> None:
    hub.faults.append({"match": SHARDS[0], "kind": "cut", "after": 100_000})
    progress = tmp_path / "progress"
    snapshot(hub, tmp_path / "models", progress_file=str(progress))
    lines = [json.loads(line) for line in progress.read_text().splitlines()]
    assert [line["phase"] for line in lines if line["phase"] in ("resolve", "publish")] == ["resolve", "publish"]
    texts = [line["text"] for line in lines if line["phase"] == "fetch" and line["total"]]
    assert texts
    assert " of " in texts[0]
    assert " of 7" in texts[0]
    assert [line for line in lines if "again in" in line["text"] and SHARDS[0] in line["text"]]


def test_not_enough_space_is_said_before_a_byte_is_fetched(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ansible_collections.inference.sglang.plugins.module_utils import _snapshot_store

    monkeypatch.setattr(_snapshot_store, "free_bytes", lambda path: 1_000_000)
    with pytest.raises(SglangError, match="Not enough disk space") as caught:
        snapshot(hub, tmp_path / "models")
    assert caught.value.found == "1.0 MB free"
    assert "67.7 MB more for acme/tiny" in caught.value.wanted
    assert file_requests(hub) == []
