# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Speculative decoding with the model's own MTP layer, and the state-cache strategy that a GDN model needs with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._drafter import PATH, Drafter, check_path, read_drafter
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._model_profile import ModelProfile, profile_model
from ansible_collections.inference.sglang.plugins.module_utils._plain import Fields, plain_mapping, shown
from ansible_collections.inference.sglang.plugins.module_utils._releases import Release, place, release_of
from ansible_collections.inference.sglang.plugins.module_utils._state_cache import Reason, check_page_size, choose_strategy

NUMBERS = ("speculative_num_steps", "speculative_eagle_topk", "speculative_num_draft_tokens")
DEFAULT_STEPS = 3
MAXIMUM_STEPS = 15
_OWN_MTP = ("NEXTN", "EAGLE")
_THROUGHPUT = (
    "the declared load is throughput. Each draft token that is verified takes the memory of one more state of every running request, and "
    "with 16 requests at once the same card gave 603 tokens a second without MTP, 308 to 380 with it before any draft is accepted; "
    "speculative_algorithm: NEXTN turns it on"
)
_EXTERNAL = ("DFLASH", "EAGLE3")


@dataclass(frozen=True)
class Speculation:
    """The decision: settings to emit, and what follows from them for memory."""

    enabled: bool
    provisional: bool
    num_steps: Optional[int] = None
    num_draft_tokens: Optional[int] = None
    settings: dict[str, Any] = field(default_factory=dict)
    strategy: str = "none"
    env: dict[str, str] = field(default_factory=dict)
    fault: str = ""
    """What the release is known to do wrong with it; empty where nothing is known."""
    reasons: tuple[Reason, ...] = ()
    algorithm: Optional[str] = None
    drafter: Optional[Drafter] = None
    overlap_off: bool = False
    """Whether the release turns the overlap schedule off for this algorithm."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data, as the filter returns it."""
        flags: list[str] = []
        for key, value in self.settings.items():
            flags += ["--" + key.replace("_", "-"), str(value)]
        return {
            "enabled": self.enabled,
            "algorithm": self.algorithm,
            "num_steps": self.num_steps,
            "eagle_topk": 1 if self.enabled else None,
            "num_draft_tokens": self.num_draft_tokens,
            "provisional": self.provisional,
            "mamba_strategy": self.strategy,
            "env": dict(self.env),
            "flags": flags,
            "reasons": [reason.as_dict() for reason in self.reasons],
        }


@dataclass(frozen=True)
class _Wish:
    """What the settings say about speculation."""

    algorithm: Optional[str]
    numbers: Optional[tuple[int, int, int]]

    @property
    def forced(self) -> bool:
        return self.algorithm in _OWN_MTP


def _read_algorithm(settings: Fields, drafter: Optional[Drafter]) -> Optional[str]:
    value = settings.values.get("speculative_algorithm")
    if value is None:
        return None
    if value is False or (isinstance(value, str) and value.lower() in ("none", "off", "")):
        return "none"
    name = value.upper() if isinstance(value, str) else ""
    if drafter is not None and name != drafter.algorithm:
        raise SglangError(
            "speculative_algorithm and the drafter contradict one another.",
            found=f"speculative_algorithm: {shown(value)}, a drafter for {drafter.algorithm}",
            wanted=f"{drafter.algorithm}, none, or nothing",
            next_step=f"Remove speculative_algorithm to use the drafter, or {PATH} to use the model's own MTP layer.",
        )
    if name in _OWN_MTP or (drafter is not None and name == drafter.algorithm):
        return name
    if name in _EXTERNAL:
        raise SglangError(
            f"{name} needs an external drafter.",
            found=f"speculative_algorithm: {name}, no drafter",
            wanted=f"{PATH}, and the drafter's config.json there",
            next_step=f"Set {PATH} in sglang_server_settings.",
        )
    raise SglangError(
        f"speculative_algorithm {shown(value)} is not planned by this release of the collection.",
        found=f"speculative_algorithm: {shown(value)}",
        wanted="NEXTN (the model's own MTP layer), DFLASH or EAGLE3 with a drafter, none, or nothing for automatic",
        next_step="Remove speculative_algorithm from sglang_server_settings.",
    )


def _read_numbers(settings: Fields, drafter: Optional[Drafter]) -> Optional[tuple[int, int, int]]:
    given = [key for key in NUMBERS if settings.has(key)]
    if not given:
        return None
    if len(given) != len(NUMBERS):
        raise SglangError(
            "The three speculative numbers have to be given together, or not at all.",
            found=", ".join(f"{key}={shown(settings.values[key])}" for key in given),
            wanted=", ".join(NUMBERS),
            next_step="With one of them alone the engine dies on an assertion without a message. Give all three (3, 1, 4) or none.",
        )
    steps = settings.need_integer(NUMBERS[0], 1, MAXIMUM_STEPS)
    topk = settings.need_integer(NUMBERS[1], 1, 64)
    draft = settings.need_integer(NUMBERS[2], 1, 256)
    if topk != 1:
        raise SglangError(
            "speculative_eagle_topk other than 1 is not planned.",
            found=f"speculative_eagle_topk: {topk}",
            wanted="1 (the overlapped worker and the state cache of hybrid models are made for it)",
            next_step="Set speculative_eagle_topk to 1.",
        )
    if drafter is not None and drafter.algorithm == "DFLASH":
        if steps != 1:
            raise SglangError(
                "DFLASH drafts a whole block in one step.",
                found=f"speculative_num_steps: {steps}",
                wanted="1: the engine overrides any other number",
                next_step=f"Set {NUMBERS[0]} to 1, and the block's length as {NUMBERS[2]}.",
            )
        return steps, topk, draft
    if draft != steps + 1:
        raise SglangError(
            "speculative_num_draft_tokens contradicts speculative_num_steps.",
            found=f"{steps} steps with {draft} draft tokens",
            wanted=f"{steps + 1} draft tokens: with topk 1 the engine changes any other number to steps + 1",
            next_step=f"Set speculative_num_draft_tokens to {steps + 1}.",
        )
    return steps, topk, draft


def _read_wish(settings: Fields, drafter: Optional[Drafter]) -> _Wish:
    check_path(drafter, settings)
    wish = _Wish(_read_algorithm(settings, drafter), _read_numbers(settings, drafter))
    if wish.algorithm == "none" and wish.numbers is not None:
        raise SglangError(
            "speculative_algorithm is none, yet the speculative numbers are set.",
            found=f"speculative_num_steps: {wish.numbers[0]}",
            wanted="either",
            next_step="Remove speculative_algorithm: none, or the three numbers.",
        )
    return wish


def read_mtp_weights(value: object) -> Optional[bool]:
    """None: nobody looked. Otherwise whether the weights hold MTP tensors; a count is taken as one."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and value >= 0:
        return value > 0
    raise SglangError(
        "mtp_weights cannot be used.",
        found=shown(value),
        wanted="the number of MTP tensors, true or false, or nothing when the weights were not looked at",
    )


def _verdict(profile: ModelProfile, release: Release, mtp: Optional[bool]) -> tuple[bool, bool, str, str]:
    """Whether the weights allow MTP: (usable, provisional, why, source)."""
    name = profile.architecture.name
    if name not in release.mtp_architectures:
        why = f"SGLang {release.version} has no MTP path for {name}"
        if profile.architecture.family == "gdn":
            why += ": its rewrite of the draft's architecture does not cover the text-only class"
        return False, False, why, f"{release.source}, configs/model_config.py"
    if profile.mtp_layers_declared > 1:
        why = f"{profile.mtp_key} is {profile.mtp_layers_declared}; the engine uses exactly one MTP layer"
        return False, False, why, "config.json"
    if mtp is False:
        said = f"{profile.mtp_key} says {profile.mtp_layers_declared}, but " if profile.mtp_layers_declared else ""
        why = said + "the weights hold no MTP tensors; the engine would draft with random weights and never say so"
        return False, False, why, "tensor names of the weights"
    if mtp is True:
        return True, False, "the weights hold MTP tensors", "tensor names of the weights"
    if profile.mtp_layers_declared:
        why = f"{profile.mtp_key} is {profile.mtp_layers_declared}; provisional, because the weights were not looked at"
        return True, True, why, "config.json"
    if profile.mtp_key is not None:
        return False, False, f"{profile.mtp_key} is 0 and the weights were not looked at", "config.json"
    why = "config.json has no key for MTP layers and the weights were not looked at; only they can tell, so this is provisional"
    return False, True, why, "config.json"


def verification_dies(profile: ModelProfile, release: Release, settings: Fields) -> bool:
    """Whether speculation would meet the release's fault: a hybrid model under extra_buffer, which needs radix cache and overlap."""
    spared = settings.boolean("disable_overlap_schedule") is True or settings.boolean("disable_radix_cache") is True
    return release.verification_dies and profile.recurrent_family != "none" and not spared


def dying_words(release: Release) -> str:
    """The fault, for people."""
    return (
        f"the scheduler of SGLang {release.version} dies when a request ends while its drafts are verified, as one with structured output "
        "does (sgl-project/sglang#28407, repaired in later releases)"
    )


def _decide(
    profile: ModelProfile,
    release: Release,
    wish: _Wish,
    mtp: Optional[bool],
    settings: Fields,
    drafter: Optional[Drafter],
    throughput: bool,
) -> tuple[bool, bool, Reason]:
    flag, on_cpu = "--speculative-algorithm", settings.text("device") == "cpu"
    if wish.algorithm == "none":
        return False, False, Reason(flag, "off, because the settings say so", "sglang_server_settings")
    if drafter is not None:
        if on_cpu:
            raise SglangError("An external drafter needs a GPU.", found="device: cpu", wanted=f"no {PATH}, or a GPU")
        what = "a block-diffusion drafter" if drafter.algorithm == "DFLASH" else "an EAGLE3 head"
        why = f"{drafter.algorithm}: {what} is given, and its config.json fits this model; without {PATH} the model's own MTP layer drafts"
        return True, False, Reason(flag, why, "the drafter's config.json")
    usable, provisional, why, source = _verdict(profile, release, mtp)
    if on_cpu and usable:
        usable, provisional, why, source = False, False, "the MTP path needs a GPU", "sglang_server_settings: device"
    asked = wish.forced or wish.numbers is not None
    # An explicit wish may stand on config.json's missing word, never on the weights' or the release's no.
    if asked and not usable and not (provisional and mtp is None):
        key = "speculative_algorithm" if wish.forced else NUMBERS[0]
        raise SglangError(
            f"{key} asks for speculative decoding that this model cannot do.",
            found=why,
            wanted="weights with MTP tensors and a release that uses them",
            next_step="Remove the speculative settings, or take a checkpoint that kept its MTP layer.",
        )
    if asked and not usable:
        return True, True, Reason(flag, "NEXTN, because the settings say so; " + why, "sglang_server_settings")
    if not usable:
        return False, provisional, Reason(flag, "off: " + why, source)
    if not asked and verification_dies(profile, release, settings):
        why = f"off: {dying_words(release)}; disable_overlap_schedule: true in sglang_server_settings turns it on without that"
        return False, False, Reason(flag, why, place(release, "verification"))
    if throughput and not asked:
        return False, False, Reason(flag, "off: " + _THROUGHPUT, "measured on one H200, SGLang 0.5.11; sglang_server_workload: profile")
    return True, provisional, Reason(flag, "NEXTN: " + why, source)


def _numbers(wish: _Wish, drafter: Optional[Drafter], num_steps: int) -> tuple[int, int, int]:
    if wish.numbers is not None:
        return wish.numbers
    if drafter is not None and drafter.block is not None:
        return 1, 1, drafter.block
    return num_steps, 1, num_steps + 1


def _number_reasons(release: Release, wish: _Wish, drafter: Optional[Drafter], numbers: tuple[int, int, int]) -> list[Reason]:
    source = "sglang_server_settings" if wish.numbers else place(release, "numbers")
    alone = "all three numbers or none: one alone ends the engine on an assertion or a TypeError"
    steps, _topk, draft = numbers
    if drafter is not None and drafter.block is not None:
        texts = (
            f"1: a block is drafted in one step; {alone}",
            "1: DFLASH has no other",
            f"{draft}, the block's length" + (" in the drafter's config.json" if draft == drafter.block else ""),
        )
    else:
        layer = "the one MTP layer" if drafter is None else "the drafter"
        texts = (
            f"{steps} steps: {layer} is applied {steps} times; {alone}",
            "1: the overlapped worker supports no other",
            f"{draft} = steps + 1, as topk 1 demands",
        )
    return [Reason("--" + key.replace("_", "-"), text, source) for key, text in zip(NUMBERS, texts)]


def speculate(
    profile: ModelProfile,
    release: Release,
    mtp_weights: Optional[bool],
    settings: Fields,
    num_steps: int = DEFAULT_STEPS,
    drafter: Optional[Drafter] = None,
    throughput: bool = False,
) -> Speculation:
    """Decide on speculation and on the state-cache strategy."""
    on_cpu = settings.text("device") == "cpu"
    wish = _read_wish(settings, drafter)
    enabled, provisional, reason = _decide(profile, release, wish, mtp_weights, settings, drafter, throughput)
    reasons = [reason]
    emitted: dict[str, Any] = {}
    numbers = None
    algorithm = None
    if enabled:
        algorithm = drafter.algorithm if drafter is not None else "NEXTN"
        numbers = _numbers(wish, drafter, num_steps)
        emitted = {"speculative_algorithm": wish.algorithm if wish.forced else algorithm, **dict(zip(NUMBERS, numbers))}
        reasons += _number_reasons(release, wish, drafter, numbers)
    strategy, more, why = choose_strategy(profile, release, settings, enabled, on_cpu)
    check_page_size(release, settings, strategy)
    emitted.update(more)
    return Speculation(
        enabled=enabled,
        provisional=provisional,
        num_steps=numbers[0] if numbers else None,
        num_draft_tokens=numbers[2] if numbers else None,
        settings=emitted,
        strategy=strategy,
        env=dict(release.speculation_environment) if enabled else {},
        reasons=(*reasons, *why),
        algorithm=algorithm,
        drafter=drafter if enabled else None,
        fault=dying_words(release) if enabled and verification_dies(profile, release, settings) else "",
        overlap_off=enabled and drafter is not None and drafter.block is not None and release.dflash_overlap_off,
    )


def speculative_settings(
    config: object,
    sglang_version: object,
    mtp_weights: object = None,
    num_steps: object = DEFAULT_STEPS,
    settings: object = None,
    hf_quant_config: object = None,
    allow_unverified_release: object = False,
    drafter_config: object = None,
) -> dict[str, Any]:
    """`speculate` on plain data: what the filter and the module of this name return."""
    release = release_of(sglang_version, allow_unverified=allow_unverified_release is True)
    profile = profile_model(config, hf_quant_config)
    wishes = Fields(plain_mapping(settings, "settings"), "settings")
    if isinstance(num_steps, bool) or not isinstance(num_steps, int) or not 1 <= num_steps <= MAXIMUM_STEPS:
        raise SglangError("num_steps cannot be used.", found=shown(num_steps), wanted=f"a whole number from 1 to {MAXIMUM_STEPS}")
    drafter = read_drafter(drafter_config, profile, release)
    return speculate(profile, release, read_mtp_weights(mtp_weights), wishes, int(num_steps), drafter).as_dict()
