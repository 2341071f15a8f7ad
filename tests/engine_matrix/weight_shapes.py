# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The resident process with one check more: does the engine's own loader take a weight of the checkpoint? Runs inside an environment.

For checkpoints that a release takes for another format, which nothing asks before the first weight is read. The release's own linear
method makes the weight of a dense model's first MLP (`gate_up_proj`), and its own loader is handed an NVFP4 tensor for one half of it:
two values a byte, as the checkpoint's list of layers says. Handed a tensor of its own type and shape it has to take it, or the check says
nothing. Stand-ins are the group of one rank, and the module of MoE kernels, whose class is only asked after.
"""

from __future__ import annotations

import inspect
import sys
import traceback
import types
from pathlib import Path
from typing import Any

import later_checks
import resident

CHECK = "weight shapes"


def _quantization(config: Any) -> Any:
    """The release's own reading of the checkpoint, as its loader asks for it."""
    later_checks._quantization(config)  # puts the stand-in for the model's class into the loader
    load = later_checks._module("sglang.srt.configs.load_config").LoadConfig()
    return later_checks._module("sglang.srt.model_loader.loader")._get_quantization_config(config, load)


def _layer(sizes: Any, quantization: Any) -> Any:
    """gate_up_proj as the release's classes of dense models make it."""
    import torch  # type: ignore[import-not-found]  # only in the environment

    experts = types.ModuleType("sglang.srt.layers.moe.fused_moe_triton")
    experts.FusedMoE = type("FusedMoE", (), {})  # type: ignore[attr-defined]
    sys.modules[experts.__name__] = experts
    later_checks._module("sglang.srt.distributed.parallel_state")._TP = types.SimpleNamespace(world_size=1, rank_in_group=0)
    kind = later_checks._module("sglang.srt.layers.linear").MergedColumnParallelLinear
    named = {"bias": False, "params_dtype": torch.bfloat16, "prefix": "model.layers.0.mlp.gate_up_proj", "tp_rank": 0, "tp_size": 1}
    known = inspect.signature(kind.__init__).parameters
    given = {name: value for name, value in named.items() if name in known}
    return kind(sizes.hidden_size, [sizes.intermediate_size] * 2, quant_config=quantization, **given)


def _load(weight: Any, tensor: Any) -> str:
    """What the loader says against a tensor for the first half of a weight; empty where it takes it."""
    try:
        weight.weight_loader(weight, tensor, 0)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {error}".rstrip(": ") + f" at {Path(last.filename).name}:{last.lineno} {last.line}"
    return ""


def check(args: Any) -> dict[str, str]:
    """{check, verdict: accepted | refused | unasked, text}."""
    import torch

    try:
        config = later_checks._model_config(args)
        sizes = config.hf_text_config
        weight = _layer(sizes, _quantization(config)).weight
        held = torch.zeros(sizes.intermediate_size, sizes.hidden_size // 2, dtype=torch.uint8)
        own = torch.zeros(sizes.intermediate_size, weight.shape[1], dtype=weight.dtype)
        refused = _load(weight, held)
        wrong = _load(weight, own)
    except Exception as error:
        return {"check": CHECK, "verdict": "unasked", "text": f"{type(error).__name__}: {error}"[:300]}
    if wrong:
        return {"check": CHECK, "verdict": "unasked", "text": f"refuses a tensor of its own kind, too: {wrong}"[:300]}
    shapes = f"gate_proj of {tuple(held.shape)} {held.dtype} into a weight of {tuple(own.shape)} {own.dtype} ({config.quantization})"
    return {"check": CHECK, "verdict": "refused" if refused else "accepted", "text": f"{shapes}: {refused}" if refused else shapes}


def run(args: Any) -> list[dict[str, str]]:
    """What the resident process asks, and where nothing of it is refused the weight."""
    found = before(args)
    refused = any(item["verdict"] == "refused" for item in found)
    return found if refused else [*found, check(args)]


if __name__ == "__main__":
    before, later_checks.run = later_checks.run, run
    sys.exit(resident.main())
