# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of the derivation core: recorded configs, cards, and short forms."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._launch_plan import launch_plan

DATA = Path(__file__).resolve().parents[1] / "data"
MODELS = DATA / "models"
EXPECTED = DATA / "expected"
A6000 = {"name": "NVIDIA RTX A6000", "memory_mib": 49140, "compute_capability": "8.6"}
A100 = {"name": "NVIDIA A100-SXM4-80GB", "memory_mib": 81920, "compute_capability": "8.0"}
H200 = {"name": "NVIDIA H200", "memory_mib": 143771, "compute_capability": "9.0"}
B200 = {"name": "NVIDIA B200", "memory_mib": 183359, "compute_capability": "10.0"}
RELEASES = ("0.5.11", "0.5.23")
HEADERS = {"evidence": "headers", "mtp_tensors": 15, "bytes_by_group": {}}
SMOLLM2 = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "vocab_size": 49152,
    "max_position_embeddings": 8192,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
}
CPU_SETTINGS = {
    "device": "cpu",
    "attention_backend": "torch_native",
    "sampling_backend": "pytorch",
    "grammar_backend": "none",
    "disable_overlap_schedule": True,
    "mem_fraction_static": 0.2,
    "max_total_tokens": 8192,
    "max_running_requests": 4,
}


def config(name: str) -> dict[str, Any]:
    """A recorded config.json."""
    return copy.deepcopy(json.loads((MODELS / f"{name}.json").read_text()))


def hf_quant(name: str) -> Optional[dict[str, Any]]:
    """The hf_quant_config.json beside it, where there is one."""
    path = MODELS / f"{name}.hf_quant_config.json"
    return json.loads(path.read_text()) if path.exists() else None


def mended(name: str) -> tuple[dict[str, Any], Optional[dict[str, Any]]]:
    """Both files with what some recordings lack: the name of the repository's code, and the size of NVFP4's groups."""
    values, extra = config(name), hf_quant(name)
    values.setdefault("auto_map", {"AutoConfig": "configuration_model.ModelConfig"})
    if extra is not None:
        extra["quantization"].setdefault("group_size", 16)
    return values, extra


def names() -> list[str]:
    """All recorded configs."""
    return sorted(path.stem for path in MODELS.glob("*.json") if not path.name.endswith(".hf_quant_config.json"))


def rows(name: str) -> list[dict[str, Any]]:
    """A table of expectations."""
    return json.loads((EXPECTED / name).read_text())


def plan(name: str = "Qwen3.6-27B", version: str = "0.5.11", gpus: Any = (A6000, A6000), **more: Any) -> dict[str, Any]:
    """A launch plan of a recorded model; by default two 48 GB cards and weights with MTP."""
    more.setdefault("weights", HEADERS)
    return launch_plan(config(name), version, list(gpus), hf_quant(name), **more)


def values(argv: list[str]) -> dict[str, Any]:
    """An argument list as {flag: value}; a flag without a value is True."""
    found: dict[str, Any] = {}
    for position, word in enumerate(argv):
        if word.startswith("--"):
            name, tied, value = word.partition("=")
            after = argv[position + 1] if position + 1 < len(argv) else "--"
            found[name] = value if tied else True if after.startswith("--") else after
    return found


def why(found: dict[str, Any], flag: str) -> str:
    """The plan's reason for a flag."""
    return next(reason["why"] for reason in found["reasons"] if reason["flag"] == flag)
