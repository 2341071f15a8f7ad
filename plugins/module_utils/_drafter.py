# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""External drafters: a block-diffusion model (DFLASH) or an EAGLE3 head, read from the drafter's own config.json.

SGLang 0.5.11 server_args.py:3319-3445, speculative/dflash_utils.py, models/dflash.py, models/llama_eagle3.py;
SGLang 0.5.23 arg_groups/speculative_hook.py, _handle_dflash.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._allocator import allocated
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._layers import MAXIMUM_LAYERS
from ansible_collections.inference.sglang.plugins.module_utils._model_profile import ModelProfile
from ansible_collections.inference.sglang.plugins.module_utils._plain import Fields, plain_mapping, shown
from ansible_collections.inference.sglang.plugins.module_utils._releases import Release

PATH = "speculative_draft_model_path"
ALGORITHMS = {"DFlashDraftModel": "DFLASH", "LlamaForCausalLMEagle3": "EAGLE3"}
DEFAULT_BLOCK = 16
"""The engine's own, for a block-diffusion drafter that names none."""
_EAGLE3_CAPTURED = 3
_MAXIMUM_SIZE = 10**8
_DRAFTER = "the drafter's config.json"


@dataclass(frozen=True)
class Drafter:
    """A drafter as the plan needs it."""

    algorithm: str
    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    """Rows of its own head; 0 where it uses the target's."""
    captured: int
    """Hidden states of the target that it reads for each token."""
    block: Optional[int]
    """Tokens of one block; None for EAGLE3."""

    def token_bytes(self, size: int, width: int) -> int:
        """Its own KV cache of one token on one rank."""
        return max(1, self.kv_heads // size) * 2 * self.head_dim * self.layers * width

    def rank_bytes(self, profile: ModelProfile, size: int) -> tuple[float, float]:
        """(weights it keeps on one rank, the embedding it gives back after loading)."""
        hidden, heads, kv_heads = float(self.hidden), self.heads * self.head_dim, max(self.kv_heads, size) * self.head_dim
        into = 2 * hidden if self.algorithm == "EAGLE3" else hidden
        each = [into * (heads + 2 * kv_heads), heads * hidden, 2 * hidden * self.intermediate, hidden * self.intermediate]
        tensors = [(2 * values / size, self.layers) for values in each]
        tensors += [(2 * self.captured * profile.hidden_size * hidden, 1), (2 * 4 * hidden, self.layers + 1)]
        if self.vocab:
            tensors.append((2 * self.vocab * hidden / size, 1))
        own = 2.0 * profile.vocab_size * hidden / size if self.algorithm == "EAGLE3" else 0.0
        return float(allocated(tensors)), own


def _architecture(fields: Fields) -> str:
    names = fields.list("architectures") or []
    name = names[0] if names and isinstance(names[0], str) else ""
    if name not in ALGORITHMS:
        raise SglangError(
            "The drafter's architecture is not planned.",
            found=f"architectures: {shown(names)}",
            wanted="one of " + ", ".join(sorted(ALGORITHMS)),
            next_step=f"Remove {PATH} from sglang_server_settings to draft with the model's own MTP layer.",
        )
    return name


def _captured(fields: Fields, layers: int, target_layers: int) -> tuple[int, Optional[int], Optional[int]]:
    """(target layers read, target layers it was trained for, block) of a block-diffusion drafter; its own mapping wins."""
    own = fields.mapping("dflash_config") or Fields({}, f"dflash_config of {_DRAFTER}")
    trained = own.integer("num_target_layers", 1, MAXIMUM_LAYERS) or fields.integer("num_target_layers", 1, MAXIMUM_LAYERS)
    block = own.integer("block_size", 1, 256) or fields.integer("block_size", 1, 256)
    holder = own if own.has("target_layer_ids") else fields
    listed = holder.list("target_layer_ids")
    if listed is None:
        return layers, trained, block
    if not listed or any(isinstance(item, bool) or not isinstance(item, int) or not 0 <= item < target_layers for item in listed):
        raise holder.wrong("target_layer_ids", f"numbers of the target's layers, from 0 to {target_layers - 1}")
    return len(listed), trained, block


def _mismatch(what: str, found: str, wanted: str) -> SglangError:
    return SglangError(
        f"The drafter was made for another model: {what} differs.",
        found=found,
        wanted=wanted,
        next_step=f"Take the drafter of this very model, or remove {PATH} to draft with the model's own MTP layer.",
    )


def _check_match(fields: Fields, profile: ModelProfile, algorithm: str, hidden: int, trained: Optional[int]) -> None:
    total = profile.layers.total
    if trained is not None and trained != total:
        raise _mismatch(
            "the number of target layers", f"num_target_layers: {trained}", f"{total}, the layers of {profile.architecture.name}"
        )
    read = fields.integer("target_hidden_size", 1, _MAXIMUM_SIZE) if algorithm == "EAGLE3" else None
    if (read or hidden) != profile.hidden_size:
        raise _mismatch("the hidden size", f"{read or hidden}", f"{profile.hidden_size}")
    vocab = fields.integer("vocab_size", 1, _MAXIMUM_SIZE)
    if vocab is not None and vocab != profile.vocab_size:
        raise _mismatch("the vocabulary", f"vocab_size: {vocab}", f"{profile.vocab_size}")


def read_drafter(config: object, profile: ModelProfile, release: Release) -> Optional[Drafter]:
    """The drafter that belongs to this model on this release; None without one. Raises SglangError for one that does not fit."""
    if config is None:
        return None
    top = Fields(plain_mapping(config, _DRAFTER), _DRAFTER)
    algorithm = ALGORITHMS[_architecture(top)]
    targets = release.dflash_targets if algorithm == "DFLASH" else release.eagle3_targets
    name = profile.architecture.name
    if name not in targets:
        raise SglangError(
            f"SGLang {release.version} cannot draft for {name} with {algorithm}.",
            found=f"{name} gives no hidden states to such a drafter",
            wanted="one of " + (", ".join(sorted(targets)) or "a release that knows " + algorithm),
            next_step=f"Remove {PATH} from sglang_server_settings, or take a release that serves the pair.",
        )
    if top.mapping("quantization_config") is not None:
        raise SglangError("A quantised drafter is not planned.", found="quantization_config in " + _DRAFTER, wanted="sixteen-bit weights")
    below = top.mapping("text_config")
    fields = Fields({**top.values, **below.values}, _DRAFTER) if below is not None else top
    hidden = fields.need_integer("hidden_size", 1, _MAXIMUM_SIZE)
    heads = fields.need_integer("num_attention_heads", 1, _MAXIMUM_SIZE)
    layers = fields.need_integer("num_hidden_layers", 1, MAXIMUM_LAYERS)
    captured, trained, block = _EAGLE3_CAPTURED, None, None
    if algorithm == "DFLASH":
        captured, trained, block = _captured(fields, layers, profile.layers.total)
        block = block or DEFAULT_BLOCK
    _check_match(fields, profile, algorithm, hidden, trained)
    vocab = fields.integer("draft_vocab_size", 1, _MAXIMUM_SIZE) or profile.vocab_size
    return Drafter(
        algorithm=algorithm,
        layers=layers,
        hidden=hidden,
        intermediate=fields.need_integer("intermediate_size", 1, _MAXIMUM_SIZE),
        heads=heads,
        kv_heads=fields.integer("num_key_value_heads", 1, _MAXIMUM_SIZE) or heads,
        head_dim=fields.integer("head_dim", 1, _MAXIMUM_SIZE) or max(1, hidden // heads),
        vocab=vocab if algorithm == "EAGLE3" else 0,
        captured=captured,
        block=block,
    )


def check_path(drafter: Optional[Drafter], settings: Fields) -> None:
    """A drafter and its path belong together; without its config.json nothing about it can be planned."""
    path: Any = settings.values.get(PATH)
    if drafter is None and path is not None:
        raise SglangError(
            "An external drafter needs its config.json for the plan.",
            found=f"{PATH}: {shown(path)}, and no config.json of it",
            wanted="the drafter's directory on the host, or drafter_config",
            next_step=f"Put the drafter where {PATH} says, or remove {PATH} to draft with the model's own MTP layer.",
        )
    if drafter is not None and (not isinstance(path, str) or not path):
        raise SglangError(
            f"A drafter is given, but not where it lies ({drafter.algorithm} does not start without).",
            found=f"{PATH}: {shown(path)}",
            wanted="the drafter's directory",
            next_step=f"Set {PATH} in sglang_server_settings.",
        )
