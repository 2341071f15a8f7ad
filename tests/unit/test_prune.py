# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which models and environments go: the decision, what is looked at for it, and what keeps everything."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils import basic
from ansible_collections.inference.sglang.plugins.module_utils import _prune_users as users
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._lease import Run, give_back, take
from ansible_collections.inference.sglang.plugins.module_utils._prune import (
    ENVIRONMENT,
    FOREIGN,
    MODEL,
    RECORD,
    UNFINISHED,
    Decision,
    Item,
    Mention,
    decide,
)
from ansible_collections.inference.sglang.plugins.module_utils._prune_work import sizes
from ansible_collections.inference.sglang.plugins.module_utils._unit_before import Before, remember
from ansible_collections.inference.sglang.plugins.modules import prune_unused
from hypothesis import given
from hypothesis import strategies as st

from tests.support.prune_lab import RELEASES, PruneHost, commit, pruned, reasons

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root sees what every process uses")


@pytest.fixture
def host(tmp_path: Path) -> PruneHost:
    return PruneHost(tmp_path)


# --- the decision -------------------------------------------------------------------------------------------------------

ITEMS = st.lists(
    st.builds(
        Item,
        path=st.integers(0, 11).map(lambda number: f"/models/acme--tiny/{commit(number)}"),
        kind=st.sampled_from([MODEL, ENVIRONMENT, UNFINISHED, RECORD, FOREIGN]),
        made=st.sampled_from(["", "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"]),
        about=st.just("why"),
        abandoned=st.booleans(),
        busy=st.sampled_from(["", "", "", "process 7"]),
    ),
    unique_by=lambda item: item.path,
)
WORDS = st.sampled_from(["{}", "--model-path={}", '"/else/{}/"', "x-{}", "{}.json", "{}0"])
MENTIONS = st.lists(
    st.builds(lambda number, words: Mention("somebody", words.format(commit(number))), st.integers(0, 11), WORDS), max_size=6
)


def going(decisions: tuple[Decision, ...]) -> set[str]:
    return {decision.item.path for decision in decisions if decision.prune}


@given(ITEMS, MENTIONS, MENTIONS, st.integers(0, 5))
def test_nothing_goes_that_is_used_foreign_busy_or_among_the_newest(
    items: list[Item], mentions: list[Mention], older: list[Mention], keep: int
) -> None:
    decisions = decide(items, mentions, older, keep)
    gone = going(decisions)
    assert [decision.item for decision in decisions] == items
    assert all(decision.reason for decision in decisions)
    assert keep or not gone
    for item in items:
        used = any(mention.text in (item.name, f"--model-path={item.name}", f'"/else/{item.name}/"') for mention in mentions)
        if used or item.kind == FOREIGN or item.busy or (item.kind == UNFINISHED and not item.abandoned):
            assert item.path not in gone
    free = [decision for decision in decisions if decision.item.kind in (MODEL, ENVIRONMENT) and "uses it" in decision.reason]
    kept = [decision.item for decision in free if not decision.prune]
    if keep:
        assert len(kept) == min(keep, len(free))
        assert all(decision.item.made <= item.made for decision in free if decision.prune for item in kept)


@given(ITEMS, MENTIONS, MENTIONS, st.integers(0, 5))
def test_another_use_or_a_larger_number_never_costs_anything(
    items: list[Item], mentions: list[Mention], more: list[Mention], keep: int
) -> None:
    gone = going(decide(items, mentions, (), keep))
    assert going(decide(items, [*mentions, *more], (), keep)) <= gone
    assert keep == 0 or going(decide(items, mentions, (), keep + 1)) <= gone
    assert going(decide(items, mentions, more, keep)) == gone, "older releases keep nothing"


# --- what keeps -----------------------------------------------------------------------------------------------------------


@needs_root
def test_the_accepted_and_the_previous_of_every_instance_stay_and_the_newest_others(host: PruneHost) -> None:
    paths = [host.model(number) for number in range(1, 7)]
    host.stamp(paths[0], instance="one")
    host.stamp(paths[1], "previous.json", instance="two", identifier=RELEASES[1])
    host.release(str(paths[2]), instance="two", identifier=RELEASES[2])
    done = host.prune(keep=2)
    assert pruned(done) == sorted(map(str, paths[2:4]))
    assert reasons(done)[str(paths[0])] == f"in use: the accepted release {RELEASES[0]} of one"
    assert reasons(done)[str(paths[1])] == f"in use: the previous release {RELEASES[1]} of two"
    assert f"the older release {RELEASES[2]} of two names it" in reasons(done)[str(paths[2])]
    assert [path.exists() for path in paths] == [True, True, False, False, True, True]
    left = sorted(path.name for path in paths[0].parent.iterdir())
    assert left == sorted([".lock", *(f"{path.name}{end}" for path in paths if path.exists() for end in ("", ".manifest.json"))])
    assert pruned(host.prune(keep=2)) == []


def use(host: PruneHost, way: str, path: Path) -> Any:
    if way == "draft model of the previous release":
        host.stamp(Path("/elsewhere"), "previous.json", identifier=RELEASES[1])
        host.release(f"--speculative-draft-model-path {path}", identifier=RELEASES[1])
    elif way == "change that has not ended":
        home = host.folder / "instances/default"
        home.mkdir(parents=True)
        remember(str(home), Before(stamp="", unit=f"ExecStart=/x --model-path {path}\n"))
    elif way == "unit":
        (host.units / "handmade.service").write_text(f'[Service]\nExecStart=/x "--model-path={path}"\n')
    elif way == "drop-in":
        (host.units / "a.service.d").mkdir()
        (host.units / "a.service.d/b.conf").write_text(f"[Service]\nEnvironment=MODEL={path}\n")
    elif way == "unit through a link":
        (host.folder / "mine").symlink_to(path)
        (host.units / "handmade.service").write_text(f"ExecStart=/x --model-path {host.folder / 'mine'}\n")
    elif way == "unit through a linked root":
        (host.folder / "disk").symlink_to(path.parent)
        (host.units / "handmade.service").write_text(f"ExecStart=/x --model-path {host.folder / 'disk'}/./{path.name}\n")
    elif way == "working directory":
        return subprocess.Popen(["sleep", "100"], cwd=path)
    elif way == "open file":
        with open(path / next(name for name in os.listdir(path) if not name.startswith("."))) as handle:
            return subprocess.Popen(["sleep", "100"], stdin=handle)
    elif way == "argument":
        return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)", f"--model-path={path}"])
    elif way == "argument through a link":
        (host.folder / "mine").symlink_to(path)
        return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)", str(host.folder / "mine")])
    return None


WAYS = ["draft model of the previous release", "change that has not ended", "unit", "drop-in", "unit through a link"]
WAYS += ["unit through a linked root", "working directory", "open file", "argument", "argument through a link"]


@needs_root
@pytest.mark.parametrize("way", WAYS)
def test_whatever_names_a_model_keeps_it(host: PruneHost, way: str) -> None:
    old, _new = host.model(1), host.model(2)
    if way == "open file":
        old = host.models / "acme--tiny" / commit(1)
        (old / "config.json").stat()
    process = use(host, way, old)
    try:
        done = host.prune()
        assert pruned(done) == []
        assert reasons(done)[str(old)].startswith("in use: ")
    finally:
        if process is not None:
            process.kill()
            process.wait()
    if process is not None:
        assert pruned(host.prune()) == [str(old)], "the process was what kept it"


@needs_root
@pytest.mark.parametrize("revision", ["main", commit(1), "never-resolved"])
def test_the_model_that_the_settings_ask_for_stays(host: PruneHost, revision: str) -> None:
    old, _new = host.model(1), host.model(2)
    (old.parent / "refs.json").write_text(json.dumps({"main": {"revision": old.name}}))
    done = host.prune(repo="acme/tiny", revision=revision)
    assert pruned(done) == ([str(old)] if revision == "never-resolved" else [])


@needs_root
def test_the_links_environment_stays_and_unfinished_builds_go(host: PruneHost) -> None:
    linked, unfinished, old, new = (host.environment(number, number != 2) for number in range(1, 5))
    link = host.folder / "ml-env"
    link.symlink_to(linked)
    done = host.prune("environments", links=(str(link),))
    assert pruned(done) == sorted(map(str, [unfinished, old]))
    assert reasons(done)[str(linked)] == f"in use: the link {link}"
    assert new.is_dir()
    assert linked.is_dir()


@needs_root
def test_downloads_go_when_a_later_model_was_proven_after_them(host: PruneHost) -> None:
    current = host.model(1)
    abandoned, alive = (current.parent / f".partial-{commit(number)}" for number in (8, 9))
    for path, when in ((abandoned, 1000), (alive, 4_000_000_000)):
        (path / ".parts").mkdir(parents=True)
        (path / ".parts/model.part").write_text("half")
        for each in [path / ".parts/model.part", path / ".parts", path]:
            os.utime(each, (when, when))
    done = host.prune()
    assert pruned(done) == [str(abandoned)]
    assert reasons(done)[str(alive)] == "a download that the next run continues"
    assert (alive / ".parts/model.part").exists()


HOLD = """
import fcntl, sys
lock = open(sys.argv[1], "r+")
fcntl.flock(lock, fcntl.LOCK_EX)
lock.write("process 42")
lock.flush()
print(flush=True)
input()
"""


def hold(lock: Path) -> subprocess.Popen[str]:
    """Another run that has the lock until it is told something."""
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    holder.stdout.readline()
    return holder


def half_copied(host: PruneHost, digest: str, lock: bool = True) -> Path:
    """What a killed copy leaves; its files have the builder's times, which may lie in this host's future."""
    path = host.envs / f".partial-sglang-0.5.11-{digest}"
    (path / "lib").mkdir(parents=True)
    (path / "lib/module.py").write_text("half")
    os.utime(path / "lib/module.py", (4_000_000_000, 4_000_000_000))
    if lock:
        (host.envs / f".sglang-0.5.11-{digest}.lock").touch()
    return path


def later(path: Path, than: Path) -> None:
    """Change a file until the file system's clock has gone on."""
    while path.stat().st_ctime_ns <= than.stat().st_ctime_ns:
        path.chmod(0o644)


@needs_root
def test_copies_go_when_a_later_environment_was_finished_after_them(host: PruneHost) -> None:
    abandoned, busy, foreign = (half_copied(host, digest * 12, lock=digest != "c") for digest in "abc")
    finished = host.environment(1) / ".complete.json"
    later(finished, foreign / "lib/module.py")
    alive = half_copied(host, "d" * 12)
    later(alive / "lib/module.py", finished)
    holder = hold(host.envs / f".{busy.name.partition('-')[2]}.lock")
    try:
        done = host.prune("environments")
        assert pruned(done) == [str(abandoned)]
        assert reasons(done)[str(alive)] == "a copy that the next run continues"
        assert reasons(done)[str(busy)] == "another run works on it: process 42"
        assert reasons(done)[str(foreign)].startswith("not ours: ")
    finally:
        holder.communicate("\n")
    assert not list(host.envs.glob(".trash-*"))
    assert pruned(host.prune("environments", check_mode=True)) == [str(busy)]


@needs_root
def test_what_is_not_ours_is_named_and_left(host: PruneHost) -> None:
    for number in (20, 21):
        host.model(number)
    home = host.models / "acme--tiny"
    extra = host.model(1)
    (extra / "my-adapter.bin").write_text("precious")
    bare = host.model(2)
    Path(f"{bare}.manifest.json").unlink()
    damaged = host.model(3)
    Path(f"{damaged}.manifest.json").write_text("[" * 100_000)
    linked = home / commit(4)
    outside = host.folder / "outside"
    outside.mkdir()
    linked.symlink_to(outside)
    copied = host.model(5, revision=commit(6))
    adopted = host.model(7, adopted=True)
    inner = host.model(8)
    (inner / "data").symlink_to(outside)
    (home / "notes").mkdir()
    (host.models / "handmade").mkdir()
    (host.models / "other--thing").mkdir()
    (host.models / "adopted").mkdir()
    done = host.prune(keep=1)
    assert pruned(done) == [str(home / commit(20))]
    told = reasons(done)
    foreign = [extra, bare, damaged, linked, copied, adopted, inner, home / "notes", host.models / "handmade", host.models / "other--thing"]
    for path in foreign:
        assert told[str(path)].startswith("not ours: "), path
        assert path.is_dir()
    assert "my-adapter.bin" in told[str(extra)]
    assert "a link" in told[str(linked)]


@needs_root
def test_environments_that_are_not_ours_are_named_and_left(host: PruneHost) -> None:
    host.environment(20)
    damaged, moved, unlocked = host.environment(1), host.environment(2), host.environment(3)
    (damaged / ".complete.json").write_text("{")
    marker = json.loads((moved / ".complete.json").read_text())
    (moved / ".complete.json").write_text(json.dumps({**marker, "path": "/elsewhere"}))
    (host.envs / f".{unlocked.name}.lock").unlink()
    aside = host.envs / "sglang-0.5.11-0123456789ab.replaced-20260101T000000Z"
    aside.mkdir()
    (host.envs / "file").touch()
    done = host.prune("environments")
    assert pruned(done) == []
    for path in (damaged, moved, unlocked, aside, host.envs / "file"):
        assert reasons(done)[str(path)].startswith("not ours: "), path
        assert path.exists()


# --- what keeps everything ------------------------------------------------------------------------------------------------

BROKEN = [b"", b"{", b"[]", b'{"format": 99}', b"\xff\xfe", b"[" * 100_000]


@needs_root
@pytest.mark.parametrize("name", ["accepted.json", "previous.json", "replaced.json"])
@pytest.mark.parametrize("data", BROKEN, ids=range(len(BROKEN)))
def test_an_unreadable_record_prunes_nothing_and_says_why(host: PruneHost, name: str, data: bytes) -> None:
    paths = [host.model(1), host.model(2)]
    (host.stamp(paths[1], instance="other") / name).write_bytes(data)
    for check_mode in (True, False):
        with pytest.raises(SglangError) as error:
            host.prune(check_mode=check_mode)
        assert name in str(error.value)
    assert all(path.is_dir() for path in paths)


@needs_root
def test_nothing_goes_while_another_run_changes_an_instance(host: PruneHost) -> None:
    paths = [host.model(1), host.model(2)]
    home = str(host.folder / "instances/other")
    run = Run(user="ann", host="controller", place="boot", pid=10, started="1")
    assert take(home, run, 60) is None
    for check_mode in (True, False):
        with pytest.raises(SglangError, match="another run is changing this instance"):
            host.prune(check_mode=check_mode)
    assert all(path.is_dir() for path in paths)
    give_back(home, run)
    host.stamp(paths[1])
    assert pruned(host.prune(keep=1)) == []
    assert list((host.folder / "instances/default").iterdir()) == [host.folder / "instances/default/accepted.json"], "no lease is left"


@needs_root
@pytest.mark.parametrize("kind", ["models", "environments"])
def test_what_another_run_works_on_stays_and_the_rest_goes(host: PruneHost, kind: str) -> None:
    made: list[Path] = [(host.model if kind == "models" else host.environment)(number) for number in (1, 2, 3)]
    old = made[0] if kind == "environments" else host.model(1, "acme/other")
    lock = old.parent / (".lock" if kind == "models" else f".{old.name}.lock")
    holder = hold(lock)
    try:
        done = host.prune(kind)
        assert reasons(done)[str(old)] == "another run works on it: process 42"
        assert str(made[1]) in pruned(done)
        assert old.is_dir()
    finally:
        holder.communicate("\n")


def test_who_is_not_root_prunes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SglangError, match="become: true"):
        users.processes({"x"}, str(tmp_path))


@needs_root
def test_a_process_that_ends_meanwhile_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "77").mkdir()
    assert users.processes({"x"}, str(tmp_path)) == []


# --- what is told ---------------------------------------------------------------------------------------------------------


def tree(folder: Path) -> dict[str, Any]:
    found = sorted(folder.rglob("*"))
    return {str(path): (path.lstat().st_mtime_ns, path.read_bytes() if path.is_file() else b"") for path in found}


@needs_root
@pytest.mark.parametrize("kind", ["models", "environments"])
def test_check_mode_tells_what_a_run_then_does_and_writes_nothing(host: PruneHost, kind: str) -> None:
    for number in range(1, 5):
        (host.model if kind == "models" else host.environment)(number)
    host.stamp(Path("/elsewhere"))
    before = tree(host.folder)
    predicted = host.prune(kind, check_mode=True)
    assert tree(host.folder) == before
    blocks = {status.st_ino: status.st_blocks * 512 for path in host.folder.rglob("*") for status in [path.lstat()]}
    done = host.prune(kind)
    left = {path.lstat().st_ino for path in host.folder.rglob("*")}
    gone = sum(size for inode, size in blocks.items() if inode not in left)
    assert predicted.decisions == done.decisions
    assert len(pruned(done)) == 3
    records = 3 * 4096 if kind == "models" else 0  # the manifests beside the models are not counted
    assert predicted.freed == done.freed
    assert gone - records <= done.freed <= gone


def test_bytes_that_another_name_keeps_are_not_counted_as_freed(tmp_path: Path) -> None:
    for name in ("one", "two", "cache"):
        (tmp_path / name).mkdir()
    (tmp_path / "one/own").write_bytes(b"x" * 40_000)
    (tmp_path / "one/shared").write_bytes(b"y" * 80_000)
    os.link(tmp_path / "one/shared", tmp_path / "two/shared")
    folder = os.stat(tmp_path / "one").st_blocks * 512
    own, shared = (os.stat(tmp_path / "one" / name).st_blocks * 512 for name in ("own", "shared"))
    assert sizes([str(tmp_path / "one")]) == (own + folder, shared)
    both = [str(tmp_path / "one"), str(tmp_path / "two")]
    assert sizes(both) == (own + shared + 2 * folder, 0)
    os.link(tmp_path / "one/shared", tmp_path / "cache/shared")
    assert sizes(both) == (own + 2 * folder, shared)


@needs_root
def test_the_module_says_it(host: PruneHost, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = host.model(1), host.model(2)

    def call(**changes: Any) -> dict[str, Any]:
        arguments = {"kind": "models", "root": f"{host.models}/", "keep": 1, "server_root": str(host.folder), **changes}
        monkeypatch.setattr(basic, "_ANSIBLE_ARGS", json.dumps({"ANSIBLE_MODULE_ARGS": arguments}).encode())
        monkeypatch.setattr(basic, "_ANSIBLE_PROFILE", "legacy", raising=False)
        with pytest.raises(SystemExit):
            prune_unused.main()
        result: dict[str, Any] = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
        return result

    assert call(keep=-1)["error"]["wrong"] == "keep is negative."
    kept = call(keep=0)
    assert not kept["changed"]
    assert "nothing is pruned" in kept["lines"][0]
    predicted = call(_ansible_check_mode=True)
    assert predicted["changed"]
    assert predicted["msg"].startswith("Would remove 1 below")
    assert old.is_dir()
    done = call()
    assert done["pruned"] == predicted["pruned"] == [str(old)]
    assert done["freed_bytes"] == predicted["freed_bytes"] > 0
    assert done["diff"] == {"before": "".join(sorted([f"{old}\n", f"{new}\n"])), "after": f"{new}\n"}
    again = call()
    assert not again["changed"]
    assert call(root=str(host.folder / "nothing"))["changed"] is False
