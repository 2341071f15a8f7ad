# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What goes into a support bundle: cut to a size, without secrets. Pure, but for writing the file.

Texts are cleaned line by line by _scrub.py, and of the values that are known to be secret on this host no copy stays anywhere.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import shlex
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ansible_collections.inference.sglang.plugins.module_utils._scrub import HIDDEN, is_secret_variable, scrub_text

# Of one text the end is kept, where a log says why it ended; a start of SGLang 0.5.11 logs less than 1 MiB.
LARGEST_TEXT = 4 << 20
LARGEST_BUNDLE = 24 << 20
LONGEST_LINE = 20_000
# Shorter ones are words that stand in a log for other reasons.
_SHORTEST_SECRET = 6
_KERNEL = re.compile(
    r"NVRM|\bXid\b|nvidia|\boom\b|oom[-_]|out of memory|killed process|segfault|general protection|sglang|python"
    r"|nvme|I/O error|EXT4-fs error|XFS .*error|machine check|\bMCE\b",
    re.IGNORECASE,
)
_ENVIRONMENT = re.compile(r"^\s*(?:Environment|PassEnvironment|SetCredential\w*)\s*=(?P<words>.*)$")


def _directives(unit: str) -> list[str]:
    """A unit's lines; one that ends with a backslash goes on in the next."""
    return unit.replace("\\\n", " ").splitlines()


def _assignments(words: str) -> dict[str, str]:
    """NAME=value words, in whatever quotes; nothing where they cannot be told apart."""
    try:
        parts = [word.partition("=") for word in shlex.split(words)]
    except ValueError:
        return {}
    return {name: value.replace("%%", "%") for name, equals, value in parts if equals}


def unit_environment(unit: str) -> dict[str, str]:
    """The variables that a unit's text sets, by name."""
    found: dict[str, str] = {}
    for line in _directives(unit):
        match = _ENVIRONMENT.match(line)
        found.update(_assignments(match["words"]) if match else {})
    return found


def unit_without_values(unit: str) -> str:
    """The unit with the names of its environment only."""
    lines = []
    for line in _directives(unit):
        match = _ENVIRONMENT.match(line)
        lines += [f"Environment={name}={HIDDEN}" for name in _assignments(match["words"])] if match else [line]
    return "\n".join(lines) + "\n"


def secrets_of(environment: Mapping[str, str], keys: Iterable[str]) -> list[str]:
    """Values that must not be in the bundle, the longest first: one may be a part of another."""
    found = {value for name, value in environment.items() if is_secret_variable(name)}
    found |= {key.strip() for key in keys}
    return sorted((value for value in found if len(value) >= _SHORTEST_SECRET), key=len, reverse=True)


def clean(text: str, secrets: Sequence[str] = ()) -> str:
    """Text without secrets: known values wherever they are, then everything that looks like one."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return "\n".join(scrub_text(line[:LONGEST_LINE]) for line in text.split("\n"))


def kernel_lines(text: str, most: int = 500) -> str:
    """Of the kernel's log what may have to do with a server: GPUs, memory, crashes, disks."""
    return "\n".join([line for line in text.splitlines() if _KERNEL.search(line)][-most:]) + "\n"


@dataclass
class Bundle:
    """Texts by name, what was cut, and why something is not there."""

    secrets: Sequence[str] = ()
    texts: dict[str, str] = field(default_factory=dict)
    cut: dict[str, int] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, text: str) -> None:
        """Keep the end of a text, cleaned; what does not fit into the bundle any more is missing."""
        size = len(text)
        kept = text[-LARGEST_TEXT:]
        if len(kept) < size:
            kept = kept.partition("\n")[2]  # half a line may be half a secret that nobody recognises
            self.cut[name] = size - len(kept)
        if sum(map(len, self.texts.values())) + len(kept) > LARGEST_BUNDLE:
            self.missing[name] = "the bundle is full"
            return
        self.texts[name] = clean(kept, self.secrets)

    def lack(self, name: str, why: str) -> None:
        """Say why something is not there."""
        self.missing[name] = clean(why.strip() or "nothing was said", self.secrets)

    def index(self) -> str:
        """What is in it, for the one who opens it."""
        document = {"format": 1, "files": sorted(self.texts), "cut_characters": self.cut, "missing": self.missing}
        return json.dumps(document, indent=2, sort_keys=True) + "\n"

    def write(self, path: str, folder: str) -> int:
        """The bundle as a compressed tar file that only its owner may read; returns its size."""
        buffer = io.BytesIO()
        with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
            for name, text in [("bundle.json", self.index()), *sorted(self.texts.items())]:
                data = text.encode("utf-8", "replace")
                entry = tarfile.TarInfo(f"{folder}/{name}")
                entry.size, entry.mode = len(data), 0o600
                archive.addfile(entry, io.BytesIO(data))
        # 0600 from its first byte on; a link that lies there already is not followed.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as handle:
            os.fchmod(descriptor, 0o600)
            return handle.write(buffer.getvalue())
