# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Python environments: real ones, made by the real uv out of tiny wheels."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import threading
from pathlib import Path
from typing import Any, Optional

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._environment_files import (
    LinkState,
    clear_unfinished,
    exclusive,
    name_aside,
    switch_link,
)
from ansible_collections.inference.sglang.plugins.module_utils._environment_use import named_by, refuse_running
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._python_environment import (
    MARKER,
    Interpreter,
    Marker,
    Source,
    check_lock,
    environment_digest,
    environment_path,
    pins_of,
    scrub_url,
    url_secrets,
)
from ansible_collections.inference.sglang.plugins.module_utils._tool_process import clean_environment, run_tool
from ansible_collections.inference.sglang.plugins.module_utils._uv_output import UvProgress, install_error, last_lines

from tests.support.environments import PYTHON, UV, Host
from tests.support.wheels import make_lock, make_wheel

DATA = Path(__file__).resolve().parents[1] / "data"


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Host:
    host = Host(tmp_path, monkeypatch, capsys)
    host.fill()
    return host


def test_builds_links_and_then_changes_nothing(host: Host) -> None:
    first = host.call()
    assert first.get("failed") is not True, first
    assert (first["changed"], first["built"], first["adopted"]) == (True, True, False)
    assert first["sglang_version"] == "0.5.11"
    assert first["versions"] == {"sglang": "0.5.11", "torch": "2.11.0", "transformers": "5.6.0"}
    assert os.readlink(host.link) == first["path"]
    assert Path(first["path"]).name == f"sglang-0.5.11-{first['digest'][:12]}"
    assert {"venv", "import", "mark"} <= set(host.phases())
    before = {path: path.stat().st_mtime_ns for path in Path(first["path"]).rglob("*") if path.is_file()}
    second = host.call()
    assert (second["changed"], second["built"], second["path"]) == (False, False, first["path"])
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_everybody_may_read_it_and_nobody_else_may_write_whatever_the_umask(host: Host) -> None:
    old = os.umask(0o077)
    try:
        result = host.call()
    finally:
        os.umask(old)
    for path in [Path(result["path"]), *Path(result["path"]).rglob("*")]:
        if not path.is_symlink():
            mode = path.stat().st_mode
            assert mode & stat.S_IROTH, path
            assert not mode & (stat.S_IWOTH | stat.S_IWGRP), path


def test_bytecode_is_compiled(host: Host) -> None:
    result = host.call()
    assert list(Path(result["path"]).rglob("sglang/__pycache__/*.pyc"))


def test_another_lock_is_another_environment_and_the_first_one_stays(host: Host) -> None:
    first = host.call()
    host.fill(source="VALUE = 2\n")
    subprocess.run([UV, "cache", "clean"], env={**os.environ, "UV_CACHE_DIR": str(host.folder / "tools/uv-cache")}, check=True)
    second = host.call()
    assert second["path"] != first["path"]
    assert host.environments() == sorted([Path(first["path"]).name, Path(second["path"]).name])
    assert os.readlink(host.link) == second["path"]


def test_unfinished_directory_is_built_anew(host: Host) -> None:
    path = Path(host.call(check=True)["path"])
    (path / "bin").mkdir(parents=True)
    (path / "half").write_text("left by a run that was killed")
    result = host.call()
    assert result["built"] is True
    assert not (path / "half").exists()
    assert "clean" in host.phases()


@pytest.mark.parametrize("data", [b"", b"{", b'{"path": "/elsewhere"}', b"[]", b"\xff\xfe", b"[" * 100_000], ids=range(6))
def test_damaged_marker_does_not_make_an_environment_complete_and_costs_nobody_the_old_one(host: Host, data: bytes) -> None:
    path = Path(host.call()["path"])
    (path / MARKER).write_bytes(data)
    (path / "precious").write_text("x")
    host.link.unlink()
    assert host.call()["built"] is True
    [aside] = [name for name in host.environments() if ".replaced-" in name]
    assert (host.root / aside / "precious").read_text() == "x"


@pytest.mark.parametrize("change", [{"of_a_newer_release": {"a": 1}}, {"built": None, "seconds": None}])
def test_marker_of_another_release_is_still_the_same_environment(host: Host, change: dict[str, Any]) -> None:
    path = Path(host.call()["path"])
    marker = json.loads((path / MARKER).read_text())
    marker.update(change)
    (path / MARKER).write_text(json.dumps({name: value for name, value in marker.items() if value is not None}))
    assert host.call()["changed"] is False


def an_unfinished(folder: Path, marker: Optional[str]) -> Path:
    path = folder / "envs" / f"sglang-0.5.11-{'a' * 12}"
    (path / "bin").mkdir(parents=True)
    (path / "bin/python").symlink_to(PYTHON)
    (path / "lib").mkdir()
    if marker is not None:
        (path / MARKER).write_text(marker)
    return path


@pytest.mark.parametrize("marker", [None, ""])
@pytest.mark.parametrize("way", ["interpreter", "through a link", "directory", "executable", "library"])
def test_environment_that_a_process_runs_from_is_never_touched(tmp_path: Path, way: str, marker: Optional[str]) -> None:
    path = an_unfinished(tmp_path, marker)
    (tmp_path / "link").symlink_to(path)
    script = "import sys; print('up', flush=True); sys.stdin.read()"
    python, cwd = PYTHON, "/"
    if way == "interpreter":
        python = str(path / "bin/python")
    elif way == "through a link":
        python = str(tmp_path / "link/bin/python")
    elif way == "directory":
        cwd = str(path / "lib")
    elif way == "executable":
        shutil.copy(os.path.realpath(PYTHON), path / "bin/copy")
        python = str(path / "bin/copy")
    else:
        (path / "lib/some.so").write_bytes(b"x" * 4096)
        library = str(path / "lib/some.so")
        script = f"import mmap; f = open({library!r}, 'rb'); m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ); " + script
    with subprocess.Popen([python, "-c", script], cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdin is not None
        assert process.stdout.readline() == "up\n"
        with pytest.raises(SglangError) as refusal:
            refuse_running(str(path), patience=0)
        assert str(process.pid) in refusal.value.found
        assert refusal.value.wrong and refusal.value.wanted and str(process.pid) in refusal.value.next_step
        process.stdin.close()
    clear_unfinished(str(path), "")
    assert not path.exists()


def test_process_of_a_killed_build_is_waited_for(tmp_path: Path) -> None:
    path = an_unfinished(tmp_path, None)
    with subprocess.Popen([path / "bin/python", "-c", "import time; time.sleep(0.5)"]):
        clear_unfinished(str(path), "")
    assert not path.exists()


@pytest.mark.parametrize(("marker", "ending"), [("", "refused"), (None, "moved")])
def test_environment_that_an_accepted_release_names_is_never_deleted(tmp_path: Path, marker: Optional[str], ending: str) -> None:
    path = an_unfinished(tmp_path, marker)
    stamp = tmp_path / "instances/chat/accepted.json"
    stamp.parent.mkdir(parents=True)
    stamp.write_text(json.dumps({"environment": {"path": f"{path}-other"}}))
    assert named_by(str(path)) == ""
    stamp.write_text(json.dumps({"environment": {"path": str(path)}}))
    if ending == "refused":
        with pytest.raises(SglangError, match=r"accepted\.json"):
            clear_unfinished(str(path), "")
        assert (path / "bin/python").exists()
    else:
        assert "aside" in clear_unfinished(str(path), "")
        assert len(list(path.parent.iterdir())) == 1


@pytest.mark.parametrize("text", ["ExecStart=:{}/bin/python launcher.py", 'ExecStart=:"{}/bin/python"'])
def test_unit_names_its_environment(tmp_path: Path, text: str) -> None:
    unit = tmp_path / "sglang-x.service"
    unit.write_text("[Service]\n" + text.format("/opt/sglang/envs/sglang-0.5.11-aaaaaaaaaaaa"))
    pattern = str(tmp_path / "sglang-*.service")
    assert named_by("/opt/sglang/envs/sglang-0.5.11-aaaaaaaaaaaa", pattern) == str(unit)
    assert named_by("/opt/sglang/envs/sglang-0.5.11-bbbbbbbbbbbb", pattern) == ""


def test_unmarked_environment_that_the_link_leads_to_is_not_touched(host: Host) -> None:
    path = Path(host.call()["path"])
    (path / MARKER).unlink()
    result = host.call()
    assert result["failed"] is True
    assert "leads to it" in result["msg"]
    assert (path / "bin/python").exists()


def test_copied_environment_is_not_complete_elsewhere(host: Host) -> None:
    text = (Path(host.call()["path"]) / MARKER).read_text()
    digest = json.loads(text)["digest"]
    data = json.loads(text)
    assert Marker.from_data(data, data["path"], digest) is not None
    assert Marker.from_data(data, "/somewhere/else", digest) is None


@pytest.mark.parametrize("missing", ["python", "lock", "uv", "everything"])
def test_check_mode_on_an_unprepared_host_tells_the_truth(host: Host, missing: str) -> None:
    changes: dict[str, Any] = {"lock_sha256": hashlib.sha256(host.lock.read_bytes()).hexdigest()}
    if missing in ("lock", "everything"):
        host.lock.unlink()
    if missing in ("python", "everything"):
        changes["python"] = "/nonexistent/python3"
    if missing in ("uv", "everything"):
        changes["uv"] = "/nonexistent/uv"
    result = host.call(check=True, **changes)
    assert result.get("failed") is not True, result
    assert (result["changed"], result["built"]) == (True, True)
    assert host.environments() == []
    assert not host.link.exists()
    assert (result["path"] is None) == (missing in ("python", "everything"))


def test_check_mode_names_the_path_that_the_build_then_has(host: Host) -> None:
    sha256 = hashlib.sha256(host.lock.read_bytes()).hexdigest()
    text = host.lock.read_text()
    host.lock.unlink()
    announced = host.call(check=True, lock_sha256=sha256)
    host.lock.write_text(text)
    assert host.call(lock_sha256=sha256)["path"] == announced["path"]
    assert host.call(check=True, lock_sha256=sha256)["changed"] is False


def test_directory_at_the_link_is_moved_aside_and_named(host: Host) -> None:
    host.link.mkdir()
    (host.link / "precious").write_text("x")
    announced = host.call(check=True)
    assert announced["moved_aside"] in announced["msg"]
    result = host.call()
    aside = Path(result["moved_aside"])
    assert (aside / "precious").read_text() == "x"
    assert str(aside) in result["msg"]
    assert os.readlink(host.link) == result["path"]


def test_directory_at_the_link_stays_where_it_is_when_the_build_fails(host: Host) -> None:
    host.link.mkdir()
    (host.link / "precious").write_text("x")
    result = host.call(imports=["no_such_module"])
    assert result["failed"] is True
    assert (host.link / "precious").read_text() == "x"


def make_existing(host: Host, **versions: str) -> None:
    """An environment that somebody made by hand."""
    subprocess.run([UV, "venv", "--quiet", "--python", PYTHON, host.link], check=True)
    wheels = [str(make_wheel(host.folder / "theirs", name, version)) for name, version in versions.items()]
    subprocess.run([UV, "pip", "install", "--quiet", "--no-index", "--no-deps", "--python", host.link / "bin/python", *wheels], check=True)


def test_existing_environment_is_adopted_without_a_trace(host: Host) -> None:
    make_existing(host, sglang="0.5.11", torch="2.11.0", transformers="5.6.0")
    before = sorted(str(path) for path in host.link.rglob("*"))
    for check in (True, False):
        result = host.call(check=check, adopt=True)
        assert (result["changed"], result["built"], result["adopted"]) == (False, False, True), result
        assert result["path"] == str(host.link)
        assert result["digest"].startswith("adopted-")
        assert result["versions"]["torch"] == "2.11.0"
        assert host.warnings == []
    assert sorted(str(path) for path in host.link.rglob("*")) == before
    assert host.environments() == []


def test_adopted_environment_with_other_pins_is_warned_about(host: Host) -> None:
    make_existing(host, sglang="0.5.11", torch="2.9.1", transformers="5.6.0")
    result = host.call(adopt=True)
    assert result["adopted"] is True
    assert len(host.warnings) == 1
    assert "torch 2.9.1" in host.warnings[0]


def test_adopted_environment_of_another_release_is_refused(host: Host) -> None:
    make_existing(host, sglang="0.5.9")
    result = host.call(adopt=True)
    assert result["error"]["found"] == "sglang 0.5.9"
    assert "ml_env_sglang_version: 0.5.9" in result["error"]["next"]


@pytest.mark.parametrize("content", ["empty", "no-sglang"])
def test_adopting_something_that_is_no_environment_is_refused(host: Host, content: str) -> None:
    if content == "empty":
        host.link.mkdir()
    else:
        make_existing(host, torch="2.11.0")
    result = host.call(adopt=True)
    assert result["failed"] is True
    assert "ml_env_adopt: false" in result["error"]["next"]
    assert host.link.is_dir()


def test_upgrade_inside_an_adopted_environment_changes_its_digest(host: Host) -> None:
    make_existing(host, sglang="0.5.11", torch="2.11.0")
    before = host.call(adopt=True)["digest"]
    wheel = make_wheel(host.folder / "theirs", "torch", "2.11.1")
    subprocess.run([UV, "pip", "install", "--quiet", "--no-index", "--no-deps", "--python", host.link / "bin/python", wheel], check=True)
    assert host.call(adopt=True)["digest"] != before


def test_adopt_with_nothing_there_builds(host: Host) -> None:
    assert host.call(adopt=True)["built"] is True
    assert host.call(adopt=True)["adopted"] is False


def assert_four_parts(result: dict[str, Any], *words: str) -> None:
    assert result["failed"] is True
    assert all(result["error"][part] for part in ("wrong", "found", "wanted", "next")), result["error"]
    for word in words:
        assert word in result["msg"], result["msg"]


def test_wrong_hash_is_refused_and_leaves_nothing(host: Host) -> None:
    host.lock.write_text(re.sub(r"sha256:\w+", "sha256:" + "0" * 64, host.lock.read_text(), count=1))
    result = host.call()
    assert_four_parts(result, "not the one that the lock vouches for")
    assert host.environments() == []
    assert not host.link.exists()


def test_missing_wheel_is_said(host: Host) -> None:
    (host.wheelhouse / "torch-2.11.0-py3-none-any.whl").unlink()
    assert_four_parts(host.call(), "missing where the wheels come from", "torch")


@pytest.mark.parametrize("wheelhouse", ["/nonexistent/wheels", "empty"])
def test_no_wheelhouse_is_said(host: Host, wheelhouse: str) -> None:
    (host.folder / "empty").mkdir()
    path = wheelhouse if wheelhouse.startswith("/") else str(host.folder / wheelhouse)
    assert_four_parts(host.call(wheelhouse=path), "there is no wheelhouse", path)


def test_unreachable_index_is_said_without_its_password(host: Host) -> None:
    result = host.call(wheelhouse="", index_url="http://user:canary-pw@127.0.0.1:9/simple")
    assert_four_parts(result, "cannot be reached", "127.0.0.1:9")
    assert "canary-pw" not in json.dumps(result)


def test_conflicting_packages_are_refused_unless_asked_for(host: Host) -> None:
    make_wheel(host.wheelhouse, "torch", "2.9.0")
    wheels = [host.wheelhouse / f"{name}-py3-none-any.whl" for name in ("sglang-0.5.11", "torch-2.9.0")]
    make_lock(host.lock, wheels)
    assert_four_parts(host.call(), "do not fit each other", "ml_env_check_dependencies")
    assert host.environments() == []
    assert host.call(check_dependencies=False)["built"] is True


def test_failing_import_is_shown_and_leaves_nothing(host: Host) -> None:
    host.fill(source="raise OSError('libavutil.so.58: cannot open shared object file')\n")
    assert_four_parts(host.call(), "'sglang' cannot be imported", "libavutil.so.58")
    assert host.environments() == []


def test_import_check_does_not_write_into_the_environment(host: Host) -> None:
    host.fill(source="import pathlib\npathlib.Path.home().joinpath('cache').write_text('x')\n")
    assert host.call()["built"] is True
    assert not (Path.home() / "cache").exists()


def test_disk_space_is_looked_at_before_anything_is_written(host: Host) -> None:
    assert_four_parts(host.call(needed_mib=10**9), "not enough disk space", "1000000000 MiB")
    assert host.environments() == []


def test_python_that_is_missing_is_said(host: Host) -> None:
    assert_four_parts(host.call(python="/nonexistent/python3"), "no Python at /nonexistent/python3")


def test_lock_that_differs_from_the_controllers_is_refused(host: Host) -> None:
    assert_four_parts(host.call(lock_sha256="0" * 64), "not the controller's")


def test_time_limit_is_kept(host: Host) -> None:
    host.fill(source="import time\ntime.sleep(60)\n")
    assert_four_parts(host.call(timeout=8), "took too long")
    assert host.environments() == []


def test_uv_is_installed_once_from_its_lock(host: Host) -> None:
    script = f'#!/bin/sh\nexec {UV} "$@"\n'
    wheel = make_wheel(host.wheelhouse, "uv", "0.13.9", scripts={"uv": script})
    uv_lock = make_lock(host.folder / "uv.txt", [wheel])
    result = host.call(uv=None, uv_lock=str(uv_lock))
    assert result.get("built") is True, result
    tool = host.folder / "tools/uv-0.13.9"
    assert (tool / MARKER).exists()
    before = (tool / MARKER).stat().st_mtime_ns
    host.fill(source="VALUE = 3\n")
    host.call(uv=None, uv_lock=str(uv_lock), lock_wait=1)
    assert (tool / MARKER).stat().st_mtime_ns == before


def test_second_builder_waits_for_the_first(host: Host) -> None:
    path = Path(host.call(check=True)["path"])
    host.root.mkdir()
    lock_file = host.root / f".{path.name}.lock"
    descriptor = os.open(lock_file, os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    os.write(descriptor, b"4711")
    refused = host.call(lock_wait=0)
    assert_four_parts(refused, "another run", "4711")
    timer = threading.Timer(1.5, os.close, [descriptor])
    timer.start()
    assert host.call(lock_wait=60)["built"] is True
    timer.join()
    assert "wait" in host.phases()


def test_lock_is_free_again_after_an_error(tmp_path: Path) -> None:
    for _attempt in range(2):
        with pytest.raises(KeyError), exclusive(str(tmp_path / "lock"), 0, print):
            raise KeyError


def test_switch_is_one_step(tmp_path: Path) -> None:
    link = tmp_path / "ml-env"
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    switch_link(str(link), str(tmp_path / "a"))
    stop, failures = threading.Event(), []

    def watch() -> None:
        while not stop.is_set():
            if LinkState.of(str(link)).kind != "link":
                failures.append(1)

    watcher = threading.Thread(target=watch)
    watcher.start()
    for _turn in range(200):
        switch_link(str(link), str(tmp_path / "b"))
        switch_link(str(link), str(tmp_path / "a"))
    stop.set()
    watcher.join()
    assert failures == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "ml-env"]


def test_file_at_the_link_is_refused(host: Host) -> None:
    host.link.write_text("x")
    assert_four_parts(host.call(), "neither a link nor a directory")


def test_name_aside_is_free(tmp_path: Path) -> None:
    link = str(tmp_path / "ml-env")
    first = name_aside(link, now=0)
    Path(first).mkdir()
    assert name_aside(link, now=0) != first


def test_nothing_but_an_environments_directory_is_ever_removed(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        clear_unfinished(str(tmp_path), "")
    assert tmp_path.exists()


@pytest.mark.parametrize(
    ("lock", "words"),
    [
        ("", "pins nothing"),
        ("requests>=2\n", "pins nothing"),
        ("a==1 \\\n    --hash=sha256:00\nb==2\n", "b==2"),
    ],
)
def test_lock_without_hashes_is_refused(lock: str, words: str) -> None:
    with pytest.raises(SglangError, match=words):
        check_lock(lock, "lock.txt")


def test_pins_keep_every_version_of_a_universal_lock() -> None:
    lock = "filelock==4.1.0 ; python_full_version < '3.11' \\\n    --hash=sha256:0\nfilelock==4.3.1 \\\n    --hash=sha256:1\n"
    assert pins_of(lock) == {"filelock": ["4.1.0", "4.3.1"]}


def test_digest_depends_on_lock_python_and_platform_only() -> None:
    base = Interpreter("/usr/bin/python3", "3.11.2")
    digest = environment_digest("aa", base)
    assert digest == environment_digest("aa", Interpreter("/opt/python", "3.11.9"))
    others = [
        environment_digest("ab", base),
        environment_digest("aa", Interpreter("/usr/bin/python3", "3.12.1")),
        environment_digest("aa", Interpreter("/usr/bin/python3", "3.11.2", platform="linux-aarch64")),
    ]
    assert len({digest, *others}) == 4


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden"])
def test_name_cannot_leave_the_root(name: str) -> None:
    with pytest.raises(SglangError):
        environment_path("/opt/sglang/envs", name, "0" * 64)


def test_credentials_are_never_arguments() -> None:
    source = Source("https://user:secret@mirror/simple")
    assert "secret" not in source.where
    assert source.uv_environment() == {"UV_DEFAULT_INDEX": "https://user:secret@mirror/simple"}
    assert url_secrets("https://user:secret@mirror/simple") == ["secret"]
    assert url_secrets("https://token@mirror/simple") == ["token"]
    assert url_secrets("/srv/wheels") == []
    assert scrub_url("error at https://user:secret@mirror/simple/x") == "error at https://***@mirror/simple/x"


def test_plain_http_wheelhouse_is_trusted_by_pip_because_of_the_hashes() -> None:
    assert Source("x", "http://user:pw@hub:8080/wheels").pip_environment()["PIP_TRUSTED_HOST"] == "hub:8080"


def test_settings_of_the_operator_do_not_reach_the_tools() -> None:
    base = {"PIP_INDEX_URL": "a", "UV_INDEX_URL": "b", "PYTHONPATH": "c", "HTTPS_PROXY": "d", "UV_PYTHON_INSTALL_MIRROR": "e", "PATH": "f"}
    kept = clean_environment({}, base)
    assert {"HTTPS_PROXY", "UV_PYTHON_INSTALL_MIRROR", "PATH"} <= set(kept)
    assert not {"PIP_INDEX_URL", "UV_INDEX_URL", "PYTHONPATH"} & set(kept)


def test_progress_follows_uv() -> None:
    follow = UvProgress()
    assert follow.feed("Resolved 196 packages in 1.8s") == "196 packages wanted"
    follow.feed("Downloading torch (731.2MiB)")
    follow.feed("Downloading nvidia-cudnn-cu13 (366.0MiB)")
    follow.feed(" Downloaded nvidia-cudnn-cu13")
    follow.feed("Downloading scipy (35.0MiB)")
    assert follow.now(3 * 2**30) == "1 of 3 large wheels done (1.1 GiB in all), now torch, scipy; 3.0 GiB written"
    assert follow.feed("Prepared 196 packages in 3m 02s") == "196 packages fetched in 3m 02s"
    assert follow.phase == "install"
    follow.feed("Installed 196 packages in 4s")
    assert follow.phase == "compile"
    assert "compiling" in follow.now(0)
    assert follow.feed("Bytecode compiled 52000 files in 58s") == "52000 files compiled in 58s"
    assert follow.feed(" + torch==2.11.0") is None


@pytest.mark.parametrize(
    ("recorded", "wrong"),
    [
        ("no-wheel-python", "no wheel for this Python"),
        ("no-wheel-glibc", "the system is too old"),
        ("dns", "cannot be reached"),
        ("down", "cannot be reached"),
        ("links-down", "cannot be reached"),
        ("pip-links-down", "cannot be reached"),
        ("no-index", "missing where the wheels come from"),
        ("forbidden", "refuses access"),
        ("links-forbidden", "refuses access"),
        ("unauth", "refuses access"),
        ("disk-full", "the disk is full"),
    ],
)
def test_cause_is_read_out_of_what_uv_says(recorded: str, wrong: str) -> None:
    """Recorded with uv 0.13.9 and pip 23.0.1."""
    output = (DATA / "uv" / f"{recorded}.txt").read_text()
    values = {"lock": "l.txt", "root": "/opt", "python": "3.11.2", "platform": "linux-x86_64", "returncode": 1}
    error = install_error(output, what="installing x", source=Source("https://pypi.org/simple"), **values)
    assert wrong in error.wrong
    assert error.next_step
    assert output.strip().splitlines()[-1].strip() in error.found


def test_last_words_are_short() -> None:
    said = last_lines((DATA / "uv/pip-links-down.txt").read_text())
    assert said.count("Retrying") == 1
    assert "object at" not in said
    assert last_lines("\n   one\n     two\n") == "one\n      two"


def test_unknown_failure_still_has_four_parts() -> None:
    values = {"lock": "l.txt", "root": "/opt", "python": "3.11.2", "platform": "linux-x86_64", "returncode": 101}
    error = install_error("", what="installing x", source=Source("https://pypi.org/simple"), **values)
    assert "101" in error.found
    assert all((error.wrong, error.found, error.wanted, error.next_step))


def test_tool_is_ended_at_its_limit_and_its_output_kept() -> None:
    lines: list[str] = []
    finished = run_tool(["/bin/sh", "-c", "echo one; exec sleep 60"], {"PATH": "/bin:/usr/bin"}, lines.append, limit=1.0)
    assert (finished.timed_out, finished.output, lines) == (True, "one\n", ["one"])


def test_tool_ticks_while_nothing_is_said() -> None:
    ticks: list[int] = []
    command = ["/bin/sh", "-c", "printf 12345 >/dev/null; sleep 0.5"]
    run_tool(command, {"PATH": "/bin:/usr/bin"}, on_tick=ticks.append, tick=0.1)
    assert len(ticks) >= 3
    assert ticks[-1] >= 5
