# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Every recorded failure gets its own cause, and a near miss gets none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._diagnosis import Diagnosis
from ansible_collections.inference.sglang.plugins.module_utils._failure_catalogue import FAILURES, HANGS
from ansible_collections.inference.sglang.plugins.module_utils._failure_types import Failure, Hang

LOGS = Path(__file__).parent.parent / "data" / "logs"
PREFIX = re.compile(r"^\[\d{4}-[^\]]*\] ")


def read(name: str, **kwargs: object) -> Diagnosis:
    diagnosis = Diagnosis(**kwargs)  # type: ignore[arg-type]
    for line in (LOGS / f"{name}.log").read_text().splitlines():
        diagnosis.feed(PREFIX.sub("", line))
    return diagnosis


CAUSES = {
    "fail-draft-tokens-only": ("GATE-010", "speculative_eagle_topk"),
    "fail-topk-missing": ("GATE-011", "speculative_eagle_topk"),
    "fail-no-strategy": ("GATE-012", "mamba_scheduler_strategy"),
    "fail-extra-buffer-without-radix": ("GATE-013", "disable_radix_cache"),
    "fail-unknown-flag": ("GATE-020", "sglang_server_extra_args"),
    "fail-no-model-dir": ("GATE-030", "sglang_server_model_path"),
    "fail-not-enough-memory-ct129-tp2": ("GATE-040", "max_running_requests"),
    "fail-mem-fraction-too-small": ("GATE-041", "mem_fraction_static"),
    "fail-oom-draft-kv": ("GATE-043", "mem_fraction_static"),
    "fail-tp2-on-one-gpu": ("GATE-050", "sglang_server_tensor_parallel_size"),
    "fail-torchcodec": ("GATE-061", "inference_host_manage_packages"),
}


@pytest.mark.parametrize("name", sorted(CAUSES))
def test_every_recorded_failure_gets_its_cause(name: str) -> None:
    code, variable = CAUSES[name]
    cause = read(name).cause_of_death("status 137")
    assert cause.code == code
    assert variable in cause.variable
    assert cause.evidence
    assert cause.change


def test_a_bare_assertion_elsewhere_is_not_blamed_on_speculation() -> None:
    diagnosis = Diagnosis()
    for line in (
        "Traceback (most recent call last):",
        '  File "/env/sglang/srt/server_args.py", line 1, in _handle_other',
        "AssertionError",
    ):
        diagnosis.feed(line)
    assert diagnosis.known_cause() is None
    assert "_handle_speculative_decoding" in read("fail-draft-tokens-only").cause_of_death().evidence


def test_every_recorded_failure_is_in_the_table() -> None:
    assert {path.stem for path in LOGS.glob("fail-*.log")} == set(CAUSES)


@pytest.mark.parametrize("name", sorted(CAUSES))
def test_without_its_entry_a_failure_is_unknown_and_not_another(name: str) -> None:
    code = CAUSES[name][0]
    # GATE-021 is the general case of GATE-020, and one "Not enough memory" the general case of the other.
    also = {"GATE-020": {"GATE-021"}, "GATE-040": {"GATE-041"}, "GATE-041": {"GATE-040"}}.get(code, set())
    rest = tuple(f for f in FAILURES if f.code != code and f.code not in also)
    cause = read(name, failures=rest).cause_of_death("status 1")
    assert cause.code in ("GATE-001", "GATE-002")


def test_unknown_failure_shows_frame_and_exception() -> None:
    cause = read("fail-tp2-on-one-gpu", failures=()).cause_of_death("status 137")
    assert cause.code == "GATE-001"
    assert "torch.AcceleratorError: CUDA error: invalid device ordinal" in cause.what
    assert "torch/cuda/__init__.py:638 in set_device" in cause.what


def test_the_first_exception_of_a_chain_is_shown() -> None:
    cause = read("fail-no-model-dir", failures=()).cause_of_death("status 1")
    assert "HFValidationError" in cause.what
    assert "_validators.py:133" in cause.what


def test_figures_tell_the_two_memory_failures_apart() -> None:
    too_many = read("fail-not-enough-memory-ct129-tp2").cause_of_death()
    assert "48 speculative requests" in too_many.what
    assert "7.5 GB" in too_many.what
    too_small = read("fail-mem-fraction-too-small").cause_of_death()
    assert "0.005" in too_small.what


@pytest.mark.parametrize("path", sorted(LOGS.glob("start-27b*.log")), ids=lambda path: path.stem)
def test_a_good_start_has_no_cause_and_torchcodec_is_a_warning(path: Path) -> None:
    diagnosis = read(path.stem)
    assert diagnosis.known_cause() is None
    assert any("torchcodec" in text for text in diagnosis.warnings)
    assert sum("torchcodec" in text for text in diagnosis.warnings) == 1


def test_a_killed_rank_is_named_from_the_surviving_one() -> None:
    assert read("start-ct129-tp2-mtp-3-1-4-then-rank-killed").cause_of_death().code == "GATE-082"


def test_a_killed_scheduler_is_named_by_the_main_process() -> None:
    assert read("start-planned-27b-launched-then-scheduler-killed").cause_of_death().code == "GATE-083"


def test_a_root_cause_beats_an_earlier_consequence() -> None:
    diagnosis = Diagnosis()
    diagnosis.feed("RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:538] Read error: Connection reset by peer")
    diagnosis.feed("Load weight end. elapsed=1 s, type=Qwen3_5ForConditionalGeneration, avail mem=1.00 GB, mem usage=2.00 GB.")
    diagnosis.feed(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
        " GPU 0 has a total capacity of 47.41 GiB of which 1.00 GiB is free."
    )
    cause = diagnosis.cause_of_death()
    assert cause.code == "GATE-046"
    assert "2.00 GiB" in cause.what
    assert "1.00 GiB" in cause.what


def test_killed_and_silent_deaths_are_told_apart() -> None:
    assert Diagnosis().cause_of_death("status 137: killed by signal 9 (SIGKILL), no stop was asked for").code == "GATE-003"
    assert Diagnosis().cause_of_death("status 1").code == "GATE-002"


def test_the_recorded_hang_is_named() -> None:
    cause = read("hang-after-dispatcher-ct129-tp2").cause_of_silence("dispatcher", 300, "graphs")
    assert cause.code == "GATE-090"
    assert "enforce_disable_flashinfer_allreduce_fusion" in cause.variable
    assert "'dispatcher'" in cause.what


def test_a_model_without_implementation_is_told_with_its_ignored_import() -> None:
    diagnosis = Diagnosis()
    diagnosis.feed("Ignore import error when loading sglang.srt.models.qwen3_next: No module named 'vllm._C'")
    diagnosis.feed("ValueError: Qwen3NextForCausalLM has no SGLang implementation and the Transformers implementation is not compatible.")
    cause = diagnosis.cause_of_death()
    assert cause.code == "GATE-036"
    assert "qwen3_next: No module named 'vllm._C'" in cause.what


def test_a_traceback_before_a_silence_is_shown() -> None:
    diagnosis = read("fail-tp2-on-one-gpu", failures=())
    cause = diagnosis.cause_of_silence("weights", 60, "memory")
    assert cause.code == "GATE-007"
    assert "invalid device ordinal" in cause.what


def test_the_same_silence_without_fusion_is_not_blamed_on_it() -> None:
    diagnosis = Diagnosis()
    for line in ("FlashInfer allreduce fusion is forcibly disabled via --x.", "[SymmDeviceMemory] Rank: 0"):
        diagnosis.feed(line)
    assert diagnosis.cause_of_silence("dispatcher", 300, "graphs").code == "GATE-007"


@pytest.mark.parametrize(
    ("code", "line"),
    [
        (
            "GATE-030",
            "huggingface_hub.errors.HFValidationError: Repo id must use alphanumeric chars, '-', '_' or '.'."
            " The name cannot start or end with '-' or '.' and the maximum length is 96: '/nowhere'.",
        ),
        (
            "GATE-032",
            "safetensors._safetensors_rust.SafetensorError: Error while deserializing header: incomplete metadata, file not fully covered",
        ),
    ],
)
def test_the_same_failure_in_other_words(code: str, line: str) -> None:
    """As the real engine said it on a CPU (SGLang 0.5.11, tests/play/test_real_engine_faults.py)."""
    diagnosis = Diagnosis()
    diagnosis.feed("Traceback (most recent call last):")
    diagnosis.feed(line)
    cause = diagnosis.known_cause()
    assert cause is not None and cause.code == code


# A line that looks like an entry's and must not be taken for it.
NEAR_MISSES = {
    "GATE-017": "TypeError: 'NoneType' object cannot be interpreted as an integer",
    "GATE-018": "TypeError: 'NoneType' object is not subscriptable",
    "GATE-019": "Mamba extra_buffer is on",
    "GATE-037": "RuntimeError: The size of tensor a (2048) must match the size of tensor b (4096) at non-singleton dimension 1",
    "GATE-062": "0 errors, compilation done",
    "GATE-063": "the output_size of gate's and up's weight = 256",
    "GATE-010": '  File "/env/sglang/srt/server_args.py", line 1, in _handle_other\nAssertionError',
    "GATE-011": "TypeError: '>' not supported between instances of 'NoneType' and 'int'",
    "GATE-012": "Speculative decoding for Qwen3_5ForConditionalGeneration uses --mamba-scheduler-strategy extra_buffer",
    "GATE-013": "mamba_scheduler_strategy='extra_buffer', disable_radix_cache=False",
    "GATE-014": "no_buffer supports no overlap schedule here",
    "GATE-015": "mamba_track_interval 256, page_size 48",
    "GATE-016": "Page size is 1 for MambaRadixCache v1",
    "GATE-020": "usage: sglang serve [--no-such-flag]",
    "GATE-021": "INFO sglang serve has no error",
    "GATE-022": "context_length (300000)",
    "GATE-023": "chunked_prefill_size=4096 is divisible by page_size",
    "GATE-030": "Repo id must be in the form 'repo_name' or 'namespace/repo_name', as 'Qwen/Qwen3.6-27B' is",
    "GATE-031": "the model does appear to have a file named config.json",
    "GATE-032": "no SafetensorError was seen",
    "GATE-033": "INFO: FileNotFoundError: No such file or directory was handled",
    "GATE-034": "The checkpoint you are trying to load has model type qwen3_5",
    "GATE-035": "trust_remote_code=True",
    "GATE-036": "Qwen3NextForCausalLM has an SGLang implementation",
    "GATE-040": "INFO: RuntimeError: Not enough memory. Please try to increase --mem-fraction-static was seen before",
    "GATE-041": "Not enough memory for a bigger batch",
    "GATE-042": "Loaded weights leave 3 GB for the KV cache",
    "GATE-043": "Load weight end. elapsed=0.02 s, type=Qwen3_5ForCausalLMMTP, avail mem=15.78 GB, mem usage=0.95 GB.",
    "GATE-044": "Capture cuda graph end.",
    "GATE-045": "retrying after CUDA out of memory",
    "GATE-046": "Load weight end. elapsed=1 s, type=Qwen3_5ForConditionalGeneration, avail mem=1.00 GB, mem usage=46.00 GB.",
    "GATE-047": "The memory capacity is balanced.",
    "GATE-050": "CUDA error: device ordinal 0 is valid",
    "GATE-051": "24 is not divisible by 5, padding",
    "GATE-052": "kernel image is available",
    "GATE-053": "The NVIDIA driver on your system is new",
    "GATE-054": "quantization method fp8",
    "GATE-055": "Python.h",
    "GATE-056": "C compiler found",
    "GATE-057": "ninja: no work to do.",
    "GATE-058": "found nvcc",
    "GATE-059": "imported sgl_kernel",
    "GATE-060": "sglang is using nccl==2.28.9",
    "GATE-061": "WARNING Could not load libtorchcodec. Likely causes:",
    "GATE-070": "bind on address ('0.0.0.0', 30000)",
    "GATE-071": "port 29500 is available",
    "GATE-072": "space left on device: 3 GB",
    "GATE-073": "open files: 1024",
    "GATE-074": "Permission denied (publickey).",
    "GATE-075": "OOM killer disabled",
    "GATE-076": "Failed at something",
    "GATE-080": "watchdog_timeout=300",
    "GATE-081": "Rank 1 scheduler started",
    "GATE-082": "gloo/transport/tcp/pair.cc: Connection accepted",
    "GATE-083": "Subprocess scheduler_0 (pid=1010) started",
    "GATE-084": "Initialization ended",
}


def fed(text: str) -> Diagnosis:
    diagnosis = Diagnosis()
    for line in text.splitlines():
        diagnosis.feed(line)
    return diagnosis


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: failure.code)
def test_an_entry_recognises_its_symptom_and_not_a_near_miss(failure: Failure) -> None:
    found = fed(failure.symptom).known_cause()
    assert found is not None
    assert found.code == failure.code
    assert "{" not in found.what + found.change
    assert "unknown" not in found.what + found.change
    assert fed(NEAR_MISSES[failure.code]).known_cause() is None


@pytest.mark.parametrize("hang", HANGS, ids=lambda hang: hang.code)
def test_a_silence_is_recognised_and_not_after_what_excludes_it(hang: Hang) -> None:
    assert fed(hang.symptom).cause_of_silence("stage", 300, "next").code == hang.code
    excluded = hang.unless.replace("(?:torch distributed|parallel)", "parallel")
    assert fed(f"{excluded}\n{hang.symptom}").cause_of_silence("stage", 300, "next").code == "GATE-007"
    assert fed(f"{hang.symptom}\nsomething else").cause_of_silence("stage", 300, "next").code == "GATE-007"


def test_every_entry_has_a_near_miss() -> None:
    assert set(NEAR_MISSES) == {failure.code for failure in FAILURES}
