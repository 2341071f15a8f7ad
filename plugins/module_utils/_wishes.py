# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the operator asked for: settings, extra arguments and the declared load, checked against the release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._options import (
    find_setting,
    option_table,
    parse_extra_args,
    refuse_secret,
    render,
    spelled,
)
from ansible_collections.inference.sglang.plugins.module_utils._options_read import Option
from ansible_collections.inference.sglang.plugins.module_utils._plain import Fields, plain_list, plain_mapping, shown
from ansible_collections.inference.sglang.plugins.module_utils._refused_options import refuse_unservable
from ansible_collections.inference.sglang.plugins.module_utils._releases import Release

SETTINGS = "sglang_server_settings"
EXTRA = "sglang_server_extra_args"
# Values the plan decides on: another one is welcome as a setting, where the plan sees it, and nowhere else.
DECIDED = frozenset(
    {
        "enable_metrics",
        "mamba_full_memory_ratio",
        "max_mamba_cache_size",
        "max_running_requests",
        "mem_fraction_static",
        "nnodes",
        "node_rank",
        "speculative_algorithm",
        "speculative_draft_model_path",
        "speculative_eagle_topk",
        "speculative_num_draft_tokens",
        "speculative_num_steps",
        "tensor_parallel_size",
        "trust_remote_code",
    }
)
# Options that mean something else than their name says, with what to do instead.
_TRAPS = {
    "language_only": ("encoder_urls", "it hands the vision tower to other servers, and needs encoder_urls"),
}
_UNPLANNED = {
    "data_parallel_size": "data parallelism",
    "pipeline_parallel_size": "pipeline parallelism",
    "expert_parallel_size": "expert parallelism",
    "nnodes": "several nodes",
    "node_rank": "several nodes",
    "enable_dp_attention": "attention data parallelism",
}
_SIZE_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


@dataclass(frozen=True)
class Wishes:
    """Explicit options by canonical key, with where each came from."""

    values: dict[str, Any]
    options: dict[str, Option]
    origin: dict[str, str]
    notes: tuple[str, ...] = ()
    """What a person should know of how their options were read."""

    @property
    def fields(self) -> Fields:
        """Typed look-ups."""
        return Fields(self.values, SETTINGS)


def _size(text: str) -> int:
    digits = text.rstrip("kKMGTi")
    return int(float(digits) * _SIZE_UNITS[text[len(digits) :]])


def _typed(option: Option, value: Any) -> Any:
    """Text of an argument as the number it means, so that the plan can reckon with it."""
    if isinstance(value, str) and option.many == "1":
        if option.kind == "integer":
            return int(value)
        if option.kind == "number":
            return float(value)
        if option.kind == "size":
            return _size(value)
    return value


def _under_its_name(release: Release, option: Option, where: str) -> tuple[Option, str]:
    """An option by the name that its release has for it now, and what to say of that."""
    if not option.deprecated:
        return option, ""
    written = spelled(option.name, where)
    if option.moves:
        current = option_table(release).find(option.successor)
        if current is not None:
            return (
                current,
                f"{written} in {where} is deprecated in SGLang {release.version}; the plan takes it as {spelled(current.name, where)}.",
            )
    instead = f"; write {spelled(option.successor, where)} instead" if option.successor else ""
    return option, f"{written} in {where} is deprecated in SGLang {release.version}{instead}."


def _explicit_settings(release: Release, settings: object) -> tuple[dict[str, Any], dict[str, Option], list[str]]:
    values: dict[str, Any] = {}
    options: dict[str, Option] = {}
    notes = []
    for key, value in plain_mapping(settings, SETTINGS).items():
        refuse_secret(key.replace("_", "-"), SETTINGS)
        if value is None:
            continue
        named = find_setting(release, key, SETTINGS)
        option, note = _under_its_name(release, named, SETTINGS)
        if not note and key.replace("-", "_") != option.key:
            note = f"{key} in {SETTINGS} is another name of {option.key}."
        notes += [note] if note else []
        if option.key in values:
            raise SglangError(f"{key} in {SETTINGS} repeats {option.key} by another name.", found=shown(value), wanted="one of the two")
        if option.key != "speculative_algorithm":
            render(option, value, SETTINGS)
        values[option.key] = _typed(option, value)
        options[option.key] = option
    return values, options, notes


def _refuse_traps(release: Release, values: dict[str, Any]) -> None:
    for key, (needed, why) in _TRAPS.items():
        if values.get(key) and not values.get(needed):
            raise SglangError(f"{key} does not do what its name says: {why}.", found=f"{key}: true", wanted=f"nothing, or {needed} as well")
    for key, what in _UNPLANNED.items():
        value = values.get(key)
        if value not in (None, False, 0, 1) or (value == 1 and key == "node_rank"):
            raise SglangError(
                f"{what.capitalize()} is not planned by this release of the collection.",
                found=f"{key}: {shown(value)}",
                wanted="tensor parallelism on one host",
                next_step=f"Remove {key}.",
            )


def read_wishes(release: Release, settings: object, extra_args: object) -> Wishes:
    """Settings and extra arguments as one set, each option at most once."""
    values, options, notes = _explicit_settings(release, settings)
    origin = dict.fromkeys(values, SETTINGS)
    decided = DECIDED | {release.strategy_option}
    for written, value in parse_extra_args(release, plain_list(extra_args, EXTRA)).items():
        option, note = _under_its_name(release, find_setting(release, written, EXTRA), EXTRA)
        key = option.key
        if key in values:
            raise SglangError(
                f"{key} stands in {SETTINGS} and in {EXTRA}.", found=f"{shown(values[key])} and {shown(value)}", wanted="one of the two"
            )
        if key in decided:
            raise SglangError(
                f"--{option.name} in {EXTRA} contradicts the plan, which decides on {key}.",
                found=f"--{option.name} {shown(value)}",
                wanted=f"{key} in {SETTINGS}, where the plan reckons with it and says what it replaced",
                next_step=f"Move it: {SETTINGS}: {{{key}: ...}}.",
            )
        notes += [note] if note else []
        values[key], options[key], origin[key] = _typed(option, value), option, EXTRA
    _refuse_traps(release, values)
    refuse_unservable(values, origin)
    return Wishes(values, options, origin, tuple(notes))


def why_set(wishes: Wishes, key: str, replaced: dict[str, Any]) -> str:
    """What an explicit option replaced: the plan's own choice, else the engine's."""
    value = wishes.values[key]
    if key in replaced and replaced[key] != value:
        return f"set; the plan would have chosen {replaced[key]}"
    default = wishes.options[key].default
    if default and default not in (str(value), str(value).lower()):
        return f"set; SGLang's own default is {default}"
    return "set"
