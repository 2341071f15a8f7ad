# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""How many bytes of weights one rank holds: shapes from config.json, and real sizes where the shard headers were read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Optional

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._model_profile import GatedDeltaState, ModelProfile, Vision
from ansible_collections.inference.sglang.plugins.module_utils._plain import Fields, plain_mapping, shown

GIB = 1 << 30
GROUPS = ("text", "embedding", "lm_head", "vision", "mtp")
EVIDENCE = ("headers", "index", "none")
DTYPE_BYTES = {"bfloat16": 2, "float16": 2, "half": 2, "float32": 4, "float": 4, "float64": 8, "auto": 2, "float8_e4m3fn": 1}
# The vocabulary is padded to a multiple of this before it is cut.
_VOCABULARY_PAD = 64


@dataclass
class _Group:
    """Bytes of one group: cut over the ranks, and repeated on each."""

    linear: float = 0.0
    other: float = 0.0
    repeated: float = 0.0

    def total(self) -> float:
        return self.linear + self.other + self.repeated

    def per_rank(self, size: int) -> float:
        return (self.linear + self.other) / size + self.repeated


@dataclass(frozen=True)
class Evidence:
    """What was seen of the weights themselves."""

    kind: str
    mtp: Optional[bool]
    bytes_by_group: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class RankWeights:
    """Bytes one rank holds. `source` is headers or config; not `certain` where config.json alone cannot tell."""

    target: float
    draft: float
    draft_own_embedding: float
    source: str
    note: str
    certain: bool = True


def read_evidence(weights: object) -> Evidence:
    """What `model_info` reported, checked; nothing at all is "not looked at"."""
    values = plain_mapping(weights, "weights")
    if not values:
        return Evidence("none", None)
    fields = Fields(values, "weights")
    kind = fields.text("evidence") or "none"
    if kind not in (*EVIDENCE, "config"):
        raise fields.wrong("evidence", "one of " + ", ".join(EVIDENCE))
    if kind in ("none", "config"):
        return Evidence("none", None)
    count = fields.values.get("mtp_tensors")
    if isinstance(count, list):
        count = len(count)
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise fields.wrong("mtp_tensors", "the number of MTP tensors")
    sizes: dict[str, int] = {}
    groups = fields.mapping("bytes_by_group")
    if groups is not None and kind == "headers":
        for name in groups.values:
            sizes[name] = groups.integer(name) or 0
        unknown = sorted(set(sizes) - set(GROUPS))
        if unknown:
            raise SglangError("weights name a group that is not known.", found=shown(unknown), wanted="some of " + ", ".join(GROUPS))
    return Evidence(kind, count > 0, sizes)


def _attention(profile: ModelProfile, size: int) -> tuple[float, float]:
    """Parameters of one attention layer: (cut, repeated); KV heads beyond their number are repeated."""
    hidden, head = profile.hidden_size, profile.head_dim
    query = profile.heads * head * (2 if profile.attention_gate else 1)
    kv_heads = max(profile.kv_heads, size)  # repeated heads count once a rank
    cut = hidden * query + 2 * hidden * kv_heads * head + hidden * profile.heads * head
    if profile.attention_bias:
        cut += query + 2 * kv_heads * head
    return float(cut), 2.0 * head + 2.0 * hidden


def _recurrent(profile: ModelProfile) -> tuple[float, float]:
    state = profile.state
    if not isinstance(state, GatedDeltaState):
        raise SglangError(
            f"The weights of {profile.architecture.name}'s recurrent layers cannot be counted.",
            found=f"recurrent family {profile.recurrent_family}",
            wanted="a Gated-DeltaNet hybrid or a plain transformer",
        )
    key, value = state.key_heads * state.key_head_dim, state.value_heads * state.value_head_dim
    hidden = profile.hidden_size
    cut = hidden * (2 * key + 2 * value + 2 * state.value_heads) + (2 * key + value) * state.conv_kernel + value * hidden
    return float(cut), 2.0 * hidden + 2.0 * state.value_heads + state.value_head_dim


def _feed_forward(profile: ModelProfile) -> tuple[float, float]:
    hidden = profile.hidden_size
    if profile.experts:
        if profile.expert_size is None:
            raise SglangError("moe_intermediate_size is missing in config.json.", wanted="the size of one expert")
        cut = profile.experts * 3.0 * hidden * profile.expert_size + 3.0 * hidden * profile.shared_expert_size
        return cut, hidden * (profile.experts + (1.0 if profile.shared_expert_size else 0.0))
    if not profile.intermediate_size:
        raise SglangError("intermediate_size is missing in config.json.", wanted="the size of the feed-forward layers")
    return 3.0 * hidden * profile.intermediate_size, 0.0


def _vision(vision: Vision, group: _Group, width: float) -> None:
    hidden = vision.hidden_size
    block = 4 * hidden * hidden + 2 * hidden * vision.intermediate_size + 3 * hidden + vision.intermediate_size
    merged = hidden * vision.merge * vision.merge
    group.other = width * (vision.depth * block + merged * merged + merged * vision.out_hidden_size + merged)
    norms = vision.depth * 6 * hidden + 2 * hidden
    group.repeated = width * (vision.patch_values * hidden + vision.positions * hidden + norms + vision.out_hidden_size + hidden)


def group_bytes(profile: ModelProfile, size: int, width: float = 2.0) -> dict[str, _Group]:
    """Unquantised bytes of each group, by how tensor parallelism treats them."""
    groups = {name: _Group() for name in GROUPS}
    attention, recurrent, forward = _attention(profile, size), (0.0, 0.0), _feed_forward(profile)
    full = profile.layers.count("full_attention")
    states = profile.layers.count("recurrent")
    if states:
        recurrent = _recurrent(profile)
    text = groups["text"]
    layers = full + states
    text.linear = width * (full * attention[0] + states * recurrent[0] + layers * forward[0])
    text.repeated = width * (full * attention[1] + states * recurrent[1] + layers * forward[1] + profile.hidden_size)
    vocabulary = -(-profile.vocab_size // _VOCABULARY_PAD) * _VOCABULARY_PAD * profile.hidden_size
    groups["embedding"].other = width * vocabulary
    groups["lm_head"].other = 0.0 if profile.tied else width * vocabulary
    if profile.vision is not None:
        _vision(profile.vision, groups["vision"], width)
    mtp = groups["mtp"]
    mtp.linear = width * (attention[0] + forward[0])
    mtp.repeated = width * (attention[1] + forward[1] + 2.0 * profile.hidden_size * profile.hidden_size + 3.0 * profile.hidden_size)
    return groups


def _linear_factor(profile: ModelProfile) -> tuple[float, bool, str]:
    """Size of a quantised linear layer against two bytes a value, and whether one rule covers the whole checkpoint."""
    quantization = profile.quantization
    if quantization is None:
        return 1.0, True, "bf16 shapes of config.json"
    if quantization.method == "fp8":
        return 0.5, True, "shapes of config.json, linear layers in fp8"
    # Four bits and what each publisher leaves at sixteen: a byte a value is more than any known one needs, but no measure.
    name = f"{quantization.method} {quantization.algorithm or quantization.weight_format or ''}".strip()
    return 0.5, False, f"config.json alone cannot size {name} weights"


def rank_weights(profile: ModelProfile, size: int, evidence: Evidence, dtype: Optional[str] = None) -> RankWeights:
    """Bytes of weights on one of `size` ranks."""
    stored = profile.dtype or "bfloat16"
    loaded = dtype if dtype not in (None, "auto") else stored
    # dtype auto turns float32 checkpoints into bfloat16-sized ones in the engine (float16), never the other way round.
    width = 2.0 if loaded in ("float32", "float", "float64") and dtype in (None, "auto") else float(DTYPE_BYTES.get(loaded or "", 2))
    groups = group_bytes(profile, size, width)
    own_embedding = (groups["embedding"].other + (groups["lm_head"].other or groups["embedding"].other)) / size
    if profile.tied:
        own_embedding = groups["embedding"].other / size
    if evidence.kind == "headers" and evidence.bytes_by_group.get("text"):
        return _from_headers(profile, groups, size, evidence, own_embedding, width)
    factor, certain, note = _linear_factor(profile)
    groups["text"].linear *= factor
    if profile.quantization is not None and profile.quantization.mtp_unquantized is not True:
        groups["mtp"].linear *= factor
    target = sum(groups[name].per_rank(size) for name in GROUPS if name != "mtp")
    return RankWeights(target, groups["mtp"].per_rank(size), own_embedding, "config", note, certain)


def _from_headers(
    profile: ModelProfile, groups: dict[str, _Group], size: int, evidence: Evidence, own_embedding: float, width: float
) -> RankWeights:
    """Real bytes of each group, cut as config.json's shapes are cut."""
    stored = float(DTYPE_BYTES.get(profile.dtype or "bfloat16", 2))
    # A checkpoint stored in a wider type than it is loaded in shrinks on the way (float32 -> bfloat16).
    scale = width / stored if profile.quantization is None and stored > width else 1.0
    ranks: dict[str, float] = {}
    for name in GROUPS:
        real = float(evidence.bytes_by_group.get(name, 0)) * scale
        total = groups[name].total()
        ranks[name] = real * groups[name].per_rank(size) / total if total else real
    if profile.tied:
        ranks["lm_head"] = 0.0
    target = sum(ranks[name] for name in GROUPS if name != "mtp")
    return RankWeights(target, ranks["mtp"], own_embedding, "headers", "sizes of the tensors in the shard headers")
