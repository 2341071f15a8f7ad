# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Looks at the host for the launch plan: the environment, the model's places, what the service user can read, the GPUs. Reads only."""

from __future__ import annotations

import errno
import fnmatch
import glob
import grp
import json
import os
import pwd
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._gpus import GPU_QUERY, PROCESS_QUERY, parse_nvidia_smi
from ansible_collections.inference.sglang.plugins.module_utils._live_unit import RunCommand
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_files import DEFAULT_PATTERNS
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_manifest import content_digest, load
from ansible_collections.inference.sglang.plugins.module_utils._text_files import read_text
from ansible_collections.inference.sglang.plugins.module_utils._unit import interpreter_places

MODPROBE_PATHS = ("/usr/bin/nvidia-modprobe", "/usr/sbin/nvidia-modprobe")

# Runs as the service user without any capability, as the unit will, so that the kernel itself answers (modes, groups
# and access lists alike; root without capabilities is an ordinary user of its own files).
_ACCESS_PROBE = """
import ctypes, json, os, sys
if os.environ.pop("SGLANG_ACCESS_STAGE", "") == "1":
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in range(64):
        libc.prctl(24, capability, 0, 0, 0)
    os.execv(sys.executable, [sys.executable, "-c", os.environ["SGLANG_ACCESS_CODE"]])
denied = []
for path in json.load(sys.stdin):
    mode = os.R_OK | os.X_OK if os.path.isdir(path) else os.R_OK
    if os.access(path, mode):
        continue
    parent, blocked = os.path.dirname(path), path
    while parent != "/":
        if os.path.isdir(parent) and not os.access(parent, os.X_OK):
            blocked = parent
        parent = os.path.dirname(parent)
    denied.append([path, blocked])
json.dump(denied, sys.stdout)
"""


# ----- the Python environment -----
@dataclass(frozen=True)
class EnvironmentView:
    """A virtual environment as it lies on the host."""

    path: str
    python: str
    sglang_version: str
    readable: tuple[str, ...]  # places outside it that its interpreter needs


def sglang_version_of(environment: str) -> str:
    """The installed SGLang release, read from its metadata: nothing is imported."""
    for folder in sorted(glob.glob(f"{glob.escape(environment)}/lib/python3*/site-packages/sglang-*.dist-info")):
        match = re.search(r"^Version:\s*(\S+)", read_text(f"{folder}/METADATA") or "", re.MULTILINE)
        if match:
            return match.group(1)
    return ""


def _base_prefix(environment: str) -> Optional[str]:
    for line in (read_text(f"{environment}/pyvenv.cfg") or "").splitlines():
        key, _equals, value = line.partition("=")
        if key.strip() == "home":
            return os.path.dirname(os.path.realpath(value.strip()))
    return None


def view_environment(path: str) -> Optional[EnvironmentView]:
    """Look at an environment; None when it is not there (a first run in check mode)."""
    real = os.path.realpath(path)
    python = f"{real}/bin/python"
    if not os.path.exists(python):
        if os.path.isdir(real):
            raise SglangError(
                "the Python environment has no interpreter",
                found=f"{path} without bin/python",
                wanted="a virtual environment with SGLang in it",
                next_step="let the role ml_env build one, or point ml_env_link at a whole one",
            )
        return None
    version = sglang_version_of(real)
    if not version:
        raise SglangError(
            "SGLang is not installed in the Python environment",
            found=f"no sglang-*.dist-info below {real}/lib",
            wanted="an environment that the role ml_env built or adopted",
            next_step="run the role ml_env first",
        )
    places = interpreter_places(f"{real}/", os.path.realpath(python), _base_prefix(real))
    return EnvironmentView(path=real, python=python, sglang_version=version, readable=places)


# ----- the model -----
# What an engine opens in a model's directory: what is fetched of one, a model's own code, and an old tokenizer's merges.
ENGINE_READS = (*DEFAULT_PATTERNS, "*.py", "*.bpe")


def _engine_reads(directory: str) -> list[str]:
    """Names of the files that the engine reads: no subdirectory (an original checkpoint's), no page about the model."""
    wanted = [name for name in sorted(os.listdir(directory)) if not name.startswith(".")]
    wanted = [name for name in wanted if any(fnmatch.fnmatchcase(name, pattern) for pattern in ENGINE_READS)]
    return [name for name in wanted if not os.path.isdir(os.path.join(directory, name))]


def model_places(model: str) -> tuple[str, ...]:
    """The directories outside the model's own that its linked files lie in."""
    real = os.path.realpath(model)
    places = set() if real == model else {real}
    for name in _engine_reads(real):
        target = os.path.dirname(os.path.realpath(os.path.join(real, name)))
        if target != real and not target.startswith(real + "/"):
            places.add(target)
    return tuple(sorted(places))


def _leads_nowhere(path: str) -> bool:
    """A link to nothing or in a circle; one that leads behind closed doors is for the reader's own look."""
    try:
        os.stat(path)
    except OSError as error:
        return os.path.islink(path) and error.errno in (errno.ENOENT, errno.ELOOP)
    return False


def model_files(model: str) -> list[str]:
    """What the engine must be able to read: the directory and the files of a model in it. Refuses links that lead nowhere."""
    paths = [os.path.join(model, name) for name in _engine_reads(model)]
    dangling = [path for path in paths if _leads_nowhere(path)]
    if dangling:
        more = f" and {len(dangling) - 1} more" if len(dangling) > 1 else ""
        raise SglangError(
            f"{dangling[0]}{more} is a link that leads nowhere",
            found=f"it leads to {os.readlink(dangling[0])}, which is not there",
            wanted="the file itself, or a link to one",
            next_step="put the file back where the link leads, or run the role model_shards again to fetch the model anew",
        )
    return [model, *paths]


def manifest_digest(path: str) -> str:
    """What the model's manifest says of its content; empty without a manifest. When it was written does not count."""
    text = read_text(path) if path else None
    return "" if text is None else content_digest(load(text, path).files)


# ----- the service user -----
def check_readable(user: str, group: str, paths: Iterable[str]) -> None:
    """Refuse when the service user cannot read a path; unknown users (a first check run) are not looked at."""
    try:
        account = pwd.getpwnam(user)
        group_id = grp.getgrnam(group).gr_gid
    except KeyError:
        return
    wanted = sorted(set(paths))
    environment = {"SGLANG_ACCESS_STAGE": "1", "SGLANG_ACCESS_CODE": _ACCESS_PROBE, "PATH": "/usr/bin:/bin"}
    probe = subprocess.run(  # pylint: disable=ansible-bad-function
        [sys.executable, "-c", _ACCESS_PROBE],
        input=json.dumps(wanted),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd="/",
        env=environment,
        user=account.pw_uid if os.geteuid() == 0 else None,
        group=group_id if os.geteuid() == 0 else None,
        extra_groups=os.getgrouplist(user, group_id) if os.geteuid() == 0 else None,
    )
    if probe.returncode != 0:
        raise SglangError(
            "could not look at the files as the service user", found=probe.stderr.strip()[-400:], wanted=f"a usable account {user}"
        )
    denied = json.loads(probe.stdout)
    if denied:
        path, blocked = denied[0]
        more = f" and {len(denied) - 1} more" if len(denied) > 1 else ""
        reason = f"{blocked} is closed to it" if blocked != path else "its mode or owner forbids it"
        raise SglangError(
            f"the service user {user} cannot read {path}{more}",
            found=reason,
            wanted=f"files that {user} can read (the unit gives the engine no capability, root's included)",
            next_step=f"chmod/chown them, move them, or set sglang_server_user to their owner (owner of {blocked}: {_owner(blocked)})",
        )


def _owner(path: str) -> str:
    try:
        return pwd.getpwuid(os.stat(path).st_uid).pw_name
    except (KeyError, OSError):
        return "unknown"


# ----- GPUs -----
def nvidia_modprobe() -> str:
    """NVIDIA's helper that loads the module nvidia-uvm, where the host has it."""
    return next((path for path in MODPROBE_PATHS if os.path.exists(path)), "")


def measure_gpus(run: RunCommand) -> Optional[list[dict[str, Any]]]:
    """What nvidia-smi says; None where there is none, or no working driver."""
    try:
        code, cards, _errors = run(["nvidia-smi", f"--query-gpu={','.join(GPU_QUERY)}", "--format=csv,noheader,nounits"])
        if code != 0:
            return None
        _code, processes, _errors = run(["nvidia-smi", f"--query-compute-apps={','.join(PROCESS_QUERY)}", "--format=csv,noheader,nounits"])
    except OSError:
        return None
    return parse_nvidia_smi(cards, processes) or None
