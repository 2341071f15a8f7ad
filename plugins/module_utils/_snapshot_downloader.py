# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Fetches files of one hub revision. Runs as a child in the tool environment's Python; self-contained on purpose.

Its source goes to the child through a pipe, so it may import nothing of this collection. It uses huggingface_hub for
addresses, headers, HTTP session and errors, but writes the files itself: ``hf_hub_download`` (1.33.0) downloads into
a file with a random name and removes it on failure, so a killed or cut download starts again at byte 0, and it does
not compare digests.

Input: one JSON line (the job) on stdin; then a line that lets the weights go, after the parent has looked at the small
files. stdin stays open: its end means that the parent is gone, and this process ends at once.
Output: JSON lines on stdout: ``done``, ``retry``, ``corrupt``, ``failed``, ``end``.

A file is written to ``.parts/<sha1 of its name>.part``, hashed while it is written, and moved to its name only after size
and digest were right and the bytes were on the disk. So a file under its own name is always a proven one.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, Optional

PARTS = ".parts"
CHUNK = 1 << 20
MAXIMUM_WAIT = 60.0
MAXIMUM_RETRY_AFTER = 900.0
# The same file arriving wrong this often is no accident of one connection.
MAXIMUM_CORRUPT = 3

RETRYABLE_STATUS = frozenset((408, 409, 416, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524))
# A disk that is full or read-only does not mend by asking the network again.
LOCAL_ERRNO = frozenset(
    (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EFBIG, errno.EIO, errno.ENOENT, errno.ENOTDIR, errno.EISDIR)
)


def is_weights(name: str) -> bool:
    """The large files, which wait until configuration and index were looked at."""
    return name.endswith(".safetensors")


def part_name(name: str) -> str:
    """Where a file grows, below the partial directory; flat, whatever folders its name has."""
    return f"{PARTS}/{hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest()}.part"


def is_retryable(failure: dict[str, Any]) -> bool:
    """Whether asking again can help: not for a local disk's errors and not for a plain refusal."""
    if failure.get("errno") in LOCAL_ERRNO:
        return False
    status = failure.get("status")
    return status is None or status in RETRYABLE_STATUS


def retry_wait(failure: dict[str, Any], attempt: int, first: float) -> float:
    """Doubling waits; a hub that says when to come back is believed, within reason."""
    after = failure.get("retry_after")
    own = min(MAXIMUM_WAIT, first * 2.0 ** max(0, attempt - 1))
    return own if after is None else min(MAXIMUM_RETRY_AFTER, max(own, float(after)))


def parse_retry_after(value: Optional[str], sent: Optional[str], now: float) -> Optional[float]:
    """Seconds, or an HTTP date, held against the hub's own clock (its `Date`) as this host's may be wrong; else not given."""
    import email.utils

    def at(text: Optional[str], otherwise: Optional[float]) -> Optional[float]:
        try:
            return email.utils.parsedate_to_datetime(text or "").timestamp()
        except (TypeError, ValueError, IndexError):
            return otherwise

    try:
        return max(0.0, float(value or ""))
    except ValueError:
        until = at(value, None)
        return None if until is None else max(0.0, until - (at(sent, now) or now))


def describe_exception(error: BaseException) -> dict[str, Any]:
    """An exception as the plain facts that the parent classifies."""
    failure: dict[str, Any] = {"type": type(error).__name__, "message": str(error)[:500]}
    response = getattr(error, "response", None)
    if response is not None:
        headers = response.headers
        failure.update(
            status=response.status_code,
            code=headers.get("X-Error-Code") or "",
            message=(headers.get("X-Error-Message") or str(error))[:500],
            retry_after=parse_retry_after(headers.get("Retry-After"), headers.get("Date"), time.time()),
        )
    elif isinstance(error, OSError) and error.errno in LOCAL_ERRNO:
        failure["errno"] = error.errno
    return failure


class Corrupt(Exception):
    """All bytes came, and they are not the declared ones."""

    def __init__(self, expected: str, found: str) -> None:
        super().__init__(f"expected {expected}, found {found}")
        self.expected = expected
        self.found = found


class Short(Exception):
    """The body ended early without a word from the server."""


class Digest:
    """sha256 for the manifest and, for a small file, the git blob id that the hub declares instead."""

    def __init__(self, size: int, git: bool) -> None:
        self._sha256 = hashlib.sha256()
        self._git = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False) if git else None

    def update(self, data: Any) -> None:
        self._sha256.update(data)
        if self._git is not None:
            self._git.update(data)

    @property
    def sha256(self) -> str:
        return self._sha256.hexdigest()

    def against(self, file: dict[str, Any]) -> tuple[str, str]:
        """(expected, found) by the digest that is declared."""
        if self._git is not None and not file["sha256"]:
            return file["git_oid"], self._git.hexdigest()
        return file["sha256"], self._sha256.hexdigest()


class Downloader:
    """One job: some files of one revision into one directory."""

    def __init__(self, job: dict[str, Any], out: Any, transport: Any, xet: Any = None) -> None:
        self.job = job
        self.transport = transport
        self.xet = xet
        self.stop = threading.Event()
        self.weights_may_go = threading.Event()
        self._out = out
        self._out_lock = threading.Lock()
        self._pause_until = 0.0

    def emit(self, **event: Any) -> None:
        line = json.dumps(event) + "\n"
        with self._out_lock:
            self._out.write(line)
            self._out.flush()

    def run(self) -> None:
        os.makedirs(os.path.join(self.job["directory"], PARTS), exist_ok=True)
        # Weights last, so that no worker waits for files that are queued behind it.
        files = sorted(self.job["files"], key=lambda file: (is_weights(file["name"]), file["size"]))
        with ThreadPoolExecutor(max_workers=max(1, self.job["workers"])) as pool:
            list(pool.map(self._guarded, files))
        self.emit(event="end")

    def _guarded(self, file: dict[str, Any]) -> None:
        """Nothing a thread meets may be lost: an unexpected error is a failure of its file."""
        try:
            if is_weights(file["name"]):
                self.weights_may_go.wait()
            self._file(file)
        except Exception as error:
            self._fail(file, describe_exception(error))

    def _fail(self, file: dict[str, Any], failure: dict[str, Any]) -> None:
        if not self.stop.is_set():
            self.stop.set()
            self.weights_may_go.set()
            self.emit(event="failed", file=file["name"], failure=failure)

    def _file(self, file: dict[str, Any]) -> None:
        attempts = corrupt = 0
        part = os.path.join(self.job["directory"], part_name(file["name"]))
        if self.xet is not None and file["sha256"]:
            self._try_xet(file, part)
        while not self.stop.is_set():
            self._wait_for_pause()
            before = _size(part)
            try:
                sha256 = self._attempt(file, part)
            except Corrupt as error:
                _remove(part)
                corrupt += 1
                self.emit(event="corrupt", file=file["name"], expected=error.expected, found=error.found, attempt=corrupt)
                if corrupt >= MAXIMUM_CORRUPT:
                    return self._fail(file, {"type": "Corrupt", "message": str(error), "expected": error.expected, "found": error.found})
                continue
            except Exception as error:
                failure = describe_exception(error)
                attempts = 1 if _size(part) > before else attempts + 1
                if failure.get("status") == 416:
                    _remove(part)
                if not is_retryable(failure) or attempts > self.job["retries"]:
                    return self._fail(file, failure)
                self._pause(file, failure, retry_wait(failure, attempts, self.job["retry_delay"]))
                continue
            if sha256:
                self.emit(event="done", file=file["name"], size=file["size"], sha256=sha256)
            return None
        return None

    def _try_xet(self, file: dict[str, Any], part: str) -> None:
        """A whole file through xet, which cannot continue a part; whatever it cannot do falls back to plain HTTP."""
        if _size(part):
            return
        try:
            if self.xet(file["name"], part + ".xet", file["size"]):
                os.replace(part + ".xet", part)
        except Exception as error:
            _remove(part + ".xet")
            failure = describe_exception(error)
            if failure.get("errno") is None:
                self.emit(event="retry", file=file["name"], failure=failure, wait=0)

    def _pause(self, file: dict[str, Any], failure: dict[str, Any], wait: float) -> None:
        """A rate limit holds for the whole address, so all workers wait; other failures concern one file."""
        self.emit(event="retry", file=file["name"], failure=failure, wait=wait)
        if failure.get("status") == 429:
            self._pause_until = max(self._pause_until, time.monotonic() + wait)
        else:
            self.stop.wait(wait)

    def _wait_for_pause(self) -> None:
        while not self.stop.is_set():
            left = self._pause_until - time.monotonic()
            if left <= 0:
                return
            self.stop.wait(left)

    def _attempt(self, file: dict[str, Any], part: str) -> str:
        """Continue the part, prove it, move it to its name; returns the sha256, or "" when stopped on the way."""
        digest = Digest(file["size"], git=not file["sha256"])
        flags = os.O_RDWR | os.O_CREAT
        with open(os.open(part, flags, 0o644), "r+b", buffering=0) as handle:
            have = os.fstat(handle.fileno()).st_size
            if have > file["size"]:
                handle.truncate(0)
                have = 0
            for block in iter(lambda: handle.read(CHUNK), b""):
                digest.update(block)
            if have < file["size"]:
                digest, have = self._stream(file, handle, digest, have)
            if self.stop.is_set() and have < file["size"]:
                return ""
            if have < file["size"]:
                raise Short(f"{have} of {file['size']} bytes came")
            expected, found = digest.against(file)
            if have > file["size"] or expected != found:
                raise Corrupt(expected, found if have <= file["size"] else f"{have} bytes instead of {file['size']}")
            os.fchmod(handle.fileno(), 0o644)
            os.fsync(handle.fileno())
        target = os.path.join(self.job["directory"], file["name"])
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.replace(part, target)
        return digest.sha256

    def _stream(self, file: dict[str, Any], handle: Any, digest: Digest, have: int) -> tuple[Digest, int]:
        with self.transport(file["name"], have) as (resumed, chunks):
            if have and not resumed:
                # The server ignored the range and sends the whole file.
                handle.seek(0)
                handle.truncate(0)
                digest, have = Digest(file["size"], git=not file["sha256"]), 0
            for chunk in chunks:
                if self.stop.is_set() or have > file["size"]:
                    break
                view = memoryview(chunk)
                while view:
                    view = view[handle.write(view) :]
                digest.update(chunk)
                have += len(chunk)
        return digest, have


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def hub_transport(job: dict[str, Any]) -> Any:
    """Requests through huggingface_hub's session: its proxies, redirects (which drop the token) and error types."""
    from huggingface_hub import get_session, hf_hub_url
    from huggingface_hub.utils import build_hf_headers, hf_raise_for_status  # type: ignore[attr-defined,unused-ignore]

    headers = build_hf_headers(token=job["token"] or False, library_name="inference.sglang")

    @contextlib.contextmanager
    def transport(name: str, offset: int) -> Any:
        url = hf_hub_url(job["repo"], name, revision=job["revision"], endpoint=job["endpoint"])
        # Compressed bytes could neither be counted nor resumed.
        asked = {**headers, "Accept-Encoding": "identity"}
        if offset:
            asked["Range"] = f"bytes={offset}-"
        with get_session().stream("GET", url, headers=asked, timeout=job["timeout"]) as response:
            hf_raise_for_status(response)
            resumed = response.status_code == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {offset}-")
            yield resumed, response.iter_bytes()

    return transport


class Refused(Exception):
    """A peer's refusal, in the shape of the errors of huggingface_hub (`describe_exception`)."""

    def __init__(self, status: int, headers: Any) -> None:
        super().__init__(f"HTTP {status}")
        self.response = SimpleNamespace(status_code=status, headers=headers)


def peer_transport(job: dict[str, Any]) -> Any:
    """Requests to a host of the fleet: the standard library is enough, no proxy is asked and no redirect followed."""
    import http.client
    from urllib.parse import quote, urlsplit

    parts = urlsplit(job["endpoint"])

    @contextlib.contextmanager
    def transport(name: str, offset: int) -> Any:
        headers = {"Authorization": f"Bearer {job['token']}"}
        if offset:
            headers["Range"] = f"bytes={offset}-"
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=job["timeout"])
        with contextlib.closing(connection):
            connection.request("GET", f"/{job['repo']}/resolve/{job['revision']}/{quote(name)}", headers=headers)
            response = connection.getresponse()
            if response.status not in (200, 206):
                raise Refused(response.status, response.headers)
            resumed = response.status == 206 and (response.getheader("Content-Range") or "").startswith(f"bytes {offset}-")
            yield resumed, iter(lambda: response.read(CHUNK), b"")

    return transport


def hub_xet(job: dict[str, Any]) -> Any:
    """huggingface_hub's xet client for the files that the hub keeps there."""
    from pathlib import Path

    from huggingface_hub import get_hf_file_metadata, hf_hub_url
    from huggingface_hub.file_download import xet_get
    from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined,unused-ignore]

    token = job["token"] or False

    def fetch(name: str, target: str, size: int) -> bool:
        url = hf_hub_url(job["repo"], name, revision=job["revision"], endpoint=job["endpoint"])
        metadata = get_hf_file_metadata(url, token=token, endpoint=job["endpoint"], timeout=job["timeout"])
        if metadata.xet_file_data is None:
            return False
        headers = build_hf_headers(token=token, library_name="inference.sglang")
        xet_get(incomplete_path=Path(target), xet_file_data=metadata.xet_file_data, headers=headers, expected_size=size)
        return True

    return fetch


def _listen_to_parent(downloader: Downloader) -> None:
    """The parent never closes our stdin while it lives, even when it is killed: then the kernel does."""
    while sys.stdin.buffer.readline():
        downloader.weights_may_go.set()
    os._exit(75)


def main() -> None:
    job = json.loads(sys.stdin.buffer.readline())
    out = sys.stdout
    sys.stdout = sys.stderr
    downloader = Downloader(job, out, None)
    threading.Thread(target=_listen_to_parent, args=(downloader,), daemon=True).start()
    try:
        downloader.transport = peer_transport(job) if job["peer"] else hub_transport(job)
        downloader.xet = hub_xet(job) if job["xet"] else None
        downloader.run()
    except Exception as error:
        downloader.emit(event="failed", file="", failure=describe_exception(error))
    out.flush()


if __name__ == "__main__":
    main()
