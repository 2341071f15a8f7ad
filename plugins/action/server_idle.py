# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Runs the module ``server_idle`` in the background and prints its progress (plugin_utils/_long_running.py)."""

from __future__ import annotations

from ansible_collections.inference.sglang.plugins.plugin_utils._long_running import LongRunningAction


class ActionModule(LongRunningAction):
    """The module of the same name, shown live."""
