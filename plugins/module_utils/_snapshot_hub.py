# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Asks a model hub about a revision, with the standard library: check mode must work before any tool is installed."""

from __future__ import annotations

import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from typing import Any, Optional, TypeVar

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._regular_files import parse_json
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_downloader import (
    describe_exception,
    is_retryable,
    parse_retry_after,
    retry_wait,
)
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_errors import Context, Failure, explain
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_files import RepoMetadata, parse_metadata

DEFAULT_ENDPOINT = "https://huggingface.co"
# The answer for a model of a few hundred files is some hundred kilobytes.
MAXIMUM_ANSWER = 64 << 20
USER_AGENT = "inference.sglang"
_Answer = TypeVar("_Answer")


class HubError(Exception):
    """The hub did not give what was asked; ``failure`` has the facts, ``context`` what was asked."""

    def __init__(self, failure: Failure, context: Context) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.context = context

    def explained(self) -> SglangError:
        return explain(self.failure, self.context)


class _KeepTokenAtHome(urllib.request.HTTPRedirectHandler):
    """urllib would carry the token to wherever a redirect points; it stays with the host that it was given for."""

    def redirect_request(self, req: urllib.request.Request, *args: Any, **kwargs: Any) -> Optional[urllib.request.Request]:
        new = super().redirect_request(req, *args, **kwargs)
        if new is not None and _origin(new.full_url) != _origin(req.full_url):
            new.remove_header("Authorization")
        return new


def _origin(url: str) -> tuple[str, str]:
    parts = urllib.parse.urlsplit(url)
    return parts.scheme, parts.netloc.rpartition("@")[2]


def normal_endpoint(endpoint: str) -> str:
    """The address without a trailing slash; only HTTP makes sense."""
    address = (endpoint or DEFAULT_ENDPOINT).strip().rstrip("/")
    parts = urllib.parse.urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise SglangError(
            "The hub's address is no HTTP address.",
            found=repr(public_endpoint(address)),
            wanted="https://host or http://host:port",
            next_step="Correct endpoint (model_shards_endpoint); empty means https://huggingface.co.",
        )
    return address


def public_endpoint(endpoint: str) -> str:
    """The address without the user and password that a mirror's URL may carry."""
    scheme, separator, rest = endpoint.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}" if separator else endpoint.rpartition("@")[2]


def require_token(token: str) -> None:
    """A token goes into a header: a line break or a blank in it is an accident of quoting or of a vault lookup."""
    if token and not all("!" <= character <= "~" for character in token):
        raise SglangError(
            "The hub token is not a token.",
            found="characters that cannot be part of one (blank, line break or not ASCII); its value is not shown",
            wanted="one word, as the hub's settings page shows it",
            next_step="Correct token (model_shards_token); a lookup of a file needs rstrip.",
        )


class Hub:
    """One hub, as one account or as nobody."""

    declared_by = "hub"  # what a file's digest is compared with

    def __init__(
        self,
        endpoint: str,
        token: str = "",
        *,
        retries: int = 8,
        retry_delay: float = 1.0,
        timeout: float = 15.0,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self.endpoint = normal_endpoint(endpoint)
        self._token = token
        self._retries = retries
        self._retry_delay = retry_delay
        self._timeout = timeout
        self._wait = wait
        self._opener = urllib.request.build_opener(_KeepTokenAtHome())

    @property
    def source(self) -> str:
        """Where the files come from, as a manifest records it."""
        return public_endpoint(self.endpoint)

    def metadata(self, repo: str, revision: str, on_retry: Optional[Callable[[Failure, float], None]] = None) -> RepoMetadata:
        """Commit, files, sizes and digests of a revision; HubError when there is no such answer."""
        path = f"/api/models/{repo}/revision/{urllib.parse.quote(revision, safe='')}?blobs=true"
        context = Context(repo=repo, revision=revision, endpoint=public_endpoint(self.endpoint), token_given=bool(self._token))
        return self._insist(lambda: parse_metadata(self._get(path), context.endpoint, revision), context, on_retry)

    def read(self, repo: str, revision: str, name: str, start: int, length: int) -> bytes:
        """So many bytes of a file from a position on, or as many as it has; a server that sends more is cut off."""
        quoted = "/".join(urllib.parse.quote(part, safe="") for part in name.split("/"))
        path = f"/{repo}/resolve/{urllib.parse.quote(revision, safe='')}/{quoted}"
        context = Context(repo=repo, revision=revision, endpoint=public_endpoint(self.endpoint), token_given=bool(self._token))
        return self._insist(lambda: self._get_range(path, start, length), context, None)

    def _insist(self, ask: Callable[[], _Answer], context: Context, on_retry: Optional[Callable[[Failure, float], None]]) -> _Answer:
        attempt = 0
        while True:
            try:
                return ask()
            except _Refused as refused:
                attempt += 1
                if not is_retryable(refused.facts) or attempt > self._retries:
                    if refused.facts.get("status") in (401, 403) and self._token:
                        context = Context(**{**context.__dict__, "token_refused": self._token_refused()})
                    raise HubError(Failure.from_event(refused.facts), context) from refused
                wait = retry_wait(refused.facts, attempt, self._retry_delay)
                if on_retry:
                    on_retry(Failure.from_event(refused.facts), wait)
                self._wait(wait)

    def _token_refused(self) -> bool:
        """Whether the hub does not know the token at all; a mirror without this page leaves the question open."""
        try:
            self._get("/api/whoami-v2")
        except _Refused as refused:
            return refused.facts.get("status") == 401
        return False

    def _open(self, path: str, headers: dict[str, str], take: Callable[[Any], bytes]) -> bytes:
        request = urllib.request.Request(self.endpoint + path, headers={"User-Agent": USER_AGENT, **headers})
        if self._token:
            request.add_header("Authorization", f"Bearer {self._token}")
        try:
            with self._opener.open(request, timeout=self._timeout) as response:
                return take(response)
        except urllib.error.HTTPError as error:
            with error:
                raise _Refused(_http_facts(error)) from None
        except urllib.error.URLError as error:
            raise _Refused({"type": type(error.reason).__name__, "message": str(error.reason)}) from None
        except (OSError, HTTPException) as error:
            # A read that times out or breaks off comes bare, without URLError around it.
            raise _Refused({**describe_exception(error), "errno": None}) from None

    def _get(self, path: str) -> Any:
        body = self._open(path, {"Accept": "application/json"}, lambda response: bytes(response.read(MAXIMUM_ANSWER + 1)))
        try:
            return parse_json(body)
        except ValueError:
            raise _not_json(public_endpoint(self.endpoint), body) from None

    def _get_range(self, path: str, start: int, length: int) -> bytes:
        def take(response: Any) -> bytes:
            if response.status != 206:
                # The whole file comes: what lies in front is read and dropped, what lies behind is never asked for.
                if start > MAXIMUM_ANSWER:
                    raise OSError("the server ignores Range")
                response.read(start)
            return bytes(response.read(length))

        return self._open(path, {"Range": f"bytes={start}-{start + length - 1}", "Accept-Encoding": "identity"}, take)


class _Refused(Exception):
    def __init__(self, facts: dict[str, Any]) -> None:
        super().__init__(facts.get("message", ""))
        self.facts = facts


def _http_facts(error: urllib.error.HTTPError) -> dict[str, Any]:
    headers = error.headers
    return {
        "type": "HTTPError",
        "status": error.code,
        "code": headers.get("X-Error-Code") or "",
        "message": (headers.get("X-Error-Message") or error.reason or "")[:500],
        "retry_after": parse_retry_after(headers.get("Retry-After"), headers.get("Date"), time.time()),
    }


def _not_json(endpoint: str, body: bytes) -> SglangError:
    return SglangError(
        f"{endpoint} does not answer like a model hub.",
        found=f"no JSON but {body[:60]!r}",
        wanted="the API of huggingface.co",
        next_step="Check endpoint (model_shards_endpoint) and whether a proxy or login page stands between.",
    )
