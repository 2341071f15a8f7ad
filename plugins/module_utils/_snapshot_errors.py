# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""From what a hub or a disk answered to what a person should do. Decisions only."""

from __future__ import annotations

import errno
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_files import describe

DISK_ERRNO = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
ACCESS_ERRNO = {errno.EROFS, errno.EACCES, errno.EPERM}


@dataclass(frozen=True)
class Failure:
    """What went wrong, as plain facts from whoever met it."""

    type: str = ""
    message: str = ""
    status: Optional[int] = None
    code: str = ""
    errno: Optional[int] = None
    file: str = ""
    retry_after: Optional[float] = None

    @classmethod
    def from_event(cls, data: Mapping[str, Any], file: str = "") -> Failure:
        return cls(
            type=str(data.get("type", "")),
            message=str(data.get("message", "")),
            status=data.get("status"),
            code=str(data.get("code") or ""),
            errno=data.get("errno"),
            file=file,
            retry_after=data.get("retry_after"),
        )


@dataclass(frozen=True)
class Context:
    """What the person asked for, to be named in the message."""

    repo: str
    revision: str
    endpoint: str
    token_given: bool = False
    token_refused: bool = False
    directory: str = ""
    needed: Optional[int] = None
    free: Optional[int] = None


def explain(failure: Failure, context: Context) -> SglangError:
    """The one message for this failure."""
    if failure.errno is not None:
        return _disk(failure, context)
    if failure.type in ("ModuleNotFoundError", "ImportError"):
        return SglangError(
            "The tool environment cannot download from a hub.",
            found=failure.message,
            wanted="a Python with huggingface_hub 1.x",
            next_step="Build it with inference.sglang.python_environment from the lock of the role model_shards, and pass its Python.",
        )
    if failure.type == "Corrupt":
        return _corrupt(failure, context)
    if failure.status is None:
        return _unreachable(failure, context)
    return _status(failure, context)


def resolved_revision_gone(failure: Failure, context: Context, requested: str) -> SglangError:
    """A branch was resolved to a commit by an earlier run, and the hub has dropped it since. Not followed silently: hosts would differ."""
    return SglangError(
        f"The hub {context.endpoint} no longer has the commit that {requested!r} of {context.repo} was resolved to.",
        found=f"{context.revision}, recorded by an earlier run; {_answer(failure, context)}",
        wanted="one commit for all hosts and all runs, which the hub still serves",
        next_step=f"Set refresh: true (model_shards_refresh) to resolve {requested!r} again, or name a commit that every host shall have.",
    )


def _status(failure: Failure, context: Context) -> SglangError:
    if failure.code == "RevisionNotFound":
        return SglangError(
            f"The repository {context.repo} has no revision {context.revision!r}.",
            found=_answer(failure, context),
            wanted="a branch, a tag or a full commit hash of that repository",
            next_step="Set revision (model_shards_revision) to one that its page lists under Files and versions.",
        )
    if failure.code == "EntryNotFound":
        return SglangError(
            f"The hub lists the file {failure.file} of {context.repo} and does not have it.",
            found=_answer(failure, context),
            wanted="every file that the revision lists",
            next_step="Try another revision; on a mirror, let it fetch the repository anew.",
        )
    if failure.status in (401, 403, 404) or failure.code in ("GatedRepo", "RepoNotFound"):
        return _access(failure, context)
    if failure.status == 429:
        again = f" It asks to wait {failure.retry_after:.0f} s." if failure.retry_after else ""
        return SglangError(
            f"The hub {context.endpoint} limits the rate of requests and did so until the retries were used up.",
            found=_answer(failure, context) + again,
            wanted="an answer within the configured retries",
            next_step="Run again later (what was fetched is kept), lower workers (model_shards_workers), or set token: "
            "limits are per address and account.",
        )
    return SglangError(
        f"The hub {context.endpoint} answers with an error, also after retries.",
        found=_answer(failure, context),
        wanted="the repository's files",
        next_step="Run again later: what was fetched is kept and continued.",
    )


def _access(failure: Failure, context: Context) -> SglangError:
    found = _answer(failure, context)
    if context.token_refused:
        return SglangError(
            "The hub refuses the token.",
            found=found,
            wanted="a valid access token (its value is not shown here)",
            next_step="Make a new read token on the hub's settings page and set token (model_shards_token).",
        )
    if failure.code == "GatedRepo":
        step = (
            "Ask for access on the repository's page with the account that owns the token, and let the token read gated repositories."
            if context.token_given
            else "Accept the conditions on the repository's page and set token (model_shards_token) to a read token of that account."
        )
        return SglangError(
            f"The repository {context.repo} is gated.",
            found=found + ("; a token was sent" if context.token_given else "; no token was sent"),
            wanted="an account that was granted access",
            next_step=step,
        )
    return SglangError(
        f"There is no repository {context.repo} on {context.endpoint}, or it is private.",
        found=found + ("; a token was sent" if context.token_given else "; no token was sent"),
        wanted="a model repository that this account may read",
        next_step="Check the spelling of repo (model_shards_repo); a private one needs the token (model_shards_token) of an "
        "account that may read it.",
    )


def _unreachable(failure: Failure, context: Context) -> SglangError:
    return SglangError(
        f"The model hub {context.endpoint} cannot be reached" + (f" while fetching {failure.file}." if failure.file else "."),
        found=f"{failure.type}: {failure.message}".strip(": "),
        wanted="an HTTP answer",
        next_step="Check name resolution, proxy and firewall of this host; set endpoint (model_shards_endpoint) to a mirror inside "
        "the network, or path (model_shards_path) to a directory that is on the host. A run that broke off continues where it was.",
    )


def _corrupt(failure: Failure, context: Context) -> SglangError:
    return SglangError(
        f"{failure.file} arrives wrong again and again.",
        found=failure.message,
        wanted="the bytes whose digest the hub itself declares",
        next_step=f"Suspect a proxy or mirror between this host and {context.endpoint}, then this host's memory; "
        "the wrong bytes were removed.",
    )


def _disk(failure: Failure, context: Context) -> SglangError:
    if failure.errno in DISK_ERRNO:
        return disk_full(context, during=failure.file or "the download")
    if failure.errno in ACCESS_ERRNO:
        return SglangError(
            f"Files cannot be written below {context.directory}.",
            found=failure.message,
            wanted="a directory that the user who runs this play on the host may write",
            next_step="Set become: true, make the file system writable, or choose another root (model_shards_root).",
        )
    return SglangError(
        f"The disk below {context.directory} fails.",
        found=failure.message,
        wanted="a healthy local file system",
        next_step="Look at the kernel's log for errors of that disk, then run again: what is proven is kept.",
    )


def disk_full(context: Context, during: str = "") -> SglangError:
    """Named before the download with both numbers, or when it happens after all."""
    where = context.directory
    wrong = f"The disk is full: writing {during} below {where} failed." if during else f"Not enough disk space below {where}."
    return SglangError(
        wrong,
        found=f"{describe(context.free)} free",
        wanted=f"{describe(context.needed)} more for {context.repo}@{context.revision}",
        next_step="Free space (old revisions, .partial-* directories of other revisions) or choose another root (model_shards_root). "
        "What was fetched is kept.",
    )


def _answer(failure: Failure, context: Context) -> str:
    what = f" for {failure.file}" if failure.file else ""
    code = f" {failure.code}" if failure.code else ""
    message = f" ({_one_line(failure.message)})" if failure.message else ""
    return f"HTTP {failure.status}{code}{what}{message}"


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()[:200]
