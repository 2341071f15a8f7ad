# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The model architectures that can be read: which recurrent family, which spelling of the layers, which sizing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._plain import shown


@dataclass(frozen=True)
class Architecture:
    """One row: what the name in `architectures` means."""

    name: str
    family: str = "none"
    """Recurrent family of those layers that are recurrent."""
    sizing: str = ""
    """How weights and caches are sized: gdn (with its MTP layer), computed, or empty where no shapes are known yet."""
    layers: str = ""
    """How the layers are spelled when no key lists them: interval, both (attention and state side by side), or plain."""
    vision: bool = False
    served: bool = True
    """False where no SGLang release from 0.5.9 to 0.5.23 has a class of this name."""
    types: tuple[str, ...] = ()
    """`model_type` of its checkpoints, as far as their reading is held against the releases (`Release.unread_types`)."""


_SIZED = {
    "DeepseekV2ForCausalLM": ("deepseek_v2",),
    "DeepseekV3ForCausalLM": ("deepseek_v3", "kimi_k2"),
    "DeepseekV32ForCausalLM": ("deepseek_v32",),
    "Glm4MoeForCausalLM": ("glm4_moe",),
    "GlmMoeDsaForCausalLM": ("glm_moe_dsa",),
    "GptOssForCausalLM": ("gpt_oss",),
    "LlamaForCausalLM": ("llama",),
    "MiMoForCausalLM": ("mimo",),
    "MiMoV2FlashForCausalLM": ("mimo_v2_flash",),
    "MiniMaxM2ForCausalLM": ("minimax_m2",),
    "MistralForCausalLM": ("mistral",),
    "Qwen2ForCausalLM": ("qwen2",),
    "Qwen3ForCausalLM": ("qwen3",),
    "Qwen3MoeForCausalLM": ("qwen3_moe",),
}
# Read, but with no shapes of their own here yet.
_UNSIZED = ("MixtralForCausalLM", "Phi3ForCausalLM", "Qwen2MoeForCausalLM")

ARCHITECTURES: dict[str, Architecture] = {
    row.name: row
    for row in (
        Architecture("Qwen3_5ForConditionalGeneration", "gdn", "gdn", "interval", vision=True, types=("qwen3_5",)),
        Architecture("Qwen3_5MoeForConditionalGeneration", "gdn", "gdn", "interval", vision=True, types=("qwen3_5_moe",)),
        Architecture("Qwen3_5ForCausalLM", "gdn", "gdn", "interval", types=("qwen3_5_text",)),
        Architecture("Qwen3_5MoeForCausalLM", "gdn", "gdn", "interval", types=("qwen3_5_moe_text",)),
        Architecture("Qwen3NextForCausalLM", "gdn", "gdn", "interval", types=("qwen3_next",)),
        Architecture("KimiLinearForCausalLM", "kda", "computed", types=("kimi_linear",)),
        Architecture("NemotronHForCausalLM", "mamba2", "computed", types=("nemotron_h",)),
        Architecture("Nemotron3ForCausalLM", "mamba2", served=False),
        Architecture("GraniteMoeHybridForCausalLM", "mamba2", "computed", types=("granitemoehybrid",)),
        Architecture("FalconH1ForCausalLM", "mamba2", "computed", layers="both", types=("falcon_h1",)),
        Architecture("MiniMaxText01ForCausalLM", "lightning", served=False),
        Architecture("Lfm2ForCausalLM", "short_conv", "computed", types=("lfm2",)),
        Architecture("Lfm2MoeForCausalLM", "short_conv"),
        *(Architecture(name, sizing="computed", layers="plain", types=types) for name, types in _SIZED.items()),
        *(Architecture(name, layers="plain") for name in _UNSIZED),
    )
}
MODEL_TYPES = frozenset(name for row in ARCHITECTURES.values() for name in row.types)
"""Of every other type nobody has looked up which release reads it."""


def architecture_of(names: Optional[list[object]]) -> Architecture:
    """The row of a config's `architectures`, or a refusal that names it."""
    if not names or not isinstance(names[0], str):
        raise SglangError(
            "config.json names no architecture.",
            found=f"architectures: {shown(names)}",
            wanted="a list with the name of the model's class",
            next_step="Give the model's complete config.json (a drafter's or an adapter's is not enough).",
        )
    row = ARCHITECTURES.get(names[0])
    if row is None:
        raise SglangError(
            f"The architecture {shown(names[0])} is not known.",
            found=f"architectures: {shown(names)}",
            wanted="one of " + ", ".join(sorted(ARCHITECTURES)),
            next_step="A wrong guess would start a server that fails or serves badly; the architecture has to be added first.",
        )
    return row
