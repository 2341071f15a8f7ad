# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""One start: a recorded log, line by line, with the port opened, the deaths died and the stop made where the engine did."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import time
from calendar import timegm
from typing import NoReturn, Optional

from sglang._standin.http_api import State, open_port
from sglang._standin.ranks import Ranks
from sglang._standin.settings import STAGES, Settings, recorded
from sglang.srt.server_args import ServerArgs, prepare_server_args

_STAMP = re.compile(r"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?=[ \]])")
_UVICORN = re.compile(r"Uvicorn running on http://\S+ ")


def seconds_of(line: str) -> Optional[float]:
    """A recorded line's own time."""
    match = _STAMP.match(line)
    return float(timegm(time.strptime(match[1], "%Y-%m-%d %H:%M:%S"))) if match else None


class Engine:
    """The main process."""

    def __init__(self, args: ServerArgs, settings: Settings) -> None:
        self.args = args
        self.settings = settings
        self.lock = threading.Lock()
        self.state = State(args, settings, self.log, on_request=self.on_request)
        self.ranks: Optional[Ranks] = None
        self.serving = False
        # Plain values: an Event is not safe in a signal handler that a second signal may interrupt.
        self.stop_asked = False
        self.request_seen = False

    # -- output --------------------------------------------------------------------------------------------------------------
    def write(self, line: str) -> None:
        """A line as recorded, with the time of now."""
        stamp = time.strftime("[%Y-%m-%d %H:%M:%S")
        with self.lock:
            sys.stderr.write(_STAMP.sub(stamp, line) + "\n")
            sys.stderr.flush()

    def log(self, text: str) -> None:
        """A line of the main process that no recording holds."""
        self.write(f"[2000-01-01 00:00:00] {text}")

    # -- the start -----------------------------------------------------------------------------------------------------------
    def start(self) -> None:
        """Replay up to the end of the recording."""
        self.ranks = Ranks(self.args.tp_size * self.args.pp_size)
        last: Optional[float] = None
        died = hung = False
        for line in self.settings.lines():
            if line.startswith("rc="):
                break
            at = seconds_of(line)
            if at is not None and last is not None:
                self.wait((at - last) / self.settings.speed)
            last = at if at is not None else last
            self.replay(line)
            if not died and self.settings.die_at and STAGES[self.settings.die_at].search(line):
                died = True
                self.die()
            if not hung and self.settings.hang_at and STAGES[self.settings.hang_at].search(line):
                hung = True
                self.wait(float("inf"))
        if not self.state.ready:
            # The recording ends without a server. With recorded last words it dies of them, otherwise it hangs.
            if "sigquit" in line.lower():
                self.kill_all()
            self.wait(float("inf"))

    def replay(self, line: str) -> None:
        """One recorded line and what the engine did at that moment."""
        if "server_args=ServerArgs(" in line:
            self.log(f"server_args={self.args!r}")
            return
        if _UVICORN.search(line):
            self.open_http()
            line = _UVICORN.sub(f"Uvicorn running on http://{self.args.host}:{self.args.port} ", line)
        if STAGES["ready"].search(line):
            self.state.ready = self.serving = True
        self.write(line)

    def open_http(self) -> None:
        """The engine's own SIGTERM handler is in place from here on, not before."""
        try:
            open_port(self.state)
        except OSError as error:
            self.log(
                f"ERROR:    [Errno {error.errno}] error while attempting to bind on address ('{self.args.host}', {self.args.port}): "
                f"{os.strerror(error.errno or 0).lower()}"
            )
            self.kill_all()
        signal.signal(signal.SIGTERM, self.on_stop)

    def on_stop(self, *_: object) -> None:
        """SIGTERM."""
        self.stop_asked = True

    def wait(self, seconds: float) -> None:
        """Sleep, but notice a dead rank or a stop."""
        deadline = time.monotonic() + seconds
        while True:
            if self.stop_asked:
                self.drain()
            if self.request_seen and self.settings.die_at == "request":
                self.request_seen = False
                self.die()
            left = deadline - time.monotonic()
            if left <= 0:
                return
            assert self.ranks is not None
            rank = self.ranks.dead(min(left, 0.05))
            if rank >= 0:
                self.rank_died(rank)

    def serve(self) -> NoReturn:
        """Until a stop or a death."""
        while True:
            self.wait(float("inf"))

    def on_request(self) -> None:
        """Somebody asked for a completion."""
        self.request_seen = True
        if self.settings.die_at == "request":
            time.sleep(5)

    # -- the ends ------------------------------------------------------------------------------------------------------------
    def kill_all(self) -> NoReturn:
        """kill_process_tree: how SGLang 0.5.11 ends both a stop and a failure."""
        if self.ranks:
            self.ranks.kill()
        sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGKILL)
        raise SystemExit(0)

    def die(self) -> None:
        """In the manner that was asked for."""
        manner = self.settings.manner
        if manner == "assertion":
            for line in recorded("death-assertion.log"):
                self.write(line)
            raise SystemExit(1)
        if manner == "kill":
            assert self.ranks is not None
            self.ranks.kill_one()
            self.wait(float("inf"))
        if manner == "exit0":
            if self.ranks:
                self.ranks.kill()
            os._exit(0)
        if manner != "self":
            for line in recorded(f"death-{manner}.log"):
                self.write(line)
        self.kill_all()

    def rank_died(self, rank: int) -> NoReturn:
        """As recorded: an exception while starting, a SIGQUIT while serving."""
        assert self.ranks is not None
        code = self.ranks.exit_code(rank)
        if self.serving:
            if self.args.tp_size > 1:
                for line in recorded("death-rank-killed.log"):
                    self.write(line)
            else:
                pid = self.ranks.processes[rank].pid
                self.log(f"Subprocess scheduler_0 (pid={pid}) crashed with exit code {code}. Triggering SIGQUIT for cleanup...")
                self.log("SIGQUIT received. signum=None, frame=None. It usually means one child failed.")
            self.kill_all()
        self.ranks.kill()
        raise RuntimeError(
            f"Rank {rank} scheduler died during initialization (exit code: {code}). If exit code is -9 (SIGKILL), a common cause is the OS "
            "OOM killer. Run `dmesg -T | grep -i oom` to check."
        )

    def drain(self) -> NoReturn:
        """SIGTERM: no deadline, then SIGKILL of itself."""
        self.stop_asked = False
        self.state.stopping = True
        self.log("SIGTERM received. signum=None frame=None. Draining requests and shutting down...")
        while True:
            time.sleep(max(0.05, 5 / self.settings.speed))
            remaining = self.state.in_flight
            self.log(f"Gracefully exiting... Remaining number of requests {remaining}. Remaining requests remaining_rids=[].")
            if not remaining:
                self.kill_all()


def serve(argv: list[str]) -> NoReturn:
    """The engine's main."""
    settings = Settings.from_environment()
    print(f"This is a STAND-IN for SGLang: it replays the recorded log {settings.log} and loads no model.", flush=True)
    engine = Engine(prepare_server_args(argv), settings)
    try:
        engine.start()
        engine.serve()
    finally:
        if engine.ranks:  # as the engine's own entry point does, or multiprocessing would wait for them
            engine.ranks.kill()
