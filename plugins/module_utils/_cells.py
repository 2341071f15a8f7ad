# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What one request's recurrent state and one token's KV cache take on one rank, for every family.

States: SGLang 0.5.11 configs/mamba_utils.py and the mamba2_cache_params of configs/{qwen3_next,nemotron_h,falcon_h1,granitemoehybrid,
kimi_linear,lfm2}.py. Tokens: model_executor/pool_configurator.py, _compute_cell_size and HybridSWAPoolConfigurator.
"""

from __future__ import annotations

from typing import Optional

from ansible_collections.inference.sglang.plugins.module_utils._model_profile import GatedDeltaState, ModelProfile

STATE_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
# These classes hand the engine no dtype of theirs, so that it takes its default.
_DTYPE_UNREAD = ("GraniteMoeHybridForCausalLM", "KimiLinearForCausalLM")
_CONVOLUTION_BYTES = 2
_INDEX_BLOCK = 128
"""Values of DeepSeek's index cache that share one four-byte scale."""
WINDOW_ARCHITECTURES = ("GptOssForCausalLM", "MiMoV2FlashForCausalLM")
"""Models for which the engine keeps a smaller pool for the sliding layers (is_hybrid_swa_model)."""


def state_dtype(profile: ModelProfile, wanted: Optional[str]) -> str:
    """Type of the recurrent state: the setting, else what the engine reads of the config, else float32."""
    own = None if profile.architecture.name in _DTYPE_UNREAD else profile.state_dtype
    name = wanted or own or "float32"
    return name if name in STATE_BYTES else "float32"  # as the engine does, with a warning


def slot_bytes(profile: ModelProfile, size: int, dtype: str) -> int:
    """One recurrent state of one request on one rank; 0 for a model without."""
    layers, state, width = profile.layers.count("recurrent"), profile.state, STATE_BYTES[dtype]
    if not layers:
        return 0
    if isinstance(state, GatedDeltaState):
        channels = (2 * state.key_heads * state.key_head_dim + state.value_heads * state.value_head_dim) // size
        temporal = state.value_heads // size * state.key_head_dim * state.value_head_dim
        kernel = state.conv_kernel
    elif profile.mamba is not None:
        mamba = profile.mamba
        groups = mamba.groups if mamba.groups % size == 0 else mamba.groups + size - mamba.groups
        channels = (mamba.inner + 2 * groups * mamba.state_size) // size
        temporal = mamba.heads // size * mamba.head_dim * mamba.state_size
        kernel = mamba.kernel
    elif profile.architecture.family == "kda":
        heads, head = (state.value_heads or 0) // size, state.value_head_dim or 0
        channels, temporal, kernel = 3 * heads * head, heads * head * head, state.conv_kernel or 1
    else:  # a short convolution has no other state
        channels, temporal, kernel = profile.hidden_size // size, 0, state.conv_kernel or 1
    return layers * (channels * (kernel - 1) * _CONVOLUTION_BYTES + temporal * width)


def token_bytes(profile: ModelProfile, size: int, width: int, layers: int) -> int:
    """KV cache of one token in so many full-attention layers on one rank; heads are repeated where there are fewer than ranks."""
    latent = profile.latent
    if latent is not None:  # every rank holds all of it
        index = latent.index_dim + latent.index_dim // _INDEX_BLOCK * 4 if latent.index_heads else 0
        return ((latent.kv_rank + latent.rope) * width + index) * layers
    return max(1, profile.kv_heads // size) * (profile.head_dim + (profile.v_head_dim or profile.head_dim)) * layers * width


def window_bytes(profile: ModelProfile, size: int, width: int, share: float) -> float:
    """What the sliding layers add to a token: all of it, or the share of it that their own pool has."""
    layers = profile.layers.count("sliding_attention")
    if not layers:
        return 0.0
    window = profile.window
    each = max(1, window.kv_heads // size) * (window.head_dim + window.v_head_dim) * width
    separate = profile.architecture.name in WINDOW_ARCHITECTURES and profile.layers.count("full_attention") > 0
    return each * layers * (share if separate else 1.0)
