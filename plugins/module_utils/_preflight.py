# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Is this host fit for what is wanted of it? Every reason against it, at once. Pure: facts and wants in, a verdict out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from fnmatch import fnmatchcase
from types import MappingProxyType

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._listeners import Listener
from ansible_collections.inference.sglang.plugins.module_utils._preflight_gpu import check_gpus, version_key
from ansible_collections.inference.sglang.plugins.module_utils._preflight_types import (
    DiskFacts,
    HostFacts,
    Reason,
    Verdict,
    Wants,
)

# The support table. *expected*: its package names are known, but no test of ours boots it.
SUPPORTED = MappingProxyType(
    {
        ("debian", "12"): "tested",
        ("debian", "13"): "tested",
        ("ubuntu", "22.04"): "expected",
        ("ubuntu", "24.04"): "expected",
    }
)

# LoadCredential= came with 247: secrets reach the engine through it.
_OLDEST_SYSTEMD = 247
# Emptied at boot or by a timer, or hidden from a unit with a private /tmp (which then fails with 203/EXEC).
_PASSING_PLACES = ("/tmp", "/var/tmp", "/run", "/dev/shm")
# Room that a file system must have left even where everything is published already: logs, caches, a new release's files.
_SETTLED_GIB = 1.0

CAPABILITIES = MappingProxyType(
    {
        "ffmpeg": "FFmpeg's shared libraries, of one major version from 4 to 8 (torchcodec loads them)",
        "compiler": "a C compiler (Triton compiles its launchers with it)",
        "cxx_compiler": "a C++ compiler (torch.compile and FlashInfer build with it)",
        "libc_headers": "the C library's headers (Triton compiles its launchers with them)",
        "python_headers": "Python.h of the interpreter (Triton compiles its launchers with it)",
        "python_venv": "the modules venv and ensurepip of the interpreter",
        "libnuma": "libnuma.so.1 (SGLang's kernels link against it)",
        "ca_certificates": "the system's certificates (downloads over HTTPS)",
    }
)


def check(facts: HostFacts, wants: Wants) -> Verdict:
    """Every check, in the order in which a person would repair the host."""
    gpu = check_gpus(facts, wants)
    port_reasons, unmanaged = _ports(facts, wants)
    reasons = [
        *_system(facts, wants),
        *_python(facts, wants),
        *_capabilities(facts, wants),
        *gpu.reasons,
        *_memory(facts, wants),
        *_disks(facts, wants),
        *port_reasons,
    ]
    notes = list(gpu.notes)
    if SUPPORTED.get((facts.os_id, facts.os_version)) == "expected":
        notes.append(f"{facts.os_name} is expected to work; no test of this collection boots it.")
    notes += [f"To be replaced: {listener.describe()}" for listener in unmanaged if wants.replace_unmanaged]
    return Verdict(reasons=tuple(reasons), notes=tuple(notes), unmanaged=tuple(unmanaged))


def refusal(reasons: Iterable[Reason], release: str) -> SglangError:
    """One error that holds all the reasons."""
    listed = list(reasons)
    lines = []
    for number, reason in enumerate(listed, 1):
        lines += [
            f"{number}. {reason.subject}",
            f"   needs: {reason.need}",
            f"   has:   {reason.has}",
            f"   next:  {reason.next}",
        ]
    count = "1 reason" if len(listed) == 1 else f"{len(listed)} reasons"
    return SglangError("\n".join([f"This host is not ready for SGLang {release}: {count}. Nothing was changed.", *lines]))


def _system(facts: HostFacts, wants: Wants) -> list[Reason]:
    reasons = []
    if (facts.os_id, facts.os_version) not in SUPPORTED and not wants.allow_unsupported_os:
        known = ", ".join(f"{name.capitalize()} {version}" for name, version in SUPPORTED)
        reasons.append(
            Reason(
                "Operating system",
                known,
                facts.os_name or "no /etc/os-release",
                "use one of these, or set inference_host_allow_unsupported_os: true and put the OS libraries in place yourself",
            )
        )
    if facts.architecture != "x86_64":
        reasons.append(Reason("Architecture", "x86_64", facts.architecture, "use an x86-64 machine"))
    wanted = wants.release.glibc
    if not facts.glibc or version_key(facts.glibc) < version_key(wanted):
        reasons.append(
            Reason(
                "C library",
                f"glibc >= {wanted} (the wheels of SGLang {wants.release.version} are built against it)",
                f"glibc {facts.glibc}" if facts.glibc else "another C library",
                "use a newer operating system; glibc cannot be upgraded by itself",
            )
        )
    if facts.init != "systemd":
        reasons.append(
            Reason(
                "Service manager",
                "systemd as process 1",
                f"process 1 is {facts.init or 'unknown'}",
                "use a machine or a system container that boots systemd",
            )
        )
    elif facts.systemd and facts.systemd < _OLDEST_SYSTEMD:
        reasons.append(
            Reason(
                "Service manager",
                f"systemd >= {_OLDEST_SYSTEMD} (credentials)",
                f"systemd {facts.systemd}",
                "use a newer operating system",
            )
        )
    return reasons


def _python(facts: HostFacts, wants: Wants) -> list[Reason]:
    python, wanted = facts.python, wants.release.python
    need = f"Python >= {wanted} (SGLang {wants.release.version})"
    if not python.version:
        return [Reason("Python", need, f"{python.path}: {python.problem}", "install it, or name another interpreter with ml_env_python")]
    if version_key(python.version) < version_key(wanted):
        return [
            Reason("Python", need, f"{python.path} is Python {python.version}", "name a newer interpreter of this host with ml_env_python")
        ]
    return []


def _capabilities(facts: HostFacts, wants: Wants) -> list[Reason]:
    there = {c.name: c for c in facts.capabilities}
    reasons = []
    for name in wants.capabilities:
        capability = there.get(name)
        if capability is None or not capability.present:
            has = (capability.found if capability else "") or "not found"
            reasons.append(
                Reason(
                    "OS libraries",
                    CAPABILITIES[name],
                    has,
                    "install it, or let this role do so with inference_host_manage_packages: true",
                )
            )
    return reasons


def _memory(facts: HostFacts, wants: Wants) -> list[Reason]:
    reasons = []
    if facts.memory_gib < wants.memory_gib:
        reasons.append(
            Reason(
                "Memory",
                f"{wants.memory_gib:g} GiB (inference_host_memory_gib)",
                f"{facts.memory_gib:.1f} GiB",
                "use a machine with more memory, or lower inference_host_memory_gib if the engine needs less",
            )
        )
    if facts.shm_gib < wants.shm_gib:
        reasons.append(
            Reason(
                "/dev/shm",
                f"{wants.shm_gib:g} GiB (inference_host_shm_gib; the ranks of an engine talk through it)",
                f"{facts.shm_gib:.2f} GiB",
                "mount -o remount,size=8G /dev/shm, and the same in /etc/fstab",
            )
        )
    return reasons


def _disks(facts: HostFacts, wants: Wants) -> list[Reason]:
    by_path = {disk.path: disk for disk in facts.disks}
    reasons = []
    need_of: dict[int, float] = {}
    parts_of: dict[int, list[str]] = {}
    for want in wants.disks:
        disk = by_path[want.path]
        reasons += _place(disk, want.purpose, want.executable)
        needed = min(want.needed_gib, _SETTLED_GIB) if disk.settled else want.needed_gib
        if needed:
            need_of[disk.device] = need_of.get(disk.device, 0.0) + needed
            parts_of.setdefault(disk.device, []).append(f"{needed:g} for {want.purpose} ({want.path})")
    for device, needed in need_of.items():
        disk = next(d for d in facts.disks if d.device == device)
        if disk.free_gib < needed:
            reasons.append(
                Reason(
                    "Disk",
                    f"{needed:g} GiB free on one file system: {', '.join(parts_of[device])}",
                    f"{disk.free_gib:.1f} GiB free",
                    "make room there, or put one of these on another file system",
                )
            )
    return reasons


def _place(disk: DiskFacts, purpose: str, executable: bool) -> list[Reason]:
    shown = disk.path if disk.path == disk.real_path else f"{disk.path} → {disk.real_path}"
    reasons = []
    passing = next((p for p in _PASSING_PLACES if disk.real_path == p or disk.real_path.startswith(f"{p}/")), "")
    if passing:
        reasons.append(
            Reason(
                "Path",
                f"a lasting place for {purpose}",
                f"{shown} (below {passing})",
                f"choose a path outside {passing}: it is emptied, or hidden from the service",
            )
        )
    if disk.read_only:
        reasons.append(Reason("Path", f"a writable file system for {purpose}", f"{shown} is mounted read-only", "mount it writable"))
    if executable and disk.no_exec:
        reasons.append(
            Reason("Path", f"a file system that may hold programs for {purpose}", f"{shown} is mounted noexec", "mount it without noexec")
        )
    return reasons


def is_own(unit: str, own_units: Iterable[str]) -> bool:
    return bool(unit) and any(fnmatchcase(unit, pattern) for pattern in own_units)


def _one_a_process(listeners: Iterable[Listener]) -> list[Listener]:
    """A server that listens over IPv4 and IPv6 is one server."""
    found: dict[tuple[int, int, str], Listener] = {}
    for listener in listeners:
        key = (listener.port, listener.pid, listener.user)
        first = found.get(key)
        found[key] = replace(first, address=f"{first.address} and {listener.address}") if first else listener
    return list(found.values())


def _ports(facts: HostFacts, wants: Wants) -> tuple[list[Reason], list[Listener]]:
    reasons = []
    unmanaged: list[Listener] = []
    for listener in _one_a_process(facts.listeners):
        if listener.port not in wants.ports or is_own(listener.unit, wants.own_units):
            continue
        # What another unit of this collection holds is managed: it is never "replaced", its port is simply taken.
        sibling = re.fullmatch(r"sglang-.+\.service", listener.unit) is not None
        if not sibling:
            unmanaged.append(listener)
            if wants.replace_unmanaged:
                continue
        reasons.append(
            Reason(
                "Port",
                f"port {listener.port} free, or held by this server's own unit",
                listener.describe(),
                "give one of the two another port"
                if sibling
                else "stop it, choose another port, or let the deployment replace it with sglang_server_replace_unmanaged: true",
            )
        )
    return reasons, unmanaged
