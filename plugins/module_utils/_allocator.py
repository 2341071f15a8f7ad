# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What PyTorch's caching allocator takes from the card for a list of tensors: more than their sum.

The rule of torch's c10/cuda/CUDACachingAllocator.cpp: requests are rounded to 512 bytes; up to 1 MiB they share segments of 2 MiB, below
10 MiB segments of 20 MiB, and from there on each gets its own, rounded to 2 MiB. What was logged with torch 2.11 agrees with it.
"""

from __future__ import annotations

from collections.abc import Iterable

MIB = 1 << 20
_ROUND = 512
_SMALL = MIB
_LARGE = 10 * MIB
_SMALL_SEGMENT = 2 * MIB
_MIDDLE_SEGMENT = 20 * MIB
_LARGE_ROUND = 2 * MIB


def _shared(sizes: list[tuple[int, int]], segment: int) -> int:
    """Bytes of segments that hold `count` blocks of each `size`, smaller ones filling what larger ones leave."""
    total, room = 0, 0
    for size, count in sorted(sizes, reverse=True):
        filled = min(count, room // size)
        room -= filled * size
        count -= filled
        if count:
            each = segment // size
            segments = -(-count // each)
            total += segments * segment
            room += segments * segment - count * size
    return total


def allocated(tensors: Iterable[tuple[float, int]]) -> int:
    """Bytes of the segments for tensors given as (bytes of one, how many)."""
    small: list[tuple[int, int]] = []
    middle: list[tuple[int, int]] = []
    large = 0
    for exact, count in tensors:
        size = -(-int(exact) // _ROUND) * _ROUND
        if size <= 0 or count <= 0:
            continue
        if size <= _SMALL:
            small.append((size, count))
        elif size < _LARGE:
            middle.append((size, count))
        else:
            large += -(-size // _LARGE_ROUND) * _LARGE_ROUND * count
    return large + _shared(middle, _MIDDLE_SEGMENT) + _shared(small, _SMALL_SEGMENT)
