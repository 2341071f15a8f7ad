# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The console script ``sglang``, with the one command that tests need."""

from __future__ import annotations

import sys

from sglang.version import __version__


def main() -> None:
    """``sglang serve <arguments>`` or ``sglang version``."""
    if sys.argv[1:2] == ["version"]:
        print(f"sglang version: {__version__} (stand-in)")
        return
    if sys.argv[1:2] != ["serve"]:
        sys.exit("usage: sglang {serve,version} ... (stand-in)")
    from sglang._standin.engine import serve

    serve(sys.argv[2:])
