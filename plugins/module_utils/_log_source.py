# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Where a start's lines come from and whether its process lives: the I/O edge of the log gate.

Everything is waited for by event: the journal through ``journalctl --follow``, a log file through inotify, the death of the unit's
main process through a pidfd. A safety interval covers file systems and kernels that send no events.
"""

from __future__ import annotations

import ctypes
import os
import select
import subprocess
import time
from dataclasses import dataclass
from typing import Protocol

from ansible_collections.inference.sglang.plugins.module_utils._errors import CodedError
from ansible_collections.inference.sglang.plugins.module_utils._failures_own import NOTHING_KEPT, SILENT_DEATH
from ansible_collections.inference.sglang.plugins.module_utils._log_gate import DEAD, MARKER, READY, WAITING, LogGate
from ansible_collections.inference.sglang.plugins.module_utils._pipes import opened

# Where no event comes: a kernel without pidfd, a network file system without inotify.
SAFETY_INTERVAL = 0.25
# What systemd and journald still write about a process that has just ended.
LAST_LINES = 0.4
# A start that was over before anybody looked: journalctl itself has to begin first.
FIRST_LINES = 3.0
MOST_LAST_LINES = 8.0
_BLOCK = 1 << 16


class Source(Protocol):
    """Lines of a log, as they come."""

    def fileno(self) -> int:
        """Readable when there may be lines; -1 for none."""

    @property
    def interval(self) -> float:
        """How long a wait may last without missing a line."""

    def read_lines(self) -> list[str]:
        """The whole lines since the last call; never blocks."""

    def close(self) -> None:
        """Stop following."""


class LineSplitter:
    """Bytes to whole lines. A carriage return ends a line too: progress bars use it."""

    def __init__(self, longest: int = 1 << 20) -> None:
        self._rest = b""
        self._longest = longest

    def feed(self, data: bytes) -> list[str]:
        """The lines that ``data`` completes."""
        parts = (self._rest + data).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest = parts.pop()[-self._longest :]
        return [part.decode("utf-8", "replace") for part in parts]

    def rest(self) -> list[str]:
        """What is left without its line's end, once nothing more can come."""
        rest, self._rest = self._rest, b""
        return [rest.decode("utf-8", "replace")] if rest else []


class JournalSource:
    """The journal of one invocation, with what systemd itself says about it."""

    def __init__(self, invocation_id: str) -> None:
        self._splitter = LineSplitter()
        # Fields that begin with an underscore are journald's own; a process cannot forge them.
        matches = [f"_SYSTEMD_INVOCATION_ID={invocation_id}", "+", "_PID=1", f"INVOCATION_ID={invocation_id}"]
        try:
            self._process = subprocess.Popen(  # pylint: disable=ansible-bad-function
                ["journalctl", "--follow", "--no-tail", "--quiet", "--all", "--no-pager", "--output=cat", *matches],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            raise CodedError("GATE-103", "cannot read the journal", str(error), "journalctl on the host", "set log_file") from error
        self._descriptor = opened(self._process.stdout).fileno()
        os.set_blocking(self._descriptor, False)
        self._open = True

    def fileno(self) -> int:
        """The pipe from journalctl."""
        return self._descriptor if self._open else -1

    @property
    def interval(self) -> float:
        """journalctl sends events; when it is gone there are none."""
        return 5.0 if self._open else SAFETY_INTERVAL

    def read_lines(self) -> list[str]:
        """What journalctl has written since."""
        lines: list[str] = []
        while self._open:
            try:
                data = os.read(self._descriptor, _BLOCK)
            except BlockingIOError:
                break
            if not data:
                self._open = False
                lines += self._splitter.rest()
                break
            lines += self._splitter.feed(data)
        return lines

    def close(self) -> None:
        """End the journalctl that this object started."""
        self._process.kill()
        self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()
        self._open = False


class DirectoryEvents:
    """inotify on one directory: writes to its files, files that appear, move and go."""

    _MODIFY, _MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x2, 0x40, 0x80, 0x100, 0x200

    def __init__(self, directory: str) -> None:
        self._descriptor = -1
        try:
            libc = ctypes.CDLL(None, use_errno=True)
            descriptor = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
            mask = self._MODIFY | self._MOVED_FROM | self._MOVED_TO | self._CREATE | self._DELETE
            if descriptor >= 0 and libc.inotify_add_watch(descriptor, os.fsencode(directory), mask) >= 0:
                self._descriptor = descriptor
            elif descriptor >= 0:
                os.close(descriptor)
        except (OSError, AttributeError):
            self._descriptor = -1

    def fileno(self) -> int:
        """-1 where there is no inotify."""
        return self._descriptor

    def drain(self) -> None:
        """Forget the events: they only say that it is time to look."""
        while self._descriptor >= 0:
            try:
                if not os.read(self._descriptor, _BLOCK):
                    return
            except BlockingIOError:
                return

    def close(self) -> None:
        """Stop watching."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


@dataclass
class _Open:
    descriptor: int
    inode: tuple[int, int]
    offset: int
    splitter: LineSplitter
    searched: int = 0


def find_marker(descriptor: int, marker: bytes, floor: int = 0) -> int:
    """Offset of the last line that begins with ``marker``, searched backwards from the file's end to ``floor``; -1 for none."""
    end = os.fstat(descriptor).st_size
    overlap = len(marker) + 1
    position = end
    while position > floor:
        start = max(floor, position - _BLOCK)
        block = os.pread(descriptor, min(end, position + overlap) - start, start)
        index = len(block)
        while (index := block.rfind(marker, 0, index)) >= 0:
            at_line_start = block[index - 1 : index] in (b"\n", b"\r") if index > 0 else start == 0
            if at_line_start and block[index + len(marker) : index + len(marker) + 1] in (b" ", b"\n", b"\r"):
                return start + index
        if start == floor:
            break
        position = start + 1  # a match at a block's first byte is looked at again with the byte before it
    return -1


class FileSource:
    """A log file from one start's marker on: through rotation, truncation and re-creation."""

    def __init__(self, path: str, invocation_id: str) -> None:
        self._path = path
        self._marker = (MARKER + invocation_id).encode()
        self._files: list[_Open] = []
        self._found = False
        self._events = DirectoryEvents(os.path.dirname(os.path.abspath(path)))

    def fileno(self) -> int:
        """inotify's descriptor, or -1."""
        return self._events.fileno()

    @property
    def interval(self) -> float:
        """Also with events: the file may lie on a file system that sends none, or be a link into another directory."""
        return SAFETY_INTERVAL

    def read_lines(self) -> list[str]:
        """New whole lines of this start."""
        self._events.drain()
        self._open_current()
        lines: list[str] = []
        for file in self._files:
            lines += self._read(file)
        return lines

    def _open_current(self) -> None:
        try:
            stat = os.stat(self._path)
        except OSError:
            return
        inode = (stat.st_dev, stat.st_ino)
        if any(file.inode == inode for file in self._files):
            return
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise CodedError(
                "GATE-104", "cannot read the log file", str(error), f"a readable {self._path}", "run the play with become"
            ) from error
        if not self._found:
            self._close_files()
        # A file that appears after this start was found is the same log after a rotation: all of it counts.
        self._files.append(_Open(descriptor, inode, 0, LineSplitter()))

    def _read(self, file: _Open) -> list[str]:
        size = os.fstat(file.descriptor).st_size
        if size < file.offset:  # truncated in place: what is there now is new
            file.offset, file.splitter, file.searched = 0, LineSplitter(), 0
        if not self._found:
            # Only what was written since the last look, and a little before it: a marker may have been half there.
            at = find_marker(file.descriptor, self._marker, max(0, file.searched - len(self._marker) - 2))
            file.searched = size
            if at < 0:
                return []
            file.offset, self._found = at, True
        lines: list[str] = []
        while True:
            data = os.pread(file.descriptor, _BLOCK, file.offset)
            if not data:
                return lines
            file.offset += len(data)
            lines += file.splitter.feed(data)

    def _close_files(self) -> None:
        for file in self._files:
            os.close(file.descriptor)
        self._files = []

    def close(self) -> None:
        """Close what is open."""
        self._close_files()
        self._events.close()


class Watch(Protocol):
    """What ``run`` needs of a UnitWatch."""

    def fileno(self) -> int:
        """Readable when it may have ended; -1 for none."""

    @property
    def interval(self) -> float:
        """How long a wait may last without missing the end."""

    def ended(self) -> bool:
        """Whether it is over."""

    def describe(self) -> str:
        """How it ended."""


def _feed(gate: LogGate, source: Source) -> int:
    lines = source.read_lines()
    for line in lines:
        if gate.feed(line) != WAITING:
            break
    return len(lines)


def _wait(descriptors: list[int], seconds: float) -> None:
    usable = [descriptor for descriptor in descriptors if descriptor >= 0]
    select.select(usable, [], [], max(0.0, seconds))


def _last_words(gate: LogGate, source: Source, any_line: bool) -> None:
    """The lines that are still on their way when the process has gone. The launcher's own last line ends this early."""
    now = time.monotonic()
    limit = now + MOST_LAST_LINES
    deadline = now + (LAST_LINES if any_line else FIRST_LINES)
    while gate.verdict == WAITING:
        if _feed(gate, source):
            deadline = time.monotonic() + LAST_LINES
        left = min(deadline, limit) - time.monotonic()
        if gate.verdict != WAITING or left <= 0:
            return
        _wait([source.fileno()], min(left, source.interval))


def run(gate: LogGate, source: Source, watch: Watch) -> str:
    """Follow one start to its verdict. A server that logged its ready line and is gone is dead."""
    any_line = False
    while gate.verdict == WAITING:
        # Asked before reading: a process that had ended by now cannot add lines to what is read next.
        gone = watch.ended()
        any_line = bool(_feed(gate, source)) or any_line
        if gate.verdict != WAITING:
            break
        if gone:
            _last_words(gate, source, any_line)
            gate.ended(watch.describe())
            break
        if gate.tick() != WAITING:
            break
        _wait([source.fileno(), watch.fileno()], min(gate.seconds_to_tick(), source.interval, watch.interval))
    if gate.verdict == READY and watch.ended():
        gate.ended(watch.describe())
    if gate.verdict == DEAD and gate.cause is not None and not watch.ended():
        # The log said so first; let systemd catch up, so that the caller sees the unit as it will be.
        _wait([watch.fileno()], LAST_LINES if watch.fileno() >= 0 else 0)
        watch.ended()
    return gate.verdict


def parent_directory_missing(path: str) -> bool:
    """Whether a log file can never appear."""
    return not os.path.isdir(os.path.dirname(os.path.abspath(path)))


def name_full_disk(gate: LogGate, log_file: str) -> None:
    """A log that nobody can write to tells nothing, that least of all."""
    if gate.cause is None or gate.cause.code not in (SILENT_DEATH.code, NOTHING_KEPT.code):
        return
    try:
        room = os.statvfs(os.path.dirname(os.path.abspath(log_file))).f_bavail
    except OSError:
        return
    if room == 0:
        gate.diagnosis.feed(f"No space left on device, where the log is: {log_file}")
        gate.cause = gate.diagnosis.known_cause()
