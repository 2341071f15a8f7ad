# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Looks at files that are there: are the shards whole, does the index fit, may the service's user read them."""

from __future__ import annotations

import grp
import os
import pwd
from collections.abc import Iterable

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._regular_files import open_regular
from ansible_collections.inference.sglang.plugins.module_utils._safetensors import LFS_POINTER, PREFIX, header_length, parse_header
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_files import require_shards
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_store import content_of


def shard_problem(path: str) -> str:
    """What is wrong with a safetensors file by its header and size; empty when the two fit."""
    name = os.path.basename(path)
    with open_regular(path) as handle:
        size, start = os.fstat(handle.fileno()).st_size, handle.read(len(LFS_POINTER))
        try:
            length = header_length(name, start, size)
            handle.seek(PREFIX)
            parse_header(name, handle.read(length), size)
        except SglangError as error:
            return error.found
    return ""


def shard_problems(directory: str, names: Iterable[str]) -> dict[str, str]:
    """File → what is wrong with it, for the safetensors among the names."""
    found = {name: shard_problem(os.path.join(directory, name)) for name in names if name.endswith(".safetensors")}
    return {name: problem for name, problem in found.items() if problem}


def require_whole_shards(directory: str, names: Iterable[str], next_step: str) -> None:
    problems = shard_problems(directory, names)
    if problems:
        raise SglangError(
            f"Weights in {directory} are broken.",
            found="; ".join(f"{name}: {problem}" for name, problem in sorted(problems.items())[:5]),
            wanted="safetensors files whose header and size fit",
            next_step=next_step,
        )


def require_complete_index(directory: str, names: Iterable[str], source: str) -> None:
    """Every shard that an index beside the weights names must be there."""
    listed = list(names)
    for name in listed:
        if name.endswith(".safetensors.index.json"):
            folder = os.path.dirname(name)
            beside = [os.path.relpath(other, folder or ".") for other in listed if os.path.dirname(other) == folder]
            require_shards(name, content_of(os.path.join(directory, name)), beside, source)


def require_readable(directory: str, names: Iterable[str], user: str) -> None:
    """A shard that the service's user may not read shows later as "No such file": say it now, with the real reason."""
    try:
        account = pwd.getpwnam(user)
    except KeyError:
        raise SglangError(
            "The user who is to read the model does not exist.",
            found=f"no user {user}",
            wanted="the service's user, made before the model is fetched",
            next_step="Run the role inference_host first, or leave reader (model_shards_reader) empty.",
        ) from None
    if account.pw_uid == 0:
        return
    groups = {account.pw_gid} | {group.gr_gid for group in grp.getgrall() if user in group.gr_mem}
    for path, need in _needs(directory, names):
        status = os.stat(path)
        shift = 6 if status.st_uid == account.pw_uid else 3 if status.st_gid in groups else 0
        if not (status.st_mode >> shift) & need:
            raise SglangError(
                f"The user {user} cannot read the model.",
                found=f"{path} has mode {status.st_mode & 0o7777:04o}, owner {status.st_uid}, group {status.st_gid}",
                wanted="read permission on the files, and search permission on every directory above them",
                next_step=f"chmod {'o+x' if need == 1 else 'o+r'} {path}, or choose a path outside private directories.",
            )


def _needs(directory: str, names: Iterable[str]) -> Iterable[tuple[str, int]]:
    parents = []
    current = os.path.realpath(directory)
    while current != "/":
        parents.append(current)
        current = os.path.dirname(current)
    yield from ((path, 1) for path in reversed(parents))
    yield from ((os.path.join(directory, name), 4) for name in sorted(names))
