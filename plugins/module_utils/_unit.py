# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The systemd unit of one instance: a pure function of the plan and of the real paths of the host.

The sandbox is derived from the paths, not the other way round: what lies under /home or /root is shown to the engine
read-only, and what no sandbox of ours can show (a private /tmp hides the host's) is refused before anything is touched.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Optional

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._scrub import holds_secret, is_secret_variable

# PrivateTmp= hides the first two; the engine's own /dev, /proc, /sys and /run/user are not places for files that last.
HIDDEN_ROOTS = ("/tmp", "/var/tmp", "/dev", "/proc", "/sys", "/run/user", "/run/credentials")
HOME_ROOTS = ("/home", "/root")
CACHE_ROOT = "/var/cache/sglang"
# systemd's own, by which the launcher finds the key and the gate finds the start.
_SYSTEMD_VARIABLES = ("CREDENTIALS_DIRECTORY", "INVOCATION_ID")
# Names as systemd takes them, without what has a meaning in a unit (% and blanks).
_ACCOUNT = re.compile(r"[A-Za-z_][A-Za-z0-9_.@-]{0,255}")
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_@./:,=+^-]+")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_INSTANCE = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,46}[a-z0-9])?")


@dataclass(frozen=True)
class UnitPaths:
    """Where things are on the host. Every path is absolute; `python` is what the unit starts."""

    environment: str
    python: str
    release: str
    model: str
    # Resolved places that the engine reads as well: the interpreter's own installation, the targets of linked shards,
    # files named in the arguments (a chat template, a drafter).
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    log_file: str = ""
    key_file: str = ""
    nvidia_modprobe: str = ""


@dataclass(frozen=True)
class UnitRequest:
    """Everything that the unit's text depends on."""

    instance: str
    description: str
    user: str
    group: str
    paths: UnitPaths
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    uses_gpu: bool = True
    gpus: tuple[str, ...] = ()
    port: int = 30000
    stop_timeout: int = 180


def unit_name(instance: str) -> str:
    """The unit's name; an instance name that would escape its directory or break a unit name is refused."""
    if not _INSTANCE.fullmatch(instance):
        raise SglangError(
            "the instance name cannot name a unit",
            found=repr(instance),
            wanted="lower-case letters, digits, - and _, at most 48, starting and ending with a letter or digit",
            next_step="set sglang_server_instance to such a name",
        )
    return f"sglang-{instance}.service"


def cache_directory(instance: str) -> str:
    """The instance's own writable place, made by systemd's CacheDirectory=."""
    return f"{CACHE_ROOT}/{instance}"


def is_below(path: str, roots: Iterable[str]) -> bool:
    """Whether the path is one of the roots or lies below one."""
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)


def _outermost(paths: Iterable[str]) -> list[str]:
    """Sorted, without duplicates and without what lies below another one of them."""
    kept: list[str] = []
    for path in sorted(set(paths)):
        if not is_below(path, kept):
            kept.append(path)
    return kept


# ----- quoting -----
def _refuse_control(text: str, what: str, allowed: str = "") -> None:
    # A lone surrogate is a byte that was no UTF-8: it cannot be written.
    bad = sorted({c for c in text if (ord(c) < 32 or ord(c) == 127 or 0xD800 <= ord(c) <= 0xDFFF) and c not in allowed})
    if bad:
        raise SglangError(
            f"{what} holds a control character that a unit cannot hold",
            found=repr(text),
            wanted="printable text",
            next_step="remove " + ", ".join(repr(c) for c in bad),
        )


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


def exec_word(text: str) -> str:
    """One argument of ExecStart=: systemd's specifiers (%), variables ($), quotes and a lone ; lose their meaning."""
    _refuse_control(text, "an argument of the engine", "\n\t")
    word = text.replace("%", "%%").replace("$", "$$")
    return word if _PLAIN_WORD.fullmatch(text) else _quoted(word)


def environment_line(name: str, value: str) -> str:
    """One Environment= line; $ has no meaning there, % has."""
    if not _ENV_NAME.fullmatch(name):
        raise SglangError("not a name of an environment variable", found=repr(name), wanted="letters, digits and _")
    _refuse_control(value, f"the environment variable {name}", "\n\t")
    return "Environment=" + _quoted(f"{name}={value}".replace("%", "%%"))


def path_word(path: str) -> str:
    """A path in a directive that takes a list of paths."""
    _refuse_control(path, "a path")
    word = path.replace("%", "%%")
    return word if _PLAIN_WORD.fullmatch(path) and ":" not in path else _quoted(word)


def path_line(path: str, what: str) -> str:
    """A path that fills the rest of its line: systemd knows no quotes there, so some paths cannot be said."""
    _refuse_control(path, what)
    if path != path.strip() or path.endswith("\\"):
        raise SglangError(f"{what} cannot be written in a unit", found=repr(path), wanted="no blank or \\ at its end")
    return path.replace("%", "%%")


# ----- paths -----
def check_paths(request: UnitRequest) -> None:
    """Refuse what the sandbox would hide, and relative paths, with the setting to change."""
    paths = request.paths
    named = [
        ("the environment", paths.environment, "ml_env_root or ml_env_link"),
        ("the environment's interpreter", paths.python, "ml_env_python"),
        ("the release directory", paths.release, "sglang_server_root"),
        ("the model", paths.model, "sglang_server_model_path or model_shards_root"),
    ]
    named += [("a path that the engine reads", path, "sglang_server_settings, or move the file") for path in paths.readable]
    named += [("a path that the engine writes", path, "sglang_server_read_write_paths") for path in paths.writable]
    for what, path, setting in named:
        if not path.startswith("/"):
            raise SglangError(f"{what} is no absolute path", found=path, wanted="an absolute path", next_step=f"change {setting}")
        if is_below(posixpath.normpath(path), HIDDEN_ROOTS):
            raise SglangError(
                f"the unit's sandbox would hide {what}",
                found=path,
                wanted="a place outside " + ", ".join(HIDDEN_ROOTS),
                next_step=f"move it and change {setting}",
            )
    for what, path in (("the log file", paths.log_file), ("the API key file", paths.key_file)):
        if path and not path.startswith("/"):
            raise SglangError(f"{what} is no absolute path", found=path, wanted="an absolute path")


def check_account(request: UnitRequest) -> None:
    """User= and Group= fill the rest of their lines and know no quotes: only plain names."""
    for name, value in (("sglang_server_user", request.user), ("sglang_server_group", request.group)):
        if not _ACCOUNT.fullmatch(value):
            raise SglangError(
                f"{name} is no name of an account",
                found=repr(value),
                wanted="letters, digits, and . _ @ -",
                next_step=f"set {name} to a name that the host knows",
            )
    if request.stop_timeout < 1:
        raise SglangError(
            "sglang_server_stop_timeout gives the server no time",
            found=str(request.stop_timeout),
            wanted="1 second or more",
            next_step="set sglang_server_stop_timeout to what a request may take",
        )


def check_environment(environment: Mapping[str, str]) -> None:
    """Secrets do not belong in a unit, whose environment every user of the host can read, and systemd's own variables are its own."""
    where = "sglang_server_environment"
    for name, value in sorted(environment.items()):
        if name in _SYSTEMD_VARIABLES:
            raise SglangError(f"{name} is systemd's own", f"{name} in {where}", "no such variable", f"remove {name} from {where}")
        secret = "" if not is_secret_variable(name) else name
        if not secret and holds_secret(value):
            secret = f"the secret in {name}"
        if secret:
            raise SglangError(
                f"{secret} would stand in the unit, where every user of the host can read it",
                found=f"{name} in {where}",
                wanted="no secret in the environment",
                next_step="use sglang_server_api_key for the engine's key; a hub token is not needed to serve (HF_HUB_OFFLINE=1)",
            )


# ----- the text -----
def unit_environment(request: UnitRequest) -> dict[str, str]:
    """The engine's whole environment, ours first so that a site's own setting wins."""
    cache = cache_directory(request.instance)
    environment = {
        "HOME": cache,
        "XDG_CACHE_HOME": f"{cache}/xdg",
        "HF_HOME": f"{cache}/huggingface",
        "TRITON_CACHE_DIR": f"{cache}/triton",
        "TORCHINDUCTOR_CACHE_DIR": f"{cache}/torchinductor",
        "FLASHINFER_WORKSPACE_BASE": f"{cache}/flashinfer",
        "SGLANG_CACHE_DIR": f"{cache}/sglang",
        "SGLANG_DG_CACHE_DIR": f"{cache}/deep_gemm",
        "CUDA_CACHE_PATH": f"{cache}/cuda",
        "NUMBA_CACHE_DIR": f"{cache}/numba",
        "HF_HUB_OFFLINE": "1",
        "PYTHONUNBUFFERED": "1",
        "VIRTUAL_ENV": request.paths.environment,
        "PATH": f"{request.paths.environment}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    }
    if request.uses_gpu:
        # The order that nvidia-smi counts in, so that an index means the same card to both.
        environment["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
        if request.gpus:
            environment["CUDA_VISIBLE_DEVICES"] = ",".join(request.gpus)
    environment.update(request.environment)
    return environment


def exec_argv(request: UnitRequest) -> list[str]:
    """What systemd runs: the launcher of the release, in the environment's Python."""
    return [request.paths.python, f"{request.paths.release}/launcher.py", *request.argv]


def _unit_section(request: UnitRequest) -> list[str]:
    paths = request.paths
    mounts = _outermost([paths.environment, paths.release, paths.model, *paths.readable, *paths.writable])
    return [
        "[Unit]",
        f"Description={path_line(request.description, 'the description')}",
        "Wants=network-online.target",
        "After=network-online.target nvidia-persistenced.service" if request.uses_gpu else "After=network-online.target",
        "RequiresMountsFor=" + " ".join(path_word(path) for path in mounts),
        # Five failed starts in half an hour and systemd stops trying: a start takes minutes, a shorter window never fills.
        "StartLimitIntervalSec=1800",
        "StartLimitBurst=5",
    ]


def _sandbox(request: UnitRequest) -> list[str]:
    paths = request.paths
    shown = _outermost(
        path for path in (paths.environment, paths.python, paths.release, paths.model, *paths.readable) if is_below(path, HOME_ROOTS)
    )
    capability = "CAP_NET_BIND_SERVICE" if request.port < 1024 else ""
    lines = [
        "UMask=0077",
        "NoNewPrivileges=yes",
        f"CapabilityBoundingSet={capability}",
        f"AmbientCapabilities={capability}",
        "ProtectSystem=strict",
        "ProtectHome=tmpfs",
        "PrivateTmp=yes",
        "ProtectKernelTunables=yes",
        "ProtectKernelModules=yes",
        "ProtectKernelLogs=yes",
        "ProtectControlGroups=yes",
        "ProtectClock=yes",
        "ProtectHostname=yes",
        "LockPersonality=yes",
        "RestrictRealtime=yes",
        "RestrictNamespaces=yes",
        "RestrictSUIDSGID=yes",
        # Netlink: NCCL and gloo list the network interfaces.
        "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK",
        "SystemCallArchitectures=native",
    ]
    if shown:
        lines.append("BindReadOnlyPaths=" + " ".join(path_word(path) for path in shown))
    if paths.writable:
        lines.append("ReadWritePaths=" + " ".join(path_word(path) for path in _outermost(paths.writable)))
    if request.uses_gpu:
        # PrivateDevices=yes would hide /dev/nvidia*. Majors are looked up by name: nvidia-uvm's is not a fixed number.
        lines += ["DevicePolicy=closed", "DeviceAllow=char-nvidia* rwm", "DeviceAllow=char-infiniband* rw"]
    else:
        lines.append("PrivateDevices=yes")
    return lines


def _service_section(request: UnitRequest) -> list[str]:
    paths = request.paths
    lines = [
        "[Service]",
        "Type=exec",
        f"User={request.user}",
        f"Group={request.group}",
    ]
    if request.uses_gpu and paths.nvidia_modprobe:
        # The engine may not gain privileges, so it cannot load nvidia-uvm itself after a boot.
        lines.append(f"ExecStartPre=-+{exec_word(paths.nvidia_modprobe)} -u -c 0")
    lines += [
        "ExecStart=" + " ".join(exec_word(word) for word in exec_argv(request)),
        f"WorkingDirectory={cache_directory(request.instance)}",
        *(environment_line(name, value) for name, value in sorted(unit_environment(request).items())),
    ]
    if paths.key_file:
        lines.append(f"LoadCredential=api-key:{path_line(paths.key_file, 'the API key file')}")
    if paths.log_file:
        lines.append(f"StandardOutput=append:{path_line(paths.log_file, 'the log file')}")
        lines.append("StandardError=inherit")
    lines += [
        f"SyslogIdentifier=sglang-{request.instance}",
        # The gate reads the journal: journald must not drop the line that it waits for.
        "LogRateLimitIntervalSec=0",
        f"CacheDirectory=sglang/{request.instance}",
        "CacheDirectoryMode=0750",
        # SIGTERM to the launcher alone: the schedulers must go on while it drains.
        "KillMode=mixed",
        f"TimeoutStopSec={request.stop_timeout}",
        # The launcher's exit status is honest (0 only for a stop that was asked for), so on-failure sees every crash.
        "Restart=on-failure",
        "RestartSec=10",
        "LimitNOFILE=1048576",
        "LimitMEMLOCK=infinity",
        "LimitSTACK=67108864:infinity",
        # A core of the engine holds prompts and keys, and is as large as its memory.
        "LimitCORE=0",
        "TasksMax=infinity",
    ]
    return lines + _sandbox(request)


def render_unit(request: UnitRequest) -> str:
    """The unit's text. Raises SglangError for what cannot be said in a unit or would not work in its sandbox."""
    unit_name(request.instance)
    check_account(request)
    check_paths(request)
    check_environment(request.environment)
    header = [f"# Written by the Ansible collection inference.sglang for the instance {request.instance}; changes are overwritten."]
    install = ["[Install]", "WantedBy=multi-user.target"]
    sections = ["\n".join(part) for part in (header, _unit_section(request), _service_section(request), install)]
    return "\n\n".join(sections) + "\n"


def interpreter_places(python: str, real_python: str, base_prefix: Optional[str]) -> tuple[str, ...]:
    """What a virtual environment's interpreter needs from outside the environment: its own installation."""
    places = {real_python.rsplit("/", 1)[0] or "/"}
    if base_prefix:
        places.add(base_prefix)
    # What the distribution installs is visible in every sandbox.
    elsewhere = (place for place in places if place != "/" and not is_below(place, ("/usr", "/bin", "/lib")))
    return tuple(sorted(place for place in elsewhere if not python.startswith(place.rstrip("/") + "/")))
