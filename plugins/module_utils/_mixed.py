# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Bytes of a value in a checkpoint that is quantised in parts: each module's name against the checkpoint's own rules.

Names as the publishers of Qwen3, Qwen3-Next, Qwen3.5 and Nemotron-H spell them. What has no names here is left to the shards' headers.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator
from typing import Optional

from ansible_collections.inference.sglang.plugins.module_utils._model_profile import GatedDeltaState, ModelProfile
from ansible_collections.inference.sglang.plugins.module_utils._quantization import Rules

_NVFP4 = ("NVFP4", "W4A16_NVFP4")
_PLAIN_NAMES = ("Qwen3ForCausalLM", "Qwen3MoeForCausalLM", "LlamaForCausalLM")
_Modules = Iterator[tuple[str, str, float]]


def _kinds(profile: ModelProfile) -> list[str]:
    """Each layer's kind, in order; empty where only their numbers are known."""
    return list(profile.layers.order)


def _attention(profile: ModelProfile, prefix: str) -> _Modules:
    hidden, head = float(profile.hidden_size), profile.head_dim
    query = profile.heads * head * (2 if profile.attention_gate else 1)
    for name, values in (("q", query), ("k", profile.kv_heads * head), ("v", profile.kv_heads * head), ("o", profile.heads * head)):
        yield f"{prefix}.{name}_proj", "attention", hidden * values


def _gated_delta(profile: ModelProfile, state: GatedDeltaState, prefix: str) -> _Modules:
    hidden = float(profile.hidden_size)
    key, value = state.key_heads * state.key_head_dim, state.value_heads * state.value_head_dim
    if profile.architecture.name == "Qwen3NextForCausalLM":
        parts = {"in_proj_qkvz": 2 * key + 2 * value, "in_proj_ba": 2 * state.value_heads, "out_proj": value}
    else:
        parts = {"in_proj_qkv": 2 * key + value, "in_proj_z": value, "in_proj_b": state.value_heads, "in_proj_a": state.value_heads}
        parts["out_proj"] = value
    for name, width in parts.items():
        yield f"{prefix}.{name}", "recurrent", hidden * width


def _forward(profile: ModelProfile, prefix: str, sparse: bool, shared: str) -> _Modules:
    forward, hidden = profile.forward, float(profile.hidden_size)
    names = ("gate_proj", "up_proj", "down_proj")[3 - forward.matrices :]
    if not sparse:
        for name in names:
            yield f"{prefix}.{name}", "dense", hidden * forward.size
        return
    for name in names:
        yield f"{prefix}.experts.0.{name}", "experts", forward.experts * float(forward.expert_input) * forward.expert_size
        if forward.shared_size:
            yield f"{prefix}.{shared}.{name}", "shared", hidden * forward.shared_size
    if forward.expert_input != profile.hidden_size:
        for name in ("fc1_latent_proj", "fc2_latent_proj"):
            yield f"{prefix}.{name}", "latent", hidden * forward.expert_input


def _nemotron(profile: ModelProfile, index: int, kind: str) -> _Modules:
    prefix = f"backbone.layers.{index}.mixer"
    mamba = profile.mamba
    if kind == "full_attention":
        yield from _attention(profile, prefix)
    elif kind == "recurrent" and mamba is not None:
        wide = 2 * mamba.inner + 2 * mamba.groups * mamba.state_size + mamba.heads
        yield f"{prefix}.in_proj", "recurrent", float(profile.hidden_size) * wide
        yield f"{prefix}.out_proj", "recurrent", float(profile.hidden_size) * mamba.inner
    elif kind in ("mlp", "moe"):
        yield from _forward(profile, prefix, kind == "moe", "shared_experts")


def _modules(profile: ModelProfile) -> Optional[list[tuple[str, str, float]]]:
    """(name, part, values) of every module that could be quantised; None where the names are not known."""
    kinds, architecture, state = _kinds(profile), profile.architecture.name, profile.state
    mixture = profile.forward.dense > 0 and profile.forward.sparse > 0 and architecture != "NemotronHForCausalLM"
    if not kinds or profile.latent is not None or mixture:
        return None
    found: list[tuple[str, str, float]] = [("lm_head", "head", float(profile.vocab_size) * profile.hidden_size)]
    for index, kind in enumerate(kinds):
        if architecture == "NemotronHForCausalLM":
            found += _nemotron(profile, index, kind)
            continue
        prefix = f"model.language_model.layers.{index}" if profile.nested else f"model.layers.{index}"
        if kind == "full_attention" and (isinstance(state, GatedDeltaState) or architecture in _PLAIN_NAMES):
            found += _attention(profile, f"{prefix}.self_attn")
        elif kind == "recurrent" and isinstance(state, GatedDeltaState):
            found += _gated_delta(profile, state, f"{prefix}.linear_attn")
        else:
            return None
        found += _forward(profile, f"{prefix}.mlp", profile.forward.sparse > 0, "shared_expert")
    return found


# Regular expressions of literals and `.*` only: a config.json is not to be trusted with the time that others can take.
_SIMPLE = re.compile(r"(?:[A-Za-z0-9_^$/-]|\\\.|\.\*?|\.\+)*")
_MOST_STARS = 6
_MOST_COMPARISONS = 5_000_000


class _Matcher:
    """Whether a module is excluded: its own name or that of one it is in, a shell pattern, or a regular expression."""

    def __init__(self, excluded: tuple[str, ...]) -> None:
        self.names = set()
        self.patterns = []
        self.understood = True
        for name in excluded:
            text = name[3:] if name.startswith("re:") else name
            if name.startswith("re:") and _SIMPLE.fullmatch(text) and text.count("*") + text.count("+") <= _MOST_STARS:
                self.patterns.append(re.compile(text))
            elif name.startswith("re:") or text.count("*") > _MOST_STARS:
                self.understood = False
            elif set(text) & set("*?["):
                self.patterns.append(re.compile(fnmatch.translate(text)))
            else:
                self.names.add(text)

    def __call__(self, name: str) -> bool:
        parts = name.split(".")
        if any(".".join(parts[:count]) in self.names for count in range(1, len(parts) + 1)):
            return True
        return any(pattern.match(name) for pattern in self.patterns)


def _width(algorithm: str, rules: Rules, plain: float) -> Optional[float]:
    """Bytes of one value under an algorithm; None for one without a rule."""
    if not algorithm:
        return plain
    if algorithm in _NVFP4:
        return 0.5 + 1.0 / max(1, rules.group)
    if algorithm.startswith("FP8"):
        return 1.0
    if algorithm == "INT4":
        return 0.5 + (2.0 + (0.5 if rules.zero_points else 0.0)) / max(1, rules.group)
    return None


def mtp_width(rules: Rules) -> Optional[float]:
    """Bytes of a value in an MTP layer with a group of its own."""
    return _width("INT4", Rules(group=rules.mtp_group, zero_points=rules.zero_points), 2.0) if rules.mtp_group else None


def part_widths(profile: ModelProfile, rules: Rules, plain: float) -> Optional[dict[str, float]]:
    """Mean bytes of a value in each part; None where the rules or the names do not tell."""
    if not rules.listed and not (rules.default and rules.excluded):
        return None  # nothing is left alone by nobody: a list is missing
    modules = _modules(profile)
    if modules is None:
        return None
    listed, excluded = dict(rules.listed), _Matcher(rules.excluded)
    if not excluded.understood or len(modules) * len(excluded.patterns) > _MOST_COMPARISONS:
        return None
    values: dict[str, float] = {}
    total: dict[str, float] = {}
    for name, part, count in modules:
        algorithm = listed.get(name, "" if listed else rules.default)
        width = _width("" if excluded(name) else algorithm, rules, plain)
        if width is None:
            return None
        values[part] = values.get(part, 0.0) + count
        total[part] = total.get(part, 0.0) + count * width
    return {part: total[part] / values[part] for part in values if values[part]}
