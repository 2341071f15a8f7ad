# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a start's log can say about why it failed, as data.

An entry is a pattern (a regular expression for one line, without the engine's ``[time rank]`` prefix), what it means and the one
thing to change. ``what`` and ``change`` may use the pattern's named groups and the memory figures of the log (``left``, ``fraction``,
``requests``). Where two entries match one line, the earlier entry wins. Codes are stable: never reuse one.
Texts are from SGLang 0.5.11's and 0.5.23's sources and from recorded starts; ``source`` says which.
"""

from __future__ import annotations

from ansible_collections.inference.sglang.plugins.module_utils import _failures_host, _failures_memory, _failures_settings
from ansible_collections.inference.sglang.plugins.module_utils._failure_types import SETTINGS, Failure, Hang, Warn

# Codes of entries that were taken out: never given again.
RETIRED: tuple[str, ...] = ()

FAILURES: tuple[Failure, ...] = (*_failures_settings.FAILURES, *_failures_memory.FAILURES, *_failures_host.FAILURES)

WARNINGS: tuple[Warn, ...] = (
    Warn(
        r"Could not load libtorchcodec",
        "torchcodec finds no FFmpeg libraries (libavutil): video input will not work; text is not affected",
    ),
    Warn(
        # Of a model's module only with "has no SGLang implementation" (GATE-036): most are models that nobody wants here.
        r"Ignore import error when loading (?P<module>(?!sglang\.srt\.(?:models|multimodal\.processors\.mimo_v2)\b)\S+?): (?P<error>.*)",
        "SGLang ignored an import error of {module}: {error}",
    ),
    Warn(
        r"Spec v1 is used .* because SGLANG_ENABLE_SPEC_V2=False",
        "speculative decoding runs in its old form (SGLANG_ENABLE_SPEC_V2 is off)",
    ),
    Warn(
        r"Disabling overlap schedule since mamba no_buffer",
        "the overlap schedule is off: the no_buffer strategy excludes it",
    ),
    Warn(
        r"Max running requests is reset to (?P<count>\d+) for speculative decoding",
        "max_running_requests was not given: SGLang reserves memory for {count} requests",
    ),
    Warn(r"Fail to set RLIMIT_NOFILE", "the limit for open files is lower than SGLang asks for"),
    Warn(
        r"Some weights? (?:were|was) not (?:loaded|initialized).*mtp",
        "weights of the MTP layer were not loaded: drafts would never be accepted",
    ),
    Warn(
        r"CuTe DSL GDN prefill is not supported on this GPU.*Falling back to Triton",
        "the GDN prefill kernel fell back to Triton",
    ),
    Warn(
        r"(?:Radix cache is disabled|disable_radix_cache is set to True|Disable radix cache)",
        "the engine turned the radix cache off",
    ),
)

HANGS: tuple[Hang, ...] = (
    Hang(
        "GATE-090",
        r"\[SymmDeviceMemory\]",
        r"Auto-enabling FlashInfer AllReduce Fusion",
        r"allreduce fusion is forcibly disabled",
        "Auto-enabling FlashInfer AllReduce Fusion on SM90/SM10X for Qwen3_5ForConditionalGeneration\n"
        "[SymmDeviceMemory] Rank: 0, Group size: 2, device_idx: 0, Signal pad offset: 2097152",
        "FlashInfer's allreduce fusion, which SGLang switched on by itself, waits for something that this machine does not give",
        "set enforce_disable_flashinfer_allreduce_fusion: true",
        f"{SETTINGS}.enforce_disable_flashinfer_allreduce_fusion",
        "measured on two H200, SGLang 0.5.11",
    ),
    Hang(
        "GATE-091",
        r"Init (?:torch distributed|parallel) begin|sglang is using nccl|\[c10d\]",
        r"",
        r"Init (?:torch distributed|parallel) ends",
        "Init torch distributed begin.\nsglang is using nccl==2.28.9",
        "the ranks do not find each other",
        "try NCCL_P2P_DISABLE=1 in sglang_server_environment; check /dev/shm, NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME",
        "sglang_server_environment",
        "NCCL",
    ),
)
