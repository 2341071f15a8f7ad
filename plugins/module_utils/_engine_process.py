# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Runs a Python program given on standard input, as another user, and ends all of its processes at a time limit."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any


class TookTooLong(Exception):
    """It was still running at its time limit; ``words`` is what it had said to standard error."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words


def run_to_end(
    command: Sequence[str], program: str, environment: Mapping[str, str], account: Mapping[str, Any], timeout: float
) -> tuple[int, str, str]:
    """Status, standard output and standard error. Raises TookTooLong after ``timeout`` seconds.

    ``account``: the user, group and extra_groups of subprocess.Popen, or nothing for the caller's own.
    """
    with subprocess.Popen(  # pylint: disable=ansible-bad-function
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd="/",
        env=environment,
        start_new_session=True,
        **account,
    ) as process:
        try:
            output, errors = process.communicate(program.encode(), timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            _output, errors = process.communicate()
            raise TookTooLong(errors.decode(errors="replace")) from None
    return process.returncode, output.decode(errors="replace"), errors.decode(errors="replace")
