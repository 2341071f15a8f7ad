# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Who names a model or an environment: stamps and releases of every instance, units, links, processes. Looks only.

What cannot be read is an error: a record that nobody can read may name anything.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import re
from collections.abc import Collection, Iterator, Sequence

from ansible_collections.inference.sglang.plugins.module_utils import _release_files as releases
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._prune import Mention
from ansible_collections.inference.sglang.plugins.module_utils._regular_files import read_regular
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_files import is_commit
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_store import Place, read_refs
from ansible_collections.inference.sglang.plugins.module_utils._unit_before import read_before

# What the distribution ships (/usr/lib) knows nothing of ours.
UNIT_FOLDERS = ("/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system")


def instance_homes(server_root: str) -> list[str]:
    """The directories of all instances on the host."""
    return [path for path in sorted(glob.glob(f"{glob.escape(server_root)}/instances/*")) if os.path.isdir(path)]


def with_targets(text: str) -> str:
    """The text, and where the links lead that it names."""
    paths = set(re.findall(r"/[^\s\"'=:,;]+", text))
    return "\n".join([text, *sorted(real for path in paths if (real := os.path.realpath(path)) != path)])


def stamped(server_root: str) -> tuple[list[Mention], list[Mention]]:
    """(what the accepted and the previous release of each instance and its unfinished changes name, what older releases name)."""
    mentions, older = [], []
    for home in instance_homes(server_root):
        instance, kept = os.path.basename(home), set()
        for name, word in ((releases.ACCEPTED_FILE, "accepted"), (releases.PREVIOUS_FILE, "previous")):
            stamp = releases.read_stamp(home, name)
            if stamp is not None:
                kept.add(stamp.id)
                text = f"{stamp.as_json()}\n{_release_text(home, stamp.id)}"
                mentions.append(Mention(f"the {word} release {stamp.id} of {instance}", with_targets(text)))
        before = read_before(home)
        if before is not None:
            text = "\n".join([before.unit or "", before.link, json.dumps([dict(server) for server in before.servers])])
            mentions.append(Mention(f"a change of {instance} that has not ended", with_targets(text)))
        others = [identifier for identifier in releases.present_releases(home) if identifier not in kept]
        older += [Mention(f"the older release {name} of {instance}", with_targets(_release_text(home, name))) for name in others]
    return mentions, older


def _release_text(home: str, identifier: str) -> str:
    """A release's record and unit: the command line names a draft model that the stamp does not."""
    directory = glob.escape(os.path.join(home, "releases", identifier))
    files = sorted(glob.glob(f"{directory}/*.json") + glob.glob(f"{directory}/*.service"))
    return "\n".join(read_regular(path).decode(errors="replace") for path in files)


def units(folders: Sequence[str] = UNIT_FOLDERS) -> list[Mention]:
    """Units and their drop-ins, also of services that this collection knows nothing of."""
    found = []
    for folder in folders:
        for path in sorted(glob.glob(f"{glob.escape(folder)}/**", recursive=True)):
            if os.path.isfile(path):
                found.append(Mention(f"the unit {path}", with_targets(read_regular(path).decode(errors="replace"))))
    return found


def wanted(root: str, repo: str, revision: str) -> list[Mention]:
    """The model that the settings ask for, a branch as it was resolved here: the next deployment would fetch it again."""
    commit = revision if is_commit(revision) else read_refs(Place(root, repo)).get(revision, {}).get("revision", "")
    return [Mention(f"the settings ask for {repo}@{revision}", commit)] if commit else []


def links(paths: Sequence[str]) -> list[Mention]:
    """Links that people and services start from."""
    return [Mention(f"the link {path}", os.path.realpath(path)) for path in paths if os.path.islink(path)]


def processes(names: Collection[str], proc: str = "/proc") -> list[Mention]:
    """What the processes of the host run, have open, have mapped or were told, as far as it holds one of the names."""
    if os.geteuid() != 0:
        raise SglangError(
            "It cannot be seen what the processes of this host use.",
            found=f"user id {os.geteuid()}",
            wanted="root, who sees the files of every process",
            next_step="Set become: true. Nothing was pruned.",
        )
    found = []
    for pid in sorted((name for name in os.listdir(proc) if name.isdigit()), key=int):
        if int(pid) != os.getpid():
            lines = [line for line in _lines(os.path.join(proc, pid)) if any(name in line for name in names)]
            if lines:
                found.append(Mention(f"the process {pid}", "\n".join(lines)))
    return found


def _lines(process: str) -> Iterator[str]:
    # One that ends meanwhile uses nothing; one that even root may not look at is outside the container that root is in.
    over = (FileNotFoundError, ProcessLookupError, PermissionError)
    for name in ("exe", "cwd"):
        with contextlib.suppress(*over):
            yield os.readlink(f"{process}/{name}")
    with contextlib.suppress(*over):
        for number in os.listdir(f"{process}/fd"):
            with contextlib.suppress(*over):
                yield os.readlink(f"{process}/fd/{number}")
    for name in ("cmdline", "maps"):
        with contextlib.suppress(*over), open(f"{process}/{name}", "rb") as handle:
            text = os.fsdecode(handle.read()).replace("\0", "\n")
            yield from (with_targets(text) if name == "cmdline" else text).split("\n")
