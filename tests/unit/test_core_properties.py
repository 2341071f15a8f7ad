# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whatever comes in, only our own error comes out; and more memory never plans for fewer requests."""

from __future__ import annotations

import json

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._launch_plan import launch_plan
from ansible_collections.inference.sglang.plugins.module_utils._model_profile import model_profile
from ansible_collections.inference.sglang.plugins.module_utils._releases import known_releases, release_of
from ansible_collections.inference.sglang.plugins.module_utils._speculative import speculative_settings
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.core_helpers import A6000, H200, HEADERS, SMOLLM2, config, hf_quant, names
from tests.unit.test_drafter import DFLASH, EAGLE3

# Every release of the table: those whose parser was not run are planned when asked for.
VERSIONS = known_releases()
QUICK = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
CONFIGS = {name: config(name) for name in names()}
PLANNED = sorted(CONFIGS)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(min_value=-(10**30), max_value=10**30)
    | st.integers(min_value=0, max_value=600)
    | st.floats()
    | st.text(max_size=12)
    | st.sampled_from(
        ["full_attention", "linear_attention", "bfloat16", "fp8", "modelopt", "NVFP4", "extra_buffer", "no_buffer", "auto", "cpu"]
    )
)
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=4), max_leaves=8
)


@st.composite
def odd_configs(draw, among):
    """A real config with some keys dropped, doubled, retyped or filled with anything, at both levels."""
    values = json.loads(json.dumps(CONFIGS[draw(st.sampled_from(among))]))
    for _turn in range(draw(st.integers(min_value=1, max_value=4))):
        levels = [values] + [item for item in values.values() if isinstance(item, dict) and item]
        level = draw(st.sampled_from(levels))
        if not level:
            continue
        key = draw(st.sampled_from(sorted(level)))
        action = draw(st.sampled_from(["drop", "replace", "text", "list", "steal"]))
        if action == "drop":
            del level[key]
        elif action == "replace":
            level[key] = draw(JSON)
        elif action == "text":
            level[key] = str(level[key])
        elif action == "list":
            level[key] = [level[key]]
        else:
            level[key] = level[draw(st.sampled_from(sorted(level)))]
    return values


@st.composite
def odd_drafters(draw):
    """A drafter's config.json with some keys dropped or filled with anything."""
    values = json.loads(json.dumps(draw(st.sampled_from([DFLASH, EAGLE3]))))
    for _turn in range(draw(st.integers(min_value=0, max_value=3))):
        level = draw(st.sampled_from([values, *(item for item in values.values() if isinstance(item, dict) and item)]))
        if level:
            key = draw(st.sampled_from(sorted(level)))
            if draw(st.booleans()):
                level[key] = draw(JSON)
            else:
                del level[key]
    return values


def only_our_error(call):
    try:
        result = call()
    except SglangError as error:
        assert error.wrong
        return None
    json.dumps(result)
    return result


@QUICK
@given(values=odd_configs(sorted(CONFIGS)))
def test_profiles_of_odd_configs(values):
    found = only_our_error(lambda: model_profile(values))
    assert found == only_our_error(lambda: model_profile(values))


@QUICK
@given(values=odd_configs(PLANNED), version=st.sampled_from(VERSIONS), mtp=st.none() | st.integers(0, 40) | LEAVES)
def test_speculation_for_odd_configs(values, version, mtp):
    found = only_our_error(lambda: speculative_settings(values, version, mtp, allow_unverified_release=True))
    if found is not None:
        numbers = [found["num_steps"], found["eagle_topk"], found["num_draft_tokens"]]
        assert all(number is None for number in numbers) or None not in numbers


@QUICK
@given(values=odd_configs(PLANNED), version=st.sampled_from(VERSIONS), workload=st.sampled_from([None, {"concurrency": 8}]))
def test_plans_for_odd_configs(values, version, workload):
    only_our_error(lambda: launch_plan(values, version, [A6000, A6000], weights=HEADERS, workload=workload, allow_unverified_release=True))


KEYS = st.sampled_from(
    [
        "mem_fraction_static",
        "max_running_requests",
        "mamba_full_memory_ratio",
        "max_mamba_cache_size",
        "max_total_tokens",
        "page_size",
        "context_length",
        "chunked_prefill_size",
        "cuda_graph_max_bs",
        "kv_cache_dtype",
        "mamba_ssm_dtype",
        "dtype",
        "device",
        "disable_radix_cache",
        "disable_overlap_schedule",
        "speculative_algorithm",
        "speculative_num_steps",
        "mamba_scheduler_strategy",
        "tp_size",
        "trust_remote_code",
        "quantization",
        "max_prefill_tokens",
    ]
)


@QUICK
@given(
    wishes=st.dictionaries(KEYS, LEAVES | st.integers(1, 300) | st.floats(0.01, 0.99), max_size=4),
    extra=st.lists(
        st.sampled_from(["--page-size", "--disable-radix-cache", "64", "1", "--kv-cache-dtype", "fp8_e4m3", "--log-level", "x"]), max_size=4
    ),
    load=st.none() | st.dictionaries(st.sampled_from(["context_tokens", "concurrency"]), st.integers(1, 300000), max_size=2),
)
def test_plans_for_odd_wishes(wishes, extra, load):
    only_our_error(
        lambda: launch_plan(
            CONFIGS["Qwen3.6-27B"], "0.5.11", [A6000, A6000], weights=HEADERS, settings=wishes, extra_args=extra, workload=load
        )
    )


@QUICK
@given(drafter=odd_drafters(), version=st.sampled_from(VERSIONS), path=st.just("/srv/drafter") | LEAVES)
def test_plans_for_odd_drafters(drafter, version, path):
    settings = {"speculative_draft_model_path": path}
    target = CONFIGS["Qwen3.6-27B" if drafter.get("hidden_size") != 4096 else "Qwen3-8B"]
    only_our_error(
        lambda: launch_plan(
            target, version, [H200], weights=HEADERS, drafter_config=drafter, settings=settings, allow_unverified_release=True
        )
    )


@QUICK
@given(
    nodes=st.integers(-1, 70) | LEAVES,
    cards=st.integers(1, 8),
    size=st.none() | st.integers(-2, 70),
    load=st.none() | st.dictionaries(st.sampled_from(["context_tokens", "concurrency", "profile"]), LEAVES, max_size=3),
    profile=st.sampled_from([None, "low-latency", "throughput", "balanced"]),
)
def test_plans_for_odd_hosts_and_loads(nodes, cards, size, load, profile):
    load = {**(load or {}), **({"profile": profile} if profile else {})}
    arguments = {"weights": HEADERS, "nodes": nodes, "tensor_parallel_size": size, "workload": load}

    def call():
        return launch_plan(CONFIGS["Qwen3.6-27B"], "0.5.11", [A6000] * cards, **arguments)

    found = only_our_error(call)
    assert found == only_our_error(call)
    if found is not None:
        assert found["tensor_parallel_size"] % found["nodes"]["count"] == 0
        assert found["tensor_parallel_size"] <= cards * found["nodes"]["count"]


@QUICK
@given(
    anything=JSON,
    where=st.sampled_from(
        [
            "config",
            "drafter_config",
            "extra_args",
            "gpus",
            "hf_quant_config",
            "nodes",
            "settings",
            "sglang_version",
            "tensor_parallel_size",
            "weights",
            "workload",
        ]
    ),
)
def test_anything_anywhere(anything, where):
    arguments = {"config": CONFIGS["Qwen3.6-27B"], "sglang_version": "0.5.11", "gpus": [H200], where: anything}
    only_our_error(lambda: launch_plan(**arguments))


@QUICK
@given(
    memory=st.integers(10_000, 200_000),
    more=st.integers(1, 60_000),
    name=st.sampled_from(
        [
            "Falcon-H1-0.5B-Instruct",
            "Kimi-Linear-48B-A3B-Instruct",
            "LFM2-1.2B-finetune",
            "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
            "Qwen3-8B",
            "Qwen3.5-0.8B",
            "Qwen3.6-27B",
            "Qwen3.6-27B with a drafter",
            "SmolLM2",
            "gpt-oss-20b",
        ]
    ),
    version=st.sampled_from(VERSIONS),
    size=st.sampled_from([1, 2, 4]),
    context=st.sampled_from([512, 8192, 32768]),
    concurrency=st.none() | st.integers(1, 300),
    profile=st.sampled_from(["balanced", "low-latency", "throughput"]),
)
def test_more_memory_never_plans_for_fewer_requests(memory, more, name, version, size, context, concurrency, profile):
    name, _with, drafted = name.partition(" with ")
    values = SMOLLM2 if name == "SmolLM2" else CONFIGS[name]
    load = {"context_tokens": min(context, 8192), "profile": profile}
    drafted = drafted if release_of(version, allow_unverified=True).dflash_targets else ""
    settings = {"speculative_draft_model_path": "/srv/drafter"} if drafted else {}
    if concurrency:
        load["concurrency"] = concurrency
    size = 1 if name == "SmolLM2" else size

    def running(mib):
        card = {"name": "card", "memory_mib": mib, "compute_capability": "8.6"}
        found = launch_plan(
            values,
            version,
            [card] * size,
            weights=HEADERS,
            workload=load,
            settings=settings,
            tensor_parallel_size=size,
            drafter_config=DFLASH if drafted else None,
            allow_unverified_release=True,
        )
        return found["memory"]["per_rank"]["max_running_requests"] if found["memory"]["fits"] else 0

    assert running(memory + more) >= running(memory)


@QUICK
@given(
    memory=st.integers(16_000, 200_000), context=st.integers(256, 65536), concurrency=st.integers(1, 64), version=st.sampled_from(VERSIONS)
)
def test_what_is_said_to_fit_leaves_what_it_promises(memory, context, concurrency, version):
    card = {"name": "card", "memory_mib": memory, "compute_capability": "8.6"}
    load = {"context_tokens": context, "concurrency": concurrency}
    found = launch_plan(CONFIGS["Qwen3.6-27B"], version, [card, card], weights=HEADERS, workload=load, allow_unverified_release=True)[
        "memory"
    ]
    if found["fits"]:
        rank = found["per_rank"]
        assert rank["max_running_requests"] >= concurrency
        assert rank["kv_tokens"] >= context * concurrency
        assert rank["free_gib"] >= found["keep_free_gib"] - memory / 1024 / 1000 - 0.02
    elif found["alternatives"]:
        assert found["why"]


def test_nvfp4_configs_profile_with_and_without_the_second_file():
    for name in names():
        assert model_profile(CONFIGS[name], hf_quant(name))["architecture"] == CONFIGS[name]["architectures"][0]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    available=st.sampled_from([0, 0.0, 1e-9, 0.5, 47.0]) | LEAVES,
    kinds=st.lists(st.sampled_from(["full_attention", "linear_attention", "sliding_attention"]), min_size=1, max_size=3),
    version=st.sampled_from(VERSIONS),
)
def test_plans_for_cards_without_free_memory_and_models_without_attention(available, kinds, version):
    values = config("Qwen3.6-27B")
    number = values["text_config"]["num_hidden_layers"]
    values["text_config"]["layer_types"] = (kinds * number)[:number]
    card = {**A6000, "available_gib": available}
    found = only_our_error(lambda: launch_plan(values, version, [card], weights=HEADERS))
    assert found is None or available or available is None or found["memory"]["fits"] is False
