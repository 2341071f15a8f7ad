# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the gate reads from a log besides its verdict: figures, stages, an excerpt; in every release's wording, and no secrets."""

from __future__ import annotations

import re

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._log_gate import Expectation
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.log_gate_helpers import DISPATCHER, GDN, LOGS, READY, feed, gate, lines_of, until_ready


def test_figures_of_ct129() -> None:
    subject = gate(count=2)
    feed(subject, until_ready("start-ct129-tp2-mtp-3-1-4-then-rank-killed"))
    figures = subject.result()["figures"]
    assert figures["max_running_requests"] == 6
    assert figures["max_total_num_tokens"] == 89197
    assert figures["mem_fraction_static"] == 0.7167
    assert figures["attention_backend"] == "fa3"
    for rank in ("TP0", "TP1"):
        place = figures["ranks"][rank]
        assert place["weights_gb"] == 25.64
        assert place["state_slots"] == 34
        assert place["kv_tokens"] == 89197
        assert place["free_after_pools_gb"] == 13.28
        assert place["intermediate_ssm_gb"] == 1.97
        assert place["draft"]["weights_gb"] == 2.82
        assert place["draft"]["free_after_pools_gb"] == 10.04
    names = [stage["stage"] for stage in subject.stages()]
    for name in (
        "arguments",
        "distributed",
        "weights",
        "memory",
        "dispatcher",
        "graphs",
        "draft weights",
        "draft dispatcher",
        "http",
        "warm-up",
        "ready",
    ):
        assert name in names


NEWER = [
    "[2026-11-30 02:11:53 TP0] Init parallel begin.",
    "[2026-11-30 02:11:54 TP0] Init parallel ends. elapsed=0.81 s",
    "[2026-11-30 02:11:56 TP0] Load weight begin. avail mem=46.23 GB",
    "[2026-11-30 02:11:57 TP0] Load weight end. elapsed=0.32 s, type=Qwen3_5ForConditionalGeneration,"
    " avail mem=20.59 GB, mem usage=25.64 GB.",
    "[2026-11-30 02:11:57 TP0] Mamba Cache is allocated. max_mamba_cache_size: 34, conv_state size: 0.05GB, ssm_state size: 2.46GB ",
    "[2026-11-30 02:11:58 TP0] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 89197, K size: 1.36 GB, V size: 1.36 GB",
    "[2026-11-30 02:11:58 TP0] Memory pool end. avail mem=13.28 GB",
    "[2026-11-30 02:11:58 TP0] Linear attention kernel backend: decode=triton, prefill=triton, verify=triton",
    "[2026-11-30 02:11:58 TP0] Using hybrid linear attention backend for hybrid GDN models.",
    DISPATCHER,
    "[2026-11-30 02:11:59 TP0] Capture target decode CUDA graph begin. backend=full, bs=[1, 2], avail mem=13.19 GB",
    "[2026-11-30 02:12:09 TP0] Capture target decode CUDA graph end. elapsed=10.11 s, mem usage=0.16 GB, avail mem=13.03 GB.",
    READY,
]


def test_the_wording_of_later_releases() -> None:
    subject = gate()
    assert feed(subject, NEWER) == "ready"
    place = subject.ranks["TP0"]
    assert place["kv_tokens"] == 89197
    assert place["graphs_s"] == 10.11
    assert [s["stage"] for s in subject.stages()][1:] == ["distributed", "weights", "memory", "backend", "dispatcher", "graphs", "ready"]


def test_colours_and_control_characters_are_ignored() -> None:
    painted = [f"\x1b[32m{line[:22]}\x1b[0m{line[22:]}\x00\r" for line in NEWER]
    assert feed(gate(), painted) == "ready"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=60).filter(lambda t: "kernel dispatcher" not in t), max_size=30))
def test_junk_between_the_lines_changes_nothing(junk: list[str]) -> None:
    lines = [part for line in NEWER for part in (line, *junk[:2])]
    assert feed(gate(), lines) == "ready"
    assert feed(gate(), junk) == "waiting"


def test_secrets_do_not_reach_the_figures() -> None:
    subject = gate()
    subject.feed("[2026-11-30 02:11:25] server_args=ServerArgs(api_key='CANARY-1234', mem_fraction_static=0.8, page_size=1, tp_size=2)")
    assert "CANARY" not in repr(subject.result())
    assert subject.figures["tp_size"] == 2


def test_excerpt_leaves_out_the_page_about_torchcodec() -> None:
    subject = gate(count=2)
    feed(subject, lines_of("fail-mem-fraction-too-small"))
    text = "\n".join(subject.excerpt())
    assert "libtorchcodec_core8" not in text
    assert "Not enough memory" in text


def test_stages_and_counters_are_reported_live() -> None:
    stages: list[str] = []
    counters: list[tuple[int, int]] = []
    subject = gate(count=2, on_stage=lambda name, _what: stages.append(name), on_progress=lambda _s, _t, d, n: counters.append((d, n)))
    feed(subject, until_ready("start-ct129-tp2-mtp-3-1-4-then-rank-killed"))
    assert stages[-1] == "ready"
    assert "dispatcher" in stages
    assert "draft weights" in stages
    assert len(stages) == len(set(stages))
    assert (6, 6) in counters


def test_a_plan_that_expects_no_line_of_a_dispatcher_is_refused() -> None:
    with pytest.raises(SglangError, match="expects it no time"):
        Expectation.from_plan({"dispatcher": GDN, "dispatcher_count": 0})
    assert Expectation.from_plan({"family": "none", "dispatcher": None, "dispatcher_count": 0}).count == 0
    assert Expectation.from_plan({"family": "gdn", "dispatcher": GDN, "dispatcher_count": 2}).count == 2


def test_recorded_logs_name_no_machine() -> None:
    for path in (path for path in LOGS.rglob("*") if path.is_file()):
        models = set(re.findall(r"model_path='([^']+)'", path.read_text()))
        assert all(model.startswith(("/root/models/", "/opt/", "/tmp/none")) for model in models), (path.name, models)
