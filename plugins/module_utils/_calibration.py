# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The constants of the memory plan that were fitted to recorded starts, and the margins it keeps."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Calibration:
    """Constants that no formula gives (GiB unless said): fitted to recorded starts of six models on H200s, SGLang 0.5.11.

    tests/support/calibration.py fits them again and measures what they are worth on starts that were left out of the fit.
    """

    card_reserve: float = 0.60
    """Of nvidia-smi's total, what CUDA does not show."""
    context: float = 0.58
    """CUDA context and the process's first buffers, before the group starts."""
    group_single: float = 0.09
    group_many: float = 0.975
    """NCCL and its buffers: 138.25 GiB of 140.40 were left to each of two ranks."""
    measured_before: float = 0.0636
    """The engine's measure of free memory that the fraction is of, above what it logs when the weights begin to load."""
    overhead: float = 0.0105
    overhead_vision: float = 0.053
    """Taken beside the weights until the pools are sized: a part for the process, and a share of the vision tower's bytes, whose many
    middle-sized tensors leave gaps in their segments."""
    workspace: float = 0.09
    graph_base: float = 0.09
    """CUDA graphs, beside one row of logits and one state in four bytes a token."""
    gathered: float = 2.5
    """Rows of logits that several ranks hold where one holds one."""
    piecewise: float = 2.5
    """Piecewise CUDA graphs, which models without a vision tower capture too: one start, stopped when it had taken this much."""
    draft_graph_base: float = 0.27
    draft_graph_hidden: float = 200.0
    """Bytes a token for each value of the hidden size, beside a row of logits."""
    # The margin that a plan keeps free after the start, beside the activations.
    runtime: float = 0.5
    vision: float = 1.5
    margin: float = 2.0
    margin_share: float = 0.04
    load_margin: float = 0.5
    highest_fraction: float = 0.88
    """Measured under load; 0.92 was, too, without images: docs/gpu-bench.md."""
    lowest_fraction: float = 0.1


CALIBRATION = Calibration()
CALIBRATION_SOURCE = "constants fitted to starts on H200, SGLang 0.5.11"
MEASURED_CARD, MEASURED_RANKS = "H200", 2
"""Cards that the recorded starts ran on, and on how many at most; nothing was measured on others."""
