# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reading values that others wrote: plain copies of JSON, and typed look-ups that name the key when it is wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError

MAXIMUM_DEPTH = 32
MAXIMUM_INTEGER = 10**15
_SHOWN = 120


def shown(value: object) -> str:
    """A short, safe picture of a value for a message."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer too long to print, or endless nesting
        return f"a {type(value).__name__} too large to show"
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def _text(value: str, name: str) -> str:
    """Text that can be written to a file: half of a surrogate pair, as ``"\\ud800"`` in JSON gives it, cannot."""
    text = str.__str__(value)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        step = "Remove the broken character; it comes from text that was cut or wrongly decoded."
        raise SglangError(f"{name} holds text that is not Unicode.", shown(text), "text that UTF-8 can hold", step) from None
    return text


def plain(value: object, name: str, depth: int = 0) -> Any:
    """A deep copy out of dict, list, str, int, float, bool and None only: drops Ansible's tagged types, refuses the rest."""
    if depth > MAXIMUM_DEPTH:
        raise SglangError(f"{name} is nested too deeply.", wanted=f"at most {MAXIMUM_DEPTH} levels")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value, name)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, Mapping):
        copy: dict[str, Any] = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise SglangError(f"{name} has a key that is not text.", found=shown(key), wanted="names as keys")
            copy[_text(key, name)] = plain(item, name, depth + 1)
        return copy
    if isinstance(value, (list, tuple)):
        return [plain(item, name, depth + 1) for item in value]
    raise SglangError(f"{name} holds a value that is not JSON.", found=f"{type(value).__name__} {shown(value)}", wanted="JSON values")


def plain_mapping(value: object, name: str) -> dict[str, Any]:
    """`plain`, for what has to be a mapping; nothing at all is the empty one."""
    if value is None:
        return {}
    copy = plain(value, name)
    if not isinstance(copy, dict):
        raise SglangError(f"{name} is not a mapping.", found=shown(copy), wanted="a mapping of names to values")
    return copy


def plain_list(value: object, name: str) -> list[Any]:
    """`plain`, for what has to be a list; nothing at all is the empty one."""
    if value is None:
        return []
    copy = plain(value, name)
    if not isinstance(copy, list):
        raise SglangError(f"{name} is not a list.", found=shown(copy), wanted="a list")
    return copy


class Fields:
    """Typed look-ups in one mapping; `where` is what a message calls it (config.json, text_config, sglang_server_settings)."""

    def __init__(self, values: dict[str, Any], where: str) -> None:
        self.values = values
        self.where = where

    def has(self, key: str) -> bool:
        """Whether the key is there with anything but null."""
        return self.values.get(key) is not None

    def wrong(self, key: str, wanted: str) -> SglangError:
        """The refusal for a value of the wrong kind."""
        published = ", or use the file its publisher made" if self.where.endswith(".json") else ""
        return SglangError(
            f"{key} in {self.where} cannot be used.",
            found=shown(self.values.get(key)),
            wanted=wanted,
            next_step=f"Correct {key} in {self.where}{published}.",
        )

    def integer(self, key: str, minimum: int = 0, maximum: int = MAXIMUM_INTEGER) -> Optional[int]:
        """A whole number, or None when the key is absent or null."""
        value = self.values.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
            raise self.wrong(key, f"a whole number from {minimum} to {maximum}")
        return value

    def need_integer(self, key: str, minimum: int = 1, maximum: int = MAXIMUM_INTEGER) -> int:
        """A whole number that has to be there."""
        value = self.integer(key, minimum, maximum)
        if value is None:
            raise SglangError(
                f"{key} is missing in {self.where}.", wanted="a whole number", next_step="Give the model's complete config.json."
            )
        return value

    def first_integer(self, keys: tuple[str, ...], minimum: int = 0) -> tuple[Optional[int], Optional[str]]:
        """The first of several spellings that is there, with its name."""
        for key in keys:
            value = self.integer(key, minimum)
            if value is not None:
                return value, key
        return None, None

    def number(self, key: str, minimum: float, maximum: float) -> Optional[float]:
        """A finite number, or None when absent."""
        value = self.values.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.wrong(key, f"a number from {minimum} to {maximum}")
        if not math.isfinite(value) or not minimum <= value <= maximum:
            raise self.wrong(key, f"a number from {minimum} to {maximum}")
        return float(value)

    def text(self, key: str) -> Optional[str]:
        """Text, or None when absent."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self.wrong(key, "text")
        return value

    def boolean(self, key: str) -> Optional[bool]:
        """True, false, or None when absent."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false")
        return value

    def list(self, key: str) -> Optional[list[Any]]:
        """A list, or None when absent."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, list):
            raise self.wrong(key, "a list")
        return value

    def mapping(self, key: str) -> Optional[Fields]:
        """Look-ups in a mapping below this one, or None when absent."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.wrong(key, "a mapping")
        return Fields(value, f"{key} of {self.where}")


LAST_PORT = 65535


def refuse_port(value: object, name: str) -> None:
    """Refuse what is no TCP port that can be listened on and asked for."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LAST_PORT:
        raise SglangError(
            f"{name} names no TCP port.",
            found=shown(value),
            wanted=f"1 to {LAST_PORT}",
            next_step=f"Take a free port of the host for {name}.",
        )


def as_mapping(value: Any) -> Mapping[str, Any]:
    """A part of a file that somebody may have changed: what is no mapping holds nothing."""
    return value if isinstance(value, Mapping) else {}
