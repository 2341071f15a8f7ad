# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Before a rollback a person sees what it would change: every argument, variable and line of the unit that differs."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.inference.sglang.plugins.module_utils import _release_files as files
from ansible_collections.inference.sglang.plugins.module_utils._planner import HostPlanner
from ansible_collections.inference.sglang.plugins.module_utils._release import Stamp
from ansible_collections.inference.sglang.plugins.module_utils._release_changes import Kept, release_changes
from ansible_collections.inference.sglang.plugins.module_utils._server_plan import build_release
from ansible_collections.inference.sglang.plugins.modules import server_release

from tests.unit.test_core_modules import run
from tests.unit.test_server_plan import PLACES, WISHES, plan_of


def kept(wishes: dict[str, Any], places: dict[str, Any], **settings: Any) -> tuple[Kept, dict[str, Any]]:
    built = build_release(plan_of(**settings), dataclasses.replace(WISHES, **wishes), dataclasses.replace(PLACES, **places))
    return Kept(json.loads(built["files"]["release.json"]), built["unit"]), built


OURS, OURS_BUILT = kept({}, {})


def test_a_release_differs_in_nothing_from_itself() -> None:
    assert release_changes(OURS, OURS) == []


@pytest.mark.parametrize(
    ("wishes", "places", "settings", "told"),
    [
        ({}, {}, {"max_running_requests": 2}, "--max-running-requests: 11 -> 2"),
        ({}, {}, {"dtype": "bfloat16"}, "--dtype: none -> bfloat16"),
        ({}, {}, {"enable_metrics": False}, "--enable-metrics: on -> none"),
        ({"environment": {"NCCL_DEBUG": "WARN"}}, {}, {}, 'unit: + Environment="NCCL_DEBUG=WARN"'),
        ({"stop_timeout": 5}, {}, {}, "unit: - TimeoutStopSec=180"),
        ({"user": "root"}, {}, {}, "unit: + User=root"),
        ({"launcher": "x"}, {}, {}, "launcher: "),
        ({}, {"environment": "/opt/sglang/envs/f"}, {}, "environment: /opt/sglang/envs/e -> /opt/sglang/envs/f"),
        ({}, {"sglang_version": "0.5.23"}, {}, "SGLang: 0.5.11 -> 0.5.23"),
        ({}, {"model_revision": "r2"}, {}, "model revision: r1 -> r2"),
        ({}, {"model_digest": "d" * 64}, {}, "model content: none -> dddddddddddd"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_difference_is_told_both_ways(wishes: dict[str, Any], places: dict[str, Any], settings: dict[str, Any], told: str) -> None:
    theirs, built = kept(wishes, places, **settings)
    assert built["id"] != OURS_BUILT["id"]
    there = release_changes(OURS, theirs)
    assert any(line.startswith(told) for line in there), there
    assert release_changes(theirs, OURS)
    assert not any(built["id"] in line or OURS_BUILT["id"] in line for line in there), "that the directory differs is no news"


def test_the_module_tells_it_of_a_kept_release(tmp_path: Path, capsys: Any) -> None:
    home = tmp_path / "instances/default"
    theirs, built = kept({}, {}, max_running_requests=2)
    for release in (OURS_BUILT, built):
        files.publish(str(home / "releases" / release["id"]), release["files"])
    record = OURS.record
    files.write_accepted(str(home), Stamp(OURS_BUILT["id"], record["unit_sha256"], record["launcher_sha256"]))
    found = run(server_release, capsys, root=str(tmp_path), id=built["id"])
    assert found["changes"] == release_changes(OURS, theirs)
    assert run(server_release, capsys, root=str(tmp_path))["changes"] == []
    (home / "releases" / OURS_BUILT["id"] / "release.json").write_text("{")
    (told,) = run(server_release, capsys, root=str(tmp_path), id=built["id"])["changes"]
    assert told == "the difference cannot be told: the release's record is damaged"


def test_a_plan_tells_it_of_the_release_that_it_wants(tmp_path: Path) -> None:
    home = tmp_path / "instances/default"
    theirs, built = kept({}, {}, max_running_requests=2)
    files.publish(str(home / "releases" / OURS_BUILT["id"]), OURS_BUILT["files"])
    stamp = Stamp(OURS_BUILT["id"], OURS.record["unit_sha256"], OURS.record["launcher_sha256"])
    planner = HostPlanner({"root": str(tmp_path), "instance": "default"}, lambda _command: (0, "", ""), lambda _text: None, False)
    assert planner.changes(built, stamp) == release_changes(OURS, theirs)
    assert planner.changes(OURS_BUILT, stamp) == planner.changes(built, None) == []
    assert planner.changes(built, dataclasses.replace(stamp, id="0" * 16)) == []
