# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whether a model's dimensions can be split over so many GPUs, each of them checked by name."""

from __future__ import annotations

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._model_profile import GatedDeltaState, ModelProfile

MAXIMUM = 1024


def sharded_dimensions(profile: ModelProfile) -> list[tuple[str, int]]:
    """Every dimension that tensor parallelism cuts, by its key in config.json."""
    found = [("num_attention_heads", profile.heads)]
    if profile.layers.count("sliding_attention") and profile.window.heads != profile.heads:
        found.append(("swa_num_attention_heads", profile.window.heads))
    found += _recurrent_dimensions(profile)
    forward = profile.forward
    if forward.dense and forward.size:
        found.append(("intermediate_size", forward.size))
    if forward.sparse and forward.expert_size:
        found.append(("moe_intermediate_size", forward.expert_size))
        if forward.shared_size:
            found.append(("shared_expert_intermediate_size", forward.shared_size))
    if profile.vision is not None:
        found.append(("vision_config.num_heads", profile.vision.heads))
        found.append(("vision_config.intermediate_size", profile.vision.intermediate_size))
    return found


def _recurrent_dimensions(profile: ModelProfile) -> list[tuple[str, int]]:
    state = profile.state
    if isinstance(state, GatedDeltaState):
        return [("linear_num_key_heads", state.key_heads), ("linear_num_value_heads", state.value_heads)]
    if profile.mamba is not None and profile.layers.count("recurrent"):
        # One group is repeated on every rank; several have to divide (layers/attention/mamba/mamba.py:221).
        groups = [("mamba_n_groups", profile.mamba.groups)] if profile.mamba.groups > 1 else []
        return [("mamba_n_heads", profile.mamba.heads), *groups]
    if profile.architecture.family == "kda" and state.value_heads:
        return [("linear_attn_config.num_heads", state.value_heads)]
    if profile.architecture.family == "short_conv" and profile.layers.count("recurrent"):
        return [("hidden_size", profile.hidden_size)]
    return []


def _quantised_problems(profile: ModelProfile, size: int) -> list[str]:
    """Parts that hold no whole number of weight blocks: the engine refuses them as it builds the layers.

    SGLang 0.5.11 layers/quantization/fp8.py:316, validate_block_quant_shapes.
    """
    quantization, forward = profile.quantization, profile.forward
    if quantization is None or quantization.weight_block is None or size == 1:
        return []
    block = max(quantization.weight_block)
    cut = [("intermediate_size", forward.size, forward.dense), ("moe_intermediate_size", forward.expert_size, forward.sparse)]
    cut.append(("shared_expert_intermediate_size", forward.shared_size, forward.sparse))
    return [
        f"{name} {width} / {size} = {width // size} is not a multiple of the weight block {block}"
        for name, width, layers in cut
        if layers and width and width % size == 0 and width // size % block
    ]


def problems(profile: ModelProfile, size: int) -> list[str]:
    """Why a size does not work; empty when it does."""
    found = [f"{name} {value} is not divisible by {size}" for name, value in sharded_dimensions(profile) if value % size]
    kv_heads = profile.kv_heads
    if profile.latent is not None:  # nothing of the cache is cut
        return found + _quantised_problems(profile, size)
    if kv_heads >= size and kv_heads % size:
        found.append(f"num_key_value_heads {kv_heads} is not divisible by {size}")
    if kv_heads < size and size % kv_heads:
        found.append(f"{size} is not a multiple of num_key_value_heads {kv_heads}, so the heads cannot be repeated evenly")
    return found + _quantised_problems(profile, size)


def working_sizes(profile: ModelProfile, limit: int) -> list[int]:
    """All sizes up to a limit that work."""
    return [size for size in range(1, min(limit, MAXIMUM) + 1) if not problems(profile, size)]


def check(profile: ModelProfile, size: int, gpus: int) -> None:
    """Refuse a size that does not divide, naming each dimension."""
    found = problems(profile, size)
    if found:
        fitting = ", ".join(str(other) for other in working_sizes(profile, max(gpus, size))) or "none"
        raise SglangError(
            f"Tensor parallelism over {size} GPUs does not divide this model.",
            found="; ".join(found),
            wanted=f"a size that divides every dimension; up to {max(gpus, size)} these do: {fitting}",
            next_step="Set sglang_server_tensor_parallel_size to one of these.",
        )
