# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Keeps a journal of a rollout while it runs, and writes its report at the end."""

from __future__ import annotations

DOCUMENTATION = r"""
name: rollout_report
type: notification
short_description: A journal and a report of each deployment, rollback and verification
version_added: "0.1.0"
author: inference.sglang maintainers (@inference-sglang)
description:
  - Looks at the plays of the playbooks C(deploy), C(rollback) and C(verify) of this collection, and at nothing else.
  - Appends an event for each step of each host to a journal while the play runs, one JSON object a line, and at the end writes
    C(rollout-report.json) and C(rollout-report.html). A play that is killed leaves its journal, from which C(playbooks/report.yml)
    makes the report.
  - Takes chosen figures of the results of this collection's modules and the message of a failure, with known kinds of secrets hidden,
    and never a whole result. A result that O(ignore:no_log) hides gives nothing.
  - Never fails a play. What goes wrong in here is one warning.
requirements:
  - Enabled in the configuration (C(callbacks_enabled = inference.sglang.rollout_report)), as in the C(ansible.cfg) of the checkout.
options:
  report_directory:
    description: Where the report goes. The extra variable C(report_directory) of a run wins. A report that is there is replaced.
    type: path
    default: "{{CWD}}/reports"
    ini:
      - section: rollout_report
        key: report_directory
    env:
      - name: INFERENCE_SGLANG_REPORT_DIRECTORY
  journal_directory:
    description: >-
      Where journals go, one file for each run. Empty means C(inference.sglang/rollouts) below C(XDG_STATE_HOME), which is C(~/.local/state)
      where it is not set. Nothing removes old ones.
    type: path
    ini:
      - section: rollout_report
        key: journal_directory
    env:
      - name: INFERENCE_SGLANG_JOURNAL_DIRECTORY
"""

import atexit
import functools
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional

from ansible import context
from ansible.plugins.callback import CallbackBase
from ansible_collections.inference.sglang.plugins.module_utils._plain import as_mapping
from ansible_collections.inference.sglang.plugins.module_utils._rollout_report import build_report
from ansible_collections.inference.sglang.plugins.module_utils._rollout_report_events import Seen, task_event
from ansible_collections.inference.sglang.plugins.plugin_utils._rollout_files import Journal, journal_directory, rollout_id, write_report

PLAYBOOKS = Path(__file__).resolve().parents[2] / "playbooks"
WATCHED = ("deploy", "rollback", "verify")


def playbook_of(path: str) -> str:
    """Which of the watched playbooks a play is from, by its file; empty for any other."""
    file = Path(path.rpartition(":")[0] or path)
    return file.stem if file.stem in WATCHED and file.resolve().parent == PLAYBOOKS else ""


def guarded(method: Callable[..., None]) -> Callable[..., None]:
    """Whatever goes wrong is one warning, and the end of this plugin's work: a play must not fail of its report."""

    @functools.wraps(method)
    def safely(self: CallbackModule, *arguments: Any, **named: Any) -> None:
        if self.broken:
            return
        try:
            method(self, *arguments, **named)
        except Exception as error:
            self.broken = True
            self._display.warning(f"the rollout's report is not complete, the rollout goes on: {type(error).__name__}: {error}")

    return safely


class CallbackModule(CallbackBase):  # type: ignore[misc]  # ansible-core ships no type marker
    """Watches the plays of this collection that change or prove servers."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "inference.sglang.rollout_report"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.broken = False
        self.watching = False  # whether the present play is one of ours
        self.journal: Optional[Journal] = None
        self.directory = ""
        self.named = False  # whether the journal has the hosts' name for this rollout
        self.begun: dict[tuple[str, str], float] = {}

    @guarded
    def v2_playbook_on_play_start(self, play: Any) -> None:
        """Called for each batch of a play."""
        playbook = playbook_of(play.get_path())
        self.watching = bool(playbook)
        if not self.watching:
            return
        manager = play.get_variable_manager()
        if self.journal is None:
            self._begin(playbook, str(manager.extra_vars.get("report_directory") or self.get_option("report_directory")))
        hosts = manager.get_vars(play=play)
        self._write({"event": "batch", "play": play.get_name(), "at": time.time(), **_hosts_of(hosts)})

    def _begin(self, playbook: str, directory: str) -> None:
        self.directory = os.path.abspath(os.path.expanduser(directory))
        now = time.time()
        identifier = rollout_id(now)
        self.journal = Journal(journal_directory(self.get_option("journal_directory")), identifier)
        # Ctrl-C ends a run without its last callback. Forked workers end without this.
        atexit.register(self._end_of_process, os.getpid())
        check = bool(context.CLIARGS.get("check"))
        self._write({"event": "begin", "format": 1, "rollout": identifier, "playbook": playbook, "check": check, "at": now})

    def _write(self, event: dict[str, Any]) -> None:
        if self.journal is not None:
            self.journal.append(event)

    @guarded
    def v2_runner_on_start(self, host: Any, task: Any) -> None:
        """The moment at which a task begins on a host."""
        if self.watching:
            self.begun[(host.get_name(), task._uuid)] = time.time()

    @guarded
    def v2_runner_on_ok(self, result: Any) -> None:
        """A task that succeeded."""
        self._task(result, "changed" if result.is_changed() else "ok")

    @guarded
    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """A task that failed; the play may still come to terms with it."""
        self._task(result, "ignored" if ignore_errors else "failed")

    @guarded
    def v2_runner_on_unreachable(self, result: Any) -> None:
        """A host that was lost."""
        self._task(result, "unreachable")

    @guarded
    def v2_runner_on_skipped(self, result: Any) -> None:
        """Nothing happened."""
        self.begun.pop((result.host.get_name(), result.task._uuid), None)

    def _task(self, result: Any, status: str) -> None:
        if not self.watching:
            return
        task, now = result.task, time.time()
        host = result.host.get_name()
        state = task.args.get("state") if isinstance(task.args, dict) else None
        seen = Seen(
            host=host,
            task=task.get_name(),
            action=str(task.resolved_action or task.action),
            status=status,
            start=self.begun.pop((host, task._uuid), now),
            end=now,
            role=task._role.get_name() if task._role else "",
            path=task.get_path() or "",
            state=state if isinstance(state, str) else "",
        )
        event = task_event(seen, as_mapping(result.result))
        if event is not None and self.journal is not None:
            self._write(event)
            name = event["figures"].get("rollout") if event["phase"] == "record" else None
            if name and not self.named:
                self.named = True
                self.journal.rename(name)

    @guarded
    def v2_playbook_on_stats(self, stats: Any) -> None:
        """The end of a run that came to its end."""
        if self.journal is None:
            return
        self._write({"event": "end", "at": time.time(), "failed": sorted(stats.failures), "unreachable": sorted(stats.dark)})
        self._report()

    def _report(self) -> None:
        journal, self.journal = self.journal, None
        if journal is None:
            return
        journal.close()
        path = write_report(build_report(journal.events), self.directory)
        # Not on standard output: there a callback may be writing a document.
        self._display.display(f"Rollout report: {path} (journal: {journal.path})", stderr=True)

    @guarded
    def _end_of_process(self, pid: int) -> None:
        if os.getpid() == pid:
            self._report()


def _hosts_of(variables: Any) -> dict[str, list[str]]:
    """All hosts of the play, and those of this batch."""
    everyone = [str(name) for name in variables.get("ansible_play_hosts_all") or []]
    batch = [str(name) for name in variables.get("ansible_play_batch") or []]
    # A play on the controller alone prepares the others' work.
    return {"all": [] if everyone == ["localhost"] else everyone, "hosts": [] if batch == ["localhost"] else batch}
