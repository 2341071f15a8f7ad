# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Hosts and plays for the tests of the server: one real systemd host, the stand-in engine on it, playbooks through ansible-runner."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

import ansible_runner
import pytest

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / "tests/testbed/lab"
STATE = Path(os.environ.get("SGLANG_LAB") or "/var/lib/inference-sglang-lab")
STANDIN = ROOT / "tests/support/standin_engine/src/sglang"
MODELS = ROOT / "tests/data/models"
PROJECT = Path(__file__).resolve().parent / "server"
CARD = {"name": "NVIDIA RTX A6000", "memory_mib": 49140, "compute_capability": "8.6"}


def lab(*arguments: str) -> str:
    """A command of the lab."""
    done = subprocess.run([str(LAB), *arguments], check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def subnet() -> str:
    """The first three numbers of the lab's addresses, which the lab chooses when it is asked first."""
    settings = dict(line.partition("=")[::2] for line in lab("env").splitlines())
    return settings["SGLANG_LAB_NET"]


@dataclass
class Play:
    """How a playbook went."""

    ok: bool
    output: str
    stats: dict[str, dict[str, int]]
    tasks: list[str] = field(default_factory=list)
    failures: list[dict[str, Any]] = field(default_factory=list)

    def count(self, what: str) -> int:
        """ok, changed, failures … over all hosts."""
        return sum(self.stats.get(what, {}).values())

    @property
    def message(self) -> str:
        """What the last failure said."""
        return str(self.failures[-1].get("msg", "")) if self.failures else ""


@dataclass
class Host:
    """A host of the lab with the stand-in engine, and the way to it."""

    name: str
    address: str
    folder: Path
    runs: int = 0

    def shell(self, command: str) -> str:
        """Run something on the host; it must succeed."""
        return lab("shell", self.name, command).strip()

    def try_shell(self, command: str) -> tuple[int, str]:
        """Run something that may fail."""
        done = subprocess.run(
            [str(LAB), "shell", self.name, command], check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
        return done.returncode, (done.stdout + done.stderr).strip()

    def write(self, path: str, text: str, mode: str = "0644") -> None:
        """Put a file there."""
        quoted = shlex.quote(path)
        command = f"mkdir -p $(dirname {quoted}); cat > {quoted}; chmod {mode} {quoted}"
        subprocess.run([str(LAB), "shell", self.name, command], input=text, check=True, text=True, capture_output=True)

    def inventory(self) -> dict[str, Any]:
        """The host as ansible-runner wants it."""
        return {
            "sglang_hosts": {
                "hosts": {self.name: {"ansible_host": self.address}},
                "vars": {
                    "ansible_user": "root",
                    "ansible_python_interpreter": "/usr/bin/python3",
                    "ansible_ssh_private_key_file": str(STATE / "id_ed25519"),
                    "ansible_ssh_common_args": "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR",
                    "ansible_control_path_dir": f"{STATE}/hosts/{self.name}/ssh",
                },
            }
        }

    def play(self, playbook: str = "one.yml", options: str = "", kill_at: str = "", **variables: Any) -> Play:
        """Run a playbook; with `kill_at` the controller is killed when a task whose name begins so starts."""
        self.runs += 1
        folder = self.folder / f"run-{self.runs}"
        folder.mkdir(parents=True)
        tasks: list[str] = []
        killed: list[str] = []

        def on_event(event: dict[str, Any]) -> bool:
            if event["event"] in ("playbook_on_task_start", "playbook_on_handler_task_start"):
                name = event["event_data"].get("task", "")
                tasks.append(name)
                if kill_at and name.startswith(kill_at) and event["event_data"].get("task_action") != "ansible.builtin.include_tasks":
                    killed.append(name)
            return True

        done = ansible_runner.run(
            private_data_dir=str(folder),
            project_dir=str(ROOT),
            playbook=str(PROJECT / playbook) if (PROJECT / playbook).exists() else str(ROOT / playbook),
            inventory=self.inventory(),
            extravars=variables,
            envvars={
                "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
                "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
                "ANSIBLE_NOCOLOR": "1",
                "INFERENCE_SGLANG_JOURNAL_DIRECTORY": str(folder / "journals"),
                "INFERENCE_SGLANG_REPORT_DIRECTORY": str(folder / "reports"),
                "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            },
            cmdline=options or None,
            event_handler=on_event,
            cancel_callback=lambda: bool(killed),
            quiet=True,
        )
        failures = [event["event_data"]["res"] for event in done.events if event["event"] == "runner_on_failed"]
        assert not kill_at or killed, f"never came to {kill_at}: {tasks}"
        return Play(done.rc == 0 and not killed, done.stdout.read(), done.stats or {}, tasks, failures)


@pytest.fixture(scope="session")
def bare_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """A Debian 12 host with the service account, the stand-in in an environment, and a model's config.json."""
    if os.geteuid() != 0:
        pytest.skip("the lab needs root")
    host = boot("playserv", 41, tmp_path_factory.mktemp("server"))
    yield host
    shut_down(host)


def boot(name: str, first_number: int, folder: Path, *options: str) -> Host:
    """A host of that name in this lane: tests may run in lanes, a host each."""
    lane = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    name, number = f"{name}{lane}", f"{first_number + int(lane)}"
    lab("down", name)
    lab("build-rootfs", "bookworm")
    lab("up", name, number, "bookworm", "--mount-ro", f"{STANDIN}:/mnt/standin", *options)
    host = Host(name, f"{subnet()}.{number}", folder)
    host.shell("useradd --system --home-dir /nonexistent --shell /usr/sbin/nologin sglang")
    install_standin(host, "/opt/sglang/envs/standin")
    for model in ("Qwen3.6-27B", "Meta-Llama-3.1-8B"):
        host.write(f"/opt/sglang/models/{model}/config.json", (MODELS / f"{model}.json").read_text())
    return host


def shut_down(host: Host) -> None:
    """The host is gone afterwards."""
    # ssh's control master may still be going away in the host's directory.
    subprocess.run([str(LAB), "down", host.name], check=False, capture_output=True, stdin=subprocess.DEVNULL)
    lab("down", host.name)


def install_standin(host: Host, path: str, version: str = "0.5.11") -> None:
    """The stand-in as an environment has an engine: package, metadata, console script."""
    script = f"""
set -e
python3 -m venv --without-pip {path}
site=$(echo {path}/lib/python3*/site-packages)
cp -r /mnt/standin $site/sglang
info=$site/sglang-{version}.dist-info
mkdir $info
printf 'Metadata-Version: 2.1\\nName: sglang\\nVersion: {version}\\n' > $info/METADATA
printf '[console_scripts]\\nsglang = sglang.cli.main:main\\n' > $info/entry_points.txt
chmod -R a+rX {path}
"""
    host.shell(script)


@dataclass
class Instance:
    """One instance of the host and the settings that deploy it."""

    host: Host
    name: str
    port: int
    settings: dict[str, Any]

    @property
    def unit(self) -> str:
        """Its systemd unit."""
        return f"sglang-{self.name}.service"

    @property
    def home(self) -> str:
        """Its directory."""
        return f"/opt/sglang/instances/{self.name}"

    def deploy(self, options: str = "", kill_at: str = "", **changes: Any) -> Play:
        """The role, with these settings changed."""
        return self.host.play("one.yml", options, kill_at, **{**self.settings, **changes})

    def enter(self, entry: str, **changes: Any) -> Play:
        """Another entry point of the role."""
        return self.host.play("entry.yml", entry=entry, **{**self.settings, **changes})

    def engine(self, **behaviour: str) -> dict[str, Any]:
        """The setting that changes how the stand-in behaves."""
        return {"sglang_server_environment": {**self.settings["sglang_server_environment"], **behaviour}}

    def accepted(self) -> Optional[dict[str, Any]]:
        """The stamp."""
        status, text = self.host.try_shell(f"cat {self.home}/accepted.json")
        return json.loads(text) if status == 0 else None

    def state(self) -> str:
        """What systemd says."""
        return self.host.try_shell(f"systemctl is-active {self.unit}")[1]

    def main_pid(self) -> str:
        """Another pid is another start."""
        return self.host.shell(f"systemctl show --value -p MainPID {self.unit}")

    def answers(self) -> bool:
        """Whether the server answers a chat request."""
        body = json.dumps({"model": "standin", "messages": [{"role": "user", "content": "capital of France?"}], "max_tokens": 16})
        code, text = self.host.try_shell(
            f"python3 - <<'E'\nimport urllib.request as u\n"
            f"r = u.Request('http://127.0.0.1:{self.port}/v1/chat/completions', {body.encode()!r})\n"
            f"r.add_header('Content-Type', 'application/json')\n"
            f"print(u.urlopen(r, timeout=20).read().decode())\nE"
        )
        return code == 0 and "Paris" in text


@pytest.fixture
def instance(bare_host: Host, request: pytest.FixtureRequest) -> Iterator[Instance]:
    """An instance of its own for each test: a GDN model on two declared cards, replayed a hundred times faster."""
    number = int(bare_host.shell("n=$(cat /run/tests 2>/dev/null || echo 0); echo $((n + 1)) | tee /run/tests"))
    made = make_instance(bare_host, f"t{number}", 31000 + number)
    yield made
    bare_host.try_shell(f"systemctl disable --now {made.unit}; rm -f /etc/systemd/system/{made.unit}; systemctl daemon-reload")


def make_instance(host: Host, name: str, port: int) -> Instance:
    """Settings of an instance that serves with the stand-in."""
    return Instance(
        host,
        name,
        port,
        {
            "sglang_server_instance": name,
            "sglang_server_port": port,
            "sglang_server_environment_path": "/opt/sglang/envs/standin",
            "sglang_server_model_path": "/opt/sglang/models/Qwen3.6-27B",
            "sglang_server_served_model_name": "standin",
            "sglang_server_environment": {"STANDIN_SPEED": "100"},
            "inference_host_gpus": [CARD, CARD],
            "sglang_server_stop_timeout": 20,
        },
    )
