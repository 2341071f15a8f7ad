# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which layer is what: every spelling of a model's layers, turned into counts. An unknown spelling is refused, never guessed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ansible_collections.inference.sglang.plugins.module_utils._architectures import Architecture
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._plain import Fields, shown

KINDS = ("full_attention", "sliding_attention", "recurrent", "mlp", "moe")
MAXIMUM_LAYERS = 4096

_LAYER_TYPES = {
    "full_attention": "full_attention",
    "attention": "full_attention",
    "sliding_attention": "sliding_attention",
    "linear_attention": "recurrent",
    "mamba": "recurrent",
    "conv": "recurrent",
}
_BLOCK_TYPES = {"attention": "full_attention", "mamba": "recurrent", "moe": "moe", "mlp": "mlp"}
_PATTERN = {"*": ("attention", "full_attention"), "M": ("mamba", "recurrent"), "E": ("moe", "moe"), "-": ("mlp", "mlp")}
# Keys that list or space layers in models of other families: with one of these and no rule for it, counting would be guessing.
_UNREAD_LAYER_KEYS = (
    "attn_layer_period",
    "attn_layer_indices",
    "attn_layer_offset",
    "block_types",
    "layers_types",
    "linear_attention_layers",
    "full_attn_idxs",
    "layer_group_size",
    "attention_layers_idx",
    "hybrid_attention_pattern",
    "sliding_window_pattern",
    "layer_pattern",
)


@dataclass(frozen=True)
class Layers:
    """Counts by kind, in our words and in the config's own, and where they come from."""

    counts: tuple[tuple[str, int], ...]
    spelled: tuple[tuple[str, int], ...]
    source: str
    total: int
    parallel: bool = False
    order: tuple[str, ...] = ()
    """Each layer's kind; empty where only their numbers are known."""

    def count(self, kind: str) -> int:
        """How many layers of one kind."""
        return dict(self.counts)[kind]


def _made(kinds: list[str], spelled: list[str], source: str, parallel: bool = False) -> Layers:
    counts = tuple((kind, kinds.count(kind)) for kind in KINDS)
    own = tuple((name, spelled.count(name)) for name in sorted(set(spelled)))
    return Layers(counts, own, source, len(spelled), parallel, tuple(kinds))


def _unknown(key: str, value: object, fields: Fields, known: list[str]) -> SglangError:
    return SglangError(
        f"{key} in {fields.where} has a spelling of a layer that is not known.",
        found=shown(value),
        wanted="one of " + ", ".join(known),
        next_step="Counting it as attention would size the server wrongly; the spelling has to be added first.",
    )


def _limited(key: str, values: Any, fields: Fields) -> None:
    if not 1 <= len(values) <= MAXIMUM_LAYERS:
        raise fields.wrong(key, f"1 to {MAXIMUM_LAYERS} layers")


def _from_pattern(fields: Fields) -> Layers:
    key = "hybrid_override_pattern"
    pattern = fields.text(key) or ""
    _limited(key, pattern, fields)
    for letter in pattern:
        if letter not in _PATTERN:
            raise _unknown(key, letter, fields, list(_PATTERN))
    return _made([_PATTERN[letter][1] for letter in pattern], [_PATTERN[letter][0] for letter in pattern], key)


def _from_words(key: str, fields: Fields, words: dict[str, str]) -> Layers:
    values = fields.list(key) or []
    _limited(key, values, fields)
    for value in values:
        if not isinstance(value, str) or value not in words:
            raise _unknown(key, value, fields, list(words))
    return _made([words[value] for value in values], values, key)


def _from_numbers(key: str, fields: Fields, words: dict[int, tuple[str, str]]) -> Layers:
    values = fields.list(key) or []
    _limited(key, values, fields)
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int) or value not in words:
            raise _unknown(key, value, fields, [str(word) for word in words])
    return _made([words[value][1] for value in values], [words[value][0] for value in values], key)


def _from_kda(below: Fields, fields: Fields) -> Layers:
    total = fields.need_integer("num_hidden_layers", maximum=MAXIMUM_LAYERS)
    lists = {}
    for key in ("kda_layers", "full_attn_layers"):
        values = below.list(key)
        if values is None:
            raise SglangError(f"{key} is missing in {below.where}.", wanted="a list of layer numbers, counted from 1")
        for value in values:
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= total:
                raise below.wrong(key, f"layer numbers from 1 to {total} (this family counts from 1)")
        lists[key] = set(values)
    if lists["kda_layers"] & lists["full_attn_layers"] or len(lists["kda_layers"]) + len(lists["full_attn_layers"]) != total:
        raise SglangError(
            f"kda_layers and full_attn_layers in {below.where} do not name each layer once.",
            found=f"{len(lists['kda_layers'])} and {len(lists['full_attn_layers'])} of {total} layers",
            wanted="every layer from 1 to num_hidden_layers in exactly one of the two",
        )
    kinds = ["recurrent"] * len(lists["kda_layers"]) + ["full_attention"] * len(lists["full_attn_layers"])
    own = ["kda_linear"] * len(lists["kda_layers"]) + ["full_attention"] * len(lists["full_attn_layers"])
    return _made(kinds, own, "linear_attn_config (1-based)")


def _from_indices(fields: Fields) -> Layers:
    """LFM2's older spelling: the numbers of the attention layers, counted from 0; the others are convolutions."""
    key = "full_attn_idxs"
    total = fields.need_integer("num_hidden_layers", maximum=MAXIMUM_LAYERS)
    values = fields.list(key) or []
    if not values or any(isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < total for value in values):
        raise fields.wrong(key, f"numbers of layers, from 0 to {total - 1}")
    full = set(values)
    own = ["full_attention" if index in full else "conv" for index in range(total)]
    return _made([_LAYER_TYPES[name] for name in own], own, key)


def _from_interval(fields: Fields, total: int) -> Layers:
    # The engine's own default when the key is absent: every fourth layer is full attention.
    interval = fields.integer("full_attention_interval", minimum=1, maximum=MAXIMUM_LAYERS) or 4
    kinds = ["recurrent" if (index + 1) % interval else "full_attention" for index in range(total)]
    own = ["linear_attention" if kind == "recurrent" else kind for kind in kinds]
    return _made(kinds, own, "full_attention_interval")


def _plain_layers(fields: Fields, total: int) -> Layers:
    for key in _UNREAD_LAYER_KEYS:
        if fields.has(key):
            raise _unknown(key, fields.values[key], fields, ["layer_types and the other lists this collection reads"])
    window = fields.integer("sliding_window")
    sliding = window is not None and window > 0 and fields.boolean("use_sliding_window") is not False
    kind = "sliding_attention" if sliding else "full_attention"
    return _made([kind] * total, [kind] * total, "none (plain)")


def read_layers(architecture: Architecture, fields: Fields) -> Layers:
    """Counts of a model's layers out of whichever key spells them."""
    layers = _read(architecture, fields)
    declared = fields.integer("num_hidden_layers", minimum=1, maximum=MAXIMUM_LAYERS)
    if declared is not None and declared != layers.total:
        raise SglangError(
            f"{layers.source} and num_hidden_layers in {fields.where} disagree.",
            found=f"{layers.total} layers listed, num_hidden_layers is {declared}",
            wanted="one list entry a layer",
            next_step="Use the config.json that was published with these weights.",
        )
    if layers.count("recurrent") and architecture.family == "none":
        raise SglangError(
            f"{layers.source} in {fields.where} lists recurrent layers, but {architecture.name} has none.",
            found=shown(dict(layers.spelled)),
            wanted="attention layers only, or the architecture that has such layers",
        )
    return layers


def _read(architecture: Architecture, fields: Fields) -> Layers:
    if fields.has("hybrid_override_pattern"):
        return _from_pattern(fields)
    if fields.has("layers_block_type"):
        return _from_words("layers_block_type", fields, _BLOCK_TYPES)
    if fields.has("attn_type_list"):
        return _from_numbers("attn_type_list", fields, {0: ("linear_attention", "recurrent"), 1: ("full_attention", "full_attention")})
    kda = fields.mapping("linear_attn_config")
    if kda is not None:
        return _from_kda(kda, fields)
    if fields.has("layer_types"):
        return _from_words("layer_types", fields, _LAYER_TYPES)
    if architecture.family == "short_conv" and fields.has("full_attn_idxs"):
        return _from_indices(fields)
    if fields.has("hybrid_layer_pattern"):
        words = {0: ("full_attention", "full_attention"), 1: ("sliding_attention", "sliding_attention")}
        return _from_numbers("hybrid_layer_pattern", fields, words)
    total = fields.need_integer("num_hidden_layers", maximum=MAXIMUM_LAYERS)
    if architecture.layers == "interval":
        return _from_interval(fields, total)
    if architecture.layers == "both":
        if fields.has("attn_layer_indices"):
            raise _unknown("attn_layer_indices", fields.values["attn_layer_indices"], fields, ["null (attention in every layer)"])
        both = (("full_attention", total), ("sliding_attention", 0), ("recurrent", total), ("mlp", 0), ("moe", 0))
        return Layers(both, (("mamba+attention (parallel)", total),), "every layer", total, parallel=True)
    if architecture.family != "none":
        raise SglangError(
            f"{fields.where} does not say which of {architecture.name}'s layers are recurrent.",
            found="none of hybrid_override_pattern, layers_block_type, layer_types, attn_type_list, linear_attn_config",
            wanted="one of them",
            next_step="Use the config.json that was published with these weights.",
        )
    return _plain_layers(fields, total)
