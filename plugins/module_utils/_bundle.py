# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""An offline bundle: what is in it, for which host it is, and how its wheels are asked for. Decisions only."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Union

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._python_environment import normalized
from ansible_collections.inference.sglang.plugins.module_utils._regular_files import parse_json
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_files import SHA256, directory_name, is_safe_name

FORMAT = 1
BUNDLE_FILE, WHEELS, MODELS, LOCKS = "bundle.json", "wheels", "models", "locks"
PLATFORM = "linux-x86_64"  # the one that the collection's locks are for
# Ubuntu 22.04 has glibc 2.35, the oldest of the systems that are expected to work.
GLIBC_MINOR = 35
_PYTHON = re.compile(r"3\.\d{1,2}")
_STEP = "Make the bundle again (playbooks/bundle.yml) with the settings of this host, or correct ml_env_bundle (model_shards_bundle)."


@dataclass(frozen=True)
class BundleFile:
    """One file: its path below the bundle, bytes, and what it is for."""

    file: str
    size: int
    sha256: str
    purpose: str


@dataclass(frozen=True)
class Bundle:
    """What ``bundle.json`` says. ``requested`` is the branch or tag that ``revision`` was resolved from."""

    sglang: str
    python: str
    platform: str
    repo: str
    revision: str
    requested: str
    files: tuple[BundleFile, ...]

    @property
    def manifest(self) -> str:
        """The model's manifest, below the bundle."""
        return f"{MODELS}/{directory_name(self.repo)}/{self.revision}.manifest.json"

    def below(self, folder: str) -> tuple[BundleFile, ...]:
        return tuple(file for file in self.files if file.file.startswith(f"{folder}/"))


def dump(bundle: Bundle) -> str:
    return json.dumps({"format": FORMAT, **asdict(bundle)}, indent=1, sort_keys=True) + "\n"


def load(text: Union[str, bytes], where: str) -> Bundle:
    """Read ``bundle.json``; anything unexpected is an error."""
    try:
        data = parse_json(text)
        if data["format"] != FORMAT:
            raise ValueError(f"format {data['format']!r}")
        fields = {name: _text(data, name) for name in ("sglang", "python", "platform", "repo", "revision", "requested")}
        return Bundle(files=tuple(_file(item) for item in data["files"]), **fields)
    except (ValueError, KeyError, TypeError) as error:
        raise SglangError(
            "The list of the bundle's files cannot be read.",
            found=f"{where}: {type(error).__name__}: {error}",
            wanted=f"a {BUNDLE_FILE} of format {FORMAT}, as playbooks/bundle.yml writes it",
            next_step="Copy the bundle again, or make it anew.",
        ) from error


def _text(data: Mapping[str, Any], name: str) -> str:
    value = data[name]
    if not isinstance(value, str):
        raise TypeError(f"{name} is {type(value).__name__}")
    value.encode("utf-8")
    return value


def _file(item: Mapping[str, Any]) -> BundleFile:
    size = item["size"]
    file = BundleFile(_text(item, "file"), size, _text(item, "sha256"), _text(item, "purpose"))
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        raise TypeError("a size that is no number of bytes")
    if not is_safe_name(file.file) or not SHA256.fullmatch(file.sha256):
        raise ValueError(f"unsafe name or no sha256: {file.file!r}")
    return file


def require_environment(bundle: Bundle, where: str, lock_sha256: str, python: str, platform: str) -> None:
    """Refuse a bundle of another release, Python or platform before 200 wheels are missed one by one."""
    locks = {file.sha256 for file in bundle.below(LOCKS)}
    if (bundle.python, bundle.platform) != (python, platform):
        found, wanted = f"made for Python {bundle.python}, {bundle.platform}", f"Python {python}, {platform}"
    elif lock_sha256 not in locks:
        found, wanted = f"made for SGLang {bundle.sglang}; its locks are others", f"the lock with sha256 {lock_sha256[:16]}…"
    else:
        return
    raise SglangError(f"The bundle {where} is not for this host's environment.", found, wanted, _STEP)


def require_model(bundle: Bundle, where: str, repo: str, revision: str) -> None:
    """Refuse a bundle of another model, or of another revision of it."""
    if bundle.repo != repo or revision not in (bundle.revision, bundle.requested):
        raise SglangError(
            f"The bundle {where} holds another model.",
            found=f"{bundle.repo}@{bundle.revision} ({bundle.requested})",
            wanted=f"{repo}@{revision}",
            next_step=_STEP,
        )


def require_python(version: str) -> None:
    if not _PYTHON.fullmatch(version):
        raise SglangError(
            "The bundle's Python is not a version.",
            found=repr(version),
            wanted="the hosts' Python as major.minor, for example 3.11 for Debian 12",
            next_step="Set ml_env_bundle_python, in quotation marks.",
        )


def compile_arguments(python: str) -> list[str]:
    """uv: which requirements of a universal lock are meant for the target. pip would evaluate markers for its own Python.

    Without hashes: uv writes those that the index has, and what counts is the lock.
    """
    options = ["--no-deps", "--no-annotate", "--no-header", "--no-build", "--quiet"]
    return ["pip", "compile", *options, "--python-version", python, "--python-platform", f"x86_64-manylinux_2_{GLIBC_MINOR}"]


def download_arguments(python: str) -> list[str]:
    """pip: wheels for the target, whatever this machine is. A platform that is named stands for itself only, so all are."""
    tags = ["linux", "manylinux1", "manylinux2010", "manylinux2014", *(f"manylinux_2_{minor}" for minor in range(5, GLIBC_MINOR + 1))]
    arguments = ["download", "--require-hashes", "--no-deps", "--only-binary", ":all:", "--implementation", "cp"]
    arguments += ["--python-version", python]
    for abi in (f"cp{python.replace('.', '')}", "abi3", "none"):
        arguments += ["--abi", abi]
    for tag in tags:
        arguments += ["--platform", f"{tag}_x86_64"]
    return arguments


def requirements_of(lock: str) -> dict[str, frozenset[str]]:
    """{name==version: sha256 of its files} of a lock, whatever the markers."""
    found: dict[str, frozenset[str]] = {}
    for block in re.split(r"^(?=[A-Za-z0-9][A-Za-z0-9._-]*==)", lock, flags=re.MULTILINE)[1:]:
        name, _equals, version = block.split()[0].partition("==")
        pin, hashes = f"{normalized(name)}=={version}", re.findall(r"--hash=sha256:([0-9a-f]{64})\b", block)
        found[pin] = found.get(pin, frozenset()) | frozenset(hashes)
    return found


def meant(lock: str, chosen: str) -> dict[str, frozenset[str]]:
    """The requirements of ``lock`` that uv has chosen, with the lock's own hashes."""
    everything = requirements_of(lock)
    return {pin: everything[pin] for pin in requirements_of(chosen)}


def hashed(requirements: Mapping[str, frozenset[str]]) -> str:
    """A lock without markers, for pip."""
    lines = (pin + "".join(f" --hash=sha256:{digest}" for digest in sorted(hashes)) for pin, hashes in sorted(requirements.items()))
    return "".join(f"{line}\n" for line in lines)


def missing_wheels(wanted: Mapping[str, frozenset[str]], there: Iterable[str]) -> list[str]:
    """Requirements of which no file is there; ``there`` are sha256."""
    have = frozenset(there)
    return sorted(name for name, hashes in wanted.items() if not hashes & have)


def purposes(sha256: str, wanted: Mapping[str, Mapping[str, frozenset[str]]]) -> str:
    """What a wheel is for: the locks, by their purpose, that know it; empty when none does."""
    return ", ".join(purpose for purpose, lock in wanted.items() if any(sha256 in hashes for hashes in lock.values()))


def damaged(where: str, problems: Sequence[str]) -> SglangError:
    more = f" and {len(problems) - 5} more" if len(problems) > 5 else ""
    return SglangError(
        f"The bundle {where} is damaged.",
        found="; ".join(problems[:5]) + more,
        wanted=f"the sizes and sha256 of {BUNDLE_FILE}",
        next_step="Copy these files again from where the bundle was made, then run again. Nothing was published.",
    )
