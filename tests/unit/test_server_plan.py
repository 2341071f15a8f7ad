# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""From a plan and the places of a host to a release, and the plan as a person reads it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.inference.sglang.plugins.module_utils import _live_unit as live_unit
from ansible_collections.inference.sglang.plugins.module_utils import _server_host as host
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._gpus import choose_gpus
from ansible_collections.inference.sglang.plugins.module_utils._launch_plan import launch_plan
from ansible_collections.inference.sglang.plugins.module_utils._plan_report import WIDTH, flags_of, render_report
from ansible_collections.inference.sglang.plugins.module_utils._server_plan import (
    HostPlaces,
    ServerWishes,
    build_release,
    name_head_sources,
    option_of,
    paths_in_arguments,
    unfit,
    url_of,
    uses_gpu,
    with_served_name,
)

DATA = Path(__file__).resolve().parents[1] / "data"
CONFIG = json.loads((DATA / "models/Qwen3.6-27B.json").read_text())
CARD = {"name": "NVIDIA RTX A6000", "memory_mib": 49140, "compute_capability": "8.6"}
WISHES = ServerWishes(
    instance="default", root="/opt/sglang", user="sglang", group="sglang", host="0.0.0.0", port=30000, launcher="print('launcher')\n"
)
PLACES = HostPlaces(
    environment="/opt/sglang/envs/e",
    python="/opt/sglang/envs/e/bin/python",
    environment_digest="d1",
    sglang_version="0.5.11",
    model="/opt/sglang/models/m",
    model_revision="r1",
    model_digest="",
)


def plan_of(cards: int = 2, **settings: Any) -> dict[str, Any]:
    """ct129's plan."""
    given = {"model_path": PLACES.model, "served_model_name": "m", "host": "0.0.0.0", "port": 30000, **settings}
    return launch_plan(CONFIG, "0.5.11", [CARD] * cards, settings=given)


PLAN = plan_of()


# ----- the release -----
def test_a_release_holds_all_that_it_needs_and_names_its_own_directory() -> None:
    release = build_release(PLAN, WISHES, PLACES)
    assert release["directory"] == f"/opt/sglang/instances/default/releases/{release['id']}"
    assert set(release["files"]) == {"release.json", "plan.json", "sglang-default.service", "launcher.py"}
    assert f"{release['directory']}/launcher.py" in release["unit"]
    assert "/release/" not in release["unit"].replace(release["directory"], "")
    record = json.loads(release["files"]["release.json"])
    assert record["serving"]["gate"] == PLAN["gate"]
    assert record["serving"]["url"] == "http://127.0.0.1:30000"
    assert record["serving"]["speculative"] is True


def test_the_same_wishes_give_the_same_release() -> None:
    assert build_release(PLAN, WISHES, PLACES) == build_release(plan_of(), WISHES, PLACES)


@pytest.mark.parametrize(
    "change",
    [
        {"port": 30001},
        {"environment": {"A": "1"}},
        {"log_file": "/var/log/x"},
        {"stop_timeout": 5},
        {"launcher": "x"},
        {"gpus": ("0", "1")},
    ],
    ids=lambda change: next(iter(change)),
)
def test_every_wish_makes_another_release(change: dict[str, Any]) -> None:
    plan = plan_of(port=change.get("port", 30000))
    assert build_release(plan, dataclasses.replace(WISHES, **change), PLACES)["id"] != build_release(PLAN, WISHES, PLACES)["id"]


def test_another_environment_or_other_weights_make_another_release() -> None:
    own = build_release(PLAN, WISHES, PLACES)["id"]
    for change in ({"environment_digest": "d2"}, {"model_digest": "w2"}, {"model_revision": "r2"}):
        assert build_release(PLAN, WISHES, dataclasses.replace(PLACES, **change))["id"] != own


def test_a_copy_that_gets_its_revision_later_is_the_same_release() -> None:
    known = dataclasses.replace(PLACES, model_digest="w1")
    named = dataclasses.replace(known, model_revision="0123abc")
    assert build_release(PLAN, WISHES, known)["id"] == build_release(PLAN, WISHES, named)["id"]


@pytest.mark.parametrize(
    ("argv", "flag"),
    [
        (["--load-format", "dummy"], "dummy_weights"),
        (["--reasoning-parser", "qwen3"], "reasoning"),
        (["--tool-call-parser=qwen3_coder"], "tools"),
    ],
)
def test_the_probe_is_told_what_the_arguments_promise(argv: list[str], flag: str) -> None:
    promised = build_release({**PLAN, "argv": [*PLAN["argv"], *argv]}, WISHES, PLACES)["record"]["serving"]
    silent = build_release(PLAN, WISHES, PLACES)["record"]["serving"]
    assert (promised[flag], silent[flag]) == (True, False)


def test_a_record_of_dummy_weights_says_so() -> None:
    dummy = build_release({**PLAN, "argv": [*PLAN["argv"], "--load-format=dummy"]}, WISHES, PLACES)
    assert dummy["record"]["model"]["weights"] == "dummy"
    assert json.loads(dummy["files"]["release.json"])["model"]["weights"] == "dummy"
    assert "weights" not in build_release(PLAN, WISHES, PLACES)["record"]["model"]


def test_the_cpu_engine_needs_no_gpu() -> None:
    assert not uses_gpu(["--device", "cpu"])
    assert not uses_gpu(["--device=cpu"])
    assert uses_gpu(PLAN["argv"])


def test_finds_the_paths_that_arguments_name() -> None:
    argv = ["--model-path", "/m/", "--chat-template=/t.jinja", "--host", "0.0.0.0", "--x", "a/b", "--json", "/a\nb"]
    assert paths_in_arguments(argv) == ("/m", "/t.jinja")


def test_the_last_value_of_an_option_counts() -> None:
    assert option_of(["--port", "1", "--port=2"], "--port") == "2"
    assert option_of(["--port"], "--port") == ""


@pytest.mark.parametrize(
    ("host_address", "url"),
    [("0.0.0.0", "http://127.0.0.1:1"), ("::", "http://[::1]:1"), ("10.0.0.1", "http://10.0.0.1:1"), ("fd00::1", "http://[fd00::1]:1")],
)
def test_asks_where_the_server_can_be_reached(host_address: str, url: str) -> None:
    assert url_of(host_address, 1) == url


def test_predicts_what_the_engine_resolves() -> None:
    predicted = PLAN["predicted"]
    assert predicted["tp_size"] == 2
    assert predicted["speculative_algorithm"] == "EAGLE"
    assert predicted["max_running_requests"] == PLAN["memory"]["per_rank"]["max_running_requests"]
    assert predicted["mem_fraction_static"] == PLAN["memory"]["per_rank"]["mem_fraction_static"]


def test_a_served_name_without_the_colon_that_the_engine_refuses() -> None:
    assert with_served_name({}, "", "/m/Qwen:x/")["served_model_name"] == "Qwen-x"
    assert with_served_name({"served_model_name": "own"}, "other", "/m")["served_model_name"] == "own"
    assert with_served_name({}, "org/name", "/m")["served_model_name"] == "org/name"


def test_a_plan_that_does_not_fit_is_refused_with_a_way_out() -> None:
    assert unfit(PLAN) is None
    assert unfit({"memory": {"fits": None}}) is None
    refused = unfit(plan_of(cards=1))
    assert refused is not None and "does not fit" in refused.wrong
    assert "2 such GPUs" in refused.next_step
    assert "RTX A6000" in refused.found


# ----- the report -----
def test_the_report_names_every_flag_its_reason_and_the_verdict() -> None:
    lines = render_report({"plan": PLAN, "sources": {"model": "inventory", "gpus": "inventory"}}, "ct129")
    text = "\n".join(lines)
    for flag, value in flags_of(PLAN["argv"]):
        assert f"  {flag} {value}".rstrip() in text
    for words in (
        "ct129",
        "NEXTN",
        "extra_buffer",
        "FITS",
        "PROVISIONAL",
        "2 x NVIDIA RTX A6000",
        "free after the start",
        "model facts from the inventory",
    ):
        assert words in text, words
    assert max(map(len, lines)) <= WIDTH
    assert not any(line != line.rstrip() for line in lines)


def test_the_report_says_what_does_not_fit_and_what_would() -> None:
    text = "\n".join(render_report({"plan": plan_of(cards=1)}))
    assert "DOES NOT FIT" in text


def test_the_report_of_nothing_says_why() -> None:
    text = "\n".join(render_report({"plan": None, "missing": ["the model /m is not there"], "notes": ["the hub was not reached"]}, "h"))
    assert "nothing can be planned yet" in text
    assert "the model /m is not there" in text
    assert "the hub was not reached" in text


def test_the_report_tells_the_difference_on_the_host() -> None:
    release = {"id": "a" * 16}
    same = render_report({"plan": PLAN, "release": release, "difference": {"converged": True}})
    other = render_report(
        {"plan": PLAN, "release": release, "difference": {"converged": False, "restart": True, "enable": True, "reasons": ["because"]}}
    )
    assert "would change nothing" in same[-1]
    changed = render_report({"plan": PLAN, "release": release, "difference": {"restart": True, "changes": ["--x: 1 -> 2"]}})
    assert changed[-1] == "    --x: 1 -> 2"
    assert other[-3:] == [f"On the host: a deployment would switch to release {'a' * 16}", "  - because", "  - the unit is not enabled"]


def test_the_head_s_reasons_name_the_variable_that_gave_each() -> None:
    named = name_head_sources(PLAN, {"model_path": "model_shards_path"})
    sources = {reason["flag"]: reason["source"] for reason in named["reasons"]}
    assert sources["--model-path"] == "model_shards_path"
    assert sources["--served-model-name"] == "sglang_server_served_model_name"
    assert sources["--port"] == "sglang_server_port"
    assert [reason for reason in named["reasons"] if reason["flag"] == "--tp-size"] == [
        reason for reason in PLAN["reasons"] if reason["flag"] == "--tp-size"
    ]


def test_flags_with_several_values_stay_together() -> None:
    assert flags_of(["--a", "1", "2", "--b", "--c=x y"]) == [("--a", "1 2"), ("--b", ""), ("--c", "x y")]


# ----- the host -----
def _environment(root: Path, version: str = "0.5.11") -> Path:
    site = root / "env/lib/python3.11/site-packages" / f"sglang-{version}.dist-info"
    site.mkdir(parents=True)
    (site / "METADATA").write_text(f"Metadata-Version: 2.1\nName: sglang\nVersion: {version}\n")
    base = root / "uv/cpython/bin"
    base.mkdir(parents=True)
    (base / "python3.11").write_text("")
    (root / "env/bin").mkdir()
    (root / "env/bin/python").symlink_to(base / "python3.11")
    (root / "env/pyvenv.cfg").write_text(f"home = {base}\nversion = 3.11\n")
    return root / "env"


def test_sees_an_environment_through_its_link_with_its_interpreter_elsewhere(tmp_path: Path) -> None:
    environment = _environment(tmp_path)
    (tmp_path / "ml-env").symlink_to(environment)
    view = host.view_environment(str(tmp_path / "ml-env"))
    assert view is not None
    assert (view.path, view.sglang_version) == (str(environment), "0.5.11")
    assert str(tmp_path / "uv/cpython") in view.readable


def test_an_environment_that_is_not_there_is_not_an_error_but_a_broken_one_is(tmp_path: Path) -> None:
    assert host.view_environment(str(tmp_path / "none")) is None
    (tmp_path / "empty").mkdir()
    with pytest.raises(SglangError, match="no interpreter"):
        host.view_environment(str(tmp_path / "empty"))
    (tmp_path / "empty/bin").mkdir()
    (tmp_path / "empty/bin/python").write_text("")
    with pytest.raises(SglangError, match="not installed"):
        host.view_environment(str(tmp_path / "empty"))


def test_finds_where_linked_shards_lie(tmp_path: Path) -> None:
    blobs = tmp_path / "hub/blobs"
    blobs.mkdir(parents=True)
    (blobs / "abc").write_text("")
    model = tmp_path / "snapshot"
    model.mkdir()
    (model / "config.json").write_text("{}")
    (model / "model.safetensors").symlink_to(blobs / "abc")
    assert host.model_places(str(model)) == (str(blobs),)
    link = tmp_path / "link"
    link.symlink_to(model)
    assert host.model_places(str(link)) == tuple(sorted([str(blobs), str(model)]))


def test_only_what_the_engine_reads_has_to_be_readable(tmp_path: Path) -> None:
    model = tmp_path / "model"
    (model / "original").mkdir(parents=True)
    names = ["config.json", "merges.txt", "model.safetensors", "modeling_x.py"]
    for name in (*names, "README.md", ".gitattributes", "LICENSE"):
        (model / name).write_text("")
    (model / "README.md").unlink()
    (model / "README.md").symlink_to(tmp_path / "gone/README.md")
    (model / "original.json").symlink_to(model / "original")
    (model / "original").chmod(0)
    assert host.model_files(str(model)) == [str(model), *(str(model / name) for name in names)]
    assert host.model_places(str(model)) == ()


@pytest.mark.parametrize("target", ["../blobs/abc", "model.safetensors"], ids=["nowhere", "circle"])
def test_a_link_that_leads_nowhere_is_called_so(target: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").symlink_to(target)
    with pytest.raises(SglangError, match="leads nowhere") as caught:
        host.model_files(str(tmp_path))
    assert str(tmp_path / "model.safetensors") in caught.value.wrong
    assert target in caught.value.found and caught.value.wanted and caught.value.next_step


def test_reads_what_systemd_shows() -> None:
    def run(command: list[str]) -> tuple[int, str, str]:
        return 0, "LoadState=loaded\nActiveState=active\nSubState=running\nUnitFileState=enabled\nNeedDaemonReload=yes\nDropInPaths=\n", ""

    live = live_unit.view_live("no-such-unit-here.service", "/nowhere/launcher.py", "", run)
    assert (live.active, live.enabled, live.needs_reload, live.unit_sha256, live.launcher_sha256) == (True, True, True, None, None)


def test_chooses_the_instance_s_cards_by_index() -> None:
    cards = [{"index": 0, "name": "a"}, {"index": 1, "name": "b"}, {"index": 3, "name": "c"}]
    assert choose_gpus(cards, ()) == cards
    assert [gpu["name"] for gpu in choose_gpus(cards, (3, 0))] == ["c", "a"]
    for wrong in ((2,), (0, 0)):
        with pytest.raises(SglangError, match="GPUs are not there"):
            choose_gpus(cards, wrong)
    assert choose_gpus([CARD, CARD], (1,)) == [CARD], "declared cards count by their place"


def test_a_key_file_is_told_from_another_without_a_word_of_the_key(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("canary")
    first = live_unit.key_fingerprint(str(key))
    other = tmp_path / "new"
    other.write_text("canary")
    other.replace(key)
    assert first
    assert live_unit.key_fingerprint(str(key)) != first
    assert "canary" not in first
    assert live_unit.key_fingerprint(str(tmp_path / "none")) == ""


def test_when_a_manifest_was_written_does_not_count(tmp_path: Path) -> None:
    entry = {"file": "a.safetensors", "size": 1, "sha256": "0" * 64, "mtime_ns": 5, "proof": "lfs-sha256"}
    base = {
        "format": 1,
        "repo": "o/m",
        "revision": "r",
        "requested": "main",
        "source": "hub",
        "time": "t1",
        "adopted": False,
        "path": "/m",
        "bytes": 1,
    }
    digests = set()
    for number, change in enumerate(
        ({}, {"time": "t2"}, {"files": [{**entry, "mtime_ns": 6}]}, {"files": [{**entry, "sha256": "1" * 64}]})
    ):
        path = tmp_path / str(number)
        path.write_text(json.dumps({**base, "files": [entry], **change}))
        digests.add(host.manifest_digest(str(path)))
    assert len(digests) == 2
    assert host.manifest_digest("") == ""
