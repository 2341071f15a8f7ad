# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The committed locks are the real ones: everything hashed, nothing that only one machine's index serves."""

from __future__ import annotations

import functools
import hashlib
import json
import re
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml
from ansible_collections.inference.sglang.plugins.module_utils._python_environment import check_lock, pins_of

ROOT = Path(__file__).resolve().parents[2]
LOCKS = sorted(ROOT.glob("roles/*/files/locks/*.txt"))
RELEASES = [path for path in LOCKS if path.name.startswith("sglang-")]


def blocks_of(lock: Path) -> dict[tuple[str, str], set[str]]:
    """{(name, version): hashes}."""
    blocks = {}
    for block in re.split(r"^(?=[a-z0-9][\w.-]*==)", lock.read_text(), flags=re.M)[1:]:
        name, version = re.match(r"([\w.-]+)==([^\s;\\]+)", block).groups()  # type: ignore[union-attr]
        blocks[name, version] = set(re.findall(r"--hash=sha256:([0-9a-f]{64})\b", block))
    return blocks


def test_there_are_locks() -> None:
    assert {path.name for path in LOCKS} >= {"sglang-0.5.11.txt", "sglang-0.5.23.txt", "uv.txt", "huggingface-hub.txt", "router.txt"}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.stem)
def test_everything_is_hashed(lock: Path) -> None:
    check_lock(lock.read_text(), str(lock))
    assert all(blocks_of(lock).values())


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.stem)
def test_nothing_is_a_local_build_or_comes_from_elsewhere(lock: Path) -> None:
    for line in lock.read_text().splitlines():
        if line.startswith("#") or line.lstrip().startswith(("#", "--hash=sha256:")):
            continue
        assert re.match(r"[a-z0-9][\w.-]*==[\w.]+( ; [^\\]+)? \\$", line), line  # no '+cpu', no URL, no path, no option
    assert not re.search(r"(?i)index-url|find-links|file:|https?://", lock.read_text())


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.stem)
def test_lock_answers_its_source(lock: Path) -> None:
    """What the .in file pins is what the lock holds; `make lock` was run after the last change."""
    pins = pins_of(lock.read_text())
    wanted = [line.split("#")[0].strip() for line in lock.with_suffix(".in").read_text().splitlines()]
    for requirement in filter(None, wanted):
        name, _equals, version = requirement.partition("==")
        versions = pins[name.replace("_", "-")]
        assert not version or versions == [version]


@pytest.mark.parametrize("lock", RELEASES, ids=lambda path: path.stem)
def test_release_is_the_one_of_the_files_name(lock: Path) -> None:
    pins = pins_of(lock.read_text())
    assert pins["sglang"] == [lock.stem.partition("-")[2]]
    # FlashInfer compiles kernels at run time; a ninja installed by hand is lost at the next change.
    assert len(pins["ninja"]) == 1
    assert len(pins["torch"]) == len(pins["transformers"]) == 1


def test_default_release_has_a_lock() -> None:
    release = yaml.safe_load((ROOT / "roles/ml_env/defaults/main.yml").read_text())["ml_env_sglang_version"]
    assert (ROOT / f"roles/ml_env/files/locks/sglang-{release}.txt").is_file()


@functools.cache
def served_by_pypi(name: str) -> frozenset[str]:
    """Hashes of all files of a project, from PyPI's simple index (PEP 691)."""
    headers = {"User-Agent": "inference.sglang tests", "Accept": "application/vnd.pypi.simple.v1+json"}
    with urllib.request.urlopen(urllib.request.Request(f"https://pypi.org/simple/{name}/", headers=headers), timeout=60) as answer:
        return frozenset(file["hashes"]["sha256"] for file in json.load(answer)["files"])


@pytest.mark.online
@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.stem)
def test_pypi_serves_every_hash(lock: Path) -> None:
    blocks = blocks_of(lock)
    names = sorted({name for name, _version in blocks})
    with ThreadPoolExecutor(4) as pool:
        served = dict(zip(names, pool.map(served_by_pypi, names), strict=True))
    unknown = {f"{name}=={version}": sorted(hashes - served[name]) for (name, version), hashes in blocks.items()}
    assert {pin: hashes for pin, hashes in unknown.items() if hashes} == {}


def test_a_local_build_would_be_noticed(tmp_path: Path) -> None:
    """The two checks above are worth something only if they refuse what must not get in."""
    lock = tmp_path / "sglang-0.5.11.txt"
    digest = hashlib.sha256(b"x").hexdigest()
    lock.write_text(f"torch==2.11.0+cpu ; sys_platform == 'linux' \\\n    --hash=sha256:{digest}\n")
    with pytest.raises(AssertionError):
        test_nothing_is_a_local_build_or_comes_from_elsewhere(lock)
