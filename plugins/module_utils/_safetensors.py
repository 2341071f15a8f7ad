# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The header of a safetensors file: which tensors it holds, and whether the file is whole. No I/O here."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._plain import shown

PREFIX = 8
# safetensors' own limit.
MAXIMUM_HEADER = 100_000_000
# numpy's limit until its release 2; a model's tensors have six at most.
MAXIMUM_DIMENSIONS = 32
# Digits of a whole number: sizes and positions in a file are below 2**64.
_DIGITS = 20
LFS_POINTER = b"version https://git-lfs"
_BITS = {
    "BOOL": 8,
    "U8": 8,
    "I8": 8,
    "F8_E5M2": 8,
    "F8_E4M3": 8,
    "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8,
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
    "I16": 16,
    "U16": 16,
    "F16": 16,
    "BF16": 16,
    "I32": 32,
    "U32": 32,
    "F32": 32,
    "I64": 64,
    "U64": 64,
    "F64": 64,
    "C64": 64,
}
_VISION = (
    "visual.",
    "vision_tower.",
    "vision_model.",
    "vision_encoder.",
    "multi_modal_projector.",
    "mm_projector.",
)


@dataclass(frozen=True)
class Tensor:
    """One tensor of a shard."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    size: int
    start: int


def _broken(name: str, found: str, next_step: str = "Fetch this file again; it was cut off or altered.") -> SglangError:
    return SglangError(f"The weights file {name} is broken.", found=found, wanted="a whole safetensors file", next_step=next_step)


def header_length(name: str, start: bytes, file_size: int) -> int:
    """Length of the header, from the first bytes of a file (eight are enough, more tell a git-lfs pointer apart)."""
    if start.startswith(LFS_POINTER):
        step = "Fetch the real file: git lfs pull, or a download from the hub."
        raise _broken(name, f"a git-lfs pointer of {file_size} bytes, not the weights", step)
    if len(start) < PREFIX:
        raise _broken(name, f"{file_size} bytes: too short for a header")
    length = int.from_bytes(start[:PREFIX], "little")
    if length > MAXIMUM_HEADER:
        raise _broken(name, f"it does not start with a safetensors header (its first bytes claim {length} bytes of it)")
    if length < 2 or PREFIX + length > file_size:
        raise _broken(name, f"its header would end at byte {PREFIX + length}, the file ends at {file_size}")
    return length


def _sizes(values: object) -> Optional[tuple[int, ...]]:
    """A short list of whole numbers, or None where it is something else."""
    if not isinstance(values, list) or len(values) > MAXIMUM_DIMENSIONS:
        return None
    if any(isinstance(item, bool) or not isinstance(item, int) or item < 0 for item in values):
        return None
    return tuple(values)


def _whole(digits: str) -> int:
    """A JSON number: turning a million digits into one takes minutes, and no size has them."""
    if len(digits) > _DIGITS:
        raise ValueError("a number too long to be a size")
    return int(digits)


def _tensor(name: str, key: str, value: Any) -> Tensor:
    def wrong(what: str) -> SglangError:
        return _broken(name, f"its header describes {shown(key)} with {what}")

    if not isinstance(value, dict):
        raise wrong(shown(value))
    dtype, shape, offsets = value.get("dtype"), _sizes(value.get("shape")), _sizes(value.get("data_offsets"))
    if not isinstance(dtype, str) or dtype not in _BITS:
        raise wrong(f"an unknown type {shown(dtype)}")
    if shape is None or offsets is None or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise wrong(f"shape {shown(value.get('shape'))} and offsets {shown(value.get('data_offsets'))}")
    count = 1
    for item in shape:
        count *= item
    size = offsets[1] - offsets[0]
    if size != -(-count * _BITS[dtype] // 8):
        raise wrong(f"{size} bytes for shape {shown(shape)} of {dtype}")
    return Tensor(key, dtype, shape, size, offsets[0])


def parse_header(name: str, header: bytes, file_size: int) -> list[Tensor]:
    """The tensors of a file whose size fits its header exactly; anything else is named and refused."""
    try:
        # The format allows blanks behind the JSON, to align what follows.
        values = json.loads(header.decode("utf-8"), parse_int=_whole)
    except (ValueError, RecursionError, MemoryError):
        raise _broken(name, "its header is not readable JSON") from None
    if not isinstance(values, dict):
        raise _broken(name, "its header is not a table of tensors")
    tensors = [_tensor(name, key, value) for key, value in values.items() if key != "__metadata__"]
    position = 0
    for tensor in sorted(tensors, key=lambda item: (item.start, item.size)):
        if tensor.start != position:
            raise _broken(
                name, f"its header leaves bytes {min(position, tensor.start)} to {max(position, tensor.start)} uncovered or twice"
            )
        position += tensor.size
    expected = PREFIX + len(header) + position
    if expected != file_size:
        kind = "cut off" if file_size < expected else "longer than its header says"
        raise _broken(name, f"{kind}: the header describes {expected} bytes, the file has {file_size}")
    return tensors


def is_mtp(name: str, layers: Optional[int] = None) -> bool:
    """Whether a tensor belongs to an MTP layer.

    By its name, as the engine's loader of the Qwen family decides it; or, with the number of layers known, by a layer's number beyond
    them: DeepSeek, GLM and MiMo keep theirs behind the last one (SGLang 0.5.11 models/deepseek_nextn.py).
    """
    parts = name.split(".")
    if any(part == "mtp" or part.startswith("mtp_") for part in parts):
        return True
    if layers is None or "layers" not in parts[:-1]:
        return False
    number = parts[parts.index("layers") + 1]
    return number.isdigit() and len(number) < 6 and int(number) >= layers


def group_of(name: str, layers: Optional[int] = None) -> str:
    """text, embedding, lm_head, vision or mtp."""
    short = name
    for prefix in ("model.", "language_model.", "model.", "backbone."):
        short = short[len(prefix) :] if short.startswith(prefix) else short
    # A vision tower's layers have numbers of their own, and may be more than the text's.
    if short.startswith(_VISION) and not is_mtp(name):
        return "vision"
    if is_mtp(name, layers):
        return "mtp"
    if short.startswith(("embed_tokens.", "embeddings.")):
        return "embedding"
    if short.startswith("lm_head."):
        return "lm_head"
    return "text"


def summarise(tensors: list[Tensor], layers: Optional[int] = None) -> dict[str, Any]:
    """Bytes by group and by type, and the MTP tensors' number; `layers` are those of the model proper, where config.json was read."""
    groups = dict.fromkeys(("text", "embedding", "lm_head", "vision", "mtp"), 0)
    dtypes: dict[str, int] = {}
    count = 0
    for tensor in tensors:
        group = group_of(tensor.name, layers)
        groups[group] += tensor.size
        count += group == "mtp"
        dtypes[tensor.dtype] = dtypes.get(tensor.dtype, 0) + tensor.size
    return {"mtp_tensors": count, "bytes_by_group": groups, "dtypes": dict(sorted(dtypes.items()))}


def read_index(name: str, text: str) -> dict[str, str]:
    """Tensor -> file of a `*.safetensors.index.json`."""
    try:
        values: Optional[Any] = json.loads(text)
    except (ValueError, RecursionError):
        values = None
    mapping = values.get("weight_map") if isinstance(values, dict) else None
    if not isinstance(mapping, dict) or not mapping:
        raise SglangError(
            f"The weights' index {name} cannot be used.",
            found="no readable weight_map in it",
            wanted="a JSON object with weight_map: tensor -> file",
            next_step="Fetch this file again.",
        )
    for tensor, file in mapping.items():
        if not isinstance(file, str) or not file.endswith(".safetensors") or "/" in file or "\0" in file:
            raise SglangError(
                f"The weights' index {name} names a file that cannot be one.",
                found=f"{shown(tensor)}: {shown(file)}",
                wanted="the name of a .safetensors file beside it",
            )
    return mapping
