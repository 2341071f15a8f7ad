# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which environment variables a release knows: those that any Python file of its server mentions."""

from __future__ import annotations

import difflib
from functools import lru_cache

from ansible_collections.inference.sglang.plugins.module_utils._releases import Release, known_releases
from ansible_collections.inference.sglang.plugins.module_utils._releases_types import unfolded
from ansible_collections.inference.sglang.plugins.module_utils._releases_variables import VARIABLES

_OWN = ("SGLANG_", "SGL_")


@lru_cache(maxsize=1)
def variable_spans() -> dict[str, tuple[str, str]]:
    """Variable -> first and last release of the table that mentions it."""
    found = {}
    for line in unfolded(VARIABLES):
        first, last, *names = line.split(" ")
        for name in names:
            found[name[1:] if name.startswith("=") else "SGLANG_" + name] = (first, last)
    return found


def unknown_variable(release: Release, name: str) -> str:
    """Why one of SGLang's own variables has no effect in a release; empty for those that have, and for everybody else's."""
    if not name.startswith(_OWN):
        return ""
    order, spans = known_releases(), variable_spans()
    here = order.index(release.options)
    if name in spans:
        first, last = spans[name]
        if order.index(first) <= here <= order.index(last):
            return ""
        return f"releases {first} to {last} knew it" if first != last else f"only {first} knew it"
    known = [other for other, (first, last) in spans.items() if order.index(first) <= here <= order.index(last)]
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.85)
    return f"none of its files mentions it (perhaps {near[0]})" if near else "none of its files mentions it"
