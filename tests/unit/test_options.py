# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._options import find_setting, option_table, parse_extra_args, render
from ansible_collections.inference.sglang.plugins.module_utils._releases import release_of

from tests.support.options.make_options import kind_of
from tests.unit.core_helpers import EXPECTED, RELEASES


def recorded(version):
    """What the real parser said, installed with all it depends on."""
    return json.loads((EXPECTED / f"flags-{version}.json").read_text())["flags"]


@pytest.mark.parametrize("version", RELEASES)
def test_tables_are_what_the_parser_said(version):
    table = option_table(release_of(version))
    seen = set()
    for flag in recorded(version):
        spellings = [name[2:] for name in flag["flags"] if name.startswith("--") and name != "--help"]
        if not spellings:
            continue
        option = table.find(spellings[0])
        assert option is not None, spellings
        assert option.name in spellings
        seen.add(option.name)
        assert option.kind == kind_of(flag)
        assert sorted(option.choices) == sorted(str(choice) for choice in flag["choices"] or [])
        assert option.default in ("", str(flag["default"]), str(flag["default"]).lower())
        assert option.deprecated == flag["deprecated"]
        for other in spellings[1:]:
            if not other.startswith("no-"):
                assert table.find(other) is option
    assert seen == set(table.options)


@pytest.mark.parametrize(
    ("key", "value", "argv"),
    [
        ("tp_size", 2, ["--tp-size", "2"]),
        ("tensor_parallel_size", "2", ["--tp-size", "2"]),
        ("trust_remote_code", True, ["--trust-remote-code"]),
        ("trust_remote_code", False, []),
        ("mem_fraction_static", 0.85, ["--mem-fraction-static", "0.85"]),
        ("context_length", "128k", ["--context-length", "128k"]),
        ("cuda_graph_bs", [1, 2], ["--cuda-graph-bs", "1", "2"]),
        ("limit_mm_data_per_request", {"image": 0}, ["--limit-mm-data-per-request", '{"image": 0}']),
        ("lora_strict_loading", False, ["--no-lora-strict-loading"]),
        ("served_model_name", "-odd", ["--served-model-name=-odd"]),
        ("chunked_prefill_size", -1, ["--chunked-prefill-size", "-1"]),
    ],
)
def test_rendering(key, value, argv):
    option = find_setting(release_of("0.5.11"), key)
    assert render(option, value) == argv


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("tensor_parallel_size", "two"),
        ("tensor_parallel_size", True),
        ("tensor_parallel_size", 1.5),
        ("trust_remote_code", "true"),
        ("mem_fraction_static", "a lot"),
        ("mem_fraction_static", float("nan")),
        ("mem_fraction_static", [0.8]),
        ("context_length", "128K"),
        ("kv_cache_dtype", "fp8"),
        ("served_model_name", "two\nlines"),
        ("hybrid_kvcache_ratio", True),
    ],
)
def test_values_of_the_wrong_kind(key, value):
    with pytest.raises(SglangError, match=key):
        render(find_setting(release_of("0.5.11"), key), value)


def refused(version, arguments):
    with pytest.raises(SglangError) as caught:
        parse_extra_args(release_of(version), arguments)
    return str(caught.value)


def test_renamed_options_name_their_successor():
    assert "--mamba-radix-cache-strategy" in refused("0.5.23", ["--mamba-scheduler-strategy", "extra_buffer"])
    assert "--mamba-scheduler-strategy" in refused("0.5.11", ["--mamba-radix-cache-strategy", "auto"])
    assert "--cuda-graph-max-bs-decode" in refused("0.5.23", ["--cuda-graph-max-bs", "16"])
    assert "(SGLang 0.5.9 to 0.5.17 has it)" in refused("0.5.23", ["--torchao-config", "x"])


def test_unknown_options_name_the_nearest():
    assert "--reasoning-parser" in refused("0.5.11", ["--reasonning-parser", "qwen3"])
    assert "perhaps" not in refused("0.5.11", ["--disable-multimodal"])


def test_arity_and_order():
    assert "exactly one value" in refused("0.5.11", ["--log-level"])
    assert "exactly one value" in refused("0.5.11", ["--log-level", "info", "debug"])
    assert "without a value" in refused("0.5.11", ["--enable-metrics", "true"])
    assert "without an option" in refused("0.5.11", ["info"])
    assert "stands twice" in refused("0.5.11", ["--log-level", "info", "--log-level=debug"])
    assert "could be several" in refused("0.5.11", ["--log-requests-"])
    assert "not text" in refused("0.5.11", [["--log-level"]])
    found = parse_extra_args(release_of("0.5.11"), ["--log-level=debug", "--tp", "2", "--cuda-graph-bs", "1", "2", "--random-seed", "-1"])
    assert found == {"log_level": "debug", "tensor_parallel_size": "2", "cuda_graph_bs": ["1", "2"], "random_seed": "-1"}


@pytest.mark.parametrize("arguments", [["--api-key", "s3cret"], ["--admin-api-key=s3cret"], ["--api_key", "s3cret"]])
def test_secrets_are_refused_without_being_shown(arguments):
    said = refused("0.5.11", arguments)
    assert "sglang_server_api_key" in said
    assert "s3cret" not in said
    with pytest.raises(SglangError, match="sglang_server_api_key") as caught:
        find_setting(release_of("0.5.11"), "api_key")
    assert "s3cret" not in str(caught.value)
