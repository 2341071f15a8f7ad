# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The files of a watch: two systemd units, its settings, and the program, one archive of this collection's own prober. No I/O."""

from __future__ import annotations

import ast
import importlib
import io
import json
import zipfile
from dataclasses import dataclass

from ansible_collections.inference.sglang.plugins.module_utils._unit import (
    HOME_ROOTS,
    exec_word,
    is_below,
    path_line,
    path_word,
    unit_name,
)
from ansible_collections.inference.sglang.plugins.module_utils._watch_program import RESULT

PACKAGE = "ansible_collections.inference.sglang.plugins.module_utils"
PROGRAM = "_watch_program"
MAIN = f"import sys\n\nfrom {PACKAGE}.{PROGRAM} import main\n\nsys.exit(main(sys.argv[1:]))\n"
# Files of the same content shall be the same bytes.
_DATE = (2026, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Watch:
    """What the role's variables say of a watch."""

    instance: str
    home: str
    user: str
    group: str
    python: str
    key_file: str
    question: str
    expect: str
    min_accept_length: float
    request_timeout: int
    start_timeout: int
    interval: int

    @property
    def directory(self) -> str:
        """Where its files are; root's, but for the place of the result."""
        return f"{self.home}/watch"

    @property
    def result_directory(self) -> str:
        """The one place that the service user writes to."""
        return f"{self.directory}/{RESULT.partition('/')[0]}"


def watch_unit(instance: str, kind: str) -> str:
    """Not `sglang-<instance>-watch`: that can be an instance's own unit."""
    unit_name(instance)
    return f"inference-sglang-watch-{instance}.{kind}"


def needed_modules() -> dict[str, str]:
    """The program's module and all of the collection that it imports, by name with their source, wherever this runs from."""
    sources: dict[str, str] = {}
    waiting = [PROGRAM]
    while waiting:
        name = waiting.pop()
        if name in sources:
            continue
        module = importlib.import_module(f"{PACKAGE}.{name}")
        spec = module.__spec__
        loader = spec.loader if spec is not None else None
        sources[name] = loader.get_source(module.__name__)  # type: ignore[union-attr]  # every loader of source has it
        for node in ast.walk(ast.parse(sources[name])):
            if isinstance(node, ast.ImportFrom) and node.module == PACKAGE:
                waiting += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and str(node.module).startswith(f"{PACKAGE}."):
                waiting.append(str(node.module).rpartition(".")[2])
    return sources


def program() -> bytes:
    """An archive that any Python of at least 3.9 runs."""
    buffer = io.BytesIO()
    parts = PACKAGE.split(".")
    files = {"/".join([*parts[:depth], "__init__.py"]): "" for depth in range(1, len(parts) + 1)}
    files.update({f"{'/'.join(parts)}/{name}.py": source for name, source in needed_modules().items()})
    files["__main__.py"] = MAIN
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name, _DATE), files[name])
    return buffer.getvalue()


def settings(watch: Watch) -> str:
    """For the program."""
    kept = ("home", "question", "expect", "min_accept_length", "request_timeout", "start_timeout")
    return json.dumps({name: getattr(watch, name) for name in kept}, indent=2) + "\n"


def service(watch: Watch) -> str:
    """One look. systemd skips it while the server is stopped, which is no failure."""
    unit = unit_name(watch.instance)
    shown = any(is_below(path, HOME_ROOTS) for path in (watch.python, watch.home))
    command = [watch.python, f"{watch.directory}/watch.pyz", f"{watch.directory}/settings.json"]
    lines = [
        f"# Written by the Ansible collection inference.sglang to watch {unit}; changes are overwritten.",
        "[Unit]",
        f"Description=Light probe of {unit}",
        f"After={unit}",
        "",
        "[Service]",
        "Type=oneshot",
        f"ExecCondition=+/usr/bin/systemctl is-active --quiet {unit}",
        "ExecStart=" + " ".join(exec_word(word) for word in command),
        f"User={watch.user}",
        f"Group={watch.group}",
        f"SyslogIdentifier=sglang-{watch.instance}-watch",
        f"TimeoutStartSec={3 * watch.request_timeout + 30}",
        *([f"LoadCredential=api-key:{path_line(watch.key_file, 'the API key file')}"] if watch.key_file else []),
        "UMask=0022",
        "NoNewPrivileges=yes",
        "CapabilityBoundingSet=",
        "ProtectSystem=strict",
        f"ReadWritePaths={path_word(watch.result_directory)}",
        *([] if shown else ["ProtectHome=yes"]),
        "PrivateTmp=yes",
        "PrivateDevices=yes",
        "ProtectKernelTunables=yes",
        "ProtectControlGroups=yes",
        "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6",
        "RestrictNamespaces=yes",
        "LockPersonality=yes",
        "MemoryMax=256M",
    ]
    return "\n".join(lines) + "\n"


def timer(watch: Watch) -> str:
    """A look every so often, counted from the end of the one before: looks never pile up."""
    return (
        f"# Written by the Ansible collection inference.sglang to watch {unit_name(watch.instance)}; changes are overwritten.\n"
        f"[Unit]\nDescription=Watch of {unit_name(watch.instance)}\n\n"
        f"[Timer]\nOnActiveSec={watch.interval}\nOnUnitInactiveSec={watch.interval}\nAccuracySec=1\n\n[Install]\nWantedBy=timers.target\n"
    )


def watch_files(watch: Watch, units: str) -> dict[str, bytes]:
    """Every file of the watch by its path."""
    return {
        f"{watch.directory}/watch.pyz": program(),
        f"{watch.directory}/settings.json": settings(watch).encode(),
        f"{units}/{watch_unit(watch.instance, 'service')}": service(watch).encode(),
        f"{units}/{watch_unit(watch.instance, 'timer')}": timer(watch).encode(),
    }
