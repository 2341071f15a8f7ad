# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reading files that others may have put there: regular ones only, never more than a limit, and JSON with one way to fail."""

from __future__ import annotations

import json
import os
import stat
from io import BufferedReader
from typing import Any, Union

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError

# Our own records hold a few KB, the manifest of a model of a thousand files 0.3 MB.
MAXIMUM_STATE = 16 * 1024 * 1024
# The largest config.json known has 0.1 MB, the largest index 5 MB.
MAXIMUM_MODEL_JSON = 64 * 1024 * 1024
_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
)


def not_regular(path: str, mode: int) -> SglangError:
    """The refusal for what is no file of bytes: reading it could wait for ever, or never end."""
    return SglangError(
        f"{path} is not a regular file.",
        found=next((name for is_kind, name in _KINDS if is_kind(mode)), "something else"),
        wanted="a regular file, or a link to one",
        next_step="Remove it or put the real file there, then run again.",
    )


def open_regular(path: str) -> BufferedReader:
    """Open for reading. Raises OSError as ``open`` does, SglangError for a FIFO, a device, a socket or a directory."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode):
        raise not_regular(path, mode)
    # Should it become a FIFO after the look: with O_NONBLOCK opening it does not wait for a writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise not_regular(path, mode)
    return os.fdopen(descriptor, "rb")


def read_regular(path: str, limit: int = MAXIMUM_STATE) -> bytes:
    """All bytes of a regular file of at most ``limit`` bytes. A file in /proc or one that grows meanwhile is bounded as well."""
    with open_regular(path) as handle:
        pieces, left = [], limit + 1
        while left > 0:
            piece = handle.read(min(left, 1 << 20))
            if not piece:
                break
            pieces.append(piece)
            left -= len(piece)
    if left <= 0:
        raise SglangError(
            f"{path} is too large to be what its name says.",
            found=f"more than {limit} bytes",
            wanted=f"at most {limit} bytes",
            next_step="Look at what it is; remove it or put the real file there, then run again.",
        )
    return b"".join(pieces)


def parse_json(data: Union[str, bytes]) -> Any:
    """Any JSON value; whatever is wrong with it (not UTF-8, not JSON, nested without end) is a ValueError."""
    try:
        return json.loads(data.decode("utf-8") if isinstance(data, bytes) else data)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def read_record(path: str) -> Any:
    """A record of our own that can be made anew: None where it is missing, unreadable or no JSON."""
    try:
        return parse_json(read_regular(path))
    except (OSError, ValueError, SglangError):
        return None
