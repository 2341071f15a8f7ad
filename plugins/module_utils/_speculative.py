# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Speculative decoding with the model's own MTP layer, and the state-cache strategy that a GDN model needs with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._model_profile import ModelProfile, profile_model
from ansible_collections.inference.sglang.plugins.module_utils._plain import Fields, plain_mapping, shown
from ansible_collections.inference.sglang.plugins.module_utils._releases import Release, place, release_of

NUMBERS = ("speculative_num_steps", "speculative_eagle_topk", "speculative_num_draft_tokens")
DEFAULT_STEPS = 3
MAXIMUM_STEPS = 15
_OWN_MTP = ("NEXTN", "EAGLE")


@dataclass(frozen=True)
class Reason:
    """Why a flag is there (or is not), and where that is known from."""

    flag: str
    why: str
    source: str

    def as_dict(self) -> dict[str, str]:
        """Plain data."""
        return {"flag": self.flag, "why": self.why, "source": self.source}


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
    reasons: tuple[Reason, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain data, as the filter returns it."""
        flags: list[str] = []
        for key, value in self.settings.items():
            flags += ["--" + key.replace("_", "-"), str(value)]
        return {
            "enabled": self.enabled,
            "algorithm": "NEXTN" if self.enabled else None,
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


def _read_algorithm(settings: Fields) -> Optional[str]:
    value = settings.values.get("speculative_algorithm")
    if value is None:
        return None
    if value is False or (isinstance(value, str) and value.lower() in ("none", "off", "")):
        return "none"
    if isinstance(value, str) and value.upper() in _OWN_MTP:
        return value.upper()
    raise SglangError(
        f"speculative_algorithm {shown(value)} is not planned by this release of the collection.",
        found=f"speculative_algorithm: {shown(value)}",
        wanted="NEXTN (the model's own MTP layer), none, or nothing for automatic",
        next_step="Remove speculative_algorithm from sglang_server_settings.",
    )


def _read_numbers(settings: Fields) -> Optional[tuple[int, int, int]]:
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
    if draft != steps + 1:
        raise SglangError(
            "speculative_num_draft_tokens contradicts speculative_num_steps.",
            found=f"{steps} steps with {draft} draft tokens",
            wanted=f"{steps + 1} draft tokens: with topk 1 the engine changes any other number to steps + 1",
            next_step=f"Set speculative_num_draft_tokens to {steps + 1}.",
        )
    return steps, topk, draft


def _read_wish(settings: Fields) -> _Wish:
    if settings.has("speculative_draft_model_path"):
        raise SglangError(
            "An external drafter is not planned by this release of the collection.",
            found=f"speculative_draft_model_path: {shown(settings.values['speculative_draft_model_path'])}",
            wanted="the model's own MTP layer, which needs no path",
            next_step="Remove speculative_draft_model_path from sglang_server_settings.",
        )
    wish = _Wish(_read_algorithm(settings), _read_numbers(settings))
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


def _decide(profile: ModelProfile, release: Release, wish: _Wish, mtp: Optional[bool], on_cpu: bool) -> tuple[bool, bool, Reason]:
    flag = "--speculative-algorithm"
    if wish.algorithm == "none":
        return False, False, Reason(flag, "off, because the settings say so", "sglang_server_settings")
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
    return True, provisional, Reason(flag, "NEXTN: " + why, source)


def _check_explicit_strategy(release: Release, settings: Fields, enabled: bool, radix: bool, strategy: str, has_state: bool) -> None:
    option = release.strategy_option

    def refuse(wrong: str, wanted: str, step: str) -> SglangError:
        return SglangError(wrong, found=f"{option}: {strategy}", wanted=wanted, next_step=step)

    buffered = strategy.startswith("extra_buffer")
    if not has_state and strategy != "auto":
        raise refuse(f"{option} is set, but the model has no such state.", "no setting", f"Remove {option} from sglang_server_settings.")
    if buffered and not radix and release.extra_buffer_refuses_radix_off:
        raise refuse(
            f"{option} {strategy} and disable_radix_cache exclude one another in SGLang {release.version}.", "one of the two", "Remove one."
        )
    if strategy == "extra_buffer_lazy" and enabled and not release.lazy_with_speculation:
        raise refuse(
            f"SGLang {release.version} does not take {option} {strategy} with speculative decoding.",
            "extra_buffer",
            f"Remove {option}, or turn speculation off.",
        )
    effective = release.strategy_auto if strategy == "auto" else strategy
    if effective == "no_buffer" and enabled and radix and release.no_buffer_refuses_speculation:
        raise refuse(
            f"SGLang {release.version} refuses speculative decoding with the radix cache under {option} {strategy}.",
            "extra_buffer",
            f"Remove {option} from sglang_server_settings.",
        )
    overlap_off = settings.boolean("disable_overlap_schedule") is True
    if strategy == "no_buffer" and radix and release.no_buffer_needs_overlap_off and not overlap_off:
        raise refuse(
            f"SGLang {release.version} takes {option} no_buffer only without the overlap schedule.",
            "disable_overlap_schedule: true beside it",
            f"Remove {option}, or set disable_overlap_schedule too.",
        )


def _strategy(
    profile: ModelProfile, release: Release, settings: Fields, enabled: bool, on_cpu: bool
) -> tuple[str, dict[str, Any], list[Reason]]:
    """How the state cache keeps states: (effective strategy, settings to emit, reasons)."""
    option = release.strategy_option
    flag = "--" + option.replace("_", "-")
    radix = settings.boolean("disable_radix_cache") is not True
    explicit = settings.text(option)
    has_state = profile.recurrent_family != "none" and not on_cpu
    name = profile.architecture.name
    if has_state and name in release.radix_off_architectures:
        radix = False
    if explicit is not None:
        _check_explicit_strategy(release, settings, enabled, radix, explicit, has_state)
    if not has_state:
        return "none", {}, []
    if not radix:
        why = "left alone: without the radix cache the engine keeps one state a request"
        if name in release.radix_off_architectures:
            why = f"left alone: SGLang {release.version} turns the radix cache off for {name}, and keeps one state a request"
        return "radix_off", {}, [Reason(flag, why, release.source)]
    if explicit not in (None, "auto"):
        return str(explicit), {}, []
    if name not in release.extra_buffer_architectures:
        why = f"left alone: SGLang {release.version} does not know extra_buffer for {name}; no_buffer, without the overlap schedule"
        return "no_buffer", {}, [Reason(flag, why, release.source)]
    if not release.strategy_needs_flag:
        overlap_off = settings.boolean("disable_overlap_schedule") is True
        picked = "no_buffer" if overlap_off and not (settings.integer("page_size", 1) or 1) > 1 else "extra_buffer"
        return picked, {}, [Reason(flag, f"not needed: SGLang {release.version} picks {picked} by itself", release.source)]
    why = "keeps the overlap schedule on, which the default no_buffer turns off"
    if enabled:
        why = "SGLang refuses speculation with the radix cache under its default, no_buffer"
    return "extra_buffer", {option: "extra_buffer"}, [Reason(flag, why, place(release, "strategy"))]


def _check_page_size(release: Release, settings: Fields, strategy: str) -> None:
    page = settings.integer("page_size", 1, 1 << 20)
    if page is None or page == 1:
        return
    if strategy == "no_buffer":
        raise SglangError(
            "page_size other than 1 does not work with the no_buffer state cache.",
            found=f"page_size: {page}",
            wanted="1, or the extra_buffer strategy",
        )
    chunk = release.recurrent_chunk
    if strategy.startswith("extra_buffer") and (release.track_interval % page or max(chunk, page) % min(chunk, page)):
        raise SglangError(
            "page_size does not fit the recurrent state's tracking.",
            found=f"page_size: {page}",
            wanted=f"a divisor of {release.track_interval} that divides, or is divided by, {chunk}: 1, 2, 4, 8, 16, 32, 64, 128, 256",
            next_step="Set page_size to one of these, or remove it.",
        )


def speculate(
    profile: ModelProfile,
    release: Release,
    mtp_weights: Optional[bool],
    settings: Fields,
    num_steps: int = DEFAULT_STEPS,
) -> Speculation:
    """Decide on speculation and on the state-cache strategy."""
    on_cpu = settings.text("device") == "cpu"
    wish = _read_wish(settings)
    enabled, provisional, reason = _decide(profile, release, wish, mtp_weights, on_cpu)
    reasons = [reason]
    emitted: dict[str, Any] = {}
    steps = None
    if enabled:
        steps = wish.numbers[0] if wish.numbers else num_steps
        emitted = {
            "speculative_algorithm": wish.algorithm if wish.forced else "NEXTN",
            NUMBERS[0]: steps,
            NUMBERS[1]: 1,
            NUMBERS[2]: steps + 1,
        }
        source = "sglang_server_settings" if wish.numbers else place(release, "numbers")
        alone = "all three numbers or none: one alone ends the engine on an assertion or a TypeError"
        reasons.append(Reason("--speculative-num-steps", f"{steps} steps: the one MTP layer is applied {steps} times; {alone}", source))
        reasons.append(Reason("--speculative-eagle-topk", "1: the overlapped worker supports no other", source))
        reasons.append(Reason("--speculative-num-draft-tokens", f"{steps + 1} = steps + 1, as topk 1 demands", source))
    strategy, more, why = _strategy(profile, release, settings, enabled, on_cpu)
    _check_page_size(release, settings, strategy)
    emitted.update(more)
    draft = steps + 1 if steps is not None else None
    environment = dict(release.speculation_environment) if enabled else {}
    return Speculation(enabled, provisional, steps, draft, emitted, strategy, environment, (*reasons, *why))


def speculative_settings(
    config: object,
    sglang_version: object,
    mtp_weights: object = None,
    num_steps: object = DEFAULT_STEPS,
    settings: object = None,
    hf_quant_config: object = None,
    allow_unverified_release: object = False,
) -> dict[str, Any]:
    """`speculate` on plain data: what the filter and the module of this name return."""
    release = release_of(sglang_version, allow_unverified=allow_unverified_release is True)
    profile = profile_model(config, hf_quant_config)
    wishes = Fields(plain_mapping(settings, "settings"), "settings")
    if isinstance(num_steps, bool) or not isinstance(num_steps, int) or not 1 <= num_steps <= MAXIMUM_STEPS:
        raise SglangError("num_steps cannot be used.", found=shown(num_steps), wanted=f"a whole number from 1 to {MAXIMUM_STEPS}")
    return speculate(profile, release, read_mtp_weights(mtp_weights), wishes, int(num_steps)).as_dict()
