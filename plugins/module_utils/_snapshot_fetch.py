# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Runs the downloader as a child and watches it: progress, stalls, sudden deaths. What is done is what the child proved."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import selectors
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils import _snapshot_downloader
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._pipes import opened
from ansible_collections.inference.sglang.plugins.module_utils._progress import Progress
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_errors import Context, Failure, explain
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_files import RemoteFile, describe
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_store import bytes_below, free_bytes

# The child's whole command line: neither a secret nor a script file that could be left behind.
BOOT = "import json, sys; exec(compile(json.loads(sys.stdin.buffer.readline())['source'], 'downloader', 'exec'))"
TICK = 1.0
# A child that dies this often without having brought a byte will not get any better.
MAXIMUM_DEATHS = 3
RATE_WINDOW = 20.0

# The child sees what it needs to reach a network, and no token, cache or setting of whoever logged in.
PASSED_ENVIRONMENT = (
    "PATH LANG LC_ALL TZ HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy "
    "SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE"
).split()


@dataclass(frozen=True)
class FetchOptions:
    """How to fetch; what to fetch is an argument."""

    python: str
    endpoint: str
    token: str
    workers: int
    retries: int
    retry_delay: float
    stall_timeout: float
    xet: bool
    peer: bool = False  # the endpoint is a host of the fleet, not a hub
    bundle: str = ""  # a directory to copy from; nothing is asked then


@dataclass
class FetchReport:
    """What the fetch cost."""

    fetched: int = 0
    restarts: int = 0
    retries: int = 0
    corrupt: int = 0


@dataclass(frozen=True)
class _Ending:
    kind: str  # end, failed, died, stalled
    failure: Optional[Failure] = None
    note: str = ""


class Rate:
    """Bytes a second over the last seconds, and what that means for the rest."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int]] = deque()

    def add(self, when: float, done: int) -> None:
        self._samples.append((when, done))
        while len(self._samples) > 2 and when - self._samples[0][0] > RATE_WINDOW:
            self._samples.popleft()

    @property
    def per_second(self) -> float:
        if len(self._samples) < 2:
            return 0.0
        (start, first), (end, last) = self._samples[0], self._samples[-1]
        return max(0.0, (last - first) / (end - start)) if end > start else 0.0

    def text(self, done: int, total: int) -> str:
        rate = self.per_second
        speed = f", {describe(int(rate))}/s" if rate > 0 else ""
        left = f", {duration((total - done) / rate)} left" if rate > 0 and total > done else ""
        return f"{describe(done)} of {describe(total)}{speed}{left}"


def duration(seconds: float) -> str:
    """``75`` → ``1 min 15 s``."""
    whole = int(seconds + 0.5)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def child_environment(xet: bool) -> dict[str, str]:
    environment = {name: os.environ[name] for name in PASSED_ENVIRONMENT if name in os.environ}
    environment.update(
        HF_HUB_DISABLE_XET="0" if xet else "1",
        HF_HUB_DISABLE_IMPLICIT_TOKEN="1",
        HF_HUB_DISABLE_TELEMETRY="1",
        HF_HUB_DISABLE_PROGRESS_BARS="1",
        HF_HUB_DISABLE_UPDATE_CHECK="1",
        PYTHONDONTWRITEBYTECODE="1",
    )
    return environment


class Fetcher:
    """Brings files of one revision into one directory, whatever it takes within the retries."""

    def __init__(
        self,
        options: FetchOptions,
        context: Context,
        progress: Progress,
        on_file: Callable[[RemoteFile, str], None],
        lock: Optional[int] = None,
    ) -> None:
        self._options = options
        self._context = context
        self._progress = progress
        self._on_file = on_file
        self._lock = lock
        self._rate = Rate()
        self.report = FetchReport()

    def fetch(self, files: Iterable[RemoteFile], directory: str, already: int = 0) -> FetchReport:
        """``already`` bytes of other files count as done in the progress shown."""
        left = {file.name: file for file in files}
        total = already + sum(file.size for file in left.values())
        count = len(left)
        xet, deaths, start = self._options.xet, 0, bytes_below(directory)
        while left:
            before = (len(left), bytes_below(directory))
            ending = self._child(left, directory, xet, lambda: self._show(directory, total, count, len(left)))
            self.report.fetched = max(0, bytes_below(directory) - start)
            if ending.failure is not None:
                missing = max(0, total - bytes_below(directory))
                raise explain(ending.failure, replace(self._context, free=free_bytes(directory), needed=missing))
            if not left:
                break
            deaths = deaths + 1 if (len(left), bytes_below(directory)) == before else 1
            if deaths > MAXIMUM_DEATHS:
                raise self._gave_up(ending, sorted(left))
            self.report.restarts += 1
            # Whatever hung, xet is the part of it that can be left out.
            xet = False
            self._progress.report("fetch", f"the downloader {ending.note}; starting it again", force=True)
        return self.report

    def _gave_up(self, ending: _Ending, names: list[str]) -> SglangError:
        return SglangError(
            "The download does not get on.",
            found=f"the downloader {ending.note}, {MAXIMUM_DEATHS + 1} times without a new byte; missing: {', '.join(names[:5])}",
            wanted=f"bytes from {self._context.endpoint}",
            next_step="Check memory and network of this host, then run again: what was fetched is kept and continued.",
        )

    def _show(self, directory: str, total: int, count: int, left: int) -> int:
        """One look at the disk: it tells what arrived whatever way it came."""
        below = bytes_below(directory)
        done = min(below, total)
        self._rate.add(time.monotonic(), done)
        number = min(count, count - left + 1)
        self._progress.report("fetch", f"{self._rate.text(done, total)}, file {number} of {count}", done=done, total=total)
        return below

    def _child(self, left: dict[str, RemoteFile], directory: str, xet: bool, show: Callable[[], int]) -> _Ending:
        job = {
            "repo": self._context.repo,
            "revision": self._context.revision,
            "endpoint": self._options.endpoint,
            "token": self._options.token,
            "directory": directory,
            "files": [file.__dict__ for file in left.values()],
            "workers": self._options.workers,
            "retries": self._options.retries,
            "retry_delay": self._options.retry_delay,
            "timeout": max(1.0, self._options.stall_timeout * 0.8),
            "xet": xet,
            "peer": self._options.peer,
        }
        source = inspect.getsource(_snapshot_downloader)
        with tempfile.TemporaryFile() as errors:
            with self._started(directory, xet, errors) as child:
                orders = opened(child.stdin)
                try:
                    orders.write(json.dumps({"source": source}).encode() + b"\n" + json.dumps(job).encode() + b"\n")
                    orders.flush()
                except BrokenPipeError:
                    pass  # it is dead already; _follow says so
                ending = self._follow(child, left, show)
            if ending.kind == "died":
                ending = replace(ending, note=f"{ending.note}{_tail(errors, self._options.token)}")
            return ending

    @contextlib.contextmanager
    def _started(self, directory: str, xet: bool, errors: Any) -> Any:
        command = [self._options.python, "-I", "-c", BOOT]
        # The child holds the lock too: nobody else starts before the last writer is gone.
        passed = () if self._lock is None else (self._lock,)
        try:
            child = subprocess.Popen(  # pylint: disable=ansible-bad-function
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=child_environment(xet),
                pass_fds=passed,
                cwd=directory,
            )
        except OSError as error:
            raise SglangError(
                "The tool environment's Python cannot be started.",
                found=f"{self._options.python}: {error.strerror}",
                wanted="the interpreter of an environment that holds huggingface_hub",
                next_step="Build it with inference.sglang.python_environment (the role model_shards does) and pass its Python as python.",
            ) from error
        try:
            yield child
        finally:
            child.kill()
            child.wait()
            for pipe in (child.stdin, child.stdout):
                with contextlib.suppress(OSError):
                    if pipe is not None:
                        pipe.close()

    def _follow(self, child: subprocess.Popen[bytes], left: dict[str, RemoteFile], show: Callable[[], int]) -> _Ending:
        """Read events until the child ends, fails, or brings nothing for too long."""
        descriptor = opened(child.stdout).fileno()
        tick = min(TICK, self._options.stall_timeout / 4)
        buffer, seen, patience = b"", -1, time.monotonic() + self._options.stall_timeout
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            waiting = self._let_weights_go(child, left)
            while True:
                if selector.select(tick):
                    data = os.read(descriptor, 1 << 16)
                    if not data:
                        return _Ending("died", note=f"ended with status {child.wait()} before its work was done")
                    *lines, buffer = (buffer + data).split(b"\n")
                    for line in lines:
                        ending, wait = self._event(json.loads(self._without_token(line)), left)
                        patience = max(patience, time.monotonic() + wait + self._options.stall_timeout)
                        if ending:
                            return ending
                    waiting = waiting and self._let_weights_go(child, left)
                below = show()
                if below != seen:
                    seen, patience = below, max(patience, time.monotonic() + self._options.stall_timeout)
                elif time.monotonic() > patience:
                    return _Ending("stalled", note=f"brought no byte for {self._options.stall_timeout:.0f} s")

    def _let_weights_go(self, child: subprocess.Popen[bytes], left: dict[str, RemoteFile]) -> bool:
        """Whether they still have to wait: for the small files, which `on_file` looks at, so that a wrong index costs no weights."""
        if any(not _snapshot_downloader.is_weights(name) for name in left):
            return True
        with contextlib.suppress(BrokenPipeError):
            orders = opened(child.stdin)
            orders.write(b"go\n")
            orders.flush()
        return False

    def _without_token(self, line: bytes) -> bytes:
        """A hub or proxy that echoes what it was sent must not get the token into a message."""
        token = self._options.token.encode()
        return line.replace(token, b"***") if token else line

    def _event(self, event: dict[str, Any], left: dict[str, RemoteFile]) -> tuple[Optional[_Ending], float]:
        """(how it ended, how many quiet seconds the child announced)."""
        kind, name = event["event"], str(event.get("file", ""))
        if kind == "done":
            self._on_file(left.pop(name), str(event["sha256"]))
        elif kind == "corrupt":
            self.report.corrupt += 1
            self._progress.report("fetch", f"{name} arrived wrong ({event['found']}); fetching it again", force=True)
        elif kind == "retry":
            self.report.retries += 1
            failure, wait = Failure.from_event(event["failure"], name), float(event["wait"])
            reason = f"HTTP {failure.status}" if failure.status else f"{failure.type}: {failure.message}"[:120]
            self._progress.report("retry", f"{name}: {reason}; again in {wait:.0f} s")  # each worker of each host may be told so at once
            return None, wait
        elif kind == "failed":
            return _Ending("failed", Failure.from_event(event["failure"], name)), 0.0
        elif kind == "end":
            return _Ending("end", note="ended"), 0.0
        return None, 0.0


def _tail(errors: Any, token: str) -> str:
    """The last words of the child, without the token should any library have printed it."""
    errors.seek(0, os.SEEK_END)
    errors.seek(max(0, errors.tell() - 600))
    text = " ".join(errors.read().decode(errors="replace").split())
    if token:
        text = text.replace(token, "***")
    return f" ({text})" if text else ""
