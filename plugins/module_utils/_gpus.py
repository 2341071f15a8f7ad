# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""GPU facts: what nvidia-smi prints, and what an inventory declares, as one shape."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._plain import Fields, plain_list, shown

GPU_QUERY = ("index", "uuid", "name", "memory.total", "memory.used", "compute_cap", "driver_version")
PROCESS_QUERY = ("gpu_uuid", "pid", "process_name", "used_memory")
_GPU_KEYS = frozenset(
    {
        "available_gib",
        "compute_capability",
        "driver_version",
        "index",
        "memory_mib",
        "memory_used_mib",
        "name",
        "processes",
        "uuid",
    }
)


# No card that SGLang runs on has less; a smaller number is one in GiB.
SMALLEST_CARD_MIB = 4096
_LARGEST_GIB = 1024


@dataclass(frozen=True)
class Gpu:
    """One GPU of a plan."""

    name: str
    memory_mib: int
    capability: int
    """Compute capability times ten: 8.6 is 86."""
    available_gib: Optional[float] = None
    """Free just before the weights load, where that is known."""

    @property
    def capability_text(self) -> str:
        """As NVIDIA writes it."""
        return f"{self.capability // 10}.{self.capability % 10}"


def _capability(value: object) -> Optional[int]:
    text = str(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else ""
    major, dot, minor = text.partition(".")
    if not major.isdigit() or len(major) > 2 or (dot and (not minor.isdigit() or len(minor) != 1)):
        return None
    return int(major) * 10 + (int(minor) if minor else 0)


def read_gpus(gpus: object) -> list[Gpu]:
    """A list of {name, memory_mib, compute_capability}, checked."""
    found = []
    for position, item in enumerate(plain_list(gpus, "gpus")):
        if not isinstance(item, dict):
            raise SglangError(f"GPU {position} in gpus is not a mapping.", found=shown(item), wanted="name, memory_mib, compute_capability")
        unknown = sorted(set(item) - _GPU_KEYS)
        if unknown:
            raise SglangError(f"GPU {position} in gpus has unknown keys.", found=", ".join(unknown), wanted=", ".join(sorted(_GPU_KEYS)))
        fields = Fields(item, f"GPU {position} of gpus")
        capability = _capability(item.get("compute_capability"))
        if capability is None:
            raise fields.wrong("compute_capability", "NVIDIA's number as text, for example '8.6'")
        memory = _memory(fields)
        found.append(Gpu(fields.text("name") or "GPU", memory, capability, fields.number("available_gib", 0.0, 1 << 14)))
    return found


def _memory(fields: Fields) -> int:
    """A card's memory, which people know in GiB and nvidia-smi prints in MiB."""
    value = fields.values.get("memory_mib")
    if isinstance(value, int) and not isinstance(value, bool) and SMALLEST_CARD_MIB <= value < 1 << 24:
        return value
    few = isinstance(value, int) and 1 < value <= _LARGEST_GIB
    raise SglangError(
        f"memory_mib in {fields.where} cannot be a card's memory in MiB.",
        found="nothing" if value is None else shown(value) + (" (in GiB?)" if few else ""),
        wanted=f"a whole number of MiB from {SMALLEST_CARD_MIB} on: an RTX A6000 of 48 GiB has 49140",
        next_step="Write what nvidia-smi --query-gpu=memory.total --format=csv prints for this card.",
    )


def _number(text: str) -> Optional[int]:
    digits = text.split()[0] if text.split() else ""
    return int(digits) if digits.isdigit() else None


def _rows(text: str, columns: int) -> list[list[str]]:
    rows = [[cell.strip() for cell in row] for row in csv.reader(text.splitlines(), skipinitialspace=True) if row]
    return [row for row in rows if len(row) == columns]


def parse_nvidia_smi(gpus: str, processes: str = "") -> list[dict[str, Any]]:
    """`--query-gpu` and `--query-compute-apps` output (csv,noheader,nounits) as a list of GPUs."""
    users: dict[str, list[dict[str, Any]]] = {}
    for uuid, pid, name, used in _rows(processes, len(PROCESS_QUERY)):
        number = _number(pid)
        if number is not None:
            users.setdefault(uuid, []).append({"pid": number, "name": name, "memory_used_mib": _number(used)})
    found = []
    for index, uuid, name, total, used, capability, driver in _rows(gpus, len(GPU_QUERY)):
        position = _number(index)
        if position is None:
            continue
        found.append(
            {
                "index": position,
                "uuid": uuid,
                "name": name,
                # A unified-memory machine prints [N/A] here.
                "memory_mib": _number(total),
                "memory_used_mib": _number(used),
                "compute_capability": capability,
                "driver_version": driver,
                "processes": users.get(uuid, []),
            }
        )
    return sorted(found, key=lambda gpu: int(gpu["index"]))


def choose_gpus(found: list[dict[str, Any]], indices: tuple[int, ...]) -> list[dict[str, Any]]:
    """The instance's own cards, in the order of its indices."""
    if not indices:
        return found
    by_index = {int(gpu.get("index", position)): gpu for position, gpu in enumerate(found)}
    missing = [index for index in indices if index not in by_index]
    if missing or len(set(indices)) != len(indices):
        raise SglangError(
            "the instance's GPUs are not there",
            found=f"indices {list(indices)}; the host has {sorted(by_index)}",
            wanted="each index once, of GPUs of this host",
            next_step="correct sglang_server_gpus (indices as nvidia-smi counts them)",
        )
    return [by_index[index] for index in indices]
