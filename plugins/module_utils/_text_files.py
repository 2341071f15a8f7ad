# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Small files of the host by their path: what they say, or that there is none."""

from __future__ import annotations

import hashlib
from typing import Optional


def read_text(path: str) -> Optional[str]:
    """A file's text, or None when there is none."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as handle:
            return handle.read()
    except FileNotFoundError:
        return None


def file_sha256(path: str) -> Optional[str]:
    """A small file's digest, or None when there is none."""
    try:
        with open(path, "rb") as handle:
            return hashlib.sha256(handle.read()).hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        return None
