# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Files that are not what their names say: FIFOs, devices, garbage, endless nesting. Each is refused or healed, at once."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.inference.sglang.plugins.module_utils import _snapshot_store as store
from ansible_collections.inference.sglang.plugins.module_utils._environment_files import read_marker
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._model_files import read_model
from ansible_collections.inference.sglang.plugins.module_utils._plain import plain
from ansible_collections.inference.sglang.plugins.module_utils._python_environment import MARKER, Marker
from ansible_collections.inference.sglang.plugins.module_utils._regular_files import read_record, read_regular
from ansible_collections.inference.sglang.plugins.module_utils._safetensors import parse_header, read_index
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_files import is_safe_name, parse_metadata
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_manifest import load
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.hub.mockhub import Hub
from tests.support.snapshot_lab import SHARDS, assert_published, make_model, running_hub, snapshot

DIGEST, COMMIT = "a" * 64, "b" * 40
ENTRY = {"file": "config.json", "size": 2, "sha256": DIGEST, "mtime_ns": 1, "proof": "none"}
DEEP = b"[" * 200_000
GARBAGE = (b"", b"\xff\xfe", b"\xff\xfe\0", b"[]", b"null", b"5", b'"x"', b"{", DEEP, b'{"a":' * 100_000, b'{"\\ud800": 1}', b"9" * 5000)


@pytest.fixture(autouse=True)
def _nothing_hangs() -> Iterator[None]:
    def late(*_: object) -> None:
        raise AssertionError("it waits for ever")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        folder = os.open(path.parent, os.O_RDONLY)
        server.bind(f"/proc/self/fd/{folder}/{path.name}")
        os.close(folder)


ODD: dict[str, Callable[[Path], object]] = {
    "fifo": os.mkfifo,
    "zero": lambda path: path.symlink_to("/dev/zero"),
    "random": lambda path: path.symlink_to("/dev/random"),
    "terminal": lambda path: path.symlink_to("/dev/tty"),
    "directory": lambda path: path.mkdir(),
    "socket": _socket,
    "link to a fifo": lambda path: (os.mkfifo(path.parent / "pipe"), path.symlink_to("pipe")),
}


@pytest.mark.parametrize("odd", ODD)
def test_what_is_no_file_is_said_to_be_none(odd: str, tmp_path: Path) -> None:
    ODD[odd](tmp_path / "x")
    with pytest.raises(SglangError, match="not a regular file") as caught:
        read_regular(str(tmp_path / "x"))
    assert caught.value.found != "something else" and caught.value.wanted and caught.value.next_step
    assert read_record(str(tmp_path / "x")) is None


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("name", ["config.json", "hf_quant_config.json", "model.safetensors.index.json", SHARDS[0]])
def test_model_with_something_else_for_a_file_is_refused(name: str, odd: str, tmp_path: Path) -> None:
    model = make_model(tmp_path / "model", 100)
    (model / name).unlink(missing_ok=True)
    ODD[odd](model / name)
    with pytest.raises(SglangError) as caught:
        read_model(str(model))
    assert name in caught.value.wrong and caught.value.wanted


@pytest.mark.parametrize("odd", ODD)
def test_odd_marker_is_none(odd: str, tmp_path: Path) -> None:
    ODD[odd](tmp_path / MARKER)
    assert read_marker(str(tmp_path), "a" * 64) is None


def test_a_file_larger_than_its_limit_is_never_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.touch()
    os.truncate(path, 1 << 40)
    with pytest.raises(SglangError, match="too large") as caught:
        read_model(str(tmp_path))
    assert str(64 << 20) in caught.value.wanted
    path.write_bytes(b"x" * 11)
    assert read_regular(str(path), 11) == b"x" * 11
    with pytest.raises(SglangError, match="too large"):
        read_regular(str(path), 10)
    # Its size is said to be 0.
    with pytest.raises(SglangError, match="too large"):
        read_regular("/proc/self/maps", 100)


def _journal(folder: Path) -> dict[str, Any]:
    return store.Journal(str(folder)).read()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return make_model(tmp_path / "hub/acme/tiny", 1000)


@pytest.fixture
def hub(tmp_path: Path, source: Path) -> Iterator[Hub]:
    with running_hub(tmp_path / "hub") as hub:
        yield hub


REFS = (*GARBAGE, b'{"main": {"revision": 5}}', b'{"main": "x"}', b'{"main": []}', b'{"main": {"revision": "../../etc"}}', b'{"main": {}}')


@pytest.mark.parametrize("data", REFS, ids=range(len(REFS)))
def test_refs_that_cannot_be_read_mean_nothing_and_are_made_anew(data: bytes, tmp_path: Path) -> None:
    place = store.Place(str(tmp_path), "acme/tiny")
    Path(place.directory).mkdir()
    Path(place.refs).write_bytes(data)
    assert store.read_refs(place).get("main", {}).get("revision", "") in ("", "../../etc")
    store.forget_partials(place, "main", COMMIT)
    store.record_ref(place, "main", COMMIT, "https://hub")
    assert json.loads(Path(place.refs).read_text())["main"]["revision"] == COMMIT


@pytest.mark.parametrize("data", GARBAGE, ids=range(len(GARBAGE)))
def test_a_journal_is_what_its_readable_lines_say(data: bytes, tmp_path: Path) -> None:
    (tmp_path / ".parts").mkdir()
    (tmp_path / ".parts/verified.jsonl").write_bytes(b"\n".join((data, json.dumps(ENTRY).encode(), data)))
    assert list(_journal(tmp_path)) == ["config.json"]


def test_a_run_that_finds_garbage_in_every_record_heals(hub: Hub, source: Path, tmp_path: Path) -> None:
    commit = hub.repo("acme/tiny").commit
    place = store.Place(str(tmp_path / "models"), "acme/tiny")
    journal = Path(place.partial(commit)) / ".parts/verified.jsonl"
    journal.parent.mkdir(parents=True)
    journal.write_bytes(b"\xff\xfe\n")
    Path(place.refs).write_bytes(b'{"main": {"revision": 5}}')
    assert_published(snapshot(hub, tmp_path / "models"), source)


def _manifests(good: str) -> list[bytes]:
    other = json.loads(good)
    changes: tuple[dict[str, Any], ...] = (
        {"files": [{**other["files"][0], "size": -5}]},
        {"files": [{**other["files"][0], "size": True}]},
        {"files": [{**other["files"][0], "file": "../config.json"}]},
        {"files": [{**other["files"][0], "file": "\ud800.json"}]},
        {"files": [{**other["files"][0], "sha256": "x"}]},
        {"files": "x"},
        {"revision": "../../etc"},
        {"revision": "f" * 40},
        {"repo": "other/model"},
        {"source": "\ud800"},
        {"format": 2},
    )
    return [*GARBAGE, good[:100].encode(), *(json.dumps({**other, **change}).encode() for change in changes)]


def test_a_manifest_that_cannot_be_read_is_named_and_made_anew_once_it_is_gone(hub: Hub, source: Path, tmp_path: Path) -> None:
    manifest = Path(snapshot(hub, tmp_path / "models").manifest)
    good = manifest.read_text()
    for data in _manifests(good):
        manifest.write_bytes(data)
        with pytest.raises(SglangError) as caught:
            snapshot(hub, tmp_path / "models", check_mode=True)
        assert str(manifest) in str(caught.value)
        assert "Remove that file" in caught.value.next_step
    manifest.unlink()
    os.mkfifo(manifest)
    with pytest.raises(SglangError, match="not a regular file"):
        snapshot(hub, tmp_path / "models")
    manifest.unlink()
    assert_published(snapshot(hub, tmp_path / "models"), source)


@pytest.mark.parametrize("dimensions", [33, 80_000, 300_000])
def test_a_header_with_endless_dimensions_is_refused_at_once(dimensions: int) -> None:
    header = b'{"a": {"dtype":"U8","shape":[' + b",".join([b"9" * 18] * dimensions) + b'],"data_offsets":[0,4]}}'
    begun = time.process_time()
    with pytest.raises(SglangError) as caught:
        parse_header("x.safetensors", header, len(header) + 12)
    assert time.process_time() - begun < 5
    assert len(str(caught.value)) < 1000


def test_a_header_of_the_most_dimensions_is_read() -> None:
    header = json.dumps({"a": {"dtype": "U8", "shape": [1] * 31 + [4], "data_offsets": [0, 4]}}).encode()
    assert parse_header("x.safetensors", header, 8 + len(header) + 4)[0].size == 4


@pytest.mark.parametrize("digits", [21, 4000, 5_000_000])
def test_a_header_with_an_endless_number_is_refused_at_once(digits: int) -> None:
    header = b'{"a": {"dtype":"U8","shape":[4],"data_offsets":[0,' + b"9" * digits + b"]}}"
    begun = time.process_time()
    with pytest.raises(SglangError):
        parse_header("x.safetensors", header, len(header) + 12)
    assert time.process_time() - begun < 5


def test_a_header_has_at_most_what_the_format_allows(tmp_path: Path) -> None:
    model = make_model(tmp_path / "model", 100)
    (model / SHARDS[0]).write_bytes(struct.pack("<Q", 100_000_001))
    os.truncate(model / SHARDS[0], 1 << 37)
    with pytest.raises(SglangError, match="100000001"):
        read_model(str(model))


@pytest.mark.parametrize("value", ["\ud800", ["x", "\udfff"], {"a": {"b": "\ud800x"}}, {"\ud800": 1}])
def test_half_a_surrogate_pair_is_refused_where_settings_are_read(value: object) -> None:
    with pytest.raises(SglangError, match="sglang_server_settings") as caught:
        plain(value, "sglang_server_settings")
    str(caught.value).encode("utf-8")


@pytest.mark.parametrize("name", ["\ud800.json", "a/\udcff.safetensors"])
def test_a_name_that_no_file_can_have_is_not_safe(name: str) -> None:
    assert not is_safe_name(name)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(), max_size=8), inner, max_size=4),
    max_leaves=12,
)
PATTERNS: tuple[dict[str, Any], ...] = (
    {"main": {"revision": COMMIT, "source": "x", "time": "x"}},
    ENTRY,
    {
        "format": 1,
        "repo": "a/b",
        "revision": COMMIT,
        "requested": "main",
        "source": "x",
        "time": "x",
        "path": "/x",
        "adopted": False,
        "files": [ENTRY],
    },
    Marker("/x", "n", DIGEST, DIGEST, "3.11.2", "linux", "0.1", {"sglang": "0.5.11"}).__dict__,
    {"architectures": ["X"], "text_config": {"num_hidden_layers": 2}},
    {"weight_map": {"layer.0": SHARDS[0]}},
    {"a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}},
    {"sha": COMMIT, "siblings": [{"rfilename": "config.json", "size": 2, "blobId": COMMIT}]},
)


def _paths(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from _paths(item, (*path, key))


def _changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _changed(copy[path[0]], path[1:], new)
    return copy


@st.composite
def records(draw: st.DrawFn) -> bytes:
    """Any bytes, any JSON, and true records with one value replaced by any other."""
    kind = draw(st.sampled_from(("bytes", "json", "changed")))
    if kind == "bytes":
        return draw(st.binary(max_size=200))
    if kind == "json":
        return json.dumps(draw(JSON)).encode()
    pattern = draw(st.sampled_from(PATTERNS))
    return json.dumps(_changed(pattern, draw(st.sampled_from(list(_paths(pattern)))), draw(JSON))).encode()


@given(records())
@settings(max_examples=150, deadline=None)
def test_every_reader_of_a_record_refuses_or_reads(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    """Only one error is known to the modules; anything else is a traceback on an operator's screen."""
    folder = tmp_path_factory.mktemp("records")
    place = store.Place(str(folder), "acme/tiny")
    (folder / "acme--tiny").mkdir()
    (folder / ".parts").mkdir()
    for name in (".parts/verified.jsonl", MARKER, "config.json", "hf_quant_config.json", "model.safetensors.index.json"):
        (folder / name).write_bytes(data)
    for name in ("acme--tiny/refs.json", "x.manifest.json", "lone.safetensors"):
        (folder / name).write_bytes(data)
    text = data.decode("utf-8", errors="replace")
    readers: tuple[Callable[[], object], ...] = (
        lambda: store.forget_partials(place, "main", COMMIT),
        lambda: store.record_ref(place, "main", COMMIT, "x"),
        lambda: store.read_manifest(str(folder / "x.manifest.json")),
        lambda: load(text, "x"),
        lambda: _journal(folder),
        lambda: store.content_of(str(folder / "model.safetensors.index.json")),
        lambda: store.local_metadata(str(folder), "config.json"),
        lambda: read_marker(str(folder), DIGEST),
        lambda: read_model(str(folder)),
        lambda: parse_header("x.safetensors", data, len(data) + 12),
        lambda: read_index("x.safetensors.index.json", text),
        lambda: parse_metadata(read_record(str(folder / "config.json")), "the hub", COMMIT),
    )
    for reader in readers:
        try:
            reader()
        except SglangError as refusal:
            str(refusal).encode("utf-8")
    assert store.read_refs(place)["main"]["revision"] == COMMIT
