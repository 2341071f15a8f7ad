# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""One archive with the real modules that prove a server, wait_for, and what they import: to run them on a host without a controller."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import ansible

ROOT = Path(__file__).resolve().parents[2]
INSIDE = "ansible_collections/inference/sglang"


def _files() -> Iterator[tuple[str, Path]]:
    core = Path(ansible.__file__).parent
    for path in [*(core / "module_utils").rglob("*.py"), core / "modules/wait_for.py", core / "release.py"]:
        yield f"ansible/{path.relative_to(core)}", path
    own = (f"plugins/modules/{name}.py" for name in ("log_gate", "serving_probe", "server_soak"))
    for path in [*(ROOT / "plugins/module_utils").glob("*.py"), *(ROOT / name for name in own)]:
        yield f"{INSIDE}/{path.relative_to(ROOT)}", path


def write_archive(place: Path) -> None:
    """Every package gets an empty initialiser where it has none."""
    files = dict(_files())
    packages = {"/".join(name.split("/")[:depth]) for name in files for depth in range(1, name.count("/") + 1)}
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in sorted(files.items()):
            archive.write(path, name)
        for package in sorted(packages):
            if f"{package}/__init__.py" not in files:
                archive.writestr(f"{package}/__init__.py", "")
