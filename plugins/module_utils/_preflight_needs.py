# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What an SGLang release needs of a host: its row of the release table."""

from __future__ import annotations

from ansible_collections.inference.sglang.plugins.module_utils._preflight_types import ReleaseNeeds
from ansible_collections.inference.sglang.plugins.module_utils._releases import release_of


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
        compute_capability=f"{row.oldest_card // 10}.{row.oldest_card % 10}",
    )
