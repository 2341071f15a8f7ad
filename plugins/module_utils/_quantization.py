# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""How a checkpoint is quantised, read from config.json and from hf_quant_config.json (some say it only in the second)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._plain import Fields


@dataclass(frozen=True)
class Rules:
    """Which modules are quantised, and how: what is needed to size a mixed checkpoint without its shards."""

    excluded: tuple[str, ...] = ()
    """Names, shell patterns, or regular expressions behind `re:`, of modules that stay as they are."""
    listed: tuple[tuple[str, str], ...] = ()
    """Module -> algorithm, where a checkpoint lists those that are quantised."""
    default: str = ""
    """Algorithm of everything else."""
    group: int = 0
    """Values that share a scale."""
    zero_points: bool = False
    mtp_group: int = 0
    """The same for the MTP layer, where it is quantised by a rule of its own."""
    group_named: bool = False
    """Whether the file that the engine reads names the group: config.json's own block where there is one."""


@dataclass(frozen=True)
class Quantization:
    """What the two files say; `source` names those that said something."""

    method: str
    algorithm: Optional[str]
    weight_format: Optional[str]
    weight_block: Optional[tuple[int, ...]]
    kv_cache: Optional[str]
    mtp_unquantized: Optional[bool]
    source: str
    rules: Rules

    @property
    def engine_method(self) -> str:
        """The name SGLang gives the method it picks for this checkpoint."""
        if self.method != "modelopt":
            return self.method
        algorithm = (self.algorithm or "").upper()
        if algorithm == "MIXED_PRECISION":
            return "modelopt_mixed"
        return "modelopt_fp4" if "FP4" in algorithm else "modelopt_fp8"

    def as_dict(self) -> dict[str, Any]:
        """Plain data, as the filters return it."""
        values = asdict(self)
        del values["rules"]
        values["weight_block"] = list(self.weight_block) if self.weight_block else None
        values["engine_method"] = self.engine_method
        return values


def _block(fields: Fields) -> Optional[tuple[int, ...]]:
    values = fields.list("weight_block_size")
    if values is None:
        return None
    if not values or any(isinstance(value, bool) or not isinstance(value, int) or value < 1 for value in values):
        raise fields.wrong("weight_block_size", "a list of positive whole numbers")
    return tuple(values)


def _mtp_left_alone(fields: Fields) -> Optional[bool]:
    """Whether the list of what stays unquantised names the MTP tensors; None where there is no such list."""
    for key in ("ignore", "exclude_modules", "modules_to_not_convert"):
        values = fields.list(key)
        if values is not None:
            return any(isinstance(value, str) and "mtp" in value.split(".")[0] for value in values)
    return None


def _kv_cache(fields: Fields) -> Optional[str]:
    named = fields.text("kv_cache_quant_algo")
    if named:
        return named.upper()
    scheme = fields.mapping("kv_cache_scheme")
    if scheme is not None and scheme.text("type") == "float" and scheme.integer("num_bits") == 8:
        return "FP8"
    return None


def _names(fields: Optional[Fields]) -> tuple[str, ...]:
    for key in ("exclude_modules", "ignore", "modules_to_not_convert"):
        values = fields.list(key) if fields is not None else None
        if values is not None:
            return tuple(value for value in values if isinstance(value, str))
    return ()


def _listed(fields: Optional[Fields]) -> tuple[tuple[str, str], ...]:
    below = fields.mapping("quantized_layers") if fields is not None else None
    found = []
    for name, value in (below.values if below is not None else {}).items():
        algorithm = value.get("quant_algo") if isinstance(value, dict) else None
        if isinstance(algorithm, str):
            found.append((name, algorithm.upper()))
    return tuple(found)


def _int4(fields: Fields) -> Rules:
    """compressed-tensors' packed integers: one group for every linear layer, and perhaps one for the MTP layer."""
    groups = fields.mapping("config_groups")
    size = mtp = 0
    zero_points = False
    for name in sorted(groups.values) if groups is not None else []:
        group = groups.mapping(name) if groups is not None else None
        weights = group.mapping("weights") if group is not None else None
        if group is None or weights is None or weights.integer("num_bits") != 4 or weights.text("type") != "int":
            return Rules()
        targets = [target for target in group.list("targets") or [] if isinstance(target, str)]
        values = weights.integer("group_size", 1, 1 << 20) or 0
        if targets == ["Linear"]:
            size, zero_points = values, weights.boolean("symmetric") is False
        elif targets and all("mtp" in target for target in targets):
            mtp = values
        else:
            return Rules()
    return Rules(_names(fields), (), "INT4", size, zero_points, mtp) if size else Rules()


def _group_named(fields: Optional[Fields]) -> bool:
    """As ModelOptFp4Config.from_config looks for it: beside the algorithm, or in a group of layers."""
    if fields is None:
        return False
    groups = fields.values.get("config_groups")
    blocks = [fields.values, *(groups.values() if isinstance(groups, dict) else [])]
    blocks += [group["weights"] for group in blocks[1:] if isinstance(group, dict) and "weights" in group]
    return any(isinstance(block, dict) and isinstance(block.get("group_size"), int) for block in blocks)


def _rules(own: Optional[Fields], extra: Optional[Fields], method: str, algorithm: Optional[str]) -> Rules:
    if method == "compressed-tensors" and own is not None and own.text("format") == "pack-quantized":
        return _int4(own)
    if method != "modelopt":
        return Rules()
    # The second file is what modelopt writes itself; the first repeats it, sometimes in part.
    fields = extra if extra is not None else own
    listed = _listed(fields) or _listed(own)
    group = (fields.integer("group_size", 1, 1 << 20) if fields is not None else None) or 16
    excluded = _names(fields) or _names(own)
    name = (algorithm or "").upper()
    named = _group_named(own if own is not None else extra)
    return Rules(excluded, listed, "" if name == "MIXED_PRECISION" else name, group, group_named=named)


def read_quantization(config: Fields, text: Fields, hf_quant_config: Optional[dict[str, Any]]) -> Optional[Quantization]:
    """The quantisation of a checkpoint, or None for an unquantised one."""
    # Some publishers put the block inside text_config; MLX calls it `quantization` and names no method.
    own = None
    for fields in (config, text):
        for key in ("quantization_config", "quantization"):
            own = own or fields.mapping(key)
    extra = None
    if hf_quant_config:
        extra = Fields(hf_quant_config, "hf_quant_config.json").mapping("quantization")
    if own is None and extra is None:
        return None
    sources = [name for name, found in (("config.json", own), ("hf_quant_config.json", extra)) if found is not None]
    method, algorithm, weight_format, kv_cache = None, None, None, None
    block: Optional[tuple[int, ...]] = None
    mtp: Optional[bool] = None
    if own is not None:
        method = own.text("quant_method") or ("mlx" if own.has("bits") or own.has("group_size") else None)
        algorithm = own.text("quant_algo")
        weight_format = own.text("format") or own.text("fmt")
        block, kv_cache, mtp = _block(own), _kv_cache(own), _mtp_left_alone(own)
    if extra is not None:
        method = method or "modelopt"
        algorithm = algorithm or extra.text("quant_algo")
        kv_cache = kv_cache or _kv_cache(extra)
        mtp = _mtp_left_alone(extra) if mtp is None else mtp
    if method is None and own is not None:
        raise own.wrong("quant_method", "the name of the method")
    name = str(method).lower()
    return Quantization(name, algorithm, weight_format, block, kv_cache, mtp, " and ".join(sources), _rules(own, extra, name, algorithm))
