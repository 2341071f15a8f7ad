# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A unit's text to what the substitute does with it. Pure. What is not understood is refused, never passed over."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Optional


class Refused(Exception):
    """The substitute does not do this; it says what."""


# These need systemd's mount namespaces, seccomp or device control. They are named as not applied at each start.
SANDBOX = frozenset(
    "NoNewPrivileges CapabilityBoundingSet AmbientCapabilities ProtectSystem ProtectHome PrivateTmp PrivateDevices ProtectKernelTunables "
    "ProtectKernelModules ProtectKernelLogs ProtectControlGroups ProtectClock ProtectHostname LockPersonality RestrictRealtime "
    "RestrictNamespaces RestrictSUIDSGID RestrictAddressFamilies SystemCallArchitectures BindReadOnlyPaths ReadWritePaths DevicePolicy "
    "DeviceAllow".split()
)
# Order among units, and a journal: there are no other units here, and no journal.
_MOOT = {
    "Unit": frozenset(["Description", "Wants", "After", "RequiresMountsFor"]),
    "Service": frozenset(["SyslogIdentifier", "LogRateLimitIntervalSec"]),
    "Install": frozenset(),
}
# Directives with the only values that the substitute does.
_ONLY = {
    "Type": ("exec",),
    "KillMode": ("mixed",),
    "StandardError": ("inherit",),
    "Restart": ("no", "on-failure"),
    "TasksMax": ("infinity",),
}
_LIMITS = {"LimitNOFILE": "NOFILE", "LimitMEMLOCK": "MEMLOCK", "LimitSTACK": "STACK", "LimitCORE": "CORE"}
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", '"': '"'}
INFINITY = -1  # resource.RLIM_INFINITY


@dataclass
class Service:
    """What a start needs. Seconds are seconds; limits are (soft, hard) by the name of RLIMIT_<name>."""

    exec_start: list[str] = field(default_factory=list)
    # (command, whether its failure counts)
    exec_start_pre: list[tuple[list[str], bool]] = field(default_factory=list)
    user: str = "root"
    group: str = ""
    directory: str = "/"
    environment: dict[str, str] = field(default_factory=dict)
    credentials: dict[str, str] = field(default_factory=dict)
    log_file: str = ""
    cache_directory: str = ""
    cache_mode: int = 0o755
    umask: int = 0o022
    limits: dict[str, tuple[int, int]] = field(default_factory=dict)
    stop_seconds: float = 90.0
    restart: str = "no"
    restart_seconds: float = 0.1
    start_interval: float = 10.0
    start_burst: int = 5
    wanted_by: list[str] = field(default_factory=list)
    not_applied: list[str] = field(default_factory=list)


def words(text: str) -> list[str]:
    """Words of a directive as systemd takes them: double quotes, four escapes; `%%` and nothing else of the specifiers."""
    found: list[str] = []
    word: Optional[str] = None
    quoted, index = False, 0
    while index < len(text):
        char = text[index]
        if char == "\\" and text[index + 1 : index + 2] in _ESCAPES:
            word, index = (word or "") + _ESCAPES[text[index + 1]], index + 2
            continue
        if char == "\\" or (char == "'" and not quoted):
            raise Refused(f"the quoting of: {text}")
        if char == '"':
            quoted, word = not quoted, word or ""
        elif char in " \t" and not quoted:
            if word is not None:
                found.append(word)
            word = None
        else:
            word = (word or "") + char
        index += 1
    if quoted:
        raise Refused(f"an open quote in: {text}")
    return [plain(each) for each in [*found, *([] if word is None else [word])]]


def plain(text: str) -> str:
    """Text without specifiers."""
    if re.search(r"%(?!%)", text.replace("%%", "")):
        raise Refused(f"a specifier in: {text}")
    return text.replace("%%", "%")


def command_words(text: str) -> list[str]:
    """A command line: words in which `$$` is a dollar and no variable stands."""
    found = words(text)
    for word in found:
        if "$" in word.replace("$$", "") or word == ";":
            raise Refused(f"a variable or a second command in: {text}")
    return [word.replace("$$", "$") for word in found]


def seconds(text: str) -> float:
    """A time span that is a plain number of seconds."""
    if not re.fullmatch(r"\d+(\.\d+)?", text):
        raise Refused(f"the time span {text}")
    return float(text)


def _limit(text: str) -> tuple[int, int]:
    parts = [INFINITY if part == "infinity" else int(part) if part.isdigit() else None for part in text.split(":")]
    if len(parts) > 2 or None in parts:
        raise Refused(f"the limit {text}")
    return (parts[0] or 0, parts[-1] or 0)


def _octal(text: str) -> int:
    if not re.fullmatch(r"[0-7]{3,4}", text):
        raise Refused(f"the mode {text}")
    return int(text, 8)


def _assignments(text: str) -> Iterator[tuple[str, str, str]]:
    section = ""
    for line in text.splitlines():
        line = line.strip()
        if not line or line[0] in "#;":
            continue
        header = re.fullmatch(r"\[(\w+)\]", line)
        if header:
            section = header[1]
            if section not in _MOOT:
                raise Refused(f"the section [{section}]")
            continue
        name, equals, value = line.partition("=")
        if not equals or not section or line.endswith("\\"):
            raise Refused(f"the line: {line}")
        yield section, name.strip(), value.strip()


def _pre(value: str) -> tuple[list[str], bool]:
    prefix = re.match(r"[-+]*", value)
    marks = prefix[0] if prefix else ""
    if "+" not in marks:
        raise Refused(f"ExecStartPre={value}: a helper that does not run as root (+)")
    return command_words(value[len(marks) :]), "-" not in marks


def _take(service: Service, section: str, name: str, value: str) -> bool:
    """Note one assignment; False where its name is not known."""
    if name in _ONLY:
        if value not in _ONLY[name]:
            raise Refused(f"{name}={value} (it does {name}={' or '.join(_ONLY[name])})")
        if name == "Restart":
            service.restart = value
    elif name == "StartLimitIntervalSec":
        service.start_interval = seconds(value)
    elif name == "StartLimitBurst":
        service.start_burst = int(seconds(value))
    elif name in ("User", "Group"):
        setattr(service, name.lower(), plain(value))
    elif name == "ExecStartPre":
        service.exec_start_pre.append(_pre(value))
    elif name == "ExecStart":
        if service.exec_start:
            raise Refused("a second ExecStart=")
        service.exec_start = command_words(value)
    elif name == "WorkingDirectory":
        service.directory = plain(value)
    elif name == "Environment":
        service.environment.update(dict(_variable(word) for word in words(value)))
    elif name == "LoadCredential":
        credential, colon, path = plain(value).partition(":")
        if not colon or not re.fullmatch(r"[\w.-]+", credential) or not path.startswith("/"):
            raise Refused(f"LoadCredential={value}")
        service.credentials[credential] = path
    elif name == "StandardOutput":
        if not value.startswith("append:/"):
            raise Refused(f"StandardOutput={value} (it does append:/a/file)")
        service.log_file = plain(value[len("append:") :])
    elif name == "CacheDirectory":
        if not re.fullmatch(r"[\w.-]+(/[\w.-]+)*", value) or ".." in value.split("/"):
            raise Refused(f"CacheDirectory={value}")
        service.cache_directory = value
    elif name == "CacheDirectoryMode":
        service.cache_mode = _octal(value)
    elif name == "UMask":
        service.umask = _octal(value)
    elif name == "TimeoutStopSec":
        service.stop_seconds = seconds(value)
    elif name == "RestartSec":
        service.restart_seconds = seconds(value)
    elif name in _LIMITS:
        service.limits[_LIMITS[name]] = _limit(value)
    elif section == "Install" and name == "WantedBy":
        service.wanted_by += words(value)
    else:
        return False
    return True


def _variable(word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not equals:
        raise Refused(f"Environment={word}")
    return name, value


def parse(text: str) -> Service:
    """The service that a unit describes. Raises Refused for everything that the substitute would not do as it is written."""
    service = Service()
    for section, name, value in _assignments(text):
        if name in _MOOT[section]:
            continue
        if section == "Service" and name in SANDBOX:
            if name not in service.not_applied:
                service.not_applied.append(name)
        elif not _take(service, section, name, value):
            raise Refused(f"{name}= in [{section}]")
    if not service.exec_start or not service.exec_start[0].startswith("/"):
        raise Refused("a service without ExecStart=/a/program")
    if not service.log_file:
        raise Refused("a service that logs to the journal, of which there is none here: set sglang_server_log_file")
    return service
