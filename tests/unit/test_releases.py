# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The release table against what others saw of the releases: parsers of installed releases, METADATA, sources, recorded starts."""

from __future__ import annotations

import re

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._log_stages import STAGES
from ansible_collections.inference.sglang.plugins.module_utils._options_read import option_tables
from ansible_collections.inference.sglang.plugins.module_utils._releases import (
    OPT_IN,
    RELEASES,
    known_releases,
    log_wording,
    newest_release,
    place,
    release_facts,
    release_of,
    supported_releases,
)
from ansible_collections.inference.sglang.plugins.module_utils._releases_environment import unknown_variable, variable_spans
from hypothesis import given
from hypothesis import strategies as st

ALL = (
    "0.5.9 0.5.10 0.5.10.post1 0.5.11 0.5.12 0.5.12.post1 0.5.13 0.5.13.post1 0.5.14 0.5.15 0.5.15.post1 "
    "0.5.16 0.5.17 0.5.18 0.5.19 0.5.20 0.5.21 0.5.22 0.5.23"
).split()
# From argparse of installed releases. option -> (releases that have it, releases that do not)
PRESENT = {
    "mamba-scheduler-strategy": ("0.5.9 0.5.10.post1 0.5.11 0.5.13.post1 0.5.14 0.5.19", "0.5.20 0.5.21 0.5.23"),
    "mamba-radix-cache-strategy": ("0.5.14 0.5.15.post1 0.5.21 0.5.23", "0.5.9 0.5.11 0.5.13.post1"),
    "mamba-track-interval": ("0.5.9 0.5.11 0.5.23", ""),
    "max-mamba-cache-size": ("0.5.9 0.5.11 0.5.23", ""),
    "linear-attn-backend": ("0.5.10.post1 0.5.11 0.5.23", "0.5.9"),
    "linear-attn-decode-backend": ("0.5.10.post1 0.5.11 0.5.23", "0.5.9"),
    "linear-attn-verify-backend": ("0.5.18 0.5.21 0.5.23", "0.5.11 0.5.15.post1"),
    "enable-linear-replayssm-spec": ("0.5.21 0.5.23", "0.5.11"),
    "enable-int8-mamba-checkpoint": ("0.5.23", "0.5.11"),
    "mamba-max-states-per-path": ("0.5.23", "0.5.11"),
    "speculative-adaptive": ("0.5.11 0.5.23", "0.5.9"),
    "disable-multimodal": ("", " ".join(ALL)),
    "language-model-only": ("0.5.18 0.5.23", "0.5.11 0.5.15.post1"),
    "cuda-graph-max-bs": ("0.5.9 0.5.11 0.5.18", "0.5.21 0.5.23"),
    "cuda-graph-config": ("0.5.14 0.5.23", "0.5.13.post1"),
    "cuda-graph-max-bs-decode": ("0.5.14 0.5.23", "0.5.13.post1"),
    "disable-cuda-graph": ("0.5.9 0.5.23", ""),
    "disable-piecewise-cuda-graph": ("0.5.10.post1 0.5.14", "0.5.9 0.5.21 0.5.23"),
    "speculative-dflash-block-size": ("0.5.11 0.5.23", "0.5.10.post1"),
    "speculative-dflash-draft-window-size": ("0.5.11", "0.5.23"),
}
# From CONFIG_MAPPING of installed releases, after SGLang put its own classes there: types that are not in it.
# (deepseek_v32 is not either up to 0.5.11, where SGLang catches the failure and reads it as deepseek_v3.)
UNREAD = {
    "0.5.10.post1": {"kimi_k2", "mimo", "mimo_v2_flash"},
    "0.5.11": {"kimi_k2", "mimo", "mimo_v2_flash"},
    "0.5.12.post1": {"mimo", "mimo_v2_flash"},
    "0.5.14": {"mimo", "mimo_v2_flash"},
    "0.5.23": {"mimo"},
}
# option -> release -> choices it has (+) and has not (-)
CHOICES = [
    ("mamba-scheduler-strategy", "0.5.9", "+auto +no_buffer +extra_buffer -extra_buffer_lazy"),
    ("mamba-scheduler-strategy", "0.5.13.post1", "+extra_buffer_lazy"),
    ("mamba-radix-cache-strategy", "0.5.14", "+auto +no_buffer +extra_buffer +extra_buffer_lazy"),
    ("linear-attn-backend", "0.5.10.post1", "+triton +cutedsl +flashinfer -flashkda"),
    ("linear-attn-backend", "0.5.15.post1", "+flashkda"),
    ("linear-attn-backend", "0.5.21", "+nvidia_kda +ptx_kda +helion +intel_xpu"),
    ("speculative-algorithm", "0.5.10.post1", "+EAGLE +EAGLE3 +NEXTN +STANDALONE +NGRAM -DFLASH"),
    ("speculative-algorithm", "0.5.11", "+DFLASH"),
    ("kv-cache-dtype", "0.5.11", "+auto +fp8_e5m2 +fp8_e4m3 +bf16 +bfloat16 +fp4_e2m1"),
    ("kv-cache-dtype", "0.5.21", "-fp4_e2m1 +mxfp8 +nvfp4 +fp4_mx_block16"),
    ("quantization", "0.5.9", "+awq +fp8 +marlin +qoq -unquant"),
    ("quantization", "0.5.11", "+unquant +marlin +qoq"),
    ("quantization", "0.5.21", "-marlin -qoq +humming"),
    ("reasoning-parser", "0.5.11", "+qwen3 -auto"),
    ("reasoning-parser", "0.5.12.post1", "+auto"),
    ("tool-call-parser", "0.5.12.post1", "+auto +qwen3_coder"),
]
# From the wheels' METADATA: Python, torch, CUDA family, transformers, flashinfer, kernel, torchcodec
PINS = {
    "0.5.9": "3.10 2.9.1 12 4.57.1 0.6.3 0.3.21 0.8.0",
    "0.5.10.post1": "3.10 2.9.1 12 5.3.0 0.6.7.post3 0.4.1 0.9.1",
    "0.5.11": "3.10 2.11.0 13 5.6.0 0.6.8.post1 0.4.2 0.11.1",
    "0.5.12.post1": "3.10 2.11.0 13 5.6.0 0.6.11.post1 0.4.2.post2 0.11.1",
    "0.5.13.post1": "3.10 2.11.0 13 5.8.1 0.6.12 0.4.3 0.11.1",
    "0.5.14": "3.10 2.11.0 13 5.8.1 0.6.12 0.4.4 0.11.1",
    "0.5.15.post1": "3.10 2.11.0 13 5.12.1 0.6.12 0.4.4 0.11.1",
    "0.5.18": "3.10 2.13.0 13 5.12.1 0.6.17 0.4.6.post1 0.15.0",
    "0.5.21": "3.10 2.13.0 13 5.12.1 0.6.18 0.4.7 0.15.0",
    "0.5.23": "3.11 2.14.1 13 5.19.0 0.7.2 0.4.10 0.17.0",
}
STARTS = {
    "distributed": ("Init torch distributed begin.", "Init parallel begin."),
    "weights": ("Load weight begin. avail mem=47.10 GB",),
    "memory": ("Mamba Cache is allocated. max_mamba_cache_size: 30, conv_state size: 0.04GB, ssm_state size: 2.11GB",),
    "backend": (
        "Using hybrid linear attention backend for hybrid GDN models.",
        "Linear attention kernel backend: decode=triton, prefill=triton",
    ),
    "graphs": (
        "Capture cuda graph begin. This can take up to several minutes. avail mem=10.00 GB",
        "Capture target decode CUDA graph begin. backend=full, bs=[1, 2], avail mem=10.00 GB",
    ),
    "draft graphs": (
        "Capture draft cuda graph begin. This can take up to several minutes. avail mem=9.00 GB",
        "Capture draft extend cuda graph begin. This can take up to several minutes. avail mem=9.00 GB",
        "Capture draft decode CUDA graph begin. backend=full, avail mem=9.00 GB",
    ),
    "scheduler": (
        "max_total_num_tokens=70000, chunked_prefill_size=4096, max_prefill_tokens=16384, max_running_requests=8, context_len=262144",
    ),
}


@pytest.mark.parametrize("version", sorted(UNREAD))
def test_types_that_an_installed_release_could_not_read(version: str) -> None:
    assert RELEASES[version].unread_types == UNREAD[version]


def test_rows_in_order():
    assert known_releases() == ALL
    assert list(option_tables()) == ALL
    assert list(RELEASES) == ALL
    assert supported_releases() == ["0.5.11", "0.5.23"]


@pytest.mark.parametrize("name", PRESENT)
def test_options_come_and_go_as_seen(name):
    there, absent = (words.split() for words in PRESENT[name])
    assert [version for version in there if not option_tables()[version].find(name)] == []
    assert [version for version in absent if option_tables()[version].find(name)] == []


@pytest.mark.parametrize(("name", "version", "words"), CHOICES)
def test_choices_as_seen(name, version, words):
    choices = option_tables()[version].find(name).choices
    for word in words.split():
        assert (word[1:] in choices) == (word[0] == "+"), word


def test_other_facts_of_options_as_seen():
    tables = option_tables()
    assert tables["0.5.19"].find("mamba-scheduler-strategy").successor == "mamba-radix-cache-strategy"
    assert not tables["0.5.12.post1"].find("speculative-algorithm").choices
    assert [tables[version].find("mamba-full-memory-ratio").default for version in ("0.5.11", "0.5.18", "0.5.21", "0.5.23")] == [
        "0.9",
        "0.9",
        "",
        "",
    ]
    assert [tables[version].find("context-length").kind for version in ("0.5.9", "0.5.10.post1", "0.5.23")] == ["integer", "size", "size"]
    assert {tables[version].find("mamba-track-interval").default for version in ALL} == {"256"}
    assert {tables[version].find("port").default for version in ALL} == {"30000"}
    assert {tables[version].find("tp-size").key for version in ALL} == {"tensor_parallel_size"}


@pytest.mark.parametrize("version", PINS)
def test_pins_as_in_metadata(version):
    row = RELEASES[version]
    found = [row.python_minimum, row.torch, row.cuda.split(".")[0], row.transformers, row.flashinfer, row.kernel, row.torchcodec]
    assert found == PINS[version].split()
    assert row.driver_minimum == ("570" if row.cuda.startswith("12") else "580")


def test_rules_change_where_they_were_seen_to():
    def where(field):
        values = [getattr(RELEASES[version], field) for version in ALL]
        return {ALL[index]: value for index, value in enumerate(values) if index == 0 or values[index - 1] != value}

    assert where("strategy_auto") == {"0.5.9": "no_buffer", "0.5.14": "extra_buffer"}
    assert where("no_buffer_refuses_speculation") == {"0.5.9": False, "0.5.10": True, "0.5.14": False}
    assert where("extra_buffer_refuses_radix_off") == {"0.5.9": False, "0.5.10": True, "0.5.14": False}
    assert where("joint_pool_rule") == {"0.5.9": False, "0.5.13": True}
    assert where("draft_counted_first") == {"0.5.9": False, "0.5.14": True}
    assert where("speculation_reserve_mib") == {"0.5.9": 2048, "0.5.10": 4096, "0.5.14": 0}
    assert [bool(RELEASES[version].speculation_environment) for version in ("0.5.9", "0.5.10.post1", "0.5.11", "0.5.23")] == [
        True,
        True,
        False,
        False,
    ]
    assert [bool(RELEASES[version].dispatcher_lines) for version in ("0.5.9", "0.5.10.post1", "0.5.23")] == [False, True, True]
    assert [RELEASES[version].ready_path for version in ("0.5.18", "0.5.21", "0.5.23")] == ["", "/ready", "/ready"]
    assert [RELEASES[version].stops_by_killing_itself for version in ("0.5.11", "0.5.23")] == [True, False]


@pytest.mark.parametrize("version", ALL)
def test_a_row_agrees_with_its_options(version):
    row, table = RELEASES[version], option_tables()[version]
    strategy = table.find(row.strategy_option.replace("_", "-"))
    assert strategy is not None and not strategy.deprecated
    assert ("extra_buffer_lazy" in strategy.choices) == row.lazy_strategy
    algorithms = table.find("speculative-algorithm").choices
    assert not algorithms or set(algorithms) == set(row.algorithms)
    for key in (row.graph_requests_option, row.allreduce_off_option):
        assert not key or not table.find(key.replace("_", "-")).deprecated
    assert bool(row.allreduce_off_option) == bool(table.find("enforce-disable-flashinfer-allreduce-fusion"))
    assert str(row.track_interval) == table.find("mamba-track-interval").default


@pytest.mark.parametrize("stage", STARTS)
def test_lines_of_recorded_starts_begin_their_stage_and_no_other(stage):
    for text in STARTS[stage]:
        assert [other.name for other in STAGES if other.pattern.search(text)] == [stage], text


@pytest.mark.parametrize(("version", "index"), [("0.5.11", 0), ("0.5.20", 0), ("0.5.21", 1), ("0.5.23", 1)])
def test_the_wording_of_each_release(version, index):
    line = STARTS["distributed"][index]
    assert re.match(dict(RELEASES[version].log_lines)["ranks"], line)
    assert re.match(log_wording("ranks"), line)


@pytest.mark.parametrize(
    ("version", "fact", "where"),
    [
        ("0.5.9", "strategy", "server_args.py:1699"),
        ("0.5.11", "strategy", "server_args.py:2366"),
        ("0.5.14", "strategy", "server_args.py:4380"),
        ("0.5.23", "strategy", "arg_groups/overrides.py:454"),
        ("0.5.11", "numbers", "server_args.py:7471"),
        ("0.5.9", "numbers", "server_args.py:5741"),
        ("0.5.9", "spec_v2_default", "environ.py:414"),
        ("0.5.11", "spec_v2_default", "environ.py:459"),
        ("0.5.11", "gdn_dispatcher", "layers/attention/linear/gdn_backend.py:119"),
        ("0.5.23", "gdn_dispatcher", "layers/attention/linear/gdn_backend.py:369"),
        ("0.5.11", "ready_line", "entrypoints/http_server.py:2032"),
        ("0.5.23", "ready_line", "entrypoints/http_server.py:2600"),
        ("0.5.23", "ranks_line", "distributed/bootstrap.py:115"),
    ],
)
def test_places_are_those_that_people_found(version, fact, where):
    assert place(RELEASES[version], fact) == f"SGLang {version} {where}"


def test_a_fact_without_a_line_of_its_own_has_the_rows_source():
    assert place(RELEASES["0.5.9"], "joint") == "SGLang 0.5.9 server_args.py"


@pytest.mark.parametrize("version", ["0.5.12", "0.5.9", "0.5.22"])
def test_unverified_releases_are_refused_until_asked_for(version):
    with pytest.raises(SglangError) as caught:
        release_of(version)
    for word in ("unverified", "supported: 0.5.11, 0.5.23", OPT_IN, "ml_env_sglang_version", "engine check"):
        assert word in str(caught.value)
    assert release_of(version, allow_unverified=True) is RELEASES[version]


@pytest.mark.parametrize("version", ["0.5.24", "0.5.23.post1", "0.6.0", "1.0", "0.5.24rc1", "0.5.24.dev3+g1a2b3c4"])
def test_newer_releases_are_refused_until_asked_for(version):
    with pytest.raises(SglangError, match="newer than the release table") as caught:
        release_of(version)
    assert OPT_IN in str(caught.value)
    row = release_of(version, allow_unverified=True)
    assert (row.version, row.status, row.options) == (version, "newer", "0.5.23")
    assert row.memory_measured is False
    assert row.torch == newest_release().torch


@pytest.mark.parametrize("version", ["0.5.8", "0.5.16.post1", "0.5.23rc1", "0.5.10rc0", "", "latest", "v0.5.24", None, 0.5, ["0.5.11"]])
@pytest.mark.parametrize("allowed", [False, True])
def test_anything_else_is_refused_whatever_is_allowed(version, allowed):
    with pytest.raises(SglangError, match="not in the release table"):
        release_of(version, allow_unverified=allowed)


@given(
    st.one_of(
        st.text(max_size=20), st.from_regex(r"[0-9]{1,4}(\.[0-9]{1,4}){0,4}((rc|\.post|\.dev)[0-9]{1,3})?", fullmatch=True), st.integers()
    )
)
def test_no_version_however_odd_gives_another_error(version):
    try:
        row = release_of(version, allow_unverified=True)
    except SglangError:
        return
    assert row.version == version


def test_facts_for_roles():
    assert release_facts("0.5.12")["status"] == "unverified"
    assert release_facts("0.5.99") == {**release_facts("0.5.23"), "version": "0.5.99", "status": "newer"}


@pytest.mark.parametrize(
    ("version", "name", "said"),
    [
        ("0.5.11", "SGLANG_ENABLE_SPEC_V2", ""),
        ("0.5.13.post1", "SGLANG_ENABLE_SPEC_V2", ""),
        ("0.5.23", "SGLANG_ENABLE_SPEC_V2", "0.5.9 to 0.5.20"),
        ("0.5.11", "SGLANG_USE_CPU_ENGINE", ""),
        ("0.5.11", "SGLANG_MAMBA_SSM_DTYPE", ""),
        ("0.5.23", "SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK", ""),
        ("0.5.11", "SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK", "0.5.17 to 0.5.23"),
        ("0.5.11", "SGLANG_MAMBA_SSM_DTYP", "perhaps SGLANG_MAMBA_SSM_DTYPE"),
        ("0.5.11", "SGLANG_ZZZ", "none of its files"),
        ("0.5.11", "SGL_FORCE_SHUTDOWN", ""),
        ("0.5.11", "NCCL_DEBUG", ""),
    ],
)
def test_variables(version, name, said):
    found = unknown_variable(RELEASES[version], name)
    assert said in found
    assert bool(found) == bool(said)
    assert len(variable_spans()) > 500
