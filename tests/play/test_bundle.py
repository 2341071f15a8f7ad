# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""playbooks/bundle.yml on a controller with a network, then both roles on a host without one, through ansible-runner."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import ansible_runner
import pytest

from tests.support.snapshot_lab import REPO, WANTED, make_model, running_hub

ROOT = Path(__file__).resolve().parents[2]
PLAYS = Path(__file__).resolve().parent / "bundle"
NOWHERE = "http://127.0.0.1:9"


def play(folder: Path, playbook: Path, options: str = "", **variables: Any) -> tuple[int, int, str]:
    """(failed hosts, changed tasks, output)."""
    scratch = folder / "runner" / str(len(list(folder.glob("runner/*"))))
    (scratch / "inventory").mkdir(parents=True)
    # As a fleet's inventory says it: the bundle's play must not go there.
    target = {"ansible_connection": "local", "ansible_python_interpreter": "/usr/bin/python3", "ansible_become": False, **variables}
    (scratch / "inventory/hosts.json").write_text(json.dumps({"sglang_hosts": {"hosts": {"target": target}}}))
    (scratch / "ansible.cfg").write_text("[defaults]\n")
    run = ansible_runner.run(
        private_data_dir=str(scratch),
        playbook=str(playbook),
        envvars={
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
            "ANSIBLE_CONFIG": str(scratch / "ansible.cfg"),
            "ANSIBLE_ASYNC_DIR": str(folder / "async"),
            "ANSIBLE_NOCOLOR": "1",
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        },
        cmdline=options or None,
        quiet=True,
    )
    stats = run.stats or {}
    return len(stats.get("failures", {})), stats.get("changed", {}).get("target", 0), (Path(run.config.artifact_dir) / "stdout").read_text()


def small_lock(path: Path) -> Path:
    """One package of the download tool's lock in the place of SGLang's two hundred."""
    text = (ROOT / "roles/model_shards/files/locks/huggingface-hub.txt").read_text()
    block = re.search(r"^idna==[^\n]*\n(?: +--hash[^\n]*\n)+", text, re.MULTILINE)
    assert block is not None
    path.write_text(block.group(0).replace(" \\\n    # ", "\n    # "))
    return path


@pytest.mark.full
def test_from_a_controller_with_a_network_to_a_host_without_one(tmp_path: Path) -> None:
    source = make_model(tmp_path / "hub" / REPO)
    probe = [sys.executable, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    python = subprocess.run(["/usr/bin/python3", *probe[1:]], check=True, capture_output=True, text=True).stdout.strip()
    bundle = tmp_path / "disk/bundle"
    wishes = {
        "model_shards_repo": REPO,
        "ml_env_lock": str(small_lock(tmp_path / "lock.txt")),
        "ml_env_bundle_python": python,
        "ml_env_bundle": "/nowhere/on/this/machine",
    }
    with running_hub(tmp_path / "hub") as hub:
        made = {
            **wishes,
            "model_shards_endpoint": hub.url,
            "ansible_connection": "ssh",
            "ansible_host": "192.0.2.1",
            "ansible_become": True,
        }
        options = f"-e bundle_path={bundle} -e bundle_host=target -e bundle_tools={tmp_path / 'tools'}"
        failed, changed, output = play(tmp_path, ROOT / "playbooks/bundle.yml", options, **made)
        assert (failed, changed > 0) == (0, True), output
        listed = json.loads((bundle / "bundle.json").read_text())
        assert {"uv", "environment, download tool"} <= {file["purpose"] for file in listed["files"]}
        hub.log.clear()
        failed, changed, output = play(tmp_path, ROOT / "playbooks/bundle.yml", options, **made)
        assert (failed, changed) == (0, 0), output
        assert hub.log == []

    host = {
        **wishes,
        "ml_env_bundle": str(bundle),
        "ml_env_root": str(tmp_path / "host/envs"),
        "ml_env_tools": str(tmp_path / "host/tools"),
        "ml_env_link": str(tmp_path / "host/ml-env"),
        "ml_env_imports": ["idna"],
        "ml_env_disk_needed_mib": 0,
        "model_shards_root": str(tmp_path / "host/models"),
        "model_shards_tools": str(tmp_path / "host/tools"),
        "ml_env_index_url": NOWHERE,
        "model_shards_index_url": NOWHERE,
        "model_shards_endpoint": NOWHERE,
    }
    failed, changed, output = play(tmp_path, PLAYS / "play.yml", **host)
    assert failed == 0, output
    (published,) = (path for path in (tmp_path / "host/models/acme--tiny").iterdir() if path.is_dir() and path.name[0] != ".")
    assert sorted(path.name for path in published.iterdir()) == WANTED
    assert all((published / name).read_bytes() == (source / name).read_bytes() for name in WANTED)
    assert (tmp_path / "host/ml-env/bin/python").exists()
    assert not list((tmp_path / "host/tools").glob("hub-*")), "no download tool is needed"
    bundle.rename(tmp_path / "unmounted")
    failed, changed, output = play(tmp_path, PLAYS / "play.yml", **host)
    assert (failed, changed) == (0, 0), output
