# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The attention backend and the page size that the engine picks by itself, for the engine check to compare.

The rules are those of get_default_attn_backend and of the overrides for single classes; the engine matrix holds them against the real
resolution. None where no rule is known here: a plan does not depend on it.
"""

from __future__ import annotations

from typing import Optional

from ansible_collections.inference.sglang.plugins.module_utils._gpus import Gpu
from ansible_collections.inference.sglang.plugins.module_utils._model_profile import ModelProfile
from ansible_collections.inference.sglang.plugins.module_utils._plain import Fields
from ansible_collections.inference.sglang.plugins.module_utils._releases import Release

SM100 = (100, 103)
_KEYS = ("attention_backend", "prefill_attention_backend", "decode_attention_backend")
_SPARSE = frozenset({"DeepseekV32ForCausalLM", "GlmMoeDsaForCausalLM"})
_SINKS = frozenset({"GptOssForCausalLM", "MiMoV2FlashForCausalLM"})
"""Classes with learned attention sinks, which FlashInfer does not know."""


def _on_sm100(profile: ModelProfile, release: Release, page: int) -> Optional[str]:
    family, name = profile.recurrent_family, profile.architecture.name
    if family == "gdn":
        return "trtllm_mha" if page == 64 else "triton"
    if family != "none":
        return None
    if profile.is_mla:
        return "trtllm_mla"
    return None if name == "MiMoV2FlashForCausalLM" else "trtllm_mha"


def attention_backend(profile: ModelProfile, release: Release, settings: Fields, gpu: Gpu, page: int) -> Optional[str]:
    """What --attention-backend resolves to. `page` is the page size of a hybrid's plan, which goes with the backend on sm100."""
    explicit = settings.text(_KEYS[0])
    if explicit is not None or any(settings.has(key) for key in _KEYS):
        return explicit
    name = profile.architecture.name
    if name in _SPARSE:
        return release.sparse_backend
    if gpu.capability // 10 == 9:
        return "fa3"
    if gpu.capability in SM100:
        return _on_sm100(profile, release, page)
    if profile.is_mla or name in _SINKS:
        return "triton"
    return "flashinfer"


def resolved_page_size(backend: Optional[str], profile: ModelProfile, page: int, explicit: bool) -> Optional[int]:
    """Tokens of a cache page as resolved; None where it is the backend's choice and no rule is known."""
    if explicit:
        return page
    if profile.recurrent_family == "gdn" and backend in (None, "fa3", "flashinfer", "triton", "trtllm_mha"):
        return 64 if backend == "trtllm_mha" else page
    if profile.architecture.name in _SPARSE or backend in ("trtllm_mha", "trtllm_mla"):
        return 64
    return 1 if backend in ("fa3", "flashinfer", "triton") else None
