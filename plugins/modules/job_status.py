#!/usr/bin/python
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

DOCUMENTATION = r"""
module: job_status
short_description: Looks at a background job of this collection
description:
  - The action plugins of this collection's long modules call it; there is no need to use it in a play.
  - It waits on the host until the job has ended or has reported something new, for O(wait) seconds at most, so that following
    a job costs one round trip for each thing that is worth telling.
  - When the job has ended it returns the result of the job's module and removes the job's files.
version_added: "0.1.0"
author: inference.sglang maintainers (@inference-sglang)
options:
  job_file:
    description: The file in which C(async_wrapper) keeps the job's state, RV(ignore:results_file) of the task that started it.
    type: path
    required: true
  progress_file:
    description: The file to which the job's module appends its progress.
    type: path
    required: true
  offset:
    description: How many bytes of O(progress_file) have been read already.
    type: int
    default: 0
  wait:
    description: Seconds to wait for the end of the job or for a new line.
    type: float
    default: 5.0
  payload:
    description:
      - Directory of the job's module on the host, removed when the job has ended.
      - It holds the module's arguments, and a job that was killed leaves it behind.
    type: path
attributes:
  check_mode:
    description: Long modules run in the foreground in check mode, so there is no job to look at.
    support: none
  diff_mode:
    description: The result may hold the diff of the job's module.
    support: none
  platform:
    description: Linux, as it reads C(/proc).
    support: full
    platforms: linux
"""

EXAMPLES = r"""
- name: Look at a job
  inference.sglang.job_status:
    job_file: /root/.ansible_async/j1234.5678
    progress_file: /root/.ansible_async/inference.sglang-0123.progress
"""

RETURN = r"""
inference_sglang_job:
  description: What is known about the job. The other keys are the result of the job's module once it has ended.
  returned: always
  type: dict
  contains:
    state:
      description: One of V(running), V(finished), V(killed), V(timeout), V(gone).
      type: str
    offset:
      description: To be given as O(offset) next time.
      type: int
    lines:
      description: New progress lines.
      type: list
      elements: dict
    started:
      description: Whether the job's module ran at all.
      type: bool
    restarted:
      description: Whether the host has been started again since the job began.
      type: bool
    detail:
      description: More about a job that ended badly.
      type: str
"""

import json
import os
import shutil
import signal
import time
from typing import Any, Optional

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inference.sglang.plugins.module_utils._job import REPORT_KEY, JobReport, job_state, split_progress

POLL_SECONDS = 0.2
# The wrapper's watcher looks after its child every five seconds; without any process of the job nothing more will come.
LIVENESS_SECONDS = 1.0


def read_job(path: str) -> Optional[dict[str, Any]]:
    """The job file's content; {} while it is being written, None when there is no such file."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as handle:
            data = json.load(handle)
    except FileNotFoundError:
        return None
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def is_alive(job_file: str) -> bool:
    """Whether a process of the job is left: ansible-core's wrapper carries the job's id in its command line."""
    job_id = os.path.basename(job_file).split(".")[0].encode()
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/cmdline", "rb") as handle:
                arguments = handle.read().split(b"\0")
        except OSError:
            continue
        if job_id in arguments and any(b"async_wrapper" in argument for argument in arguments):
            return True
    return False


def host_started() -> float:
    """When PID 1 started, by the clock: that of a container is later than its kernel's."""
    with open("/proc/stat", encoding="ascii") as handle:
        boot = next(int(line.split()[1]) for line in handle if line.startswith("btime "))
    with open("/proc/1/stat", encoding="ascii") as handle:
        ticks = int(handle.read().rpartition(")")[2].split()[19])
    return boot + ticks / os.sysconf("SC_CLK_TCK")


def read_progress(path: str, offset: int) -> tuple[list[dict[str, Any]], int]:
    try:
        with open(path, "rb") as handle:
            handle.seek(offset)
            lines, used = split_progress(handle.read())
    except FileNotFoundError:
        return [], offset
    return lines, offset + used


def look(job_file: str) -> tuple[str, str, dict[str, Any]]:
    """(state, detail, result) of the job right now, without asking for its processes."""
    data = read_job(job_file)
    if data is None:
        return "gone", f"no file {job_file}", {}
    if not data:
        return "running", "", {}
    state, detail = job_state(data)
    return state, detail, data if state == "finished" else {}


def wait_for_news(job_file: str, progress_file: str, offset: int, wait: float) -> tuple[JobReport, dict[str, Any]]:
    """Return at the end of the job or at new lines, at the latest after ``wait`` seconds."""
    deadline = time.monotonic() + wait
    next_liveness = 0.0
    while True:
        state, detail, result = look(job_file)
        now = time.monotonic()
        if state == "running" and now >= next_liveness:
            next_liveness = now + LIVENESS_SECONDS
            if not is_alive(job_file):
                # Looked at in this order, a job that ended in between is not taken for one that died.
                state, detail, result = look(job_file)
                state, detail = ("gone", "no process is left of it") if state == "running" else (state, detail)
        lines, offset = read_progress(progress_file, offset)
        if state != "running" or lines or now >= deadline:
            restarted = state == "gone" and os.path.exists(job_file) and os.path.getmtime(job_file) < host_started()
            return JobReport(state, offset, lines, started=True, restarted=restarted, detail=detail), result
        time.sleep(POLL_SECONDS)


def end_leftovers(payload: str) -> list[int]:
    """Kill what still runs out of a job's payload; the processes' ids.

    ansible-core's wrapper ends a job by killing its child's process group. A module that was forked before that group was made, as
    happens on a busy machine, is not in it and would go on for good.
    """
    found = []
    beginning = payload.rstrip("/").encode() + b"/"
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/cmdline", "rb") as handle:
                arguments = handle.read().split(b"\0")
            if any(argument.startswith(beginning) for argument in arguments):
                os.kill(int(name), signal.SIGKILL)
                found.append(int(name))
        except OSError:
            continue
    return found


def is_payload(path: Optional[str]) -> bool:
    """Only ansible-core's own temporary directories are touched, and only whole ones."""
    return path is not None and os.path.isabs(path) and os.path.basename(path.rstrip("/")).startswith("ansible-tmp-")


def tidy_up(job_file: str, progress_file: str, payload: Optional[str]) -> None:
    """Remove what a job leaves on the host."""
    for path in (job_file, job_file + ".tmp", progress_file):
        try:
            os.unlink(path)
        except OSError:
            continue
    if payload is not None and is_payload(payload):
        shutil.rmtree(payload, ignore_errors=True)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "job_file": {"type": "path", "required": True},
            "progress_file": {"type": "path", "required": True},
            "offset": {"type": "int", "default": 0},
            "wait": {"type": "float", "default": 5.0},
            "payload": {"type": "path"},
        },
    )
    params = module.params
    report, result = wait_for_news(params["job_file"], params["progress_file"], params["offset"], params["wait"])
    if report.state == "running":
        module.exit_json(changed=False, **{REPORT_KEY: report.as_dict()})
    if report.state != "finished" and is_payload(params["payload"]):
        end_leftovers(params["payload"])
    tidy_up(params["job_file"], params["progress_file"], params["payload"])
    # As async_status does: the module's result went through exit_json once, and warnings are no longer plain text then.
    print("\n" + json.dumps({**result, REPORT_KEY: report.as_dict()}))  # pylint: disable=ansible-bad-function
    # Without an exit of its own ansible-core takes the module for one that forgot to report, and reports that, too.
    raise SystemExit(0)


if __name__ == "__main__":
    main()
