# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Failures of GPU memory: each names the direction in which to go."""

from __future__ import annotations

from ansible_collections.inference.sglang.plugins.module_utils._failure_types import GPU, SETTINGS, Failure

_OOM = (
    r"^torch\.(?:cuda\.)?OutOfMemoryError: CUDA out of memory\. Tried to allocate (?P<asked>[\d.]+ \w+)\."
    r"(?: GPU (?P<gpu>\d+) has a total capacity of (?P<total>[\d.]+ \w+) of which (?P<free>[\d.]+ \w+) is free)?"
)

FAILURES: tuple[Failure, ...] = (
    # -- memory ----------------------------------------------------------------------------------------------------------------
    Failure(
        "GATE-040",
        r"^RuntimeError: Not enough memory\. Please try to increase --mem-fraction-static",
        "server_args=ServerArgs(mem_fraction_static=0.8, max_running_requests=48, speculative_algorithm='EAGLE')\n"
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
        "the states set aside for {requests} speculative requests leave nothing for the KV cache{left}",
        "lower max_running_requests first; raise mem_fraction_static only if there is memory left over after the start",
        f"{SETTINGS}.max_running_requests",
        "SGLang 0.5.11 pool_configurator.py:44; measured on two cards of 48 GB",
        after=r"speculative_algorithm='\w+'",
        needs_room=True,
    ),
    Failure(
        "GATE-041",
        r"^RuntimeError: Not enough memory\. Please try to increase --mem-fraction-static",
        "server_args=ServerArgs(mem_fraction_static=0.5, max_running_requests=48, speculative_algorithm=None)\n"
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
        "after the weights, mem_fraction_static{fraction} leaves nothing for the KV cache{left}",
        "raise mem_fraction_static, or use more tensor parallelism",
        f"{SETTINGS}.mem_fraction_static",
        "SGLang 0.5.11 pool_configurator.py:44; " + GPU,
    ),
    Failure(
        "GATE-042",
        r"Not enough GPU memory for hybrid \(mamba/linear-attention\) state cache|Loaded weights leave no GPU memory for the KV cache",
        "RuntimeError: Loaded weights leave no GPU memory for the KV cache.",
        "the weights leave too little memory for the states and the KV cache",
        "lower max_running_requests, raise mem_fraction_static or use more tensor parallelism",
        f"{SETTINGS}.max_running_requests",
        "SGLang 0.5.14 and later",
    ),
    Failure(
        "GATE-043",
        _OOM,
        "Load weight end. elapsed=0.02 s, type=Qwen3_5ForCausalLMMTP, avail mem=15.78 GB, mem usage=0.95 GB.\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 15.80 GiB. GPU 0 has a total capacity of "
        "139.80 GiB of which 15.78 GiB is free.",
        "the draft model's KV cache does not fit beside the target's: {asked} asked for, {free} free of {total}",
        "lower mem_fraction_static, so that the target leaves room for the draft",
        f"{SETTINGS}.mem_fraction_static",
        GPU,
        after=r"Load weight end\..*type=\w*MTP\b",
    ),
    Failure(
        "GATE-044",
        r"^Capture cuda graph failed: (?P<error>.*)|^(?:RuntimeError|Exception): Capture cuda graph failed: (?P<error2>.*)",
        "Exception: Capture cuda graph failed: CUDA error",
        "CUDA graphs do not fit, or could not be captured",
        "lower mem_fraction_static, or cuda_graph_max_bs",
        f"{SETTINGS}.mem_fraction_static",
        "SGLang 0.5.11 cuda_graph_runner.py:1431",
    ),
    Failure(
        "GATE-045",
        _OOM,
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 50.00 MiB. GPU 0 has a total capacity of "
        "47.41 GiB of which 1.00 MiB is free.",
        "the weights do not fit: {asked} asked for, {free} free of {total}",
        "use more tensor parallelism or a quantised model; look for another process on the GPU",
        "sglang_server_tensor_parallel_size",
        "torch",
        unless=r"Load weight end\.",
    ),
    Failure(
        "GATE-046",
        _OOM,
        "Load weight end. elapsed=1 s, type=Qwen3_5ForConditionalGeneration, avail mem=1.00 GB, mem usage=46.00 GB.\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 47.41 "
        "GiB of which 1.00 GiB is free.",
        "the GPU ran out of memory after the weights were loaded: {asked} asked for, {free} free of {total}",
        "lower mem_fraction_static",
        f"{SETTINGS}.mem_fraction_static",
        "torch",
        after=r"Load weight end\.",
        unless=r"Load weight end\..*type=\w*MTP\b",
    ),
    Failure(
        "GATE-047",
        r"The memory capacity is unbalanced\. Some GPUs may be occupied by other processes",
        "RuntimeError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes.",
        "another process holds memory on one of the GPUs",
        "stop that process (nvidia-smi names it), or give this instance other GPUs",
        "sglang_server_gpus",
        "SGLang 0.5.11 model_runner.py:1225",
    ),
)
