# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What an SGLang release needs of a host: its row of the release table, and what its CUDA asks of the cards."""

from __future__ import annotations

from types import MappingProxyType

from ansible_collections.inference.sglang.plugins.module_utils._preflight_types import ReleaseNeeds
from ansible_collections.inference.sglang.plugins.module_utils._releases import release_of

# CUDA's major version → the oldest cards that it still compiles for (NVIDIA's release notes; 13 ended Volta and older).
_OLDEST_CARDS = MappingProxyType({12: "5.0", 13: "7.5"})


def needs_of(version: str) -> ReleaseNeeds:
    """An unknown release is refused rather than guessed at; one that is newer than the table needs what the newest known does.

    Whether an unverified or newer release is wanted at all is asked where its command is planned.
    """
    row = release_of(version, allow_unverified=True)
    cuda = int(row.cuda.partition(".")[0])
    return ReleaseNeeds(
        version=row.version,
        python=row.python_minimum,
        glibc=row.glibc_minimum,
        cuda=cuda,
        driver=row.driver_minimum,
        compute_capability=_OLDEST_CARDS[cuda],
    )
