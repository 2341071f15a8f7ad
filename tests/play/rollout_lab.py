# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A fleet of real systemd hosts with the stand-in engine, behind a balancer that only keeps a list, for tests of a rollout."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

from tests.play.conftest import CARD, LAB, ROOT, STANDIN, STATE, Host, Instance, Play, install_standin, lab, subnet
from tests.unit.test_safetensors import halves, write_model

BALANCER = ROOT / "tests/play/rollout/balancer"
MODEL = "/opt/sglang/models/Qwen3.6-27B"
PORT = 30000


@dataclass
class Fleet(Host):
    """Several hosts in one inventory; `own` holds variables of single hosts."""

    hosts: list[Host] = field(default_factory=list)
    # Of a test that changes releases: the one that all had as it began, the settings of that and of another, and how often that was done.
    old: str = ""
    now: dict[str, Any] = field(default_factory=dict)
    new: dict[str, Any] = field(default_factory=dict)
    turn: int = 0
    own: dict[str, dict[str, Any]] = field(default_factory=dict)

    def inventory(self) -> dict[str, Any]:
        whole = self.hosts[0].inventory()
        group = whole["sglang_hosts"]
        group["hosts"] = {host.name: {"ansible_host": host.address, **self.own.get(host.name, {})} for host in self.hosts}
        group["vars"]["ansible_control_path_dir"] = f"{STATE}/hosts/{{{{ inventory_hostname }}}}/ssh"
        group["vars"].update(SETTINGS, balancer_log=str(self.log), balancer_lab=str(LAB))
        return whole

    @property
    def log(self) -> Path:
        """What the balancer was told, one line each."""
        return self.folder / "balancer.log"

    def told(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    def deploy(self, options: str = "", kill_at: str = "", **changes: Any) -> Play:
        """The whole playbook; what the role inference_host would install is no matter of a rollout."""
        return self.play("playbooks/deploy.yml", f"--skip-tags inference_host {options}".strip(), kill_at, **changes)

    @contextmanager
    def deploying(self, **changes: Any) -> Iterator[list[Play]]:
        """A deployment in the background; its outcome is there after the block."""
        done: list[Play] = []
        thread = threading.Thread(target=lambda: done.append(self.deploy(**changes)))
        thread.start()
        try:
            yield done
        finally:
            thread.join()

    def instances(self) -> list[Instance]:
        return [Instance(host, "default", PORT, {}) for host in self.hosts]

    def releases(self) -> list[str]:
        """The accepted release of each host, '-' where there is none."""
        return [(instance.accepted() or {"id": "-"})["id"] for instance in self.instances()]

    def record(self, number: int) -> Optional[dict[str, Any]]:
        """How far the last rollout came on a host."""
        status, text = self.hosts[number].try_shell("cat /opt/sglang/instances/default/rollout.json")
        return json.loads(text) if status == 0 else None

    def phases(self) -> list[str]:
        return [(self.record(number) or {"phase": "-"})["phase"] for number in range(len(self.hosts))]

    def out(self) -> set[str]:
        """The hosts that the balancer sends nothing to."""
        last = {line.split()[1]: line.split()[0] for line in self.told()}
        return {name for name, what in last.items() if what == "out"}

    def start(self, host: Host) -> None:
        """Boot a host again and wait for its server, which its unit starts."""
        boot_one(host)
        host.shell("timeout 120 sh -c 'until systemctl is-active --quiet sglang-default; do sleep 0.2; done'")
        host.shell(f"timeout 120 bash -c 'until echo > /dev/tcp/127.0.0.1/{PORT}; do sleep 0.2; done' 2> /dev/null")

    def serving(self) -> list[bool]:
        return [instance.state() == "active" and instance.answers() for instance in self.instances()]


SETTINGS: dict[str, Any] = {
    "inference_host_require_gpu": False,
    "inference_host_gpus": [CARD, CARD],
    "inference_host_memory_gib": 1,
    "inference_host_environment_disk_gib": 1,
    "inference_host_model_disk_gib": 1,
    "inference_host_cache_disk_gib": 1,
    "ml_env_adopt": True,
    "model_shards_path": MODEL,
    "model_shards_repo": "",
    "sglang_server_served_model_name": "standin",
    "sglang_server_environment": {"STANDIN_SPEED": "100"},
    "sglang_server_stop_timeout": 20,
    "fleet_rollout_balancer": str(BALANCER),
}


def boot_one(host: Host) -> None:
    """With the model's own folder at the same place as before."""
    lab(
        "up",
        host.name,
        host.address,
        "bookworm",
        "--mount-ro",
        f"{STANDIN}:/mnt/standin",
        "--mount-ro",
        f"{host.folder / 'model'}:/mnt/model",
    )


def boot(count: int, folder: Path) -> list[Host]:
    """Hosts that somebody prepared: service account, environment and model are there, and nothing serves."""
    lane = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 8
    lab("build-rootfs", "bookworm")
    model = folder / "model"
    model.mkdir()
    write_model(model, halves())
    hosts = []
    for number in range(1, count + 1):
        name, address = f"ro{6 * lane + number}", f"{70 + 6 * lane + number}"
        lab("down", name)
        host = Host(name, f"{subnet()}.{address}", folder)
        boot_one(host)
        host.shell("useradd --system --home-dir /nonexistent --shell /usr/sbin/nologin sglang")
        install_standin(host, "/opt/sglang/ml-env")
        host.shell(f"mkdir -p {MODEL} && cp /mnt/model/* {MODEL}/")
        hosts.append(host)
    return hosts


def engine(**behaviour: str) -> dict[str, Any]:
    """The setting that changes how the stand-in behaves."""
    return {"sglang_server_environment": {**SETTINGS["sglang_server_environment"], **behaviour}}
