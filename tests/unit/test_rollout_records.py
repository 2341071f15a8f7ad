# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The same report from what the hosts have written down."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.inference.sglang.plugins.filter.rollout_report import rollout_report
from ansible_collections.inference.sglang.plugins.module_utils import _rollout_report as core
from ansible_collections.inference.sglang.plugins.module_utils._rollout_report_records import events_of, instance_record, seconds_of

from tests.support.rollout_events import rollout_of
from tests.unit.test_rollout_report import harmless

OLD, NEW = "0123456789abcdef", "fedcba9876543210"
TIMES = {"admitted": "2026-11-30T17:00:00Z", "drained": "2026-11-30T17:00:20Z", "switched": "2026-11-30T17:02:20Z"}
GATE = {"max_running_requests": 11, "ranks": {"TP0": {"kv_tokens": 990, "free_after_pools_gb": 6.9}}}


def write(path: Path, data: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data))


def instance(root: Path, phase: str = "rejoined", accepted: str = NEW) -> Path:
    """A host after a rollout from OLD to NEW."""
    home = root / "instances/default"
    for identifier, running in ((OLD, "8"), (NEW, "11")):
        record: dict[str, Any] = {"unit_sha256": "u", "launcher_sha256": "l", "model": {"path": "x"}}
        record |= {"id": identifier, "unit": "sglang-default.service", "environment": {"sglang_version": "0.5.11"}}
        record["serving"] = {"argv": ["--max-running-requests", running], "model": "qwen", "key_file": "CANARY"}
        write(home / f"releases/{identifier}/release.json", record)
        write(home / f"releases/{identifier}/sglang-default.service", f"[Service]\nExecStart=/x {identifier}\n")
        write(home / f"releases/{identifier}/plan.json", {"memory": {"per_rank": {"kv_tokens": 1000, "max_running_requests": 11}}})
    stamp = {"format": 1, "unit_sha256": "u", "launcher_sha256": "l", "accepted_at": "2026-11-30T17:02:19Z"}
    figures = {"gate": GATE, "probe": {"accept_length": 2.7, "tokens_per_second": 55.3}}
    write(home / "accepted.json", {**stamp, "id": accepted, "figures": figures})
    if accepted == NEW:
        write(home / "previous.json", {**stamp, "id": OLD, "figures": {}})
    times = {**TIMES, phase: "2026-11-30T17:02:25Z"}
    told = {"format": 1, "rollout": "r-7", "release": NEW, "from": OLD, "phase": phase, "verdict": "so it went", "code": ""}
    write(home / "rollout.json", {**told, "at": times[phase], "times": times})
    return home


def report_of(*homes: Path, lost: Any = ()) -> core.Report:
    hosts = {f"host{number}": [instance_record(str(home))] for number, home in enumerate(homes, 1)}
    return core.build_report(events_of(json.loads(json.dumps(hosts)), lost))


def test_a_change_is_told_from_its_records(tmp_path: Path) -> None:
    report = report_of(instance(tmp_path))
    assert (report.verdict, report.rollout, len(report.rows)) == (core.COMPLETE, "r-7", 1)
    row = report.rows[0]
    assert (row.verdict, row.before, row.release, row.note, row.sglang, row.model) == (
        core.ACCEPTED,
        OLD,
        NEW,
        "so it went",
        "0.5.11",
        "qwen",
    )
    assert row.changes == ("--max-running-requests: 8 -> 11",)
    assert {figure.name: (figure.predicted, figure.actual) for figure in row.figures}["KV tokens"] == (1000, 990)
    assert (row.accept_length, row.tokens_per_second) == (2.7, 55.3)
    assert [(span.phase, span.seconds) for span in row.spans if span.seconds] == [("drain", 20.0), ("switch", 120.0), ("undrain", 5.0)]


@pytest.mark.parametrize(("phase", "verdict"), [("rolled_back", core.ROLLED_BACK), ("failed", core.FAILED), ("drained", core.INTERRUPTED)])
def test_a_host_that_did_not_get_there(tmp_path: Path, phase: str, verdict: str) -> None:
    report = report_of(instance(tmp_path / "one"), instance(tmp_path / "two", phase, accepted=OLD), lost=["gone"])
    assert {row.host: row.verdict for row in report.rows} == {"host1": core.ACCEPTED, "host2": verdict, "gone": core.UNREACHABLE}
    assert report.verdict == core.STOPPED
    row = next(row for row in report.rows if row.host == "host2")
    assert row.tokens_per_second is None, "the figures of the old release are no proof of the new one"


def test_without_a_record_of_the_rollout_the_stamps_tell(tmp_path: Path) -> None:
    home = instance(tmp_path)
    (home / "rollout.json").unlink()
    row = report_of(home).rows[0]
    assert (row.verdict, row.before, row.release) == (core.ACCEPTED, OLD, NEW)


@pytest.mark.parametrize(
    "damaged", ["rollout.json", "accepted.json", "previous.json", f"releases/{NEW}/release.json", f"releases/{NEW}/plan.json"]
)
@pytest.mark.parametrize("text", ["", "{", "[" * 100000, "[1]", '{"format": 1, "id": 7, "times": 3}', '{"serving": {"argv": 3}}'])
def test_damaged_records_are_a_row_and_no_failure(tmp_path: Path, damaged: str, text: str) -> None:
    home = instance(tmp_path)
    write(home / damaged, text)
    record = instance_record(str(home))
    made = rollout_report({"one": [record]}, ["gone"])
    harmless(made["html"])
    assert {row["host"] for row in json.loads(made["json"])["rows"]} == {"one", "gone"}


def test_what_the_hosts_keep_to_themselves_stays_there(tmp_path: Path) -> None:
    assert "CANARY" not in json.dumps(instance_record(str(instance(tmp_path))))


def test_the_filter_reads_a_journal(tmp_path: Path) -> None:
    text = "".join(json.dumps(event) + "\n" for event in rollout_of(2)[:-1])
    assert rollout_report(text)["headline"].startswith("Interrupted")


def test_moments() -> None:
    assert [seconds_of(text) for text in ("1970-01-01T00:01:00Z", "1970-01-01T00:01:00.25Z", "yesterday", None)] == [60.0, 60.25, 0.0, 0.0]
