# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Builds one environment at its final path: uv, packages, checks, and the marker last."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from ansible_collections.inference.sglang.plugins.module_utils._environment_files import (
    check_space,
    clear_unfinished,
    exclusive,
    read_marker,
    sync_tree,
    write_marker,
)
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._progress import Progress
from ansible_collections.inference.sglang.plugins.module_utils._python_environment import (
    LIST_DISTRIBUTIONS,
    Interpreter,
    Marker,
    Source,
)
from ansible_collections.inference.sglang.plugins.module_utils._tool_process import Finished, clean_environment, run_tool
from ansible_collections.inference.sglang.plugins.module_utils._uv_bootstrap import ensure_uv, system_certificates
from ansible_collections.inference.sglang.plugins.module_utils._uv_output import UvProgress, install_error, last_lines

# Compiling the bytecode of 100,000 files takes minutes on a busy machine; uv's own limit is one.
_COMPILE_SECONDS = "1800"
_IMPORT_ALL = """
import importlib, sys, traceback
for name in sys.argv[1:]:
    print("import", name, flush=True)
    try:
        importlib.import_module(name)
    except BaseException:
        traceback.print_exc(file=sys.stdout)
        sys.exit(1)
"""


@dataclass(frozen=True)
class BuildRequest:
    """What is wanted, and everything that the way there depends on."""

    name: str
    path: str
    root: str
    tools: str
    link: str
    lock: str
    lock_sha256: str
    digest: str
    interpreter: Interpreter
    source: Source
    uv: str = ""
    uv_lock: str = ""
    imports: list[str] = field(default_factory=list)
    check_dependencies: bool = True
    only_binary: bool = True
    needed_mib: int = 0
    timeout: float = 3600.0
    lock_wait: float = 3600.0


def distributions_of(python: str) -> tuple[str, dict[str, str]]:
    """(Python version, {name: version}) of an environment, asked of its own interpreter."""
    run = subprocess.run(  # pylint: disable=ansible-bad-function
        [python, "-I", "-B", "-c", LIST_DISTRIBUTIONS], capture_output=True, text=True, timeout=120, check=True, env=clean_environment({})
    )
    data = json.loads(run.stdout)
    return data["version"], data["distributions"]


class Builder:
    """One build. ``build`` returns the marker of the finished environment and whether it was made just now."""

    def __init__(self, request: BuildRequest, progress: Progress) -> None:
        self.request = request
        self.progress = progress
        self.deadline = time.monotonic() + request.timeout
        self.python = os.path.join(request.path, "bin", "python")
        # On the environments' own file system wheels are linked, not copied: releases share what they have in common.
        self._cache = os.path.join(request.tools, "uv-cache")

    def build(self) -> tuple[Marker, bool]:
        request = self.request
        os.makedirs(request.root, mode=0o755, exist_ok=True)
        lock_file = os.path.join(request.root, f".{os.path.basename(request.path)}.lock")
        with exclusive(lock_file, request.lock_wait, lambda text: self.progress.report("wait", text)):
            # The wait for another run is no part of the time that a build may take.
            self.deadline = time.monotonic() + request.timeout
            marker = read_marker(request.path, request.digest)
            if marker is not None:
                return marker, False
            cleared = clear_unfinished(request.path, request.link)
            if cleared:
                self.progress.report("clean", cleared, force=True)
            check_space(request.root, request.needed_mib)
            # uv makes its lock files writable by everybody, so nobody else gets in.
            os.makedirs(self._cache, mode=0o700, exist_ok=True)
            uv = request.uv or self._bootstrap()
            with self._removed_on_failure():
                return self._fill(uv), True

    @contextlib.contextmanager
    def _removed_on_failure(self) -> Iterator[None]:
        """A failed build gives its disk space back; the downloaded wheels stay in uv's cache for the next try."""
        try:
            yield
        except BaseException:
            shutil.rmtree(self.request.path, ignore_errors=True)
            raise

    def _bootstrap(self) -> str:
        request = self.request
        return ensure_uv(request.tools, request.uv_lock, request.interpreter, request.source, self.progress, self._remaining)

    def _remaining(self) -> float:
        return max(self.deadline - time.monotonic(), 1.0)

    def _uv_environment(self) -> dict[str, str]:
        request = self.request
        return clean_environment(
            {
                **system_certificates(),
                **request.source.uv_environment(),
                "UV_CACHE_DIR": self._cache,
                "UV_PYTHON_DOWNLOADS": "never",
                "UV_NO_CONFIG": "1",
                "UV_COMPILE_BYTECODE_TIMEOUT": _COMPILE_SECONDS,
                "UV_HTTP_TIMEOUT": "120",
            }
        )

    def _fill(self, uv: str) -> Marker:
        request, begun = self.request, time.monotonic()
        self.progress.report("venv", f"{request.path} with Python {request.interpreter.version}")
        self._checked([uv, "venv", "--no-project", "--python", request.interpreter.path, request.path], "making the environment")
        self._install(uv)
        _version, distributions = distributions_of(self.python)
        if not distributions:
            raise SglangError(
                "the lock holds nothing for this machine",
                found=f"none of its requirements is meant for {request.interpreter.platform}, Python {request.interpreter.version}",
                wanted="requirements whose markers match",
                next_step="use a lock made for this platform (ml_env_lock)",
            )
        if request.check_dependencies:
            self._check_dependencies(uv)
        self._check_imports()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(request.path, ".lock"))  # uv's own, writable by everybody
        self.progress.report("mark", "writing everything to the disk")
        sync_tree(request.path)
        marker = Marker(
            path=request.path,
            name=request.name,
            digest=request.digest,
            lock_sha256=request.lock_sha256,
            python_version=request.interpreter.version,
            platform=request.interpreter.platform,
            uv_version=self._uv_version(uv),
            versions=dict(sorted(distributions.items())),
            built=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            seconds=round(time.monotonic() - begun, 1),
            imports=list(request.imports),
        )
        write_marker(request.path, marker.to_json())
        return marker

    def _install(self, uv: str) -> None:
        request = self.request
        command = [uv, "pip", "sync", "--python", self.python, "--require-hashes", "--compile-bytecode"]
        command += request.source.uv_arguments()
        if request.only_binary:
            command.append("--no-build")
        follow = UvProgress()
        begun = time.monotonic()

        def on_line(line: str) -> None:
            nonlocal begun
            text = follow.feed(line)
            if text:
                begun = time.monotonic()
                self.progress.report(follow.phase, text)

        def on_tick(written: int) -> None:
            self.progress.report(follow.phase, follow.now(written, time.monotonic() - begun))

        finished = run_tool([*command, request.lock], self._uv_environment(), on_line, on_tick, self._remaining(), tick=9.0)
        self._judge(finished, f"installing {request.name}")

    def _check_dependencies(self, uv: str) -> None:
        self.progress.report("check", "do the packages fit each other")
        finished = run_tool([uv, "pip", "check", "--python", self.python], self._uv_environment(), limit=self._remaining())
        if finished.returncode != 0 and not finished.timed_out:
            raise SglangError(
                f"the packages of {self.request.name} do not fit each other",
                found=last_lines(finished.output),
                wanted="no conflict ('uv pip check')",
                next_step="correct the lock; for one that is known to conflict and works all the same set ml_env_check_dependencies: false",
            )
        self._judge(finished, "checking the packages")

    def _check_imports(self) -> None:
        """Import what a release cannot do without, with the environment's own interpreter and without any setting of ours."""
        request = self.request
        if not request.imports:
            return
        with tempfile.TemporaryDirectory(prefix="ansible-import-check-") as home:
            environment = clean_environment({"HOME": home, "XDG_CACHE_HOME": home, "TRITON_CACHE_DIR": home})
            finished = run_tool(
                [self.python, "-I", "-B", "-c", _IMPORT_ALL, *request.imports],
                environment,
                on_line=lambda line: self.progress.report("import", line.partition(" ")[2]) if line.startswith("import ") else None,
                on_tick=lambda _written: self.progress.report("import", "still importing"),
                limit=self._remaining(),
                cwd=home,
            )
        if finished.returncode != 0 and not finished.timed_out:
            tried = [line.partition(" ")[2] for line in finished.output.splitlines() if line.startswith("import ")]
            raise SglangError(
                f"the environment {request.name} is installed, yet '{tried[-1] if tried else request.imports[0]}' cannot be imported",
                found=last_lines(finished.output, 4) or f"exit status {finished.returncode}",
                wanted=f"import of {', '.join(request.imports)}",
                next_step="a missing shared library is a package of the system (role inference_host); anything else is the lock's",
            )
        self._judge(finished, "the import check")

    def _uv_version(self, uv: str) -> str:
        finished = run_tool([uv, "--version"], self._uv_environment(), limit=60)
        words = finished.output.split()
        return words[1] if len(words) > 1 else finished.output.strip()

    def _checked(self, command: list[str], what: str) -> None:
        self._judge(run_tool(command, self._uv_environment(), limit=self._remaining()), what)

    def _judge(self, finished: Finished, what: str) -> None:
        request = self.request
        if finished.timed_out:
            raise SglangError(
                f"{what} took too long",
                found=f"not done after {request.timeout:.0f} seconds; last words: {last_lines(finished.output, 3) or 'none'}",
                wanted=f"a finished environment within {request.timeout:.0f} seconds",
                next_step="raise ml_env_timeout; what was downloaded is kept in uv's cache",
            )
        if finished.returncode != 0:
            raise install_error(
                finished.output,
                what=what,
                source=request.source,
                lock=request.lock,
                root=request.root,
                python=request.interpreter.version,
                platform=request.interpreter.platform,
                returncode=finished.returncode,
            )
