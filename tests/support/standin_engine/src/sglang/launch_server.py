# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""``python -m sglang.launch_server``, as people start it by hand."""

import sys

if __name__ == "__main__":
    from sglang._standin.engine import serve

    serve(sys.argv[1:])
