# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""playbooks/prune.yml through ansible-runner over the local connection."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import ansible_runner
import pytest

from tests.support.prune_lab import PruneHost

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root sees what every process uses")


def play(host: PruneHost, options: str = "", **variables: Any) -> tuple[int, int, str]:
    """(failed hosts, changed tasks, output)."""
    scratch = host.folder / "runner" / str(len(list(host.folder.glob("runner/*"))))
    (scratch / "inventory").mkdir(parents=True)
    target = {
        "ansible_connection": "local",
        "ansible_python_interpreter": "/usr/bin/python3",
        "model_shards_root": str(host.models),
        "ml_env_root": str(host.envs),
        "ml_env_link": str(host.folder / "ml-env"),
        "sglang_server_root": str(host.folder),
        **variables,
    }
    (scratch / "inventory/hosts.json").write_text(json.dumps({"sglang_hosts": {"hosts": {"target": target}}}))
    (scratch / "ansible.cfg").write_text("[defaults]\n")
    run = ansible_runner.run(
        private_data_dir=str(scratch),
        playbook=str(ROOT / "playbooks/prune.yml"),
        envvars={
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
            "ANSIBLE_CONFIG": str(scratch / "ansible.cfg"),
            "ANSIBLE_NOCOLOR": "1",
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        },
        cmdline=options or None,
        quiet=True,
    )
    stats = run.stats or {}
    return len(stats.get("failures", {})), stats.get("changed", {}).get("target", 0), (Path(run.config.artifact_dir) / "stdout").read_text()


@pytest.mark.full
def test_what_check_mode_said_and_then_nothing_more(tmp_path: Path) -> None:
    host = PruneHost(tmp_path)
    models = [host.model(number) for number in range(1, 4)]
    environments = [host.environment(number) for number in range(1, 4)]
    host.stamp(models[0])
    (tmp_path / "ml-env").symlink_to(environments[0])
    keep = {"model_shards_keep": 1, "ml_env_keep": 1}
    failed, changed, output = play(host, "--check --diff", **keep)
    assert (failed, changed) == (0, 2), output
    assert f"prune {models[1]}: nothing uses it" in " ".join(output.split()), "lines go on in the next one"
    assert f"-{environments[1]}" in output
    assert all(path.is_dir() for path in [*models, *environments])
    failed, changed, output = play(host, **keep)
    assert (failed, changed) == (0, 2), output
    assert [path.is_dir() for path in models] == [path.is_dir() for path in environments] == [True, False, True]
    failed, changed, output = play(host, **keep)
    assert (failed, changed) == (0, 0), output
