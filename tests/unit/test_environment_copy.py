# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""An environment travels from host to host: real ones, real processes and ports.

Hosts share one disk here, and an environment has the same path on all of them. So the one that is served is moved aside once
its server has opened it, and the receiver finds the place empty, as on a host of its own.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from ansible_collections.inference.sglang.plugins.module_utils import _environment_copy, _environment_survey
from ansible_collections.inference.sglang.plugins.module_utils._environment_manifest import MANIFEST, load
from ansible_collections.inference.sglang.plugins.module_utils._environment_tree import file_of, walk
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._listeners import Proc
from ansible_collections.inference.sglang.plugins.module_utils._peer_process import Offered, Serving, launch, stop
from ansible_collections.inference.sglang.plugins.module_utils._python_environment import MARKER
from ansible_collections.inference.sglang.plugins.modules import environment_peer

from tests.support.environment_copies import BIG, TOKEN, Builder, contents, slowed
from tests.support.environments import Host
from tests.support.snapshot_lab import Watcher
from tests.support.wheels import make_lock, make_wheel

# Nothing of what a build needs.
NO_TOOLS = {"uv": "/nonexistent/uv", "wheelhouse": "", "index_url": "http://127.0.0.1:9/simple"}


def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Host:
    host = Host(tmp_path, monkeypatch, capsys)
    wheels = [
        make_wheel(host.wheelhouse, "sglang", "0.5.11", "VALUE = 1\n", ["torch==2.11.0"], scripts={"sgl": "#!python\nprint(1)\n"}),
        make_wheel(host.wheelhouse, "torch", "2.11.0", "# " + "x" * BIG + "\n"),
        make_wheel(host.wheelhouse, "transformers", "5.6.0"),
    ]
    make_lock(host.lock, wheels)
    return host


@pytest.fixture
def builder(host: Host) -> Iterator[Builder]:
    built = host.call(manifest=True)
    assert built.get("failed") is not True, built
    made = Builder(host, built)
    yield made
    for offer in made.offers:
        stop(offer["url"], TOKEN)


def assert_refused(result: dict[str, Any], *words: str) -> None:
    assert result["failed"] is True, result
    assert all(result["error"][part] for part in ("wrong", "found", "wanted", "next")), result["error"]
    for word in words:
        assert word in result["msg"], result["msg"]


def test_a_copy_is_what_was_built_and_asks_nobody_else(builder: Builder) -> None:
    host, original = builder.host, contents(builder.path)
    peer = builder.serve()
    builder.leave()
    predicted = host.call(check=True, peer=peer, **NO_TOOLS)
    assert (predicted["changed"], predicted["built"], predicted["copied"]) == (True, False, True)
    assert "would have copied" in predicted["msg"]
    assert not builder.partial.exists() and not host.link.exists()

    copied = host.call(peer=peer, **NO_TOOLS)
    assert copied.get("failed") is not True, copied
    assert (copied["changed"], copied["built"], copied["copied"]) == (True, False, True)
    for name in ("path", "python", "digest", "versions", "python_version", "foundation"):
        assert copied[name] == builder.built[name], name
    assert contents(builder.path) == original
    assert os.readlink(host.link) == copied["path"]
    marker = json.loads((builder.path / MARKER).read_text())
    assert (marker["copied_from"], marker["manifest_sha256"]) == ("127.0.0.1", builder.sha256)
    assert {"copy", "import", "mark"} <= set(host.phases())
    assert not builder.partial.exists()

    for changes in ({"peer": peer}, {}, {"manifest": True}):
        for check in (True, False):
            again = host.call(check=check, **NO_TOOLS, **changes)
            assert again["changed"] is False, again


def test_bytecode_of_a_copy_is_valid(builder: Builder) -> None:
    """Python takes it only where the source has the very time that is written into it."""
    peer = builder.serve()
    builder.leave()
    assert builder.host.call(peer=peer, **NO_TOOLS)["copied"] is True
    compiled = [path for path in builder.path.rglob("*.pyc") if "site-packages/sglang" in str(path)]
    assert compiled
    for path in compiled:
        flags, mtime, size = struct.unpack("<4xIII", path.read_bytes()[:16])
        source = (path.parent.parent / (path.name.split(".")[0] + ".py")).stat()
        assert (flags, mtime, size) == (0, int(source.st_mtime), source.st_size)


def test_a_copy_hands_on_what_was_built(builder: Builder) -> None:
    original, first = contents(builder.path), builder.serve()
    builder.leave()
    assert builder.host.call(peer=first, **NO_TOOLS, manifest=True)["manifest_sha256"] == builder.sha256
    second = builder.serve()
    builder.leave()
    third = builder.host.call(peer=second, **NO_TOOLS)
    assert third["copied"] is True, third
    assert contents(builder.path) == original


@pytest.mark.parametrize("through", [2_000, BIG // 2, BIG])
def test_a_receiver_that_is_killed_goes_on_where_it_was(builder: Builder, through: int) -> None:
    host, original = builder.host, contents(builder.path)
    # The first connection carries the manifest.
    line, peer = slowed(builder.serve(), [None, through], still=True)
    builder.leave()
    arguments = host.arguments(peer=peer, **NO_TOOLS)
    module = [sys.executable, "-m", "ansible_collections.inference.sglang.plugins.modules.python_environment"]
    orders = json.dumps({"ANSIBLE_MODULE_ARGS": arguments})
    with subprocess.Popen(module, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": ".collections"}) as child:
        assert child.stdin is not None
        child.stdin.write(orders.encode())
        child.stdin.close()
        assert line.standing.wait(60)
        until(lambda: len([name for name, status in walk(str(builder.partial)) if status.st_size]) > 3)
        os.kill(child.pid, signal.SIGKILL)
    line.close()
    assert not builder.path.exists()
    assert host.call(check=True)["built"] is True, "nothing looks done"
    files = load((builder.partial / MANIFEST).read_bytes(), "").files
    come = [file.size for file in files if (builder.partial / file.name).exists()]
    line, peer = slowed(builder.again(), [None])
    copied = host.call(peer=peer, **NO_TOOLS)
    assert copied["copied"] is True, copied
    assert contents(builder.path) == original
    (start,) = line.starts()
    assert start in (sum(come), sum(come[:-1])), "what had come is kept, but for a last file that was half written"
    assert len(line.requests) == 1, "the manifest, too"
    line.close()


def test_a_connection_that_breaks_is_made_anew(builder: Builder) -> None:
    original = contents(builder.path)
    line, peer = slowed(builder.serve(), [None, 20_000, 100_000, None])
    builder.leave()
    copied = builder.host.call(peer=peer, **NO_TOOLS)
    assert copied["copied"] is True, copied
    assert contents(builder.path) == original
    assert len(set(line.starts())) == 3
    assert line.starts() == sorted(line.starts())
    line.close()


def test_a_peer_that_dies_is_said_and_another_one_goes_on(builder: Builder) -> None:
    original = contents(builder.path)
    line, peer = slowed(builder.serve(), [None, BIG // 2])
    builder.leave()
    assert_refused(builder.host.call(peer=peer, **NO_TOOLS), "cannot be copied from 127.0.0.1", "ended early", "ml_env_peer_address")
    line.close()
    assert_refused(builder.host.call(peer=peer, **NO_TOOLS), "cannot be copied from 127.0.0.1", line.url)
    assert builder.partial.exists() and not builder.path.exists()
    line, peer = slowed(builder.again(), [None])
    assert builder.host.call(peer=peer, **NO_TOOLS)["copied"] is True
    assert contents(builder.path) == original
    assert line.starts()[0] > 0
    line.close()


def test_a_build_takes_the_place_of_a_copy_that_failed(builder: Builder) -> None:
    _line, peer = slowed(builder.serve(), [None, BIG // 2])
    builder.leave()
    assert_refused(builder.host.call(peer=peer, **NO_TOOLS))
    assert builder.host.call()["built"] is True
    assert not builder.partial.exists()


@pytest.mark.parametrize("where", ["sglang/__init__.py", "torch/__init__.py", "pyvenv.cfg", "bin/sgl"])
def test_a_flipped_byte_on_the_peer_is_found(builder: Builder, where: str) -> None:
    peer = builder.serve()
    (file,) = [path for path in builder.path.rglob("*") if str(path).endswith(where) and path.is_file()]
    before = file.stat()
    data = bytearray(file.read_bytes())
    data[-2] ^= 1
    # In place and with the old time: what the peer can see is as it was.
    with file.open("r+b") as handle:
        handle.write(data)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    builder.leave()
    assert_refused(builder.host.call(peer=peer, **NO_TOOLS), where, "not what was built")
    assert not builder.path.exists()
    data[-2] ^= 1
    assert builder.aside is not None
    healed = builder.aside / file.relative_to(builder.path)
    healed.write_bytes(data)
    os.utime(healed, ns=(before.st_atime_ns, before.st_mtime_ns))
    original = contents(builder.aside)
    assert builder.host.call(peer=builder.again(), **NO_TOOLS)["copied"] is True
    assert contents(builder.path) == original


def test_what_somebody_put_into_the_partial_directory_is_not_kept(builder: Builder) -> None:
    """Neither a link that would carry files elsewhere, nor a file of another content, nor one more."""
    original = contents(builder.path)
    line, peer = slowed(builder.serve(), [None, BIG // 2])
    builder.leave()
    assert_refused(builder.host.call(peer=peer, **NO_TOOLS))
    line.close()
    elsewhere = builder.host.folder / "elsewhere"
    elsewhere.mkdir()
    bin_, lib = builder.partial / "bin", builder.partial / "lib"
    for path in sorted(bin_.rglob("*"), reverse=True):
        path.unlink()
    bin_.rmdir()
    bin_.symlink_to(elsewhere)
    (lib / "more.pth").write_text("import os")
    (lib / "deep").mkdir()
    (lib / "deep/file").write_text("x")
    (builder.partial / "pyvenv.cfg").write_text("home = /elsewhere\n")
    assert builder.host.call(peer=builder.again(), **NO_TOOLS)["copied"] is True
    assert contents(builder.path) == original
    assert list(elsewhere.iterdir()) == []


def test_what_changed_since_the_manifest_was_made_is_not_served(builder: Builder) -> None:
    file = next(builder.path.rglob("sglang/__init__.py"))
    peer = builder.serve()
    file.write_text("VALUE = 2\n")
    with pytest.raises(SglangError, match=r"sglang/__init__\.py has changed"):
        builder.serve()
    builder.leave()
    assert_refused(builder.host.call(peer=peer, **NO_TOOLS), "cannot be copied")
    assert not builder.path.exists()


def test_only_the_builders_manifest_counts(builder: Builder) -> None:
    """A peer that makes a manifest of its own for what it has altered."""
    file = next(builder.path.rglob("sglang/__init__.py"))
    file.write_text("VALUE = 666\n")
    (builder.path / MANIFEST).unlink()
    forged = builder.host.call(manifest=True)
    assert forged["changed"] is True and forged["manifest_sha256"] != builder.sha256
    peer = builder.serve()
    builder.leave()
    assert_refused(builder.host.call(peer=peer, **NO_TOOLS), "is not the builder's")
    assert not builder.path.exists() and not builder.partial.exists()


def test_a_copy_that_lost_its_manifest_vouches_for_nothing(builder: Builder) -> None:
    peer = builder.serve()
    builder.leave()
    assert builder.host.call(peer=peer, **NO_TOOLS)["copied"] is True
    for damage in (lambda path: path.write_bytes(path.read_bytes().replace(b"pyvenv", b"pyvonv")), lambda path: path.unlink()):
        damage(builder.path / MANIFEST)
        found = builder.host.call(manifest=True)
        assert (found["changed"], found["manifest_sha256"]) == (False, "")
        with pytest.raises(SglangError, match="no manifest"):
            builder.serve()


def test_a_host_of_another_kind_is_refused(builder: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    peer = builder.serve()
    builder.leave()
    for release in ({"ID": "debian", "VERSION_ID": "99"}, {}):
        monkeypatch.setattr(_environment_survey, "os_release", lambda release=release: release)
        assert_refused(builder.host.call(peer=peer, **NO_TOOLS), "not right for this host", builder.built["foundation"])
    assert not builder.path.exists()


def test_the_foundation_names_all_that_a_copy_depends_on(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    base = _environment_survey.probe_interpreter("/usr/bin/python3")
    assert base.libc.startswith("glibc 2.") and base.executable == os.path.realpath("/usr/bin/python3")
    system = {"ID": "debian", "VERSION_ID": "12"}
    names = {
        _environment_survey.foundation(system, base),
        *(_environment_survey.foundation(other, base) for other in ({**system, "VERSION_ID": "13"}, {**system, "ID": "ubuntu"})),
        *(
            _environment_survey.foundation(system, replace(base, **change))
            for change in (
                {"version": "3.11.99"},
                {"implementation": "pypy"},
                {"platform": "linux-aarch64"},
                {"libc": "glibc 2.99"},
                {"executable": "/opt/python3.11"},
            )
        ),
    }
    assert len(names) == 8


def test_an_environment_that_leads_to_another_python_is_refused(builder: Builder) -> None:
    link = builder.path / "bin/python"
    link.unlink()
    link.symlink_to("/usr/bin/env")
    (builder.path / MANIFEST).unlink()
    builder.built = builder.host.call(manifest=True)
    peer = builder.serve()
    builder.leave()
    assert_refused(builder.host.call(peer=peer, **NO_TOOLS), "leads to another Python", "/usr/bin/env")
    assert not builder.path.exists()


def test_a_builder_that_lies_about_where_files_belong_writes_nowhere(builder: Builder) -> None:
    """Even what the controller vouches for comes to lie in the environment, or not at all."""
    outside = builder.host.folder / "outside"
    data = (builder.path / MANIFEST).read_bytes().replace(b'["pyvenv.cfg"', b'["../../outside"')
    (builder.path / MANIFEST).write_bytes(data)
    job = {
        "prefix": f"/{builder.built['digest']}/",
        "directory": str(builder.path),
        "files": [file_of(str(builder.path), MANIFEST)],
        "stream": {},
    }
    port = launch(job, Serving("127.0.0.1", 0, TOKEN, 60.0, 300.0), Offered("it", "ml_env", "nothing"))
    peer = {"url": f"http://127.0.0.1:{port}", "token": TOKEN, "manifest_sha256": hashlib.sha256(data).hexdigest()}
    builder.leave()
    assert_refused(builder.host.call(peer=peer, **NO_TOOLS), "cannot be trusted", "../../outside")
    stop(peer["url"], TOKEN)
    assert not outside.exists() and not builder.path.exists()


def test_a_failing_import_keeps_the_copy_from_being_seen(builder: Builder) -> None:
    peer = builder.serve()
    builder.leave()
    assert_refused(builder.host.call(peer=peer, imports=["no_such_module"], **NO_TOOLS), "'no_such_module' cannot be imported")
    assert not builder.path.exists() and not builder.host.link.exists()
    assert builder.host.call(peer=peer, **NO_TOOLS)["copied"] is True


def test_a_run_that_ends_between_marker_and_rename_is_healed(builder: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    original, peer = contents(builder.path), builder.serve()
    builder.leave()
    with monkeypatch.context() as broken:
        broken.setattr(_environment_copy.os, "rename", lambda *_names: (_ for _ in ()).throw(OSError("the power is gone")))
        assert_refused(builder.host.call(peer=peer, **NO_TOOLS), "the power is gone")
    assert (builder.partial / MARKER).exists() and not builder.path.exists()
    assert builder.host.call(check=True)["built"] is True, "nothing looks done"
    assert builder.host.call(peer=peer, **NO_TOOLS)["copied"] is True
    assert contents(builder.path) == original


def test_space_is_looked_at_first(builder: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    peer = builder.serve()
    builder.leave()
    monkeypatch.setattr("ansible_collections.inference.sglang.plugins.module_utils._environment_files.free_bytes", lambda path: 1 << 20)
    assert_refused(builder.host.call(peer=peer, **NO_TOOLS), "not enough disk space", "to be copied")
    assert not list(builder.partial.rglob("*.py"))


def test_a_time_limit_is_kept(builder: Builder) -> None:
    peer = builder.serve()
    builder.leave()
    assert_refused(builder.host.call(peer=peer, timeout=0, **NO_TOOLS), "took too long", "ml_env_timeout")
    assert not builder.path.exists()


def test_the_token_is_in_no_command_line_environment_or_output(builder: Builder) -> None:
    with Watcher(TOKEN.encode()) as watcher:
        peer = builder.serve()
        builder.leave()
        copied = builder.host.call(peer=peer, **NO_TOOLS)
        until(lambda: watcher.rounds > 3)
    assert copied["copied"] is True
    assert TOKEN not in json.dumps({**copied, "invocation": None})
    assert watcher.seen == []
    assert TOKEN not in (builder.path / MARKER).read_text() + (builder.host.folder / "progress").read_text()


def test_nothing_but_the_environment_is_handed_out_and_only_for_the_token(builder: Builder) -> None:
    port = urlsplit(builder.serve()["url"]).port
    assert port is not None
    digest = builder.built["digest"]

    def ask(path: str, token: str = TOKEN) -> int:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as connection:
            connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
            return connection.getresponse().status

    for path in (f"/{digest}/files", f"/{digest}/{MANIFEST}"):
        assert (ask(path), ask(path, "wrong")) == (200, 401)
    for name in (MARKER, "pyvenv.cfg", "../../etc/passwd", "%2e%2e/lock.txt", "files/", ""):
        assert ask(f"/{digest}/{name}") == 404, name
    (listener,) = Proc().listeners([port])
    status = Path(f"/proc/{listener.pid}/status").read_text()
    if os.geteuid() == 0:
        assert [line.split()[1:] for line in status.splitlines() if line.startswith(("Uid", "Gid"))] == [["65534"] * 4] * 2


def test_check_mode_serves_nothing(builder: Builder) -> None:
    values = {"path": str(builder.path), "digest": builder.built["digest"], "address": "127.0.0.1", "port": 0, "token": TOKEN}
    assert "url" not in environment_peer.serve(values, check_mode=True)
    with pytest.raises(SglangError, match="no finished environment"):
        environment_peer.serve({**values, "digest": "0" * 64}, check_mode=True)


def test_the_manifest_is_made_once_and_only_when_asked(host: Host) -> None:
    first = host.call()
    assert first["manifest_sha256"] == "" and not (Path(first["path"]) / MANIFEST).exists()
    assert host.call(check=True, manifest=True)["changed"] is True
    made = host.call(manifest=True)
    assert (made["changed"], made["built"], len(made["manifest_sha256"])) == (True, False, 64)
    assert "manifest" in host.phases()
    # The action plugin hands on check mode's result where nothing is to be done, so the two must be the same.
    look, run = (host.call(check=check, manifest=True) for check in (True, False))
    assert look == run
    assert (run["changed"], run["manifest_sha256"]) == (False, made["manifest_sha256"])


@pytest.mark.parametrize("kind", ["fifo", "private", "link", "name"])
def test_what_cannot_be_copied_is_said_where_it_is(host: Host, kind: str) -> None:
    path = Path(host.call()["path"])
    stray = path / "lib/stray"
    if kind == "fifo":
        os.mkfifo(stray)
    elif kind == "link":
        stray.symlink_to("/etc/passwd")
    else:
        stray.write_text("x")
        stray.chmod(0o600)
    assert_refused(host.call(manifest=True), "lib/stray")
    assert not (path / MANIFEST).exists()
    stray.unlink()
    assert host.call(manifest=True)["changed"] is True


def test_the_same_environment_has_the_same_manifest(builder: Builder) -> None:
    data = (builder.path / MANIFEST).read_bytes()
    assert hashlib.sha256(data).hexdigest() == builder.sha256
    (builder.path / MANIFEST).unlink()
    assert builder.host.call(manifest=True)["manifest_sha256"] == builder.sha256
