# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The files around an environment: the lock that two plays meet at, the marker, the link, and what may be removed."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Optional

from ansible_collections.inference.sglang.plugins.module_utils._environment_use import named_by, refuse_running
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._progress import Progress
from ansible_collections.inference.sglang.plugins.module_utils._python_environment import DIGEST_LENGTH, MARKER, Marker
from ansible_collections.inference.sglang.plugins.module_utils._regular_files import read_record


@contextlib.contextmanager
def exclusive(path: str, wait: float, on_wait: Callable[[str], None], pause: float = 1.0) -> Iterator[None]:
    """Hold a lock file; another holder is waited for. The file stays: removing it would let two holders in."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        deadline = time.monotonic() + wait
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as failure:
                if failure.errno not in (errno.EAGAIN, errno.EACCES):
                    raise
            holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip() or "unknown"
            if time.monotonic() >= deadline:
                raise SglangError(
                    "another run is working on the same environment",
                    found=f"process {holder} has held {path} for more than {wait:.0f} seconds",
                    wanted="one builder at a time",
                    next_step="wait for the other run, or end that process if it hangs; then run the play again",
                )
            on_wait(f"another run (process {holder}) is building it, waiting for that")
            time.sleep(pause)  # flock with a time limit exists only with signals
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def read_marker(path: str, digest: str) -> Optional[Marker]:
    """The marker of a finished environment, None for anything else."""
    return Marker.from_data(read_record(os.path.join(path, MARKER)), path, digest)


def sync_directory(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(path: str) -> None:
    """Everything below must be on the disk before the marker says so: a marker that survives a power cut vouches for it."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if ctypes.CDLL(None, use_errno=True).syncfs(descriptor) != 0:
            os.sync()
    finally:
        os.close(descriptor)


def write_durably(path: str, data: bytes) -> None:
    """A file that is there whole or not at all, also after a power cut."""
    temporary = path + ".new"
    with open(temporary, "wb") as handle:
        handle.write(data)
        handle.flush()
        os.fsync(handle.fileno())
    os.replace(temporary, path)
    sync_directory(os.path.dirname(path))


def write_marker(path: str, text: str) -> None:
    """The last write of a build, durable and all or nothing."""
    write_durably(os.path.join(path, MARKER), text.encode())
    sync_directory(os.path.dirname(path))


def lock_of(path: str) -> str:
    """The lock file at which all runs that work on an environment meet."""
    return os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.lock")


def partial_of(path: str) -> str:
    """Where a copy of an environment grows, beside its place, so that one rename publishes it."""
    return os.path.join(os.path.dirname(path), f".partial-{os.path.basename(path)}")


def clear_unfinished(path: str, link: str) -> str:
    """Make room for a build where none is finished; returns what was done, empty where nothing was there.

    What never had a marker is what a build left, and is removed. A marker that cannot be read, or that another release of
    this collection wrote, vouches for a finished environment all the same: that is moved aside, never deleted. Nothing that a
    process runs from is touched, and nothing with a marker that a service starts from.
    """
    if not os.path.lexists(path):
        return ""
    if not re.search(rf"-[0-9a-f]{{{DIGEST_LENGTH}}}$", path):
        raise AssertionError(f"{path} is no path of an environment")
    if link and os.path.realpath(link) == os.path.realpath(path):
        raise SglangError(
            f"{path} has no valid {MARKER}, yet {link} leads to it",
            found="an unfinished or moved environment that something may be running from",
            wanted="a link that leads to a finished environment",
            next_step=f"make sure that nothing runs from it, remove {link}, and run the play again",
        )
    if os.path.islink(path) or not os.path.isdir(path):
        os.unlink(path)
        return f"removed what was at {path}"
    refuse_running(path)
    marked, service = os.path.lexists(os.path.join(path, MARKER)), named_by(path)
    if marked and service:
        raise SglangError(
            f"{path} has no valid {MARKER}, yet a service starts from it",
            found=f"{service} names it; its {MARKER} is damaged, or another release of this collection wrote it",
            wanted="an environment of this release, or one that no service needs",
            next_step=f"put {MARKER} back from a copy, or move {path} aside (the service cannot start until it is built anew), "
            "and run the play again",
        )
    if marked or service:
        aside = name_aside(path)
        os.rename(path, aside)
        return f"moved {path}, which is not complete, aside to {aside}"
    shutil.rmtree(path)
    return f"removed the unfinished {path}"


@contextlib.contextmanager
def place_of(path: str, digest: str, link: str, wait: float, progress: Progress) -> Iterator[Optional[Marker]]:
    """The place of an environment, for this run alone: its marker where it is finished; None, and room for it, where it is not."""
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    with exclusive(lock_of(path), wait, lambda text: progress.report("wait", text)):
        marker = read_marker(path, digest)
        cleared = clear_unfinished(path, link) if marker is None else ""
        if cleared:
            progress.report("clean", cleared, force=True)
        yield marker


@dataclass(frozen=True)
class LinkState:
    """What is at the place of the link: ``nothing``, ``link``, ``directory`` or ``other``."""

    kind: str
    target: str = ""

    @classmethod
    def of(cls, path: str) -> LinkState:
        if not path or not os.path.lexists(path):
            return cls("nothing")
        if os.path.islink(path):
            return cls("link", os.readlink(path))
        return cls("directory" if os.path.isdir(path) else "other")


def refuse_other(link: str) -> SglangError:
    return SglangError(
        f"something that is neither a link nor a directory is at {link}",
        found="a file",
        wanted="nothing, a link or an environment's directory",
        next_step="move it away, or choose another ml_env_link",
    )


def name_aside(link: str, now: Optional[float] = None) -> str:
    """A free name beside a path for the directory that was there before."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    name = f"{link.rstrip('/')}.replaced-{stamp}"
    count = 1
    while os.path.lexists(name):
        count += 1
        name = f"{link.rstrip('/')}.replaced-{stamp}-{count}"
    return name


def switch_link(link: str, target: str) -> str:
    """Let ``link`` lead to ``target`` in one step; a real directory is moved aside first. Returns its new name or ''."""
    link = link.rstrip("/")
    state = LinkState.of(link)
    if state.kind == "other":
        raise refuse_other(link)
    parent = os.path.dirname(link)
    os.makedirs(parent, exist_ok=True)
    temporary = os.path.join(parent, f".{os.path.basename(link)}.{os.getpid()}.new")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary)
    os.symlink(target, temporary)
    aside = ""
    if state.kind == "directory":
        aside = name_aside(link)
        os.rename(link, aside)
    os.replace(temporary, link)
    sync_directory(parent)
    return aside


def free_bytes(path: str) -> int:
    """Free space of the file system that ``path`` will lie on."""
    while not os.path.exists(path):
        path = os.path.dirname(path)
    return shutil.disk_usage(path).free


def check_space(root: str, needed_mib: int, what: str = "the wheels and the environment (ml_env_disk_needed_mib)") -> None:
    free = free_bytes(root) // 2**20
    if free < needed_mib:
        raise SglangError(
            "there is not enough disk space for the environment",
            found=f"{free} MiB free on the file system of {root}",
            wanted=f"{needed_mib} MiB for {what}",
            next_step="free some space, or point ml_env_root and ml_env_tools to a larger file system",
        )
