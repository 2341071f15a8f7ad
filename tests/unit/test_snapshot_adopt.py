# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A model directory that is already there: proven and recorded where it lies."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Optional

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError

from tests.support.hub.mockhub import Hub
from tests.support.snapshot_lab import REPO, SHARDS, WANTED, file_requests, make_model, running_hub, snapshot


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return make_model(tmp_path / "hub" / REPO)


@pytest.fixture
def hub(tmp_path: Path, source: Path) -> Iterator[Hub]:
    with running_hub(tmp_path / "hub") as running:
        yield running


@pytest.fixture
def there(tmp_path: Path, source: Path) -> Path:
    """The operator's own directory, as an earlier download left it."""
    return Path(shutil.copytree(source, tmp_path / "root" / "models" / "Tiny"))


def adopt(hub: Optional[Hub], there: Path, **changes: Any) -> Any:
    return snapshot(hub, there.parents[2] / "sglang-models", path=str(there), **changes)


def state(directory: Path) -> dict[str, tuple[int, int, int]]:
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns, path.stat().st_mode) for path in directory.rglob("*")}


def test_is_proven_in_place_without_a_byte_fetched_then_changes_nothing(hub: Hub, there: Path) -> None:
    before = state(there)
    first = adopt(hub, there)
    assert first.changed
    assert first.adopted
    assert first.path == str(there)
    assert first.compared_with == hub.url
    assert len(first.revision) == 40
    assert file_requests(hub) == []
    assert state(there) == before
    manifest = json.loads(Path(first.manifest).read_text())
    assert Path(first.manifest).parent.name == "adopted"
    assert sorted(entry["file"] for entry in manifest["files"]) == WANTED
    assert {entry["proof"] for entry in manifest["files"] if entry["file"] in SHARDS} == {"lfs-sha256"}
    assert {entry["proof"] for entry in manifest["files"] if entry["file"] not in SHARDS} == {"git-blob"}
    hub.log.clear()
    for verify in ("quick", "deep"):
        again = adopt(hub, there, verify=verify)
        assert not again.changed
        assert (again.revision, again.manifest, again.path) == (first.revision, first.manifest, first.path)
    assert hub.log == []


def test_without_a_hub_it_is_recorded_by_its_own_content_and_said_so(there: Path) -> None:
    outcome = adopt(None, there)
    assert outcome.changed
    assert outcome.revision.startswith("local-")
    assert "could not be asked" in outcome.warnings[0]
    assert "compared with nothing" in outcome.warnings[0]
    assert not adopt(None, there).changed


def test_no_repository_means_no_question(hub: Hub, there: Path) -> None:
    outcome = adopt(hub, there, repo="")
    assert outcome.revision.startswith("local-")
    assert outcome.warnings == []
    assert hub.log == []


def _leave_metadata(there: Path, hub: Hub) -> str:
    """What huggingface_hub writes beside files that it downloaded into a directory."""
    repo = hub.repo(REPO)
    assert repo is not None
    for name in WANTED:
        etag = repo.files[name].sha256 if repo.is_lfs(name) else repo.files[name].git_oid
        path = there / ".cache" / "huggingface" / "download" / f"{name}.metadata"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{repo.commit}\n{etag}\n1790000000.0\n")
    return repo.commit


def test_without_a_hub_the_digests_that_the_download_left_prove_the_commit(hub: Hub, there: Path) -> None:
    commit = _leave_metadata(there, hub)
    outcome = adopt(None, there)
    assert outcome.revision == commit
    assert outcome.compared_with == "local metadata"


def test_without_a_hub_the_left_digests_show_a_flipped_byte(hub: Hub, there: Path) -> None:
    _leave_metadata(there, hub)
    _flip(there / SHARDS[0])
    with pytest.raises(SglangError, match="is not acme/tiny") as caught:
        adopt(None, there)
    assert SHARDS[0] in caught.value.found


def test_a_copy_of_an_older_commit_is_compared_with_that_commit(hub: Hub, there: Path) -> None:
    commit = _leave_metadata(there, hub)
    (there.parents[2] / "hub" / REPO / "config.json").write_text('{"new": true}')  # the branch moves on
    outcome = adopt(hub, there)
    assert [line["path"] for line in hub.log] == [f"/api/models/{REPO}/revision/{commit}?blobs=true"]
    # This hub knows only its newest commit, so the digests that the download left are the proof.
    assert outcome.revision == commit
    assert outcome.compared_with == "local metadata"


def _flip(path: Path) -> None:
    before = path.stat()
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _truncate_to_half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _truncate_in_header(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:20])


def _add_junk(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"8 junk b")


def _pointer(path: Path) -> None:
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 300\n")


def _garbage(path: Path) -> None:
    path.write_bytes(b"\x10" + b"\0" * 7 + b"not json at all!" + b"\0" * 100)


@pytest.mark.parametrize("damage", [_truncate_to_half, _truncate_in_header, _add_junk, _pointer, _garbage])
@pytest.mark.parametrize("with_hub", [True, False])
def test_a_damaged_shard_is_named_before_anything_is_hashed(
    damage: Callable[[Path], None], with_hub: bool, hub: Hub, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damage(there / SHARDS[0])
    monkeypatch.setattr("ansible_collections.inference.sglang.plugins.module_utils._snapshot_store.hash_file", None)
    with pytest.raises(SglangError, match="are broken") as caught:
        adopt(hub if with_hub else None, there)
    assert caught.value.found.startswith(SHARDS[0])


def test_a_flipped_byte_is_named(hub: Hub, there: Path) -> None:
    _flip(there / SHARDS[1])
    with pytest.raises(SglangError, match="is not acme/tiny") as caught:
        adopt(hub, there)
    assert caught.value.found.startswith(SHARDS[1])
    assert not list(there.parents[2].glob("sglang-models/adopted/*.manifest.json"))


def test_a_missing_shard_is_named_by_the_index(there: Path) -> None:
    (there / SHARDS[0]).unlink()
    with pytest.raises(SglangError, match="names shards that are not there") as caught:
        adopt(None, there)
    assert SHARDS[0] in caught.value.found


def test_a_file_that_the_repository_has_and_the_directory_has_not_is_named(hub: Hub, there: Path) -> None:
    (there / "tokenizer.json").unlink()
    with pytest.raises(SglangError, match="is not acme/tiny") as caught:
        adopt(hub, there)
    assert caught.value.found == "missing: tokenizer.json"


def test_a_change_after_adoption_is_refused_until_it_is_meant(hub: Hub, there: Path) -> None:
    adopt(hub, there, repo="")
    (there / "config.json").write_text('{"architectures": ["OtherForCausalLM"]}')
    (there / "generation_config.json").write_text("{}")
    with pytest.raises(SglangError, match="is not what it was") as caught:
        adopt(hub, there, repo="")
    assert caught.value.found == "changed: config.json; new: generation_config.json"
    assert adopt(hub, there, repo="", refresh=True).changed
    assert not adopt(hub, there, repo="").changed


def test_a_hub_that_is_away_takes_nothing_from_what_was_proven(hub: Hub, there: Path) -> None:
    first = adopt(hub, there)
    again = adopt(None, there, refresh=True, endpoint="http://127.0.0.1:9")
    assert again.revision == first.revision
    (there / "config.json").write_text('{"architectures": ["OtherForCausalLM"]}')
    assert adopt(None, there, refresh=True).revision.startswith("local-")


def test_a_flip_behind_an_old_time_is_seen_by_a_deep_look(hub: Hub, there: Path) -> None:
    adopt(hub, there)
    _flip(there / SHARDS[0])
    assert not adopt(hub, there).changed
    with pytest.raises(SglangError, match="is not what it was"):
        adopt(hub, there, verify="deep")


def test_a_copied_directory_is_read_again_and_its_new_times_recorded(there: Path) -> None:
    adopt(None, there, repo="")
    for name in WANTED:
        os.utime(there / name)
    assert adopt(None, there, repo="").changed
    assert not adopt(None, there, repo="").changed


def test_another_repository_is_another_question(hub: Hub, there: Path) -> None:
    first = adopt(hub, there, repo="")
    second = adopt(hub, there)
    assert second.changed
    assert first.revision.startswith("local-")
    assert len(second.revision) == 40


def test_links_into_a_hubs_cache_count_as_files(hub: Hub, there: Path, tmp_path: Path) -> None:
    blobs, view = tmp_path / "blobs", tmp_path / "a" / "b" / "view"
    blobs.mkdir()
    view.mkdir(parents=True)
    for name in WANTED:
        shutil.copy(there / name, blobs / name)
        (view / name).symlink_to(blobs / name)
    assert adopt(hub, view).files == len(WANTED)
    (blobs / SHARDS[0]).unlink()
    with pytest.raises(SglangError, match=r"missing: model-00001|names shards"):
        adopt(hub, view)


def _make_a_file(path: Path) -> None:
    shutil.rmtree(path)
    path.write_text("x")


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (lambda path: shutil.rmtree(path), "does not exist"),
        (_make_a_file, "not a directory"),
        (lambda path: (path / "config.json").unlink(), "config.json"),
        (lambda path: [shard.unlink() for shard in path.glob("*.safetensors*")], "pytorch_model.bin"),
    ],
    ids=["absent", "file", "no-config", "only-pickles"],
)
def test_what_is_no_model_is_named(prepare: Callable[[Path], Any], words: str, there: Path) -> None:
    prepare(there)
    with pytest.raises(SglangError) as caught:
        adopt(None, there)
    assert words in str(caught.value)
    assert caught.value.next_step


def test_check_mode_looks_and_writes_nothing(hub: Hub, there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("ansible_collections.inference.sglang.plugins.module_utils._snapshot_store.hash_file", None)
        predicted = adopt(hub, there, check_mode=True)
    assert predicted.changed
    assert predicted.files == len(WANTED)
    assert not (there.parents[2] / "sglang-models").exists()
    adopt(hub, there)
    assert not adopt(hub, there, check_mode=True).changed


def test_a_reader_who_cannot_read_is_told_what_is_in_the_way(there: Path) -> None:
    (there.parent).chmod(0o700)
    for parent in there.parents[1:-1]:
        if parent != Path("/tmp"):
            parent.chmod(0o755)
    with pytest.raises(SglangError, match="user nobody cannot read") as caught:
        adopt(None, there, repo="", reader="nobody")
    assert caught.value.found.startswith(f"{there.parent} has mode 0700")
    there.parent.chmod(0o755)
    (there / SHARDS[0]).chmod(0o600)
    with pytest.raises(SglangError, match="user nobody cannot read") as caught:
        adopt(None, there, repo="", reader="nobody")
    assert SHARDS[0] in caught.value.found
    (there / SHARDS[0]).chmod(0o644)
    adopt(None, there, repo="", reader="nobody")
    with pytest.raises(SglangError, match="does not exist"):
        adopt(None, there, repo="", reader="no-such-user")
