# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reads what a plan needs from a model's directory: two small JSON files and the headers of the shards, a few KB each."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._regular_files import MAXIMUM_MODEL_JSON, open_regular, read_regular
from ansible_collections.inference.sglang.plugins.module_utils._safetensors import (
    LFS_POINTER,
    PREFIX,
    Tensor,
    header_length,
    is_mtp,
    parse_header,
    read_index,
    summarise,
)

_NAMED = 5


def _read_text(path: str) -> Optional[str]:
    """A small file's text, or None when it is not there."""
    try:
        return read_regular(path, MAXIMUM_MODEL_JSON).decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise SglangError(f"{path} is not text.", wanted="UTF-8", next_step="Fetch this file again.") from None
    except OSError as error:
        raise SglangError(f"{path} cannot be read.", found=error.strerror or "", wanted="read permission for this user") from None


def _read_json(path: str) -> Optional[dict[str, Any]]:
    text = _read_text(path)
    return None if text is None else parse_json(path, text)


def parse_json(path: str, text: str) -> dict[str, Any]:
    """A JSON object out of a file's text."""
    again = "Fetch this file again."
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SglangError(f"{path} is not readable JSON.", found=str(error)[:200], wanted="JSON", next_step=again) from None
    if not isinstance(values, dict):
        raise SglangError(f"{path} is not a JSON object.", found=type(values).__name__, wanted="an object", next_step=again)
    return values


def read_shard(path: str) -> list[Tensor]:
    """The tensors of one shard, from its header alone."""
    name = os.path.basename(path)
    try:
        with open_regular(path) as handle:
            size = os.fstat(handle.fileno()).st_size
            length = header_length(name, handle.read(len(LFS_POINTER)), size)
            handle.seek(PREFIX)
            header = handle.read(length)
    except OSError as error:
        found = error.strerror or ""
        raise SglangError(f"The weights file {path} cannot be read.", found=found, wanted="read permission for this user") from None
    return parse_header(name, header, size)


def _names(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _check_index(index: dict[str, str], found: dict[str, list[Tensor]], layers: Optional[int]) -> list[str]:
    """Ghosts: tensors of the index that are in no shard. Only those of the MTP layer can be done without."""
    held = {tensor.name for tensors in found.values() for tensor in tensors}
    ghosts = sorted(name for name in index if name not in held)
    needed = [name for name in ghosts if not is_mtp(name, layers)]
    if needed:
        raise SglangError(
            "The weights' index names tensors that no shard holds.",
            found=_names([f"{name} (in {index[name]})" for name in needed]),
            wanted="every tensor of the index in its shard",
            next_step="Fetch the model again, index and shards of one revision.",
        )
    return ghosts


def _shards(directory: str, present: list[str], index: Optional[dict[str, str]]) -> list[str]:
    if index is None:
        # A second copy in another layout is never loaded beside the first.
        own = [name for name in present if not name.startswith("consolidated")]
        return own or present
    return sorted(set(index.values()))


def layers_of(config: Optional[dict[str, Any]]) -> Optional[int]:
    """How many layers the model proper has, where config.json says it plainly."""
    values = config or {}
    text = values.get("text_config")
    number = (text if isinstance(text, dict) else values).get("num_hidden_layers")
    return number if isinstance(number, int) and not isinstance(number, bool) and number > 0 else None


@dataclass(frozen=True)
class Source:
    """Where a model's files are: names, the text of small ones, the header of a shard."""

    where: str
    names: list[str]
    text: Callable[[str], str]
    tensors: Callable[[str], list[Tensor]]


def weights_of(source: Source, layers: Optional[int] = None) -> dict[str, Any]:
    """What the shards say about themselves; evidence tells how sure that is: headers, index or none."""
    present = sorted(name for name in source.names if name.endswith(".safetensors"))
    indexes = sorted(name for name in source.names if name.endswith(".safetensors.index.json"))
    index_name = "model.safetensors.index.json" if "model.safetensors.index.json" in indexes else (indexes[0] if indexes else None)
    index = read_index(index_name, source.text(index_name)) if index_name is not None else None
    shards = _shards(source.where, present, index)
    nothing: dict[str, Any] = {"mtp_tensors": None, "bytes_by_group": {}, "dtypes": {}, "shards": [], "ghosts": [], "unlisted": []}
    if not set(shards) & set(present):
        if index is None:
            return {"evidence": "none", **nothing}
        return {"evidence": "index", **nothing, "mtp_tensors": sum(1 for name in index if is_mtp(name, layers)), "shards": shards}
    missing = sorted(set(shards) - set(present))
    if missing:
        raise SglangError(
            f"Weights are missing in {source.where}.",
            found=f"{len(missing)} of {len(shards)} files are not there: {_names(missing)}",
            wanted=f"every file that {index_name} names",
            next_step="Fetch the model again; a download that was cut off resumes.",
        )
    found = {name: source.tensors(name) for name in shards}
    tensors = [tensor for name in shards for tensor in found[name]]
    return {
        "evidence": "headers",
        **summarise(tensors, layers),
        "shards": shards,
        "ghosts": _check_index(index, found, layers) if index is not None else [],
        "unlisted": sorted(set(present) - set(shards)),
    }


def read_weights(directory: str, layers: Optional[int] = None) -> dict[str, Any]:
    """`weights_of` a directory."""
    source = Source(
        where=directory,
        names=os.listdir(directory),
        text=lambda name: _read_text(os.path.join(directory, name)) or "",
        tensors=lambda name: read_shard(os.path.join(directory, name)),
    )
    return weights_of(source, layers)


def read_model(directory: str, headers: bool = True) -> dict[str, Any]:
    """{config, hf_quant_config, weights} of a model's directory. Raises SglangError that names the broken file."""
    if not os.path.isdir(directory):
        raise SglangError(
            "The model's directory is not there.",
            found=directory,
            wanted="a directory with config.json and the weights",
            next_step="Check the path, or run the role model_shards first.",
        )
    config = _read_json(os.path.join(directory, "config.json"))
    if config is None:
        raise SglangError(
            f"There is no config.json in {directory}.",
            wanted="a model's directory",
            next_step="Check the path; a repository with adapters or GGUF files only cannot be served.",
        )
    try:
        weights = read_weights(directory, layers_of(config)) if headers else None
    except OSError as error:
        raise SglangError(f"{directory} cannot be read.", found=error.strerror or "", wanted="read permission for this user") from None
    return {
        "config": config,
        "hf_quant_config": _read_json(os.path.join(directory, "hf_quant_config.json")),
        "weights": weights,
    }


def read_drafter_config(settings: Mapping[str, Any]) -> Optional[dict[str, Any]]:
    """The config.json of the external drafter that settings name, where it is on this host."""
    path = settings.get("speculative_draft_model_path")
    if not isinstance(path, str) or not os.path.isdir(path):
        return None
    found: dict[str, Any] = read_model(path, headers=False)["config"]
    return found


def read_config_file(path: str) -> dict[str, Any]:
    """`read_model` of a config.json that was kept without its weights, with the hf_quant_config.json beside it."""
    config = _read_json(path)
    if config is None:
        raise SglangError(
            f"{path} is not there.",
            wanted="a model's config.json",
            next_step="Check the path, or fetch the file from the model's repository.",
        )
    return {"config": config, "hf_quant_config": _read_json(os.path.join(os.path.dirname(path), "hf_quant_config.json")), "weights": None}
