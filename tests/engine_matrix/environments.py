# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""An environment for each release in which its real parser runs on a CPU, made once and kept.

The release's own wheel without what it depends on (GPU kernels of several GB), and the few packages that its parser imports, in
the versions that the wheel pins. torch is the exception: one version for all releases, so that it lies on the disk once.
PyPI's torch is a CUDA build, which serves as well and is larger; an index or folder with CPU builds is given as for pip, by
PIP_EXTRA_INDEX_URL or PIP_FIND_LINKS.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
UV = ROOT / ".venv/current/bin/uv"
PYTHON = "3.11"
OURS = frozenset({"torch"})
"""Whose version the release does not decide."""
KERNELS = frozenset({"flashinfer-python"})
"""Without what it depends on, as sglang itself: that it is there decides which attention backend is picked."""


class NoEnvironment(Exception):
    """A release whose environment cannot be made here; says why."""


def cache() -> Path:
    """Where environments are kept: SGLANG_MATRIX_CACHE, or below the user's cache."""
    given = os.environ.get("SGLANG_MATRIX_CACHE")
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(given) if given else base / "inference-sglang/engine-matrix"


def normal(requirement: str) -> str:
    """The name of a requirement, as PyPI compares it."""
    return re.sub(r"[-_.]+", "-", re.match(r"[A-Za-z0-9._-]+", requirement)[0]).lower()  # type: ignore[index]  # every requirement begins with a name


def wanted() -> list[str]:
    """The names of requirements.txt."""
    lines = (HERE / "requirements.txt").read_text().splitlines()
    return [normal(line) for line in lines if line and not line.startswith("#")]


def pins(metadata: str, names: frozenset[str]) -> list[str]:
    """The release's own requirements on these packages, from its wheel's METADATA, without extras."""
    found = []
    for line in metadata.splitlines():
        text = line.removeprefix("Requires-Dist:").strip()
        if line.startswith("Requires-Dist:") and "extra ==" not in text and normal(text) in names:
            found.append(re.sub(r"\[[^]]*\]", "", text))
    return found


def digest(release: str) -> str:
    """What an environment is made from."""
    parts = [release, PYTHON, (HERE / "requirements.txt").read_text(), (HERE / "constraints.txt").read_text()]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _uv(*argv: object) -> None:
    command = [str(UV), *map(str, argv)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise NoEnvironment(f"{' '.join(command[1:4])} ended with {done.returncode}: {done.stderr.strip()[-600:]}")


def _sources() -> list[str]:
    """pip's settings, of which uv reads none."""
    found = []
    for variable, option in (("PIP_INDEX_URL", "--default-index"), ("PIP_EXTRA_INDEX_URL", "--index"), ("PIP_FIND_LINKS", "--find-links")):
        for word in os.environ.get(variable, "").split():
            found += [option, word]
    return found


def _constraints(release_pins: list[str]) -> str:
    """The release's pins, and the matrix's own where the release has none."""
    held = {normal(line) for line in release_pins if "==" in line}
    ours = [line for line in (HERE / "constraints.txt").read_text().splitlines() if line and line[0] != "#" and normal(line) not in held]
    return "\n".join([*release_pins, *ours]) + "\n"


def make(release: str) -> Path:
    """The interpreter of a release's environment, which is made where it is not there. Raises NoEnvironment."""
    folder = cache() / release
    python, marker = folder / "bin/python", folder / ".made-from"
    if marker.exists() and marker.read_text() == digest(release):
        return python
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    _uv("venv", "--quiet", "--python", PYTHON, folder)
    install = ["pip", "install", "--quiet", "--python", python, *_sources()]
    _uv(*install, "--no-deps", f"sglang=={release}")
    metadata = next(folder.glob("lib/python*/site-packages/sglang-*.dist-info/METADATA")).read_text()
    (folder / "constraints.txt").write_text(_constraints(pins(metadata, frozenset(wanted()) - OURS)))
    _uv(*install, "--no-deps", *pins(metadata, KERNELS))
    _uv(*install, "--requirements", HERE / "requirements.txt", "--constraints", folder / "constraints.txt")
    marker.write_text(digest(release))
    return python
