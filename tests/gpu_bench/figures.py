# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is kept of a load: pure arithmetic over its answers, and over the lines that the engine logged meanwhile."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any, Optional

from tests.gpu_bench.client import Answer

_RUNNING = re.compile(r"Decode batch\b.*?#running-req: (\d+)")
_SPEED = re.compile(r"Decode batch\b.*?#running-req: (\d+).*?gen throughput \(token/s\): ([\d.]+)")


def percentile(values: Iterable[float], share: float) -> Optional[float]:
    """The smallest value that so many of them do not exceed (nearest rank); None of none."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None


def rounded(value: Optional[float], digits: int = 2) -> Optional[float]:
    return None if value is None else round(value, digits)


def most_running(lines: Iterable[str]) -> Optional[int]:
    """The most requests that a decode step had, by the engine's own log, which shows every 40th."""
    return max((int(found[1]) for line in lines if (found := _RUNNING.search(line))), default=None)


def decoding(lines: Iterable[str]) -> Optional[float]:
    """Tokens a second while the most requests were decoded, the median of the engine's own lines: without prompts, and without the
    tail of a load, when a few requests are left alone."""
    found = [(int(line[1]), float(line[2])) for text in lines if (line := _SPEED.search(text))]
    most = max((running for running, _speed in found), default=0)
    speeds = [speed for running, speed in found if running == most]
    return median(speeds) if speeds else None


def summary(answers: Sequence[Answer], lines: Sequence[str], used_mib: Sequence[int]) -> dict[str, Any]:
    """One load's figures: seconds, tokens a second in all, p50/p95 of the whole answer and of the first token, memory."""
    good = [answer for answer in answers if not answer.problem]
    seconds = max((answer.seconds for answer in answers), default=0.0)
    tokens = sum(answer.tokens for answer in answers)
    steps = [answer for answer in good if answer.steps]
    drafted = sum(answer.tokens for answer in steps) / sum(answer.steps or 0 for answer in steps) if steps else None
    firsts = [answer.first for answer in good if answer.first is not None]
    return {
        "requests": len(answers),
        "answered": len(good),
        "problems": sorted({answer.problem for answer in answers if answer.problem})[:3],
        "seconds": rounded(seconds),
        "tokens_per_second": rounded(tokens / seconds, 1) if seconds else None,
        "latency_p50": rounded(percentile((answer.seconds for answer in good), 0.5)),
        "latency_p95": rounded(percentile((answer.seconds for answer in good), 0.95)),
        "first_token_p50": rounded(percentile(firsts, 0.5)),
        "first_token_p95": rounded(percentile(firsts, 0.95)),
        "running_at_once": most_running(lines),
        "decoding_tokens_per_second": rounded(decoding(lines), 0),
        "accept_length": rounded(drafted),
        "used_mib": max(used_mib, default=None),
    }
