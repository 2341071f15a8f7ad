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


_SIZED = (
    "DeepseekV2ForCausalLM",
    "DeepseekV3ForCausalLM",
    "DeepseekV32ForCausalLM",
    "Glm4MoeForCausalLM",
    "GlmMoeDsaForCausalLM",
    "GptOssForCausalLM",
    "LlamaForCausalLM",
    "MiMoForCausalLM",
    "MiMoV2FlashForCausalLM",
    "MiniMaxM2ForCausalLM",
    "MistralForCausalLM",
    "Qwen2ForCausalLM",
    "Qwen3ForCausalLM",
    "Qwen3MoeForCausalLM",
)
# Read, but with no shapes of their own here yet.
_UNSIZED = ("MixtralForCausalLM", "Phi3ForCausalLM", "Qwen2MoeForCausalLM")

ARCHITECTURES: dict[str, Architecture] = {
    row.name: row
    for row in (
        Architecture("Qwen3_5ForConditionalGeneration", "gdn", "gdn", "interval", vision=True),
        Architecture("Qwen3_5MoeForConditionalGeneration", "gdn", "gdn", "interval", vision=True),
        Architecture("Qwen3_5ForCausalLM", "gdn", "gdn", "interval"),
        Architecture("Qwen3_5MoeForCausalLM", "gdn", "gdn", "interval"),
        Architecture("Qwen3NextForCausalLM", "gdn", "gdn", "interval"),
        Architecture("KimiLinearForCausalLM", "kda", "computed"),
        Architecture("NemotronHForCausalLM", "mamba2", "computed"),
        Architecture("Nemotron3ForCausalLM", "mamba2", served=False),
        Architecture("GraniteMoeHybridForCausalLM", "mamba2", "computed"),
        Architecture("FalconH1ForCausalLM", "mamba2", "computed", layers="both"),
        Architecture("MiniMaxText01ForCausalLM", "lightning", served=False),
        Architecture("Lfm2ForCausalLM", "short_conv", "computed"),
        Architecture("Lfm2MoeForCausalLM", "short_conv"),
        *(Architecture(name, sizing="computed", layers="plain") for name in _SIZED),
        *(Architecture(name, layers="plain") for name in _UNSIZED),
    )
}


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
