# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Tiny wheels and locks made on the fly, for tests that install for real without a network."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

WHEEL = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def make_wheel(
    folder: Path,
    name: str,
    version: str,
    source: str = "",
    requires: Sequence[str] = (),
    scripts: Mapping[str, str] = {},
) -> Path:
    """``<name>-<version>-py3-none-any.whl`` with one module of the given source."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" + "".join(f"Requires-Dist: {item}\n" for item in requires)
    files = {f"{name}/__init__.py": source, f"{info}/METADATA": metadata, f"{info}/WHEEL": WHEEL}
    files.update({f"{name}-{version}.data/scripts/{script}": text for script, text in scripts.items()})
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in files.items():
            entry = zipfile.ZipInfo(member, (2026, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100755 if "/scripts/" in member else 0o100644) << 16
            archive.writestr(entry, text)
    return path


def make_lock(path: Path, wheels: Sequence[Path]) -> Path:
    """A lock with the hashes of these wheels."""
    lines = []
    for wheel in wheels:
        name, version = wheel.name.split("-")[:2]
        lines.append(f"{name.replace('_', '-')}=={version} \\\n    --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n")
    path.write_text("".join(lines))
    return path
