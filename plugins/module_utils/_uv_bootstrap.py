# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Puts uv itself on the host: a small environment of its own, made with the system's venv and pip, hashed like everything else."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable

from ansible_collections.inference.sglang.plugins.module_utils._environment_files import exclusive, sync_tree, write_marker
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._progress import Progress
from ansible_collections.inference.sglang.plugins.module_utils._python_environment import MARKER, Interpreter, Source, check_lock, pins_of
from ansible_collections.inference.sglang.plugins.module_utils._tool_process import clean_environment, run_tool
from ansible_collections.inference.sglang.plugins.module_utils._uv_output import install_error, last_lines

_CERTIFICATES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")


def system_certificates() -> dict[str, str]:
    """Both tools bring certificates of their own; a site's proxy is known to the system only."""
    bundle = os.environ.get("SSL_CERT_FILE") or next((path for path in _CERTIFICATES if os.path.exists(path)), "")
    return {"SSL_CERT_FILE": bundle, "PIP_CERT": bundle} if bundle else {}


def uv_version_of(uv_lock: str) -> str:
    """The version that the lock pins; the directory carries it in its name."""
    try:
        with open(uv_lock, encoding="utf-8") as handle:
            text = handle.read()
    except OSError as failure:
        raise SglangError(
            "the lock of uv is not on the host",
            found=str(failure),
            wanted=f"a readable {uv_lock}",
            next_step="use the role ml_env, which copies it, or give the option uv the path of an executable",
        ) from failure
    check_lock(text, uv_lock)
    versions = pins_of(text).get("uv", [])
    if len(versions) != 1:
        raise SglangError(
            "the lock of uv does not pin one uv",
            found=", ".join(versions) or "no line uv==…",
            wanted="exactly one uv==VERSION with hashes",
            next_step=f"correct {uv_lock}",
        )
    return versions[0]


def ensure_uv(
    tools: str, uv_lock: str, interpreter: Interpreter, source: Source, progress: Progress, remaining: Callable[[], float]
) -> str:
    """The path of a uv that is the locked one; made when it is not there yet."""
    version = uv_version_of(uv_lock)
    path = os.path.join(tools, f"uv-{version}")
    executable = os.path.join(path, "bin", "uv")
    with exclusive(os.path.join(tools, f".uv-{version}.lock"), remaining(), lambda text: progress.report("wait", text)):
        if os.path.exists(os.path.join(path, MARKER)) and os.access(executable, os.X_OK):
            return executable
        shutil.rmtree(path, ignore_errors=True)
        progress.report("uv", f"installing uv {version} into {path}")
        try:
            _make_venv(path, interpreter, remaining())
            _pip_install(path, uv_lock, interpreter, source, remaining())
        except BaseException:
            shutil.rmtree(path, ignore_errors=True)
            raise
        sync_tree(path)
        write_marker(path, json.dumps({"path": path, "version": version}) + "\n")
    return executable


def _make_venv(path: str, interpreter: Interpreter, limit: float) -> None:
    finished = run_tool([interpreter.path, "-I", "-m", "venv", path], clean_environment({}), limit=limit)
    if finished.returncode != 0:
        raise SglangError(
            "Python on the host cannot make an environment",
            found=last_lines(finished.output, 4),
            wanted=f"'{interpreter.path} -m venv' with pip",
            next_step=f"install the package python3-venv (python{interpreter.minor}-venv on Debian and Ubuntu); role inference_host does",
        )


def _pip_install(path: str, uv_lock: str, interpreter: Interpreter, source: Source, limit: float) -> None:
    environment = clean_environment({**system_certificates(), **source.pip_environment(), "PIP_CONFIG_FILE": os.devnull})
    command = [os.path.join(path, "bin", "python"), "-m", "pip", "install", "--require-hashes", "--no-deps", "--only-binary", ":all:"]
    command += ["--no-cache-dir", "--retries", "2", "--disable-pip-version-check", "--no-input", "--requirement", uv_lock]
    finished = run_tool(command, environment, limit=limit)
    if finished.returncode != 0:
        raise install_error(
            finished.output,
            what="installing uv",
            source=source,
            lock=uv_lock,
            root=path,
            python=interpreter.version,
            platform=interpreter.platform,
            returncode=finished.returncode,
        )
