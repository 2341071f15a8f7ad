# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Where models lie on a host, and the file operations that keep half-done work from looking done."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import shutil
import signal
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._regular_files import (
    MAXIMUM_MODEL_JSON,
    open_regular,
    parse_json,
    read_record,
    read_regular,
)
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_downloader import PARTS, Digest
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_files import RemoteFile, directory_name, is_commit, is_wanted
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_manifest import Entry, Manifest, Seen, dump, entry_from, load, slug

BLOCK = 4 << 20
JOURNAL = f"{PARTS}/verified.jsonl"
LOCK_REPORT_EVERY = 5.0


@dataclass(frozen=True)
class Place:
    """All paths of one repository below the root."""

    root: str
    repo: str

    @property
    def directory(self) -> str:
        return os.path.join(self.root, directory_name(self.repo))

    @property
    def lock(self) -> str:
        return os.path.join(self.directory, ".lock")

    @property
    def refs(self) -> str:
        return os.path.join(self.directory, "refs.json")

    def published(self, revision: str) -> str:
        return os.path.join(self.directory, revision)

    def partial(self, revision: str) -> str:
        return os.path.join(self.directory, f".partial-{revision}")

    def manifest(self, revision: str) -> str:
        return os.path.join(self.directory, f"{revision}.manifest.json")

    def pending_manifest(self, revision: str) -> str:
        """Written before the directory gets its name; the manifest's own name is the last thing that appears."""
        return os.path.join(self.directory, f".pending-{revision}.manifest.json")


def adopted_manifest(root: str, path: str) -> str:
    return os.path.join(root, "adopted", f"{slug(path)}.manifest.json")


def make_directory(path: str) -> None:
    """With parents, for everybody to enter: the umask of whoever runs the play must not decide."""
    missing = []
    current = path
    while not os.path.isdir(current):
        missing.append(current)
        current = os.path.dirname(current)
    for directory in reversed(missing):
        os.mkdir(directory)
        os.chmod(directory, 0o755)


def write_text(path: str, text: str) -> None:
    """Whole or not at all, and on the disk."""
    descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".write-")
    try:
        with open(descriptor, "w", encoding="utf-8") as handle:
            handle.write(text)
            os.fchmod(handle.fileno(), 0o644)
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    sync_directory(os.path.dirname(path))


def sync_directory(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_manifest(path: str) -> Optional[Manifest]:
    try:
        return load(read_regular(path), path)
    except FileNotFoundError:
        return None


def write_manifest(path: str, manifest: Manifest) -> None:
    make_directory(os.path.dirname(path))
    write_text(path, dump(manifest))


def read_refs(place: Place) -> dict[str, dict[str, str]]:
    """Branch → commit, as it was resolved once. Unreadable means unknown: the hub is asked again."""
    data = read_record(place.refs)
    refs = data.items() if isinstance(data, dict) else ()
    return {name: ref for name, ref in refs if isinstance(ref, dict) and all(isinstance(value, str) for value in ref.values())}


def forget_partials(place: Place, revision: str, commit: str) -> None:
    """A branch moved on: what was half fetched of the commit that it meant before would lie there for good."""
    before = read_refs(place).get(revision, {}).get("revision", "")
    if is_commit(before) and before != commit:
        shutil.rmtree(place.partial(before), ignore_errors=True)


def record_ref(place: Place, revision: str, commit: str, source: str) -> None:
    refs = read_refs(place)
    refs[revision] = {"revision": commit, "source": source, "time": now()}
    write_text(place.refs, json.dumps(refs, indent=2, sort_keys=True) + "\n")


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def scan(directory: str, patterns: Sequence[str]) -> dict[str, Seen]:
    """The wanted files below a directory. Links to files count as files: a hub's cache is made of them."""
    found: dict[str, Seen] = {}

    def fail(error: OSError) -> None:
        raise error

    for folder, folders, names in os.walk(directory, onerror=fail):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in names:
            relative = os.path.relpath(os.path.join(folder, name), directory)
            if not is_wanted(relative, patterns):
                continue
            try:
                status = os.stat(os.path.join(folder, name))
            except FileNotFoundError:
                continue  # a link that leads nowhere: the file is missing
            if stat.S_ISREG(status.st_mode):
                found[relative] = Seen(status.st_size, status.st_mtime_ns)
    return found


def hash_file(path: str, git: bool, advance: Callable[[int], None]) -> Digest:
    """Read a whole file once for all digests."""
    with open_regular(path) as handle:
        digest = Digest(os.fstat(handle.fileno()).st_size, git)
        buffer = bytearray(BLOCK)
        view = memoryview(buffer)
        while count := handle.readinto(buffer):
            digest.update(view[:count])
            advance(count)
    return digest


def matches(directory: str, file: RemoteFile, advance: Callable[[int], None]) -> tuple[bool, str]:
    """(is it the declared content, its sha256)."""
    path = os.path.join(directory, file.name)
    if os.stat(path).st_size != file.size:
        return False, ""
    digest = hash_file(path, git=not file.sha256, advance=advance)
    expected, found = digest.against({"sha256": file.sha256, "git_oid": file.git_oid})
    return expected == found, digest.sha256


def entry_of(directory: str, name: str, sha256: str, proof: str) -> Entry:
    status = os.stat(os.path.join(directory, name))
    return Entry(file=name, size=status.st_size, sha256=sha256, mtime_ns=status.st_mtime_ns, proof=proof)


class Journal:
    """What was proven in a partial directory, so that a run after a kill need not read 50 GB again."""

    def __init__(self, partial: str) -> None:
        self._path = os.path.join(partial, JOURNAL)

    def read(self) -> dict[str, Entry]:
        entries: dict[str, Entry] = {}
        try:
            lines = read_regular(self._path).split(b"\n")
        except FileNotFoundError:
            return entries
        for line in lines:
            try:
                entry = entry_from(parse_json(line))
            except (ValueError, KeyError, TypeError):
                continue  # the line that a kill cut short
            entries[entry.file] = entry
        return entries

    def add(self, entry: Entry) -> None:
        with open(self._path, "a", encoding="utf-8") as handle:
            handle.write(json.dumps(entry.__dict__) + "\n")


def bytes_below(directory: str) -> int:
    """All bytes in a partial directory, finished and growing files alike."""
    total = 0
    for folder, _folders, names in os.walk(directory):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(folder, name)).st_size
    return total


def free_bytes(path: str) -> int:
    """What this user may still write on the file system that holds (or will hold) the path."""
    while not os.path.exists(path):
        path = os.path.dirname(path)
    status = os.statvfs(path)
    return (status.f_bfree if os.geteuid() == 0 else status.f_bavail) * status.f_frsize


def publish(partial: str, target: str) -> None:
    """Everything readable, nothing of our bookkeeping left, then the one rename that makes it exist."""
    shutil.rmtree(os.path.join(partial, PARTS), ignore_errors=True)
    # Deepest folders first, so that each is on the disk before its parent names it.
    for folder, _folders, names in os.walk(partial, topdown=False):
        os.chmod(folder, 0o755)
        for name in names:
            os.chmod(os.path.join(folder, name), 0o644)
        sync_directory(folder)
    os.rename(partial, target)
    sync_directory(os.path.dirname(target))


def replace_files(partial: str, target: str, names: Iterable[str]) -> None:
    """Repair in place, file by file: a running engine keeps the old inode that it has mapped."""
    for name in names:
        destination = os.path.join(target, name)
        make_directory(os.path.dirname(destination))
        os.replace(os.path.join(partial, name), destination)
        sync_directory(os.path.dirname(destination))
    shutil.rmtree(partial, ignore_errors=True)


def clean_partial(partial: str, wanted: Iterable[str]) -> None:
    """Remove what other tools or other patterns left: lock files, caches, files that are not wanted (any more)."""
    keep = set(wanted)
    for folder, folders, names in os.walk(partial):
        relative = os.path.relpath(folder, partial)
        if relative == ".":
            for name in [name for name in folders if name.startswith(".") and name != PARTS]:
                folders.remove(name)
                shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
        if relative.split(os.sep)[0] == PARTS:
            for name in names:
                if name.endswith(".xet"):  # written out of order, so it cannot be continued
                    os.unlink(os.path.join(folder, name))
            continue
        for name in names:
            if os.path.normpath(os.path.join(relative, name)) not in keep:
                os.unlink(os.path.join(folder, name))


class _Tick(Exception):
    pass


@contextlib.contextmanager
def locked(path: str, timeout: float, waiting: Callable[[str, float], None]) -> Iterator[int]:
    """Hold an exclusive lock. The kernel drops it with the last process that holds it, so no lock is ever stale."""
    make_directory(os.path.dirname(path))
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        _acquire(descriptor, path, timeout, waiting)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()} since {now()}\n".encode(), 0)
        yield descriptor
    finally:
        os.close(descriptor)


def _acquire(descriptor: int, path: str, timeout: float, waiting: Callable[[str, float], None]) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    except BlockingIOError:
        pass
    except OSError as error:
        raise _no_lock(path, error) from error
    started = time.monotonic()

    def tick(_signal: int, _frame: Any) -> None:
        raise _Tick

    # flock has no timeout of its own; the timer's signal is what gets us out of it now and then.
    previous = signal.signal(signal.SIGALRM, tick)
    try:
        while True:
            spent = time.monotonic() - started
            holder = os.pread(descriptor, 200, 0).decode(errors="replace").strip() or "another process"
            if spent >= timeout:
                raise _busy(path, holder, spent)
            waiting(holder, spent)
            try:
                signal.setitimer(signal.ITIMER_REAL, max(0.05, min(LOCK_REPORT_EVERY, timeout - spent)))
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                signal.setitimer(signal.ITIMER_REAL, 0)
                return
            except _Tick:
                continue
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def _busy(path: str, holder: str, spent: float) -> SglangError:
    return SglangError(
        "Another run works on this model on this host.",
        found=f"{holder} holds {path}; waited {spent:.0f} s",
        wanted="the lock within lock_timeout seconds",
        next_step="Let the other run end, then run again: it then finds the model published. A larger lock_timeout waits longer.",
    )


def _no_lock(path: str, error: OSError) -> SglangError:
    return SglangError(
        "The file system cannot lock files.",
        found=f"{path}: {os.strerror(error.errno or errno.ENOLCK)}",
        wanted="a local file system (ext4, xfs); two runs at once would damage each other's files without locks",
        next_step="Choose a root on a local disk (model_shards_root).",
    )


def local_metadata(directory: str, name: str) -> tuple[str, str]:
    """(commit, etag) that huggingface_hub left beside a file it downloaded into a directory; empty when there is none."""
    path = os.path.join(directory, ".cache", "huggingface", "download", f"{name}.metadata")
    try:
        lines = read_regular(path).decode("utf-8").split("\n")
    except (OSError, UnicodeDecodeError, SglangError):
        return "", ""
    return (lines[0].strip(), lines[1].strip()) if len(lines) >= 2 else ("", "")


def content_of(path: str) -> Any:
    """A JSON file of a model; None when it is none."""
    try:
        return parse_json(read_regular(path, MAXIMUM_MODEL_JSON))
    except ValueError:
        return None
