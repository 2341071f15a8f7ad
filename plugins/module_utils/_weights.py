# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""How many bytes of weights one rank holds: shapes from config.json, and real sizes where the shard headers were read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Optional

from ansible_collections.inference.sglang.plugins.module_utils._allocator import allocated
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._mixed import mtp_width, part_widths
from ansible_collections.inference.sglang.plugins.module_utils._model_profile import ModelProfile
from ansible_collections.inference.sglang.plugins.module_utils._plain import Fields, plain_mapping, shown
from ansible_collections.inference.sglang.plugins.module_utils._tensors import PARTS, Tensor, model_tensors

GIB = 1 << 30
GROUPS = ("text", "embedding", "lm_head", "vision", "mtp")
EVIDENCE = ("headers", "index", "none")
DTYPE_BYTES = {"bfloat16": 2, "float16": 2, "half": 2, "float32": 4, "float": 4, "float64": 8, "auto": 2, "float8_e4m3fn": 1}
AGREEMENT = 0.005
"""By how much the headers' bytes may differ from config.json's shapes before a plan says so."""


@dataclass(frozen=True)
class Evidence:
    """What was seen of the weights themselves."""

    kind: str
    mtp: Optional[bool]
    bytes_by_group: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class RankWeights:
    """Bytes one rank holds; the target's include the rotary cache.

    `source` is headers or config; not `certain` where config.json alone cannot tell.
    """

    target: float
    draft: float
    draft_own_embedding: float
    source: str
    note: str
    certain: bool = True
    disagreement: Optional[float] = None
    vision: float = 0.0
    """Bytes of the vision tower, which are part of the target's."""


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


def group_values(profile: ModelProfile) -> dict[str, float]:
    """Values of each group as a checkpoint holds them: what transformers counts as parameters, and the MTP layer."""
    found = dict.fromkeys(GROUPS, 0.0)
    for tensor in model_tensors(profile, 1):
        if tensor.kind != "copy":
            found[tensor.group] += tensor.values * tensor.count
    return found


@dataclass(frozen=True)
class _Widths:
    """Bytes of a value by the part that its tensor belongs to, and whether the rule covers the whole checkpoint."""

    plain: float
    parts: dict[str, float]
    mtp: float
    certain: bool
    note: str

    def of(self, tensor: Tensor) -> float:
        """Of one tensor."""
        if tensor.kind == "copy":
            return 2.0
        if tensor.group == "mtp" and tensor.kind:
            return self.mtp
        return self.parts.get(tensor.kind, self.plain)


def _widths(profile: ModelProfile, plain: float) -> _Widths:
    quantization = profile.quantization
    if quantization is None:
        return _Widths(plain, {}, plain, True, "shapes of config.json")
    linear = [part for part in PARTS if part != "head"]
    alone = quantization.mtp_unquantized is True
    if quantization.method == "fp8":
        block = quantization.weight_block
        one = 1.0 + (4.0 / (block[0] * block[1]) if block is not None and len(block) == 2 else 0.0)
        return _Widths(plain, dict.fromkeys(linear, one), plain if alone else one, True, "shapes of config.json, linear layers in fp8")
    if quantization.method == "mxfp4":
        # Four bits a value and one byte of scale for 32 of them; only the experts are packed.
        return _Widths(plain, {"experts": 0.5 + 1 / 32}, plain, True, "shapes of config.json, experts in mxfp4")
    name = f"{quantization.method} {quantization.algorithm or quantization.weight_format or ''}".strip()
    parts = part_widths(profile, quantization.rules, plain)
    if parts is not None:
        # The MTP layer has a rule of its own, is left alone, or is like the experts or the dense part of the model.
        like = mtp_width(quantization.rules) or (plain if alone else parts.get("experts", parts.get("dense", plain)))
        return _Widths(plain, parts, like, True, f"shapes of config.json, modules as the {name} rules list them")
    # Four bits and what each publisher leaves at sixteen: a byte a value is more than any known one needs, but no measure.
    return _Widths(plain, dict.fromkeys(linear, 1.0), plain if alone else 1.0, False, f"config.json alone cannot size {name} weights")


def _loaded_width(profile: ModelProfile, dtype: Optional[str]) -> float:
    """Bytes of an unquantised value once loaded."""
    stored = profile.dtype or "bfloat16"
    loaded = dtype if dtype not in (None, "auto") else stored
    # dtype auto turns float32 checkpoints into bfloat16-sized ones in the engine (float16), never the other way round.
    if loaded in ("float32", "float", "float64") and dtype in (None, "auto"):
        return 2.0
    return float(DTYPE_BYTES.get(loaded or "", 2))


def _sum(tensors: list[Tensor], widths: _Widths, size: int, group: Optional[str] = None) -> float:
    return sum(tensor.of_rank(size) * tensor.count * widths.of(tensor) for tensor in tensors if group in (None, tensor.group))


def _taken(tensors: list[Tensor], widths: _Widths, size: int) -> float:
    return float(allocated([(tensor.of_rank(size) * widths.of(tensor), tensor.count) for tensor in tensors]))


def rank_weights(profile: ModelProfile, size: int, evidence: Evidence, dtype: Optional[str] = None) -> RankWeights:
    """Bytes that weights take on one of `size` ranks, the allocator's rounding and the rotary cache included."""
    width = _loaded_width(profile, dtype)
    widths = _widths(profile, width)
    tensors = model_tensors(profile, size)
    own = [tensor for tensor in tensors if tensor.group in ("embedding", "lm_head")]
    target = [tensor for tensor in tensors if tensor.group != "mtp"]
    draft = [tensor for tensor in tensors if tensor.group == "mtp"]
    rotary = 4.0 * (profile.max_context or 0) * profile.rotary_dim
    taken, drafted = _taken(target, widths, size), _taken(draft, widths, size)
    tower = _sum(target, widths, size, "vision")
    source, note, certain = "config", widths.note, widths.certain
    if evidence.kind == "headers" and evidence.bytes_by_group.get("text"):
        source, note, certain = "headers", "sizes of the tensors in the shard headers", True
        real, real_draft = _from_headers(profile, tensors, widths, size, evidence, width)
        # The rounding keeps its share.
        taken *= real / _sum(target, widths, size)
        drafted = drafted * real_draft / _sum(draft, widths, size) if draft else 0.0
    return RankWeights(
        taken + rotary, drafted, _taken(own, widths, size), source, note, certain, _disagreement(profile, evidence, widths), tower
    )


def checkpoint_bytes(profile: ModelProfile) -> float:
    """Bytes of the whole checkpoint as published, by the shapes of config.json."""
    stored = float(DTYPE_BYTES.get(profile.dtype or "bfloat16", 2))
    return _sum([tensor for tensor in model_tensors(profile, 1) if tensor.kind != "copy"], _widths(profile, stored), 1)


def _from_headers(
    profile: ModelProfile, tensors: list[Tensor], widths: _Widths, size: int, evidence: Evidence, width: float
) -> tuple[float, float]:
    """Real bytes of each group, cut as config.json's shapes are cut: (target, draft)."""
    stored = float(DTYPE_BYTES.get(profile.dtype or "bfloat16", 2))
    # A checkpoint stored in a wider type than it is loaded in shrinks on the way (float32 -> bfloat16).
    scale = width / stored if profile.quantization is None and stored > width else 1.0
    ranks: dict[str, float] = {}
    for name in GROUPS:
        real = float(evidence.bytes_by_group.get(name, 0)) * scale
        whole, part = _sum(tensors, widths, 1, name), _sum(tensors, widths, size, name)
        ranks[name] = real * part / whole if whole else real
    if profile.shares_embedding:
        ranks["lm_head"] = 0.0
    return sum(ranks[name] for name in GROUPS if name != "mtp"), ranks["mtp"]


def _disagreement(profile: ModelProfile, evidence: Evidence, widths: _Widths) -> Optional[float]:
    """By which share the shards' headers and config.json's shapes differ; None where only one of them can tell."""
    if evidence.kind != "headers" or not evidence.bytes_by_group.get("text") or not widths.certain:
        return None
    stored = float(DTYPE_BYTES.get(profile.dtype or "bfloat16", 2)) if profile.quantization is None else widths.plain
    computed = real = 0.0
    for name in GROUPS:
        found = evidence.bytes_by_group.get(name, 0)
        if not found:
            continue  # a part that was left out of the checkpoint (MTP, the vision tower) is no disagreement on shapes
        tensors = [tensor for tensor in model_tensors(profile, 1) if tensor.group == name and tensor.kind != "copy"]
        if not tensors:
            continue  # the MTP layers of other families, which no plan uses
        computed += _sum(tensors, widths, 1) * (stored / widths.plain if profile.quantization is None else 1.0)
        real += found
    return real / computed - 1 if computed else None
