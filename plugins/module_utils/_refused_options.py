# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Options of the engine that this collection cannot let through: the role has a variable for them, or gate and probe need the default.

Without this the engine would start, and a healthy server would be taken down again because nobody could see that it is one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._options import option_table
from ansible_collections.inference.sglang.plugins.module_utils._plain import refuse_port, shown
from ansible_collections.inference.sglang.plugins.module_utils._releases import RELEASES

# The role passes these itself, and asks the server where its own variables say.
ROLE_OPTIONS = {
    "host": "sglang_server_host",
    "model_path": "sglang_server_model_path",
    "port": "sglang_server_port",
    "served_model_name": "sglang_server_served_model_name",
}
_GPUS = "the instance's GPUs are those that its unit shows to the engine, counted from 0"
# pattern of keys -> (why, what to do instead); by pattern, as releases have different options of a kind
_REFUSED = (
    (re.compile(r"base_gpu_id|gpu_id_step"), _GPUS, "Choose the GPUs with sglang_server_gpus."),
    (
        re.compile(r"ssl_\w+|\w+_ssl_refresh"),
        "the probe and the clients' address speak plain HTTP",
        "Put a proxy that does TLS in front of the server.",
    ),
    (re.compile(r"(?:\w+_)?grpc_mode"), "the probe asks for an answer over the OpenAI API", "Remove it."),
    (
        re.compile(r"is_embedding"),
        "the probe asks for an answer in words",
        "Remove it: embedding models are not served by this collection.",
    ),
)
# key -> (values that work, why, what to do)
_LIMITED = {
    "log_level": (("info", "debug"), "the log gate reads lines of the level info", "Remove it, or take debug."),
    "disaggregation_mode": (("null",), "half a server answers no question", "Remove it: prefill and decode servers are not planned."),
}


def _is_default(key: str, value: object) -> bool:
    """The engine's own default says nothing, and harms nothing."""
    return value in (None, False, "") if key != "gpu_id_step" else value in (None, 1)


def refuse_unservable(values: Mapping[str, Any], origin: Mapping[str, str]) -> None:
    """By canonical key, with the variable that each value is from: what the gate or the probe could not survive."""
    for key, value in values.items():
        where = origin.get(key, "sglang_server_settings")
        if key == "port" or (key.endswith("_port") and value is not None):
            refuse_port(value, "sglang_server_port" if key == "port" else f"{key} in {where}")
        for pattern, why, instead in _REFUSED:
            if pattern.fullmatch(key) and not _is_default(key, value):
                raise SglangError(
                    f"{key} in {where} cannot be used: {why}.", found=f"{key}: {shown(value)}", wanted="nothing", next_step=instead
                )
        allowed, why, instead = _LIMITED.get(key, ((), "", ""))
        if allowed and value is not None and value not in allowed:
            raise SglangError(
                f"{key} in {where} cannot be used: {why}.", found=f"{key}: {shown(value)}", wanted=" or ".join(allowed), next_step=instead
            )


def role_option(name: object) -> Optional[str]:
    """The canonical key of an option that the role passes itself, by any spelling in any known release; None for another."""
    dashed = str(name).replace("_", "-")
    for release in RELEASES.values():
        option = option_table(release).find(dashed)
        if option is not None and option.key in ROLE_OPTIONS:
            return option.key
    return None
