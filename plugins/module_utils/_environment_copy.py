# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Takes one environment from another host: every byte proven, checked like a build, published by one rename."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import shutil
import stat
import subprocess
import time
from dataclasses import replace

from ansible_collections.inference.sglang.plugins.module_utils._environment_build import BuildRequest
from ansible_collections.inference.sglang.plugins.module_utils._environment_check import check_imports, distributions_of, took_too_long
from ansible_collections.inference.sglang.plugins.module_utils._environment_files import (
    check_space,
    partial_of,
    place_of,
    sync_directory,
    sync_tree,
    write_durably,
    write_marker,
)
from ansible_collections.inference.sglang.plugins.module_utils._environment_manifest import (
    MANIFEST,
    MAXIMUM_MANIFEST,
    STREAM,
    TreeFile,
    TreeManifest,
    leads_outside,
    load,
)
from ansible_collections.inference.sglang.plugins.module_utils._environment_tree import BLOCK, sha256_of, walk
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._peer_stream import Incoming, Peer, PeerBroken
from ansible_collections.inference.sglang.plugins.module_utils._progress import Progress
from ansible_collections.inference.sglang.plugins.module_utils._python_environment import Marker, human_bytes
from ansible_collections.inference.sglang.plugins.module_utils._regular_files import read_regular
from ansible_collections.inference.sglang.plugins.module_utils._uv_output import last_lines

# A file takes whole blocks of the file system.
_BLOCK_ON_DISK = 4096


class Copier:
    """One copy. ``copy`` returns the marker of the finished environment and whether it was made just now.

    A run that is killed leaves the partial directory behind. The next one, whatever peer it asks, keeps the files up to the first
    that is not what the manifest says, and asks for the stream from there on.
    """

    def __init__(self, request: BuildRequest, peer: Peer, foundation: str, progress: Progress) -> None:
        self.request, self.peer, self.foundation, self.progress = request, peer, foundation, progress
        self.partial = partial_of(request.path)
        self.deadline = time.monotonic() + request.timeout
        self._bytes = self._total = 0

    def copy(self) -> tuple[Marker, bool]:
        request = self.request
        with place_of(request.path, request.digest, request.link, request.lock_wait, self.progress) as marker:
            self.deadline = time.monotonic() + request.timeout
            if marker is not None:
                return marker, False
            manifest = self._manifest()
            self._refuse_another(manifest)
            self._bytes, self._total = 0, manifest.size
            position = self._kept(manifest)
            left = manifest.files[position:]
            needed = sum(file.size + _BLOCK_ON_DISK for file in left) >> 20
            check_space(request.root, needed, "what is still to be copied")
            self._receive(manifest, position)
            return self._publish(manifest), True

    def _remaining(self) -> float:
        return max(self.deadline - time.monotonic(), 1.0)

    def _inside(self, name: str) -> str:
        return os.path.join(self.partial, name)

    def _manifest(self) -> TreeManifest:
        """The builder's manifest, from the partial directory if that grew by the same one; otherwise the copy starts anew."""
        place, wanted = self._inside(MANIFEST), self.peer.manifest_sha256
        data = b""
        with contextlib.suppress(OSError, SglangError):
            data = read_regular(place, MAXIMUM_MANIFEST)
        if hashlib.sha256(data).hexdigest() != wanted:
            if os.path.lexists(self.partial):
                shutil.rmtree(self.partial)
            data = self._ask_for_manifest()
            found = hashlib.sha256(data).hexdigest()
            if found != wanted:
                raise SglangError(
                    f"the manifest that {self.peer.host} sends is not the builder's",
                    found=f"sha256 {found[:16]}…, {len(data)} bytes",
                    wanted=f"sha256 {wanted[:16]}…",
                    next_step=f"run the play again, another host takes its place; look at the environment of {self.peer.host}",
                )
            os.mkdir(self.partial, 0o755)
            write_durably(place, data)
        return load(data, f"from {self.peer.host}")

    def _ask_for_manifest(self) -> bytes:
        try:
            with self.peer.open(f"/{self.request.digest}/{MANIFEST}") as incoming:
                return incoming.all(MAXIMUM_MANIFEST, self._look_at_the_clock)
        except PeerBroken as failure:
            raise self._broken(failure) from failure

    def _broken(self, failure: PeerBroken) -> SglangError:
        return SglangError(
            f"the environment cannot be copied from {self.peer.host}",
            found=f"{self.peer.url}: {failure}",
            wanted="the files of the environment, to the last one",
            next_step="run the play again: what has come is kept; see whether the host runs, and whether a firewall stands between "
            "(ml_env_peer_address, ml_env_peer_port)",
        )

    def _refuse_another(self, manifest: TreeManifest) -> None:
        """Only the same environment for the same kind of host; nothing has been written where anybody looks."""
        request = self.request
        offered = (manifest.path, manifest.digest, manifest.foundation)
        wanted = (request.path, request.digest, self.foundation)
        if offered != wanted:
            raise SglangError(
                f"{self.peer.host} offers an environment that is not right for this host",
                found="; ".join(offered),
                wanted="; ".join(wanted),
                next_step="have it built on this host (the role ml_env pairs only hosts that are alike)",
            )
        interpreter = os.path.realpath(request.interpreter.executable)
        for name, target in manifest.links:
            if leads_outside(name, target) and os.path.realpath(target) != interpreter:
                raise SglangError(
                    f"{self.peer.host} offers an environment that leads to another Python",
                    found=f"{name} -> {target}, here {os.path.realpath(target)}",
                    wanted=f"{interpreter}, which {request.interpreter.path} is",
                    next_step="have it built on this host, or make ml_env_python the same on all",
                )

    def _kept(self, manifest: TreeManifest) -> int:
        """How many of the first files are here and proven; what does not belong here is removed."""
        kinds = dict.fromkeys(manifest.directories, stat.S_IFDIR)
        kinds.update({file.name: stat.S_IFREG for file in manifest.files})
        # Links come last, when every file has its place: none is ever written through one.
        for name, status in list(walk(self.partial)):
            path = self._inside(name)
            if stat.S_IFMT(status.st_mode) != kinds.get(name) and os.path.lexists(path):
                shutil.rmtree(path) if stat.S_ISDIR(status.st_mode) else os.unlink(path)
        for name in manifest.directories:
            os.makedirs(self._inside(name), mode=0o755, exist_ok=True)
        for position, file in enumerate(manifest.files):
            if not self._is_proven(file):
                return position
            self._bytes += file.size
            self._tell("prove")
        return len(manifest.files)

    def _is_proven(self, file: TreeFile) -> bool:
        try:
            descriptor = os.open(self._inside(file.name), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            proven = os.fstat(descriptor).st_size == file.size and sha256_of(descriptor) == file.sha256
            if proven:
                _settle(descriptor, file)
            return proven
        finally:
            os.close(descriptor)

    def _look_at_the_clock(self) -> None:
        if time.monotonic() > self.deadline:
            raise took_too_long(f"copying from {self.peer.host}", self.request.timeout)

    def _tell(self, phase: str, more: int = 0) -> None:
        self._look_at_the_clock()
        self.progress.report(phase, f"{human_bytes(self._bytes + more)} of {human_bytes(self._total)} from {self.peer.host}")

    def _receive(self, manifest: TreeManifest, position: int) -> None:
        """The rest of the stream. A connection that breaks is made anew as long as each brings at least one file."""
        nothing = contextlib.nullcontext(Incoming(io.BytesIO()))
        while position < len(manifest.files):
            before = position
            try:
                # Behind the last byte there may still be files without any, and no server answers from there on.
                source = self.peer.open(f"/{self.request.digest}/{STREAM}", self._bytes) if self._bytes < self._total else nothing
                with source as incoming:
                    while position < len(manifest.files):
                        self._take(manifest.files[position], incoming, manifest.path)
                        self._bytes += manifest.files[position].size
                        position += 1
            except PeerBroken as failure:
                if position == before:
                    raise self._broken(failure) from failure
                self.progress.report("copy", f"{self.peer.host}: {failure}; going on from there", force=True)

    def _take(self, file: TreeFile, incoming: Incoming, where: str) -> None:
        path = self._inside(file.name)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        digest, left = hashlib.sha256(), file.size
        with os.fdopen(descriptor, "wb") as handle:
            while left:
                block = incoming.read(min(left, BLOCK))
                digest.update(block)
                handle.write(block)
                left -= len(block)
                self._tell("copy", file.size - left)
            handle.flush()
            if digest.hexdigest() != file.sha256:
                raise SglangError(
                    f"{file.name} as {self.peer.host} sends it is not what was built",
                    found=f"sha256 {digest.hexdigest()[:16]}…",
                    wanted=f"sha256 {file.sha256[:16]}…, as on the host that built it",
                    next_step=f"run the play again, another host takes its place; look at {where} and the disk of {self.peer.host}",
                )
            _settle(handle.fileno(), file)

    def _publish(self, manifest: TreeManifest) -> Marker:
        """Links, the checks of a build, everything on the disk, the marker, and the rename that lets it be seen."""
        request, python = self.request, self._inside("bin/python")
        for name, target in manifest.links:
            os.symlink(target, self._inside(name))
        version, distributions = self._asked(python)
        built = Marker.from_data(manifest.marker, request.path, request.digest)
        if built is None or (version, distributions) != (request.interpreter.version, built.versions):
            raise SglangError(
                f"the environment from {self.peer.host} does not hold what was built",
                found=f"Python {version}, {len(distributions)} packages",
                wanted=f"Python {request.interpreter.version}, {len(built.versions) if built else 0} packages, each in its version",
                next_step="have it built on this host",
            )
        check_imports(python, request.name, request.imports, self.progress, self._remaining(), request.timeout)
        self.progress.report("mark", "writing everything to the disk")
        sync_tree(self.partial)
        marker = replace(built, imports=list(request.imports), copied_from=self.peer.host, manifest_sha256=self.peer.manifest_sha256)
        write_marker(self.partial, marker.to_json())
        os.rename(self.partial, request.path)
        sync_directory(request.root)
        return marker

    def _asked(self, python: str) -> tuple[str, dict[str, str]]:
        try:
            return distributions_of(python)
        except (OSError, subprocess.SubprocessError, ValueError, KeyError) as failure:
            raise SglangError(
                f"the environment from {self.peer.host} does not run here",
                found=last_lines(getattr(failure, "stderr", None) or str(failure)) or "no word",
                wanted="an interpreter that says what is installed",
                next_step="have it built on this host",
            ) from failure


def _settle(descriptor: int, file: TreeFile) -> None:
    os.fchmod(descriptor, file.mode)
    os.utime(descriptor, ns=(file.mtime_ns, file.mtime_ns))
