# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Takes unused models and environments away: under every lock by a rename, and only then removes the bytes.

A directory that is being removed has a name that nothing looks for, so a run that is killed leaves nothing half that looks whole,
and the next one goes on.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ansible_collections.inference.sglang.plugins.module_utils import _prune_survey as look
from ansible_collections.inference.sglang.plugins.module_utils import _prune_users as users
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._lease import LEASE_FILE, held_now, paused, refusal
from ansible_collections.inference.sglang.plugins.module_utils._prune import MODEL, RECORD, Decision, Item, decide
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_store import sync_directory


@dataclass(frozen=True)
class Order:
    """What is asked: ``kind`` is models or environments."""

    kind: str
    root: str
    keep: int
    server_root: str
    links: tuple[str, ...] = ()
    repo: str = ""  # of models: what the settings ask for
    revision: str = ""
    check_mode: bool = False
    unit_folders: tuple[str, ...] = users.UNIT_FOLDERS


@dataclass
class Done:
    """What was decided and done. ``freed`` counts bytes that nothing else links to, ``shared`` the others."""

    decisions: tuple[Decision, ...] = ()
    finished: list[str] = field(default_factory=list)
    freed: int = 0
    shared: int = 0


def prune(order: Order) -> Done:
    """Decide and do, or in check mode only decide."""
    done = Done()
    if not os.path.isdir(order.root):
        return done
    with alone(order):
        done.finished = look.trash(order.kind, order.root)
        if not order.check_mode:
            remove(done.finished)
        with contextlib.ExitStack() as stack:
            held = {lock: try_lock(lock, stack) for lock in look.locks(order.kind, order.root)}
            _pause_instances(order, stack)
            done.decisions = _decided(order, held)
            going = [decision.item for decision in done.decisions if decision.prune]
            done.freed, done.shared = sizes([item.path for item in going] + (done.finished if order.check_mode else []))
            taken = [] if order.check_mode else [path for item in going for path in take_away(item)]
        remove(taken)
    return done


def _decided(order: Order, held: dict[str, str]) -> tuple[Decision, ...]:
    items = look.survey(order.kind, order.root, held)
    try:
        mentions, older = users.stamped(order.server_root)
        mentions += users.units(order.unit_folders) + users.links(order.links)
        mentions += users.wanted(order.root, order.repo, order.revision) if order.repo else []
        mentions += users.processes({item.name for item in items})
    except OSError as error:
        raise SglangError(
            "It cannot be read what the servers of this host use.",
            found=f"{error.filename}: {error.strerror}",
            wanted="every stamp, release and unit readable",
            next_step="Mend or remove that file. Nothing was pruned.",
        ) from error
    return decide(items, mentions, older, order.keep)


@contextlib.contextmanager
def alone(order: Order) -> Iterator[None]:
    """One pruning at a time below a root; the directory itself is the lock."""
    descriptor = os.open(order.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SglangError(
                f"Another run is pruning {order.root}.",
                found="its lock is held",
                wanted="one pruning at a time",
                next_step="Wait for that run, then run again.",
            ) from None
        yield
    finally:
        os.close(descriptor)


def try_lock(path: str, stack: contextlib.ExitStack, kind: int = fcntl.LOCK_EX) -> str:
    """Hold a lock file until the stack ends; who has it when it is not free. Nothing is written into it: its time is the last run's."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    stack.callback(os.close, descriptor)
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.pread(descriptor, 200, 0).decode(errors="replace").strip() or "its lock is held"
    return ""


def _pause_instances(order: Order, stack: contextlib.ExitStack) -> None:
    """No instance may begin a change while this looks at what is in use; one that is being changed stops everything."""
    for home in users.instance_homes(order.server_root):
        lease = held_now(home) if order.check_mode else stack.enter_context(paused(home))
        if lease is not None:
            raise refusal(lease, os.path.join(home, LEASE_FILE))


def take_away(item: Item) -> list[str]:
    """Rename, so that nothing finds it any more; the paths that are left to remove."""
    if item.kind == RECORD:
        os.unlink(item.path)
        return []
    directory = os.path.dirname(item.path)
    away = os.path.join(directory, look.TRASH + item.name.lstrip("."))
    os.rename(item.path, away)
    sync_directory(directory)
    if item.kind == MODEL:
        # Without its directory the manifest means nothing; a kill before this line leaves it to the next run.
        os.unlink(f"{item.path}.manifest.json")
    return [away]


def remove(paths: Iterable[str]) -> None:
    for path in paths:
        try:
            shutil.rmtree(path)
        except OSError as error:
            raise SglangError(
                f"{path} could not be removed.",
                found=f"{error.filename}: {error.strerror}",
                wanted="a directory without protected files",
                next_step="Mend that (lsattr shows protected files) and run again, which goes on. Nothing uses the directory any more.",
            ) from error


def sizes(paths: Iterable[str]) -> tuple[int, int]:
    """(bytes on the disk that go with these paths, bytes that stay as other names link to them)."""
    seen: dict[tuple[int, int], list[int]] = {}
    for path in paths:
        for status in _statuses(path):
            names = seen.setdefault((status.st_dev, status.st_ino), [0, status.st_nlink, status.st_blocks * 512])
            # A directory's links are its own entries.
            names[0] += status.st_nlink if stat.S_ISDIR(status.st_mode) else 1
    freed = sum(size for count, total, size in seen.values() if count >= total)
    return freed, sum(size for _count, _total, size in seen.values()) - freed


def _statuses(path: str) -> Iterator[os.stat_result]:
    yield os.lstat(path)
    for folder, folders, names in os.walk(path):
        yield from (os.lstat(os.path.join(folder, name)) for name in [*folders, *names])
