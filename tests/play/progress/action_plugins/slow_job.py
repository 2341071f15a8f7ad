# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What every long module of the collection has, for a module that only the tests have."""

from __future__ import annotations

import os

from ansible_collections.inference.sglang.plugins.plugin_utils._long_running import LongRunningAction


class ActionModule(LongRunningAction):
    looks_first = "SLOW_JOB_LOOKS_FIRST" in os.environ
    # A test of the time limit cannot wait for the two minutes that a real module gets.
    slack_seconds = int(os.environ.get("SLOW_JOB_SLACK", LongRunningAction.slack_seconds))
