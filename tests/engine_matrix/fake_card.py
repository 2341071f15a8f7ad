# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Lets torch and `nvidia-smi` report GPUs that are not there. Runs inside an environment of the engine matrix.

Only what SGLang asks for while it resolves its arguments: kind, number, compute capability and memory. To be called before
SGLang is imported, as several of its modules keep the answers.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

COUNT = 8
"""Cards of a host; a command uses as many of them as its size says."""


def _nvidia_smi(folder: Path, memory_mib: int) -> None:
    """SGLang sizes a card by `nvidia-smi --query-gpu=memory.total --format=csv,noheader,nounits`."""
    program = folder / "nvidia-smi"
    program.write_text("#!/bin/sh\n" + f"echo {memory_mib}\n" * COUNT)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"


def install(card: dict[str, Any], cuda: str, folder: Path) -> None:
    """Pose as a host of eight such cards: `card` is {name, memory_mib, compute_capability}, `cuda` torch's CUDA version."""
    import torch  # type: ignore[import-not-found]  # only in the environment

    capability = tuple(int(part) for part in card["compute_capability"].split("."))
    total = card["memory_mib"] * 1024 * 1024

    class Properties:
        name = card["name"]
        major, minor = capability
        total_memory = total
        multi_processor_count = 132
        warp_size = 32
        gcnArchName = ""

    _nvidia_smi(folder, card["memory_mib"])
    torch.version.cuda = cuda
    for name, answer in {
        "is_available": True,
        "device_count": COUNT,
        "current_device": 0,
        "set_device": None,
        "get_device_name": card["name"],
        "get_device_capability": capability,
        "get_device_properties": Properties,
        "mem_get_info": (total, total),
        "get_arch_list": [f"sm_{capability[0]}{capability[1]}"],
    }.items():
        setattr(torch.cuda, name, lambda *_args, _answer=answer, **_named: _answer)
