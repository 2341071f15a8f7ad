# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""One run of the GPU benchmark: start each server in turn, send it its loads, and write the record after every step."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.gpu_bench.client import Target, send
from tests.gpu_bench.configurations import Command, Wanted, command
from tests.gpu_bench.figures import summary
from tests.gpu_bench.loads import WARM_UP, load_named
from tests.gpu_bench.server import MemoryWatch, Server, used_mib

FORMAT = 1
START_SECONDS = 70.0
"""A start and a load are not begun when less than this is left of the time that was given."""
LOAD_SECONDS = 30.0


@dataclass
class Bench:
    """Where and how it runs, and what it has found."""

    engine: Sequence[str]
    """The program and what stands before the arguments: [python, -m, sglang.launch_server]."""
    release: str
    cards: Sequence[Mapping[str, Any]]
    where: Mapping[str, Any]
    out: Path
    facts: Mapping[str, Any]
    until: float
    """By time.monotonic()."""
    timeout: float = 300.0
    """Of a start, and of a load."""
    say: Callable[[str], None] = print
    runs: list[dict[str, Any]] = field(default_factory=list)

    def left(self) -> float:
        return self.until - time.monotonic()

    def keep(self) -> None:
        """The record so far, in one piece whenever it is read."""
        record = {"format": FORMAT, **self.facts, "runs": self.runs}
        fresh = self.out / "record.json.new"
        fresh.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
        fresh.replace(self.out / "record.json")

    def run(self, wanted: Sequence[Wanted]) -> None:
        """As many as there is time for, in order."""
        for one in wanted:
            if self.left() < START_SECONDS:
                self.runs.append({"name": one.name, "left_out": "no time was left"})
            else:
                self._one(one)
            self.keep()

    def _one(self, wanted: Wanted) -> None:
        try:
            found = command(wanted, self.release, self.cards, self.where)
        except Exception as error:  # whatever it is, the others are still to be measured
            self.runs.append({"name": wanted.name, "left_out": f"no command: {error}"})
            return
        before = sum(run["name"] == wanted.name for run in self.runs)
        argv = [*self.engine, *found.argv]
        self.say(f"{wanted.name}: {' '.join(found.argv)} {found.env}")
        run = _described(wanted, found)
        self.runs.append(run)
        server = Server(argv, found.env, self.out / (f"{wanted.name}-{before + 1}.log" if before else f"{wanted.name}.log"))
        try:
            run["start"] = _started(server.wait(found.gate, min(self.timeout, max(self.left(), 1.0))))
            run["start"]["used_mib"] = max(used_mib(), default=None)
            self.say(f"{wanted.name}: {run['start']['verdict']} after {run['start']['seconds']} s")
            self.keep()
            if run["start"]["verdict"] == "ready":
                self._loads(wanted, server, run)
        finally:
            server.stop()

    def _loads(self, wanted: Wanted, server: Server, run: dict[str, Any]) -> None:
        target = Target(int(self.where["port"]), self.timeout, str(self.where["host"]))
        send(target, WARM_UP, seed=0)
        for number, name in enumerate(wanted.loads, 1):
            if self.left() < LOAD_SECONDS:
                run["loads"][name] = {"left_out": "no time was left"}
                continue
            load = load_named(name, run["start"]["figures"])
            server.new_lines()
            with MemoryWatch() as watch:
                answers = send(target, load, seed=number)
            run["loads"][name] = {"what": load.what, **summary(answers, server.new_lines(), watch.seen)}
            self.say(f"{wanted.name} {name}: {run['loads'][name]}")
            self.keep()
            if not server.alive():
                run["died"] = f"status {server.process.returncode} during {name}"
                return


def _described(wanted: Wanted, found: Command) -> dict[str, Any]:
    return {
        "name": wanted.name,
        "what": wanted.what,
        "published": wanted.published,
        "changed": found.changed,
        "simulated_accept_length": wanted.accept if wanted.accept and "SGLANG_SIMULATE_ACC_LEN" in found.env else None,
        "argv": found.argv,
        "env": found.env,
        "predicted": found.predicted,
        "loads": {},
    }


def _started(result: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of the gate's result."""
    figures = dict(result["figures"])
    return {
        "verdict": result["verdict"],
        "seconds": result["seconds"],
        "dispatcher_lines": result["dispatcher"]["seen"],
        "cause": result["cause"],
        "figures": figures,
    }
