# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a teardown takes and what it leaves, in a folder that looks like a host."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import os
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.inference.sglang.plugins.module_utils import _teardown as core
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._teardown import Places, Taken

from tests.support.prune_lab import PruneHost, commit

HEADER = "# Written by the Ansible collection inference.sglang for the instance {};\n"

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root sees what every process uses")


def stopped(_command: list[str]) -> tuple[int, str, str]:
    return 0, "ActiveState=inactive\n", ""


def running(_command: list[str]) -> tuple[int, str, str]:
    return 0, "ActiveState=active\n", ""


class Machine(PruneHost):
    """A host with everything that the roles make, and with what they do not."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        for name in ("instances", "envs", "models", "tools", "caches"):
            (folder / name).mkdir(exist_ok=True)
        self.made_model = self.model(1)
        self.made = self.environment(1)
        self.environment(2, marker=False)
        (folder / "ml-env").symlink_to(self.made)
        self.stamp(self.made_model)
        self.release("x")
        (folder / "caches/default").mkdir()
        (folder / "caches/default/kernel.so").touch()
        self.unit = self.units / "sglang-default.service"
        self.unit.write_text(HEADER.format("default") + f"ExecStart={self.made}/bin/python\n")
        for kind in ("timer", "service"):
            (self.units / f"inference-sglang-watch-default.{kind}").write_text(f"[Unit]\nExecStart={self.made}/bin/python\n")
        tools = folder / "tools"
        for name in ("uv-0.9.1", "uv-cache", ".locks"):
            (tools / name).mkdir()
            (tools / name / "inside").touch()
        (tools / "uv-0.9.1/.complete.json").write_text("{}")
        (tools / ".uv-0.9.1.lock").touch()
        (self.models / "adopted").mkdir()
        (self.models / "adopted/srv-models-x.manifest.json").write_text("{}")

    def places(self, check_mode: bool = False) -> Places:
        return Places(
            root=str(self.folder),
            environments=str(self.envs),
            link=str(self.folder / "ml-env"),
            tools=str(self.folder / "tools"),
            models=str(self.models),
            check_mode=check_mode,
            units=str(self.units),
            unit_folders=(str(self.units),),
            caches=str(self.folder / "caches"),
        )

    def down(self, check_mode: bool = False) -> dict[str, Taken]:
        places = self.places(check_mode)
        return {
            "servers": core.servers(places, running if check_mode else stopped),
            "models": core.models(places),
            "environments": core.environments(places),
            "host": core.host(places),
        }

    def everything(self) -> set[str]:
        return {str(path.relative_to(self.folder)) for path in self.folder.rglob("*")}


def test_everything_that_was_made_goes_and_a_second_run_finds_nothing(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "host")
    machine.down()
    assert machine.everything() == {"units"}, "the place of units is not ours"
    assert all(done.removed == [] for done in machine.down().values())


def test_check_mode_tells_what_would_go_and_touches_nothing(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "host")
    before = machine.everything()
    would = machine.down(check_mode=True)
    assert machine.everything() == before
    done = machine.down()
    for kind in ("servers", "models", "environments"):
        assert sorted(would[kind].removed) == sorted(done[kind].removed), kind


def test_two_may_look_at_once(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "host")
    alone = machine.down(check_mode=True)
    with contextlib.ExitStack() as stack:
        for path in (machine.models / "acme--tiny/.lock", *machine.envs.glob(".*.lock"), machine.models, machine.envs):
            descriptor = os.open(path, os.O_RDONLY)
            stack.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_SH if path.is_file() else fcntl.LOCK_EX)
        beside = machine.down(check_mode=True)
    assert {kind: done.removed for kind, done in beside.items()} == {kind: done.removed for kind, done in alone.items()}


def test_watches_are_stopped_before_the_servers(tmp_path: Path) -> None:
    units = core.servers(Machine(tmp_path / "host").places(check_mode=True), running).units
    assert units == ["inference-sglang-watch-default.timer", "inference-sglang-watch-default.service", "sglang-default.service"]


def test_what_others_made_stays_and_is_told(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "host")
    folder = machine.folder
    foreign = {
        "units": folder / "units/sglang-other.service",
        "drop": folder / "units/sglang-default.service.d",
        "env": folder / "envs/by-hand",
        "model": folder / "models/Qwen3.6-27B",
        "tool": folder / "tools/their-tool",
        "note": folder / "notes.txt",
    }
    foreign["units"].write_text("[Service]\nExecStart=/x\n")
    foreign["drop"].mkdir()
    (foreign["drop"] / "site.conf").write_text("[Service]\n")
    for name in ("env", "model", "tool"):
        foreign[name].mkdir()
        (foreign[name] / "file").touch()
    foreign["note"].touch()
    done = machine.down()
    assert all(path.exists() for path in foreign.values())
    told = {path for taken in done.values() for path in taken.kept}
    for name in ("drop", "env", "model"):
        assert str(foreign[name]) in told, name
    assert "their-tool" in done["environments"].kept[str(folder / "tools")]
    assert not machine.made.exists() and not machine.made_model.exists() and not machine.unit.exists()


@pytest.mark.parametrize("linked", [True, False])
def test_an_adopted_environment_at_the_link_stays(tmp_path: Path, linked: bool) -> None:
    machine = Machine(tmp_path / "host")
    link = machine.folder / "ml-env"
    link.unlink()
    adopted = tmp_path / "root-ml-env"
    if linked:
        adopted.mkdir()
        link.symlink_to(adopted)
    else:
        link.mkdir()
        (link / "pyvenv.cfg").touch()
    done = machine.down()
    assert link.exists() and str(link) in done["environments"].kept
    assert not linked or adopted.is_dir()


def test_what_another_unit_uses_stays(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "host")
    (machine.units / "batch.service").write_text(f"[Service]\nExecStart={machine.made}/bin/python -m x --model {machine.made_model}\n")
    would, done = machine.down(check_mode=True), machine.down()
    for taken in (would, done):
        assert "batch.service" in taken["environments"].kept[str(machine.made)]
        assert "batch.service" in taken["models"].kept[str(machine.made_model)]
    assert machine.made.is_dir() and machine.made_model.is_dir()
    assert (machine.folder / "ml-env").is_symlink(), "it leads to what stays"
    assert (machine.models / f"acme--tiny/{commit(1)}.manifest.json").is_file()


def test_a_running_server_is_refused_and_nothing_goes(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "host")
    before = machine.everything()
    with pytest.raises(SglangError, match="still runs"):
        core.servers(machine.places(), running)
    assert machine.everything() - {"instances/default/lease.json"} - before == set()
    assert machine.unit.exists()


@pytest.mark.parametrize("gone", ["instances", "envs", "models", "tools", "caches", "units"])
def test_a_killed_teardown_is_finished(tmp_path: Path, gone: str) -> None:
    """Whatever an earlier run had taken away already."""
    machine = Machine(tmp_path / "host")
    shutil.rmtree(machine.folder / gone)
    machine.down()
    assert machine.everything() <= {"units"}


def accounts(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> tuple[bool, bool]:
    fields = {"pw_name": "sglang", "pw_gecos": core.ACCOUNT_COMMENT, "pw_dir": "/nonexistent", "pw_gid": 990, **changes}
    group = SimpleNamespace(gr_name="sglang", gr_gid=990, gr_mem=changes.get("members", []))
    others = [SimpleNamespace(pw_name="root", pw_gid=changes.get("other", 0))]
    monkeypatch.setattr(core.pwd, "getpwnam", lambda _name: SimpleNamespace(**fields))
    monkeypatch.setattr(core.pwd, "getpwall", lambda: [SimpleNamespace(**fields), *others])
    monkeypatch.setattr(core.grp, "getgrnam", lambda _name: group)
    return core.account(Places(user="sglang", group="sglang"))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, (True, True)),
        ({"pw_gecos": "Somebody,,,"}, (False, False)),
        ({"pw_dir": "/home/sglang"}, (False, False)),
        ({"pw_gid": 100}, (True, False)),
        ({"members": ["someone"]}, (True, False)),
        ({"other": 990}, (True, False)),
    ],
)
def test_only_an_account_of_ours_goes(monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], expected: tuple[bool, bool]) -> None:
    assert accounts(monkeypatch, **changes) == expected


def test_the_role_makes_accounts_that_are_known_again() -> None:
    tasks = (Path(__file__).resolve().parents[2] / "roles/inference_host/tasks/user.yml").read_text()
    assert f"comment: {core.ACCOUNT_COMMENT}\n" in tasks and "home: /nonexistent\n" in tasks


def routed(machine: Machine) -> Places:
    """The same host with a router on it."""
    root, environment = machine.folder / "router", machine.folder / "tools/router"
    for folder in (root / "secrets", environment):
        folder.mkdir(parents=True)
    for path in (root / "launcher.py", root / "router.json", root / "workers.json", root / "workers.lock", root / "secrets/api-key"):
        path.touch()
    (environment / ".complete.json").write_text("{}")
    (machine.folder / "tools/.router.lock").touch()
    (machine.folder / "tools/.locks/router.txt").touch()
    (machine.units / core.ROUTER_UNIT).write_text(f"{core.ROUTER_MARK}\n[Service]\nExecStart={environment}/bin/python\n")
    return dataclasses.replace(machine.places(), router=str(root))


def test_what_a_second_look_finds_is_refused_unless_it_was_kept() -> None:
    core.refuse_left(Taken(removed=["/a"]), Taken())
    core.refuse_left(Taken(kept={"/envs/x": "in use: process 7", "/envs": "not empty: x"}), Taken(removed=["/envs/x", "/envs"]))
    with pytest.raises(SglangError, match="still there") as refused:
        core.refuse_left(Taken(removed=["/a"]), Taken(removed=["/a/b"]))
    assert "/a/b" in str(refused.value)


def test_a_router_goes_and_the_servers_beside_it_stay(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    before = machine.everything()
    places = routed(machine)
    assert machine.everything() != before
    predicted = core.router(dataclasses.replace(places, check_mode=True), running)
    done = core.router(places, stopped)
    assert (done.units, done.kept) == ([core.ROUTER_UNIT], {})
    assert sorted(done.removed) == sorted(predicted.removed)
    assert machine.everything() == before
    assert core.router(places, stopped).removed == []
    assert core.router_is_ours(places)


def test_a_running_router_is_refused_and_left_whole(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    places = routed(machine)
    before = machine.everything()
    with pytest.raises(SglangError, match="still runs"):
        core.router(places, running)
    assert machine.everything() == before


def test_another_router_of_that_name_stays_with_all_that_it_may_use(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    places = routed(machine)
    (machine.units / core.ROUTER_UNIT).write_text("[Service]\nExecStart=/usr/bin/other\n")
    before = machine.everything()
    done = core.router(places, stopped)
    assert done.removed == [] and list(done.kept) == [str(machine.units / core.ROUTER_UNIT)]
    assert not core.router_is_ours(places), "its account stays, too"
    assert machine.everything() == before


def test_a_site_s_own_file_beside_the_router_s_stays(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    places = routed(machine)
    (tmp_path / "router/notes.txt").touch()
    done = core.router(places, stopped)
    assert list(done.kept) == [places.router]
    assert os.listdir(places.router) == ["notes.txt"]
