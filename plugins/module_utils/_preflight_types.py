# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a preflight looks at, and what it says: facts of a host, what is wanted of it, reasons against it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Optional

from ansible_collections.inference.sglang.plugins.module_utils._listeners import Listener, ProcessFacts


@dataclass(frozen=True)
class PythonFacts:
    """The interpreter that environments are made with. ``version`` is empty when it does not run: see ``problem``."""

    path: str
    version: str = ""
    problem: str = ""


@dataclass(frozen=True)
class DiskFacts:
    """The file system under a path, seen at its nearest existing parent."""

    path: str
    real_path: str
    device: int
    free_gib: float
    read_only: bool = False
    no_exec: bool = False
    # Something is published below it already: only a little room is needed, not the whole of it.
    settled: bool = False


@dataclass(frozen=True)
class DriverFacts:
    """NVIDIA's driver. ``source`` is how it was seen; ``problem`` is what nvidia-smi said where it does not work."""

    version: str = ""
    source: str = ""  # nvidia-smi, /proc, or empty
    problem: str = ""


@dataclass(frozen=True)
class GpuFacts:
    index: int
    name: str
    memory_mib: int
    compute_capability: str
    used_mib: int = 0
    uuid: str = ""


@dataclass(frozen=True)
class GpuProcess:
    """A compute process on a GPU. ``process`` is None when its pid cannot be seen from here (another pid namespace)."""

    gpu_uuid: str
    pid: int
    used_mib: int
    process: Optional[ProcessFacts] = None


@dataclass(frozen=True)
class DeviceNode:
    """/dev/nvidia*: who may open it."""

    path: str
    world: bool
    group: str


@dataclass(frozen=True)
class Capability:
    """Something that the engine needs of the operating system: a library, a compiler …"""

    name: str
    present: bool
    found: str = ""


@dataclass(frozen=True)
class HostFacts:
    """Everything that was looked at. Nothing in it is decided."""

    os_id: str
    os_version: str
    os_name: str
    architecture: str
    kernel: str
    glibc: str
    init: str
    systemd: int
    python: PythonFacts
    memory_gib: float
    shm_gib: float
    disks: tuple[DiskFacts, ...] = ()
    driver: DriverFacts = field(default_factory=DriverFacts)
    gpus: tuple[GpuFacts, ...] = ()
    gpu_processes: tuple[GpuProcess, ...] = ()
    device_nodes: tuple[DeviceNode, ...] = ()
    listeners: tuple[Listener, ...] = ()
    capabilities: tuple[Capability, ...] = ()
    user_groups: tuple[str, ...] = ()
    units: tuple[str, ...] = ()  # systemd units that have processes

    def as_result(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True)
class DiskWant:
    """``purpose`` names it for a person: the environments, the models."""

    path: str
    purpose: str
    needed_gib: float = 0.0
    executable: bool = False


@dataclass(frozen=True)
class ReleaseNeeds:
    """What one SGLang release asks of a host; from the release table."""

    version: str
    python: str
    glibc: str
    cuda: int
    driver: str
    compute_capability: str


@dataclass(frozen=True)
class Wants:
    release: ReleaseNeeds
    disks: tuple[DiskWant, ...] = ()
    memory_gib: float = 0.0
    shm_gib: float = 0.0
    driver: str = ""  # a site's own minimum, above the release's
    require_gpu: bool = True
    declared_gpus: tuple[GpuFacts, ...] = ()
    gpu_indices: tuple[int, ...] = ()  # empty: all there are
    gpu_used_mib_allowed: int = 1024
    ports: tuple[int, ...] = ()
    own_units: tuple[str, ...] = ()  # globs: what they hold is ours
    replace_unmanaged: bool = False
    capabilities: tuple[str, ...] = ()  # that must be there already
    user: str = "root"
    supplementary_groups: tuple[str, ...] = ()
    allow_unsupported_os: bool = False


@dataclass(frozen=True)
class Reason:
    """One reason against this host: what it needs, what it has, what to do."""

    subject: str
    need: str
    has: str
    next: str

    def as_result(self) -> dict[str, str]:
        return {"subject": self.subject, "need": self.need, "has": self.has, "next": self.next}


@dataclass(frozen=True)
class Verdict:
    """All reasons at once, and notes: what a person should know though nothing is wrong."""

    reasons: tuple[Reason, ...]
    notes: tuple[str, ...] = ()
    # Listeners that are neither free nor ours: the server role stops them when it was told to.
    unmanaged: tuple[Listener, ...] = ()
