# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A host that somebody set up by hand: a server on the port, an environment and a model in /root, a log file, root as the user."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.play.conftest import Instance, install_standin

pytestmark = pytest.mark.host

FOREIGN = """[Unit]
Description=A server that somebody set up by hand
[Service]
Environment=STANDIN_SPEED=100
ExecStart=/opt/sglang/envs/standin/bin/python -m sglang.launch_server --model-path /opt/sglang/models/Qwen3.6-27B \
 --served-model-name foreign --port {port} --api-key canary-of-the-foreign
[Install]
WantedBy=multi-user.target
"""


def wait_for_port(instance: Instance) -> None:
    """Until something answers HTTP on the instance's port."""
    instance.host.shell(f"timeout 60 bash -c 'until (exec 3<>/dev/tcp/127.0.0.1/{instance.port}) 2>/dev/null; do sleep 0.2; done'")


@pytest.fixture
def foreign(instance: Instance) -> Iterator[str]:
    """A foreign unit that serves on the instance's port."""
    unit = f"by-hand-{instance.name}.service"
    instance.host.write(f"/etc/systemd/system/{unit}", FOREIGN.format(port=instance.port))
    instance.host.shell(f"systemctl daemon-reload; systemctl enable --now {unit}")
    wait_for_port(instance)
    yield unit
    instance.host.try_shell(f"systemctl disable --now {unit}; rm -f /etc/systemd/system/{unit}; systemctl daemon-reload")


def test_a_foreign_unit_is_named_kept_and_replaced_only_when_told(instance: Instance, foreign: str) -> None:
    host = instance.host
    refused = instance.deploy()
    assert not refused.ok
    for words in (foreign, "pid", "since", "sglang_server_replace_unmanaged"):
        assert words in refused.message, (words, refused.message)
    assert "canary-of-the-foreign" not in refused.output
    assert host.shell(f"systemctl is-active {foreign}") == "active"

    # The engine check comes first: a release that it refuses must not cost the running server.
    install_standin(host, "/opt/sglang/envs/refusing2")
    data = "/opt/sglang/envs/refusing2/lib/python3*/site-packages/sglang/_standin/data/flags-0.5.11.json"
    host.shell(f"sed -i 's/enable-metrics/enable-metrix/g' {data}")
    unchecked = instance.deploy(sglang_server_replace_unmanaged=True, sglang_server_environment_path="/opt/sglang/envs/refusing2")
    assert not unchecked.ok
    assert host.shell(f"systemctl is-active {foreign}") == "active"

    # A first release that dies: the unit that was replaced serves again.
    died = instance.deploy(sglang_server_replace_unmanaged=True, **instance.engine(STANDIN_DIE_AT="weights:memory"))
    assert not died.ok
    assert f"{foreign} was started again" in died.message
    assert host.shell(f"systemctl is-active {foreign}; systemctl is-enabled {foreign}").split() == ["active", "enabled"]
    wait_for_port(instance)

    replaced = instance.deploy(sglang_server_replace_unmanaged=True)
    assert replaced.ok, replaced.output
    assert foreign in replaced.output, "what was stopped is said"
    assert instance.answers()
    # "failed" is how systemd sees an engine that ended its own stop with SIGKILL.
    assert host.try_shell(f"systemctl is-active {foreign}")[1] in ("inactive", "failed")
    assert host.try_shell(f"systemctl is-enabled {foreign}")[1] == "disabled"
    again = instance.deploy()
    assert again.count("changed") == 0, again.output


@pytest.mark.full
@pytest.mark.full
def test_a_hand_made_unit_of_the_instance_s_name_is_kept_and_comes_back(instance: Instance) -> None:
    host, place = instance.host, f"/etc/systemd/system/{instance.unit}"
    text = FOREIGN.format(port=instance.port)
    host.write(place, text)
    host.shell(f"systemctl daemon-reload; systemctl enable --now {instance.unit}")
    wait_for_port(instance)
    for told in ({}, {"sglang_server_replace_unmanaged": "false"}):
        refused = instance.deploy(**told)
        assert not refused.ok
        assert f"{instance.unit} is a unit that this collection did not write" in refused.message
        assert host.shell(f"cat {place}").strip() == text.strip()
        assert instance.state() == "active"

    bad = {"sglang_server_replace_unmanaged": "true", **instance.engine(STANDIN_DIE_AT="weights:memory")}
    # The second run finds its own half-made unit there; what was there first counts.
    assert not instance.deploy(kill_at="Start the server", **bad).ok
    died = instance.deploy("--diff", **bad)
    assert not died.ok
    assert "is back and was started again" in died.message
    assert "canary-of-the-foreign" not in died.output
    assert host.shell(f"cat {place}").strip() == text.strip()
    assert host.shell(f"systemctl is-active {instance.unit}; systemctl is-enabled {instance.unit}").split() == ["active", "enabled"]
    assert host.try_shell(f"ls {instance.home}/replaced.json {instance.home}/lease.json")[1].count("No such file") == 2


@pytest.mark.full
def test_a_foreign_unit_comes_back_after_a_killed_run(instance: Instance, foreign: str) -> None:
    host = instance.host
    bad = {"sglang_server_replace_unmanaged": True, **instance.engine(STANDIN_DIE_AT="weights:memory")}
    assert not instance.deploy(kill_at="Place the unit", **bad).ok
    assert host.try_shell(f"systemctl is-enabled {foreign}")[1] == "disabled"
    died = instance.deploy(**bad)
    assert f"{foreign} was started again" in died.message
    assert host.shell(f"systemctl is-active {foreign}; systemctl is-enabled {foreign}").split() == ["active", "enabled"]


def test_a_bare_process_is_stopped_and_said(instance: Instance) -> None:
    host = instance.host
    command = (
        f"STANDIN_SPEED=100 setsid /opt/sglang/envs/standin/bin/python -m sglang.launch_server --model-path /opt/sglang/models/Qwen3.6-27B"
        f" --port {instance.port} </dev/null >/root/by-hand.log 2>&1 & echo $!"
    )
    pid = host.shell(command)
    wait_for_port(instance)
    refused = instance.deploy()
    assert not refused.ok
    assert f"pid {pid}" in refused.message
    assert "no systemd unit" in refused.message or "session" in refused.message
    replaced = instance.deploy(sglang_server_replace_unmanaged=True)
    assert replaced.ok, replaced.output
    assert host.try_shell(f"kill -0 {pid}")[0] != 0
    assert instance.answers()


def test_a_host_as_somebody_set_it_up_by_hand(instance: Instance) -> None:
    """Environment, model and log file in /root, root as the user: inside the sandbox, with nothing moved."""
    host = instance.host
    install_standin(host, f"/root/ml-env-{instance.name}")
    model = f"/root/models-{instance.name}/Qwen3.6-27B"
    host.shell(f"mkdir -p {model} && cp /opt/sglang/models/Qwen3.6-27B/config.json {model}/")
    log = f"/root/sglang_serve-{instance.name}.log"
    settings = {
        **instance.settings,
        "sglang_server_user": "root",
        "sglang_server_group": "root",
        "sglang_server_environment_path": f"/root/ml-env-{instance.name}",
        "sglang_server_model_path": model,
        "sglang_server_log_file": log,
        "sglang_server_host": "0.0.0.0",
    }
    adopted = replace(instance, settings=settings)
    # A log of an earlier start by hand, whole: it must not satisfy the gate.
    host.shell(f"cp /opt/sglang/envs/standin/lib/python3*/site-packages/sglang/_standin/data/ct129-mtp.log {log}")
    stale = adopted.deploy(**adopted.engine(STANDIN_DIE_AT="weights:memory"))
    assert not stale.ok, "the log of an earlier start satisfied the gate"
    played = adopted.deploy()
    assert played.ok, played.output
    assert adopted.answers()
    assert "inference.sglang: start" in host.shell(f"cat {log}")
    shown = host.shell(
        f"systemctl show {instance.unit} -p User -p ProtectHome -p BindReadOnlyPaths -p NoNewPrivileges -p CapabilityBoundingSet"
    )
    assert "ProtectHome=tmpfs" in shown
    assert model in shown
    pid = adopted.main_pid()
    assert host.try_shell(f"nsenter -t {pid} -m ls /root/.ssh")[0] != 0, "only what is needed of /root is shown"
    assert host.shell(f"nsenter -t {pid} -m ls {model}") == "config.json"
    again = adopted.deploy()
    assert again.count("changed") == 0, again.output


def test_the_key_is_nowhere_but_in_its_file(instance: Instance) -> None:
    host, canary = instance.host, "canary-key-7d1f0e5b2c"
    played = instance.deploy("-vvvv --diff", sglang_server_api_key=canary)
    assert played.ok, played.output[-3000:]
    output = played.output
    # ansible-runner itself passes extra variables to the command line in a file; what the play prints is what counts here.
    assert canary not in output
    assert host.shell(f"stat -c '%a %U' {instance.home}/secrets/api-key {instance.home}/secrets").splitlines() == ["400 root", "700 root"]
    assert not instance.answers(), "a request without the key is refused"
    places = {
        "unit": f"cat /etc/systemd/system/{instance.unit}",
        "systemctl show": f"systemctl show {instance.unit}",
        "process arguments": "cat /proc/[0-9]*/cmdline | tr '\\0' ' '",
        "journal": "journalctl --no-pager -o export | strings",
        "releases": f"cat {instance.home}/*.json {instance.home}/releases/*/*",
        "temporary files": "grep -ra canary-key /tmp /var/tmp /root /var/log 2>/dev/null | head -5",
        "cache": f"grep -ra canary-key /var/cache/sglang/{instance.name} | head -5",
    }
    for place, command in places.items():
        assert canary not in host.try_shell(command)[1], place
    pids = host.shell(f"cat /sys/fs/cgroup/system.slice/{instance.unit}/cgroup.procs").split()
    assert pids
    for pid in pids:
        assert canary not in host.shell(f"tr '\\0' '\\n' < /proc/{pid}/environ"), "an environment is readable by the same user"

    pid = instance.main_pid()
    rotated = instance.deploy(sglang_server_api_key="another-key-0123456789")
    assert rotated.ok, rotated.output
    assert instance.main_pid() != pid
    assert "The API key changes" in rotated.output or "API key changes" in rotated.output
    dropped = instance.deploy()
    assert dropped.ok, dropped.output
    assert instance.answers(), "no key is wanted any more"
    assert host.try_shell(f"ls {instance.home}/secrets")[0] != 0
