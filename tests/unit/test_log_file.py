# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A log file that systemd could not open, or would ignore, is refused before the switch."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._log_file import check_log_file, normal_log_file
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("given_", "normal"),
    [("/var/log/../log/x.log", "/var/log/x.log"), ("/var/./log//x.log", "/var/log/x.log"), ("//x", "/x"), ("", ""), ("x.log", "x.log")],
)
def test_systemd_gets_a_path_that_it_does_not_ignore(given_: str, normal: str) -> None:
    assert normal_log_file(given_) == normal


@given(st.lists(st.sampled_from(["..", ".", "", "a", "b c"]), max_size=6).map(lambda parts: "/" + "/".join([*parts, "x.log"])))
def test_every_path_becomes_normal(path: str) -> None:
    parts = normal_log_file(path).split("/")
    assert parts[0] == "" and not {"", ".", ".."}.intersection(parts[1:])


def test_a_directory_is_no_file() -> None:
    with pytest.raises(SglangError, match="named like a directory"):
        normal_log_file("/var/log/")


def test_a_file_or_nothing_yet_is_fine(tmp_path: Path) -> None:
    check_log_file(str(tmp_path / "new.log"))
    (tmp_path / "old.log").write_text("")
    (tmp_path / "link.log").symlink_to("old.log")
    check_log_file(str(tmp_path / "old.log"))
    check_log_file(str(tmp_path / "link.log"))


def test_what_cannot_be_appended_to_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("")
    (tmp_path / "nowhere").symlink_to(tmp_path / "none" / "x.log")
    for name, said in (
        ("none/x.log", "directory does not exist"),
        ("file/x.log", "directory does not exist"),
        ("pipe", "no regular file"),
        (".", "no regular file"),
        ("nowhere", "leads nowhere"),
    ):
        with pytest.raises(SglangError, match=said) as error:
            check_log_file(f"{tmp_path}/{name}")
        assert "sglang_server_log_file" in error.value.next_step
