# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plans an instance: from a look at its host, or without one from what the inventory and a hub say. Reads only.

`params` are those of the module launch_plan.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils import _live_unit as live_unit
from ansible_collections.inference.sglang.plugins.module_utils import _release_files as files
from ansible_collections.inference.sglang.plugins.module_utils import _server_host as host
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._gpus import choose_gpus
from ansible_collections.inference.sglang.plugins.module_utils._launch_plan import launch_plan
from ansible_collections.inference.sglang.plugins.module_utils._listeners import Proc
from ansible_collections.inference.sglang.plugins.module_utils._log_file import check_log_file, normal_log_file
from ansible_collections.inference.sglang.plugins.module_utils._model_files import read_drafter_config, read_model
from ansible_collections.inference.sglang.plugins.module_utils._release import Stamp, Wanted, difference, instance_directory
from ansible_collections.inference.sglang.plugins.module_utils._release_changes import Kept, release_changes
from ansible_collections.inference.sglang.plugins.module_utils._rollout_record import read_rollout
from ansible_collections.inference.sglang.plugins.module_utils._server_plan import (
    HostPlaces,
    ServerWishes,
    build_release,
    name_head_sources,
    readable_paths,
    unfit,
    with_served_name,
)
from ansible_collections.inference.sglang.plugins.module_utils._server_variables import option_faults
from ansible_collections.inference.sglang.plugins.module_utils._staged import staged_environment, staged_model
from ansible_collections.inference.sglang.plugins.module_utils._text_files import file_sha256
from ansible_collections.inference.sglang.plugins.module_utils._unit import unit_name


def _settings(params: Mapping[str, Any]) -> dict[str, Any]:
    """The site's settings with what the role's own variables give; one that stands in both places is refused."""
    faults = option_faults(params["settings"], params["extra_args"], bool(params["api_key_sha256"]))
    if faults:
        raise faults[0]
    settings = {"model_path": params["model_path"], "host": params["host"], "port": params["port"], **params["settings"]}
    return with_served_name(settings, params["served_model_name"], params["model_path"] or "model")


def _derive(
    params: Mapping[str, Any],
    settings: Mapping[str, Any],
    model: Mapping[str, Any],
    gpus: list[dict[str, Any]],
    version: str,
    drafter: Optional[dict[str, Any]] = None,
) -> dict[str, Any]:
    """The core's plan with the true sources of its head, as a part of the result."""
    plan = launch_plan(
        model["config"],
        version,
        gpus,
        hf_quant_config=model["hf_quant_config"],
        weights=model["weights"],
        drafter_config=drafter,
        tensor_parallel_size=params["tensor_parallel_size"] or None,
        settings=settings,
        workload=params["workload"],
        extra_args=params["extra_args"],
        environment=params["environment"],
        allow_unverified_release=params["allow_unverified_release"],
    )
    plan = name_head_sources(plan, params["origins"])
    return {"plan": plan, "predicted": plan["predicted"], "refusal": str(unfit(plan) or "")}


def _given_model(params: Mapping[str, Any]) -> Optional[dict[str, Any]]:
    """What the controller knows of the model."""
    if not params["config"]:
        return None
    return {"config": params["config"], "hf_quant_config": params["hf_quant_config"] or None, "weights": params["weights"] or None}


def _needs_gpus(settings: Mapping[str, Any]) -> bool:
    return str(settings.get("device")) != "cpu"


def plan_without_host(params: Mapping[str, Any]) -> dict[str, Any]:
    """The plan for a host that nobody looks at: nothing of it is known but what the inventory declares."""
    model, settings = _given_model(params), _settings(params)
    if model is None:
        raise SglangError(
            "there is nothing to plan from", found="no config", wanted="a config.json's content", next_step="give the option config"
        )
    gpus = choose_gpus(params["declared_gpus"], tuple(params["gpus"])) if _needs_gpus(settings) else []
    sources = {"model": params["config_source"] or "inventory", "gpus": "inventory", "sglang_version": "inventory"}
    derived = _derive(params, settings, model, gpus, params["sglang_version"])
    return {"changed": False, "planned": True, "complete": False, "missing": [], "sources": sources, **derived}


class HostPlanner:
    """One look at the host and what follows from it."""

    def __init__(self, params: Mapping[str, Any], run: live_unit.RunCommand, warn: Callable[[str], None], check_mode: bool) -> None:
        self.params = dict(params)
        self.run = run
        self.warn = warn
        self.check_mode = check_mode
        self.unit = unit_name(self.params["instance"])
        self.home = instance_directory(self.params["root"], self.params["instance"])
        self.sources: dict[str, str] = {}
        self.missing: list[str] = []
        self.unstaged: list[str] = []

    # ----- gathering -----
    def staged(self) -> None:
        """What the roles before this one would hand on, where the caller says what they would look for instead of running them."""
        params = self.params
        environment, model = params.get("wanted_environment"), params.get("wanted_model")
        if environment:
            found = staged_environment(environment)
            self.unstaged += found.faults
            params["environment_digest"] = found.digest
            if environment["used"] and found.path:
                params["environment_path"] = found.path
        if model:
            found = staged_model(model)
            self.unstaged += found.faults
            params.update(model_revision=found.revision, model_manifest=found.manifest or None)
            if model["used"] and found.path:
                params["model_path"] = found.path
                params["origins"] = {**params["origins"], "model_path": "the role model_shards"}
            if model["named"] and found.repo:
                params["served_model_name"] = found.repo
                params["origins"] = {**params["origins"], "served_model_name": "the role model_shards"}

    def recall(self) -> None:
        """For a plan without the roles before it: what they made the last time is known from the stamp."""
        params = self.params
        accepted = files.read_stamp(self.home, files.ACCEPTED_FILE)
        if params["require_complete"] or accepted is None:
            return
        if not params["environment_digest"] and accepted.environment.get("path") == os.path.realpath(params["environment_path"]):
            params["environment_digest"] = accepted.environment.get("digest", "")
        known = accepted.model
        if params["model_path"] != known.get("path") and not os.path.isdir(params["model_path"]) and os.path.isdir(known.get("path", "")):
            params["model_path"] = known["path"]
            params["origins"] = {**params["origins"], "model_path": "the accepted release"}
        if params["model_path"] == known.get("path") and not params["model_manifest"]:
            params.update(model_revision=known.get("revision", ""), model_manifest=known.get("manifest") or None)

    def environment(self) -> Optional[host.EnvironmentView]:
        """The environment, or a note that it is not there yet."""
        view = host.view_environment(self.params["environment_path"])
        if view is None:
            self.missing.append(f"the Python environment {self.params['environment_path']} is not there")
            self.sources["sglang_version"] = "inventory"
        else:
            self.sources["sglang_version"] = "target"
        return view

    def model(self) -> Optional[dict[str, Any]]:
        """What core's functions want to know of the model: from the host, else what the controller gave."""
        path = self.params["model_path"]
        if path and os.path.isdir(path):
            self.sources["model"] = "target"
            return read_model(path)
        self.missing.append(f"the model {path or '(no path known yet)'} is not there")
        if self.params["config"]:
            self.sources["model"] = self.params["config_source"] or "inventory"
        return _given_model(self.params)

    def gpus(self) -> list[dict[str, Any]]:
        """The instance's GPUs: measured, else declared, and the report says which."""
        measured = host.measure_gpus(self.run)
        self.sources["gpus"] = "target" if measured else "inventory"
        return choose_gpus(measured or self.params["declared_gpus"], tuple(self.params["gpus"]))

    # ----- deriving -----
    def plan(self, model: dict[str, Any], version: str) -> dict[str, Any]:
        """The core's plan for this host."""
        settings = _settings(self.params)
        gpus = self.gpus() if _needs_gpus(settings) else []
        return _derive(self.params, settings, model, gpus, version, read_drafter_config(settings))

    def wishes(self) -> ServerWishes:
        """The role's variables for the unit."""
        params = self.params
        return ServerWishes(
            instance=params["instance"],
            root=params["root"],
            user=params["user"],
            group=params["group"],
            host=params["host"],
            port=params["port"],
            gpus=tuple(str(index) for index in params["gpus"]),
            environment={str(name): str(value) for name, value in params["environment"].items()},
            log_file=normal_log_file(params["log_file"] or ""),
            key_file=f"{self.home}/secrets/api-key" if params["api_key_sha256"] else "",
            read_only_paths=tuple(params["read_only_paths"]),
            read_write_paths=tuple(params["read_write_paths"]),
            stop_timeout=params["stop_timeout"],
            launcher=params["launcher"],
        )

    def places(self, environment: host.EnvironmentView) -> HostPlaces:
        """The resolved places of this host."""
        params = self.params
        model = os.path.normpath(params["model_path"])
        return HostPlaces(
            environment=environment.path,
            python=environment.python,
            environment_digest=params["environment_digest"] or environment.sglang_version,
            sglang_version=environment.sglang_version,
            model=model,
            model_revision=params["model_revision"],
            model_manifest=params["model_manifest"] or "",
            model_digest=host.manifest_digest(params["model_manifest"] or ""),
            readable=tuple(sorted({*environment.readable, *host.model_places(model)})),
            nvidia_modprobe=host.nvidia_modprobe(),
        )

    def user_exists(self) -> bool:
        """Whether the service account is there; it is not on a first run in check mode."""
        try:
            pwd.getpwnam(self.params["user"])
        except KeyError:
            return False
        return True

    def active(self) -> bool:
        """Whether the instance's unit runs; a machine without systemd has none."""
        try:
            return live_unit.view_unit(self.unit, self.run).active == "active"
        except OSError:
            return False

    def key_changes(self, wishes: ServerWishes) -> bool:
        """Whether the key on the host is another one than the wanted."""
        return bool(wishes.key_file) and file_sha256(wishes.key_file) != self.params["api_key_sha256"]

    def check_log_file(self, path: str) -> None:
        """Refuse a log file that systemd cannot append to; in check mode its directory may be about to be made."""
        try:
            if path:
                check_log_file(path)
        except SglangError as error:
            if not self.check_mode:
                raise
            self.warn(str(error))

    def compare(self, release: dict[str, Any], wishes: ServerWishes) -> dict[str, Any]:
        """The difference between wanted, accepted and live."""
        accepted = files.read_stamp(self.home, files.ACCEPTED_FILE)
        live = live_unit.view_live(self.unit, f"{release['directory']}/launcher.py", wishes.key_file, self.run)
        record = release["record"]
        damage = files.damage_of(release["directory"], self.unit, record["unit_sha256"])
        live = replace(live, amiss=(*live.amiss, *damage))
        wanted = Wanted(
            id=release["id"],
            unit_sha256=record["unit_sha256"],
            launcher_sha256=record["launcher_sha256"],
            wants_key=bool(wishes.key_file),
            key_changes=self.key_changes(wishes),
        )
        found = difference(wanted, accepted, live)
        return {
            "restart": found.restart,
            "enable": found.enable,
            "converged": found.converged,
            "reasons": list(found.reasons),
            "changes": self.changes(release, accepted),
            "live": asdict(live),
        }

    def changes(self, release: dict[str, Any], accepted: Optional[Stamp]) -> list[str]:
        """What the wanted release has other than the accepted one, as far as that is kept."""
        if accepted is None or accepted.id == release["id"]:
            return []
        try:
            before = files.read_kept(self.home, accepted.id, self.unit)
        except SglangError:
            return []  # nothing is told of what cannot be read; whoever needs it says why
        return release_changes(before, Kept(release["record"], release["unit"]))

    def result(self) -> dict[str, Any]:
        """Everything in order; each refusal is an SglangError."""
        lenient = self.check_mode or not self.params["require_complete"]
        self.staged()
        self.recall()
        wishes = self.wishes()
        accepted = files.read_stamp(self.home, files.ACCEPTED_FILE)
        environment, model = self.environment(), self.model()
        rollout = read_rollout(self.home)
        result: dict[str, Any] = {
            "changed": False,
            "planned": model is not None,
            "complete": False,
            "missing": self.missing,
            "unstaged": self.unstaged,
            "rollout": rollout.shown(),
            "out": rollout.out,
            "active": self.active(),
            "sources": self.sources,
            "accepted": dict(accepted.__dict__) if accepted else None,
            "port_holders": live_unit.port_holders(self.params["port"], self.unit, Proc(), self.run),
            "user_exists": self.user_exists(),
            "key_changes": self.key_changes(wishes),
        }
        if self.missing and not lenient:
            raise SglangError(
                "the host is not ready for the server",
                found="; ".join(self.missing),
                wanted="the environment and the model on the host",
                next_step="run the roles ml_env and model_shards first, or set sglang_server_environment_path and sglang_server_model_path",
            )
        if model is None:
            return result
        result.update(self.plan(model, environment.sglang_version if environment else self.params["sglang_version"]))
        plan = result["plan"]
        refused = unfit(plan)
        if refused is not None and self.params["require_complete"]:
            raise refused
        if environment is None or self.missing:
            return result
        self.check_log_file(wishes.log_file)
        places = self.places(environment)
        host.check_readable(
            wishes.user, wishes.group, readable_paths(wishes, places, host.model_files(places.model), [str(word) for word in plan["argv"]])
        )
        release = build_release(plan, wishes, places)
        result.update(complete=True, release=release, difference=self.compare(release, wishes))
        return result
