# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The role ml_env on a real host: Debian 13 with its Python 3.13, tiny wheels in a directory, the real uv."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.play.conftest import Host, Play, lab, subnet
from tests.support.wheels import make_lock, make_wheel

ROOT = Path(__file__).resolve().parents[2]
PLAYBOOK = str(Path(__file__).resolve().parent / "ml_env/build.yml")
UV_LOCK = ROOT / "roles/ml_env/files/locks/uv.txt"
# The import waits while this file is there: a build that takes as long as a test wants.
HOLD = "/var/tmp/hold"
# In brackets, as the shell that runs the command would find itself otherwise.
IMPORTING = "pgrep -f '[i]mportlib.import_module' >/dev/null"
SLOW = f"import os, time\nwhile os.path.exists({HOLD!r}):\n    time.sleep(0.1)\n"


class EnvironmentHost:
    """A host, and wheels for it that a test may change."""

    def __init__(self, host: Host, wheels: Path) -> None:
        self.host, self.wheels, self.lock = host, wheels, wheels / "requirements.lock"
        self.release()

    def release(self, source: str = SLOW) -> None:
        """The release's wheels, and the lock that vouches for them."""
        wheels = [make_wheel(self.wheels, "sglang", "0.5.11", source)]
        wheels += [make_wheel(self.wheels, "torch", "2.11.0"), make_wheel(self.wheels, "transformers", "5.6.0")]
        make_lock(self.lock, wheels)

    def play(self, options: str = "", **variables: Any) -> Play:
        settings = {"ml_env_lock": str(self.lock), "ml_env_wheelhouse": "/mnt/wheels", "ml_env_disk_needed_mib": 100}
        return self.host.play(PLAYBOOK, options, **{**settings, **variables})

    def in_background(self, **variables: Any) -> tuple[threading.Thread, list[Play]]:
        plays: list[Play] = []
        thread = threading.Thread(target=lambda: plays.append(self.play(**variables)))
        thread.start()
        return thread, plays

    def wait_until(self, condition: str, seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while self.host.try_shell(condition)[0] != 0:
            assert time.monotonic() < deadline, f"never came: {condition}"
            time.sleep(0.3)

    def wait_until_importing(self) -> None:
        self.wait_until(IMPORTING)

    def environments(self) -> list[str]:
        return self.host.shell("ls /opt/sglang/envs 2>/dev/null || true").split()


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EnvironmentHost]:
    if os.geteuid() != 0:
        pytest.skip("the lab needs root")
    name, number = "envhost", "47"
    wheels = tmp_path_factory.mktemp("wheels")
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--require-hashes", "--no-deps", "--only-binary", ":all:"]
    subprocess.run([*download, "--dest", str(wheels), "--requirement", str(UV_LOCK)], check=True)
    lab("down", name)
    lab("build-rootfs", "trixie")
    lab("up", name, number, "trixie", "--mount-ro", f"{wheels}:/mnt/wheels")
    host = Host(name, f"{subnet()}.{number}", tmp_path_factory.mktemp("ml-env"))
    yield EnvironmentHost(host, wheels)
    lab("down", name)


@pytest.fixture(scope="module")
def prepared(fresh: EnvironmentHost) -> EnvironmentHost:
    fresh.host.shell("apt-get update -qq && apt-get install -y -qq python3-venv procps >/dev/null 2>&1")
    return fresh


@pytest.fixture
def env(prepared: EnvironmentHost) -> EnvironmentHost:
    """Nothing built, nothing held, and nothing left by a controller that a test before has killed."""
    prepared.host.shell("rm -rf /root/.ansible/tmp/* /root/.ansible_async/*")
    prepared.host.shell(f"rm -rf /opt/sglang/envs /opt/sglang/ml-env /opt/sglang/ml-env.* {HOLD}")
    prepared.release()
    return prepared


def test_check_mode_on_an_empty_host(fresh: EnvironmentHost) -> None:
    """Runs first: the host has neither directories nor python3-venv nor locks."""
    play = fresh.play("--check")
    assert play.ok, play.output
    assert play.count("changed") == 3
    assert "/opt/sglang/envs/sglang-0.5.11-" in play.output
    assert fresh.host.try_shell("test -e /opt/sglang")[0] != 0


def test_missing_venv_module_is_said(fresh: EnvironmentHost) -> None:
    """Debian has python3 without python3-venv."""
    play = fresh.play()
    assert not play.ok
    assert "python3-venv" in play.message
    assert "next:" in play.message


def test_build_then_nothing_to_do(env: EnvironmentHost) -> None:
    first = env.play()
    assert first.ok, first.output
    for phase in ("venv:", "import: sglang", "mark:"):
        assert f"[envhost] {phase}" in first.output
    jobs = env.host.shell("stat -c %y /root/.ansible_async")
    second = env.play()
    assert second.ok, second.output
    assert second.count("changed") == 0
    assert env.host.shell("stat -c %y /root/.ansible_async") == jobs, "no job is started on a host where nothing is to be done"
    assert env.play("--check").count("changed") == 0
    env.host.shell("setpriv --reuid nobody --regid nogroup --clear-groups /opt/sglang/ml-env/bin/python -c 'import sglang, torch'")
    assert env.host.shell("ls /root/.ansible_async /root/.ansible/tmp | grep -v : || true") == ""


def test_play_that_is_killed_is_healed_by_the_next_one(env: EnvironmentHost) -> None:
    env.host.shell(f"touch {HOLD}")
    killed = env.host.play(PLAYBOOK, kill_at="Build the environment", ml_env_lock=str(env.lock), ml_env_wheelhouse="/mnt/wheels")
    assert not killed.ok
    env.host.shell(f"rm {HOLD}")
    healed = env.play()
    assert healed.ok, healed.output
    assert len([name for name in env.environments() if name.startswith("sglang-")]) == 1


@pytest.mark.full
def test_second_play_waits_for_the_first(env: EnvironmentHost) -> None:
    env.host.shell(f"touch {HOLD}")
    thread, _plays = env.in_background()
    env.wait_until_importing()
    waiting, plays = env.in_background()
    # The second play says that it waits: both controllers are at work on one host.
    env.wait_until("ls /root/.ansible_async/*.progress | xargs grep -l 'another run' >/dev/null")
    env.host.shell(f"rm {HOLD}")
    thread.join()
    waiting.join()
    assert plays[0].ok, plays[0].output
    assert "another run" in plays[0].output
    assert len([name for name in env.environments() if name.startswith("sglang-")]) == 1


@pytest.mark.full
def test_builder_that_is_killed_is_told_and_the_next_run_heals(env: EnvironmentHost) -> None:
    env.host.shell(f"touch {HOLD}")
    thread, plays = env.in_background()
    env.wait_until_importing()
    env.host.shell("pkill -9 -f '^/usr/bin/python3 [^ ]*[A]nsiballZ_python_environment'")
    thread.join()
    assert "was killed on the host" in plays[0].message
    assert "import: sglang" in plays[0].message
    # The tool that the module ran dies with it: nobody writes into a directory whose lock is free.
    assert env.host.try_shell(IMPORTING)[0] != 0
    assert env.host.try_shell("test -e /opt/sglang/ml-env")[0] != 0
    env.host.shell(f"rm {HOLD}")
    healed = env.play()
    assert healed.ok, healed.output
    assert "clean: removed the unfinished" in healed.output
    assert env.host.shell("ls /root/.ansible_async /root/.ansible/tmp | grep -v : || true") == ""


@pytest.mark.full
def test_restart_of_the_host_is_told_and_the_next_run_heals(env: EnvironmentHost) -> None:
    env.host.shell(f"touch {HOLD}")
    thread, plays = env.in_background()
    env.wait_until_importing()
    env.host.try_shell("systemctl reboot")
    thread.join()
    assert "restart of the host" in plays[0].message, plays[0].output
    env.host.shell(f"rm -f {HOLD}")
    healed = env.play()
    assert healed.ok, healed.output


@pytest.mark.full
def test_directory_at_the_link_is_moved_aside_and_its_new_name_is_printed(env: EnvironmentHost) -> None:
    env.host.shell("mkdir -p /opt/sglang/ml-env && echo precious > /opt/sglang/ml-env/file")
    play = env.play()
    assert play.ok, play.output
    aside = env.host.shell("ls -d /opt/sglang/ml-env.replaced-*")
    assert env.host.shell(f"cat {aside}/file") == "precious"
    assert aside in play.output


@pytest.mark.full
def test_existing_environment_is_adopted(env: EnvironmentHost) -> None:
    built = env.play(ml_env_link="")
    assert built.ok, built.output
    # As if made by hand: not in the root, no marker.
    packages = "/opt/sglang/envs/sglang-*/lib/python3*/site-packages/*"
    env.host.shell(f"python3 -m venv /opt/theirs --without-pip && cp -r {packages} /opt/theirs/lib/python3*/site-packages/")
    env.host.shell("rm -rf /opt/sglang/envs")
    play = env.play(ml_env_link="/opt/theirs", ml_env_adopt=True)
    assert play.ok, play.output
    assert "adopted: true" in play.output
    assert env.host.try_shell("test -e /opt/theirs/.complete.json")[0] != 0
    refused = env.play(ml_env_link="/opt/theirs", ml_env_adopt=True, ml_env_sglang_version="0.5.23")
    assert "sglang 0.5.11" in refused.message
    env.host.shell("rm -rf /opt/theirs")


def test_release_without_a_lock_is_refused_before_the_host_is_touched(env: EnvironmentHost) -> None:
    play = env.play(ml_env_lock="", ml_env_sglang_version="0.4.0")
    assert not play.ok
    assert "locks of 0.5.11, 0.5.23" in play.message
    assert env.environments() == []
