# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Looking at a host: parsing, and the real calls on this machine and against false programs."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest
from ansible_collections.inference.sglang.plugins.module_utils import _nvidia
from ansible_collections.inference.sglang.plugins.module_utils._host_facts import (
    FFMPEG_LIBRARIES,
    DiskQuestion,
    Questions,
    ffmpeg_majors,
    gather,
    look_at_device_nodes,
    look_at_disk,
    look_at_python,
    parse_ldconfig,
    parse_memory_gib,
    parse_os_release,
    parse_systemd_version,
)
from ansible_collections.inference.sglang.plugins.module_utils._preflight import CAPABILITIES

NVIDIA = Path(__file__).resolve().parents[1] / "data/nvidia"


def program(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


# --- NVIDIA


def test_recorded_cards_and_processes() -> None:
    found = _nvidia.parse((NVIDIA / "h200-busy.csv").read_text(), (NVIDIA / "h200-busy-processes.csv").read_text())
    (gpu,), (process,) = found.gpus, found.processes
    assert (gpu.index, gpu.name, gpu.memory_mib, gpu.used_mib, gpu.compute_capability) == (0, "NVIDIA H200", 143771, 3599, "9.0")
    assert (process.gpu_uuid, process.pid, process.used_mib) == (gpu.uuid, 443, 3590)
    assert (found.driver.version, found.driver.source) == ("580.159.04", "nvidia-smi")


def test_what_a_card_does_not_report_counts_as_nothing() -> None:
    found = _nvidia.parse("0, GPU-1, NVIDIA GB10, [N/A], [N/A], 12.1, 580.95.05\n", "GPU-1, 7, python, [N/A]\n")
    assert (found.gpus[0].memory_mib, found.gpus[0].used_mib, found.processes[0].used_mib) == (0, 0, 0)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ((NVIDIA / "proc-version-open-module.txt").read_text(), "580.159.04"),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024\nGCC version: 12\n", "535.183.01"),
        ("GCC version: gcc 12.2.0\n", ""),
    ],
)
def test_the_kernel_module_names_its_version(text: str, version: str) -> None:
    assert _nvidia.parse_proc_version(text) == version


def test_an_nvidia_smi_that_answers(tmp_path: Path) -> None:
    smi = program(
        tmp_path / "smi",
        f"case $1 in --query-gpu=*) cat {NVIDIA}/h200-busy.csv;; --query-compute-apps=*) cat {NVIDIA}/h200-busy-processes.csv;; esac",
    )
    found = _nvidia.look_at_nvidia(smi, 10)
    assert (len(found.gpus), len(found.processes), found.driver.problem) == (1, 1, "")


def test_an_nvidia_smi_that_hangs_is_left_after_the_timeout(tmp_path: Path) -> None:
    started = time.monotonic()
    found = _nvidia.look_at_nvidia(program(tmp_path / "smi", "exec sleep 60"), 1)
    assert found.driver.problem == "no answer in 1 s"
    assert time.monotonic() - started < 20


def test_an_nvidia_smi_that_fails_says_its_words(tmp_path: Path) -> None:
    words = "Failed to initialize NVML: Driver/library version mismatch"
    found = _nvidia.look_at_nvidia(program(tmp_path / "smi", f"echo '{words}'; exit 18"), 10)
    assert found.driver.problem == words
    assert found.gpus == ()


def test_an_nvidia_smi_without_cards(tmp_path: Path) -> None:
    assert _nvidia.look_at_nvidia(program(tmp_path / "smi", "echo No devices were found"), 10).driver.problem == "No devices were found"


@pytest.mark.parametrize(("version", "problem"), [("", ""), ("580.65.06", "the program is missing")])
def test_no_nvidia_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, problem: str) -> None:
    if version:
        (tmp_path / "version").write_text(f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {version}  Sun\n")
    monkeypatch.setattr(_nvidia, "_PROC_VERSION", str(tmp_path / "version"))
    driver = _nvidia.look_at_nvidia(str(tmp_path / "absent"), 1).driver
    assert (driver.version, driver.problem) == (version, problem)


# --- the operating system


def test_os_release() -> None:
    found = parse_os_release('PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n# ID=no\nVERSION_ID="12"\nID=debian\nBROKEN\n')
    assert found == {"PRETTY_NAME": "Debian GNU/Linux 12 (bookworm)", "VERSION_ID": "12", "ID": "debian"}


def test_memory_and_systemd() -> None:
    assert parse_memory_gib("MemFree: 1 kB\nMemTotal:       25165824 kB\n") == 24
    assert parse_memory_gib("") == 0
    assert parse_systemd_version("systemd 252 (252.39-1~deb12u2)\n+PAM") == 252
    assert parse_systemd_version("") == 0


def test_only_64_bit_libraries_count() -> None:
    text = (
        "3 libs found in cache `/etc/ld.so.cache'\n"
        "\tlibnuma.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libnuma.so.1\n"
        "\tlibavutil.so.57 (libc6) => /lib/i386-linux-gnu/libavutil.so.57\n"
    )
    assert parse_ldconfig(text) == {"libnuma.so.1"}


@pytest.mark.parametrize("major", FFMPEG_LIBRARIES)
def test_ffmpeg_needs_all_seven_of_one_major(major: int) -> None:
    assert len(FFMPEG_LIBRARIES[major]) == 7
    assert ffmpeg_majors(FFMPEG_LIBRARIES[major]) == [major]
    for absent in FFMPEG_LIBRARIES[major]:
        assert ffmpeg_majors(set(FFMPEG_LIBRARIES[major]) - {absent}) == []


# --- Python, disks, devices


def test_this_python() -> None:
    python, capabilities = look_at_python(sys.executable)
    assert python.version == ".".join(map(str, sys.version_info[:3]))
    assert [c.name for c in capabilities] == ["python_headers", "python_venv"]


@pytest.mark.parametrize(
    ("text", "problem"), [("echo boom >&2; exit 3", "boom"), ("exit 3", "exit status 3"), ("echo not json", "exit status 0")]
)
def test_a_python_that_does_not_run(tmp_path: Path, text: str, problem: str) -> None:
    python, capabilities = look_at_python(program(tmp_path / "python", text))
    assert (python.version, python.problem) == ("", problem)
    assert not any(c.present for c in capabilities)


def test_no_python(tmp_path: Path) -> None:
    assert look_at_python(str(tmp_path / "absent"))[0].problem == "No such file or directory"


def test_a_disk_is_seen_at_the_nearest_parent(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    disk = look_at_disk(DiskQuestion(str(tmp_path / "link/a/b/c")))
    assert disk.real_path == str(tmp_path.resolve() / "elsewhere/a/b/c")
    assert disk.device == os.stat(tmp_path).st_dev
    assert disk.free_gib > 0
    assert not disk.settled


def test_something_published_settles_a_disk(tmp_path: Path) -> None:
    question = DiskQuestion(str(tmp_path), f"{tmp_path}/*/.complete.json")
    assert not look_at_disk(question).settled
    (tmp_path / "main-0123").mkdir()
    assert not look_at_disk(question).settled
    (tmp_path / "main-0123/.complete.json").touch()
    assert look_at_disk(question).settled


def test_device_files(tmp_path: Path) -> None:
    for name, mode in (("nvidia0", 0o666), ("nvidia1", 0o660)):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(mode)
    shared, closed = look_at_device_nodes((str(tmp_path / "nvidia[0-9]*"),))
    assert (shared.world, closed.world) == (True, False)


def test_everything_in_one_pass() -> None:
    facts = gather(Questions(python=sys.executable, disks=(DiskQuestion("/opt/sglang/envs"),), ports=(1,)))
    assert {c.name for c in facts.capabilities} == set(CAPABILITIES)
    assert facts.memory_gib > 0
    assert facts.os_id
    assert facts.user_groups == ("root",) or facts.user_groups
