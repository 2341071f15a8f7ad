#!/usr/bin/python
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plans an instance on its host and compares the plan with what was accepted there."""

from __future__ import annotations

DOCUMENTATION = r"""
module: launch_plan
short_description: Plan an SGLang instance on its host and compare it with the accepted release
version_added: "0.1.0"
description:
  - Gathers on the host what a launch depends on (the model's config.json and shard headers, the GPUs, the Python environment,
    the real paths), derives the command with a reason for every flag, renders the systemd unit, and tells how the result
    differs from the release that was accepted and from what runs.
  - It changes nothing. This one call tells a converged host from one that needs work.
options:
  instance:
    description: The instance's name.
    type: str
    default: default
  root:
    description: Root of the collection's files on the host.
    type: path
    default: /opt/sglang
  user:
    description: The user that the engine runs as.
    type: str
    default: sglang
  group:
    description: The group that the engine runs as.
    type: str
    default: sglang
  environment_path:
    description: The Python environment, or a link to it.
    type: path
    required: true
  environment_digest:
    description: What tells this environment from others; empty means the version of SGLang in it.
    type: str
    default: ""
  sglang_version:
    description: The release to plan for while there is no environment yet. An environment's own release counts otherwise.
    type: str
    default: ""
  model_path:
    description: The model's directory; empty while it is not known.
    type: path
    default: ""
  model_revision:
    description: The model's revision.
    type: str
    default: ""
  model_manifest:
    description: The manifest beside the model; the digest of the content that it lists is part of the release.
    type: path
  served_model_name:
    description: Name that clients ask for; empty means the directory's name.
    type: str
    default: ""
  config:
    description: The content of a config.json from elsewhere, used where the host has none.
    type: dict
    default: {}
  hf_quant_config:
    description: The content of a hf_quant_config.json that belongs to O(config).
    type: dict
    default: {}
  config_source:
    description: Where O(config) is from, for the report.
    type: str
    default: ""
  host:
    description: Address to listen on.
    type: str
    default: 127.0.0.1
  port:
    description: Port to listen on.
    type: int
    default: 30000
  api_key_sha256:
    description:
      - SHA-256 of the engine's key; it is compared with that of the key on the host. Not the key itself, as Ansible blanks a secret
        out of whatever a module returns, and a short key would take pieces out of the unit.
    type: str
  gpus:
    description: Indices of the instance's GPUs; empty means all.
    type: list
    elements: int
    default: []
  declared_gpus:
    description: GPUs as the inventory declares them, used where nvidia-smi shows none.
    type: list
    elements: dict
    default: []
  tensor_parallel_size:
    description: GPUs that one copy of the model is spread over; 0 means derived.
    type: int
    default: 0
  settings:
    description: SGLang's options by their own names with underscores.
    type: dict
    default: {}
  workload:
    description: What the server must carry.
    type: dict
    default: {}
  extra_args:
    description: More arguments for the engine.
    type: list
    elements: str
    default: []
  environment:
    description: More environment variables for the unit.
    type: dict
    default: {}
  log_file:
    description: A file for the engine's output; without it the journal.
    type: path
  read_only_paths:
    description: More paths that the engine reads.
    type: list
    elements: path
    default: []
  read_write_paths:
    description: More paths that the engine writes.
    type: list
    elements: path
    default: []
  stop_timeout:
    description: Seconds that a stopping server may take.
    type: int
    default: 180
  launcher:
    description: The text of the program that starts the engine.
    type: str
    default: ""
  allow_unverified_release:
    description: Plan for a release whose parser was never asked about such plans, or that is newer than the table, all the same.
    type: bool
    default: false
  require_complete:
    description:
      - Fail where the environment or the model is missing, or where the plan does not fit. Off, the plan is made as far as it can be.
      - In check mode a missing environment or model is never an error, as an earlier role would have made it.
    type: bool
    default: true
extends_documentation_fragment: [action_common_attributes]
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
    details: It changes nothing; M(inference.sglang.server_release) shows the difference when it stages the release.
  platform:
    platforms: linux
    support: full
author:
  - inference.sglang maintainers (@inference-sglang)
"""

EXAMPLES = r"""
- name: Plan the launch
  inference.sglang.launch_plan:
    environment_path: /opt/sglang/ml-env
    model_path: "{{ model_shards_published.path }}"
  register: planned
"""

RETURN = r"""
planned:
  description: Whether there is a plan at all; without any config.json there is none.
  type: bool
  returned: success
complete:
  description: Whether the host has all that the release needs, so that RV(release) is there.
  type: bool
  returned: success
missing:
  description: What keeps it from being complete.
  type: list
  elements: str
  returned: success
plan:
  description: The launch plan, as the filter of the same name returns it.
  type: dict
  returned: when planned
release:
  description: The release's id, directory, unit, environment and files.
  type: dict
  returned: when complete
difference:
  description: Whether the server must be restarted or only enabled, and every reason.
  type: dict
  returned: when complete
predicted:
  description: Settings as the engine should resolve them.
  type: dict
  returned: when planned
sources:
  description: Where the model's facts, the GPUs' and the release are from.
  type: dict
  returned: success
accepted:
  description: The stamp of the accepted release, or none.
  type: dict
  returned: success
port_holders:
  description: Servers on the port that are not the instance's.
  type: list
  elements: dict
  returned: success
user_exists:
  description: Whether the service account is there.
  type: bool
  returned: success
"""

import os
import pwd
from dataclasses import asdict
from typing import Any, Optional

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inference.sglang.plugins.module_utils import _release_files as files
from ansible_collections.inference.sglang.plugins.module_utils import _server_host as host
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._launch_plan import launch_plan
from ansible_collections.inference.sglang.plugins.module_utils._listeners import Proc
from ansible_collections.inference.sglang.plugins.module_utils._log_file import check_log_file, normal_log_file
from ansible_collections.inference.sglang.plugins.module_utils._model_files import read_drafter_config, read_model
from ansible_collections.inference.sglang.plugins.module_utils._release import Wanted, difference, instance_directory
from ansible_collections.inference.sglang.plugins.module_utils._server_plan import (
    HostPlaces,
    ServerWishes,
    build_release,
    readable_paths,
    refuse_unfit,
    with_served_name,
)
from ansible_collections.inference.sglang.plugins.module_utils._unit import unit_name
from ansible_collections.inference.sglang.plugins.module_utils._wishes import refuse_two_places


class Planner:
    """One look at the host and what follows from it."""

    def __init__(self, module: AnsibleModule) -> None:
        self.module = module
        self.params = module.params
        self.unit = unit_name(self.params["instance"])
        self.home = instance_directory(self.params["root"], self.params["instance"])
        self.sources: dict[str, str] = {}
        self.missing: list[str] = []

    def run(self, command: list[str]) -> tuple[int, str, str]:
        """A command of the host; one that is not there raises OSError."""
        code, output, errors = self.module.run_command(command, handle_exceptions=False)
        return code, output, errors

    # ----- gathering -----
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
            return {"config": self.params["config"], "hf_quant_config": self.params["hf_quant_config"] or None, "weights": None}
        return None

    def gpus(self) -> list[dict[str, Any]]:
        """The instance's GPUs: measured, else declared, and the report says which."""
        measured = host.measure_gpus(self.run)
        self.sources["gpus"] = "target" if measured else "inventory"
        return host.choose_gpus(measured or self.params["declared_gpus"], tuple(self.params["gpus"]))

    # ----- deriving -----
    def plan(self, model: dict[str, Any], version: str) -> dict[str, Any]:
        """The core's plan for this host."""
        params = self.params
        variables = {key: (f"sglang_server_{key}", params[key]) for key in ("host", "port", "model_path")}
        refuse_two_places(params["settings"], variables)
        settings = {"model_path": params["model_path"], "host": params["host"], "port": params["port"], **params["settings"]}
        return launch_plan(
            model["config"],
            version,
            self.gpus() if str(settings.get("device")) != "cpu" else [],
            hf_quant_config=model["hf_quant_config"],
            weights=model["weights"],
            drafter_config=read_drafter_config(settings),
            tensor_parallel_size=params["tensor_parallel_size"] or None,
            settings=with_served_name(settings, params["served_model_name"], params["model_path"] or "model"),
            workload=params["workload"],
            extra_args=params["extra_args"],
            environment=params["environment"],
            allow_unverified_release=params["allow_unverified_release"],
        )

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

    def key_changes(self, wishes: ServerWishes) -> bool:
        """Whether the key on the host is another one than the wanted."""
        return bool(wishes.key_file) and host.file_sha256(wishes.key_file) != self.params["api_key_sha256"]

    def check_log_file(self, path: str) -> None:
        """Refuse a log file that systemd cannot append to; in check mode its directory may be about to be made."""
        try:
            if path:
                check_log_file(path)
        except SglangError as error:
            if not self.module.check_mode:
                raise
            self.module.warn(str(error))

    def compare(self, release: dict[str, Any], wishes: ServerWishes) -> dict[str, Any]:
        """The difference between wanted, accepted and live."""
        accepted = files.read_stamp(self.home, files.ACCEPTED_FILE)
        live = host.view_live(self.unit, f"{release['directory']}/launcher.py", wishes.key_file, self.run)
        record = release["record"]
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
            "live": asdict(live),
        }

    def result(self) -> dict[str, Any]:
        """Everything in order; each refusal is an SglangError."""
        lenient = self.module.check_mode or not self.params["require_complete"]
        self.recall()
        wishes = self.wishes()
        accepted = files.read_stamp(self.home, files.ACCEPTED_FILE)
        environment, model = self.environment(), self.model()
        result: dict[str, Any] = {
            "changed": False,
            "planned": model is not None,
            "complete": False,
            "missing": self.missing,
            "sources": self.sources,
            "accepted": dict(accepted.__dict__) if accepted else None,
            "port_holders": host.port_holders(self.params["port"], self.unit, Proc(), self.run),
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
        plan = self.plan(model, environment.sglang_version if environment else self.params["sglang_version"])
        result.update(plan=plan, predicted=plan["predicted"])
        if self.params["require_complete"]:
            refuse_unfit(plan)
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


def main() -> None:
    """Plan and report."""
    module = AnsibleModule(
        argument_spec={
            "instance": {"type": "str", "default": "default"},
            "root": {"type": "path", "default": "/opt/sglang"},
            "user": {"type": "str", "default": "sglang"},
            "group": {"type": "str", "default": "sglang"},
            "environment_path": {"type": "path", "required": True},
            "environment_digest": {"type": "str", "default": ""},
            "sglang_version": {"type": "str", "default": ""},
            "model_path": {"type": "path", "default": ""},
            "model_revision": {"type": "str", "default": ""},
            "model_manifest": {"type": "path"},
            "served_model_name": {"type": "str", "default": ""},
            "config": {"type": "dict", "default": {}},
            "hf_quant_config": {"type": "dict", "default": {}},
            "config_source": {"type": "str", "default": ""},
            "host": {"type": "str", "default": "127.0.0.1"},
            "port": {"type": "int", "default": 30000},
            "api_key_sha256": {"type": "str", "no_log": True},
            "gpus": {"type": "list", "elements": "int", "default": []},
            "declared_gpus": {"type": "list", "elements": "dict", "default": []},
            "tensor_parallel_size": {"type": "int", "default": 0},
            "settings": {"type": "dict", "default": {}},
            "workload": {"type": "dict", "default": {}},
            "extra_args": {"type": "list", "elements": "str", "default": []},
            "environment": {"type": "dict", "default": {}},
            "log_file": {"type": "path"},
            "read_only_paths": {"type": "list", "elements": "path", "default": []},
            "read_write_paths": {"type": "list", "elements": "path", "default": []},
            "stop_timeout": {"type": "int", "default": 180},
            "launcher": {"type": "str", "default": ""},
            "allow_unverified_release": {"type": "bool", "default": False},
            "require_complete": {"type": "bool", "default": True},
        },
        supports_check_mode=True,
    )
    try:
        result = Planner(module).result()
    except SglangError as error:
        module.fail_json(**error.as_result())
    except OSError as error:
        module.fail_json(msg=f"cannot look at the host: {error}")
    for warning in result.get("plan", {}).get("warnings", []):
        module.warn(warning)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
