# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The server of one transfer between hosts, seen from outside: how it is started and ended, for models and environments alike."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from http.client import HTTPException
from typing import Any

from ansible_collections.inference.sglang.plugins.module_utils import _peer_server
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._pipes import opened

# The server's whole command line: neither a secret nor a script file that could be left behind.
BOOT = "import json, sys; exec(compile(json.loads(sys.stdin.buffer.readline())['source'], 'peer', 'exec'))"
STOP_TIMEOUT = 10.0
SHORTEST_TOKEN = 20


@dataclass(frozen=True)
class Serving:
    """How a host serves: address and port to listen on (0: any), seconds of idleness and of life, the transfer's token."""

    address: str
    port: int
    token: str
    idle: float
    lifetime: float

    def url(self, port: int) -> str:
        """Where it is reached once it listens on that port."""
        return f"http://{'[' + self.address + ']' if ':' in self.address else self.address}:{port}"


@dataclass(frozen=True)
class Offered:
    """Words for a refusal: what is offered, by which role, and what heals files that have changed."""

    what: str
    role: str
    healing: str


def check_token(token: str) -> None:
    """It goes into a header, and nothing else keeps strangers out."""
    printable = all("!" <= character <= "~" for character in token)
    if len(token) < SHORTEST_TOKEN or not printable:
        raise SglangError(
            "The token of a transfer cannot keep anybody out.",
            found=f"{len(token)} characters{'' if printable else ', not all of them letters, digits or signs'}",
            wanted=f"at least {SHORTEST_TOKEN} random characters, made anew for each transfer",
            next_step="Set token, for example with lookup('ansible.builtin.password', '/dev/null', length=40).",
        )


def launch(job: Mapping[str, Any], serving: Serving, offered: Offered) -> int:
    """Serve a job (_peer_server) in a detached process; the port. SglangError when it cannot be."""
    check_token(serving.token)
    child = subprocess.Popen(  # pylint: disable=ansible-bad-function
        [sys.executable, "-I", "-c", BOOT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"PATH": os.environ.get("PATH", os.defpath)},
        cwd="/",
        start_new_session=True,
    )
    orders, answers = opened(child.stdin), opened(child.stdout)
    with answers:
        with contextlib.suppress(BrokenPipeError), orders:  # one that is dead already says so by its silence
            orders.write(json.dumps({"source": inspect.getsource(_peer_server)}).encode() + b"\n")
            orders.write(json.dumps({**job, **asdict(serving)}).encode() + b"\n")
        line = answers.readline()
    reply = json.loads(line) if line else {"error": f"it ended with status {child.wait()}"}
    if "port" not in reply:
        raise SglangError(
            f"This host cannot serve {offered.what} to its peers.",
            found=str(reply.get("error")),
            wanted=f"the files of {job['directory']} as they were verified, and an address of this host to listen on ({serving.address})",
            next_step=f"Set address ({offered.role}_peer_address) to an address of this host that the others reach; for changed files "
            f"{offered.healing}.",
        )
    return int(reply["port"])


def stop(url: str, token: str) -> bool:
    """End a server; whether there was one."""
    request = urllib.request.Request(f"{url}/stop", data=b"", method="POST", headers={"Authorization": f"Bearer {token}"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=STOP_TIMEOUT):
            return True
    except urllib.error.HTTPError:
        return False  # somebody else's port by now
    except (OSError, HTTPException):
        return False
