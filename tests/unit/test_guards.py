# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Settings and extra arguments against each release: renamed, removed, ambiguous, deprecated, contradicting the plan."""

from __future__ import annotations

import contextlib

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._options import find_setting, parse_extra_args, render, successor_of
from ansible_collections.inference.sglang.plugins.module_utils._options_read import option_tables
from ansible_collections.inference.sglang.plugins.module_utils._releases import RELEASES, release_of
from ansible_collections.inference.sglang.plugins.module_utils._wishes import read_wishes
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.core_helpers import A6000, B200, plan, values, why

RENAMED = [
    ("0.5.20", "mamba-scheduler-strategy", "mamba-radix-cache-strategy"),
    ("0.5.23", "mamba-scheduler-strategy", "mamba-radix-cache-strategy"),
    ("0.5.13.post1", "mamba-radix-cache-strategy", "mamba-scheduler-strategy"),
    ("0.5.9", "mamba-radix-cache-strategy", "mamba-scheduler-strategy"),
    ("0.5.21", "cuda-graph-max-bs", "cuda-graph-max-bs-decode"),
    ("0.5.11", "cuda-graph-max-bs-decode", "cuda-graph-max-bs"),
    ("0.5.23", "cuda-graph-bs", "cuda-graph-bs-decode"),
    ("0.5.23", "disable-piecewise-cuda-graph", "cuda-graph-backend-prefill=disabled"),
    ("0.5.23", "piecewise-cuda-graph-max-tokens", "cuda-graph-max-bs-prefill"),
    ("0.5.23", "speculative-dflash-draft-window-size", "speculative-draft-window-size"),
    ("0.5.20", "nsa-prefill-backend", "dsa-prefill-backend"),
    ("0.5.12", "dsa-prefill-backend", "nsa-prefill-backend"),
    # Renamed twice: nsa, then dsa, then another option altogether.
    ("0.5.23", "nsa-prefill-cp-mode", "cp-strategy"),
    ("0.5.23", "stream-output", "incremental-streaming-output"),
    ("0.5.23", "enable-expert-distribution-metrics", "expert-balancedness-report-mode"),
]


def refusal(function, *arguments):
    with pytest.raises(SglangError) as caught:
        function(*arguments)
    return str(caught.value)


@pytest.mark.parametrize(("version", "old", "new"), RENAMED)
def test_a_renamed_option_names_its_successor_in_both_spellings(version, old, new):
    release = RELEASES[version]
    assert successor_of(release, old) == new
    key, _tied, value = new.partition("=")
    written = key.replace("-", "_") + (f": {value}" if value else "")
    assert f"Write {written} instead of {old.replace('-', '_')}." in refusal(find_setting, release, old.replace("-", "_"))
    assert f"Write --{new} instead of --{old}." in refusal(parse_extra_args, release, [f"--{old}", "1"])


@pytest.mark.parametrize("version", RELEASES)
def test_every_successor_that_is_named_exists_in_that_release(version):
    release = RELEASES[version]
    everything = {name for table in option_tables().values() for name in table.options}
    for name in everything:
        if option_tables()[version].find(name) is None:
            successor = successor_of(release, name).replace("{decode,prefill}", "decode").split("=")[0]
            assert not successor or option_tables()[version].find(successor), name


def test_a_removed_option_says_where_it_is_to_be_found():
    said = refusal(find_setting, RELEASES["0.5.23"], "torchao_config")
    assert "SGLang 0.5.9 to 0.5.17 has it" in said
    assert "perhaps" not in said
    assert "SGLang 0.5.18 to 0.5.23 has it" in refusal(find_setting, RELEASES["0.5.11"], "language_model_only")


def test_a_removed_option_is_no_abbreviation_of_another():
    """argparse of 0.5.23 calls --cuda-graph-max-bs ambiguous, and would take other old names for something that they are not."""
    assert "--cuda-graph-max-bs-decode" in refusal(parse_extra_args, RELEASES["0.5.23"], ["--cuda-graph-max-bs", "16"])
    assert parse_extra_args(RELEASES["0.5.23"], ["--cuda-graph-max-bs-d", "16"]) == {"cuda_graph_max_bs_decode": "16"}


def test_an_ambiguous_abbreviation_lists_what_it_could_be():
    said = refusal(parse_extra_args, RELEASES["0.5.14"], ["--mamba-", "auto"])
    assert "could be several options" in said
    assert "--mamba-radix-cache-strategy" in said
    assert "--mamba-scheduler-strategy" in said


@pytest.mark.parametrize("version", RELEASES)
def test_another_name_of_an_option_is_told_its_own(version):
    """SGLang's own aliases, for all options that a site may set."""
    release = RELEASES[version]
    said = {}
    for alias, name in option_tables()[version].aliases.items():
        key, option = alias.replace("-", "_"), option_tables()[version].options[name]
        if option.deprecated or option.kind in ("dead", "switch", "toggle") or key == "model":
            continue
        value = option.choices[0] if option.choices else "1" if option.kind in ("json", "text", "size") else 1
        with contextlib.suppress(SglangError):  # what is refused for another reason names no alias
            said[key] = read_wishes(release, {key: value}, []).notes
    assert said["tp_size"] == ("tp_size in sglang_server_settings is another name of tensor_parallel_size.",)
    assert all(len(notes) == 1 and "is another name of" in notes[0] for notes in said.values())
    assert not read_wishes(release, {"tensor_parallel_size": 1}, []).notes
    assert not read_wishes(release, {}, ["--attention-backend", "triton"]).notes


@pytest.mark.parametrize(
    ("written", "own"), [("tp", "tensor_parallel_size"), ("context_len", "context_length"), ("tp_siz", "tensor_parallel_size")]
)
def test_the_beginning_of_a_name_is_completed_to_the_option_s_own(written, own):
    assert f"Write {own} instead of {written}." in refusal(find_setting, RELEASES["0.5.11"], written)


def test_a_near_miss_of_an_alias_names_the_option():
    assert "perhaps tensor_parallel_size" in refusal(find_setting, RELEASES["0.5.11"], "tp_sise")


@pytest.mark.parametrize(
    ("entry", "split"),
    [
        ("--tp 2", '["--tp", "2"]'),
        ("--log-requests --page-size 16", '["--log-requests", "--page-size", "16"]'),
        ("--page-size\t16", '["--page-size", "16"]'),
        ("--chat-template '/a b'", '["--chat-template", "/a b"]'),
        ("--chat-template '/a b", '["--chat-template", "\'/a", "b"]'),
    ],
)
def test_an_entry_that_holds_several_arguments_is_shown_split(entry, split):
    said = refusal(parse_extra_args, RELEASES["0.5.11"], [entry])
    assert "holds several arguments" in said
    assert f"Write {split}." in said


def test_a_value_with_blanks_is_one_argument():
    words = ["--chat-template=/a b", "--json-model-override-args", '{"a": 1}']
    assert parse_extra_args(RELEASES["0.5.11"], words) == {"chat_template": "/a b", "json_model_override_args": '{"a": 1}'}


def test_a_deprecated_option_is_taken_by_its_new_name_and_said():
    found = read_wishes(RELEASES["0.5.14"], {"mamba_scheduler_strategy": "extra_buffer"}, ["--cuda-graph-max-bs", "16"])
    assert found.values == {"mamba_radix_cache_strategy": "extra_buffer", "cuda_graph_max_bs_decode": 16}
    assert found.notes == (
        "mamba_scheduler_strategy in sglang_server_settings is deprecated in SGLang 0.5.14; the plan takes it as "
        "mamba_radix_cache_strategy.",
        "--cuda-graph-max-bs in sglang_server_extra_args is deprecated in SGLang 0.5.14; the plan takes it as --cuda-graph-max-bs-decode.",
    )
    assert not read_wishes(RELEASES["0.5.11"], {"mamba_scheduler_strategy": "extra_buffer"}, []).notes


def test_both_names_of_an_option_at_once_are_refused():
    both = {"mamba_scheduler_strategy": "extra_buffer", "mamba_radix_cache_strategy": "no_buffer"}
    assert "by another name" in refusal(read_wishes, RELEASES["0.5.14"], both, [])
    assert "stands in sglang_server_settings and in" in refusal(
        read_wishes, RELEASES["0.5.14"], {"cuda_graph_max_bs_decode": 8}, ["--cuda-graph-max-bs", "16"]
    )


def test_a_deprecated_option_whose_value_has_to_be_translated_is_left_and_said():
    found = plan(version="0.5.23", settings={"disable_cuda_graph": True})
    assert "--disable-cuda-graph" in found["argv"]
    assert any("write cuda_graph_backend_{decode,prefill}: disabled instead" in warning for warning in found["warnings"])


def test_an_option_that_the_engine_ends_on_names_what_replaced_it():
    option = find_setting(RELEASES["0.5.18"], "enable_expert_distribution_metrics")
    assert "expert_balancedness_report_mode instead" in refusal(render, option, True)


@pytest.mark.parametrize("version", RELEASES)
def test_what_the_plan_decides_on_is_no_extra_argument_in_any_release(version):
    release = RELEASES[version]
    for key, value in ((release.strategy_option, "extra_buffer"), ("max_running_requests", "8"), ("max_mamba_cache_size", "9")):
        said = refusal(read_wishes, release, {}, ["--" + key.replace("_", "-"), value])
        assert "contradicts the plan" in said
        assert f"sglang_server_settings: {{{key}: ...}}" in said


def test_the_old_name_of_a_decided_option_is_no_way_around():
    assert "contradicts the plan" in refusal(read_wishes, RELEASES["0.5.14"], {}, ["--mamba-scheduler-strategy", "no_buffer"])


def test_a_plan_says_what_each_setting_replaced():
    found = plan(settings={"enable_metrics": False, "max_running_requests": 4, "port": 31000, "watchdog_timeout": 600, "log_level": "info"})
    assert why(found, "--enable-metrics") == "left out, because it is False"
    assert why(found, "--max-running-requests").startswith("set; the plan would have chosen ")
    assert why(found, "--port") == "set; SGLang's own default is 30000"
    assert why(found, "--watchdog-timeout") == "set; SGLang's own default is 300"
    assert why(found, "--log-level") == "set"


def test_blackwell_takes_only_some_attention_backends_for_hybrids():
    sm120 = {"name": "RTX PRO 6000", "memory_mib": 97887, "compute_capability": "12.0"}
    with pytest.raises(SglangError, match="refuses attention_backend fa4") as caught:
        plan(version="0.5.23", gpus=(sm120,), settings={"attention_backend": "fa4"})
    assert "flashinfer" in str(caught.value)
    for gpu, backend in ((B200, "trtllm_mha"), (sm120, "triton"), (A6000, "fa3")):
        assert backend in plan(version="0.5.23", gpus=(gpu,), settings={"attention_backend": backend})["argv"]


def test_speculation_gets_the_variable_that_its_release_needs():
    for version, wanted in (("0.5.10.post1", {"SGLANG_ENABLE_SPEC_V2": "1"}), ("0.5.11", {}), ("0.5.22", {})):
        found = plan(version=version, allow_unverified_release=True)
        assert found["env"] == wanted
        assert values(found["argv"])["--speculative-algorithm"] == "NEXTN"
    assert plan(version="0.5.10.post1", allow_unverified_release=True, settings={"speculative_algorithm": "none"})["env"] == {}


def test_lazy_buffers_with_speculation_by_release():
    lazy = {"mamba_radix_cache_strategy": "extra_buffer_lazy"}
    with pytest.raises(SglangError, match="does not take"):
        plan(version="0.5.14", allow_unverified_release=True, settings={**lazy, "speculative_algorithm": "NEXTN"})
    assert "extra_buffer_lazy" in plan(version="0.5.23", settings=lazy)["argv"]


@pytest.mark.parametrize("version", RELEASES)
def test_every_release_gives_a_plan_in_its_own_words(version):
    found = plan(version=version, allow_unverified_release=True, settings={"model_path": "/m"})
    for word in found["argv"]:
        if word.startswith("--"):
            option = option_tables()[version].find(word[2:])
            assert option is not None and not option.deprecated, word
    assert found["sglang_version"] == version
    assert any("engine check" in warning for warning in found["warnings"]) == (version not in ("0.5.11", "0.5.23"))


def test_a_newer_release_is_planned_as_the_newest_known():
    newer, newest = (plan(version=version, allow_unverified_release=True) for version in ("0.5.99", "0.5.23"))
    assert newer["argv"] == newest["argv"]
    assert any("newer than the release table and planned as 0.5.23" in warning for warning in newer["warnings"])
    with pytest.raises(SglangError, match="newer than the release table"):
        plan(version="0.5.99")


@given(
    version=st.sampled_from(sorted(RELEASES)),
    words=st.lists(
        st.one_of(st.sampled_from(["--tp", "2", "--x=1", "--mamba-", "--disable-cuda-graph", "--no-x", "--", "-1"]), st.text(max_size=12))
    ),
)
def test_no_argument_however_odd_gives_another_error(version, words):
    with contextlib.suppress(SglangError):
        read_wishes(release_of(version, allow_unverified=True), {}, words)
