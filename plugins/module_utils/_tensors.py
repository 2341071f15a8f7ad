# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Every tensor that the engine holds for a model, computed from config.json: fused as the engine fuses them.

Shapes: SGLang 0.5.11 models/{qwen3_5,qwen3_next,qwen3,qwen3_moe,llama,mimo,mimo_v2,glm4_moe,minimax_m2,deepseek_v2,gpt_oss,kimi_linear,
nemotron_h,granitemoehybrid,falcon_h1,lfm2}.py, layers/attention/mamba/mamba.py; their sums agree with transformers' own models.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ansible_collections.inference.sglang.plugins.module_utils._dimensions import FeedForward, Latent, Mamba
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._model_profile import GatedDeltaState, ModelProfile, Vision

PARTS = ("attention", "recurrent", "dense", "experts", "shared", "latent", "head")
# The vocabulary is padded to a multiple of this before it is cut.
VOCABULARY_PAD = 64
_QUERY_NORMS = ("MiniMaxM2ForCausalLM",)
_OUTPUT_BIAS = ("GptOssForCausalLM",)


@dataclass(frozen=True)
class Tensor:
    """Tensors of one shape. `values` is one whole tensor; `cut` says that ranks share it, else each of them holds all of it."""

    group: str
    values: float
    count: int = 1
    cut: bool = True
    kind: str = ""
    """Of a weight that can be quantised the part it belongs to, one of PARTS; copy is made after loading and in no checkpoint."""

    def of_rank(self, size: int) -> float:
        """Values of one such tensor on one rank."""
        return self.values / size if self.cut else self.values


def _attention(profile: ModelProfile, size: int, count: int, sliding: bool) -> Iterator[Tensor]:
    window, hidden = profile.window, profile.hidden_size
    heads, kv_heads, head = profile.heads, profile.kv_heads, profile.head_dim
    value = profile.v_head_dim or head
    if sliding:
        heads, kv_heads, head, value = window.heads, window.kv_heads, window.head_dim, window.v_head_dim
    kv_heads = max(kv_heads, size)  # repeated heads count once a rank
    joined = heads * head * (2 if profile.attention_gate else 1) + kv_heads * (head + value)
    yield Tensor("text", float(hidden) * joined, count, kind="attention")
    yield Tensor("text", float(heads) * value * hidden, count, kind="attention")
    if profile.attention_bias:
        yield Tensor("text", float(joined), count)
        if profile.architecture.name in _OUTPUT_BIAS:
            yield Tensor("text", float(hidden), count, cut=False)
            yield Tensor("text", float(heads), count)  # sinks
    if profile.qk_norm:
        whole = profile.architecture.name in _QUERY_NORMS
        yield Tensor("text", float(heads * head + profile.kv_heads * head) if whole else 2.0 * head, count, cut=whole)


def _latent(profile: ModelProfile, latent: Latent, count: int) -> Iterator[Tensor]:
    hidden, heads = float(profile.hidden_size), profile.heads
    if latent.query_rank:
        yield Tensor("text", hidden * (latent.query_rank + latent.kv_rank + latent.rope), count, cut=False, kind="attention")
        yield Tensor("text", float(latent.query_rank) * heads * (latent.nope + latent.rope), count, kind="attention")
    else:
        yield Tensor("text", hidden * (latent.kv_rank + latent.rope), count, cut=False, kind="attention")
        yield Tensor("text", hidden * heads * (latent.nope + latent.rope), count, kind="attention")
    expand = float(latent.kv_rank) * heads * (latent.nope + latent.value)
    yield Tensor("text", expand, count, kind="attention")
    yield Tensor("text", float(heads) * latent.value * hidden, count, kind="attention")
    yield Tensor("text", float(latent.query_rank + latent.kv_rank), count, cut=False)
    # The absorbed halves of kv_b_proj, kept beside it in sixteen bits (deepseek_v2.py, post_load_weights).
    yield Tensor("text", expand, count, kind="copy")
    if latent.index_heads and latent.query_rank:
        yield Tensor("text", float(latent.query_rank) * latent.index_heads * latent.index_dim, count, cut=False, kind="attention")
        yield Tensor("text", hidden * latent.index_dim + 2.0 * latent.index_dim, count, cut=False, kind="attention")
        yield Tensor("text", hidden * latent.index_heads, count, cut=False)


def _gated_delta(profile: ModelProfile, state: GatedDeltaState, count: int) -> Iterator[Tensor]:
    key, value, hidden = state.key_heads * state.key_head_dim, state.value_heads * state.value_head_dim, float(profile.hidden_size)
    yield Tensor("text", hidden * (2 * key + 2 * value), count, kind="recurrent")
    yield Tensor("text", hidden * 2 * state.value_heads, count, kind="recurrent")
    yield Tensor("text", float((2 * key + value) * state.conv_kernel), count)
    yield Tensor("text", value * hidden, count, kind="recurrent")
    yield Tensor("text", 2.0 * state.value_heads, count)
    yield Tensor("text", float(state.value_head_dim), count, cut=False)


def _kimi_delta(profile: ModelProfile, count: int) -> Iterator[Tensor]:
    state, hidden = profile.state, float(profile.hidden_size)
    heads, head, kernel = state.value_heads, state.value_head_dim, state.conv_kernel
    if heads is None or head is None or kernel is None:
        raise _missing(profile, "num_heads, head_dim and short_conv_kernel_size of linear_attn_config")
    inner = heads * head
    yield Tensor("text", hidden * (3 * inner + heads), count, kind="recurrent")
    yield Tensor("text", hidden * 2 * head, count, cut=False, kind="recurrent")
    yield Tensor("text", 2.0 * head * inner, count, kind="recurrent")
    yield Tensor("text", 3.0 * inner * kernel + inner + heads, count)
    yield Tensor("text", float(inner) * hidden, count, kind="recurrent")
    yield Tensor("text", float(head), count, cut=False)


def _mamba(profile: ModelProfile, mamba: Mamba, size: int, count: int) -> Iterator[Tensor]:
    hidden, inner = float(profile.hidden_size), mamba.inner
    # A group serves many heads, so that each rank keeps one of its own where they do not divide.
    groups = mamba.groups if mamba.groups % size == 0 else size
    wide = inner + 2 * groups * mamba.state_size
    yield Tensor("text", hidden * (inner + wide + mamba.heads), count, kind="recurrent")
    yield Tensor("text", float(wide * (mamba.kernel + 1)), count)
    yield Tensor("text", 3.0 * mamba.heads + (inner if mamba.norm else 0), count)
    yield Tensor("text", inner * hidden, count, kind="recurrent")


def _short_conv(profile: ModelProfile, count: int) -> Iterator[Tensor]:
    hidden, kernel = float(profile.hidden_size), profile.state.conv_kernel
    if kernel is None:
        raise _missing(profile, "conv_L_cache")
    yield Tensor("text", 3 * hidden * hidden, count, kind="recurrent")
    yield Tensor("text", hidden * kernel, count)
    yield Tensor("text", hidden * hidden, count, kind="recurrent")


def _missing(profile: ModelProfile, keys: str) -> SglangError:
    return SglangError(
        f"The weights of {profile.architecture.name} cannot be counted from config.json.",
        found=f"without {keys}",
        wanted=keys,
        next_step="Give the model's complete config.json, or plan where its shards are.",
    )


def _recurrent(profile: ModelProfile, size: int, count: int) -> Iterator[Tensor]:
    state, family = profile.state, profile.architecture.family
    if isinstance(state, GatedDeltaState):
        yield from _gated_delta(profile, state, count)
    elif family == "kda":
        yield from _kimi_delta(profile, count)
    elif family == "short_conv":
        yield from _short_conv(profile, count)
    elif family == "mamba2" and profile.mamba is not None:
        yield from _mamba(profile, profile.mamba, size, count)
    else:
        raise _missing(profile, "the sizes of its recurrent layers")


def _dense(group: str, hidden: float, forward: FeedForward, width: int, count: int, part: str = "dense") -> Iterator[Tensor]:
    yield Tensor(group, (forward.matrices - 1) * hidden * width, count, kind=part)
    yield Tensor(group, hidden * width, count, kind=part)


def _sparse(profile: ModelProfile, group: str, count: int) -> Iterator[Tensor]:
    forward, hidden = profile.forward, float(profile.hidden_size)
    if not forward.expert_size:
        raise _missing(profile, "moe_intermediate_size")
    into = float(forward.expert_input)
    yield Tensor(group, (hidden + forward.router_bias) * forward.experts, count, cut=False)
    each = forward.experts * into * forward.expert_size
    yield Tensor(group, (forward.matrices - 1) * each, count, kind="experts")
    yield Tensor(group, each, count, kind="experts")
    if forward.expert_bias:
        yield Tensor(group, forward.experts * (2.0 * forward.expert_size + into), count)
    if forward.expert_input != profile.hidden_size:
        yield Tensor(group, 2 * hidden * into, count, cut=False, kind="latent")
    if forward.shared_size:
        yield from _dense(group, hidden, forward, forward.shared_size, count, "shared")
        if forward.shared_gate:
            yield Tensor(group, hidden, count, cut=False)


def _forward(profile: ModelProfile) -> Iterator[Tensor]:
    forward = profile.forward
    if forward.dense:
        if not forward.size:
            raise _missing(profile, "intermediate_size")
        yield from _dense("text", float(profile.hidden_size), forward, forward.size, forward.dense)
    if forward.sparse:
        yield from _sparse(profile, "text", forward.sparse)


def _vision(vision: Vision) -> Iterator[Tensor]:
    hidden, depth = float(vision.hidden_size), vision.depth
    yield Tensor("vision", vision.patch_values * hidden + hidden, 1, cut=False)
    yield Tensor("vision", vision.positions * hidden, 1, cut=False)
    yield Tensor("vision", 3 * hidden * hidden + 3 * hidden, depth)
    yield Tensor("vision", hidden * hidden, depth)
    yield Tensor("vision", hidden * vision.intermediate_size + vision.intermediate_size, depth)
    yield Tensor("vision", hidden * vision.intermediate_size, depth)
    yield Tensor("vision", 6 * hidden, depth, cut=False)  # two norms, and the biases that are not cut
    merged = hidden * vision.merge * vision.merge
    yield Tensor("vision", merged * merged + merged, vision.mergers)
    yield Tensor("vision", merged * vision.out_hidden_size, vision.mergers)
    yield Tensor("vision", 2 * hidden + vision.out_hidden_size, 1, cut=False)
    if vision.mergers > 1:  # their norms are of the merged width
        yield Tensor("vision", 2 * merged + vision.out_hidden_size, vision.mergers - 1, cut=False)


def _mtp(profile: ModelProfile, size: int) -> Iterator[Tensor]:
    """One more layer, with what joins it to the model: of the Gated-DeltaNet family, the only one whose MTP layer is planned with."""
    hidden = float(profile.hidden_size)
    for tensor in _attention(profile, size, 1, sliding=False):
        yield Tensor("mtp", tensor.values, tensor.count, tensor.cut, tensor.kind)
    if profile.forward.sparse:
        yield from _sparse(profile, "mtp", 1)
    else:
        yield from _dense("mtp", hidden, profile.forward, profile.forward.size, 1)
    yield Tensor("mtp", 2 * hidden * hidden, 1, cut=False)
    yield Tensor("mtp", 5 * hidden, 1, cut=False)


def model_tensors(profile: ModelProfile, size: int) -> list[Tensor]:
    """All tensors, the vision tower first, as the engine creates them. Raises SglangError where config.json does not give a size."""
    found: list[Tensor] = list(_vision(profile.vision)) if profile.vision is not None else []
    vocabulary = float(-(-profile.vocab_size // VOCABULARY_PAD) * VOCABULARY_PAD) * profile.hidden_size
    found.append(Tensor("embedding", vocabulary))
    full, sliding = profile.layers.count("full_attention"), profile.layers.count("sliding_attention")
    if full and profile.latent is not None:
        found += _latent(profile, profile.latent, full)
    elif full:
        found += _attention(profile, size, full, sliding=False)
    if sliding:
        found += _attention(profile, size, sliding, sliding=True)
    states = profile.layers.count("recurrent")
    if states:
        found += _recurrent(profile, size, states)
    found += _forward(profile)
    # Two norms a layer; one where a layer is a single thing, and the last norm.
    single = profile.layers.count("mlp") + profile.layers.count("moe") > 0
    found.append(Tensor("text", float(profile.hidden_size), profile.layers.total * (1 if single else 2) + 1, cut=False))
    if not profile.shares_embedding:
        found.append(Tensor("lm_head", vocabulary, kind="head"))
    if profile.architecture.sizing == "gdn":
        found += _mtp(profile, size)
    return found
