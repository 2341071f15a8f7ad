# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's driver, cards and compute processes, as nvidia-smi and /proc show them."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from typing import Optional

from ansible_collections.inference.sglang.plugins.module_utils._gpus import GPU_QUERY, PROCESS_QUERY, parse_nvidia_smi
from ansible_collections.inference.sglang.plugins.module_utils._preflight_types import DriverFacts, GpuFacts, GpuProcess

_PROC_VERSION = "/proc/driver/nvidia/version"


@dataclass(frozen=True)
class NvidiaFacts:
    driver: DriverFacts
    gpus: tuple[GpuFacts, ...] = ()
    processes: tuple[GpuProcess, ...] = ()


def parse_proc_version(text: str) -> str:
    """``NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun …`` or the open module's wording → 580.65.06."""
    match = re.search(r"^NVRM version:.*?\s(\d+\.\d+(?:\.\d+)?)\s", text, re.MULTILINE)
    return match[1] if match else ""


def parse(gpus: str, processes: str = "") -> NvidiaFacts:
    """The cards, the driver's version and the compute processes. What a card does not report counts as 0."""
    rows = parse_nvidia_smi(gpus, processes)
    return NvidiaFacts(
        driver=DriverFacts(rows[0]["driver_version"], "nvidia-smi") if rows else DriverFacts(),
        gpus=tuple(
            GpuFacts(
                index=row["index"],
                uuid=row["uuid"],
                name=row["name"],
                memory_mib=row["memory_mib"] or 0,
                used_mib=row["memory_used_mib"] or 0,
                compute_capability=row["compute_capability"] if row["compute_capability"][:1].isdigit() else "",
            )
            for row in rows
        ),
        processes=tuple(
            GpuProcess(gpu_uuid=row["uuid"], pid=used["pid"], used_mib=used["memory_used_mib"] or 0)
            for row in rows
            for used in row["processes"]
        ),
    )


@dataclass(frozen=True)
class _Answer:
    text: Optional[str]  # None: no such program
    problem: str = ""


def _ask(program: str, query: str, fields: tuple[str, ...], timeout: int) -> _Answer:
    command = [program, f"--query-{query}={','.join(fields)}", "--format=csv,noheader,nounits"]
    try:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)  # pylint: disable=ansible-bad-function
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


def _module_version() -> str:
    try:
        with open(_PROC_VERSION, encoding="utf-8") as stream:
            return parse_proc_version(stream.read())
    except OSError:
        return ""


def look_at_nvidia(program: str = "nvidia-smi", timeout: int = 30) -> NvidiaFacts:
    """Driver, cards and processes. A driver without a working nvidia-smi is still seen, by its kernel module."""
    module_version = _module_version()
    source = "/proc" if module_version else ""
    answer = _ask(program, "gpu", GPU_QUERY, timeout)
    if answer.text is None:
        return NvidiaFacts(DriverFacts(module_version, source, "the program is missing" if module_version else ""))
    if answer.problem:
        return NvidiaFacts(DriverFacts(module_version, source, answer.problem))
    found = parse(answer.text, _ask(program, "compute-apps", PROCESS_QUERY, timeout).text or "")
    if not found.gpus:
        return NvidiaFacts(DriverFacts(module_version, source, " ".join(answer.text.split())[:300] or "it lists no GPU"))
    return found
