# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The watch: what each look says, the one file that its program is, its units, and their place on disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.inference.sglang.plugins.module_utils import _watch_program as program
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._server_status import view_instance
from ansible_collections.inference.sglang.plugins.module_utils._watch_files import Watch, service, timer, watch_files, watch_unit
from ansible_collections.inference.sglang.plugins.module_utils._watch_place import place, unlike

from tests.unit.test_probe import Model, served
from tests.unit.test_server_status import ID, KEY, deploy, systemd

__all__ = ["served"]  # the fixture
NOW = "2026-11-30T03:00:00Z"
RUNS = program.Process(ID, "7:100", 5000.0)
USER = "root"


def watch(home: Path, **changes: Any) -> Watch:
    values = {"question": "What is the capital of France?", "expect": "Paris", "min_accept_length": 1.1, "request_timeout": 5}
    more = {"instance": home.name, "home": str(home), "user": USER, "group": USER, "python": sys.executable, "key_file": ""}
    return replace(Watch(**values, **more, start_timeout=3600, interval=300), **changes)  # type: ignore[arg-type]


def settings(home: Path) -> dict[str, Any]:
    found = json.loads(watch_files(watch(home), "/units")[f"{home}/watch/settings.json"])
    assert isinstance(found, dict)
    return found


def look(home: Path, process: program.Process | None = RUNS, before: dict[str, Any] | None = None) -> program.Seen:
    return program.look(settings(home), process, before or {}, NOW)


def speculating(home: Path) -> None:
    path = home / "releases" / ID / "release.json"
    record = json.loads(path.read_text())
    record["serving"]["speculative"] = True
    path.write_text(json.dumps(record))


def test_a_right_answer_costs_one_request_for_tokens(tmp_path: Path, served: tuple[Model, str]) -> None:
    model, url = served
    home = deploy(tmp_path, url, key=False)
    seen = look(home)
    assert (seen.state, seen.code, seen.release, seen.answered) == ("right", "", ID, True)
    assert len(model.requests) == 1
    assert seen.accept_length is None, "without speculation there is none"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"text": "London."}, "PROBE-007"),
        ({"text": "x " * 40}, "PROBE-006"),
        ({"text": ""}, "PROBE-005"),
        ({"names": ["another"]}, "PROBE-003"),
        ({"chat_status": 500}, "PROBE-004"),
        ({"accept": 1.0}, "PROBE-013"),
    ],
)
def test_what_is_wrong_has_the_probers_code_also_of_a_fresh_start(
    tmp_path: Path, served: tuple[Model, str], change: dict[str, Any], code: str
) -> None:
    model, url = served
    home = deploy(tmp_path, url, key=False)
    speculating(home)
    assert look(home).accept_length == 2.7
    for name, value in change.items():
        setattr(model, name, value)
    seen = look(home, replace(RUNS, age=3.0))
    assert (seen.state, seen.code, seen.answered) == ("wrong", code, False)
    assert seen.said.startswith(f"{code}: ")
    assert ("2.71 when it was accepted" in seen.said) == (code == "PROBE-013")


def test_an_accept_length_that_is_not_measured_yet_is_no_fault(tmp_path: Path, served: tuple[Model, str]) -> None:
    model, url = served
    home = deploy(tmp_path, url, key=False)
    speculating(home)
    model.accept = None
    assert look(home).state == "right"


def test_a_server_that_loads_is_starting_until_it_has_answered_or_its_time_is_over(tmp_path: Path) -> None:
    home = deploy(tmp_path, "http://127.0.0.1:9", key=False)
    young = replace(RUNS, age=3.0)
    assert (look(home, young).state, look(home, young).code) == ("starting", "PROBE-001")
    assert look(home, replace(RUNS, age=3601.0)).state == "wrong"
    fell = look(home, young, {"process": young.start, "answered": True})
    assert (fell.state, fell.answered) == ("wrong", True), "the same start had answered"
    assert look(home, young, {"process": "8:1", "answered": True}).state == "starting", "another start had"


def test_nothing_is_asked_of_what_is_not_the_accepted_release(tmp_path: Path, served: tuple[Model, str]) -> None:
    model, url = served
    home = deploy(tmp_path, url, key=False)
    assert look(home, None).state == "skipped"
    assert look(home, replace(RUNS, release="f" * 16)).state == "skipped"
    (home / "accepted.json").write_text("{")
    assert look(home).state == "skipped"
    assert model.requests == []


def test_the_archive_runs_by_itself_with_the_key_and_keeps_it_to_itself(tmp_path: Path, served: tuple[Model, str]) -> None:
    """As systemd runs it, with a Python that knows nothing of this collection; the server's process is a stand-in of a launcher."""
    model, url = served
    model.key = KEY
    home = deploy(tmp_path, url)
    launcher = home / "releases" / ID / "launcher.py"
    launcher.write_text("import time; time.sleep(60)")
    wanted = watch(home)
    files = watch_files(wanted, str(tmp_path))
    place(wanted, files, unlike(wanted, files))
    server = subprocess.Popen([sys.executable, str(launcher)])
    credentials = tmp_path / "credentials"
    credentials.mkdir()

    def run() -> tuple[int, str]:
        command = [sys.executable, "-I", f"{home}/watch/watch.pyz", f"{home}/watch/settings.json"]
        environment = {"CREDENTIALS_DIRECTORY": str(credentials), "PATH": os.environ["PATH"]}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False, cwd="/")
        return done.returncode, done.stdout + done.stderr

    try:
        assert run()[0] == 1, "without the key it is refused"
        assert json.loads((home / "watch" / program.RESULT).read_text())["code"] == "PROBE-014"
        (credentials / "api-key").write_text(KEY + "\n")
        status, said = run()
        assert status == 0, said
        assert said.startswith("right answer in ")
        model.text = f"It is {KEY}."
        status, said = run()
        assert (status, said[:10]) == (1, "PROBE-007:")
        assert KEY not in said
        row = view_instance(str(tmp_path), "default", systemd(), 5)
        assert (row["watch"]["state"], row["watch"]["code"]) == ("wrong", "PROBE-007")
        assert any("PROBE-007" in note for note in row["notes"])
        assert KEY not in (home / "watch" / program.RESULT).read_text()
    finally:
        server.kill()
        server.wait()


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"state": {"a": 1}, "said": 5}'])
def test_a_result_that_somebody_else_wrote_hides_no_row(tmp_path: Path, content: str) -> None:
    home = deploy(tmp_path, "http://127.0.0.1:9", key=False)
    (home / "watch/result").mkdir(parents=True)
    (home / "watch" / program.RESULT).write_text(content)
    assert view_instance(str(tmp_path), "default", systemd("inactive"), 1)["deployed"]


def test_a_result_that_is_a_fifo_makes_nobody_wait(tmp_path: Path) -> None:
    home = deploy(tmp_path, "http://127.0.0.1:9", key=False)
    (home / "watch/result").mkdir(parents=True)
    os.mkfifo(home / "watch" / program.RESULT)
    assert view_instance(str(tmp_path), "default", systemd("inactive"), 1)["watch"] == {}


def test_the_same_watch_is_the_same_bytes_and_holds_no_more_than_the_prober(tmp_path: Path) -> None:
    one, two = (watch_files(watch(tmp_path), "/units") for _ in range(2))
    assert one == two
    (tmp_path / "w.zip").write_bytes(one[f"{tmp_path}/watch/watch.pyz"])
    with zipfile.ZipFile(tmp_path / "w.zip") as archive:
        names = {Path(name).stem for name in archive.namelist()}
    assert {"_probe", "_probe_client", "_probe_judge", "_watch_program"} <= names
    assert "_unit" not in names


def test_the_unit_is_small_and_no_instances_own(tmp_path: Path) -> None:
    assert watch_unit("blue", "timer") == "inference-sglang-watch-blue.timer"
    with pytest.raises(SglangError):
        watch_unit("../x", "timer")
    text = service(
        watch(Path("/opt/sglang/instances/blue"), python="/usr/bin/python3", key_file="/opt/sglang/instances/blue/secrets/api-key")
    )
    for line in (
        "ExecCondition=+/usr/bin/systemctl is-active --quiet sglang-blue.service",
        "ExecStart=/usr/bin/python3 /opt/sglang/instances/blue/watch/watch.pyz /opt/sglang/instances/blue/watch/settings.json",
        "LoadCredential=api-key:/opt/sglang/instances/blue/secrets/api-key",
        "ReadWritePaths=/opt/sglang/instances/blue/watch/result",
        f"User={USER}",
        "ProtectHome=yes",
    ):
        assert line in text.splitlines()
    hidden = service(watch(Path("/opt/sglang/instances/blue"), python="/root/venv/bin/python"))
    assert "ProtectHome" not in hidden, "the interpreter must be seen"
    assert "LoadCredential" not in hidden
    assert "OnUnitInactiveSec=300" in timer(watch(Path("/opt/blue"))).splitlines()


def test_files_are_placed_once_and_mended(tmp_path: Path) -> None:
    home, units = tmp_path / "blue", tmp_path / "units"
    home.mkdir()
    units.mkdir()
    wanted = watch(home)
    files = watch_files(wanted, str(units))
    assert len(unlike(wanted, files)) == 5
    place(wanted, files, unlike(wanted, files))
    assert unlike(wanted, files) == []
    (home / "watch/settings.json").chmod(0o666)
    (units / "inference-sglang-watch-blue.timer").write_text("x")
    assert len(unlike(wanted, files)) == 2
    place(wanted, files, unlike(wanted, files))
    assert unlike(wanted, files) == []
    if os.geteuid() == 0:
        os.chown(home / "watch/result", 65534, -1)
        assert unlike(wanted, files) == [f"{home}/watch/result"]
    with pytest.raises(SglangError, match="service account"):
        unlike(replace(wanted, user="nobody-of-that-name"), files)
