# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The files of a watch on disk: which are not as wanted, and putting them there."""

from __future__ import annotations

import os
import pwd
import stat
import tempfile
from collections.abc import Iterable, Mapping

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._watch_files import Watch

MODE, DIRECTORY_MODE = 0o644, 0o755


def _user_id(watch: Watch) -> int:
    try:
        return pwd.getpwnam(watch.user).pw_uid
    except KeyError:
        raise SglangError(
            "the service account is not there", found=f"no user {watch.user}", wanted="the user that the server runs as"
        ) from None


def _is_as_wanted(path: str, data: bytes) -> bool:
    try:
        with open(path, "rb") as stream:
            return stream.read(len(data) + 1) == data and stat.S_IMODE(os.stat(path).st_mode) == MODE
    except OSError:
        return False


def unlike(watch: Watch, files: Mapping[str, bytes]) -> list[str]:
    """The paths that are missing or otherwise."""
    found = [path for path, data in files.items() if not _is_as_wanted(path, data)]
    try:
        right = os.stat(watch.result_directory).st_uid == _user_id(watch)
    except OSError:
        right = False
    return found if right else [*found, watch.result_directory]


def _directory(path: str) -> None:
    os.makedirs(path, exist_ok=True)
    os.chmod(path, DIRECTORY_MODE)


def place(watch: Watch, files: Mapping[str, bytes], paths: Iterable[str]) -> None:
    """Write those files, each in one step."""
    _directory(watch.directory)
    _directory(watch.result_directory)
    os.chown(watch.result_directory, _user_id(watch), -1)
    for path in paths:
        if path not in files:
            continue
        descriptor, partial = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".partial-")
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(files[path])
            os.fchmod(stream.fileno(), MODE)
        os.replace(partial, path)
