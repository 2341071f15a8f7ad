# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Runs on a systemd host, as root, with the standard library alone: units that become ready or are killed, and who notices how soon.

usage: events.py ARCHIVE KIND COUNT LANES SEED      prints a JSON line for each verdict
Every contender waits for the same event. Its verdict is the moment in which its process has ended: what the way to a controller adds is
the same for all of them and is not counted.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

READY = "[2026-11-30 02:12:58] The server is fired up and ready to roll!"
DISPATCHER = "[2026-11-30 02:11:57 TP0] GDN kernel dispatcher: decode=TritonGDNKernel, extend=TritonGDNKernel"
# The longest sleep of a contender; an event comes anywhere in it.
SLEEP = 15
# A contender that has used no more than this of a CPU for so long has begun to wait.
IDLE_TICKS, IDLE_SECONDS = 2, 3.0
SERVER = f"""
import os, signal, sys, time
log = open(sys.argv[1], "w")
def say(text):
    for stream in (log, sys.stdout):
        stream.write(text + "\\n"); stream.flush()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
say("inference.sglang: start " + os.environ["INVOCATION_ID"])
say("{DISPATCHER}")
signal.sigwait([signal.SIGUSR1])
now = time.monotonic()
say("{READY}")
with open(sys.argv[1] + ".at", "w") as at:
    at.write(repr(now))
time.sleep(600)
"""
MODULE = """
import json, runpy, sys
sys.path.insert(0, sys.argv[1])
from ansible.module_utils import basic
basic._ANSIBLE_ARGS = json.dumps({"ANSIBLE_MODULE_ARGS": json.loads(sys.argv[3])}).encode()
basic._ANSIBLE_PROFILE = "legacy"
runpy.run_module(sys.argv[2], run_name="__main__")
"""
GATE = "ansible_collections.inference.sglang.plugins.modules.log_gate"
WAIT_FOR = "ansible.modules.wait_for"
VERDICTS = {"ready": "ready", "killed": "dead"}


def module(archive: str, name: str, **options: object) -> list[str]:
    """A real module, as Ansible runs it on a host."""
    return [sys.executable, "-c", MODULE, archive, name, json.dumps(options)]


def contenders(kind: str, archive: str, unit: str, log: str, pid: str) -> dict[str, list[str]]:
    """The commands that wait for one event. wait_for and the loop are told what to look for in each kind; the gate is not."""
    gate = {"unit": unit, "gate": {"family": "gdn", "dispatcher": "GDN kernel dispatcher", "dispatcher_count": 1}}
    if kind == "ready":
        wait = {"path": log, "search_regex": "fired up and ready to roll"}
        until = f"while sleep {SLEEP}; do tail -n 20 {log} | grep -q 'fired up and ready to roll' && exit; done"
    else:
        wait = {"path": f"/proc/{pid}", "state": "absent"}
        until = f"while sleep {SLEEP}; do tail -n 20 {log} >/dev/null; kill -0 {pid} 2>/dev/null || exit; done"
    return {
        "log_gate, journal": module(archive, GATE, **gate),
        "log_gate, log file": module(archive, GATE, log_file=log, **gate),
        "wait_for": module(archive, WAIT_FOR, **wait),
        f"sleep {SLEEP}; tail": ["bash", "-c", until],
    }


def shown(unit: str, name: str) -> str:
    return subprocess.run(["systemctl", "show", "--value", "-p", name, unit], capture_output=True, text=True, check=True).stdout.strip()


def ticks(pid: int) -> int:
    """The CPU time that a process has used."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stream:
            words = stream.read().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(words[11]) + int(words[12])


def until_all_wait(pids: list[int]) -> None:
    """A contender that has not begun to wait would be measured by how fast Python starts."""
    used, since = [ticks(pid) for pid in pids], time.monotonic()
    while time.monotonic() - since < IDLE_SECONDS:
        time.sleep(0.1)
        now = [ticks(pid) for pid in pids]
        if any(after - before > IDLE_TICKS for before, after in zip(used, now)):
            used, since = now, time.monotonic()


def began(log: str) -> bool:
    """Whether the unit has come so far that it waits for its signal."""
    try:
        with open(log, encoding="ascii") as stream:
            return DISPATCHER in stream.read()
    except OSError:
        return False


def one_event(kind: str, archive: str, number: int, delay: float, say: threading.Lock) -> None:
    """One unit, one event, all contenders."""
    unit, log = f"bench-gate-{kind}-{number}.service", f"/run/bench-gate-{kind}-{number}.log"
    subprocess.run(["systemd-run", "--quiet", f"--unit={unit}", sys.executable, "-c", SERVER, log], check=True)
    pid = shown(unit, "MainPID")
    while not began(log):
        time.sleep(0.05)
    ended: dict[str, tuple[float, str]] = {}
    waiting = {
        name: subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for name, command in contenders(kind, archive, unit, log, pid).items()
    }

    def follow(name: str, process: subprocess.Popen[str]) -> None:
        output = process.communicate()[0].strip().splitlines()
        ended[name] = (time.monotonic(), output[-1] if output else "")

    threads = [threading.Thread(target=follow, args=item) for item in waiting.items()]
    for thread in threads:
        thread.start()
    until_all_wait([process.pid for process in waiting.values()])
    early = list(ended)
    time.sleep(delay)
    at = time.monotonic()
    os.kill(int(pid), signal.SIGUSR1 if kind == "ready" else signal.SIGKILL)
    for thread in threads:
        thread.join()
    if kind == "ready":
        with open(log + ".at", encoding="ascii") as stream:
            at = float(stream.read())
    subprocess.run(["systemctl", "stop", unit], check=False, capture_output=True)
    subprocess.run(["systemctl", "reset-failed", unit], check=False, capture_output=True)
    with say:
        for name, (moment, answer) in sorted(ended.items()):
            right = name not in early and moment > at
            right = right and (not name.startswith("log_gate") or f'"verdict": "{VERDICTS[kind]}"' in answer)
            print(
                json.dumps({"kind": kind, "who": name, "seconds": moment - at, "right": right, "answer": "" if right else answer}),
                flush=True,
            )


def main(argv: list[str]) -> None:
    archive, kind, count, lanes, seed = argv[0], argv[1], int(argv[2]), int(argv[3]), argv[4]
    dice, say = random.Random(seed), threading.Lock()
    delays = [SLEEP * dice.random() for _ in range(count)]
    with ThreadPoolExecutor(lanes) as pool:
        for future in [pool.submit(one_event, kind, archive, number, delay, say) for number, delay in enumerate(delays)]:
            future.result()


if __name__ == "__main__":
    main(sys.argv[1:])
