# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What lies below the roots of models and environments. Looks only; who uses it is for ``_prune_users``."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._prune import ENVIRONMENT, FOREIGN, MODEL, RECORD, UNFINISHED, Item
from ansible_collections.inference.sglang.plugins.module_utils._python_environment import DIGEST_LENGTH, MARKER, Marker
from ansible_collections.inference.sglang.plugins.module_utils._regular_files import read_record, read_regular
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_files import directory_name
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_manifest import Manifest, load

TRASH = ".trash-"
_COMMIT = r"[0-9a-f]{40}"
_BUILT = rf"[A-Za-z0-9][A-Za-z0-9._-]*-[0-9a-f]{{{DIGEST_LENGTH}}}"
_MANIFEST = re.compile(rf"({_COMMIT})\.manifest\.json")
_TRASH = re.compile(rf"\{TRASH}(?:partial-)?{_COMMIT}|\{TRASH}{_BUILT}")
_MOUNTS = "/proc/self/mountinfo"
_NO_LOCK = "it has no lock of this collection beside it"
_PARTIAL = ".partial-"


def is_directory(path: str) -> bool:
    """A real one: whoever put a link there owns what is behind it."""
    return os.path.isdir(path) and not os.path.islink(path)


def what(path: str) -> str:
    """What a name stands for, for a message."""
    mode = os.lstat(path).st_mode
    return "a link" if stat.S_ISLNK(mode) else "a directory" if stat.S_ISDIR(mode) else "a file"


def listed(directory: str) -> list[str]:
    """The names in a directory; none where there is no directory."""
    try:
        return sorted(os.listdir(directory))
    except FileNotFoundError:
        return []


def repositories(root: str) -> list[str]:
    """The directories that `model_snapshot` made below the root of models."""
    names = [name for name in listed(root) if "--" in name and not name.startswith(".")]
    return [path for path in (os.path.join(root, name) for name in names) if is_directory(path) and os.path.isfile(f"{path}/.lock")]


def environment_lock(path: str) -> str:
    """The lock file of an environment, or of what a copy of it has grown to, as `python_environment` names it."""
    name = os.path.basename(path)
    return os.path.join(os.path.dirname(path), f".{name[len(_PARTIAL) :] if name.startswith(_PARTIAL) else name}.lock")


def locks(kind: str, root: str) -> list[str]:
    """The lock files that runs meet at."""
    if kind == "models":
        return [f"{repository}/.lock" for repository in repositories(root)]
    ours = re.compile(rf"(?:{re.escape(_PARTIAL)})?{_BUILT}")
    paths = {environment_lock(os.path.join(root, name)) for name in listed(root) if ours.fullmatch(name)}
    return sorted(path for path in paths if os.path.isfile(path))


def trash(kind: str, root: str) -> list[str]:
    """What an earlier run has taken away and not yet removed."""
    folders = repositories(root) if kind == "models" else [root]
    found = [os.path.join(folder, name) for folder in folders for name in listed(folder) if _TRASH.fullmatch(name)]
    return [path for path in found if is_directory(path)]


def mount_points() -> list[str]:
    """Where something is mounted, with the kernel's octal escapes undone."""
    with open(_MOUNTS, encoding="utf-8", errors="surrogateescape") as handle:
        points = [line.split(" ")[4] for line in handle]
    return [re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), point) for point in points]


def survey(kind: str, root: str, held: Mapping[str, str]) -> list[Item]:
    """What is there. ``held`` has the locks that were asked for: empty for one that is ours now, else who holds it."""
    mounted = mount_points()
    items = _models(root, held) if kind == "models" else _environments(root, held)
    return [_not_mounted(item, mounted) for item in items]


def _not_mounted(item: Item, mounted: list[str]) -> Item:
    real = os.path.realpath(item.path)
    inside = [point for point in mounted if point == real or point.startswith(real + "/")]
    return Item(item.path, FOREIGN, about=f"a file system is mounted at {inside[0]}") if inside and item.kind != FOREIGN else item


def _busy(lock: str, held: Mapping[str, str]) -> str:
    return held.get(lock, "it has appeared just now")


# --- models -------------------------------------------------------------------------------------------------------------


def _models(root: str, held: Mapping[str, str]) -> Iterator[Item]:
    ours = repositories(root)
    for name in listed(root):
        path = os.path.join(root, name)
        if path in ours:
            yield from _repository(path, held)
        elif name != "adopted" and not name.startswith("."):
            yield Item(path, FOREIGN, about=f"{what(path)} that model_snapshot did not make")


def _repository(directory: str, held: Mapping[str, str]) -> Iterator[Item]:
    lock = os.path.join(directory, ".lock")
    busy, names = _busy(lock, held), listed(directory)
    recorded = max((os.stat(os.path.join(directory, name)).st_mtime for name in names if _MANIFEST.fullmatch(name)), default=0.0)
    for name in names:
        path = os.path.join(directory, name)
        manifest = _MANIFEST.fullmatch(name)
        if re.fullmatch(_COMMIT, name):
            yield _model(path, busy)
        elif re.fullmatch(rf"\.partial-{_COMMIT}", name) and is_directory(path):
            yield _partial_model(path, recorded, busy)
        elif manifest:
            if manifest.group(1) not in names:
                yield Item(path, RECORD, about="the manifest of a model that is not there any more", busy=busy)
        elif name != "refs.json" and not name.startswith("."):
            yield Item(path, FOREIGN, about=f"{what(path)} that model_snapshot did not make")


def _model(path: str, busy: str) -> Item:
    if not is_directory(path):
        return Item(path, FOREIGN, about=what(path))
    try:
        manifest = load(read_regular(f"{path}.manifest.json"), f"{path}.manifest.json")
    except FileNotFoundError:
        return Item(path, FOREIGN, about="it has no manifest beside it")
    except SglangError as error:
        return Item(path, FOREIGN, about=f"{error.wrong} ({error.found})")
    return _own_model(path, manifest, busy)


def _own_model(path: str, manifest: Manifest, busy: str) -> Item:
    repository = os.path.basename(os.path.dirname(path))
    if manifest.adopted or (directory_name(manifest.repo), manifest.revision) != (repository, os.path.basename(path)):
        return Item(path, FOREIGN, about=f"its manifest is of {manifest.repo}@{manifest.revision}, adopted: {manifest.adopted}")
    known = {entry.file for entry in manifest.files}
    for folder, folders, names in os.walk(path):
        others = [os.path.relpath(os.path.join(folder, name), path) for name in names]
        others = [name for name in others if name not in known] + [name for name in folders if os.path.islink(os.path.join(folder, name))]
        if others:
            return Item(path, FOREIGN, about=f"it holds {sorted(others)[0]}, which is not in its manifest")
    return Item(path, MODEL, made=manifest.time, busy=busy)


def _partial_model(path: str, recorded: float, busy: str) -> Item:
    """A run continues what it finds here. Once a model of this repository was proven after the last byte came, none has wanted to."""
    if busy:
        return Item(path, UNFINISHED, busy=busy)
    if max(status.st_mtime for status in _everything(path)) < recorded:
        return Item(path, UNFINISHED, about="a download that was left for another revision", abandoned=True)
    return Item(path, UNFINISHED, about="a download that the next run continues")


def _everything(path: str) -> Iterator[os.stat_result]:
    for folder, _folders, names in os.walk(path):
        yield from (os.lstat(os.path.join(folder, name)) for name in [".", *names])


# --- environments -------------------------------------------------------------------------------------------------------


def _environments(root: str, held: Mapping[str, str]) -> Iterator[Item]:
    names = listed(root)
    markers = [os.path.join(root, name, MARKER) for name in names if re.fullmatch(_BUILT, name)]
    finished = max((os.lstat(path).st_ctime for path in markers if os.path.lexists(path)), default=0.0)
    for name in names:
        path = os.path.join(root, name)
        if name.startswith(_PARTIAL) and re.fullmatch(_BUILT, name[len(_PARTIAL) :]) and is_directory(path):
            yield _partial_environment(path, finished, held)
        elif name.startswith("."):
            continue
        elif not re.fullmatch(_BUILT, name) or not is_directory(path):
            aside = ", moved aside by an earlier run" if ".replaced-" in name else ""
            yield Item(path, FOREIGN, about=f"{what(path)} that python_environment did not make{aside}")
        elif not os.path.isfile(environment_lock(path)):
            yield Item(path, FOREIGN, about=_NO_LOCK)
        else:
            yield _environment(path, _busy(environment_lock(path), held))


def _partial_environment(path: str, finished: float, held: Mapping[str, str]) -> Item:
    """A copy continues what it finds here. Once an environment was finished after the last byte came, none has wanted to.

    Of its files only the time of their last change (ctime) is this host's: a copy gives them the builder's own times.
    """
    if not os.path.isfile(environment_lock(path)):
        return Item(path, FOREIGN, about=_NO_LOCK)
    busy = _busy(environment_lock(path), held)
    if busy:
        return Item(path, UNFINISHED, busy=busy)
    if max(status.st_ctime for status in _everything(path)) < finished:
        return Item(path, UNFINISHED, about="a copy that was left for another environment", abandoned=True)
    return Item(path, UNFINISHED, about="a copy that the next run continues")


def _environment(path: str, busy: str) -> Item:
    if not os.path.lexists(os.path.join(path, MARKER)):
        return Item(path, UNFINISHED, about="a build that did not end", abandoned=True, busy=busy)
    data: Any = read_record(os.path.join(path, MARKER))
    digest = data.get("digest") if isinstance(data, dict) else None
    marker = Marker.from_data(data, path, digest) if isinstance(digest, str) else None
    if marker is None or not os.path.basename(path).endswith(f"-{marker.digest[:DIGEST_LENGTH]}"):
        return Item(path, FOREIGN, about=f"its {MARKER} is damaged, or of another place")
    return Item(path, ENVIRONMENT, made=str(marker.built or ""), busy=busy)
