# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which files of a repository are wanted. Decisions only: nothing here touches a disk or a network."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError

# What an engine reads of a model: weights, configuration, tokenizer, chat template.
DEFAULT_PATTERNS = ("*.safetensors", "*.json", "*.txt", "*.jinja", "*.model", "*.tiktoken")

# Pickles run code when they are loaded; the other formats are second copies of the same weights.
PICKLES = (".bin", ".pth", ".pt", ".pkl", ".pickle", ".ckpt", ".joblib", ".npy", ".npz")
OTHER_WEIGHTS = (".gguf", ".ggml", ".h5", ".msgpack", ".onnx", ".ot", ".tflite", ".mlmodel")
REFUSED_SUFFIXES = PICKLES + OTHER_WEIGHTS

COMMIT = re.compile(r"[0-9a-f]{40}")
REPO = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*")
SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class RemoteFile:
    """One file as a hub (or a manifest) declares it; exactly one of the digests is known for a hub's file."""

    name: str
    size: int
    sha256: str = ""
    git_oid: str = ""


@dataclass(frozen=True)
class RepoMetadata:
    """What the hub says about one revision."""

    commit: str
    files: tuple[RemoteFile, ...]


def is_commit(revision: str) -> bool:
    """True for a full commit hash, which names content and therefore never moves."""
    return COMMIT.fullmatch(revision) is not None


def require_repo(repo: str) -> None:
    """Refuse what is no ``<organisation>/<name>``."""
    if not REPO.fullmatch(repo) or ".." in repo:
        raise SglangError(
            "The model repository is not a name of the form organisation/name.",
            found=repr(repo),
            wanted="for example Qwen/Qwen3.6-27B",
            next_step="Set repo (model_shards_repo), or path (model_shards_path) for a directory that is already there.",
        )


def is_safe_name(name: str) -> bool:
    """A name from a hub becomes a path below our directory: nothing may lead out of it or into our own bookkeeping."""
    parts = name.split("/")
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return "\\" not in name and "\0" not in name and not any(part == "" or part.startswith(".") for part in parts)


def is_wanted(name: str, patterns: Sequence[str]) -> bool:
    """A pattern without a slash speaks of the top level only, one with a slash of the whole path."""
    lowered = name.lower()
    # The index of pickled shards is a *.json that only misleads beside safetensors.
    if lowered.endswith((*REFUSED_SUFFIXES, ".bin.index.json")) or not is_safe_name(name):
        return False
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns if ("/" in pattern) == ("/" in name))


def require_patterns(patterns: Sequence[str]) -> None:
    """A pattern that asks for a pickle or a second copy of the weights is refused, not silently ignored."""
    refused = [pattern for pattern in patterns if pattern.lower().endswith(REFUSED_SUFFIXES)]
    if refused or not patterns:
        raise SglangError(
            "A file pattern asks for files that are never fetched." if refused else "No file pattern is given.",
            found=", ".join(refused) or "an empty list",
            wanted="patterns of safetensors, configuration and tokenizer files, such as " + ", ".join(DEFAULT_PATTERNS),
            next_step="Take it out of patterns (model_shards_patterns): pickles run code when loaded, other formats are second copies.",
        )


def select(files: Iterable[RemoteFile], patterns: Sequence[str]) -> tuple[RemoteFile, ...]:
    """The wanted files, small ones first."""
    wanted = [file for file in files if is_wanted(file.name, patterns)]
    names = {file.name for file in wanted}
    if any(re.fullmatch(r"model(-\d+-of-\d+)?\.safetensors", name) for name in names):
        # Mistral's own layout beside the usual one: the same weights a second time.
        wanted = [file for file in wanted if not fnmatch.fnmatchcase(file.name, "consolidated*.safetensors")]
    return tuple(sorted(wanted, key=lambda file: (file.size, file.name)))


def require_model(selected: Iterable[RemoteFile], everything: Iterable[RemoteFile], source: str) -> None:
    """A model without a configuration or without safetensors weights cannot be served."""
    names = {file.name for file in selected}
    if not names & {"config.json", "adapter_config.json"}:
        raise SglangError(
            f"{source} holds no config.json.",
            found=_some(file.name for file in everything),
            wanted="a model in the Hugging Face layout: config.json beside the weights",
            next_step="Check the repository or the path; a file pattern list without *.json has the same effect.",
        )
    if not any(name.endswith(".safetensors") for name in names):
        others = [file.name for file in everything if file.name.lower().endswith(REFUSED_SUFFIXES)]
        raise SglangError(
            f"{source} holds no safetensors weights.",
            found=_some(others) if others else _some(names),
            wanted="*.safetensors (pickles run code when loaded and are never fetched)",
            next_step="Take a repository with safetensors weights, or convert these once and set path (model_shards_path) to the result.",
        )


def parse_metadata(body: Any, source: str, asked: str = "") -> RepoMetadata:
    """Read the hub's answer to ``/api/models/<repo>/revision/<revision>?blobs=true``; ``asked`` is that revision."""
    commit = body.get("sha") if isinstance(body, dict) else None
    siblings = body.get("siblings") if isinstance(body, dict) else None
    if not isinstance(commit, str) or not is_commit(commit) or not isinstance(siblings, list):
        raise _no_hub_answer(source, "no commit hash or no file list in the answer")
    if is_commit(asked) and commit != asked:
        # A commit names content. Files of another one must not be published, nor vouched for, under its name.
        raise SglangError(
            f"{source} was asked for one commit and answers with another.",
            found=f"commit {commit}",
            wanted=f"commit {asked}",
            next_step="Use a hub or mirror that keeps revisions (endpoint, model_shards_endpoint), or set revision "
            f"(model_shards_revision) to {commit} if that is the one that is meant.",
        )
    return RepoMetadata(commit=commit, files=tuple(_remote_file(item, source) for item in siblings))


def _remote_file(item: Any, source: str) -> RemoteFile:
    if not isinstance(item, dict) or not isinstance(item.get("rfilename"), str):
        raise _no_hub_answer(source, "a file without a name")
    declared = item.get("lfs")
    lfs: dict[str, Any] = declared if isinstance(declared, dict) else {}
    size, sha256, oid = lfs.get("size", item.get("size")), lfs.get("sha256", ""), item.get("blobId", "")
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise _no_hub_answer(source, f"no size for {item['rfilename']}")
    if isinstance(sha256, str) and SHA256.fullmatch(sha256):
        return RemoteFile(item["rfilename"], size, sha256=sha256)
    if isinstance(oid, str) and is_commit(oid):
        return RemoteFile(item["rfilename"], size, git_oid=oid)
    raise _no_hub_answer(source, f"no sha256 and no blob id for {item['rfilename']}")


def _no_hub_answer(source: str, found: str) -> SglangError:
    return SglangError(
        f"{source} does not answer like a model hub.",
        found=found,
        wanted="the API of huggingface.co: /api/models/<repo>/revision/<revision>?blobs=true with sha, siblings, sizes and digests",
        next_step="Check endpoint (model_shards_endpoint); a mirror must pass the hub's API through.",
    )


def missing_shards(index: Any, names: Iterable[str]) -> list[str]:
    """Shards that a ``*.safetensors.index.json`` names and that are not among ``names``."""
    weight_map: Any = index.get("weight_map") if isinstance(index, Mapping) else None
    if not isinstance(weight_map, Mapping):
        return []
    there = set(names)
    return sorted({str(shard) for shard in weight_map.values()} - there)


def require_shards(index_name: str, index: Any, names: Iterable[str], source: str) -> None:
    """An index that names shards which are nowhere means an upload that never finished."""
    missing = missing_shards(index, names)
    if missing:
        raise SglangError(
            f"{index_name} of {source} names shards that are not there.",
            found=f"{len(missing)} missing: {_some(missing)}",
            wanted="every shard that the index names",
            next_step="The upload or copy is not complete: take another revision or copy the missing files, then run again.",
        )


def directory_name(repo: str) -> str:
    """``Qwen/Qwen3.6-27B`` → ``Qwen--Qwen3.6-27B``: the directory below the root."""
    return repo.replace("/", "--")


def _some(names: Iterable[str], limit: int = 5) -> str:
    listed = sorted(names)
    text = ", ".join(listed[:limit]) or "nothing"
    return f"{text} and {len(listed) - limit} more" if len(listed) > limit else text


def describe(size: Optional[int]) -> str:
    """Bytes for people: decimal units, as the hub's pages show them."""
    if size is None:
        return "unknown"
    amount = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.2f} TB"
