# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The one error a person meets: what is wrong, what was found, what was wanted, what to do next."""

from __future__ import annotations


class SglangError(Exception):
    """A refusal in four parts, so that no message can forget to say what to do next."""

    def __init__(self, wrong: str, found: str = "", wanted: str = "", next_step: str = "") -> None:
        self.wrong = wrong
        self.found = found
        self.wanted = wanted
        self.next_step = next_step
        super().__init__(str(self))

    def __str__(self) -> str:
        parts = [self.wrong]
        for label, text in (("found", self.found), ("wanted", self.wanted), ("next", self.next_step)):
            if text:
                parts.append(f"  {label}: {text}")
        return "\n".join(parts)

    def as_result(self) -> dict[str, object]:
        """Keyword arguments for ``AnsibleModule.fail_json``."""
        return {
            "msg": str(self),
            "error": {"wrong": self.wrong, "found": self.found, "wanted": self.wanted, "next": self.next_step},
        }


class CodedError(SglangError):
    """A refusal with a stable code, which its message begins with and docs/troubleshooting.md explains."""

    def __init__(self, code: str, wrong: str, found: str = "", wanted: str = "", next_step: str = "") -> None:
        self.code = code
        super().__init__(f"{code}: {wrong}", found, wanted, next_step)

    def as_result(self) -> dict[str, object]:
        """With the code by itself as well."""
        return {**super().as_result(), "code": self.code}
