# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The role ml_env against pip, from the same package index and the same lock; what a second host costs."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from tests.bench_transfer.hosts import Hosts
from tests.bench_transfer.watched import Run, run_all


def role(fleet: Hosts, lock: Path, release: str) -> Run:
    """One host's environment by the role: bytecode, import check and all."""
    variables = {"ml_env_lock": str(lock), "ml_env_sglang_version": release, "ml_env_tools": str(fleet.tools), "ml_env_imports": []}
    return fleet.play("ml_env/build.yml", 1, variables, ("ml_env_root", "ml_env_link"))


def pip(folder: Path, lock: Path, cache: Path) -> Run:
    """A venv and pip, with hashes, wheels only, without the resolver: what the lock says."""
    shutil.rmtree(folder, ignore_errors=True)
    script = (
        f"{sys.executable} -m venv {folder} && {folder}/bin/pip install --quiet --no-deps --require-hashes --only-binary :all:"
        f" --index-url https://pypi.org/simple --cache-dir {cache} -r {lock}"
    )
    return run_all([["/bin/sh", "-c", script]], folder.parent / "output-pip", {"PIP_CONFIG_FILE": "/dev/null", "PIP_FIND_LINKS": ""})


def environments(folder: Path, lock: Path, release: str) -> list[str]:
    """Cold, then with a full cache."""
    fleet = Hosts(folder / "fleet")
    lines = [f"environment of {lock.name}:"]
    taken: dict[str, list[Run]] = {"pip": [], "ml_env (uv)": []}
    for _ in ("cold", "warm"):
        taken["pip"].append(pip(folder / "pip", lock, folder / "pip-cache"))
        shutil.rmtree(folder / "pip")
        taken["ml_env (uv)"].append(role(fleet, lock, release))
        fleet.forget()
    for number, state in enumerate(("cold cache", "warm cache")):
        base = taken["pip"][number].seconds
        for name, runs in taken.items():
            lines.append(f"  {state}, {name}: {runs[number].seconds:.1f} s, {runs[number].seconds / base:.2f} x pip")
    return lines
