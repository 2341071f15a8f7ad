# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Looks at the host: the input and output edge of the preflight. Reads only; decides nothing."""

from __future__ import annotations

import glob
import grp
import json
import os
import platform
import pwd
import re
import shutil
import stat
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ansible_collections.inference.sglang.plugins.module_utils._listeners import Proc
from ansible_collections.inference.sglang.plugins.module_utils._nvidia import look_at_nvidia
from ansible_collections.inference.sglang.plugins.module_utils._preflight_types import (
    Capability,
    DeviceNode,
    DiskFacts,
    GpuProcess,
    HostFacts,
    PythonFacts,
)

_GIB = float(1 << 30)
_COMMAND_TIMEOUT = 20
_CERTIFICATES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")
_LDCONFIG = ("/sbin/ldconfig", "/usr/sbin/ldconfig")

# FFmpeg's major version → the sonames of its seven libraries; torchcodec needs all seven of one major.
FFMPEG_LIBRARIES = {
    major: tuple(
        f"{name}.so.{number}"
        for name, number in zip(
            ("libavutil", "libavcodec", "libavformat", "libavdevice", "libavfilter", "libswscale", "libswresample"),
            numbers,
        )
    )
    for major, numbers in {
        4: (56, 58, 58, 58, 7, 5, 3),
        5: (57, 59, 59, 59, 8, 6, 4),
        6: (58, 60, 60, 60, 9, 7, 4),
        7: (59, 61, 61, 61, 10, 8, 5),
        8: (60, 62, 62, 62, 11, 9, 6),
    }.items()
}

# Asked of the interpreter itself: it may be another one than runs this module.
_PYTHON_PROBE = """
import importlib.util, json, os, sys, sysconfig
print(json.dumps({
    "version": "%d.%d.%d" % sys.version_info[:3],
    "header": os.path.join(sysconfig.get_path("include"), "Python.h"),
    "has_header": os.path.isfile(os.path.join(sysconfig.get_path("include"), "Python.h")),
    "has_venv": all(importlib.util.find_spec(m) is not None for m in ("venv", "ensurepip")),
}))
"""


@dataclass(frozen=True)
class DiskQuestion:
    """A path to look at. When the glob ``settled`` matches, something is published there already."""

    path: str
    settled: str = ""


@dataclass(frozen=True)
class Questions:
    """What to look at."""

    python: str = "/usr/bin/python3"
    user: str = "root"
    disks: tuple[DiskQuestion, ...] = ()
    ports: tuple[int, ...] = ()
    nvidia_smi: str = "nvidia-smi"
    nvidia_smi_timeout: int = 30


def parse_os_release(text: str) -> dict[str, str]:
    """/etc/os-release: NAME=value, the value perhaps in quotes."""
    found = {}
    for line in text.splitlines():
        name, equals, value = line.strip().partition("=")
        if equals and not name.startswith("#"):
            found[name] = value.strip().strip("\"'")
    return found


def parse_memory_gib(meminfo: str) -> float:
    match = re.search(r"^MemTotal:\s+(\d+) kB", meminfo, re.MULTILINE)
    return int(match[1]) * 1024 / _GIB if match else 0.0


def parse_systemd_version(text: str) -> int:
    """``systemd 252 (252.39-1~deb12u2)`` → 252."""
    match = re.match(r"systemd (\d+)", text)
    return int(match[1]) if match else 0


def parse_ldconfig(text: str) -> frozenset[str]:
    """The sonames of ``ldconfig -p`` that a 64-bit program finds."""
    return frozenset(line.split()[0] for line in text.splitlines() if "=>" in line and "x86-64" in line)


def ffmpeg_majors(sonames: Iterable[str]) -> list[int]:
    there = set(sonames)
    return [major for major, libraries in FFMPEG_LIBRARIES.items() if there.issuperset(libraries)]


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return ""


def _output(command: Sequence[str]) -> str:
    """Standard output, or nothing when the command is missing, fails or hangs."""
    try:
        done = subprocess.run(  # pylint: disable=ansible-bad-function
            command, capture_output=True, text=True, timeout=_COMMAND_TIMEOUT, check=True, env=_plain_environment()
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout


def _plain_environment() -> dict[str, str]:
    return {**os.environ, "LC_ALL": "C", "PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/bin:/sbin:/bin"}


def _glibc() -> str:
    try:
        return (os.confstr("CS_GNU_LIBC_VERSION") or "").replace("glibc", "").strip()
    except (ValueError, OSError):
        return ""


def look_at_python(path: str) -> tuple[PythonFacts, list[Capability]]:
    """The interpreter, its headers and its venv module."""
    absent = [Capability("python_headers", False), Capability("python_venv", False)]
    try:
        done = subprocess.run(  # pylint: disable=ansible-bad-function
            [path, "-I", "-c", _PYTHON_PROBE], capture_output=True, text=True, timeout=_COMMAND_TIMEOUT, check=False
        )
    except OSError as error:
        return PythonFacts(path, problem=error.strerror or str(error)), absent
    except subprocess.TimeoutExpired:
        return PythonFacts(path, problem=f"no answer in {_COMMAND_TIMEOUT} s"), absent
    try:
        said = json.loads(done.stdout)
    except ValueError:
        words = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1]
        return PythonFacts(path, problem=words), absent
    return PythonFacts(path, version=said["version"]), [
        Capability("python_headers", said["has_header"], said["header"] if said["has_header"] else f"no {said['header']}"),
        Capability("python_venv", said["has_venv"]),
    ]


def look_at_disk(question: DiskQuestion) -> DiskFacts:
    """The file system under a path that need not exist yet."""
    real = os.path.realpath(question.path)
    existing = real
    while not os.path.exists(existing):
        existing = os.path.dirname(existing)
    usage = os.statvfs(existing)
    return DiskFacts(
        path=question.path,
        real_path=real,
        device=os.stat(existing).st_dev,
        free_gib=usage.f_bavail * usage.f_frsize / _GIB,
        read_only=bool(usage.f_flag & os.ST_RDONLY),
        no_exec=bool(usage.f_flag & os.ST_NOEXEC),
        settled=bool(question.settled and glob.glob(question.settled)),
    )


def _program(*names: str) -> str:
    return next((path for path in (shutil.which(name, path=_plain_environment()["PATH"]) for name in names) if path), "")


def look_at_libraries() -> list[Capability]:
    """What the engine needs of the operating system beside the interpreter."""
    ldconfig = next((path for path in _LDCONFIG if os.path.exists(path)), _LDCONFIG[0])
    sonames = parse_ldconfig(_output([ldconfig, "-p"]))
    majors = ffmpeg_majors(sonames)
    # In the order in which Triton and PyTorch look for them.
    compiler, cxx_compiler = _program("clang", "gcc"), _program("g++", "clang++")
    certificates = next((path for path in _CERTIFICATES if os.path.exists(path)), "")
    headers = "/usr/include/stdlib.h"
    return [
        Capability("ffmpeg", bool(majors), f"FFmpeg {', '.join(map(str, majors))}" if majors else "no whole set of one major version"),
        Capability("compiler", bool(compiler), compiler or "neither gcc nor clang"),
        Capability("cxx_compiler", bool(cxx_compiler), cxx_compiler or "neither g++ nor clang++"),
        Capability("libc_headers", os.path.exists(headers), headers if os.path.exists(headers) else f"no {headers}"),
        Capability("libnuma", "libnuma.so.1" in sonames, "libnuma.so.1" if "libnuma.so.1" in sonames else "no libnuma.so.1"),
        Capability("ca_certificates", bool(certificates), certificates or "none"),
    ]


def _user_groups(user: str) -> tuple[str, ...]:
    try:
        entry = pwd.getpwnam(user)
        return tuple(sorted(grp.getgrgid(gid).gr_name for gid in os.getgrouplist(user, entry.pw_gid)))
    except KeyError:
        return ()


def look_at_device_nodes(patterns: Sequence[str] = ("/dev/nvidia[0-9]*", "/dev/nvidiactl")) -> tuple[DeviceNode, ...]:
    nodes = []
    for path in sorted(path for pattern in patterns for path in glob.glob(pattern)):
        seen = os.stat(path)
        try:
            group = grp.getgrgid(seen.st_gid).gr_name
        except KeyError:
            group = str(seen.st_gid)
        nodes.append(DeviceNode(path, (stat.S_IMODE(seen.st_mode) & 0o006) == 0o006, group))
    return tuple(nodes)


def gather(questions: Questions) -> HostFacts:
    """All facts in one pass."""
    release = parse_os_release(_read("/etc/os-release"))
    proc = Proc()
    python, python_capabilities = look_at_python(questions.python)
    nvidia = look_at_nvidia(questions.nvidia_smi, questions.nvidia_smi_timeout)
    memory = os.statvfs("/dev/shm") if os.path.ismount("/dev/shm") else None
    return HostFacts(
        os_id=release.get("ID", ""),
        os_version=release.get("VERSION_ID", ""),
        os_name=release.get("PRETTY_NAME", ""),
        architecture=platform.machine(),
        kernel=platform.release(),
        glibc=_glibc(),
        init=_read("/proc/1/comm").strip(),
        systemd=parse_systemd_version(_output(["systemctl", "--version"])),
        python=python,
        memory_gib=parse_memory_gib(_read("/proc/meminfo")),
        shm_gib=memory.f_blocks * memory.f_frsize / _GIB if memory else 0.0,
        disks=tuple(look_at_disk(question) for question in questions.disks),
        driver=nvidia.driver,
        gpus=nvidia.gpus,
        gpu_processes=tuple(_with_process(used, proc) for used in nvidia.processes),
        device_nodes=look_at_device_nodes(),
        listeners=tuple(proc.listeners(questions.ports)),
        capabilities=(*look_at_libraries(), *python_capabilities),
        user_groups=_user_groups(questions.user),
        units=proc.units(),
    )


def _with_process(used: GpuProcess, proc: Proc) -> GpuProcess:
    return replace(used, process=proc.process(used.pid))
