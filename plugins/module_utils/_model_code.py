# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whether a release can read a config.json by itself: else the model's repository has to bring the code, and somebody has to trust it."""

from __future__ import annotations

from typing import Optional

from ansible_collections.inference.sglang.plugins.module_utils._architectures import MODEL_TYPES
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._model_profile import ModelProfile
from ansible_collections.inference.sglang.plugins.module_utils._plain import shown
from ansible_collections.inference.sglang.plugins.module_utils._releases import Release, first_reader, place
from ansible_collections.inference.sglang.plugins.module_utils._wishes import SETTINGS

_TRUST = f"{SETTINGS}.trust_remote_code: true (that code runs on the host: read it first)"


def refuse_unread(profile: ModelProfile, release: Release, trusted: bool) -> None:
    """Refuse a model type that the release has no configuration class for, unless the model's repository brings one that is trusted."""
    name = profile.model_type
    if name not in release.unread_types or (profile.brings_config_code and trusted):
        return
    reader = first_reader(str(name))
    newer = [f"set ml_env_sglang_version to {reader} or newer"] if reader else []
    code, step = "named by auto_map, but not trusted", f"Set {_TRUST}"
    if not profile.brings_config_code:
        code, step = "none named (auto_map)", f"Take config.json and its code from the model's own repository and set {_TRUST}"
    raise SglangError(
        f"SGLang {release.version} cannot read the model type {shown(name)}.",
        found=f"model_type: {name}, code of the repository: {code}",
        wanted=f"a type that it or transformers {release.transformers} has a configuration class for ({place(release, 'model_types')})",
        next_step=", or ".join([step, *newer]) + ".",
    )


def note_unknown(profile: ModelProfile, trusted: bool) -> Optional[str]:
    """A warning for a type whose readers nobody looked up: the engine check on the host tells."""
    if profile.model_type in MODEL_TYPES:
        return None
    code = "" if trusted or not profile.brings_config_code else f" It may need the code that its auto_map names: {_TRUST}."
    return f"Whether this release reads model_type {shown(profile.model_type)} is not known here; the engine check on the host tells.{code}"
