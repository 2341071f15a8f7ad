# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The callback rollout_report, fed as ansible-core feeds it: what it writes down, what it leaves out, and that it breaks nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.inference.sglang.plugins.callback import rollout_report
from ansible_collections.inference.sglang.plugins.module_utils._rollout_report_events import (
    Seen,
    clean,
    failure_of,
    parse_message,
    task_event,
)

ROOT = Path(__file__).resolve().parents[2]
CANARY = "CANARY-7f3a"
ROLE = "inference.sglang.sglang_server"


class Plugin(rollout_report.CallbackModule):
    """With the options given and what it says kept."""

    def __init__(self, folder: Path) -> None:
        super().__init__(display=SimpleNamespace(verbosity=0))
        self.folder, self.said, self.warned = folder, [], []
        self._display = SimpleNamespace(
            display=lambda text, **_named: self.said.append(text), warning=lambda text, **_named: self.warned.append(text), verbosity=0
        )

    def get_option(self, option: str, hostvars: Any = None) -> Any:
        return {"report_directory": str(self.folder / "reports"), "journal_directory": str(self.folder / "journals")}[option]

    def play(self, path: str = f"{ROOT}/playbooks/deploy.yml:7", extra: Any = None, hosts: Any = ("one", "two")) -> None:
        manager = SimpleNamespace(
            extra_vars=extra or {}, get_vars=lambda play: {"ansible_play_hosts_all": list(hosts), "ansible_play_batch": list(hosts)}
        )
        self.v2_playbook_on_play_start(
            SimpleNamespace(get_path=lambda: path, get_name=lambda: "Deploy", get_variable_manager=lambda: manager)
        )

    def task(self, action: str, result: Any, kind: str = "ok", host: str = "one", name: str = "Do it", path: str = "", **args: Any) -> None:
        role = SimpleNamespace(get_name=lambda: ROLE)
        task = SimpleNamespace(
            _uuid=name,
            _role=role,
            args=args,
            action=action,
            resolved_action=action,
            get_name=lambda: f"{ROLE} : {name}",
            get_path=lambda: path,
        )
        target = SimpleNamespace(get_name=lambda: host)
        self.v2_runner_on_start(target, task)
        done = SimpleNamespace(task=task, host=target, result=result, is_changed=lambda: bool(result.get("changed")))
        getattr(self, f"v2_runner_on_{kind}")(done)

    def stats(self, failures: Any = (), dark: Any = ()) -> None:
        self.v2_playbook_on_stats(SimpleNamespace(failures=dict.fromkeys(failures, 1), dark=dict.fromkeys(dark, 1)))

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for path in sorted((self.folder / "journals").glob("*")) for line in path.read_text().splitlines()]


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plugin:
    monkeypatch.setattr(rollout_report.context, "CLIARGS", {})
    return Plugin(tmp_path)


def test_a_rollout_is_written_down_and_reported(plugin: Plugin, tmp_path: Path) -> None:
    plugin.play()
    figures = {"ranks": {"TP0": {"kv_tokens": 5, "free_after_pools_gb": 2.0}, "TP1": {"kv_tokens": 4, "free_after_pools_gb": 1.0}}}
    plugin.task(
        "inference.sglang.log_gate", {"verdict": "ready", "seconds": 3.0, "figures": figures, "stages": [{"stage": "ready", "at_s": 3}]}
    )
    plugin.task("inference.sglang.server_release", {"changed": True, "accepted": {"id": "a" * 16}}, state="accepted")
    message = "GATE-001: the server died\n  found: a line\n  wanted: ready\n  next: look\nput back: release b serves again"
    plugin.task("ansible.builtin.fail", {"msg": message}, "failed", host="two")
    plugin.stats(failures=["two"])
    events = plugin.events()
    assert [event["event"] for event in events] == ["begin", "batch", "task", "task", "task", "end"]
    assert events[2]["figures"]["actual"] == {"kv_tokens": 4, "after_pools_gib": 1.0}, "the rank with the least memory left"
    report = json.loads((tmp_path / "reports/rollout-report.json").read_text())
    assert {row["host"]: row["verdict"] for row in report["rows"]} == {"one": "accepted", "two": "failed"}
    failure = report["rows"][0]["failures"][0]
    assert {name: failure[name] for name in ("code", "found", "wanted", "next", "put_back")} == {
        "code": "GATE-001",
        "found": "a line",
        "wanted": "ready",
        "next": "look",
        "put_back": "release b serves again",
    }
    assert (tmp_path / "reports/rollout-report.html").read_text().startswith("<!DOCTYPE html>")
    assert len(plugin.said) == 1 and "rollout-report.html" in plugin.said[0]
    assert plugin.warned == []
    journal = next((tmp_path / "journals").iterdir())
    assert (journal.stat().st_mode & 0o777, journal.parent.stat().st_mode & 0o777) == (0o600, 0o700)


@pytest.mark.parametrize(
    "path", [f"{ROOT}/playbooks/plan.yml:4", "/srv/site/playbooks/deploy.yml:1", f"{ROOT}/tests/play/server/one.yml:2", "", "deploy.yml"]
)
def test_other_plays_are_passed_over(plugin: Plugin, tmp_path: Path, path: str) -> None:
    plugin.play(path)
    plugin.task("inference.sglang.log_gate", {"verdict": "ready"})
    plugin.stats()
    assert (list(tmp_path.iterdir()), plugin.said, plugin.warned) == ([], [], [])


def test_the_link_of_the_checkout_leads_to_the_same_playbooks(plugin: Plugin) -> None:
    plugin.play(f"{ROOT}/.collections/ansible_collections/inference/sglang/playbooks/rollback.yml:3")
    assert plugin.events()[0]["playbook"] == "rollback"


def test_the_extra_variable_names_the_directory(plugin: Plugin, tmp_path: Path) -> None:
    plugin.play(extra={"report_directory": str(tmp_path / "elsewhere")})
    plugin.stats()
    assert sorted(path.name for path in (tmp_path / "elsewhere").iterdir()) == ["rollout-report.html", "rollout-report.json"]


def test_an_interrupted_run_has_its_report_and_a_killed_one_its_journal(plugin: Plugin, tmp_path: Path) -> None:
    plugin.play()
    plugin.task("inference.sglang.server_stop", {"changed": True})
    assert [event["event"] for event in plugin.events()] == ["begin", "batch", "task"], "written as it goes"
    plugin._end_of_process(os.getpid() + 1)
    assert not (tmp_path / "reports").exists(), "a forked worker writes nothing"
    plugin._end_of_process(os.getpid())
    assert json.loads((tmp_path / "reports/rollout-report.json").read_text())["verdict"] == "interrupted"


def test_a_record_that_is_only_read_is_of_another_rollout(plugin: Plugin, tmp_path: Path) -> None:
    plugin.play()
    record = {"rollout": {"rollout": "r-6", "phase": "rejoined"}}
    plugin.task("inference.sglang.rollout_record", record, name="Read the record")
    plugin.task("inference.sglang.launch_plan", {"difference": {"converged": True}})
    plugin.task("inference.sglang.rollout_record", {"changed": True, "rollout": {"phase": "drained"}}, name="Record the drain", host="two")
    plugin.stats()
    report = json.loads((tmp_path / "reports/rollout-report.json").read_text())
    assert {row["host"]: row["verdict"] for row in report["rows"]} == {"one": "unchanged", "two": "interrupted"}


def test_the_journal_takes_the_hosts_name_for_the_rollout(plugin: Plugin, tmp_path: Path) -> None:
    for _run in range(2):
        plugin.play()
        plugin.task("inference.sglang.rollout_record", {"rollout": {"rollout": "r-7", "phase": "rejoined"}}, name="Record the rollout")
        plugin.stats()
        plugin.named = False
    names = sorted(path.name for path in (tmp_path / "journals").iterdir())
    assert len(names) == 2 and "r-7.jsonl" in names, "the second run of a rollout has a journal of its own"


# ----- it breaks nothing -----


def break_the_disk(plugin: Plugin) -> None:
    (plugin.folder / "journals").write_text("a file where a directory should be")


def break_the_report(plugin: Plugin) -> None:
    (plugin.folder / "reports").write_text("a file where a directory should be")


def break_the_play(plugin: Plugin) -> None:
    plugin.v2_playbook_on_play_start(SimpleNamespace(get_path=lambda: f"{ROOT}/playbooks/deploy.yml:7"))


@pytest.mark.parametrize("harm", [break_the_disk, break_the_report, break_the_play])
def test_an_error_is_one_warning(plugin: Plugin, harm: Callable[[Plugin], None]) -> None:
    harm(plugin)
    plugin.play()
    for result in ({}, {"figures": 3, "stages": "x"}, {"figures": {"ranks": [1]}}):
        plugin.task("inference.sglang.log_gate", result)
    plugin.stats()
    assert len(plugin.warned) == 1 and "rollout goes on" in plugin.warned[0]


# ----- no secret -----

PLAN = {"plan": {"argv": ["--api-key", CANARY]}, "release": {"files": {"x": CANARY}, "environment": {"A": CANARY}}}
CHANGES = [f"unit: + Environment=HF_TOKEN={CANARY}", f"--api-key: none -> {CANARY}", f"--admin-api-key: {CANARY} -> none"]
REQUEST = {"invocation": {"module_args": {"headers": {"Authorization": CANARY}, "api_key": CANARY}}}
SECRETS = [
    ("inference.sglang.launch_plan", PLAN),
    ("inference.sglang.launch_plan", {"difference": {"changes": CHANGES}}),
    ("inference.sglang.log_gate", {"censored": "hidden", "verdict": CANARY, "figures": {"x": CANARY}}),
    ("inference.sglang.log_gate", {"figures": {"api_key": CANARY}, "excerpt": [f"server_args=ServerArgs(api_key='{CANARY}')"]}),
    ("inference.sglang.serving_probe", {"answer": "Paris", "checks": [{"detail": CANARY}], **REQUEST}),
    ("inference.sglang.model_snapshot", {"token": CANARY, "stdout": CANARY, "msg": CANARY}),
    ("ansible.builtin.uri", {"json": {"k": CANARY}, "content": CANARY, **REQUEST}),
]
FAILED = [
    ("ansible.builtin.command", {"msg": "non-zero return code", "stdout": CANARY, "stderr": CANARY, "cmd": ["x", CANARY]}),
    ("ansible.builtin.copy", {"censored": "hidden", "msg": CANARY}),
    ("ansible.builtin.copy", {"msg": "One or more items failed", "results": [{"failed": True, "censored": "hidden", "msg": CANARY}]}),
    ("inference.sglang.serving_probe", {"msg": f"PROBE-001: refused\n  found: Authorization: Bearer {CANARY}", "code": "PROBE-001"}),
    ("inference.sglang.log_gate", {"msg": f"GATE-001: HF_TOKEN={CANARY}", "excerpt": [f"--api-key {CANARY}", f"api_key='{CANARY}'"]}),
]


@pytest.mark.parametrize(("kind", "cases"), [("ok", SECRETS), ("failed", FAILED), ("failed", SECRETS[:4]), ("unreachable", FAILED)])
def test_no_secret_is_written(plugin: Plugin, tmp_path: Path, kind: str, cases: list[tuple[str, dict[str, Any]]]) -> None:
    plugin.play()
    for action, result in cases:
        plugin.task(action, result, kind, path="/x/roles/sglang_server/tasks/restart.yml:3")
    plugin.stats(failures=["one"])
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) == 3
    for path in written:
        assert CANARY not in path.read_text(), path.name
    assert sum(event["event"] == "task" for event in plugin.events()) >= len(cases) - 1, "they were looked at"


def test_text_is_made_visible_before_it_is_kept() -> None:
    assert clean("\x1b[31mred\x1b[0m \x1b]0;title\x07\u202eevil\ud800\x00 \t|") == "red evil \t|"
    assert clean("HF_TOKEN=hf_abcdefghijklmnopqrst " + "x" * 5000, 100).startswith("HF_TOKEN=***")
    assert len(clean("x" * 5000, 100)) == 100


def test_a_message_comes_apart_into_its_parts() -> None:
    message = "no such balancer\n  found: a\n    and b\n  wanted: c\n  next: d\nput back: e\nto look into it: f"
    assert parse_message(message) == {"wrong": "no such balancer", "found": "a and b", "wanted": "c", "next": "d", "put_back": "e"}
    assert parse_message("plain") == {"wrong": "plain"}
    assert failure_of({"msg": "One or more items failed", "results": [{"msg": "ok"}, {"failed": True, "msg": "this one"}]}) == {
        "wrong": "this one"
    }


@pytest.mark.parametrize(
    ("action", "role", "path", "state", "phase"),
    [
        ("ansible.builtin.apt", "inference.sglang.inference_host", "", "present", "stage"),
        ("inference.sglang.server_stop", ROLE, "/r/tasks/restart.yml:3", "", "stop"),
        ("ansible.builtin.systemd_service", ROLE, "/r/tasks/restart.yml:9", "started", "start"),
        ("ansible.builtin.uri", "inference.sglang.fleet_rollout", "/r/tasks/balancers/nginx/drain.yml:3", "", "drain"),
        ("ansible.builtin.command", "", "/srv/site/balancer/undrain.yml:12", "", "undrain"),
        ("ansible.builtin.set_fact", "inference.sglang.ml_env", "", "", None),
        ("ansible.builtin.stat", ROLE, "/r/tasks/plan.yml:1", "", None),
    ],
)
def test_phases(action: str, role: str, path: str, state: str, phase: Any) -> None:
    event = task_event(Seen("one", "x", action, "ok", 1.0, 2.0, role, path, state), {})
    assert (event or {}).get("phase") == phase
    failed = task_event(Seen("one", "x", action, "failed", 1.0, 2.0, role, path, state), {"msg": "no"})
    assert failed is not None and failed["failure"] == {"wrong": "no"}, "a failure is always of interest"
