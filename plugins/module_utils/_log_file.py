# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The file that systemd appends the engine's output to: one that it cannot open fails the start, after the old server was stopped."""

from __future__ import annotations

import os
import posixpath
import stat

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError

_VARIABLE = "sglang_server_log_file"


def normal_log_file(path: str) -> str:
    """The path as systemd wants it: it ignores one with .. or . in it, and the output would go elsewhere."""
    if not path:
        return ""
    if path.endswith("/"):
        raise SglangError(
            "the log file is named like a directory", path, "a file's path", f"set {_VARIABLE} to a file in it, such as {path}sglang.log"
        )
    normal = posixpath.normpath(path)
    # POSIX leaves two slashes in front as they are.
    return "/" + normal.lstrip("/") if normal.startswith("/") else normal


def check_log_file(path: str) -> None:
    """The directory is there, and what has the file's name is a file. systemd makes the file itself."""
    directory = os.path.dirname(path)
    try:
        mode = os.stat(path).st_mode
    except OSError:
        mode = None
    if not os.path.isdir(directory):
        raise SglangError(
            "the log file's directory does not exist", directory, "a directory on the host", f"make it, or correct {_VARIABLE}"
        )
    if mode is not None and not stat.S_ISREG(mode):
        raise SglangError("the log file is no regular file", path, "a file, or nothing yet", f"correct {_VARIABLE}")
    if mode is None and os.path.islink(path) and not os.path.isdir(os.path.dirname(os.path.realpath(path))):
        raise SglangError(
            "the log file is a link that leads nowhere", os.path.realpath(path), "an existing directory", f"correct {_VARIABLE}"
        )
