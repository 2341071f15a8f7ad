# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Takes a model's files out of a directory, hashing while it copies: the bundle's part of what ``_snapshot_fetch`` does for a hub."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from typing import BinaryIO

from ansible_collections.inference.sglang.plugins.module_utils._bundle import damaged
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._progress import Progress
from ansible_collections.inference.sglang.plugins.module_utils._regular_files import open_regular
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_downloader import PARTS, Digest
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_fetch import FetchReport, Rate
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_files import RemoteFile
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_store import BLOCK, make_directory


class Copier:
    """Copies files of one directory. A file gets its name only when its size and digest are right and it is on the disk."""

    def __init__(self, bundle: str, below: str, progress: Progress, finished: Callable[[RemoteFile, str], None]) -> None:
        self._bundle, self._below = bundle, below
        self._progress, self._finished = progress, finished
        self._rate, self._done, self._total = Rate(), 0, 0

    def fetch(self, files: Iterable[RemoteFile], partial: str, already: int = 0) -> FetchReport:
        wanted = tuple(files)
        self._done, self._total = already, already + sum(file.size for file in wanted)
        for file in wanted:
            self._copy(file, partial)
        return FetchReport(fetched=self._done - already)

    def _copy(self, file: RemoteFile, partial: str) -> None:
        growing = os.path.join(partial, PARTS, f"{file.name.replace('/', '--')}.copy")
        target = os.path.join(partial, file.name)
        name = os.path.join(self._below, file.name)
        with open(growing, "wb") as out:
            digest = self._read(name, out)
            out.flush()
            os.fsync(out.fileno())
        if os.path.getsize(growing) != file.size or digest.sha256 != file.sha256:
            size = os.path.getsize(growing)
            os.unlink(growing)
            raise damaged(self._bundle, [f"{name} has other bytes" if size == file.size else f"{name} has {size} bytes, not {file.size}"])
        make_directory(os.path.dirname(target))
        os.replace(growing, target)
        self._finished(file, digest.sha256)

    def _read(self, name: str, out: BinaryIO) -> Digest:
        try:
            handle = open_regular(os.path.join(self._bundle, name))
        except OSError as error:
            raise damaged(self._bundle, [f"{name}: {error.strerror}"]) from error
        except SglangError as error:
            raise damaged(self._bundle, [f"{name}: {error.found}"]) from error
        with handle:
            digest = Digest(os.fstat(handle.fileno()).st_size, False)
            while block := self._block(handle, name):
                digest.update(memoryview(block))
                out.write(block)
                self._done += len(block)
                self._rate.add(time.monotonic(), self._done)
                self._progress.report("copy", f"copied {self._rate.text(self._done, self._total)}", done=self._done, total=self._total)
        return digest

    def _block(self, handle: BinaryIO, name: str) -> bytes:
        try:
            return handle.read(BLOCK)
        except OSError as error:
            raise damaged(self._bundle, [f"{name}: {error.strerror}"]) from error
