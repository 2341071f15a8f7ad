# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The mock hub behaves towards the real huggingface_hub client as the real Hub does."""

from __future__ import annotations

import hashlib
import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._safetensors import PREFIX, header_length, parse_header
from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RepositoryNotFoundError, RevisionNotFoundError

from tests.support.hub.mockhub import BLOCK, Blob, Hub

SHARD_BYTES = 12 << 20  # above one chunk of the client, so that a cut leaves something to resume


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "hub/acme/tiny"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text('{"architectures": ["LlamaForCausalLM"]}')
    (folder / "model.safetensors.sparse").write_text(f"{SHARD_BYTES} seed")
    return tmp_path / "hub"


@contextmanager
def serving(root: Path, **options: Any) -> Iterator[Hub]:
    hub = Hub(("127.0.0.1", 0), root, **options)
    thread = threading.Thread(target=hub.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.shutdown()
        hub.server_close()
        thread.join()


@pytest.fixture
def hub(root: Path) -> Iterator[Hub]:
    with serving(root) as server:
        yield server


def fetch(hub: Hub, target: Path, **options: Any) -> Path:
    options.setdefault("token", False)
    return Path(snapshot_download("acme/tiny", local_dir=target, endpoint=hub.url, **options))


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def published_sha256(hub: Hub) -> str:
    info = HfApi(endpoint=hub.url, token=False).model_info("acme/tiny", files_metadata=True)
    return next(file.lfs.sha256 for file in info.siblings or [] if file.lfs)


def get(url: str, **headers: str) -> tuple[int, bytes, dict[str, str]]:
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as answer:
        return answer.status, answer.read(), dict(answer.headers)


def test_snapshot_has_the_published_bytes(hub: Hub, tmp_path: Path) -> None:
    folder = fetch(hub, tmp_path / "copy")
    assert json.loads((folder / "config.json").read_text())["architectures"] == ["LlamaForCausalLM"]
    assert (folder / "model.safetensors").stat().st_size == SHARD_BYTES
    assert sha256(folder / "model.safetensors") == published_sha256(hub)


def test_ids_of_plain_files_are_those_of_git(hub: Hub, root: Path) -> None:
    data = bytes(range(256)) * 10_000  # more than one block
    (root / "acme/tiny/tokenizer.json").write_bytes(data)
    info = HfApi(endpoint=hub.url, token=False).model_info("acme/tiny", files_metadata=True)
    blob_id = next(file.blob_id for file in info.siblings or [] if file.rfilename == "tokenizer.json")
    assert blob_id == hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def test_commit_pins_the_content(hub: Hub, root: Path, tmp_path: Path) -> None:
    api = HfApi(endpoint=hub.url, token=False)
    before = api.model_info("acme/tiny").sha
    assert api.model_info("acme/tiny", revision=before).sha == before
    (root / "acme/tiny/config.json").write_text('{"architectures": ["Other"]}')
    assert api.model_info("acme/tiny").sha != before
    with pytest.raises(RevisionNotFoundError):
        fetch(hub, tmp_path / "copy", revision=before)


def test_unknown_repository_is_refused(hub: Hub) -> None:
    with pytest.raises(RepositoryNotFoundError):
        HfApi(endpoint=hub.url, token=False).model_info("acme/none")


def test_gated_repository_wants_the_token(root: Path, tmp_path: Path) -> None:
    with serving(root, token="hf_right", gated="acme/*") as hub:
        for token in (False, "hf_wrong"):
            with pytest.raises(GatedRepoError):
                fetch(hub, tmp_path / "refused", token=token)
        assert (fetch(hub, tmp_path / "copy", token="hf_right") / "config.json").exists()


def test_only_the_gated_repositories_want_a_token(root: Path, tmp_path: Path) -> None:
    with serving(root, token="hf_right", gated="secret/*") as hub:
        assert (fetch(hub, tmp_path / "copy") / "config.json").exists()


def test_cut_connection_is_resumed(hub: Hub, tmp_path: Path) -> None:
    hub.faults.append({"match": "*.safetensors", "kind": "cut", "after": 11 << 20})
    folder = fetch(hub, tmp_path / "copy")
    assert sha256(folder / "model.safetensors") == published_sha256(hub)
    assert [entry["status"] for entry in hub.log if entry["range"]] == [206]


def test_wrong_byte_reaches_the_client(hub: Hub, tmp_path: Path) -> None:
    hub.faults.append({"match": "*.safetensors", "kind": "corrupt", "at": 12345})
    assert sha256(fetch(hub, tmp_path / "copy") / "model.safetensors") != published_sha256(hub)


def test_status_fault_fires_as_often_as_asked(hub: Hub, tmp_path: Path) -> None:
    hub.faults.append({"match": "*.safetensors", "kind": "status", "status": 503, "times": 1})
    with pytest.raises(HfHubHTTPError):
        fetch(hub, tmp_path / "copy")
    fetch(hub, tmp_path / "copy")


def test_wheelhouse_is_a_page_of_links_with_ranges(root: Path, tmp_path: Path) -> None:
    wheels = tmp_path / "wheels/cpu"
    wheels.mkdir(parents=True)
    (wheels / "torch-1.0+cpu-py3-none-any.whl").write_bytes(b"0123456789")
    (wheels / "requirements.lock").write_text("not a wheel")
    with serving(root, wheelhouse=tmp_path / "wheels") as hub:
        status, page, _ = get(f"{hub.url}/wheelhouse/cpu/")
        assert status == 200
        assert b'href="torch-1.0%2Bcpu-py3-none-any.whl"' in page
        assert b"requirements.lock" not in page
        url = f"{hub.url}/wheelhouse/cpu/torch-1.0%2Bcpu-py3-none-any.whl"
        assert get(url)[1] == b"0123456789"
        assert get(url, Range="bytes=-3")[:2] == (206, b"789")
        assert get(url, Range="bytes=2-4")[:2] == (206, b"234")
        for path in ("..%2f", "none/", "cpu/..%2f..%2fhub%2facme"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                get(f"{hub.url}/wheelhouse/{path}")


@pytest.mark.parametrize("tensor", ["", "layer.7"])
def test_made_bytes_do_not_depend_on_where_one_begins_to_read(tensor: str) -> None:
    blob = Blob(None, 3 << 20, "seed", tensor)
    whole = b"".join(blob.read(offset, BLOCK) for offset in range(0, blob.size, BLOCK))
    for offset in (1, 100, 263, 264, 265, BLOCK - 1, BLOCK, BLOCK + 1, blob.size - 1):
        assert blob.read(offset, BLOCK) == whole[offset : offset + BLOCK]


@pytest.mark.parametrize("size", [4096, 3 << 20])
def test_a_made_shard_is_a_safetensors_file_that_holds_its_tensor(root: Path, size: int, tmp_path: Path) -> None:
    (root / "acme/tiny/shard.safetensors.sparse").write_text(f"{size} seed layer.7")
    with serving(root) as hub:
        shard = fetch(hub, tmp_path / "model") / "shard.safetensors"
        assert shard.stat().st_size == size
        assert sha256(shard) == hub.repo("acme/tiny").files["shard.safetensors"].sha256  # type: ignore[union-attr]
    data = shard.read_bytes()
    length = header_length("shard", data[:PREFIX], size)
    assert [tensor.name for tensor in parse_header("shard", data[PREFIX : PREFIX + length], size)] == ["layer.7"]


def test_all_downloads_together_get_the_rate(root: Path, tmp_path: Path) -> None:
    """A lower bound only: a busy machine makes everything slower and nothing faster."""
    with serving(root, rate=2 * SHARD_BYTES) as hub:
        started = time.monotonic()
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda name: fetch(hub, tmp_path / name), ("a", "b")))
        assert time.monotonic() - started >= 1.0
