# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A balancer's host and servers behind it, all real systemd hosts of the lab."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.play.conftest import CARD, MODELS, STANDIN, STATE, Host, Play, install_standin, lab, subnet
from tests.support.load_client import ask

ROOT = Path(__file__).resolve().parents[2]
LOCKS = (ROOT / "roles/sglang_router/files/locks/router.txt", ROOT / "roles/ml_env/files/locks/uv.txt")
MODEL = "/opt/sglang/models/Qwen3.6-27B"
KEY = "CANARY-router-8d1f2b7a"
SERVER_KEY = "CANARY-server-6c2e9d40"
ROUTER_PORT = 30080
SERVER_PORT = 30000


def wheelhouse() -> Path:
    """The router's wheels as its lock names them, fetched once for each lock."""
    digest = hashlib.sha256(b"".join(lock.read_bytes() for lock in LOCKS)).hexdigest()[:12]
    folder = STATE / "wheelhouse" / f"router-{digest}"
    if not folder.is_dir():
        part = folder.with_name(f"{folder.name}.part-{os.getpid()}")
        for lock in LOCKS:
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--python-version=3.11"]
            subprocess.run([*command, "--require-hashes", "-r", str(lock), "-d", str(part)], check=True)
        try:
            part.rename(folder)
        except OSError:
            # Another lane was first.
            shutil.rmtree(part)
    return folder


@dataclass
class Fleet(Host):
    """One balancer's host and servers; plays run with all of them in the inventory. Clients come to `port` with `key`."""

    balancer: Host = field(default_factory=lambda: Host("", "", Path()))
    servers: list[Host] = field(default_factory=list)
    kind: str = "sglang_router"
    port: int = ROUTER_PORT
    key: str = KEY
    settings: dict[str, Any] = field(default_factory=dict)

    def inventory(self) -> dict[str, Any]:
        """The groups that the playbooks want."""
        connection = {**self.servers[0].inventory()["sglang_hosts"]["vars"]}
        connection["ansible_control_path_dir"] = f"{STATE}/hosts/{{{{ inventory_hostname }}}}/ssh"
        return {
            "all": {
                "vars": connection,
                "children": {
                    "sglang_routers": {
                        "hosts": {self.balancer.name: {"ansible_host": self.balancer.address}},
                        "vars": {
                            "sglang_router_host": "0.0.0.0",
                            "sglang_router_api_key": KEY,
                            "sglang_router_wheelhouse": "/mnt/wheels",
                        },
                    },
                    "sglang_hosts": {
                        "hosts": {host.name: {"ansible_host": host.address} for host in self.servers},
                        "vars": {
                            "sglang_server_host": "0.0.0.0",
                            "sglang_server_port": SERVER_PORT,
                            "sglang_server_api_key": SERVER_KEY,
                            "sglang_server_environment_path": "/opt/sglang/envs/standin",
                            "sglang_server_model_path": MODEL,
                            "sglang_server_served_model_name": "standin",
                            "sglang_server_environment": {"STANDIN_SPEED": "100", "STANDIN_TOKEN_SECONDS": "0.1"},
                            "sglang_server_stop_timeout": 20,
                            "inference_host_gpus": [CARD, CARD],
                            "fleet_rollout_balancer": self.kind,
                            **self.settings,
                        },
                    },
                },
            }
        }

    def run(self, playbook: str, options: str = "", **more: Any) -> Play:
        """A playbook of the collection or of the tests."""
        return self.play(playbook, options, **more)

    def workers(self) -> dict[str, dict[str, Any]]:
        """What the router lists, by the server's address."""
        text = fetched(self.balancer, f"http://127.0.0.1:{ROUTER_PORT}/workers", KEY)
        return {worker["url"]: worker for worker in json.loads(text)["workers"]}


def fetched(host: Host, url: str, key: str = "") -> str:
    """What a host's own port answers, asked on the host, which has no curl."""
    script = f"""
import urllib.request
request = urllib.request.Request({url!r})
if {key!r}:
    request.add_header("Authorization", "Bearer " + {key!r})
print(urllib.request.urlopen(request, timeout=10).read().decode())
"""
    return host.shell(f"python3 - <<'E'{script}E")


def is_ready(host: Host) -> bool:
    """Whether the router on this host takes requests."""
    return (
        host.try_shell(f"python3 -c 'import urllib.request as u; u.urlopen(\"http://127.0.0.1:{ROUTER_PORT}/readiness\", timeout=5)'")[0]
        == 0
    )


def url_of(host: Host) -> str:
    """A server as the router is told of it."""
    return f"http://{host.address}:{SERVER_PORT}"


def lane_of(number: int) -> tuple[str, int]:
    """Name and last number of a host: two lanes run side by side, and a lane above them is somebody's own."""
    lane = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    return (f"prt{lane}-{number}", 201 + 10 * lane + number) if lane < 5 else (f"rt{number + 1}", 61 + number)


def until(condition: Callable[[], bool], seconds: float = 60) -> bool:
    """Whether it came true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.3)
    return True


def answer(fleet: Fleet) -> str:
    """A short answer through the balancer. Returns the fault."""
    payload = {"model": "standin", "messages": [{"role": "user", "content": "What is the capital of France?"}], "max_tokens": 16}
    return ask((fleet.balancer.address, fleet.port), payload, fleet.key, 30)


class Stream(threading.Thread):
    """A long answer on its way through the balancer."""

    def __init__(self, fleet: Fleet, tokens: int) -> None:
        super().__init__(daemon=True)
        self.fleet, self.tokens, self.fault = fleet, tokens, "still on its way"
        self.start()

    def run(self) -> None:
        payload = {"model": "standin", "messages": [{"role": "user", "content": "go on"}], "stream": True, "ignore_eos": True}
        address = (self.fleet.balancer.address, self.fleet.port)
        self.fault = ask(address, {**payload, "max_tokens": self.tokens}, self.fleet.key, 600)


def running(fleet: Fleet, number: int) -> bool:
    """Whether a server has a request in flight, by its own figures."""
    return '"num_running_reqs": 0' not in fetched(fleet.servers[number], f"http://127.0.0.1:{SERVER_PORT}/v1/loads", SERVER_KEY)


@contextmanager
def fleet_of(folder: Path, servers: int) -> Iterator[Fleet]:
    """With SGLang's router as the balancer, which a play installs."""
    with hosts_of(folder, servers, "--mount-ro", f"{wheelhouse()}:/mnt/wheels") as hosts:
        yield Fleet("fleet", "", folder, balancer=hosts[0], servers=hosts[1:])


@contextmanager
def hosts_of(folder: Path, servers: int, *options: str) -> Iterator[list[Host]]:
    """Boots them: the balancer's host first, servers with the stand-in behind it."""
    lab("build-rootfs", "bookworm")
    net = subnet()
    hosts = []
    for number in range(servers + 1):
        name, last = lane_of(number)
        lab("down", name)
        lab("up", name, str(last), "bookworm", "--mount-ro", f"{STANDIN}:/mnt/standin", *options)
        hosts.append(Host(name, f"{net}.{last}", folder / name))
    for host in hosts[1:]:
        host.shell("useradd --system --home-dir /nonexistent --shell /usr/sbin/nologin sglang")
        install_standin(host, "/opt/sglang/envs/standin")
        host.write(f"{MODEL}/config.json", (MODELS / "Qwen3.6-27B.json").read_text())
    try:
        yield hosts
    finally:
        for host in hosts:
            # ssh's control master may still be going away in the host's directory.
            subprocess.run([str(ROOT / "tests/testbed/lab"), "down", host.name], check=False, capture_output=True, stdin=subprocess.DEVNULL)
            lab("down", host.name)
