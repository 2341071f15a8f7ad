# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Makes a bundle on a machine with a network: the wheels of some locks beside a model that is published in it, and last the list."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Optional

from ansible_collections.inference.sglang.plugins.module_utils import _bundle as core
from ansible_collections.inference.sglang.plugins.module_utils._bundle import Bundle, BundleFile
from ansible_collections.inference.sglang.plugins.module_utils._bundle_files import problem_of, read_bundle
from ansible_collections.inference.sglang.plugins.module_utils._environment_files import exclusive
from ansible_collections.inference.sglang.plugins.module_utils._environment_survey import probe_interpreter, read_lock
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._progress import Progress
from ansible_collections.inference.sglang.plugins.module_utils._python_environment import Source, check_lock
from ansible_collections.inference.sglang.plugins.module_utils._regular_files import read_regular
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_manifest import load as load_manifest
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_store import hash_file, write_text
from ansible_collections.inference.sglang.plugins.module_utils._tool_process import Finished, clean_environment, run_tool
from ansible_collections.inference.sglang.plugins.module_utils._uv_bootstrap import ensure_uv, system_certificates
from ansible_collections.inference.sglang.plugins.module_utils._uv_output import install_error


@dataclass(frozen=True)
class Lock:
    """A lock on this machine, and what its wheels are for."""

    path: str
    purpose: str


@dataclass(frozen=True)
class BundleOrder:
    """What is wanted. ``python`` is the hosts', ``interpreter`` this machine's; ``manifest`` is of the model in the bundle."""

    path: str
    sglang: str
    python: str
    locks: tuple[Lock, ...]
    uv_lock: str
    manifest: str
    tools: str
    interpreter: str
    source: Source
    timeout: float


class BundleMaker:
    """One bundle. ``make`` says what is in it and whether anything had to be done."""

    def __init__(self, order: BundleOrder, progress: Progress) -> None:
        self._order, self._progress = order, progress
        self._deadline = time.monotonic() + order.timeout
        self._list = os.path.join(order.path, core.BUNDLE_FILE)
        self._wheels = os.path.join(order.path, core.WHEELS)

    def look(self) -> bool:
        """Whether there is anything to do. A model that is not here yet is."""
        before = self._before()
        if before is None or not os.path.exists(self._order.manifest):
            return True
        wheels = self._kept_wheels(before)
        return wheels is None or self._listed(wheels) != before

    def make(self) -> tuple[Bundle, bool]:
        order = self._order
        for folder in (order.tools, self._wheels, os.path.join(order.path, core.LOCKS)):
            os.makedirs(folder, mode=0o755, exist_ok=True)
        with exclusive(os.path.join(order.path, ".lock"), order.timeout, lambda text: self._progress.report("wait", text)):
            before = self._before()
            wheels = self._kept_wheels(before) if before is not None else None
            if wheels is None:
                # What is half made must not be taken for a bundle.
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self._list)
                before, wheels = None, self._bring_wheels()
            for lock in order.locks:
                write_text(self._lock_copy(lock), read_lock(lock.path))
            bundle = self._listed(wheels)
            if bundle == before:
                return bundle, False
            self._progress.report("list", f"writing {self._list}", force=True)
            write_text(self._list, core.dump(bundle))
            return bundle, True

    def _before(self) -> Optional[Bundle]:
        try:
            return read_bundle(self._order.path)
        except SglangError:
            return None

    # --- what is listed ---------------------------------------------------------------------------------------------------

    def _lock_copy(self, lock: Lock) -> str:
        return os.path.join(self._order.path, core.LOCKS, os.path.basename(lock.path))

    def _lock_files(self) -> tuple[BundleFile, ...]:
        found = []
        for lock in self._order.locks:
            data = read_lock(lock.path).encode()
            name = f"{core.LOCKS}/{os.path.basename(lock.path)}"
            found.append(BundleFile(name, len(data), hashlib.sha256(data).hexdigest(), f"lock of the {lock.purpose}"))
        return tuple(found)

    def _kept_wheels(self, before: Bundle) -> Optional[tuple[BundleFile, ...]]:
        """The wheels of a bundle that was made for the same locks and Python, when every byte is as it was; else None."""
        order = self._order
        same = (before.sglang, before.python, before.platform) == (order.sglang, order.python, core.PLATFORM)
        if not same or set(before.below(core.LOCKS)) != set(self._lock_files()):
            return None
        for file in (*before.below(core.WHEELS), *before.below(core.LOCKS)):
            self._progress.report("verify", f"reading {file.file}")
            if problem_of(order.path, file):
                return None
        return before.below(core.WHEELS)

    def _listed(self, wheels: tuple[BundleFile, ...]) -> Bundle:
        order = self._order
        text = read_regular(order.manifest)
        manifest = load_manifest(text, order.manifest)
        record = os.path.relpath(order.manifest, order.path)
        directory = record[: -len(".manifest.json")]
        model = [BundleFile(f"{directory}/{entry.file}", entry.size, entry.sha256, "model") for entry in manifest.files]
        model.append(BundleFile(record, len(text), hashlib.sha256(text).hexdigest(), "manifest of the model"))
        files = (*self._lock_files(), *wheels, *model)
        listed = tuple(sorted(files, key=lambda file: file.file))
        return Bundle(order.sglang, order.python, core.PLATFORM, manifest.repo, manifest.revision, manifest.requested, listed)

    # --- wheels -------------------------------------------------------------------------------------------------------------

    def _bring_wheels(self) -> tuple[BundleFile, ...]:
        order = self._order
        interpreter = probe_interpreter(order.interpreter)
        uv = ensure_uv(order.tools, order.uv_lock, interpreter, order.source, self._progress, self._remaining)
        wanted: dict[str, Mapping[str, frozenset[str]]] = {}
        for lock in order.locks:
            check_lock(read_lock(lock.path), lock.path)
            with tempfile.TemporaryDirectory(dir=order.tools, prefix=".bundle-") as scratch:
                flat = os.path.join(scratch, os.path.basename(lock.path))
                choice = [uv, *core.compile_arguments(order.python), lock.path, "--output-file", flat]
                self._run(choice, lock, f"choosing {lock.purpose} wheels")
                wanted[lock.purpose] = core.meant(read_lock(lock.path), read_lock(flat))
                write_text(flat, core.hashed(wanted[lock.purpose]))
                self._progress.report("wheels", f"{len(wanted[lock.purpose])} wheels of the {lock.purpose}", force=True)
                self._download(os.path.join(os.path.dirname(uv), "python"), flat, lock)
        return self._wheels_there(wanted)

    def _download(self, python: str, flat: str, lock: Lock) -> None:
        cache = os.path.join(self._order.tools, "pip-cache")  # a run that is killed goes on from what came
        command = [python, "-m", "pip", *core.download_arguments(self._order.python), "--dest", self._wheels, "--cache-dir", cache]
        command += ["--progress-bar", "off", "--disable-pip-version-check", "--no-input", "--requirement", flat]
        self._run(command, lock, f"downloading {lock.purpose} wheels")

    def _wheels_there(self, wanted: Mapping[str, Mapping[str, frozenset[str]]]) -> tuple[BundleFile, ...]:
        found = []
        for name in sorted(name for name in os.listdir(self._wheels) if name.endswith(".whl")):
            path = os.path.join(self._wheels, name)
            self._progress.report("verify", f"reading {name}")
            digest, size = hash_file(path, False, lambda _count: None).sha256, os.path.getsize(path)
            purpose = core.purposes(digest, wanted)
            if purpose:  # another release's wheels do no harm
                found.append(BundleFile(f"{core.WHEELS}/{name}", size, digest, purpose))
        have = [file.sha256 for file in found]
        missing = [name for lock in wanted.values() for name in core.missing_wheels(lock, have)]
        if missing:
            raise SglangError(
                "Wheels are missing after the download.",
                found=", ".join(missing[:5]),
                wanted=f"a file of each requirement in {self._wheels}, with one of its hashes",
                next_step="Run again; what is there is kept.",
            )
        return tuple(found)

    def _remaining(self) -> float:
        return max(self._deadline - time.monotonic(), 1.0)

    def _run(self, command: list[str], lock: Lock, what: str) -> None:
        source = self._order.source
        environment = {**system_certificates(), **source.uv_environment(), **source.pip_environment(), "PIP_CONFIG_FILE": os.devnull}
        environment = {**environment, "UV_CACHE_DIR": f"{self._order.tools}/uv-cache", "UV_NO_CONFIG": "1", "UV_PYTHON_DOWNLOADS": "never"}
        finished = run_tool(command, clean_environment(environment), self._told, self._tick, self._remaining(), cwd=self._order.tools)
        self._judge(finished, lock, what)

    def _told(self, line: str) -> None:
        words = line.split()
        if len(words) > 1 and words[0] in ("Downloading", "Saved"):
            self._progress.report("wheels", " ".join([words[0].lower(), os.path.basename(words[1]), *words[2:4]]))

    def _tick(self, written: int) -> None:
        self._progress.report("wheels", f"{written >> 20} MiB written")

    def _judge(self, finished: Finished, lock: Lock, what: str) -> None:
        if finished.timed_out:
            raise SglangError(
                f"{what} took too long",
                found=f"not done after {self._order.timeout:.0f} seconds",
                wanted="a finished download",
                next_step="raise timeout (ml_env_timeout); what came is kept",
            )
        if finished.returncode != 0:
            raise install_error(
                finished.output,
                what=what,
                source=self._order.source,
                lock=lock.path,
                root=self._order.path,
                python=self._order.python,
                platform=core.PLATFORM,
                returncode=finished.returncode,
            )
