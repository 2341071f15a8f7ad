# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's driver, cards and compute processes, as nvidia-smi and /proc show them."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from typing import Optional

from ansible_collections.inference.sglang.plugins.module_utils._preflight_types import DriverFacts, GpuFacts, GpuProcess

_PROC_VERSION = "/proc/driver/nvidia/version"
_GPU_FIELDS = ("index", "uuid", "name", "memory.total", "memory.used", "compute_cap", "driver_version")
_PROCESS_FIELDS = ("gpu_uuid", "pid", "used_memory")


@dataclass(frozen=True)
class NvidiaFacts:
    driver: DriverFacts
    gpus: tuple[GpuFacts, ...] = ()
    processes: tuple[GpuProcess, ...] = ()


def parse_proc_version(text: str) -> str:
    """``NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun …`` or the open module's wording → 580.65.06."""
    match = re.search(r"^NVRM version:.*?\s(\d+\.\d+(?:\.\d+)?)\s", text, re.MULTILINE)
    return match[1] if match else ""


def _rows(text: str, width: int) -> list[list[str]]:
    rows = [[cell.strip() for cell in line.split(",")] for line in text.splitlines()]
    return [row for row in rows if len(row) == width]


def _number(text: str) -> int:
    """``[N/A]`` counts as 0: the field is not supported there."""
    return int(text) if text.isdigit() else 0


def parse_gpus(text: str) -> tuple[tuple[GpuFacts, ...], str]:
    """The cards, and the driver's version."""
    rows = _rows(text, len(_GPU_FIELDS))
    gpus = tuple(
        GpuFacts(
            index=int(index),
            uuid=uuid,
            name=name,
            memory_mib=_number(total),
            used_mib=_number(used),
            compute_capability=capability if capability[:1].isdigit() else "",
        )
        for index, uuid, name, total, used, capability, _driver in rows
    )
    return gpus, rows[0][6] if rows else ""


def parse_processes(text: str) -> tuple[GpuProcess, ...]:
    return tuple(
        GpuProcess(gpu_uuid=uuid, pid=int(pid), used_mib=_number(used))
        for uuid, pid, used in _rows(text, len(_PROCESS_FIELDS))
        if pid.isdigit()
    )


@dataclass(frozen=True)
class _Answer:
    text: Optional[str]  # None: no such program
    problem: str = ""


def _ask(program: str, query: str, fields: tuple[str, ...], timeout: int) -> _Answer:
    command = [program, f"--query-{query}={','.join(fields)}", "--format=csv,noheader,nounits"]
    try:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except FileNotFoundError:
        return _Answer(None)
    except OSError as error:
        return _Answer("", error.strerror or str(error))
    try:
        text, _nothing = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        # One that waits inside the driver cannot be killed: it is left behind rather than waited for.
        child.kill()
        return _Answer("", f"no answer in {timeout} s")
    if child.returncode:
        return _Answer("", " ".join(text.split())[:300] or f"exit status {child.returncode}")
    return _Answer(text)


def look_at_nvidia(program: str = "nvidia-smi", timeout: int = 30) -> NvidiaFacts:
    """Driver, cards and processes. A driver without a working nvidia-smi is still seen, by its kernel module."""
    module_version = ""
    try:
        with open(_PROC_VERSION, encoding="utf-8") as stream:
            module_version = parse_proc_version(stream.read())
    except OSError:
        pass
    answer = _ask(program, "gpu", _GPU_FIELDS, timeout)
    if answer.text is None:
        problem = "the program is missing" if module_version else ""
        return NvidiaFacts(DriverFacts(module_version, "/proc" if module_version else "", problem))
    if answer.problem:
        return NvidiaFacts(DriverFacts(module_version, "/proc" if module_version else "", answer.problem))
    gpus, version = parse_gpus(answer.text)
    processes = _ask(program, "compute-apps", _PROCESS_FIELDS, timeout)
    return NvidiaFacts(
        driver=DriverFacts(version or module_version, "nvidia-smi" if version else "/proc", "" if gpus else " ".join(answer.text.split())),
        gpus=gpus,
        processes=parse_processes(processes.text or ""),
    )
