# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is on the host now and what has to be done: looks only, so that check mode tells the truth."""

from __future__ import annotations

import hashlib
import os
import subprocess
from dataclasses import dataclass, field
from typing import Optional

from ansible_collections.inference.sglang.plugins.module_utils._environment_check import distributions_of
from ansible_collections.inference.sglang.plugins.module_utils._environment_files import LinkState, read_marker, refuse_other
from ansible_collections.inference.sglang.plugins.module_utils._environment_manifest import foundation
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._host_facts import parse_os_release
from ansible_collections.inference.sglang.plugins.module_utils._python_environment import (
    DIGEST_LENGTH,
    PROBE,
    Interpreter,
    Marker,
    adopted_digest,
    check_lock,
    environment_digest,
    environment_path,
    judge_adopted,
    pins_of,
)
from ansible_collections.inference.sglang.plugins.module_utils._regular_files import read_regular
from ansible_collections.inference.sglang.plugins.module_utils._tool_process import clean_environment


@dataclass(frozen=True)
class Survey:
    """``action`` is present, build or adopt; what cannot be known before the host is prepared is None."""

    action: str
    path: Optional[str]
    digest: Optional[str]
    link: LinkState
    interpreter: Optional[Interpreter] = None
    lock_sha256: str = ""
    marker: Optional[Marker] = None
    versions: dict[str, str] = field(default_factory=dict)
    python_version: Optional[str] = None
    foundation: str = ""  # what a copy needs besides the digest; empty where it is not known or nothing is copied
    missing: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def switches(self) -> bool:
        """Whether the link has to change."""
        return self.action != "adopt" and not (self.link.kind == "link" and self.link.target == self.path)


def probe_interpreter(path: str) -> Interpreter:
    """Ask an interpreter what it is."""
    try:
        run = subprocess.run(  # pylint: disable=ansible-bad-function
            [path, "-I", "-c", PROBE], capture_output=True, text=True, timeout=60, check=True, env=clean_environment({}), cwd="/"
        )
        return Interpreter.from_probe(path, run.stdout)
    except (OSError, subprocess.SubprocessError, ValueError, KeyError) as failure:
        stderr = getattr(failure, "stderr", None)
        raise SglangError(
            f"no Python at {path}",
            found=(stderr or str(failure)).strip().splitlines()[-1],
            wanted="a CPython that runs",
            next_step="install it, or point ml_env_python to the interpreter that the environment shall be built with",
        ) from failure


def os_release() -> dict[str, str]:
    """/etc/os-release; empty on a system without one."""
    try:
        return parse_os_release(read_regular("/etc/os-release").decode(errors="replace"))
    except (OSError, SglangError):
        return {}


def read_lock(path: str) -> str:
    try:
        return read_regular(path).decode("utf-8")
    except (OSError, UnicodeDecodeError) as failure:
        raise SglangError(
            "the lock is not on the host",
            found=str(failure),
            wanted=f"a readable {path}",
            next_step="use the role ml_env, which copies it there",
        ) from failure


def lock_digest(path: str, expected: str, check_mode: bool) -> str:
    """SHA-256 of the lock; in check mode the expected one stands in for a lock that would be copied first."""
    if check_mode and not os.path.exists(path):
        return expected
    text = read_lock(path)
    check_lock(text, path)
    found = hashlib.sha256(text.encode()).hexdigest()
    if expected and found != expected:
        if check_mode:
            return expected  # a newer lock would be copied first
        raise SglangError(
            "the lock on the host is not the controller's",
            found=f"sha256 {found[:16]}… of {path}",
            wanted=f"sha256 {expected[:16]}…",
            next_step="run the play again; two plays with different locks were at work on this host",
        )
    return found


def is_foreign(link: str, state: LinkState, root: str) -> bool:
    """A real directory, or a link that leads to one outside our root: somebody else's environment."""
    if state.kind == "directory":
        return True
    return state.kind == "link" and os.path.isdir(link) and os.path.dirname(os.path.realpath(link)) != os.path.realpath(root)


def survey_adopted(link: str, state: LinkState, release: str, lock: str) -> Survey:
    """Look at an environment that is used as it is."""
    python = os.path.join(link, "bin", "python")
    try:
        version, distributions = distributions_of(python)
    except (OSError, subprocess.SubprocessError, ValueError, KeyError) as failure:
        raise SglangError(
            f"{link} is no Python environment that works",
            found=f"{python}: {(getattr(failure, 'stderr', None) or str(failure)).strip().splitlines()[-1]}",
            wanted="bin/python that runs, as ml_env_adopt: true asks for the directory to be used as it is",
            next_step="repair it, or set ml_env_adopt: false to have one built (the directory is moved aside, not deleted)",
        ) from failure
    pins = pins_of(read_lock(lock)) if os.path.exists(lock) else {}
    warnings = judge_adopted(link, distributions, release, pins)
    return Survey(
        action="adopt",
        path=link,
        digest=adopted_digest(link, distributions),
        link=state,
        versions=distributions,
        python_version=version,
        warnings=warnings,
    )


def survey(
    *, name: str, root: str, link: str, lock: str, lock_sha256: str, python: str, adopt: bool, release: str, check_mode: bool
) -> Survey:
    """Decide between adopting, building and doing nothing."""
    state = LinkState.of(link)
    if state.kind == "other":
        raise refuse_other(link)
    if adopt and is_foreign(link, state, root):
        return survey_adopted(link, state, release, lock)
    missing: list[str] = []
    try:
        interpreter: Optional[Interpreter] = probe_interpreter(python)
    except SglangError:
        if not check_mode:
            raise
        interpreter = None
        missing.append(f"Python at {python}")
    sha256 = lock_digest(lock, lock_sha256, check_mode)
    if not os.path.exists(lock):
        missing.append(f"the lock at {lock}")
    if interpreter is None or not sha256:
        return Survey(action="build", path=None, digest=None, link=state, interpreter=interpreter, missing=missing)
    digest = environment_digest(sha256, interpreter)
    path = environment_path(root, name, digest)
    marker = read_marker(path, digest)
    if marker is not None and not os.path.exists(os.path.join(path, "bin", "python")):
        raise SglangError(
            f"the interpreter of {path} is gone",
            found=f"{path}/bin/python leads to {os.path.realpath(os.path.join(path, 'bin', 'python'))}, which does not exist",
            wanted="the Python that the environment was built with",
            next_step=f"install it again, or remove {path} to have it built anew",
        )
    return Survey(
        action="build" if marker is None else "present",
        path=path,
        digest=digest,
        link=state,
        interpreter=interpreter,
        lock_sha256=sha256,
        marker=marker,
        versions=marker.versions if marker else {},
        python_version=interpreter.version,
        foundation=foundation(os_release(), interpreter),
        missing=missing,
    )


def short(digest: str) -> str:
    return digest[: len("adopted-") + DIGEST_LENGTH] if digest.startswith("adopted-") else digest[:DIGEST_LENGTH]
