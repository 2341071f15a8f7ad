# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The declared load: how long requests are, how many run at once, and whether one of them or all of them matter most."""

from __future__ import annotations

import difflib

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._memory import LOW_LATENCY, PROFILES, Workload
from ansible_collections.inference.sglang.plugins.module_utils._plain import Fields, plain_mapping

WHERE = "sglang_server_workload"
DEFAULT_CONTEXT = 16384
LOW_LATENCY_REQUESTS = 8
"""A choice, not a measure: a handful of users, whose conversations get the rest of the memory."""
_KEYS = ("context_tokens", "concurrency", "profile")


def read_workload(workload: object, context_length: int) -> Workload:
    """The declared load, or the default: requests of 16,384 tokens, as many as fit."""
    values = plain_mapping(workload, WHERE)
    for key in values:
        if key not in _KEYS:
            near = difflib.get_close_matches(key, _KEYS, n=1)
            wanted = f"perhaps {near[0]}" if near else ", ".join(_KEYS)
            raise SglangError(f"{WHERE} has an unknown key {key}.", found=key, wanted=wanted)
    fields = Fields(values, WHERE)
    context = fields.integer("context_tokens", 1)
    if context is not None and context > context_length:
        raise SglangError(
            "The declared context is longer than the model's.",
            found=f"context_tokens: {context}",
            wanted=f"at most {context_length}",
            next_step=f"Lower context_tokens in {WHERE}.",
        )
    profile = (fields.text("profile") or PROFILES[0]).replace("_", "-")
    if profile not in PROFILES:
        raise fields.wrong("profile", "one of " + ", ".join(PROFILES))
    concurrency = fields.integer("concurrency", 1, 1 << 16)
    # Nothing was declared that would need more, and every further one slows the others down.
    limit = LOW_LATENCY_REQUESTS if concurrency is None and profile == LOW_LATENCY else None
    return Workload(context or min(DEFAULT_CONTEXT, context_length), concurrency, bool(values), profile, limit)
