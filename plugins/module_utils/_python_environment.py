# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What decides about a Python environment: its identity, its marker, what a lock pins, and what uv's words mean. No I/O."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass, field
from typing import Optional
from urllib.parse import urlsplit

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError

MARKER = ".complete.json"
DIGEST_LENGTH = 12
# The release's own pins: another sglang is another release, another torch or transformers may or may not work with it.
PINNED = ("sglang", "torch", "transformers")
_PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)", re.MULTILINE)
_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]*$")


@dataclass(frozen=True)
class Interpreter:
    """What an environment depends on besides its lock."""

    path: str
    version: str  # 3.11.2
    implementation: str = "cpython"
    platform: str = "linux-x86_64"
    # No part of the digest; a copy from another host needs them to be the same as well.
    libc: str = ""
    executable: str = ""

    @property
    def minor(self) -> str:
        return ".".join(self.version.split(".")[:2])

    @classmethod
    def from_probe(cls, path: str, text: str) -> Interpreter:
        """Read what PROBE prints."""
        data = json.loads(text)
        return cls(path, data["version"], data["implementation"], data["platform"], data["libc"], data["executable"])


# Printed by an interpreter about itself. sysconfig's platform is what wheels are chosen by.
PROBE = (
    "import json,os,platform,sys,sysconfig;"
    "print(json.dumps({'version': platform.python_version(), 'implementation': sys.implementation.name,"
    " 'platform': sysconfig.get_platform(), 'libc': ' '.join(platform.libc_ver()).strip(),"
    " 'executable': os.path.realpath(sys.executable)}))"
)
# Distributions of an environment as {name: version}.
LIST_DISTRIBUTIONS = (
    "import importlib.metadata as m,json,platform;"
    "print(json.dumps({'version': platform.python_version(),"
    " 'distributions': {d.metadata['Name']: d.version for d in m.distributions() if d.metadata['Name']}}))"
)


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def environment_digest(lock_sha256: str, interpreter: Interpreter) -> str:
    """The identity of an environment: what is in it, for which Python, on which platform."""
    parts = (lock_sha256, f"{interpreter.implementation}-{interpreter.minor}", interpreter.platform)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def adopted_digest(path: str, distributions: dict[str, str]) -> str:
    """The identity of an environment that others built: an upgrade inside it makes another one of it."""
    text = path + "\n" + "\n".join(f"{normalized(name)}=={version}" for name, version in sorted(distributions.items()))
    return "adopted-" + hashlib.sha256(text.encode()).hexdigest()


def environment_path(root: str, name: str, digest: str) -> str:
    if not _NAME.match(name):
        raise SglangError(
            "the environment's name cannot be part of a path",
            found=repr(name),
            wanted="letters, digits, dots, dashes and underscores",
            next_step="correct the option name",
        )
    return f"{root.rstrip('/')}/{name}-{digest[:DIGEST_LENGTH]}"


def pins_of(lock: str) -> dict[str, list[str]]:
    """{normalized name: versions} of a lock; more than one version where it depends on the Python."""
    pins: dict[str, list[str]] = {}
    for name, version in _PIN.findall(lock):
        pins.setdefault(normalized(name), []).append(version)
    return pins


def check_lock(lock: str, path: str) -> None:
    """Refuse a lock that would let anything in that nobody has vouched for."""
    pins = pins_of(lock)
    if not pins:
        raise SglangError(
            "the lock pins nothing",
            found=f"no line 'name==version' in {path}",
            wanted="a lock with hashes, as 'uv pip compile --generate-hashes' writes it",
            next_step="make one with scripts/lock, or leave ml_env_lock empty for the collection's own",
        )
    blocks = re.split(r"^(?=[A-Za-z0-9][A-Za-z0-9._-]*==)", lock, flags=re.MULTILINE)[1:]
    bare = [block.split()[0] for block in blocks if "--hash=sha256:" not in block]
    if bare:
        raise SglangError(
            "the lock holds requirements without a hash",
            found=", ".join(bare[:5]) + (f" and {len(bare) - 5} more" if len(bare) > 5 else ""),
            wanted="--hash=sha256:… for every requirement",
            next_step=f"make {path} anew with 'uv pip compile --generate-hashes'",
        )


@dataclass(frozen=True)
class Marker:
    """Written last: a directory without it is unfinished, whatever else it holds."""

    path: str
    name: str
    digest: str
    lock_sha256: str
    python_version: str
    platform: str
    uv_version: str
    versions: dict[str, str]  # every distribution
    built: str = ""
    seconds: float = 0.0
    imports: list[str] = field(default_factory=list)
    # Of a copy: the host that it came from, and the manifest that it was proven by.
    copied_from: str = ""
    manifest_sha256: str = ""

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1, sort_keys=True) + "\n"

    @classmethod
    def from_data(cls, data: object, path: str, digest: str) -> Optional[Marker]:
        """The marker, if it is whole and belongs to this very directory: environments cannot be moved.

        What a newer release of the collection writes besides is passed over; it is the same environment.
        """
        if not isinstance(data, dict) or data.get("path") != path or data.get("digest") != digest:
            return None
        texts = [data.get(name) for name in ("name", "lock_sha256", "python_version", "platform", "uv_version")]
        texts += [data.get(name, "") for name in ("copied_from", "manifest_sha256")]
        versions = data.get("versions")
        if not all(isinstance(text, str) for text in texts) or not isinstance(versions, dict):
            return None
        if not all(isinstance(name, str) and isinstance(version, str) for name, version in versions.items()):
            return None
        return cls(**{name: data[name] for name in cls.__dataclass_fields__ if name in data})


def main_versions(distributions: dict[str, str]) -> dict[str, str]:
    """The versions that a release is known by."""
    found = {normalized(name): version for name, version in distributions.items()}
    return {name: found[name] for name in PINNED if name in found}


def judge_adopted(path: str, distributions: dict[str, str], release: str, pins: dict[str, list[str]]) -> list[str]:
    """Warnings about an environment that others built; refuses one that does not hold the wanted release."""
    versions = main_versions(distributions)
    if release and "sglang" not in versions:
        raise SglangError(
            f"{path} holds no SGLang",
            found=f"{len(distributions)} packages, sglang is not one of them",
            wanted=f"sglang {release}",
            next_step="set ml_env_adopt: false to have an environment built (the directory is moved aside, not deleted)",
        )
    if release and versions["sglang"] != release:
        raise SglangError(
            f"{path} holds another SGLang",
            found=f"sglang {versions['sglang']}",
            wanted=f"sglang {release}, as ml_env_sglang_version says",
            next_step=f"set ml_env_sglang_version: {versions['sglang']}, or ml_env_adopt: false to have an environment built",
        )
    warnings = []
    for name in PINNED[1:]:
        wanted = pins.get(name)
        if wanted and versions.get(name, "").split("+")[0] not in [version.split("+")[0] for version in wanted]:
            found = versions.get(name, "nothing")
            warnings.append(f"{path} has {name} {found}; sglang {release} is released for {name} {' or '.join(wanted)}")
    return warnings


def scrub_url(text: str) -> str:
    """Credentials of an index never reach a message."""
    return re.sub(r"(\w+://)[^/@\s]+@", r"\1***@", text)


def url_secrets(url: str) -> list[str]:
    """Parts of a URL that must be hidden wherever they turn up."""
    if "://" not in url:
        return []
    parts = urlsplit(url)
    return [part for part in (parts.password, parts.username if not parts.password else None) if part]


@dataclass(frozen=True)
class Source:
    """Where wheels come from: an index, or a wheelhouse and nothing else."""

    index_url: str
    wheelhouse: str = ""

    @property
    def is_url(self) -> bool:
        return self.wheelhouse.startswith(("http://", "https://"))

    @property
    def where(self) -> str:
        return scrub_url(self.wheelhouse or self.index_url)

    def uv_environment(self) -> dict[str, str]:
        """As variables, not arguments: a URL with a password in it would show in the process list."""
        if self.wheelhouse:
            return {"UV_FIND_LINKS": self.wheelhouse}
        return {"UV_DEFAULT_INDEX": self.index_url}

    def uv_arguments(self) -> list[str]:
        """uv has no variable for this one: without it a wheel that the wheelhouse lacks comes from PyPI, unnoticed."""
        return ["--no-index"] if self.wheelhouse else []

    def pip_environment(self) -> dict[str, str]:
        if not self.wheelhouse:
            return {"PIP_INDEX_URL": self.index_url}
        variables = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": self.wheelhouse}
        if self.wheelhouse.startswith("http://"):
            # Every file is checked against its hash in the lock, so plain HTTP inside a site is no risk here.
            host = urlsplit(self.wheelhouse).netloc.rpartition("@")[2]
            variables["PIP_TRUSTED_HOST"] = host
        return variables


def human_bytes(count: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"
