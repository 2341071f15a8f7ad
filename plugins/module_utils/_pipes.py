# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The pipes of a process that was started here."""

from __future__ import annotations

from typing import IO, Optional


def opened(pipe: Optional[IO[bytes]]) -> IO[bytes]:
    """A pipe that the process was started with: Popen's type leaves open whether it was."""
    if pipe is None:
        raise RuntimeError("the process was started without the pipe that is to be used now")
    return pipe
