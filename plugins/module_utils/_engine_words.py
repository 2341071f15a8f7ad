# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the engine says, while it starts, about settings that it changes by itself: the first such line of each. Pure.

Wording: SGLang 0.5.11, 0.5.14 and 0.5.23, srt/server_args.py and srt/arg_groups.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

LONGEST = 300
# In this order: "does not support page_size = 1: disabling radix cache" is about the radix cache.
CHANGES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "disable_radix_cache",
        re.compile(r"(?i)\bdisabling radix cache|radix cache (?:is|are) disabled"),
    ),
    (
        "disable_overlap_schedule",
        re.compile(
            r"(?i)\bdisabling overlap sched|overlap schedul\w+ (?:is|are) (?:disabled|not implemented)"
            r"|(?:incompatible|not compatible) with overlap sched"
        ),
    ),
    (
        "page_size",
        re.compile(r"(?i)\b(?:chang(?:e|ing)|setting) page[_ ]size\b|\bpage_size=\d+ as default"),
    ),
    (
        "max_running_requests",
        re.compile(r"(?i)\bmax.running.requests (?:is|to) (?:reset|set|clamped|limited|reduced|\d)|setting max_running_requests to"),
    ),
    (
        "attention_backend",
        re.compile(
            r"(?i)attention backend not specified|as (?:default )?(?:prefill )?attention backend"
            r"|(?:set|setting|switch\w*) (?:the )?attention.backend to|use \S+ attention backend"
        ),
    ),
)


@dataclass
class EngineWords:
    """Fed line by line, without the lines' prefix."""

    said: dict[str, str] = field(default_factory=dict)

    def feed(self, text: str) -> None:
        """One line. That with all arguments names every setting and explains none; it may hold secrets, too."""
        if "ServerArgs(" in text:
            return
        for setting, pattern in CHANGES:
            if setting not in self.said and pattern.search(text):
                self.said[setting] = text.strip()[:LONGEST]
                return
