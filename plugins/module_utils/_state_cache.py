# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""How a hybrid model's recurrent states are kept: the strategy of the state cache, by release and family."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._model_profile import ModelProfile
from ansible_collections.inference.sglang.plugins.module_utils._plain import Fields
from ansible_collections.inference.sglang.plugins.module_utils._releases import Release, place


@dataclass(frozen=True)
class Reason:
    """Why a flag is there (or is not), and where that is known from."""

    flag: str
    why: str
    source: str

    def as_dict(self) -> dict[str, str]:
        """Plain data."""
        return {"flag": self.flag, "why": self.why, "source": self.source}


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


def choose_strategy(
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
    if explicit == "no_buffer" and enabled and release.no_buffer_turns_radix_off:
        why = f"set; SGLang {release.version} then turns the radix cache off, and keeps one state a request"
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


def check_page_size(release: Release, settings: Fields, strategy: str) -> None:
    """Refuse a page size that the strategy cannot work with."""
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
