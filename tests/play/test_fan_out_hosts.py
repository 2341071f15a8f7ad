# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The model from host to host between real hosts with addresses of their own, over SSH; peers, receivers and the play die half way."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.play.conftest import STATE, Host, Play, lab, subnet
from tests.support.hub.mockhub import Hub
from tests.support.snapshot_lab import sent_bytes

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ("roles/model_shards/files/locks/huggingface-hub.txt", "roles/ml_env/files/locks/uv.txt")
REPO = "acme/large"
SHARD_BYTES = 150 << 20
PLAYBOOK = "tests/play/model_shards/play.yml"

# Stops the process that writes the model, once so many bytes of a file have come: half way is a state, not a moment.
FREEZE = """
import os, signal, time
while True:
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            for number in os.listdir(f"/proc/{pid}/fd"):
                path = os.readlink(f"/proc/{pid}/fd/{number}")
                if "/.partial-" not in path or not os.path.isfile(path) or os.path.getsize(path) < 20 << 20:
                    continue
                flags = next(line for line in open(f"/proc/{pid}/fdinfo/{number}") if line.startswith("flags:"))
                if int(flags.split()[1], 8) & 3:
                    os.kill(int(pid), signal.SIGSTOP)
                    raise SystemExit(print(pid))
        except OSError:
            continue
    time.sleep(0.005)
"""
SERVERS = "{ ps -o pid= -u nobody || true; }"

pytestmark = [pytest.mark.full, pytest.mark.host, pytest.mark.skipif(os.geteuid() != 0, reason="the lab needs root")]


@dataclass
class Fleet(Host):
    """Several hosts in one inventory; plays run on all of them."""

    hosts: list[Host] = field(default_factory=list)
    variables: dict[str, Any] = field(default_factory=dict)

    def inventory(self) -> dict[str, Any]:
        whole = self.hosts[0].inventory()
        whole["sglang_hosts"]["hosts"] = {host.name: {"ansible_host": host.address} for host in self.hosts}
        whole["sglang_hosts"]["vars"]["ansible_control_path_dir"] = f"{STATE}/hosts/{{{{ inventory_hostname }}}}/ssh"
        return whole

    def hand_on(self, **more: Any) -> Play:
        return self.play(PLAYBOOK, **self.variables, **more)

    @contextmanager
    def handing_on(self) -> Iterator[list[Play]]:
        """The play in the background; its outcome is there after the block."""
        done: list[Play] = []
        thread = threading.Thread(target=lambda: done.append(self.hand_on()))
        thread.start()
        try:
            yield done
        finally:
            thread.join()


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Host]]:
    lab("build-rootfs", "bookworm")
    lane = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    found = []
    for number in range(3):
        name, address = f"playfan{lane}-{number}", f"{60 + 3 * lane + number}"
        lab("down", name)
        lab("up", name, address, "bookworm")
        found.append(Host(name, f"{subnet()}.{address}", tmp_path_factory.mktemp(name)))
    found[0].shell("apt-get -q update && apt-get -q -y --no-install-recommends install python3-venv")  # the seed builds the download tool
    yield found
    for host in found:
        lab("down", host.name)


@pytest.fixture(scope="module")
def wheelhouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    for lock in LOCKS:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--python-version=3.11"]
        subprocess.run([*command, "--require-hashes", "-r", str(ROOT / lock), "-d", str(folder / "tool")], check=True)
    return folder


@pytest.fixture
def hub(tmp_path: Path, wheelhouse: Path, hosts: list[Host]) -> Iterator[Hub]:
    folder = tmp_path / "hub" / REPO
    folder.mkdir(parents=True)
    for number in range(2):
        (folder / f"model-{number}.safetensors.sparse").write_text(f"{SHARD_BYTES} shard-{number} layer.{number}")
    (folder / "config.json").write_text('{"architectures": ["TinyForCausalLM"]}')
    server = Hub((f"{subnet()}.1", 0), tmp_path / "hub", wheelhouse)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def fleet(hosts: list[Host], hub: Hub, tmp_path: Path) -> Fleet:
    for host in hosts:
        host.shell("rm -rf /opt/sglang/models; " + SERVERS + " | xargs -r kill -9")
    variables = {"model_shards_repo": REPO, "model_shards_endpoint": hub.url, "model_shards_wheelhouse": f"{hub.url}/wheelhouse/tool/"}
    return Fleet("fleet", "", tmp_path, hosts=hosts, variables={**variables, "model_shards_seeds": 1, "model_shards_workers": 1})


def open_ports(host: Host) -> str:
    return host.shell("ss -Hltn | awk '{print $4}' | sort")


def assert_whole(fleet: Fleet, hub: Hub) -> None:
    """Every host has the same bytes, and nothing is left of the transfers."""
    repo = hub.repo(REPO)
    assert repo is not None
    wanted = "\n".join(f"{blob.sha256}  {name}" for name, blob in sorted(repo.files.items()))
    for host in fleet.hosts:
        assert host.shell(f"cd /opt/sglang/models/acme--large/{repo.commit} && sha256sum * | sort -k2") == wanted
        left = set(host.shell("ls -A /opt/sglang/models/acme--large").split()) - {".lock", "refs.json"}
        assert left == {repo.commit, f"{repo.commit}.manifest.json"}


def model_bytes(hub: Hub) -> int:
    repo = hub.repo(REPO)
    assert repo is not None
    return sum(blob.size for blob in repo.files.values())


def freeze(host: Host) -> str:
    """The process that was writing the model, stopped half way."""
    return host.shell(f"timeout 300 python3 -c '{FREEZE}'")


def test_one_host_asks_the_hub_and_no_port_stays_open(fleet: Fleet, hub: Hub) -> None:
    before = [open_ports(host) for host in fleet.hosts]
    play = fleet.hand_on()
    assert play.ok, play.output
    assert_whole(fleet, hub)
    assert sent_bytes(hub) == model_bytes(hub)
    assert [open_ports(host) for host in fleet.hosts] == before
    assert [host.shell(SERVERS) for host in fleet.hosts] == ["", "", ""]
    again = fleet.hand_on()
    assert again.ok and again.count("changed") == 0, again.output


def kill_the_peer(seed: Host, receiver: Host) -> None:
    frozen = freeze(receiver)
    assert seed.shell(SERVERS)
    seed.shell(SERVERS + " | xargs kill -9")
    receiver.shell(f"kill -CONT {frozen}")


def start_the_receiver_again(seed: Host, receiver: Host) -> None:
    freeze(receiver)
    lab("down", receiver.name, "--keep")
    lab("up", receiver.name, receiver.address, "bookworm")


@pytest.mark.parametrize("accident", [kill_the_peer, start_the_receiver_again])
def test_an_accident_half_way_costs_no_byte_of_the_hub(accident: Callable[[Host, Host], None], fleet: Fleet, hub: Hub) -> None:
    with fleet.handing_on() as done:
        accident(fleet.hosts[0], fleet.hosts[1])
    (play,) = done
    assert play.ok, play.output
    assert play.stats.get("rescued", {}).get(fleet.hosts[1].name) == 1, play.output
    assert_whole(fleet, hub)
    assert sent_bytes(hub) == model_bytes(hub)


def test_a_killed_play_is_run_again(fleet: Fleet, hub: Hub) -> None:
    fleet.play(PLAYBOOK, kill_at="Bring the model from a peer", **fleet.variables)
    play = fleet.hand_on()
    assert play.ok, play.output
    assert_whole(fleet, hub)
    assert sent_bytes(hub) == model_bytes(hub)
