# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Sizes that only some families have: latent attention, sliding windows, experts, Mamba2 mixers; and what a position costs.

Defaults are those of the engine's own configuration classes (SGLang 0.5.11 configs/), taken where a published file leaves a key out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from ansible_collections.inference.sglang.plugins.module_utils._architectures import Architecture
from ansible_collections.inference.sglang.plugins.module_utils._layers import MAXIMUM_LAYERS, Layers
from ansible_collections.inference.sglang.plugins.module_utils._plain import Fields

MAXIMUM_SIZE = 10**8
EXPERT_KEYS = ("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts")
_VISITED_KEYS = ("num_experts_per_tok", "num_experts_per_token", "experts_per_token")
_SHARED_KEYS = ("shared_expert_intermediate_size", "moe_shared_expert_intermediate_size")
# GraniteMoeHybridConfig's own default, SGLang 0.5.11 configs/granitemoehybrid.py:168.
_GRANITE_SHARED = 8192
# Models whose `intermediate_size` is the size of one expert: they have no key of their own for it.
_EXPERTS_AS_INTERMEDIATE = ("GptOssForCausalLM", "MiniMaxM2ForCausalLM", "MiniMaxText01ForCausalLM", "MixtralForCausalLM")
# A square-ReLU feed-forward has two matrices, not three.
_UNGATED = ("NemotronHForCausalLM", "Nemotron3ForCausalLM")
_EXPERT_BIAS = ("GptOssForCausalLM",)


@dataclass(frozen=True)
class Latent:
    """Multi-head latent attention; `index_*` are those of DeepSeek's sparse attention, 0 without."""

    query_rank: int
    """0: the query is projected in one step."""
    kv_rank: int
    nope: int
    rope: int
    value: int
    index_heads: int
    index_dim: int


@dataclass(frozen=True)
class Window:
    """Heads of the sliding-window layers, which may differ from those of the full ones."""

    heads: int
    kv_heads: int
    head_dim: int
    v_head_dim: int
    size: int


@dataclass(frozen=True)
class FeedForward:
    """The feed-forward parts: `dense` layers with one block, `sparse` ones with experts."""

    dense: int
    sparse: int
    size: int
    """Of a dense layer."""
    experts: int
    expert_size: int
    shared_size: int
    """Of all shared experts together."""
    expert_input: int
    """Width that experts read: the hidden size, or a latent one."""
    matrices: int
    expert_bias: bool
    shared_gate: bool
    router_bias: bool
    per_token: int
    """Experts that one token visits."""


@dataclass(frozen=True)
class Mamba:
    """One Mamba2 mixer."""

    heads: int
    head_dim: int
    groups: int
    state_size: int
    kernel: int
    inner: int
    norm: bool


def read_latent(text: Fields) -> Optional[Latent]:
    """Latent attention, where the config has it."""
    rank = text.integer("kv_lora_rank", 1, MAXIMUM_SIZE)
    if rank is None:
        return None
    return Latent(
        query_rank=text.integer("q_lora_rank", 0, MAXIMUM_SIZE) or 0,
        kv_rank=rank,
        nope=text.need_integer("qk_nope_head_dim", 0, MAXIMUM_SIZE),
        rope=text.need_integer("qk_rope_head_dim", 0, MAXIMUM_SIZE),
        value=text.need_integer("v_head_dim", 1, MAXIMUM_SIZE),
        index_heads=text.integer("index_n_heads", 0, MAXIMUM_SIZE) or 0,
        index_dim=text.integer("index_head_dim", 0, MAXIMUM_SIZE) or 0,
    )


def read_window(text: Fields, heads: int, kv_heads: int, head_dim: int) -> Window:
    """Heads of the sliding layers; SGLang 0.5.11 configs/model_config.py:499-508 and 765."""
    own = text.integer("swa_head_dim", 1, MAXIMUM_SIZE) or head_dim
    return Window(
        heads=text.integer("swa_num_attention_heads", 1, MAXIMUM_SIZE) or heads,
        kv_heads=text.integer("swa_num_key_value_heads", 1, MAXIMUM_SIZE) or kv_heads,
        head_dim=own,
        v_head_dim=text.integer("swa_v_head_dim", 1, MAXIMUM_SIZE) or own,
        size=text.integer("sliding_window", 0, MAXIMUM_SIZE) or 0,
    )


def _shared(architecture: Architecture, text: Fields, expert_size: int) -> int:
    size, _key = text.first_integer(_SHARED_KEYS)
    if size is None and architecture.name == "GraniteMoeHybridForCausalLM":
        size = text.integer("shared_intermediate_size", 0, MAXIMUM_SIZE)
        return _GRANITE_SHARED if size is None else size
    if size is None:
        count, _key = text.first_integer(("n_shared_experts", "num_shared_experts"))
        size = (count or 0) * expert_size
    return min(size, MAXIMUM_SIZE * 16)


def _dense_layers(text: Fields, layers: int) -> int:
    """How many of a model's layers have an ordinary feed-forward instead of experts."""
    frequency = text.values.get("moe_layer_freq")
    if isinstance(frequency, list):
        if len(frequency) != layers or any(isinstance(item, bool) or item not in (0, 1) for item in frequency):
            raise text.wrong("moe_layer_freq", "one 0 or 1 a layer")
        return frequency.count(0)
    first = text.integer("first_k_dense_replace", 0, MAXIMUM_LAYERS) or 0
    every = text.integer("moe_layer_freq", 1, MAXIMUM_LAYERS)
    if every is not None or first:  # DeepSeek's rule, counted from 0
        return sum(1 for index in range(layers) if index < first or index % (every or 1))
    step = text.integer("decoder_sparse_step", 1, MAXIMUM_LAYERS) or 1
    only = {item for item in text.list("mlp_only_layers") or [] if isinstance(item, int) and not isinstance(item, bool)}
    return sum(1 for index in range(layers) if index in only or (index + 1) % step)  # Qwen's, from 1


def _block_size(architecture: Architecture, text: Fields) -> int:
    """Width of a dense layer; LFM2 rounds it by a rule of its own (SGLang 0.5.11 models/lfm2.py:62-73)."""
    size = text.integer("intermediate_size", 0, MAXIMUM_SIZE) or 0
    if architecture.family == "short_conv" and text.boolean("block_auto_adjust_ff_dim"):
        multiple = text.integer("block_multiple_of", 1, MAXIMUM_SIZE) or 256
        scale = text.number("block_ffn_dim_multiplier", 0.0, 100.0)
        size = int((1.0 if scale is None else scale) * int(2 * size / 3))
        size = -(-size // multiple) * multiple
    return size


def read_feed_forward(architecture: Architecture, text: Fields, layers: Layers, hidden: int) -> FeedForward:
    """The feed-forward parts of all layers."""
    name = architecture.name
    experts = text.first_integer(EXPERT_KEYS)[0] or 0
    expert_size = text.integer("moe_intermediate_size", 1, MAXIMUM_SIZE)
    if expert_size is None and name in _EXPERTS_AS_INTERMEDIATE:
        expert_size = text.integer("intermediate_size", 1, MAXIMUM_SIZE)
    listed = layers.count("mlp") + layers.count("moe")
    if listed:  # each layer is one thing only
        dense, sparse = layers.count("mlp"), layers.count("moe")
    elif experts:
        dense = _dense_layers(text, layers.total)
        sparse = layers.total - dense
    else:
        dense, sparse = layers.total, 0
    shared = _shared(architecture, text, expert_size or 0)
    size = _block_size(architecture, text)
    if name == "GraniteMoeHybridForCausalLM":
        if experts:
            expert_size = expert_size or text.integer("intermediate_size", 1, MAXIMUM_SIZE)
        else:
            size, shared = shared, 0
    return FeedForward(
        dense=dense,
        sparse=sparse,
        size=size,
        experts=experts,
        expert_size=expert_size or 0,
        shared_size=shared if experts else 0,
        expert_input=text.integer("moe_latent_size", 1, MAXIMUM_SIZE) or hidden,
        matrices=2 if name in _UNGATED else 3,
        expert_bias=name in _EXPERT_BIAS,
        shared_gate=architecture.family == "gdn" and shared > 0,
        router_bias=not name.startswith("Qwen"),
        per_token=min(experts, max(8, text.first_integer(_VISITED_KEYS)[0] or 0)),
    )


def read_mamba(architecture: Architecture, text: Fields) -> Optional[Mamba]:
    """The Mamba2 mixer, where the config gives all of it."""
    if architecture.family != "mamba2":
        return None
    heads, _key = text.first_integer(("mamba_num_heads", "mamba_n_heads"), 1)
    size, _key = text.first_integer(("mamba_head_dim", "mamba_d_head"), 1)
    groups, _key = text.first_integer(("n_groups", "mamba_n_groups"), 1)
    state, _key = text.first_integer(("ssm_state_size", "mamba_d_state"), 1)
    kernel, _key = text.first_integer(("conv_kernel", "mamba_d_conv"), 2)
    if heads is None or size is None or state is None or kernel is None:
        return None
    inner = text.integer("mamba_d_ssm", 1, MAXIMUM_SIZE) or heads * size
    norm = text.boolean("mamba_rms_norm") is not False
    return Mamba(heads, size, groups or 1, state, kernel, inner, norm)


def rotary_width(text: Fields, head_dim: int, latent: Optional[Latent]) -> int:
    """Values a position has in the rotary cache."""
    if latent is not None:
        return 0 if text.boolean("mla_use_nope") else latent.rope
    below = text.mapping("rope_parameters") or text.mapping("rope_scaling")
    share = text.number("partial_rotary_factor", 0.0, 1.0)
    if share is None and below is not None:
        share = below.number("partial_rotary_factor", 0.0, 1.0)
    dim = text.integer("rotary_dim", 1, MAXIMUM_SIZE)
    return dim or int(head_dim * (1.0 if share is None else share))
