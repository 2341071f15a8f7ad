# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whose the unit, the process, the port and the key on a host are."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.inference.sglang.plugins.module_utils import _live_unit as live_unit
from ansible_collections.inference.sglang.plugins.module_utils._listeners import Listener, Proc
from ansible_collections.inference.sglang.plugins.module_utils._server_plan import HostPlaces, ServerWishes, build_release


def _built() -> dict[str, Any]:
    """A release as it is staged."""
    wishes = ServerWishes(instance="i-1", root="/opt/sglang", user="sglang", group="sglang", host="::", port=30000, launcher="x")
    places = HostPlaces("/opt/sglang/envs/e", "/opt/sglang/envs/e/bin/python", "d1", "0.5.11", "/opt/sglang/models/m", "r1", "")
    return build_release({"argv": ["--model-path", places.model]}, wishes, places)


def test_the_release_of_a_process_is_read_from_its_command_line(tmp_path: Path) -> None:
    launcher = tmp_path / "instances/i/releases" / ("b" * 16) / "launcher.py"
    launcher.parent.mkdir(parents=True)
    launcher.write_text("import sys; sys.stdin.read()")
    for words, release in (([str(launcher)], "b" * 16), (["-c", "import sys; sys.stdin.read()"], "")):
        child = subprocess.Popen([sys.executable, *words], stdin=subprocess.PIPE)
        try:
            while not (command := Path(f"/proc/{child.pid}/cmdline").read_bytes()) or words[0].encode() not in command:
                time.sleep(0.01)
            assert live_unit.release_of_process(str(child.pid)) == release
        finally:
            child.communicate()
    for nobody in ("0", "", "x", str(child.pid)):
        assert live_unit.release_of_process(nobody) == ""


def test_whose_a_unit_is_stands_in_its_first_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_unit, "UNIT_DIRECTORY", str(tmp_path))
    unit = tmp_path / "sglang-i.service"

    def run(_command: list[str]) -> tuple[int, str, str]:
        return 0, f"ActiveState=active\nUnitFileState=enabled\nFragmentPath={fragment}\nMainPID=0\n", ""

    fragment = ""
    assert (live_unit.view_unit(unit.name, run).path, live_unit.view_unit(unit.name, run).ours) == ("", False)
    fragment = str(tmp_path / "transient")
    Path(fragment).write_text("[Service]\n")
    assert (live_unit.view_unit(unit.name, run).path, live_unit.view_unit(unit.name, run).ours) == (fragment, False)
    unit.write_text(_built()["unit"])
    assert (live_unit.view_unit(unit.name, run).path, live_unit.view_unit(unit.name, run).ours) == (str(unit), True)
    unit.write_text("# by hand\n" + _built()["unit"])
    assert not live_unit.view_unit(unit.name, run).ours


def test_a_sibling_instance_is_no_foreign_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_unit, "UNIT_DIRECTORY", str(tmp_path))
    unit = _built()
    (tmp_path / unit["unit_name"]).write_text(unit["unit"])
    listeners = [
        Listener(port=1, address="::", pid=pid, user="u", command="c", since="t", unit=name)
        for pid, name in ((7, unit["unit_name"]), (8, "by-hand.service"))
    ]

    class Faked(Proc):
        def listeners(self, ports: Sequence[int]) -> list[Listener]:
            return listeners

    def run(command: list[str]) -> tuple[int, str, str]:
        return 0, "enabled\n" if "is-enabled" in command else f"LoadState=loaded\nMainPID={7 if unit['unit_name'] in command else 8}\n", ""

    found = live_unit.port_holders(1, "sglang-another.service", Faked(), run)
    assert [(holder["pid"], holder["service"], holder["instance"]) for holder in found] == [
        (7, True, unit["record"]["instance"]),
        (8, True, ""),
    ]


@pytest.mark.parametrize(("directory", "key", "said"), [(0o700, 0o400, 0), (0o755, 0o400, 1), (0o700, 0o444, 1), (0o755, 0o644, 2)])
def test_an_open_key_is_seen(tmp_path: Path, directory: int, key: int, said: int) -> None:
    path = tmp_path / "secrets/api-key"
    path.parent.mkdir()
    path.write_text("canary")
    path.chmod(key)
    path.parent.chmod(directory)
    found = live_unit.open_secrets(str(path))
    assert len(found) == said
    assert "canary" not in str(found)
    assert live_unit.open_secrets(str(tmp_path / "none/api-key")) == ()
