# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A site's expectations over figures."""

from __future__ import annotations

import sys

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.inference.sglang.plugins.filter import failed_expectations as module
from ansible_collections.inference.sglang.plugins.filter.failed_expectations import checked_expectations, failed_expectations

SEEN = {"probe": {"accept_length": 1.0, "answer": "Paris"}, "gate": {"ranks": {"TP0": {"kv_tokens": 10}}}}


def test_an_expectation_that_holds_says_nothing() -> None:
    assert failed_expectations(SEEN, ["probe.accept_length >= `1.0`", "contains(probe.answer, 'Paris')"]) == []


@pytest.mark.parametrize(
    ("expression", "detail"),
    [
        ("probe.accept_length > `1.5`", "1.0 against 1.5"),
        ("gate.ranks.TP0.kv_tokens > probe.accept_length && `false`", "it yields False"),
        ("probe.nothing", "it yields None"),
        ("probe.answer", "it yields 'Paris'"),
    ],
)
def test_one_that_does_not_hold_says_what_was_found(expression: str, detail: str) -> None:
    (line,) = failed_expectations(SEEN, [expression])
    assert line == f"{expression} ({detail})"


def test_a_broken_expression_is_an_error_of_the_site() -> None:
    with pytest.raises(AnsibleFilterError, match="no JMESPath expression"):
        failed_expectations(SEEN, ["probe..x"])


def test_a_controller_without_jmespath_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HAS_JMESPATH", False)
    with pytest.raises(AnsibleFilterError, match="no module jmespath") as caught:
        failed_expectations(SEEN, ["`true`"])
    assert sys.executable in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        ["probe.accept_length >"],
        ["true", "probe..x"],
        ["absent(probe)"],
        ["length()"],
        ["contains(probe, 'a', 'b')"],
        [""],
        "probe.x",
        None,
    ],
)
def test_what_could_never_be_evaluated_is_refused_beforehand(wrong: object) -> None:
    with pytest.raises(AnsibleFilterError, match="sglang_server_expectations"):
        checked_expectations(wrong)


def test_what_can_be_evaluated_is_let_through_without_any_figures() -> None:
    right = [
        "probe.accept_length > `1.5`",
        "contains(probe.answer, 'Paris')",
        "length(gate.ranks[?used > `1`]) == `2`",
        "not_null(a, b, c) == `1`",
    ]
    assert checked_expectations(right) == right
    assert checked_expectations([]) == []
