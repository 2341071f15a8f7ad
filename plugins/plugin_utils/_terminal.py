# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Lines at a terminal's width. Pure text."""

from __future__ import annotations

import textwrap

COLUMNS = 120


def wrapped(line: str, columns: int = COLUMNS) -> str:
    """One line of a report; what does not fit goes on below, indented. Paths and flags stay whole."""
    if len(line) <= columns:
        return line
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return "\n".join(
        textwrap.wrap(
            line,
            columns,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
    )
