# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Bytes of a model's weights without the memory plan: published totals, else transformers' own count of parameters.

A lower bound on purpose: a refusal for want of memory counts only where even this is too much. Layers that tensor parallelism
repeats count once, MTP layers not at all, and quantised checkpoints as if every layer but embedding and head were quantised.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Optional

DATA = Path(__file__).resolve().parents[1] / "data"
_BITS = {"fp8": 8, "nvfp4": 4, "mxfp4": 4, "mixed_precision": 4, "pack-quantized": 4, "": 16}


@cache
def _table(name: str) -> Any:
    return json.loads((DATA / "expected" / name).read_text())["models"]


def _config(model: str, suffix: str = "") -> dict[str, Any]:
    path = DATA / "models" / f"{model}{suffix}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def bits(model: str) -> int:
    """Bits of a value of the quantised layers, by what the checkpoint says of itself."""
    config = _config(model)
    rules = config.get("quantization_config") or config.get("text_config", {}).get("quantization_config") or {}
    sidecar = _config(model, ".hf_quant_config").get("quantization", {})
    name = sidecar.get("quant_algo") or rules.get("quant_algo") or rules.get("format") or rules.get("quant_method") or ""
    return _BITS[name.lower()]


def weight_bytes(model: str) -> Optional[float]:
    """Of the whole model; None where nobody counted."""
    for row in _table("checkpoints.json"):
        if row["config"] == model:
            return float(row["bytes"])
    counted = _table("parameters.json").get(model)
    if counted is None:
        return None
    plain = counted.get("embedding", 0) + counted.get("lm_head", 0)
    return sum(counted.values()) * bits(model) / 8 - plain * bits(model) / 8 + plain * 2.0
