# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Builds one environment at its final path: uv, packages, checks, and the marker last."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.inference.sglang.plugins.module_utils._environment_check import check_imports, distributions_of, took_too_long
from ansible_collections.inference.sglang.plugins.module_utils._environment_files import (
    check_space,
    partial_of,
    place_of,
    sync_tree,
    write_marker,
)
from ansible_collections.inference.sglang.plugins.module_utils._environment_survey import Survey
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._progress import Progress
from ansible_collections.inference.sglang.plugins.module_utils._python_environment import (
    Interpreter,
    Marker,
    Source,
)
from ansible_collections.inference.sglang.plugins.module_utils._tool_process import Finished, clean_environment, run_tool
from ansible_collections.inference.sglang.plugins.module_utils._uv_bootstrap import ensure_uv, system_certificates
from ansible_collections.inference.sglang.plugins.module_utils._uv_output import UvProgress, install_error, last_lines

# Compiling the bytecode of 100,000 files takes minutes on a busy machine; uv's own limit is one.
_COMPILE_SECONDS = "1800"


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


def request_of(params: dict[str, Any], found: Survey) -> BuildRequest:
    """The options of the module, and what the survey found out."""
    if found.path is None or found.digest is None or found.interpreter is None:
        raise AssertionError("outside check mode a survey knows its path")
    return BuildRequest(
        name=params["name"],
        path=found.path,
        root=params["root"],
        tools=params["tools"],
        link=params["link"],
        lock=params["lock"],
        lock_sha256=found.lock_sha256,
        digest=found.digest,
        interpreter=found.interpreter,
        source=Source(params["index_url"], params["wheelhouse"]),
        uv=params["uv"] or "",
        uv_lock=params["uv_lock"] or "",
        imports=params["imports"],
        check_dependencies=params["check_dependencies"],
        only_binary=params["only_binary"],
        needed_mib=params["needed_mib"],
        timeout=params["timeout"],
        lock_wait=params["lock_wait"],
    )


def check_wheelhouse(wheelhouse: str) -> None:
    """An empty or missing directory is said before uv says the same about two hundred packages."""
    if not wheelhouse or re.match(r"https?://", wheelhouse):
        return
    try:
        wheels = sum(1 for name in os.listdir(wheelhouse) if name.endswith(".whl"))
        found = f"no .whl file in {wheelhouse}"
    except OSError as failure:
        wheels, found = 0, str(failure)
    if not wheels:
        raise SglangError(
            "there is no wheelhouse",
            found=found,
            wanted="a directory on the host with the wheels of the lock, or a URL that begins with http:// or https://",
            next_step="correct ml_env_wheelhouse, or copy the wheels to the host first; empty means PyPI",
        )


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
        with place_of(request.path, request.digest, request.link, request.lock_wait, self.progress) as marker:
            # The wait for another run is no part of the time that a build may take.
            self.deadline = time.monotonic() + request.timeout
            if marker is not None:
                return marker, False
            # What was copied so far is of no use to a build, and its space is.
            shutil.rmtree(partial_of(request.path), ignore_errors=True)
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
        check_imports(self.python, request.name, request.imports, self.progress, self._remaining(), request.timeout)
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

        finished = run_tool([*command, request.lock], self._uv_environment(), on_line, on_tick, self._remaining())
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

    def _uv_version(self, uv: str) -> str:
        finished = run_tool([uv, "--version"], self._uv_environment(), limit=60)
        words = finished.output.split()
        return words[1] if len(words) > 1 else finished.output.strip()

    def _checked(self, command: list[str], what: str) -> None:
        self._judge(run_tool(command, self._uv_environment(), limit=self._remaining()), what)

    def _judge(self, finished: Finished, what: str) -> None:
        request = self.request
        if finished.timed_out:
            raise took_too_long(what, request.timeout, finished.output)
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
