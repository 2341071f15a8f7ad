# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Runs one service: start, watch, stop as KillMode=mixed, restart on failure. One such process for each running unit."""

from __future__ import annotations

import contextlib
import ctypes
import grp
import os
import pwd
import resource
import shutil
import signal
import subprocess
import time
import uuid
from pathlib import Path
from typing import NoReturn, Optional

from tests.support.supervisor.cgroup import Group
from tests.support.supervisor.state import ROOT, Record, Unit, since
from tests.support.supervisor.unit_file import Refused, Service

_PR_SET_CHILD_SUBREAPER = 36
_EXIT_EXEC = 203
_SIGNALS = {signal.SIGCHLD, signal.SIGTERM}
# What systemd counts as a clean end (SuccessExitStatus=).
_CLEAN = {signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGPIPE}
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def ended(status: int) -> tuple[str, int, int]:
    """(Result, ExecMainCode, ExecMainStatus) of a wait status. CLD_EXITED is 1, CLD_KILLED 2, CLD_DUMPED 3."""
    if os.WIFEXITED(status):
        code = os.WEXITSTATUS(status)
        return ("success" if code == 0 else "exit-code", 1, code)
    number = os.WTERMSIG(status)
    if os.WCOREDUMP(status):
        return "core-dump", 3, number
    return ("success" if number in _CLEAN else "signal", 2, number)


class Supervisor:
    """One unit, from its start to its end."""

    def __init__(self, unit: Unit, service: Service, record: Record) -> None:
        self.unit, self.service, self.record = unit, service, record
        self.group = Group(unit.name)
        self.account = pwd.getpwnam(service.user)
        self.gid = grp.getgrnam(service.group).gr_gid if service.group else self.account.pw_gid
        self.stopping = False
        self.credentials = Path(f"{ROOT}/run/credentials/{unit.name}")

    # ----- the whole life -----
    def run(self, ready: int) -> None:
        """In a process of its own. Writes to the descriptor ``ready`` once: nothing when the program runs, else why it does not."""
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.record.supervisor, self.record.supervisor_since = os.getpid(), since(os.getpid())
        while True:
            trouble = self._begin()
            if ready >= 0:
                os.write(ready, trouble.encode())
                os.close(ready)
                ready = -1
            status = self._watch() if not trouble else _EXIT_EXEC << 8
            result, self.record.exit_code, self.record.exit_status = ended(status)
            self._say("deactivating", "final-sigkill", result=self.record.result if self.record.result == "timeout" else result)
            self._clear()
            if trouble or self.stopping or not self._again():
                break
        failed = self.record.result != "success"
        self.record.supervisor = 0
        self._say("failed" if failed else "inactive", "failed" if failed else "dead", main_pid=0, control_group="")

    def _say(self, active: str, sub: str, **changes: object) -> None:
        self.record.active, self.record.sub = active, sub
        for name, value in changes.items():
            setattr(self.record, name, value)
        self.unit.write(self.record)

    def _again(self) -> bool:
        """Restart=on-failure within the start limit; a stop in between ends it."""
        record, service = self.record, self.service
        if service.restart != "on-failure" or record.result == "success":
            return False
        self._say("activating", "auto-restart", main_pid=0)
        if signal.sigtimedwait({signal.SIGTERM}, service.restart_seconds):
            self.record.result = "success"
            return False
        if over_limit(record, service):
            record.result = "start-limit-hit"
            return False
        record.restarts += 1
        return True

    def _clear(self) -> None:
        self.group.kill()
        self.group.remove()
        shutil.rmtree(self.credentials, ignore_errors=True)

    # ----- start -----
    def _begin(self) -> str:
        """Start the program; returns why it does not run, or nothing."""
        self.record.starts = [*self.record.starts, time.time()][-self.service.start_burst :]
        invocation = uuid.uuid4().hex
        self._say("activating", "start", invocation=invocation, result="success", exit_code=0, exit_status=0, control_group=self.group.name)
        self.group.make()
        environment = self._environment(invocation)
        self._place_directories()
        for command, counts in self.service.exec_start_pre:
            done = subprocess.run(command, env=environment, capture_output=True, check=False) if os.path.exists(command[0]) else None
            if counts and (done is None or done.returncode):
                return f"ExecStartPre failed: {command[0]}"
        parent_end, child_end = os.pipe()  # close-on-exec: it closes when the program runs
        pid = os.fork()
        if pid == 0:
            self._become(environment, child_end)
        os.close(child_end)
        with os.fdopen(parent_end, "rb") as stream:
            trouble = stream.read().decode(errors="replace")
        self._say("activating" if trouble else "active", "start" if trouble else "running", main_pid=pid)
        return trouble

    def _environment(self, invocation: str) -> dict[str, str]:
        """systemd's own variables and the unit's; nothing of whoever called."""
        entry = self.account
        found = {"PATH": _PATH, "LANG": "C.UTF-8", "USER": entry.pw_name, "LOGNAME": entry.pw_name, "HOME": entry.pw_dir}
        found |= {"SHELL": entry.pw_shell or "/bin/sh", "INVOCATION_ID": invocation}
        if self.service.cache_directory:
            found["CACHE_DIRECTORY"] = self._cache()
        if self.service.credentials:
            found["CREDENTIALS_DIRECTORY"] = str(self.credentials)
        return {**found, **self.service.environment}

    def _cache(self) -> str:
        return f"{ROOT}/var/cache/{self.service.cache_directory}"

    def _place_directories(self) -> None:
        if self.service.cache_directory:
            os.makedirs(self._cache(), exist_ok=True)
            os.chown(self._cache(), self.account.pw_uid, self.gid)
            os.chmod(self._cache(), self.service.cache_mode)
        if self.service.credentials:
            self.credentials.mkdir(mode=0o700, parents=True, exist_ok=True)
            for name, path in self.service.credentials.items():
                place = self.credentials / name
                place.unlink(missing_ok=True)
                place.write_bytes(Path(path).read_bytes())
                os.chmod(place, 0o400)
                os.chown(place, self.account.pw_uid, self.gid)
            os.chown(self.credentials, self.account.pw_uid, self.gid)

    def _become(self, environment: dict[str, str], report: int) -> NoReturn:
        """In the child: the group, the log, the limits, the user, then the program."""
        service = self.service
        try:
            self.group.join()
            os.setsid()
            os.umask(service.umask)
            log = os.open(service.log_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
            nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
            for source, target in ((nothing, 0), (log, 1), (log, 2)):
                os.dup2(source, target)
            for name, limit in service.limits.items():
                _limit(name, limit)
            if os.geteuid() == 0:
                os.initgroups(service.user, self.gid)
                os.setgid(self.gid)
                os.setuid(self.account.pw_uid)
            os.chdir(service.directory)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            os.execve(service.exec_start[0], service.exec_start, environment)
        except BaseException as error:
            os.write(report, f"{service.exec_start[0]}: {error}".encode())
        os._exit(_EXIT_EXEC)

    # ----- until it ends -----
    def _watch(self) -> int:
        """The main process's wait status. A stop reaches the main process alone; at its time limit everything is killed."""
        deadline: Optional[float] = None
        while True:
            left = 3600.0 if deadline is None else max(0.0, deadline - time.monotonic())
            got = signal.sigtimedwait(_SIGNALS, left)
            if got is not None and got.si_signo == signal.SIGTERM and not self.stopping:
                self.stopping = True
                deadline = time.monotonic() + self.service.stop_seconds
                self._say("deactivating", "stop-sigterm")
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.record.main_pid, signal.SIGTERM)
            elif deadline is not None and time.monotonic() >= deadline and self.record.result != "timeout":
                self._say("deactivating", "stop-sigkill", result="timeout")
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.record.main_pid, signal.SIGKILL)
                deadline = None
            status = self._reap()
            if status is not None:
                return status

    def _reap(self) -> Optional[int]:
        """Take the ends of all children, orphans of the service included; the main one's status when it is among them."""
        found = None
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    break
                if pid == self.record.main_pid:
                    found = status
        return found


def _limit(name: str, wanted: tuple[int, int]) -> None:
    """Set one limit; where this machine forbids to raise it, as far as it goes, and the log says so."""
    which = getattr(resource, f"RLIMIT_{name}")
    try:
        resource.setrlimit(which, wanted)
    except (ValueError, PermissionError) as error:
        hard = resource.getrlimit(which)[1]
        print(f"supervisor substitute: not applied: Limit{name}={wanted[0]}:{wanted[1]} ({error}); it is {hard}", flush=True)
        resource.setrlimit(which, (hard, hard))


def over_limit(record: Record, service: Service) -> bool:
    """Whether one more start would be one too many (StartLimitBurst= within StartLimitIntervalSec=)."""
    recent = [at for at in record.starts if time.time() - at < service.start_interval]
    return len(recent) >= service.start_burst


def start_detached(unit: Unit, service: Service, record: Record) -> str:
    """A supervisor in a session of its own, outside the caller's pipes; returns why the program does not run, or nothing."""
    supervisor = Supervisor(unit, service, record)  # what it refuses, it refuses here
    hears, tells = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        os.chdir("/")
        nothing = os.open(os.devnull, os.O_RDWR)
        for target in (0, 1, 2):
            os.dup2(nothing, target)
        os.closerange(3, tells)
        os.closerange(tells + 1, 4096)
        try:
            supervisor.run(tells)
        except BaseException as error:
            with contextlib.suppress(OSError):
                os.write(tells, f"the supervisor failed: {error!r}".encode())
            raise
        finally:
            os._exit(0)
    os.close(tells)
    os.waitpid(pid, 0)
    with os.fdopen(hears, "rb") as stream:
        return stream.read().decode(errors="replace")


def stop(unit: Unit, record: Record) -> None:
    """Ask the supervisor to stop, and wait until it has."""
    if not record.supervisor:
        return
    descriptor = -1
    try:
        descriptor = os.pidfd_open(record.supervisor)
        os.kill(record.supervisor, signal.SIGTERM)
    except ProcessLookupError:
        return
    except OSError as error:
        raise Refused(f"to stop on a kernel without pidfd ({error})") from error
    with open(descriptor, "rb") as handle:
        _wait(handle.fileno())


def _wait(descriptor: int) -> None:
    import select

    select.select([descriptor], [], [])
