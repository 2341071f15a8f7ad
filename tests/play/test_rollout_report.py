# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The callback, playbooks/report.yml and playbooks/teardown.yml on a real systemd host: two inventory hosts with an instance each."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ansible_runner
import pytest

from tests.play.conftest import ROOT, Host, make_instance
from tests.unit.test_rollout_report import harmless

pytestmark = pytest.mark.host

CANARY = "CANARY-report-4711"


class Pair:
    """Two instances on one machine as two hosts of an inventory."""

    def __init__(self, host: Host, folder: Path) -> None:
        self.host, self.folder, self.runs = host, folder, 0
        self.good, self.bad = make_instance(host, "rgood", 31951), make_instance(host, "rbad", 31952)

    def inventory(self, broken: bool) -> dict[str, Any]:
        known = self.host.inventory()["sglang_hosts"]
        die = self.bad.engine(STANDIN_DIE_AT="weights:memory") if broken else {}
        keys = {"sglang_server_api_key": CANARY, "model_shards_token": f"{CANARY}-token"}
        settings = {"good": self.good.settings, "bad": {**self.bad.settings, **die}}
        hosts = {name: {"ansible_host": self.host.address, **keys, **values} for name, values in settings.items()}
        return {"sglang_hosts": {"hosts": hosts, "vars": known["vars"]}}

    def play(self, playbook: str, options: str = "", broken: bool = False, **variables: Any) -> tuple[bool, str]:
        """(whether it went well, output)."""
        self.runs += 1
        folder = self.folder / f"run-{self.runs}"
        folder.mkdir()
        done = ansible_runner.run(
            private_data_dir=str(folder),
            project_dir=str(ROOT),
            playbook=str(ROOT / "playbooks" / playbook),
            inventory=self.inventory(broken),
            extravars={"report_directory": str(self.folder / "reports"), **variables},
            envvars={
                "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
                "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
                "ANSIBLE_NOCOLOR": "1",
                "XDG_STATE_HOME": str(self.folder / "state"),
                "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            },
            cmdline=options or None,
            quiet=True,
        )
        return done.rc == 0, done.stdout.read()

    def report(self) -> dict[str, Any]:
        """The report; no file that was written holds a secret, and the page is whole."""
        written = [path for name in ("reports", "state") for path in (self.folder / name).rglob("*") if path.is_file()]
        assert {path.suffix for path in written} >= {".json", ".html"}
        for path in written:
            assert CANARY not in path.read_text(), path
        harmless((self.folder / "reports/rollout-report.html").read_text())
        read: dict[str, Any] = json.loads((self.folder / "reports/rollout-report.json").read_text())
        return read

    def rows(self) -> dict[str, dict[str, Any]]:
        return {row["host"]: row for row in self.report()["rows"]}


@pytest.fixture(scope="module")
def pair(bare_host: Host, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    made = Pair(bare_host, tmp_path_factory.mktemp("report"))
    yield made
    for each in (made.good, made.bad):
        bare_host.try_shell(f"systemctl disable --now {each.unit}; rm -f /etc/systemd/system/{each.unit}; systemctl daemon-reload")


def test_the_story_of_a_report(pair: Pair) -> None:
    """A deployment of which one host fails, the same from the hosts' records, and the host torn down."""
    ok, output = pair.play("deploy.yml", "--tags sglang_server", broken=True, deploy_batches=["100%"])
    assert not ok
    assert output.count("Rollout report: ") == 1, output
    rows = pair.rows()
    assert (rows["good"]["verdict"], rows["bad"]["verdict"]) == ("accepted", "failed"), rows
    assert rows["good"]["answer"] == "The capital of France is Paris."
    compared = {figure["name"]: (figure["predicted"], figure["actual"]) for figure in rows["good"]["figures"]}
    assert all(isinstance(value, (int, float)) for value in compared["KV tokens"]), compared
    assert {"stop", "start", "gate", "probe", "accept"} <= {span["phase"] for span in rows["good"]["spans"]}
    failure = rows["bad"]["failures"][0]
    assert failure["code"].startswith("GATE-") and failure["next"] and failure["excerpt"], failure
    journals = list((pair.folder / "state/inference.sglang/rollouts").iterdir())
    assert len(journals) == 1
    kinds = [json.loads(line)["event"] for line in journals[0].read_text().splitlines()]
    assert (kinds[0], kinds[-1]) == ("begin", "end")

    shutil.rmtree(pair.folder / "reports")
    ok, output = pair.play("report.yml")
    assert ok, output
    recorded = pair.rows()["good"]
    assert recorded["verdict"] == "accepted"
    for name in ("release", "figures", "accept_length", "tokens_per_second"):
        assert recorded[name] == rows["good"][name], name

    tear_down(pair)


def tear_down(pair: Pair) -> None:
    """What was there before stays: the stand-in's environment, the model directories, the account."""
    host, good = pair.host, pair.good
    assert good.state() == "active"
    ok, output = pair.play("teardown.yml", "-l good --check", teardown_models=False)
    assert ok, output
    assert good.unit in output
    assert good.state() == "active", "check mode stops nothing"
    ok, output = pair.play("teardown.yml", "-l good", teardown_models=False)
    assert ok, output
    left = "ls -d /opt/sglang/instances /var/cache/sglang /etc/systemd/system/sglang-*.service /run/systemd/units/*sglang-*"
    assert "No such file" in host.try_shell(left)[1]
    for line in host.try_shell(left)[1].splitlines():
        assert "cannot access" in line, line
    host.shell("id sglang && test -d /opt/sglang/envs/standin && test -f /opt/sglang/models/Qwen3.6-27B/config.json")
    ok, output = pair.play("teardown.yml", "-l good", teardown_models=False)
    assert ok, output
    assert "changed=0" in output


@pytest.mark.full
def test_a_good_rollout_and_a_verification(pair: Pair) -> None:
    ok, output = pair.play("deploy.yml", "--tags sglang_server")
    assert ok, output
    assert pair.report()["verdict"] == "complete"
    ok, output = pair.play("deploy.yml", "--tags sglang_server")
    assert ok, output
    assert pair.report()["verdict"] == "nothing to do"
    ok, output = pair.play("verify.yml")
    assert ok, output
    assert {row["verdict"] for row in pair.rows().values()} == {"proven"}


@pytest.mark.full
def test_models_are_asked_about_before_anything_is_stopped(pair: Pair) -> None:
    ok, output = pair.play("deploy.yml", "--tags sglang_server")
    assert ok, output
    commit = "0123456789abcdef0123456789abcdef01234567"
    home = f"/opt/sglang/models/acme--tiny/{commit}"
    manifest = {"format": 1, "repo": "acme/tiny", "revision": commit, "requested": "main", "source": "hub", "adopted": False}
    manifest |= {"time": "2026-01-01T00:00:00Z", "path": home, "files": []}
    pair.host.write(f"{home}.manifest.json", json.dumps(manifest))
    pair.host.shell(f"mkdir {home}; touch /opt/sglang/models/acme--tiny/.lock")
    ok, output = pair.play("teardown.yml", "-l good")
    assert not ok and "teardown_models=true" in output, output
    assert pair.good.state() == "active"
    ok, output = pair.play("teardown.yml", "-l good", teardown_models=True)
    assert ok, output
    assert pair.host.try_shell("test -e /opt/sglang/models/acme--tiny")[0] != 0
