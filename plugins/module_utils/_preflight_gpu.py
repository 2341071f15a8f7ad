# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The GPU half of the preflight: driver, cards, and who already uses them. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

from ansible_collections.inference.sglang.plugins.module_utils._preflight_types import (
    GpuFacts,
    GpuProcess,
    HostFacts,
    Reason,
    Wants,
)

# What nvidia-smi says when it does not work → what to do about it.
_SMI_NEXT_STEPS = (
    ("version mismatch", "reboot, or unload the old kernel module: the driver was upgraded under a running kernel"),
    (
        "communicate with the nvidia driver",
        "load the kernel module (modprobe nvidia) and read dmesg; a kernel upgrade asks for it to be rebuilt",
    ),
    ("no answer", "a GPU that has fallen off the bus does this: read dmesg for Xid lines, then reboot"),
    ("no devices were found", "check the power and the seat of the cards, and read dmesg for NVRM lines"),
)


@dataclass(frozen=True)
class GpuVerdict:
    reasons: tuple[Reason, ...]
    notes: tuple[str, ...] = ()


def version_key(version: str) -> tuple[int, ...]:
    """``580.65.06`` → (580, 65, 6). Trailing zeros do not count: 580 is 580.0."""
    parts = [int(number) for number in re.findall(r"\d+", version)]
    while parts and parts[-1] == 0:
        parts.pop()
    return tuple(parts)


def check_gpus(facts: HostFacts, wants: Wants) -> GpuVerdict:
    driver = facts.driver
    if not facts.gpus and not driver.version and not driver.problem:
        return _without_gpus(wants)
    if not facts.gpus:
        return _silent_driver(facts, wants)
    wanted, missing = _wanted(facts.gpus, wants.gpu_indices)
    reasons = [*_driver(facts, wants), *missing, *_compute_capability(wanted, wants), *_device_nodes(facts, wants)]
    reasons += _busy(facts, wants, wanted)
    return GpuVerdict(tuple(reasons), _declared_differ(facts, wants))


def _without_gpus(wants: Wants) -> GpuVerdict:
    if wants.declared_gpus:
        cards = "; ".join(f"{gpu.name}, {gpu.memory_mib} MiB" for gpu in wants.declared_gpus)
        _wanted_gpus, missing = _wanted(wants.declared_gpus, wants.gpu_indices)
        return GpuVerdict(
            (*missing, *_compute_capability(_wanted_gpus, wants)),
            (f"No NVIDIA GPU and no driver here. The GPU facts come from the inventory (inference_host_gpus): {cards}.",),
        )
    if not wants.require_gpu:
        return GpuVerdict((), ("No NVIDIA GPU and no driver here, and none is required (inference_host_require_gpu: false).",))
    return GpuVerdict(
        (
            Reason(
                "NVIDIA driver",
                _driver_need(wants),
                "no driver: neither nvidia-smi nor /proc/driver/nvidia/version",
                "install NVIDIA's driver; for a machine without a GPU set inference_host_require_gpu: false",
            ),
        )
    )


def _silent_driver(facts: HostFacts, wants: Wants) -> GpuVerdict:
    """A driver that lists no card, or an nvidia-smi that does not work."""
    driver = facts.driver
    if not wants.require_gpu:
        said = driver.problem or "nvidia-smi lists no GPU"
        return GpuVerdict((), (f"No usable NVIDIA GPU here ({said}), and none is required (inference_host_require_gpu: false).",))
    problem = driver.problem or "no devices were found"
    known = (step for words, step in _SMI_NEXT_STEPS if words in problem.lower())
    step = next(known, "install nvidia-smi of the same driver, and see that `nvidia-smi -L` lists the cards")
    has = f"driver {driver.version}; nvidia-smi: {problem}" if driver.version else f"nvidia-smi: {problem}"
    return GpuVerdict((*_driver(facts, wants), Reason("NVIDIA GPUs", "a working nvidia-smi that lists the cards", has, step)))


def _driver_need(wants: Wants) -> str:
    release = wants.release
    text = f"driver >= {release.driver} (CUDA {release.cuda}, SGLang {release.version})"
    if wants.driver and version_key(wants.driver) > version_key(release.driver):
        return f"driver >= {wants.driver} (inference_host_min_driver)"
    return text


def _driver(facts: HostFacts, wants: Wants) -> list[Reason]:
    if not facts.driver.version:
        return []
    least = max(version_key(wants.release.driver), version_key(wants.driver))
    if version_key(facts.driver.version) >= least:
        return []
    return [
        Reason(
            "NVIDIA driver",
            _driver_need(wants),
            f"driver {facts.driver.version} (from {facts.driver.source})",
            "upgrade the driver and reboot",
        )
    ]


def _wanted(gpus: tuple[GpuFacts, ...], indices: tuple[int, ...]) -> tuple[list[GpuFacts], list[Reason]]:
    if not indices:
        return list(gpus), []
    by_index = {gpu.index: gpu for gpu in gpus}
    missing = [str(index) for index in indices if index not in by_index]
    reasons = []
    if missing:
        reasons.append(
            Reason(
                "NVIDIA GPUs",
                f"the GPUs {', '.join(str(i) for i in indices)}",
                f"only the GPUs {', '.join(str(i) for i in sorted(by_index))}",
                "correct the list of GPU indices (sglang_server_gpus), or look for the card that is gone (dmesg)",
            )
        )
    return [by_index[index] for index in indices if index in by_index], reasons


def _compute_capability(gpus: list[GpuFacts], wants: Wants) -> list[Reason]:
    least = wants.release.compute_capability
    # A card that nvidia-smi gives no capability for is not judged: the engine will.
    old = [gpu for gpu in gpus if gpu.compute_capability and version_key(gpu.compute_capability) < version_key(least)]
    return [
        Reason(
            "NVIDIA GPUs",
            f"compute capability >= {least} (CUDA {wants.release.cuda}, SGLang {wants.release.version})",
            f"GPU {gpu.index}, {gpu.name}: {gpu.compute_capability}",
            "use another card, or leave it out of the list of GPU indices (sglang_server_gpus)",
        )
        for gpu in old
    ]


def _device_nodes(facts: HostFacts, wants: Wants) -> list[Reason]:
    if wants.user == "root":
        return []
    groups = {*facts.user_groups, *wants.supplementary_groups}
    shut = [node for node in facts.device_nodes if not node.world and node.group not in groups]
    if not shut:
        return []
    return [
        Reason(
            "NVIDIA GPUs",
            f"device files that the user {wants.user} may open",
            ", ".join(f"{node.path} is for group {node.group} alone" for node in shut),
            f"add the group: inference_host_supplementary_groups: [{shut[0].group}]",
        )
    ]


def _is_ours(used: GpuProcess, facts: HostFacts, wants: Wants) -> bool:
    """Our own unit's, or (when it is to be replaced) of the process tree of the server that holds the port."""
    process = used.process
    if process is None:
        return _runs_already(facts, wants)
    if process.unit and any(fnmatchcase(process.unit, pattern) for pattern in wants.own_units):
        return True
    if not wants.replace_unmanaged:
        return False
    replaced = {listener.pid for listener in facts.listeners if listener.port in wants.ports and listener.pid}
    return bool(replaced & {process.pid, *process.ancestors})


def _runs_already(facts: HostFacts, wants: Wants) -> bool:
    """Whether memory that nobody can be named for may be presumed our own server's.

    In a container nvidia-smi shows pids of another namespace, or none: without this a converged host would refuse itself.
    """
    if any(fnmatchcase(unit, pattern) for unit in facts.units for pattern in wants.own_units):
        return True
    return wants.replace_unmanaged and any(listener.port in wants.ports for listener in facts.listeners)


def _busy(facts: HostFacts, wants: Wants, gpus: list[GpuFacts]) -> list[Reason]:
    reasons = []
    for gpu in gpus:
        here = [p for p in facts.gpu_processes if p.gpu_uuid == gpu.uuid]
        ours = [p for p in here if _is_ours(p, facts, wants)]
        others = [p for p in here if p not in ours]
        # Memory with no process listed is a driver's reserve, a display, or a process that has just died.
        foreign = sum(p.used_mib for p in others) or (0 if ours or _runs_already(facts, wants) else gpu.used_mib)
        if foreign <= wants.gpu_used_mib_allowed:
            continue
        has = "; ".join(_describe(p) for p in others) or f"{gpu.used_mib} MiB used by no process that nvidia-smi names"
        reasons.append(
            Reason(
                "NVIDIA GPUs",
                f"GPU {gpu.index} ({gpu.name}) free, but for {wants.gpu_used_mib_allowed} MiB",
                has,
                "stop what uses it, or give this server other GPUs (sglang_server_gpus)",
            )
        )
    return reasons


def _describe(used: GpuProcess) -> str:
    process = used.process
    if process is None:
        return f"{used.used_mib} MiB by pid {used.pid} (not visible from here: another container's?)"
    unit = f", unit {process.unit}" if process.unit else ""
    return f"{used.used_mib} MiB by pid {process.pid} of user {process.user} since {process.since}{unit}: {process.command}"


def _declared_differ(facts: HostFacts, wants: Wants) -> tuple[str, ...]:
    """Real cards win over declared ones; a difference is said."""
    if not wants.declared_gpus:
        return ()
    declared = [(gpu.memory_mib, gpu.compute_capability) for gpu in wants.declared_gpus]
    real = [(gpu.memory_mib, gpu.compute_capability) for gpu in facts.gpus]
    if declared == real:
        return ()
    cards = "; ".join(f"{gpu.name}, {gpu.memory_mib} MiB, {gpu.compute_capability}" for gpu in facts.gpus)
    return (f"The GPUs of this host differ from inference_host_gpus in the inventory. Its own are used: {cards}.",)
