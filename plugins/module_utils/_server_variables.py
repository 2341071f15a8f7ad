# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What can be told of the role's variables alone, before anything is built, stopped or sent to a host. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._refused_options import ROLE_OPTIONS, role_option

KEY = "sglang_server_api_key"
# The launcher keeps no shorter word out of the log: it would blank out harmless text as well.
SHORTEST_KEY = 6
LONGEST_KEY = 1024


def key_fault(key: object) -> Optional[SglangError]:
    """Why this cannot be an API key: it has to pass a credential file, an argument and an HTTP header. Never with the key itself."""
    wanted = f"text of {SHORTEST_KEY} to {LONGEST_KEY} printable ASCII characters without blanks, or '' for a server without a key"
    next_step = "make one with: openssl rand -hex 32"
    if not isinstance(key, str):
        kind = "null" if key is None else f"a value of the type {type(key).__name__}"
        return SglangError(f"{KEY} is no text", kind, wanted, "write it in quotes")
    wrong = [index for index, character in enumerate(key, 1) if not 33 <= ord(character) <= 126]
    if wrong:
        found = f"a blank, a line break or another such character, the first at place {wrong[0]} of {len(key)}"
        return SglangError(f"{KEY} holds characters that an HTTP header cannot carry", found, wanted, f"remove them, or {next_step}")
    if key and not SHORTEST_KEY <= len(key) <= LONGEST_KEY:
        return SglangError(f"{KEY} has the wrong length", f"{len(key)} characters", wanted, next_step)
    return None


def _names(extra_args: object) -> list[str]:
    words = extra_args if isinstance(extra_args, Sequence) and not isinstance(extra_args, str) else []
    return [str(word)[2:].partition("=")[0] for word in words if str(word).startswith("--")]


def option_faults(settings: object, extra_args: object, has_key: bool) -> list[SglangError]:
    """Options that belong into a variable of the role, and one that would write the key into a file."""
    faults = []
    for where, names in (
        ("sglang_server_settings", [key for key, value in settings.items() if value is not None] if isinstance(settings, Mapping) else []),
        ("sglang_server_extra_args", _names(extra_args)),
    ):
        for name in names:
            own = role_option(name)
            if own is not None:
                variable = ROLE_OPTIONS[own]
                faults.append(SglangError(f"{name} in {where} contradicts the role", str(name), f"{variable}", f"set {variable} instead"))
            elif has_key and str(name).replace("-", "_") == "crash_dump_folder":
                wanted = "no such folder for a server with a key: the engine writes all its arguments into it, the key too"
                faults.append(SglangError(f"{name} in {where} would write the API key into files", str(name), wanted, "remove it"))
    return faults


def variable_faults(variables: Mapping[str, Any]) -> list[str]:
    """Every fault of the variables ``api_key``, ``settings`` and ``extra_args``, each as a text for a person."""
    key = variables.get("api_key", "")
    fault = key_fault(key)
    faults = option_faults(variables.get("settings"), variables.get("extra_args"), bool(key))
    return [str(error) for error in ([fault] if fault else []) + faults]
