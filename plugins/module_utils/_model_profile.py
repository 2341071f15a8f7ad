# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a model is, read from its config.json: the first station of every derivation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._architectures import Architecture, architecture_of
from ansible_collections.inference.sglang.plugins.module_utils._dimensions import (
    EXPERT_KEYS,
    FeedForward,
    Latent,
    Mamba,
    Window,
    read_feed_forward,
    read_latent,
    read_mamba,
    read_window,
    rotary_width,
)
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._layers import Layers, read_layers
from ansible_collections.inference.sglang.plugins.module_utils._plain import Fields, plain_mapping, shown
from ansible_collections.inference.sglang.plugins.module_utils._quantization import Quantization, read_quantization

_MTP_KEYS = ("mtp_num_hidden_layers", "num_mtp_modules", "num_nextn_predict_layers")
_MAXIMUM_SIZE = 10**8
_QK_NORM = ("Qwen3ForCausalLM", "Qwen3MoeForCausalLM", "Lfm2ForCausalLM")
_DTYPES = ("bfloat16", "float16", "float32", "float64", "float8_e4m3fn", "auto", "half", "float")


@dataclass(frozen=True)
class State:
    """Shape of the recurrent state's heads, as the config gives it."""

    key_heads: Optional[int]
    key_head_dim: Optional[int]
    value_heads: Optional[int]
    value_head_dim: Optional[int]
    state_size: Optional[int]
    conv_kernel: Optional[int]
    dtype: Optional[str]


@dataclass(frozen=True)
class GatedDeltaState(State):
    """Of Gated-DeltaNet layers, whose config has to give the sizes that memory is counted from."""

    key_heads: int
    key_head_dim: int
    value_heads: int
    value_head_dim: int
    conv_kernel: int


@dataclass(frozen=True)
class Vision:
    """Size of the vision tower."""

    depth: int
    heads: int
    hidden_size: int
    intermediate_size: int
    out_hidden_size: int
    patch_values: int
    positions: int
    merge: int
    mergers: int
    """The last merger, and one for each layer whose states go into the text's first layers (deepstack)."""


# What the engine builds for a wrapped model whose config.json describes no tower: SGLang 0.5.11 configs/qwen3_vl.py:8-24.
_DEFAULT_VISION = Vision(27, 16, 1152, 4304, 3584, 3 * 2 * 16 * 16, 2304, 2, 4)


@dataclass(frozen=True)
class ModelProfile:
    """A model as the derivation sees it."""

    architecture: Architecture
    model_type: Optional[str]
    text_model_type: Optional[str]
    nested: bool
    layers: Layers
    state: State
    hidden_size: int
    intermediate_size: Optional[int]
    heads: int
    kv_heads: int
    head_dim: int
    head_dim_derived: bool
    v_head_dim: Optional[int]
    is_mla: bool
    attention_gate: bool
    attention_bias: bool
    experts: int
    expert_size: Optional[int]
    shared_expert_size: int
    mtp_layers_declared: int
    mtp_key: Optional[str]
    quantization: Optional[Quantization]
    dtype: Optional[str]
    vocab_size: int
    tied: Optional[bool]
    max_context: Optional[int]
    vision: Optional[Vision]
    needs_remote_code: bool
    brings_config_code: bool
    """Whether auto_map names a configuration class of the model's own repository."""
    latent: Optional[Latent]
    window: Window
    forward: FeedForward
    mamba: Optional[Mamba]
    rotary_dim: int
    """Values of one position in the rotary cache; 0 without."""
    qk_norm: bool
    state_dtype: Optional[str]
    """The type of the state that the engine reads from the config: by this one name only (configs/mamba_utils.py)."""

    @property
    def shares_embedding(self) -> bool:
        """Whether the head is the embedding; GraniteMoeHybridConfig says so by default (SGLang 0.5.11 configs/granitemoehybrid.py:132)."""
        return self.tied if self.tied is not None else self.architecture.name == "GraniteMoeHybridForCausalLM"

    @property
    def recurrent_family(self) -> str:
        """Family of the recurrent layers; `none` where there is not one (a hybrid's class can be attention only)."""
        return self.architecture.family if self.layers.count("recurrent") else "none"

    def as_dict(self) -> dict[str, Any]:
        """Plain data, as the filter returns it."""
        state = self.state
        return {
            "architecture": self.architecture.name,
            "model_type": self.model_type,
            "text_model_type": self.text_model_type,
            "nested": self.nested,
            "recurrent_family": self.recurrent_family,
            "is_hybrid": self.recurrent_family != "none",
            "layer_counts": dict(self.layers.counts),
            "layers_as_spelled": dict(self.layers.spelled),
            "layers_from": self.layers.source,
            "layers_parallel": self.layers.parallel,
            "num_layers": self.layers.total,
            "mtp_layers_declared": self.mtp_layers_declared,
            "mtp_key": self.mtp_key,
            "is_moe": self.experts > 0,
            "num_experts": self.experts,
            "quantization": self.quantization.as_dict() if self.quantization else None,
            "dtype": self.dtype,
            "vocab_size": self.vocab_size,
            "hidden_size": self.hidden_size,
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.kv_heads,
            "head_dim": self.head_dim,
            "head_dim_derived": self.head_dim_derived,
            "is_mla": self.is_mla,
            "state": {
                "key_heads": state.key_heads,
                "key_head_dim": state.key_head_dim,
                "value_heads": state.value_heads,
                "value_head_dim": state.value_head_dim,
                "state_size": state.state_size,
                "conv_kernel": state.conv_kernel,
                "dtype": state.dtype,
            },
            "tie_word_embeddings": self.tied,
            "max_context": self.max_context,
            "has_vision": self.vision is not None,
            "needs_remote_code": self.needs_remote_code,
        }


def _dtype(config: Fields, text: Fields) -> Optional[str]:
    for fields in (text, config):
        for key in ("dtype", "torch_dtype"):
            name = fields.text(key)
            if name is not None:
                short = name[6:] if name.startswith("torch.") else name
                if short not in _DTYPES:
                    raise fields.wrong(key, "one of " + ", ".join(_DTYPES))
                return short
    return None


def _state(architecture: Architecture, text: Fields, recurrent: int) -> State:
    if not recurrent:
        return State(None, None, None, None, None, None, None)
    dtype = text.text("mamba_ssm_dtype") or text.text("mamba_ssm_cache_dtype")
    if architecture.family == "gdn":
        names = ("linear_num_key_heads", "linear_key_head_dim", "linear_num_value_heads", "linear_value_head_dim")
        sizes = [text.need_integer(name, maximum=_MAXIMUM_SIZE) for name in names]
        kernel = text.need_integer("linear_conv_kernel_dim", minimum=2, maximum=64)
        return GatedDeltaState(sizes[0], sizes[1], sizes[2], sizes[3], None, kernel, dtype)
    if architecture.family == "kda":
        below = text.mapping("linear_attn_config") or Fields({}, "linear_attn_config")
        heads, size = below.integer("num_heads", 1), below.integer("head_dim", 1)
        return State(heads, size, heads, size, None, below.integer("short_conv_kernel_size", 1), dtype)
    heads, _key = text.first_integer(("mamba_num_heads", "mamba_n_heads"), 1)
    size, _key = text.first_integer(("mamba_head_dim", "mamba_d_head"), 1)
    state_size, _key = text.first_integer(("ssm_state_size", "mamba_d_state"), 1)
    kernel_size, _key = text.first_integer(("conv_kernel", "mamba_d_conv", "conv_L_cache"), 1)
    return State(None, None, heads, size, state_size, kernel_size, dtype)


def _vision(config: Fields) -> Vision:
    fields = config.mapping("vision_config")
    if fields is None:
        return _DEFAULT_VISION
    patch = fields.integer("patch_size", 1, 1024) or 16
    values = (fields.integer("in_channels", 1, 64) or 3) * (fields.integer("temporal_patch_size", 1, 64) or 1) * patch * patch
    hidden = fields.need_integer("hidden_size", maximum=_MAXIMUM_SIZE)
    depth, _key = fields.first_integer(("depth", "num_hidden_layers"), 1)
    if depth is None or depth > 4096:
        raise fields.wrong("depth", "the number of the vision tower's layers")
    return Vision(
        depth=depth,
        heads=fields.first_integer(("num_heads", "num_attention_heads"), 1)[0] or 1,
        hidden_size=hidden,
        intermediate_size=fields.integer("intermediate_size", 1, _MAXIMUM_SIZE) or 4 * hidden,
        out_hidden_size=fields.integer("out_hidden_size", 1, _MAXIMUM_SIZE) or hidden,
        patch_values=values,
        positions=fields.integer("num_position_embeddings", 0, _MAXIMUM_SIZE) or 0,
        merge=fields.integer("spatial_merge_size", 1, 64) or 1,
        mergers=1 + min(depth, len(fields.list("deepstack_visual_indexes") or [])),
    )


def _attention(text: Fields) -> tuple[int, int, int, bool]:
    heads = text.need_integer("num_attention_heads", maximum=_MAXIMUM_SIZE)
    kv_heads = text.integer("num_key_value_heads", 1, _MAXIMUM_SIZE) or heads
    head_dim = text.integer("head_dim", 1, _MAXIMUM_SIZE)
    if head_dim is not None:
        return heads, kv_heads, head_dim, False
    other = text.integer("attention_head_dim", 1, _MAXIMUM_SIZE)
    return heads, kv_heads, other or max(1, text.need_integer("hidden_size", maximum=_MAXIMUM_SIZE) // heads), True


def _brings_config_code(config: Fields) -> bool:
    names = config.values.get("auto_map")
    return isinstance(names, dict) and isinstance(names.get("AutoConfig"), str) and names["AutoConfig"] != ""


def _shared_expert(text: Fields) -> int:
    size, _key = text.first_integer(("shared_expert_intermediate_size", "moe_shared_expert_intermediate_size"))
    return size or 0


def profile_model(config: object, hf_quant_config: object = None) -> ModelProfile:
    """Read config.json (and hf_quant_config.json where there is one). Raises SglangError that names the offending key."""
    if not isinstance(config, Mapping) or not config:
        raise SglangError(
            "The model's config.json is not there or not a JSON object.",
            found=shown(config),
            wanted="the content of config.json",
            next_step="Check the model's path, repository and revision.",
        )
    values = plain_mapping(config, "config.json")
    extra = plain_mapping(hf_quant_config, "hf_quant_config.json") if hf_quant_config is not None else None
    top = Fields(values, "config.json")
    below = top.mapping("text_config")
    text = Fields(below.values, "text_config of config.json") if below is not None else top
    architecture = architecture_of(top.list("architectures"))
    layers = read_layers(architecture, text)
    heads, kv_heads, head_dim, derived = _attention(text)
    experts, _key = text.first_integer(EXPERT_KEYS)
    mtp_layers, mtp_key = text.first_integer(_MTP_KEYS)
    if mtp_key is None:
        mtp_layers, mtp_key = top.first_integer(_MTP_KEYS)
    max_context, _key = text.first_integer(("max_position_embeddings", "model_max_length"), 1)
    tied = text.boolean("tie_word_embeddings")
    if tied is None:
        tied = top.boolean("tie_word_embeddings")
    latent, hidden = read_latent(text), text.need_integer("hidden_size", maximum=_MAXIMUM_SIZE)
    is_next = architecture.name == "Qwen3NextForCausalLM"
    return ModelProfile(
        architecture=architecture,
        model_type=top.text("model_type"),
        text_model_type=text.text("model_type"),
        nested=below is not None,
        layers=layers,
        state=_state(architecture, text, layers.count("recurrent")),
        hidden_size=hidden,
        intermediate_size=text.integer("intermediate_size", 0, _MAXIMUM_SIZE),
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        head_dim_derived=derived,
        v_head_dim=text.integer("v_head_dim", 1, _MAXIMUM_SIZE),
        is_mla=text.has("kv_lora_rank"),
        attention_gate=is_next or (architecture.family == "gdn" and text.boolean("attn_output_gate") is not False),
        attention_bias=text.boolean("attention_bias") is True or architecture.name == "Qwen2ForCausalLM",
        experts=experts or 0,
        expert_size=text.integer("moe_intermediate_size", 1, _MAXIMUM_SIZE),
        shared_expert_size=_shared_expert(text),
        mtp_layers_declared=mtp_layers or 0,
        mtp_key=mtp_key,
        quantization=read_quantization(top, text, extra),
        dtype=_dtype(top, text),
        vocab_size=text.need_integer("vocab_size", maximum=_MAXIMUM_SIZE),
        tied=tied,
        max_context=max_context,
        vision=_vision(top) if architecture.vision else None,
        needs_remote_code=top.has("auto_map"),
        brings_config_code=_brings_config_code(top),
        latent=latent,
        window=read_window(text, heads, kv_heads, head_dim),
        forward=read_feed_forward(architecture, text, layers, hidden),
        mamba=read_mamba(architecture, text),
        state_dtype=text.text("mamba_ssm_dtype"),
        rotary_dim=rotary_width(text, head_dim, latent),
        qk_norm=architecture.family == "gdn" or architecture.name in _QK_NORM or text.boolean("use_qk_norm") is True,
    )


def model_profile(config: object, hf_quant_config: object = None) -> dict[str, Any]:
    """`profile_model` as plain data: what the filter of this name returns."""
    return profile_model(config, hf_quant_config).as_dict()
