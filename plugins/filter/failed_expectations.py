# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which of a site's expectations do not hold."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError

try:
    import jmespath
except ImportError:
    HAS_JMESPATH = False
else:
    HAS_JMESPATH = True

DOCUMENTATION = r"""
name: failed_expectations
short_description: Expectations that do not hold of a server's figures
version_added: "0.1.0"
author: inference.sglang maintainers (@inference-sglang)
description:
  - Evaluates JMESPath expressions over what is known of a server. An expectation holds when its expression yields C(true).
  - Needs C(jmespath) in the controller's Python.
positional: expectations
options:
  _input:
    description: What is known, for instance C(plan), C(gate) and C(probe).
    type: dict
    required: true
  expectations:
    description: JMESPath expressions.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- ansible.builtin.assert:
    that: seen | inference.sglang.failed_expectations(['probe.accept_length > `1.5`']) | length == 0
"""

RETURN = r"""
_value:
  description: One line for each expectation that does not hold, with what it yielded.
  type: list
  elements: str
"""


def _detail(expression: str, value: Any, seen: Any) -> str:
    """What was found: of a comparison both sides, else what the expression yields."""
    tree = jmespath.compile(expression).parsed
    if tree["type"] != "comparator":
        return f"it yields {value!r}"
    left, right = (jmespath.visitor.TreeInterpreter().visit(child, seen) for child in tree["children"])
    return f"{left!r} against {right!r}"


def _require_jmespath() -> None:
    if not HAS_JMESPATH:
        error = SglangError(
            "expectations cannot be evaluated",
            found=f"no module jmespath in the controller's Python ({sys.executable})",
            wanted="jmespath >= 1.0",
            next_step=f"{sys.executable} -m pip install jmespath, or leave sglang_server_expectations empty",
        )
        raise AnsibleFilterError(str(error))


def _wrong(expression: Any, error: object) -> AnsibleFilterError:
    wrong = SglangError(
        "an expectation is no JMESPath expression",
        found=f"{expression}: {error}",
        wanted="for instance probe.accept_length > `1.5`",
        next_step="correct sglang_server_expectations",
    )
    return AnsibleFilterError(str(wrong))


def failed_expectations(seen: Any, expectations: Any) -> list[str]:
    """The expectations that do not hold."""
    _require_jmespath()
    failed = []
    for expression in expectations:
        try:
            value = jmespath.search(str(expression), seen)
            if value is not True:
                failed.append(f"{expression} ({_detail(str(expression), value, seen)})")
        except jmespath.exceptions.JMESPathError as error:
            raise _wrong(expression, error) from error
    return failed


def _functions(tree: Any) -> Iterator[tuple[str, int]]:
    """The functions that a parsed expression calls, each with its number of arguments."""
    if tree["type"] == "function_expression":
        yield tree["value"], len(tree["children"])
    for child in tree["children"]:
        if isinstance(child, dict):
            yield from _functions(child)


def checked_expectations(expectations: Any) -> list[str]:
    """The expectations as they are; one that no server could ever fulfil is an error now, not after the switch."""
    if not isinstance(expectations, list):
        raise _wrong(expectations, "not a list of expressions")
    if not expectations:
        return []
    _require_jmespath()
    table = jmespath.functions.Functions.FUNCTION_TABLE
    for expression in expectations:
        try:
            for name, count in _functions(jmespath.compile(str(expression)).parsed):
                if name not in table:
                    raise _wrong(expression, f"there is no function {name}")
                signature = table[name]["signature"]
                if count < len(signature) or (count > len(signature) and not (signature and signature[-1].get("variadic"))):
                    raise _wrong(expression, f"{name} takes {len(signature)} arguments, not {count}")
        except jmespath.exceptions.JMESPathError as error:
            raise _wrong(expression, error) from error
    return [str(expression) for expression in expectations]


class FilterModule:
    """Ansible's way to find the filter."""

    def filters(self) -> dict[str, Any]:
        """The filters of this file."""
        return {"failed_expectations": failed_expectations}
