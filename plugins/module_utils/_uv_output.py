# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What uv (and pip) say: progress out of their lines, and the cause out of their failures. No I/O."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, field
from typing import Optional

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._python_environment import Source, human_bytes, scrub_url
from ansible_collections.inference.sglang.plugins.module_utils._releases import first_release

_LAST_LINES = 8
_UNITS = {"B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}


@dataclass
class UvProgress:
    """Follows ``uv pip sync`` line by line. Only large wheels have a line of their own."""

    phase: str = "resolve"
    packages: int = 0
    sizes: dict[str, float] = field(default_factory=dict)  # bytes of every wheel that has a line of its own
    loaded: set[str] = field(default_factory=set)

    def feed(self, line: str) -> Optional[str]:
        """Text worth telling at once, or None."""
        line = line.strip()
        found = re.match(r"(Resolved|Prepared|Installed) (\d+) packages? in (.+)", line)
        if found:
            self.packages = int(found[2])
            self.phase = {"Resolved": "download", "Prepared": "install", "Installed": "compile"}[found[1]]
            return {
                "download": f"{self.packages} packages wanted",
                "install": f"{self.packages} packages fetched in {found[3]}",
                "compile": f"{self.packages} packages installed in {found[3]}, compiling their bytecode",
            }[self.phase]
        found = re.match(r"Downloading (\S+) \(([\d.]+)([KMG]iB|B)\)", line)
        if found:
            self.sizes[found[1]] = float(found[2]) * _UNITS[found[3]]
            return None
        found = re.match(r"Downloaded (\S+)", line)
        if found:
            self.loaded.add(found[1])
            return None
        found = re.match(r"Bytecode compiled (\d+) files in (.+)", line)
        if found:
            self.phase = "compiled"
            return f"{found[1]} files compiled in {found[2]}"
        return None

    def now(self, written: int, seconds: float = 0.0) -> str:
        """What is going on, for the time between two lines; ``written`` counts uv's bytes, ``seconds`` those of the phase."""
        disk = f"{human_bytes(written)} written"
        missing = sorted(self.sizes.keys() - self.loaded, key=lambda name: -self.sizes[name])
        if self.phase == "download" and missing:
            names = ", ".join(missing[:3]) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
            total = human_bytes(sum(self.sizes.values()))
            return f"{len(self.loaded)} of {len(self.sizes)} large wheels done ({total} in all), now {names}; {disk}"
        return {
            "resolve": "looking up packages",
            "download": f"fetching {self.packages} packages; {disk}",
            "install": f"putting {self.packages} packages in place",
            "compile": f"compiling bytecode, {seconds:.0f} s so far",
        }.get(self.phase, disk)


def last_lines(output: str, count: int = _LAST_LINES) -> str:
    """The end of a tool's output, without credentials and without the lines that only count."""
    lines: list[str] = []
    for line in output.splitlines():
        if not line.strip() or line.startswith((" + ", " - ")):
            continue
        # pip repeats a warning for each try, with an object's address in it.
        if lines and line.startswith("WARNING: Retrying") and lines[-1].startswith("WARNING: Retrying"):
            lines.pop()
        lines.append(scrub_url(re.sub(r"<[\w.]+ object at 0x\w+>: ", "", line.rstrip())))
    return "\n    ".join(textwrap.dedent("\n".join(lines[-count:])).splitlines())


@dataclass(frozen=True)
class _Cause:
    pattern: str
    wrong: str
    wanted: str
    next_step: str


# First match wins: from the most telling words to the most general.
_CAUSES = (
    _Cause(
        r"No space left on device|os error 28",
        "the disk is full",
        "room for the wheels and the environment",
        "free some space on the file system of {root}, or point ml_env_root and ml_env_tools to a larger one",
    ),
    _Cause(
        r"Hash mismatch|DO NOT MATCH THE HASHES",
        "a wheel is not the one that the lock vouches for",
        "the hash in the lock {lock}",
        "find out where the file comes from: it was built elsewhere, damaged or tampered with; "
        "a wheelhouse with wheels of its own needs its own lock (ml_env_lock)",
    ),
    _Cause(
        r"\b40[13]\b.{0,3}(?:Unauthorized|Forbidden)|status code:? 40[13]|HTTP error 40[13]",
        "the package source refuses access",
        "access to {where}",
        "check the credentials in the URL",
    ),
    _Cause(
        r"no wheels? with a matching platform tag",
        "the system is too old for a package",
        "a system on which the wheels of {lock} run ({platform})",
        f"SGLang from {first_release('glibc_minimum', '2.34')} on needs glibc 2.34 on x86_64: Debian 12, Ubuntu 22.04, RHEL 9 or newer",
    ),
    _Cause(
        r"requires? (?:a different )?Python|Requires-Python|does not satisfy Python|no wheels? with a matching|has no usable wheels|"
        r"building from source is disabled|compatible with the current Python|incompatible with the (?:current|selected)",
        "a package has no wheel for this Python on this machine",
        "a ready-made wheel of every package of {lock} for Python {python}, {platform}",
        "choose another interpreter with ml_env_python (the collection's locks serve CPython 3.11 and 3.12 on x86_64, some 3.10); "
        "ml_env_only_binary: false lets the host compile it, which needs compilers",
    ),
    _Cause(
        r"dns error|error sending request|\(Connect\)|Connection refused|[Tt]imed? ?out|Temporary failure in name resolution|"
        r"NewConnectionError|Max retries|Failed to fetch|request or response body error|certificate|tls handshake",
        "the package source cannot be reached",
        "an answer from {where}",
        "check the network, proxy and certificates of the host (HTTPS_PROXY in 'environment:' is honoured), "
        "or use ml_env_wheelhouse with a directory on the host or a URL inside the site",
    ),
    _Cause(
        r"not found in the provided package locations|No matching distribution found|was not found in the (?:cache|package registry)|"
        r"Could not find a version|there (?:is|are) no versions? of|only the following versions",
        "a package of the lock is missing where the wheels come from",
        "every package of {lock} in {where}",
        "fill the wheelhouse again from the same lock, or check ml_env_wheelhouse and ml_env_index_url",
    ),
    _Cause(
        r"Failed to parse|Couldn't parse|Invalid requirement",
        "the lock cannot be read",
        "requirements with hashes in {lock}",
        "make the lock anew with 'uv pip compile --generate-hashes'",
    ),
)


def install_error(
    output: str, *, what: str, source: Source, lock: str, root: str, python: str, platform: str, returncode: int
) -> SglangError:
    """The four parts of a failed installation."""
    values = {"lock": lock, "where": source.where, "root": root, "python": python, "platform": platform}
    said = last_lines(output) or f"exit status {returncode} and no word"
    for cause in _CAUSES:
        if re.search(cause.pattern, output):
            return SglangError(f"{what}: {cause.wrong}", said, cause.wanted.format(**values), cause.next_step.format(**values))
    return SglangError(
        f"{what} failed with exit status {returncode}",
        said,
        f"every package of {lock} from {source.where}",
        "read the lines above; the unfinished environment is removed, running the play again starts anew",
    )
