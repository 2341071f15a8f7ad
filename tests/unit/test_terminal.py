# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is printed while a play runs keeps to a terminal's width, and loses no word."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference.sglang.plugins.action.show_lines import ActionModule
from ansible_collections.inference.sglang.plugins.plugin_utils._long_running import LongRunningAction
from ansible_collections.inference.sglang.plugins.plugin_utils._terminal import COLUMNS, wrapped
from hypothesis import given
from hypothesis import strategies as st

LONG = "ready: " + " ".join(f"figure-{number}: {number * 11}" for number in range(60))


class Display:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def display(self, text: str) -> None:
        self.lines += text.split("\n")


@given(st.lists(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=60), min_size=1), st.integers(0, 12))
def test_a_line_keeps_its_words_and_the_width(words: list[str], lead: int) -> None:
    first, *rest = wrapped(" " * lead + " ".join(words)).split("\n")
    assert " ".join([first, *rest]).split() == words
    assert max(len(line) for line in (first, *rest)) <= COLUMNS
    assert all(line.startswith(" " * (lead + 4)) for line in rest)


def test_a_path_is_never_cut() -> None:
    path = "/opt/" + "x" * 200
    assert path in wrapped(f"clean: removed {path} and more").split()


def test_progress_is_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    action = object.__new__(LongRunningAction)
    action._display = display = Display()
    action._variables = {"inventory_hostname": "gpu1"}
    action._task = type("Task", (), {"delegate_to": None, "no_log": False})()
    action._show({"phase": "gate", "text": LONG})
    assert display.lines[0].startswith("[gpu1] gate: ready:")
    assert len(display.lines) > 3
    assert max(map(len, display.lines)) <= COLUMNS


def test_shown_lines_are_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    action: Any = object.__new__(ActionModule)
    action._display = display = Display()
    monkeypatch.setattr(ActionModule.__mro__[1], "run", lambda *_arguments: {})
    monkeypatch.setattr(ActionModule, "validate_argument_spec", lambda *_arguments, **_named: ({}, {"lines": ["short", LONG]}))
    action.run()
    assert display.lines[0] == "short"
    assert max(map(len, display.lines)) <= COLUMNS
