# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Plans for few users and for many, and over several hosts."""

from __future__ import annotations

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError

from tests.unit.core_helpers import A6000, H200, RELEASES, plan, values, why


@pytest.mark.parametrize("version", RELEASES)
def test_low_latency_drafts_and_throughput_does_not(version):
    few = plan(version=version, gpus=(H200,), workload={"profile": "low-latency"})
    many = plan(version=version, gpus=(H200,), workload={"profile": "throughput", "context_tokens": 2048})
    assert few["speculative"]["enabled"] is True
    assert values(few["argv"])["--max-running-requests"] == "8"
    assert many["speculative"]["enabled"] is False
    assert "declared load is throughput" in why(many, "--speculative-algorithm")
    assert few["memory"]["workload"]["profile"] == "low-latency"
    assert (few["memory"]["fits"], many["memory"]["fits"]) == (True, True)


def test_throughput_serves_more_at_once_than_the_default():
    load = {"context_tokens": 2048}
    for gpus in ((H200,), (A6000, A6000)):
        default = plan(gpus=gpus, workload=load)["memory"]["per_rank"]["max_running_requests"]
        many = plan(gpus=gpus, workload={**load, "profile": "throughput"})["memory"]["per_rank"]["max_running_requests"]
        assert many > default


def test_what_low_latency_does_not_run_at_once_goes_into_the_conversations():
    few = plan(gpus=(H200,), workload={"profile": "low-latency"})["memory"]["per_rank"]
    default = plan(gpus=(H200,), workload={})["memory"]["per_rank"]
    assert few["kv_tokens"] > default["kv_tokens"]


def test_settings_win_over_the_profile():
    on = plan(gpus=(H200,), workload={"profile": "throughput"}, settings={"speculative_algorithm": "NEXTN"})
    assert on["speculative"]["enabled"] is True
    more = plan(gpus=(H200,), workload={"profile": "low-latency", "concurrency": 20})
    assert values(more["argv"])["--max-running-requests"] == "20"


def test_throughput_takes_the_size_that_serves_most():
    """The small model serves what is asked for on one card; the large one needs all eight."""
    found = plan("Qwen3.5-0.8B", gpus=(H200,) * 8, workload={"profile": "throughput", "context_tokens": 1024, "concurrency": 64})
    assert found["tensor_parallel_size"] == 1
    assert "serves the most requests at once with the fewest GPUs" in why(found, "--tp-size")
    assert plan("Qwen3.5-0.8B", gpus=(H200,) * 8, workload={"context_tokens": 1024})["tensor_parallel_size"] == 8
    large = plan("Qwen3.5-397B-A17B", gpus=(H200,) * 8, workload={"profile": "throughput", "context_tokens": 1024})
    assert large["tensor_parallel_size"] == 8
    assert plan(gpus=(H200,) * 2, tensor_parallel_size=2, workload={"profile": "throughput"})["tensor_parallel_size"] == 2


def test_several_nodes():
    found = plan("Qwen3.5-397B-A17B", gpus=(H200,) * 8, nodes=2, settings={"dist_init_addr": "10.0.0.1:20000", "node_rank": 1})
    flags = values(found["argv"])
    assert (flags["--tp-size"], flags["--nnodes"], flags["--node-rank"]) == ("16", "2", "1")
    assert flags["--dist-init-addr"] == "10.0.0.1:20000"
    assert found["nodes"] == {
        "count": 2,
        "gpus_per_node": 8,
        "arguments": [["--node-rank", "0"], ["--node-rank", "1"]],
        "missing": [],
    }
    assert found["memory"]["fits"] is True
    alone = plan("Qwen3.5-397B-A17B", gpus=(H200,) * 8)
    assert found["memory"]["per_rank"]["weights_gib"] < alone["memory"]["per_rank"]["weights_gib"]


def test_a_command_for_several_nodes_says_what_it_lacks():
    found = plan(nodes=2)
    assert any("node_rank and dist_init_addr" in warning for warning in found["warnings"])
    assert "--node-rank" not in found["argv"]
    assert found["tensor_parallel_size"] == 4
    assert "nodes" in plan() and plan()["nodes"]["count"] == 1


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"nodes": 2, "tensor_parallel_size": 1}, "do not lie evenly on 2 nodes"),
        ({"nodes": 2, "tensor_parallel_size": 8}, "more GPUs than there are"),
        ({"nodes": 3}, "does not divide"),
        ({"nodes": 2, "settings": {"nnodes": 4}}, "nnodes contradicts"),
        ({"nodes": 2, "settings": {"node_rank": 2}}, "node_rank"),
        ({"nodes": "2"}, "nodes cannot be used"),
    ],
)
def test_nodes_that_cannot_be(more, said):
    with pytest.raises(SglangError) as caught:
        plan(**more)
    assert said in str(caught.value)
