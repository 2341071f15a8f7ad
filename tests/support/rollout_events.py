# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Events of rollouts as the callback writes them, made up for tests and for looking at the page: of any number of hosts, good and bad."""

from __future__ import annotations

from typing import Any

T0 = 1796058000.0  # 2026-11-30 17:00 UTC
OLD, NEW = "1a2b3c4d5e6f7081", "9f8e7d6c5b4a3021"
STAGES = [
    ("process", 0.0),
    ("arguments", 8.1),
    ("distributed", 9.4),
    ("weights", 14.0),
    ("memory", 88.3),
    ("dispatcher", 90.2),
    ("graphs", 91.0),
]
STAGES += [("draft weights", 104.0), ("draft graphs", 109.5), ("scheduler", 112.0), ("http", 113.5), ("warm-up", 114.0), ("ready", 118.0)]
CHANGES = [
    "SGLang: 0.5.11 -> 0.5.14",
    "environment: /opt/sglang/envs/sglang-0.5.11-3f2a90c1 -> /opt/sglang/envs/sglang-0.5.14-77e01b52",
    "--max-running-requests: 8 -> 11",
    "--mem-fraction-static: 0.833 -> 0.841",
    "unit: - Environment=NCCL_DEBUG=INFO",
    "unit: + Environment=NCCL_DEBUG=WARN",
]
PREDICTED = {
    "state_slots": 56,
    "kv_tokens": 186740,
    "max_running_requests": 11,
    "weights_gib": 25.63,
    "after_pools_gib": 6.94,
    "free_gib": 5.37,
}
ACTUAL = {
    "state_slots": 56,
    "kv_tokens": 186512,
    "max_running_requests": 11,
    "weights_gib": 25.64,
    "after_pools_gib": 6.9,
    "free_gib": 5.41,
}
EXCERPT = [
    "[2026-11-30 17:04:12 TP0] Load weight end. elapsed=74.11 s, type=Qwen3_5, avail mem=20.02 GB, mem usage=25.64 GB.",
    "[2026-11-30 17:04:12 TP1] Load weight end. elapsed=74.13 s, type=Qwen3_5, avail mem=20.02 GB, mem usage=25.64 GB.",
    "[2026-11-30 17:04:13 TP1] Scheduler hit an exception: Traceback (most recent call last):",
    '  File "/opt/sglang/envs/sglang-0.5.14-77e01b52/lib/python3.11/site-packages/sglang/model_runner.py", line 1712, in init_memory_pool',
    '    raise RuntimeError("Not enough memory. Please try to increase --mem-fraction-static.")',
    "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
    "[2026-11-30 17:04:14] Received sigquit from a child process. It usually means the child failed.",
    "inference.sglang: end 4f1c status 1",
]
FAILURE = {
    "code": "GATE-021",
    "wrong": "GATE-021: the server died while starting: the weights and the reserve leave nothing for the pools",
    "found": "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. [exited, status 1]",
    "wanted": "sglang-default.service ready",
    "next": "let the plan size it: remove mem_fraction_static (variable: sglang_server_settings.mem_fraction_static)",
    "excerpt": EXCERPT,
}


class Rollout:
    """Gathers events; each task begins when the one before it has ended on that host."""

    def __init__(self, hosts: list[str], playbook: str = "deploy", check: bool = False) -> None:
        self.hosts, self.now = hosts, dict.fromkeys(hosts, T0 + 2.0)
        self.events: list[dict[str, Any]] = [
            {"event": "begin", "format": 1, "rollout": "20261130T170000Z-5c1d", "playbook": playbook, "check": check, "at": T0}
        ]

    def batch(self, hosts: list[str]) -> None:
        start = max([self.now[host] for host in self.hosts if self.now[host]], default=T0)
        self.events.append({"event": "batch", "play": "Deploy", "all": self.hosts, "hosts": hosts, "at": start})
        for host in hosts:
            self.now[host] = max(self.now[host], start)

    def task(
        self, host: str, module: str, phase: str, seconds: float, status: str = "changed", figures: Any = None, failure: Any = None
    ) -> None:
        start = self.now[host]
        self.now[host] = start + seconds
        event = {
            "event": "task",
            "host": host,
            "task": f"Do {module}",
            "module": module,
            "phase": phase,
            "start": start,
            "end": self.now[host],
        }
        self.events.append({**event, "status": status, "figures": figures or {}, **({"failure": failure} if failure else {})})

    def end(self, failed: tuple[str, ...] = (), unreachable: tuple[str, ...] = ()) -> list[dict[str, Any]]:
        at = max(self.now.values()) + 1
        self.events.append({"event": "end", "at": at, "failed": list(failed), "unreachable": list(unreachable)})
        return self.events


def plan(converged: bool = False) -> dict[str, Any]:
    return {
        "release": NEW,
        "before": NEW if converged else OLD,
        "instance": "default",
        "sglang": "0.5.14",
        "model": "Qwen/Qwen3.6-27B",
        "changes": [] if converged else CHANGES,
        "reasons": [] if converged else [f"release {NEW} is wanted, {OLD} is the accepted one"],
        "predicted": PREDICTED,
        "gpus": ["NVIDIA RTX A6000", "NVIDIA RTX A6000"],
        "converged": converged,
    }


def gate(speed: float, until: int = len(STAGES)) -> dict[str, Any]:
    stages = [{"stage": name, "at_s": at * speed} for name, at in STAGES[:until]]
    return {"verdict": "ready", "seconds": 118 * speed, "stages": stages, "actual": ACTUAL if until > 5 else {"weights_gib": 25.64}}


PROBE = {
    "question": "What is the capital of France?",
    "answer": "The capital of France is Paris.",
    "accept_length": 2.71,
    "tokens_per_second": 55.3,
    "max_model_len": 262144,
}


def good(rollout: Rollout, host: str, speed: float = 1.0) -> None:
    """A host that takes the new release."""
    rollout.task(host, "launch_plan", "plan", 1.4, "ok", plan())
    rollout.task(host, "command", "drain", 12 * speed)
    rollout.task(host, "server_stop", "stop", 9.5)
    rollout.task(host, "systemd_service", "start", 0.6)
    rollout.task(host, "log_gate", "gate", 118 * speed, "ok", gate(speed))
    rollout.task(host, "serving_probe", "probe", 6.2, "ok", {**PROBE, "tokens_per_second": round(55.3 / speed, 1)})
    rollout.task(host, "server_release", "accept", 0.3, "changed", {"accepted": NEW})
    rollout.task(host, "uri", "undrain", 2.1)


def refused(rollout: Rollout, host: str) -> None:
    """A host whose new release dies in the gate and whose old one comes back."""
    rollout.task(host, "launch_plan", "plan", 1.4, "ok", plan())
    rollout.task(host, "command", "drain", 14)
    rollout.task(host, "server_stop", "stop", 9.5)
    rollout.task(host, "systemd_service", "start", 0.6)
    rollout.task(host, "log_gate", "gate", 91, "failed", gate(1.0, 5), FAILURE)
    rollout.task(host, "server_stop", "stop", 0.4)
    rollout.task(host, "systemd_service", "start", 0.6)
    rollout.task(host, "log_gate", "gate", 117, "ok", gate(1.0))
    rollout.task(host, "serving_probe", "probe", 6.1, "ok", PROBE)
    rollout.task(host, "server_release", "accept", 0.3, "changed", {"accepted": OLD})
    back = f"release {OLD} serves again, proven; release {NEW} was refused"
    rollout.task(host, "fail", "", 0.1, "failed", {}, {**FAILURE, "excerpt": [], "put_back": back})


def rollout_of(count: int, failing: int = 0, converged: int = 0, lost: bool = False) -> list[dict[str, Any]]:
    """``count`` hosts in batches of 1, a quarter, the rest; the host with that number fails, the last ones are converged."""
    hosts = [f"gpu{number}" for number in range(1, count + 1)]
    made = Rollout(hosts)
    quarter = max(1, count // 4)
    batches = [hosts[:1], hosts[1 : 1 + quarter], hosts[1 + quarter :]]
    for batch in filter(None, batches):
        made.batch(batch)
        bad = []
        for host in batch:
            number = int(host[3:])
            if number > count - converged:
                made.task(host, "launch_plan", "plan", 1.1, "ok", plan(converged=True))
            elif number == failing:
                refused(made, host)
                bad.append(host)
            else:
                good(made, host, 0.9 + (number * 7 % 10) / 40)
        if bad:
            return made.end(tuple(bad), (hosts[-1],) if lost else ())
    return made.end()
