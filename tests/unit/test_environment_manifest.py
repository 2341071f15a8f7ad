# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A manifest says what an environment is, and nothing outside of it can come of one; its files travel end to end."""

from __future__ import annotations

import contextlib
import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._environment_manifest import MANIFEST, TreeFile, TreeManifest, dump, load
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._peer_server import Stream
from ansible_collections.inference.sglang.plugins.module_utils._python_environment import MARKER
from hypothesis import given, settings
from hypothesis import strategies as st

FILE = TreeFile("bin/tool", 1, 0, 0o755, "0" * 64)
WHOLE = TreeManifest("/e", "d", "f", {}, ("bin", "lib"), (("bin/python", "/usr/bin/python3"), ("lib64", "lib")), (FILE,))


def test_a_manifest_is_read_as_it_was_written() -> None:
    assert load(dump(WHOLE), "here") == WHOLE
    assert dump(load(dump(WHOLE), "here")) == dump(WHOLE)


BAD_NAMES = ["/etc/passwd", "../x", "bin/../../x", "..", ".", "", "bin//x", "bin/./x", "bin/x/", "etc/x", "lib64/x", "bin/tool/x", "a\0b"]


@pytest.mark.parametrize("name", [*BAD_NAMES, MARKER, MANIFEST, MARKER + ".new", "bin", "bin/python"])
def test_a_file_that_would_come_to_lie_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(SglangError, match="cannot be trusted"):
        load(dump(replace(WHOLE, files=(FILE, replace(FILE, name=name)))), "here")


@pytest.mark.parametrize("name", [*BAD_NAMES, "lib64", "bin/tool"])
def test_a_directory_that_would_come_to_lie_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(SglangError, match="cannot be trusted"):
        load(dump(replace(WHOLE, directories=(*WHOLE.directories, name))), "here")


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("lib/x", "/etc/passwd"),
        ("lib/x", "../../x"),
        ("x", ".."),
        ("x", "lib/../.."),
        ("x", "lib64/../bin"),  # read as text it stays inside; through a link it need not
        ("x", ""),
        ("x", "a\0b"),
        ("bin/pythonx", "/usr/bin/python3"),
        ("lib/python", "/usr/bin/python3"),
        ("bin/python3", "../../usr/bin/python3"),
        ("../x", "lib"),
        ("bin/tool", "lib"),
        ("bin", "lib"),
        (MARKER, "lib"),
    ],
)
def test_a_link_that_leads_or_lies_outside_is_refused(name: str, target: str) -> None:
    with pytest.raises(SglangError, match="cannot be trusted"):
        load(dump(replace(WHOLE, links=(*WHOLE.links, (name, target)))), "here")


@pytest.mark.parametrize(
    "change",
    [
        {"mode": 0o4755},
        {"mode": 0o666},
        {"mode": -1},
        {"mode": True},
        {"size": -1},
        {"size": 1.5},
        {"size": 1 << 64},
        {"mtime_ns": None},
        {"sha256": "0"},
        {"sha256": 5},
        {"name": 5},
    ],
)
def test_a_file_that_is_none_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(SglangError, match="cannot be trusted"):
        load(dump(replace(WHOLE, files=(replace(FILE, **change),))), "here")


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"\xff", b"[" * 100_000, b'{"format": 2}', b"null", b'{"format": 1}'], ids=range(8))
def test_no_manifest_is_an_error_in_four_parts(data: bytes) -> None:
    with pytest.raises(SglangError, match="cannot be trusted") as caught:
        load(data, "here")
    assert all((caught.value.wrong, caught.value.found, caught.value.wanted, caught.value.next_step))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=5), max_leaves=8
)


@settings(deadline=None)
@given(st.sampled_from(["path", "digest", "foundation", "marker", "directories", "links", "files"]), VALUES)
def test_whatever_stands_in_a_manifest_it_is_read_or_refused(name: str, value: Any) -> None:
    data = {**json.loads(dump(WHOLE)), name: value}
    with contextlib.suppress(SglangError):
        load(json.dumps(data).encode(), "here")


@settings(deadline=None)
@given(st.lists(st.integers(0, 50), max_size=8), st.integers(0, 300), st.integers(1, 300))
def test_the_stream_is_the_files_end_to_end(tmp_path_factory: pytest.TempPathFactory, sizes: list[int], start: int, length: int) -> None:
    folder, whole, files = tmp_path_factory.mktemp("stream"), b"", []
    numbers = itertools.count(1)
    for index, size in enumerate(sizes):
        data = bytes(next(numbers) % 251 for _ in range(size))
        (folder / str(index)).write_bytes(data)
        whole += data
        files.append({"file": str(index), "size": size, "mtime_ns": (folder / str(index)).stat().st_mtime_ns})
    stream = Stream(str(folder), files)
    assert stream.size == len(whole)
    assert stream.read(start, length) == whole[start : start + length]


def test_the_stream_ends_at_a_file_that_is_another(tmp_path: Path) -> None:
    files = []
    for name in ("a", "b", "c"):
        (tmp_path / name).write_bytes(name.encode() * 10)
        files.append({"file": name, "size": 10, "mtime_ns": (tmp_path / name).stat().st_mtime_ns})
    stream = Stream(str(tmp_path), files)
    (tmp_path / "b").unlink()
    (tmp_path / "b").symlink_to("c")
    assert stream.read(0, 30) == b"a" * 10
    assert stream.read(12, 30) == b""
    assert stream.read(20, 30) == b"c" * 10
