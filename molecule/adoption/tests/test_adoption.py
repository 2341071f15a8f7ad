# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What was there is still there, proven, and serves as a unit."""

from __future__ import annotations

import json
from typing import Any

UNIT = "sglang-default.service"
MODEL = "/root/models/Qwen3.6-27B"
testinfra_hosts = ["sglang_hosts"]


def test_environment_is_the_same_directory_without_a_forged_marker(host: Any) -> None:
    environment = host.file("/root/ml-env")
    assert environment.is_directory
    assert not environment.is_symlink
    assert not host.file("/root/ml-env/.complete.json").exists
    assert host.file("/root/ml-env/bin/pip").exists, "what a person installed is still there"


def test_model_was_verified_where_it_lies(host: Any) -> None:
    manifests = host.check_output("ls /opt/sglang/models/adopted/*.manifest.json").split()
    assert len(manifests) == 1
    manifest = json.loads(host.file(manifests[0]).content_string)
    assert MODEL in json.dumps(manifest)
    assert not host.run("ls -d /opt/sglang/models/*--*").stdout, "nothing was downloaded"


def test_server_runs_as_a_unit_from_the_adopted_paths(host: Any) -> None:
    service = host.service(UNIT)
    assert service.is_running
    assert service.is_enabled
    pid = host.check_output(f"systemctl show -P MainPID {UNIT}")
    command = host.check_output(f"tr '\\0' ' ' < /proc/{pid}/cmdline")
    assert command.startswith("/root/ml-env/bin/python")
    assert f"--model-path {MODEL} " in command
    for flag in ("--speculative-num-steps 3", "--speculative-eagle-topk 1", "--speculative-num-draft-tokens 4", "--tp-size 2"):
        assert flag in command
    assert host.check_output(f"ps -o user= -p {pid}").strip() == "root"  # as the inventory asks


def test_server_by_hand_is_gone(host: Any) -> None:
    listeners = host.check_output("ss -H -ltnp 'sport = :30000'").splitlines()
    assert len(listeners) == 1
    unit_pids = host.check_output(f"cat /sys/fs/cgroup/system.slice/{UNIT}/cgroup.procs").split()
    assert any(f"pid={pid}," in listeners[0] for pid in unit_pids)


def test_log_goes_on_in_the_same_file(host: Any) -> None:
    log = host.file("/root/sglang_serve.log").content_string
    assert log.index("inference.sglang: start ") > 0, "what was logged before is kept"
    assert log.count("The server is fired up and ready to roll!") == 2


def test_accepted_release_is_stamped(host: Any) -> None:
    stamp = json.loads(host.file("/opt/sglang/instances/default/accepted.json").content_string)
    release = json.loads(host.file(f"/opt/sglang/instances/default/releases/{stamp['id']}/release.json").content_string)
    assert release["environment"]["path"] == "/root/ml-env"
    assert release["model"]["path"] == MODEL
