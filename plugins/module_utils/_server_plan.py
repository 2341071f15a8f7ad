# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""From a launch plan and the places on the host to a release: unit, files, id. Pure."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._plan_reality import planned_figures
from ansible_collections.inference.sglang.plugins.module_utils._release import (
    RELEASE_PLACEHOLDER,
    ReleaseParts,
    release_directory,
    release_id,
    sha256_text,
)
from ansible_collections.inference.sglang.plugins.module_utils._unit import (
    UnitPaths,
    UnitRequest,
    render_unit,
    unit_environment,
    unit_name,
)

# Addresses to listen on everywhere; to ask the server, one must be named.
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}


@dataclass(frozen=True)
class ServerWishes:
    """What the role's variables say of the server."""

    instance: str
    root: str
    user: str
    group: str
    host: str
    port: int
    gpus: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    log_file: str = ""
    key_file: str = ""
    read_only_paths: tuple[str, ...] = ()
    read_write_paths: tuple[str, ...] = ()
    stop_timeout: int = 180
    launcher: str = ""


@dataclass(frozen=True)
class HostPlaces:
    """What was found on the host, resolved."""

    environment: str
    python: str
    environment_digest: str
    sglang_version: str
    model: str
    model_revision: str
    model_digest: str
    model_manifest: str = ""
    readable: tuple[str, ...] = ()
    nvidia_modprobe: str = ""


def url_of(host: str, port: int) -> str:
    """Where the host itself reaches the server."""
    address = _EVERYWHERE.get(host, host)
    return f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"


def paths_in_arguments(argv: Sequence[str]) -> tuple[str, ...]:
    """Absolute paths that the arguments name: a drafter, a chat template, a tokenizer."""
    found = set()
    for word in argv:
        value = word.split("=", 1)[1] if word.startswith("--") and "=" in word else word
        if value.startswith("/") and "\n" not in value:
            found.add(value.rstrip("/") or "/")
    return tuple(sorted(found))


def option_of(argv: Sequence[str], *names: str) -> str:
    """The value of an option in the arguments, as the engine takes it: the last one counts."""
    value = ""
    for index, word in enumerate(argv):
        if word in names and index + 1 < len(argv):
            value = argv[index + 1]
        elif "=" in word and word.split("=", 1)[0] in names:
            value = word.split("=", 1)[1]
    return value


def uses_gpu(argv: Sequence[str]) -> bool:
    """Whether the engine runs on GPUs: SGLang's own switch says."""
    return option_of(argv, "--device") != "cpu"


def unit_request(plan: Mapping[str, Any], wishes: ServerWishes, places: HostPlaces, release: str) -> UnitRequest:
    """What the unit is rendered from."""
    argv = tuple(str(word) for word in plan["argv"])
    named = tuple(path for path in paths_in_arguments(argv) if path != places.model)
    return UnitRequest(
        instance=wishes.instance,
        description=f"SGLang {places.sglang_version} serving {option_of(argv, '--served-model-name') or places.model} ({wishes.instance})",
        user=wishes.user,
        group=wishes.group,
        paths=UnitPaths(
            environment=places.environment,
            python=places.python,
            release=release,
            model=places.model,
            readable=tuple(sorted({*places.readable, *named, *wishes.read_only_paths})),
            writable=wishes.read_write_paths,
            log_file=wishes.log_file,
            key_file=wishes.key_file,
            nvidia_modprobe=places.nvidia_modprobe,
        ),
        argv=argv,
        environment={**{k: str(v) for k, v in plan.get("env", {}).items()}, **wishes.environment},
        uses_gpu=uses_gpu(argv),
        gpus=wishes.gpus,
        port=wishes.port,
        stop_timeout=wishes.stop_timeout,
    )


def build_release(plan: Mapping[str, Any], wishes: ServerWishes, places: HostPlaces) -> dict[str, Any]:
    """The release: its id, its directory, the unit and every file of it."""
    request = unit_request(plan, wishes, places, RELEASE_PLACEHOLDER)
    identifier = release_id(
        ReleaseParts(
            environment_digest=places.environment_digest,
            # A digest of the content says more than the revision, and stays the same when an adopted copy gets its revision later.
            model_revision="" if places.model_digest else places.model_revision,
            unit_template=render_unit(request),
            launcher=wishes.launcher,
            weights=places.model_digest,
        )
    )
    directory = release_directory(wishes.root, wishes.instance, identifier)
    request = unit_request(plan, wishes, places, directory)
    unit, name = render_unit(request), unit_name(wishes.instance)
    argv = list(request.argv)
    dummy = option_of(argv, "--load-format") == "dummy"
    record = {
        "format": 1,
        "id": identifier,
        "instance": wishes.instance,
        "unit": name,
        "unit_sha256": sha256_text(unit),
        "launcher_sha256": sha256_text(wishes.launcher),
        "environment": {"path": places.environment, "digest": places.environment_digest, "sglang_version": places.sglang_version},
        "model": {
            "path": places.model,
            "revision": places.model_revision,
            "manifest": places.model_manifest,
            "digest": places.model_digest,
            # In the stamp, too: such a server answers nonsense, and nobody shall take it for an accepted model.
            **({"weights": "dummy"} if dummy else {}),
        },
        "serving": {
            "url": url_of(wishes.host, wishes.port),
            "port": wishes.port,
            "model": option_of(argv, "--served-model-name") or places.model,
            "log_file": wishes.log_file,
            "key_file": wishes.key_file,
            "uses_gpu": request.uses_gpu,
            "gpus": list(wishes.gpus),
            "gate": dict(plan.get("gate", {})),
            "planned": planned_figures(plan),
            "speculative": bool((plan.get("speculative") or {}).get("enabled")),
            "dummy_weights": dummy,
            "reasoning": bool(option_of(argv, "--reasoning-parser")),
            "tools": bool(option_of(argv, "--tool-call-parser")),
            "argv": argv,
        },
    }
    files = {
        "release.json": json.dumps(record, indent=2, sort_keys=True) + "\n",
        "plan.json": json.dumps(plan, indent=2, sort_keys=True, default=str) + "\n",
        name: unit,
        "launcher.py": wishes.launcher,
    }
    return {
        "id": identifier,
        "directory": directory,
        "unit_name": name,
        "unit": unit,
        "environment": unit_environment(request),
        "user": wishes.user,
        "group": wishes.group,
        "python": places.python,
        "record": record,
        "files": files,
    }


def readable_paths(wishes: ServerWishes, places: HostPlaces, model_files: Sequence[str], argv: Sequence[str]) -> list[str]:
    """What the service user must be able to read for the engine to start."""
    return sorted({places.environment, places.python, *places.readable, *model_files, *paths_in_arguments(argv), *wishes.read_only_paths})


def with_served_name(settings: Mapping[str, Any], name: str, model: str) -> dict[str, Any]:
    """A name to serve the model under, unless the site gave one: the repository's, else the directory's."""
    named = dict(settings)
    # SGLang refuses a colon in it (0.5.11 server_args.py, check_server_args).
    named.setdefault("served_model_name", (name or os.path.basename(model.rstrip("/"))).replace(":", "-"))
    return named


def unfit(plan: Mapping[str, Any]) -> Optional[SglangError]:
    """Why a plan does not fit, with the nearest settings that do; None where it fits, or where that cannot be known."""
    memory = plan.get("memory") or {}
    if memory.get("fits") is not False:
        return None
    alternatives = [str(item.get("text", item)) if isinstance(item, Mapping) else str(item) for item in memory.get("alternatives") or []]
    cards = ", ".join(f"{gpu['name']} with {gpu['memory_mib']} MiB" for gpu in plan.get("gpus", []))
    return SglangError(
        "the model does not fit on the instance's GPUs with these settings",
        found=f"{memory.get('why', 'no room')}; {cards}",
        wanted="weights, state and KV cache for one request at least",
        next_step="; or ".join(alternatives) or "more or larger GPUs, a smaller model, or a quantised one",
    )


# What gives the head of the command, where the caller does not know it better.
_HEAD_REASONS = {
    "--model-path": ("where the model lies", "sglang_server_model_path"),
    "--served-model-name": ("the name that clients ask for", "sglang_server_served_model_name"),
    "--host": ("where it listens", "sglang_server_host"),
    "--port": ("where it listens", "sglang_server_port"),
}


def name_head_sources(plan: Mapping[str, Any], origins: Mapping[str, str]) -> dict[str, Any]:
    """The plan with the variable that gave each part of the command's head; `origins` by key, such as model_path."""
    reasons = []
    for reason in plan.get("reasons", []):
        flag = str(reason.get("flag"))
        if flag in _HEAD_REASONS:
            why, source = _HEAD_REASONS[flag]
            reason = {**reason, "why": why, "source": str(origins.get(flag[2:].replace("-", "_")) or source)}
        reasons.append(reason)
    return {**plan, "reasons": reasons}
