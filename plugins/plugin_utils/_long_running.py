# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Runs a long module as a background job on the target and prints its progress while it runs.

The module appends JSON lines to its option ``progress_file`` (module_utils/_progress.py). Each round trip here is one call of
the module ``job_status``, which waits on the target until there is something to say. The module's own result is handed back
unchanged, so a play sees no difference between a module that runs this way and one that does not.
"""

from __future__ import annotations

import secrets
import time
from typing import Any, Optional

from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._job import JobReport, limit_for, progress_line, vanished_error
from ansible_collections.inference.sglang.plugins.plugin_utils._terminal import wrapped

STATUS_MODULE = "inference.sglang.job_status"
# A host that is lost for longer than this has a trouble of its own; its job goes on without us.
RECONNECT_SECONDS = 90.0
RECONNECT_PAUSE = 3.0


class LongRunningAction(ActionBase):  # type: ignore[misc]  # ansible-core ships no type marker
    """An action plugin named like its module needs nothing but this class as its ``ActionModule``."""

    TRANSFERS_FILES = False
    _supports_check_mode = True
    _supports_async = True  # refused below, with a message that says what to do
    # A module ends itself at its own time limit with a message that says what it waited for; the job's limit is the net below.
    slack_seconds = 120
    # For a module whose check mode is cheap and exact: a host on which nothing is to be done costs one round trip, not a job.
    looks_first = False

    def run(self, tmp: Optional[str] = None, task_vars: Optional[dict[str, Any]] = None) -> dict[str, Any]:
        """Start, follow and tidy up; check mode runs the module in the foreground as it only looks."""
        if self._task.async_val:
            error = SglangError(
                f"{self._task.action} must not be given 'async'",
                found=f"async: {self._task.async_val}",
                wanted="no 'async' and no 'poll': it runs in the background by itself and shows its progress",
                next_step="remove both keywords from the task; the option 'timeout' limits how long it may take",
            )
            raise AnsibleActionFail(str(error))
        super().run(tmp, task_vars)
        self._module = self._task.resolved_action or self._task.action
        self._variables = task_vars or {}
        arguments = dict(self._task.args)
        arguments.pop("progress_file", None)
        if self._task.check_mode:
            return self._call(self._module, arguments)
        if self.looks_first:
            result = self._look(arguments)
            if not result.get("failed") and not result.get("changed"):
                return result
        return self._run_in_background(arguments)

    def _look(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The module in check mode: it tells whether there is anything to do."""
        self._task.check_mode = True
        try:
            return self._call(self._module, arguments)
        finally:
            self._task.check_mode = False

    def _call(self, module: str, arguments: dict[str, Any], limit: int = 0) -> dict[str, Any]:
        """One module call; with a limit it becomes a background job of at most that many seconds."""
        # ansible-core takes the job's time limit from the task. It must read zero again whatever happens here:
        # the task executor would otherwise take our finished result for a job that it has to poll itself.
        self._task.async_val = limit
        try:
            result: dict[str, Any] = self._execute_module(
                module_name=module, module_args=arguments, task_vars=self._variables, wrap_async=limit > 0
            )
            return result
        finally:
            self._task.async_val = 0

    def _run_in_background(self, arguments: dict[str, Any]) -> dict[str, Any]:
        async_dir = self.get_shell_option("async_dir", default="~/.ansible_async")
        progress_file = f"{async_dir}/inference.sglang-{secrets.token_hex(16)}.progress"
        # Made here rather than by _execute_module, which forgets it: the payload in it holds the module's arguments,
        # secrets too, and must go even when the job dies without tidying up after itself.
        payload = self._connection._shell.tmpdir or self._make_tmp_path()
        # Asked now, as the start of a job makes ansible-core say no: it leaves the directory to its wrapper, which may be killed.
        removable = self._should_remove_tmp_path(payload)
        limit = limit_for(arguments.get("timeout"), self.slack_seconds)
        started = self._call(self._module, {**arguments, "progress_file": progress_file}, limit=limit)
        if started.get("failed") or not started.get("ansible_job_id"):
            return started
        watch = {"job_file": started["results_file"], "progress_file": progress_file}
        if removable:
            watch["payload"] = payload
        return self._follow(watch, limit)

    def _follow(self, watch: dict[str, Any], limit: int) -> dict[str, Any]:
        """Ask until the job has ended; print what it says meanwhile."""
        offset, last = 0, ""
        while True:
            result = self._ask({**watch, "offset": offset})
            report = JobReport.from_result(result)
            if report is None:
                return result  # job_status itself failed: its own message says why
            for line in report.lines:
                last = progress_line(line) or last
                self._show(line)
            offset = report.offset
            if report.state == "running":
                continue
            if report.state == "finished":
                return result
            error = vanished_error(self._task.action, report, last, limit)
            return {"failed": True, "changed": report.started, **error.as_result()}

    def _ask(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call job_status; a connection that comes back in time costs nothing, as the job does not depend on it."""
        deadline = None
        while True:
            try:
                return self._call(STATUS_MODULE, arguments)
            except AnsibleConnectionFailure as failure:
                now = time.monotonic()
                deadline = deadline or now + RECONNECT_SECONDS
                if now >= deadline:
                    raise AnsibleConnectionFailure(
                        f"lost while {self._task.action} ran in the background; it goes on there, "
                        f"run the play again to pick it up: {failure}"
                    ) from failure
                self._display.vv(f"[{self._host}] connection lost, trying again: {failure}")
                self._connection.reset()
                # Nothing on this side tells when a host is back.
                time.sleep(RECONNECT_PAUSE)

    @property
    def _host(self) -> str:
        host = str(self._variables.get("inventory_hostname", "?"))
        return f"{host} -> {self._task.delegate_to}" if self._task.delegate_to else host

    def _show(self, line: dict[str, Any]) -> None:
        text = progress_line(line)
        if self._task.no_log:
            text = str(line.get("phase", ""))  # the numbers of a hidden task are nobody's business either
        if text:
            self._display.display(wrapped(f"[{self._host}] {text}"))
