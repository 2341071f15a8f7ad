# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import argparse
import json
import re

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._launch_plan import launch_plan
from ansible_collections.inference.sglang.plugins.module_utils._releases import known_releases, release_of

from tests.unit.core_helpers import (
    A100,
    A6000,
    B200,
    CPU_SETTINGS,
    EXPECTED,
    H200,
    HEADERS,
    RELEASES,
    SMOLLM2,
    config,
    hf_quant,
    mended,
    names,
    plan,
    values,
    why,
)

SERVED = [
    "Qwen3.6-27B",
    "Qwen3.5-27B",
    "edge-Qwen3.5-27B-no-mtp-keys",
    "Qwen3.5-0.8B",
    "Qwen3.5-2B",
    "Qwen3.5-4B",
    "Qwen3.5-35B-A3B",
    "Qwen3.5-122B-A10B",
    "Qwen3.5-397B-A17B",
    "Qwen3-Next-80B-A3B-Instruct",
    "Qwen3.6-27B-INT4-compressed-tensors-MTPq",
    "Qwen3-8B",
    "Qwen3-32B",
    "Qwen3-32B-FP8",
    "Meta-Llama-3.1-8B",
]
HOSTS = {"a6000x2": (A6000,) * 2, "h200": (H200,), "h200x8": (H200,) * 8, "a100x4": (A100,) * 4, "b200x2": (B200,) * 2}
CT129 = {"model_path": "/root/models/Qwen3.6-27B", "host": "0.0.0.0", "port": 30000, "dtype": "bfloat16"}


def recorded_parser(version):
    """The engine's parser, rebuilt from its record: names, aliases, arity, types and choices."""
    types = {"int": int, "float": float, "loads": json.loads}
    parser = argparse.ArgumentParser(exit_on_error=False, add_help=False)
    for flag in json.loads((EXPECTED / f"flags-{version}.json").read_text())["flags"]:
        if flag["dest"] == "help":
            continue
        if flag["action"] == "BooleanOptionalAction":
            parser.add_argument(flag["flags"][0], dest=flag["dest"], action=argparse.BooleanOptionalAction)
        elif flag["nargs"] == 0:
            parser.add_argument(*flag["flags"], dest=flag["dest"], action="store_true")
        else:
            kind = types.get(str(flag["type"]), str)
            parser.add_argument(*flag["flags"], dest=flag["dest"], nargs=flag["nargs"], type=kind, choices=flag["choices"])
    return parser


PARSERS = {version: recorded_parser(version) for version in RELEASES}


def accepted(version, argv):
    parsed, rest = PARSERS[version].parse_known_args(argv)
    assert rest == []
    return parsed


def test_ct129_as_the_story_has_it():
    found = plan(settings=CT129)
    flags = values(found["argv"])
    assert flags["--tp-size"] == "2"
    assert flags["--speculative-algorithm"] == "NEXTN"
    assert [flags[f"--speculative-{name}"] for name in ("num-steps", "eagle-topk", "num-draft-tokens")] == ["3", "1", "4"]
    assert flags["--mamba-scheduler-strategy"] == "extra_buffer"
    assert int(flags["--max-running-requests"]) >= 8
    assert 0.72 < float(flags["--mem-fraction-static"]) <= 0.88
    memory = found["memory"]
    assert memory["fits"] is True
    assert memory["per_rank"]["weights_gib"] == pytest.approx(25.64, abs=0.011)
    assert memory["per_rank"]["free_gib"] >= memory["keep_free_gib"] - 0.1
    assert memory["per_rank"]["max_running_requests"] == int(flags["--max-running-requests"])
    assert sum(row["gib"] for row in memory["sum"][:-1]) == pytest.approx(memory["sum"][-1]["gib"], abs=0.05)
    assert "left alone the engine (fraction 0.7167, 13.8 GiB of it reserved for 48 requests)" in why(found, "--max-running-requests")
    assert found["gate"] == {
        "family": "gdn",
        "dispatcher": "GDN kernel dispatcher",
        "dispatcher_count": 2,
        "ready": "The server is fired up and ready to roll!",
    }
    assert found["argv"][:6] == ["--model-path", "/root/models/Qwen3.6-27B", "--host", "0.0.0.0", "--port", "30000"]


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize("name", SERVED)
@pytest.mark.parametrize(
    "gpus", [(A6000, A6000), (H200,), (H200,) * 8, (A100,) * 4, (B200, B200)], ids=["a6000x2", "h200", "h200x8", "a100x4", "b200x2"]
)
def test_every_command_is_one_the_parser_takes_and_every_flag_has_a_reason(version, name, gpus):
    found = plan(name, version, gpus, settings={"model_path": "/m", "served_model_name": name}, workload={"context_tokens": 8192})
    parsed = accepted(version, found["argv"])
    size = parsed.tp_size if version == "0.5.23" else parsed.tensor_parallel_size
    assert size == found["tensor_parallel_size"]
    numbers = (parsed.speculative_num_steps, parsed.speculative_eagle_topk, parsed.speculative_num_draft_tokens)
    assert all(number is None for number in numbers) or all(number is not None for number in numbers)
    flags = [word.split("=")[0] for word in found["argv"] if word.startswith("--")]
    assert len(flags) == len(set(flags))
    reasons = {reason["flag"]: reason for reason in found["reasons"]}
    assert all(reasons[flag]["why"] and reasons[flag]["source"] for flag in flags)
    if found["profile"]["recurrent_family"] == "none":
        assert not [flag for flag in flags if "mamba" in flag]


def test_predicted_resolution():
    """Compared with the real parser's resolution on a card that stands for an A6000."""
    assert plan(workload={"context_tokens": 8192, "concurrency": 8})["predicted"] == {
        "tp_size": 2,
        "attention_backend": "flashinfer",
        "page_size": 1,
        "mem_fraction_static": pytest.approx(0.85, abs=0.01),
        "max_running_requests": 8,
        "speculative_algorithm": "EAGLE",
        "speculative_num_steps": 3,
        "speculative_eagle_topk": 1,
        "speculative_num_draft_tokens": 4,
        "mamba_scheduler_strategy": "extra_buffer",
    }
    newer = plan(version="0.5.23", settings={"max_running_requests": 4})["predicted"]
    assert (newer["mamba_radix_cache_strategy"], newer["max_running_requests"]) == ("extra_buffer", 4)
    assert launch_plan(SMOLLM2, "0.5.11", [], settings=CPU_SETTINGS)["predicted"] == {"tp_size": 1}


@pytest.mark.parametrize("version", RELEASES)
def test_plans_are_deterministic(version):
    assert json.dumps(plan(version=version, settings=CT129)) == json.dumps(plan(version=version, settings=CT129))


def test_0_5_23_is_calculated_and_says_so():
    found = plan(version="0.5.23")
    assert found["memory"]["basis"] == "calculated"
    assert any("calculated" in warning for warning in found["warnings"])
    assert "--mamba-scheduler-strategy" not in found["argv"]
    assert found["memory"]["fits"] is True


@pytest.mark.parametrize(
    ("question", "basis"),
    [
        ({"gpus": (H200,)}, "measured"),
        ({"gpus": (H200, H200)}, "measured"),
        ({"gpus": (H200,) * 4}, "calculated"),
        ({"gpus": (A6000, A6000)}, "calculated"),
        ({"gpus": (H200, A100)}, "calculated"),
        ({"gpus": (H200,), "version": "0.5.23"}, "calculated"),
    ],
)
def test_only_cards_that_were_measured_are_called_so(question, basis):
    found = plan(**question)
    assert found["memory"]["basis"] == basis
    assert not any("measured" in reason["source"] for reason in found["reasons"])


@pytest.mark.parametrize(
    ("wishes", "source"),
    [
        ({}, "config.json and the number of GPUs"),
        ({"tensor_parallel_size": 2}, "sglang_server_tensor_parallel_size"),
        ({"settings": {"tensor_parallel_size": 2}}, "sglang_server_settings"),
        ({"workload": {"profile": "throughput"}}, "memory plan"),
    ],
)
def test_who_chose_the_size_of_the_group_is_said(wishes, source):
    reasons = {reason["flag"]: reason for reason in plan(gpus=(H200, H200), **wishes)["reasons"]}
    assert reasons["--tp-size"]["source"] == source


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize("settings", [{}, {"speculative_algorithm": "none"}, {"mamba_ssm_dtype": "bfloat16"}])
def test_each_row_of_the_sum_is_what_its_words_say(version, settings):
    """Counts times sizes as printed, within the rounding of both; and the rows add up."""
    rows = plan(version=version, settings=settings)["memory"]["sum"]
    states = [row for row in rows if "MiB" in row["what"]]
    assert len(states) == (1 if settings.get("speculative_algorithm") else 2)
    for row in states:
        count, each = re.match(r"\((\d+) \+ 1 padding\)(?: x (\d+))?", row["what"]).groups()
        mib = float(re.search(r"of ([\d.]+) MiB", row["what"])[1])
        number = (int(count) + 1) * int(each or 1)
        assert -row["gib"] * 1024 == pytest.approx(number * mib, abs=number * 0.05 + 6)
    assert sum(row["gib"] for row in rows[:-1]) == pytest.approx(rows[-1]["gib"], abs=0.005 * len(rows))


def test_the_declared_load_steers_the_split():
    short = plan(gpus=(H200,), workload={"context_tokens": 2048, "concurrency": 40})
    long = plan(gpus=(H200,), workload={"context_tokens": 131072, "concurrency": 4})
    for found, load in ((short, (2048, 40)), (long, (131072, 4))):
        rank = found["memory"]["per_rank"]
        assert found["memory"]["fits"] is True
        assert rank["max_running_requests"] == load[1]
        assert rank["kv_tokens"] >= load[0] * load[1]
    ratio = "--mamba-full-memory-ratio"
    assert float(values(short["argv"])[ratio]) > 3 > 1 > float(values(long["argv"])[ratio])


TIGHT = [
    ("Qwen3.6-27B", (A6000, A6000), {"context_tokens": 65536, "concurrency": 12}, {}),
    ("Qwen3.6-27B", (A6000, A6000), {"context_tokens": 262144, "concurrency": 3}, {}),
    ("Qwen3.6-27B", (A6000, A6000), {"context_tokens": 2048, "concurrency": 60}, {}),
    ("Qwen3.6-27B", (A6000, A6000), {"context_tokens": 16384, "concurrency": 4}, {"mem_fraction_static": 0.6}),
    ("Qwen3.6-27B", (H200,), {"context_tokens": 131072, "concurrency": 30}, {}),
    ("Qwen3-32B", (A100,), {"context_tokens": 32768, "concurrency": 8}, {}),
    ("DeepSeek-V3", (H200,) * 4, {"context_tokens": 8192}, {}),
    ("NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", (A100,), {"context_tokens": 65536, "concurrency": 200}, {}),
]


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize(("name", "gpus", "load", "settings"), TIGHT, ids=[f"{row[0]}-{position}" for position, row in enumerate(TIGHT)])
def test_what_is_said_to_fit_instead_does(name, gpus, load, settings, version):
    """Every alternative, taken as it is given, makes a plan that fits."""
    found = plan(name, version, gpus, workload=load, settings=settings, tensor_parallel_size=len(gpus))
    memory = found["memory"]
    assert memory["fits"] is False
    assert memory["alternatives"]
    for other in memory["alternatives"]:
        changed = {key: value for key, value in {**settings, **other.get("settings", {})}.items() if value is not None}
        cards = (gpus[0],) * other.get("gpus", len(gpus))
        again = plan(
            name, version, cards, workload={**load, **other.get("workload", {})}, settings=changed, tensor_parallel_size=len(cards)
        )
        assert again["memory"]["fits"] is True, other["text"]


def test_alternatives_are_the_nearest():
    load = {"context_tokens": 65536, "concurrency": 12}
    memory = plan(workload=load)["memory"]
    assert "12 are wanted" in memory["why"]
    best = next(item["workload"] for item in memory["alternatives"] if item["text"].startswith("concurrency "))
    assert plan(workload={**best, "concurrency": best["concurrency"] + 1})["memory"]["fits"] is False
    longest = next(item["workload"] for item in memory["alternatives"] if item["text"].startswith("context_tokens "))
    assert plan(workload={**longest, "context_tokens": longest["context_tokens"] + 512})["memory"]["fits"] is False
    assert any("such GPUs" in item["text"] for item in memory["alternatives"])


def test_weights_that_exceed_the_card():
    found = plan("Qwen3.5-397B-A17B", gpus=(A6000, A6000))
    assert found["memory"]["fits"] is False
    assert "weights alone exceed the card" in found["memory"]["why"]
    one = plan(gpus=(A6000,), tensor_parallel_size=1)
    assert one["memory"]["fits"] is False
    assert any(item["text"].startswith("2 such GPUs") for item in one["memory"]["alternatives"])


def test_overrides_win_and_the_plan_says_what_they_replaced():
    derived = values(plan(settings=CT129)["argv"])
    found = plan(settings={**CT129, "mem_fraction_static": 0.8, "max_running_requests": 4})
    flags = values(found["argv"])
    assert (flags["--mem-fraction-static"], flags["--max-running-requests"]) == ("0.8", "4")
    chosen = why(found, "--mem-fraction-static").removeprefix("set; the plan would have chosen ")
    assert float(chosen) == pytest.approx(float(derived["--mem-fraction-static"]), abs=0.02)
    assert why(found, "--max-running-requests").startswith("set; the plan would have chosen ")
    assert found["memory"]["per_rank"]["max_running_requests"] == 4
    assert found["memory"]["per_rank"]["mem_fraction_static"] == 0.8


def test_the_emulated_start_with_pinned_numbers():
    card = {**A6000, "available_gib": 46.23}
    settings = {"mem_fraction_static": 0.7167, "max_running_requests": 8, "mamba_full_memory_ratio": 0.9}
    rank = plan(gpus=(card, card), settings=settings)["memory"]["per_rank"]
    assert (rank["state_slots"], rank["max_running_requests"]) == (34, 6)
    assert rank["kv_tokens"] == pytest.approx(89197, rel=0.01)


def test_speculation_off_by_weights_and_by_wish():
    for found in (plan(weights={**HEADERLESS, "mtp_tensors": 0}), plan(settings={"speculative_algorithm": "none"})):
        assert not [word for word in found["argv"] if "speculative" in word]
        assert found["gate"]["dispatcher_count"] == 1
        assert any(reason["flag"] == "--speculative-algorithm" and reason["why"].startswith("off") for reason in found["reasons"])


HEADERLESS = {"evidence": "headers", "bytes_by_group": {}}


def test_without_evidence_speculation_is_provisional():
    found = plan(weights=None)
    assert found["provisional"] is True
    assert any("provisional" in warning for warning in found["warnings"])
    assert plan()["provisional"] is False
    named = plan(weights={"evidence": "index", "mtp_tensors": 15})
    assert named["provisional"] is False
    assert any("index only" in warning for warning in named["warnings"])


def test_small_model_on_a_cpu():
    found = launch_plan(SMOLLM2, "0.5.11", [], settings={**CPU_SETTINGS, "model_path": "/m"})
    flags = values(found["argv"])
    assert found["memory"]["fits"] is None
    assert flags["--tp-size"] == "1"
    assert (flags["--device"], flags["--max-running-requests"], flags["--disable-overlap-schedule"]) == ("cpu", "4", True)
    assert found["gate"]["dispatcher"] is None
    assert found["gate"]["dispatcher_count"] == 0
    accepted("0.5.11", found["argv"])
    with pytest.raises(SglangError, match="not served on a CPU"):
        plan(settings=CPU_SETTINGS)


def test_small_model_on_a_gpu():
    found = launch_plan(SMOLLM2, "0.5.23", [A6000])
    assert found["memory"]["fits"] is True
    assert found["speculative"]["enabled"] is False
    assert "--mamba-full-memory-ratio" not in found["argv"]
    assert launch_plan(SMOLLM2, "0.5.11", [A6000] * 4)["tensor_parallel_size"] == 3


def test_blackwell_changes_backend_and_page():
    found = plan(gpus=(B200,))
    assert any("trtllm_mha and page size 64" in warning for warning in found["warnings"])
    assert found["memory"]["per_rank"]["kv_tokens"] % 64 == 0
    plain = {"speculative_algorithm": "none"}
    assert plan(gpus=(B200,), settings=plain)["predicted"]["page_size"] == 64
    assert plan(version="0.5.23", gpus=(B200,), settings=plain)["predicted"]["page_size"] == 1


def test_quantised_weights_and_cards():
    with pytest.raises(SglangError, match="modelopt_fp4 weights do not run on NVIDIA RTX A6000"):
        plan("Qwen3.5-122B-A10B-NVFP4")
    values, extra = mended("NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4")
    newer = launch_plan(values, "0.5.23", [B200], extra, HEADERS)
    assert newer["memory"]["fits"] is None
    assert "headers" in newer["memory"]["why"]
    assert any("one byte a value" in warning for warning in newer["warnings"])
    assert plan("Qwen3.6-27B-NVFP4", "0.5.23", gpus=(B200,))["profile"]["quantization"]["kv_cache"] == "FP8"
    named = plan("Qwen3.6-27B-NVFP4", "0.5.23", (A6000,))
    assert named["memory"]["fits"] is True
    sized = {
        "evidence": "headers",
        "mtp_tensors": 15,
        "bytes_by_group": {"text": 14 << 30, "embedding": 2 << 30, "lm_head": 1 << 30, "mtp": 1 << 30},
    }
    with_headers = launch_plan(config("Qwen3.6-27B-NVFP4"), "0.5.23", [A6000], hf_quant("Qwen3.6-27B-NVFP4"), weights=sized)
    assert with_headers["memory"]["fits"] is True
    assert with_headers["memory"]["per_rank"]["token_bytes"] == 32768


@pytest.mark.parametrize("version", known_releases())
def test_a_mixed_checkpoint_is_refused_where_the_release_takes_it_for_another_format(version):
    """Seen with the real resolution: up to 0.5.14 quantization=w4afp8, from 0.5.15 on modelopt_mixed, on every card."""
    name, release = "Qwen3.6-27B-NVFP4", release_of(version, allow_unverified=True)
    if release.modelopt_mixed == "listed":
        assert plan(name, version, (B200,), allow_unverified_release=True)["argv"]
        return
    with pytest.raises(SglangError, match="for w4afp8, which it is not") as caught:
        plan(name, version, (B200,), allow_unverified_release=True)
    assert "SGLang 0.5.15 or newer" in str(caught.value)
    assert "modelopt_fp4" not in str(caught.value)


def test_which_mixed_checkpoints_are_taken_for_what_they_are():
    """The family's name decided before the list of layers did; a list without NVFP4 layers is what w4afp8 is made for."""
    nemotron, extra = config("NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4"), hf_quant("NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4")
    extra["quantization"]["quant_algo"] = "MIXED_PRECISION"
    assert launch_plan(nemotron, "0.5.11", [B200], extra)["argv"]
    extra["quantization"]["quantized_layers"] = {"backbone.layers.0.mixer.in_proj": {"quant_algo": "FP8"}}
    with pytest.raises(SglangError, match="for w4afp8, which it is not"):
        launch_plan(nemotron, "0.5.23", [B200], extra)


# What has no plan, and why: the engine itself refuses, or the weights exceed eight cards by config.json's shapes.
NO_CLASS = {"MiniMax-Text-01"}
MISREAD = {"Qwen3.6-27B-NVFP4"}
# What has a plan only with code of its repository, or with a complete file.
UNREAD = {"0.5.11": {"Kimi-K2-Instruct", "MiMo-7B-Base", "MiMo-V2-Flash"}, "0.5.23": {"MiMo-7B-Base"}}
HALF = {"NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4"}


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize("name", names())
def test_every_recorded_model_is_planned_or_refused_with_a_reason(name, version):
    if name in NO_CLASS:
        with pytest.raises(SglangError, match="does not serve"):
            plan(name, version, (B200,) * 8)
        return
    if version == "0.5.11" and config(name)["architectures"][0] == "Qwen3_5ForCausalLM":
        with pytest.raises(SglangError, match="does not serve"):
            plan(name, version, (B200,) * 8)
        return
    if version == "0.5.11" and name in MISREAD:
        with pytest.raises(SglangError, match="which it is not"):
            plan(name, version, (B200,) * 8)
        return
    if name in UNREAD[version] | HALF:
        with pytest.raises(SglangError, match=r"cannot read the model type|names no group_size"):
            plan(name, version, (B200,) * 8)
    values, extra = mended(name)
    settings = {"trust_remote_code": name in UNREAD[version]}
    found = launch_plan(values, version, [B200] * 8, extra, settings=settings, workload={"context_tokens": 4096})
    accepted(version, found["argv"])
    if found["memory"]["fits"] is not True:
        assert "headers" in found["memory"]["why"] or "exceed" in found["memory"]["why"]


@pytest.mark.parametrize("name", ["MixtralForCausalLM", "Phi3ForCausalLM", "Lfm2MoeForCausalLM"])
def test_models_without_shapes_are_refused_by_name(name):
    layers = {"layer_types": ["conv"] * 30} if name.startswith("Lfm2") else {}
    with pytest.raises(SglangError) as caught:
        launch_plan({**SMOLLM2, "architectures": [name], **layers}, "0.5.11", [H200])
    assert name in str(caught.value)
    assert "no memory rule" in str(caught.value)


def test_the_text_only_class_needs_a_release_that_serves_it():
    with pytest.raises(SglangError, match="does not serve Qwen3_5ForCausalLM"):
        plan("Qwen3.5-2B-text-only-finetune", "0.5.11")
    assert plan("Qwen3.5-2B-text-only-finetune", "0.5.23")["memory"]["fits"] is True


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"gpus": ()}, "inference_host_gpus"),
        ({"gpus": ("A6000",)}, "not a mapping"),
        ({"gpus": ({"name": "x", "memory_mib": 49140},)}, "compute_capability"),
        ({"gpus": ({**A6000, "memory": 1},)}, "unknown keys"),
        ({"version": "0.5.13"}, "sglang_server_allow_unverified_release"),
        ({"version": "0.5.8"}, "supported: 0.5.11, 0.5.23"),
        ({"tensor_parallel_size": 3}, "does not divide"),
        ({"tensor_parallel_size": 4}, "more GPUs than there are"),
        ({"tensor_parallel_size": "2"}, "tensor_parallel_size"),
        ({"tensor_parallel_size": 1, "settings": {"tp_size": 2}}, "Two sizes"),
        ({"nodes": 0}, "nodes cannot be used"),
        ({"nodes": True}, "nodes cannot be used"),
        ({"settings": {"nnodes": 2}}, "everal nodes"),
        ({"workload": {"profile": "fast"}}, "low-latency"),
        ({"settings": {"tp_size": 2, "tensor_parallel_size": 2}}, "by another name"),
        ({"settings": {"api_key": "canary-5ec2e7"}}, "sglang_server_api_key"),
        ({"extra_args": ["--api-key", "canary-5ec2e7"]}, "sglang_server_api_key"),
        ({"settings": {"max_runing_requests": 8}}, "max_running_requests"),
        ({"settings": {"mamba_radix_cache_strategy": "auto"}}, "mamba_scheduler_strategy"),
        ({"settings": {"speculative_num_draft_tokens": 1}}, "together, or not at all"),
        ({"settings": {"mem_fraction_static": 1.5}}, "mem_fraction_static"),
        ({"settings": {"max_running_requests": 0}}, "max_running_requests"),
        ({"settings": {"language_only": True}}, "encoder_urls"),
        ({"settings": {"pp_size": 2}}, "Pipeline parallelism"),
        ({"settings": {"kv_cache_dtype": "fp4_e2m1"}}, "no memory rule"),
        ({"settings": ["--x"]}, "not a mapping"),
        ({"extra_args": ["--max-running-requests", "8"]}, "contradicts the plan"),
        ({"extra_args": ["--mem-fraction-static=0.8"]}, "contradicts the plan"),
        ({"extra_args": ["--trust-remote-code"]}, "contradicts the plan"),
        ({"extra_args": ["--log-level", "debug"], "settings": {"log_level": "info"}}, "stands in sglang_server_settings and"),
        ({"extra_args": "--x"}, "not a list"),
        ({"workload": {"context": 8192}}, "context_tokens"),
        ({"workload": {"context_tokens": 10**7}}, "longer than the model's"),
        ({"workload": {"concurrency": 0}}, "concurrency"),
        ({"weights": {"evidence": "hope"}}, "evidence"),
        ({"weights": {"evidence": "headers", "mtp_tensors": 1, "bytes_by_group": {"legs": 1}}}, "legs"),
    ],
)
def test_wrong_input_is_named(more, said):
    with pytest.raises(SglangError) as caught:
        plan(**more)
    assert said in str(caught.value)
    assert "canary" not in str(caught.value)


def test_extra_args_reach_the_derivation():
    found = plan(extra_args=["--disable-radix-cache", "--log-level=debug", "--context-length", "32k"])
    flags = values(found["argv"])
    assert (flags["--disable-radix-cache"], flags["--log-level"], flags["--context-length"]) == (True, "debug", "32000")
    assert "--mamba-scheduler-strategy" not in flags
    assert "--mamba-full-memory-ratio" not in flags
    assert found["memory"]["per_rank"]["state_slots"] == found["memory"]["per_rank"]["max_running_requests"]
    assert {reason["flag"]: reason["source"] for reason in found["reasons"]}["--log-level"] == "sglang_server_extra_args"


def test_code_from_the_model_runs_only_when_asked_for():
    assert "--trust-remote-code" not in plan()["argv"]
    assert "--trust-remote-code" in plan(settings={"trust_remote_code": True})["argv"]


def test_metrics_are_on_unless_switched_off():
    assert "--enable-metrics" in plan()["argv"]
    assert "--enable-metrics" not in plan(settings={"enable_metrics": False})["argv"]


def test_smaller_states_and_caches_make_room():
    base = plan()["memory"]["per_rank"]
    for settings in ({"kv_cache_dtype": "fp8_e4m3"}, {"mamba_ssm_dtype": "bfloat16"}):
        assert plan(settings=settings)["memory"]["per_rank"]["max_running_requests"] > base["max_running_requests"]


def test_unlike_cards_and_idle_cards_are_said():
    found = plan(gpus=(A6000, H200))
    assert any("not alike" in warning for warning in found["warnings"])
    assert found["memory"]["per_rank"]["available_gib"] < 48
    assert any("1 of 3 GPUs stay idle" in warning for warning in plan(gpus=(A6000,) * 3)["warnings"])


def test_variables_that_mean_nothing_are_said():
    found = plan(version="0.5.23", environment={"SGLANG_ENABLE_SPEC_V2": "1"})
    assert any("SGLANG_ENABLE_SPEC_V2" in warning for warning in found["warnings"])
    assert not any("SGLANG_ENABLE_SPEC_V2" in warning for warning in plan(environment={"SGLANG_ENABLE_SPEC_V2": "1"})["warnings"])


@pytest.mark.parametrize("version", ["0.5.11", "0.5.23"])
@pytest.mark.parametrize("capability", ["5.2", "6.1", "7.0", "7.2"])
def test_a_card_that_the_release_ends_on_is_no_plan(version, capability):
    with pytest.raises(SglangError, match="does not run on") as caught:
        plan(version=version, gpus=(A6000, {**A6000, "compute_capability": capability}))
    assert f"compute capability {capability}" in caught.value.found
    assert caught.value.wanted.startswith("7.5 or higher (SGLang " + version)
    assert caught.value.next_step


@pytest.mark.parametrize(("capability", "warned"), [("7.5", True), ("8.0", False), ("12.0", False)])
def test_a_card_without_bfloat16_is_said(capability, warned):
    found = plan(gpus=({**A6000, "compute_capability": capability},) * 2)
    assert any("loads the model in float16" in warning for warning in found["warnings"]) == warned
