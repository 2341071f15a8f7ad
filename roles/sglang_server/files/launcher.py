#!/usr/bin/env python3
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Runs ``sglang serve`` for a systemd unit: without printing secrets, and with an exit status that tells the truth.

``launcher.py <arguments after "sglang serve">``. Why it exists: docs/decisions/0001-launcher.md of the collection.

* SGLang prints all its arguments, the API key too, when it starts. The key is read from a systemd credential, given to the
  engine in memory only, and replaced in everything that the engine's processes log or print.
* SGLang 0.5.11 ends a clean stop and every crash alike, by killing itself with SIGKILL. The engine therefore runs as a child, and
  this process exits with 0 only when a stop was asked for and the engine ended by it.

It needs nothing but the standard library of Python 3.9 and the engine in the same environment.
"""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn, Optional

NAME = "inference.sglang"
HIDDEN = "***"
# Name of a systemd credential -> the engine's option that it becomes.
CREDENTIAL_OPTIONS = {"api-key": "--api-key", "admin-api-key": "--admin-api-key"}
SECRET_OPTIONS = frozenset([*CREDENTIAL_OPTIONS.values(), "--ssl-keyfile-password"])
# A shorter word would also blank out harmless text; the named fields below are hidden whatever their length.
SHORTEST_LITERAL = 6
_NAMED_SECRET = re.compile(
    r"(?P<before>\b(?:admin_)?api_key\b['\"]?\s*[=:]\s*|\bssl_keyfile_password\b['\"]?\s*[=:]\s*)"
    r"(?P<quote>['\"])(?:\\.|(?!(?P=quote)).)*(?P=quote)"
)
_BEARER = re.compile(r"(?i)\b(bearer\s+)[A-Za-z0-9._~+/=-]{4,}")
# How an engine may end after a stop was asked for: SGLang 0.5.11 kills itself once it has drained; before its own handler is
# in place the signal ends it; later releases exit with 0.
STOPPED = frozenset([0, -signal.SIGTERM, -signal.SIGKILL, -signal.SIGINT, 128 + signal.SIGTERM])
EXIT_ENDED_UNASKED = 1
EXIT_BAD_CREDENTIAL = 78
PR_SET_PDEATHSIG = 1


class Redactor:
    """Replaces known secrets, and the value of every field that is named like one."""

    def __init__(self, secrets: Iterable[str]) -> None:
        spellings = set()
        for secret in secrets:
            if len(secret) >= SHORTEST_LITERAL:
                spellings |= {secret, repr(secret)[1:-1], json.dumps(secret)[1:-1]}
        self._spellings = sorted(spellings, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        for spelling in self._spellings:
            if spelling in text:
                text = text.replace(spelling, HIDDEN)
        if "api_key" in text or "password" in text:
            text = _NAMED_SECRET.sub(rf"\g<before>\g<quote>{HIDDEN}\g<quote>", text)
        if "earer " in text or "EARER " in text:
            text = _BEARER.sub(rf"\g<1>{HIDDEN}", text)
        return text


class RedactingStream:
    """A text stream that redacts what is written and is the wrapped stream in all else."""

    def __init__(self, stream: Any, redact: Callable[[str], str]) -> None:
        self._stream = stream
        self._redact = redact

    def write(self, text: str) -> int:
        """Like the wrapped stream's; tells the length that the caller gave."""
        self._stream.write(self._redact(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Each line on its own, through ``write``."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def install_redaction(secrets: Iterable[str]) -> None:
    """Redact log records and the standard streams of this process.

    Both, because a library may install a record factory of its own, and a traceback goes to the stream without a record.
    """
    redact = Redactor(secrets)
    previous = logging.getLogRecordFactory()

    def factory(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = previous(*args, **kwargs)
        try:
            text = record.getMessage()
        except Exception:  # a wrong format string: the handler reports it, and the stream redacts the report
            return record
        clean = redact(text)
        if clean != text:
            record.msg, record.args = clean, ()
        return record

    logging.setLogRecordFactory(factory)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None:
            wrapped = RedactingStream(stream, redact)
            setattr(sys, name, wrapped)
            setattr(sys, f"__{name}__", wrapped)


def secrets_in(arguments: Sequence[str]) -> list[str]:
    """Values of secret options on a command line, in both spellings (``--x v`` and ``--x=v``)."""
    found = []
    for index, argument in enumerate(arguments):
        option, equals, value = argument.partition("=")
        if option not in SECRET_OPTIONS:
            continue
        if equals:
            found.append(value)
        elif index + 1 < len(arguments):
            found.append(arguments[index + 1])
    return found


def read_credentials() -> dict[str, str]:
    """Option -> secret, from the unit's credentials. Raises ValueError for one that holds nothing."""
    directory = os.environ.get("CREDENTIALS_DIRECTORY")
    found: dict[str, str] = {}
    for name, option in CREDENTIAL_OPTIONS.items():
        path = os.path.join(directory, name) if directory else ""
        if not path or not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as stream:
            secret = stream.read().strip()
        if not secret:
            raise ValueError(f"the credential {name} is empty: a server that should have a key would be open")
        found[option] = secret
    return found


def say(text: str) -> None:
    """One line to the log, in one write, so that the engine's lines cannot fall into it."""
    try:
        os.write(1, f"{NAME}: {text}\n".encode())
    except OSError:
        # Without a log there is no one to tell; the exit status still tells the truth.
        return


def engine_entry() -> Callable[[], object]:
    """What the console script ``sglang`` calls, found through the installed metadata rather than a name in here."""
    from importlib import metadata

    for entry in metadata.distribution("sglang").entry_points:
        if entry.group == "console_scripts" and entry.name == "sglang":
            function: Callable[[], object] = entry.load()
            return function
    raise RuntimeError("the installed sglang has no console script named sglang")


def die_with(parent: int) -> None:
    """Have the kernel end this process when its parent ends, even if the parent is killed."""
    import ctypes

    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:  # it ended before the call above
        os._exit(EXIT_ENDED_UNASKED)


def run_engine(arguments: Sequence[str], credentials: dict[str, str]) -> object:
    """In the child: become ``sglang serve``. The secrets are in this process's memory, never on a command line."""
    # Tied to its option: argparse reads a word that begins with a dash as an option of its own.
    given = [f"{option}={secret}" for option, secret in credentials.items()]
    script = os.path.join(os.path.dirname(sys.executable), "sglang")
    sys.argv = [script, "serve", *arguments, *given]
    install_redaction(secrets_in(sys.argv))
    return engine_entry()()


class Supervisor:
    """The parent: forwards a stop to the engine and remembers that one was asked for."""

    def __init__(self) -> None:
        self.child = 0
        self.stop_asked = False

    def on_stop(self, _signal: int, _frame: object) -> None:
        """SIGTERM and SIGINT."""
        self.stop_asked = True
        if self.child:
            try:
                os.kill(self.child, signal.SIGTERM)
            except ProcessLookupError:
                self.child = 0

    def status(self, ended: int) -> tuple[int, str]:
        """This process's exit status for the engine's, and why."""
        if self.stop_asked and ended in STOPPED:
            return 0, "stopped as asked"
        asked = "while it was stopping" if self.stop_asked else "no stop was asked for"
        if ended < 0:
            return 128 - ended, f"killed by signal {-ended} ({signal_name(-ended)}), {asked}"
        if ended == 0:
            return EXIT_ENDED_UNASKED, f"the engine ended with status 0, {asked}"
        return ended, f"the engine ended with status {ended}, {asked}"


def signal_name(number: int) -> str:
    """``SIGKILL`` for 9; the number where it has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def supervise(arguments: Sequence[str], credentials: dict[str, str]) -> Optional[tuple[int, str]]:
    """Fork, wait, and return the exit status and its reason. None in the child, once the engine has returned."""
    supervisor = Supervisor()
    stops = {signal.SIGTERM, signal.SIGINT}
    # Blocked around the fork: a stop that comes now must reach both this process and the engine.
    signal.pthread_sigmask(signal.SIG_BLOCK, stops)
    before = {number: signal.signal(number, supervisor.on_stop) for number in stops}
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        for number, handler in before.items():
            signal.signal(number, handler)
        die_with(parent)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, stops)
        return None
    supervisor.child = pid
    signal.pthread_sigmask(signal.SIG_UNBLOCK, stops)
    _pid, raw = os.waitpid(pid, 0)
    supervisor.child = 0
    return supervisor.status(os.waitstatus_to_exitcode(raw))


def main(arguments: Sequence[str]) -> NoReturn:
    """Marker, engine, marker."""
    start = os.environ.get("INVOCATION_ID") or uuid.uuid4().hex
    say(f"start {start} at {time.strftime('%Y-%m-%d %H:%M:%S')}")
    try:
        credentials = read_credentials()
    except (OSError, ValueError) as error:
        say(f"end {start} status {EXIT_BAD_CREDENTIAL}: cannot read the unit's credentials: {error}")
        sys.exit(EXIT_BAD_CREDENTIAL)
    ended = supervise(arguments, credentials)
    if ended is None:
        sys.exit(run_engine(arguments, credentials))  # type: ignore[arg-type]  # as a console script's stub does: whatever it returns
    status, reason = ended
    say(f"end {start} status {status}: {reason}")
    sys.exit(status)


if __name__ == "__main__":
    main(sys.argv[1:])
elif __name__ == "__mp_main__":
    # multiprocessing's "spawn" runs this file again, before anything of the engine, in each process that the engine starts; it
    # has put the engine's own sys.argv back by then.
    install_redaction(secrets_in(sys.argv))
