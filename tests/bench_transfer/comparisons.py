# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is compared with what. Each comparison runs all sides against one server, in turn, and gives lines to print."""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench_transfer import hosts
from tests.bench_transfer.hosts import Hosts
from tests.bench_transfer.origin import Origin, running
from tests.bench_transfer.watched import Run

GIB = 2**30


@contextmanager
def origin_and_hosts(folder: Path, total: int, rate: int) -> Iterator[tuple[Origin, Hosts]]:
    """A hub with a model of ``total`` bytes, and hosts whose download tool is built already."""
    fleet = Hosts(folder / "fleet")
    with running(folder / "small-hub", 1 << 20) as small:
        fleet.model(small, 1, 0)
    fleet.forget()
    with running(folder / "hub", total, rate) as origin:
        yield origin, fleet


def in_turn(sides: dict[str, Callable[[Path], Run | None]], folder: Path, runs: int) -> dict[str, list[Run]]:
    """Every side ``runs`` times, one after the other so that a machine that grows slower is so for all; nothing is kept between."""
    found: dict[str, list[Run]] = {name: [] for name in sides}
    for number in range(runs):
        for name, side in sides.items():
            target = folder / f"{name.split()[0]}-{number}"
            target.mkdir(parents=True)
            run = side(target / "model")
            if run is not None:
                found[name].append(run)
            shutil.rmtree(target)
    return found


def one_host(folder: Path, total: int, rate: int, runs: int) -> list[str]:
    """Verified download against the tools alone."""
    with origin_and_hosts(folder, total, rate) as (origin, fleet):
        client = fleet.hub_client()
        found = in_turn(
            {
                "hf download": lambda target: hosts.hf(client, origin, [target]),
                "aria2c, checksums": lambda target: hosts.aria2(origin, target),
                "model_snapshot": lambda target: hosts.module(origin, client, target),
            },
            folder / "one",
            runs,
        )
    base = statistics.median(run.seconds for run in found["hf download"])
    lines = [f"one host, {total / GIB:.1f} GiB, {pace(rate)}, median of {runs}:"]
    for name, taken in found.items():
        if not taken:
            lines.append(f"  {name}: not installed")
            continue
        seconds = statistics.median(run.seconds for run in taken)
        peak = max(run.host_mib for run in taken)
        each = ", ".join(f"{run.seconds:.1f}" for run in taken)
        lines.append(f"  {name}: {seconds:.1f} s ({each}), {seconds / base:.2f} x hf download, at most {peak:.0f} MiB")
    return lines


def fleet(folder: Path, total: int, rate: int, count: int) -> list[str]:
    """One host, ``count`` hosts by fan-out, and ``count`` independent downloads, under one cap of the origin."""
    with origin_and_hosts(folder, total, rate) as (origin, fleet_hosts):
        client = fleet_hosts.hub_client()
        one = fleet_hosts.model(origin, 1, 1)
        fleet_hosts.forget()
        origin.forget()
        many = fleet_hosts.model(origin, count, 1)
        sent = origin.sent_bytes()
        fleet_hosts.forget()
        again = [folder / f"hf-{number}" for number in range(count)]
        alone = hosts.hf(client, origin, again)
    return [
        f"{count} hosts, {total / GIB:.1f} GiB, {pace(rate)}:",
        f"  one host: {one.seconds:.1f} s",
        f"  {count} hosts, model_shards_seeds 1: {many.seconds:.1f} s, {many.seconds / one.seconds:.2f} x one host, "
        f"origin sent {sent / total:.3f} x the model",
        f"  {count} independent hf download: {alone.seconds:.1f} s, {alone.seconds / many.seconds:.2f} x the fan-out's time",
        f"  memory: controller at most {many.controller_mib:.0f} MiB, all hosts together {many.host_mib:.0f} MiB",
    ]


def memory(folder: Path, total: int) -> list[str]:
    """Of the controller and of one host, for a small and a large model: it should not grow with it."""
    lines = ["memory, one host, as fast as it goes:"]
    for size in (total // 10, total):
        with origin_and_hosts(folder / str(size), size, 0) as (origin, fleet_hosts):
            run = fleet_hosts.model(origin, 1, 0)
            fleet_hosts.forget()
        lines.append(
            f"  {size / GIB:.1f} GiB in {run.seconds:.0f} s: controller at most {run.controller_mib:.0f} MiB, host {run.host_mib:.0f} MiB"
        )
    return lines


def pace(rate: int) -> str:
    """For people."""
    return f"the origin sends {rate / 1e6:.0f} MB/s in all" if rate else "the origin sends as fast as it can"
