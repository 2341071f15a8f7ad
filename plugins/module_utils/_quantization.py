# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""How a checkpoint is quantised, read from config.json and from hf_quant_config.json (some say it only in the second)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._plain import Fields


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
    return Quantization(str(method).lower(), algorithm, weight_format, block, kv_cache, mtp, " and ".join(sources))
