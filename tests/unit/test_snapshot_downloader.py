# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The downloader alone, over a transport that does anything: what ends under its own name is always right."""

from __future__ import annotations

import ast
import contextlib
import errno
import hashlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.inference.sglang.plugins.module_utils import _snapshot_downloader as downloader
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

CONTENT = hashlib.shake_256(b"x").digest(50_000)


def job_file(content: bytes, name: str = "model.safetensors", git: bool = False) -> dict[str, Any]:
    oid = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    sha256 = "" if git else hashlib.sha256(content).hexdigest()
    return {"name": name, "size": len(content), "sha256": sha256, "git_oid": oid if git else ""}


class Script:
    """A server that does the next thing on its list for each request, then behaves."""

    def __init__(self, content: bytes, steps: list[tuple[str, int]]) -> None:
        self.content, self.steps, self.asked = content, list(steps), []  # type: ignore[var-annotated]

    @contextlib.contextmanager
    def __call__(self, name: str, offset: int) -> Iterator[tuple[bool, Iterator[bytes]]]:
        self.asked.append(offset)
        kind, at = self.steps.pop(0) if self.steps else ("ok", 0)
        if kind == "refuse":
            raise ConnectionError("refused")
        resumed = kind != "ignore range"
        body = bytearray(self.content[offset if resumed else 0 :])
        if kind == "flip" and body:
            body[at % len(body)] ^= 1
        if kind == "junk":
            body += b"junk"
        yield resumed, self._chunks(bytes(body), at if kind in ("cut", "short") else None, kind == "cut")

    @staticmethod
    def _chunks(body: bytes, stop: Any, rudely: bool) -> Iterator[bytes]:
        end = len(body) if stop is None else min(stop, len(body))
        for start in range(0, end, 7_000):
            yield body[start : min(start + 7_000, end)]
        if rudely and stop is not None:
            raise ConnectionError("cut")


def run(directory: str, transport: Any, files: list[dict[str, Any]], **changes: Any) -> list[dict[str, Any]]:
    out = io.StringIO()
    job = {"directory": directory, "files": files, "workers": 2, "retries": 3, "retry_delay": 0.0, **changes}
    made = downloader.Downloader(job, out, transport, changes.get("xet"))
    made.weights_may_go.set()
    made.run()
    return [json.loads(line) for line in out.getvalue().splitlines()]


steps = st.lists(
    st.tuples(st.sampled_from(["ok", "refuse", "cut", "short", "flip", "junk", "ignore range"]), st.integers(0, 60_000)), max_size=8
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps, st.booleans(), st.binary(max_size=60_000))
def test_whatever_the_network_does_only_right_bytes_get_their_name(script: list[tuple[str, int]], git: bool, left_over: bytes) -> None:
    with tempfile.TemporaryDirectory() as directory:
        part = Path(directory, downloader.part_name("model.safetensors"))
        part.parent.mkdir()
        part.write_bytes(left_over)
        events = run(directory, Script(CONTENT, script), [job_file(CONTENT, git=git)])
        target = Path(directory, "model.safetensors")
        done = [event for event in events if event["event"] == "done"]
        assert target.exists() is bool(done)
        if done:
            assert target.read_bytes() == CONTENT
            assert done[0]["sha256"] == hashlib.sha256(CONTENT).hexdigest()
            assert not part.exists()
        else:
            assert [event for event in events if event["event"] == "failed"]
        assert events[-1]["event"] == "end"


@given(st.lists(st.integers(1, 20_000), min_size=1, max_size=10))
@settings(max_examples=40, deadline=None)
def test_cuts_that_bring_something_never_exhaust_the_retries_and_never_repeat_a_byte(cuts: list[int]) -> None:
    server = Script(CONTENT, [("cut", at) for at in cuts])
    with tempfile.TemporaryDirectory() as directory:
        events = run(directory, server, [job_file(CONTENT)], retries=1)
        assert [event["event"] for event in events][-2:] == ["done", "end"]
    received = 0
    for offset, cut in zip(server.asked, cuts):
        assert offset == received
        received = min(len(CONTENT), received + cut)


def test_an_empty_file_is_a_file(tmp_path: Path) -> None:
    events = run(str(tmp_path), Script(b"", []), [job_file(b"", "added_tokens.json", git=True)])
    assert events[0]["event"] == "done"
    assert (tmp_path / "added_tokens.json").read_bytes() == b""


def test_weights_wait_for_the_small_files(tmp_path: Path) -> None:
    out, files = io.StringIO(), [job_file(CONTENT), job_file(b"{}", "config.json", git=True)]
    job = {"directory": str(tmp_path), "files": files, "workers": 1, "retries": 0, "retry_delay": 0.0}

    @contextlib.contextmanager
    def transport(name: str, offset: int) -> Iterator[tuple[bool, list[bytes]]]:
        if name == "config.json":
            made.weights_may_go.set()
        assert made.weights_may_go.is_set()
        yield True, [CONTENT if name != "config.json" else b"{}"]

    made = downloader.Downloader(job, out, transport)
    made.run()
    assert [json.loads(line).get("file") for line in out.getvalue().splitlines()] == ["config.json", "model.safetensors", None]


def test_a_full_disk_is_not_retried_and_stops_the_others(tmp_path: Path) -> None:
    asked: list[str] = []

    @contextlib.contextmanager
    def transport(name: str, offset: int) -> Iterator[Any]:
        asked.append(name)
        raise OSError(errno.ENOSPC, "No space left on device")
        yield

    files = [job_file(CONTENT, f"{number}.safetensors") for number in range(5)]
    events = run(str(tmp_path), transport, files, workers=1)
    assert [event["event"] for event in events] == ["failed", "end"]
    assert events[0]["failure"]["errno"] == errno.ENOSPC
    assert len(asked) == 1


def test_xet_that_fails_falls_back_to_plain_http(tmp_path: Path) -> None:
    def broken_xet(name: str, target: str, size: int) -> bool:
        Path(target).write_bytes(b"half")
        raise RuntimeError("CAS service error")

    server = Script(CONTENT, [])
    events = run(str(tmp_path), server, [job_file(CONTENT)], xet=broken_xet)
    assert [event["event"] for event in events] == ["retry", "done", "end"]
    assert (tmp_path / "model.safetensors").read_bytes() == CONTENT
    assert not list(tmp_path.glob("**/*.xet"))


def test_xet_bytes_are_proven_like_any_other(tmp_path: Path) -> None:
    def wrong_xet(name: str, target: str, size: int) -> bool:
        Path(target).write_bytes(b"\0" * size)
        return True

    server = Script(CONTENT, [])
    events = run(str(tmp_path), server, [job_file(CONTENT)], xet=wrong_xet)
    assert [event["event"] for event in events] == ["corrupt", "done", "end"]
    assert server.asked == [0]


def test_xet_that_works_costs_no_http_request(tmp_path: Path) -> None:
    def good_xet(name: str, target: str, size: int) -> bool:
        Path(target).write_bytes(CONTENT)
        return True

    server = Script(CONTENT, [])
    assert [event["event"] for event in run(str(tmp_path), server, [job_file(CONTENT)], xet=good_xet)] == ["done", "end"]
    assert server.asked == []


MINUTE = "Thu, 01 Jan 1970 00:01:00 GMT"


@pytest.mark.parametrize(
    ("value", "sent", "seconds"),
    [
        (None, None, None),
        ("", MINUTE, None),
        ("7", MINUTE, 7.0),
        ("0.5", None, 0.5),
        ("-3", None, 0.0),
        ("soon", MINUTE, None),
        (MINUTE, None, 50.0),
        (MINUTE, "yesterday", 50.0),
        (MINUTE, "Thu, 01 Jan 1970 00:00:58 GMT", 2.0),
        (MINUTE, "Fri, 01 Jan 2100 00:00:00 GMT", 0.0),
    ],
)
def test_retry_after_is_seconds_or_a_date_by_the_hubs_clock(value: Any, sent: Any, seconds: Any) -> None:
    assert downloader.parse_retry_after(value, sent, now=10.0) == seconds


@given(st.integers(1, 60), st.floats(0.01, 10), st.one_of(st.none(), st.floats(0, 1e6)))
def test_waits_grow_and_end(attempt: int, first: float, after: Any) -> None:
    wait = downloader.retry_wait({"retry_after": after}, attempt, first)
    assert 0 < wait <= downloader.MAXIMUM_RETRY_AFTER
    if after is not None and after <= downloader.MAXIMUM_RETRY_AFTER:
        assert wait >= after


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 451])
def test_a_refusal_is_final(status: int) -> None:
    assert not downloader.is_retryable({"status": status})


@pytest.mark.parametrize("status", [None, 408, 429, 500, 502, 503, 504])
def test_an_accident_is_not(status: Any) -> None:
    assert downloader.is_retryable({"status": status})


def test_it_imports_nothing_of_the_collection_because_the_child_could_not() -> None:
    tree = ast.parse(Path(downloader.__file__).read_text())
    imported = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    roots = {name.split(".")[0] for name in imported}
    assert roots - set(sys.stdlib_module_names) == {"huggingface_hub"}
    assert os.path.basename(downloader.__file__) == "_snapshot_downloader.py"
