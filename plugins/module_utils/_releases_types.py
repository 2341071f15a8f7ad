# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The shape of a row of the release table, and of the lines of its generated parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

VERIFIED = "verified"
UNVERIFIED = "unverified"
NEWER = "newer"


def unfolded(text: str) -> Iterator[str]:
    """Lines of a generated table; one that starts with four blanks continues the one before with what is behind these."""
    held = ""
    for line in text.strip("\n").split("\n"):
        if line.startswith("    "):
            held += line[4:]
            continue
        if held:
            yield held
        held = line
    if held:
        yield held


@dataclass(frozen=True)
class CardDefaults:
    """What the engine picks for cards of less than `below_mib` MiB (0: all larger ones)."""

    below_mib: int
    chunked_prefill_size: int
    graph_requests_small_tp: int
    graph_requests_large_tp: int


@dataclass(frozen=True)
class Release:
    """One SGLang release as the derivation needs it. Where each fact was read: `place`, from _releases_places.py."""

    version: str
    status: str
    """verified: its own parser was run against this collection's plans. unverified: read in its wheel only. newer: newer than the table."""
    source: str
    """Where these facts were read, for the reasons in a plan."""
    options: str
    """The release whose table of options counts: its own, or for one that is newer than the table the newest known."""
    # Models
    gdn_architectures: frozenset[str]
    mtp_architectures: frozenset[str]
    extra_buffer_architectures: frozenset[str]
    radix_off_architectures: frozenset[str]
    """Hybrids whose radix cache the engine turns off by itself."""
    oldest_card: int
    """Compute capability times ten below which the engine ends as it loads."""
    bfloat16_card: int
    """Compute capability times ten below which it loads in float16, whatever dtype says."""
    minimum_capability: tuple[tuple[str, int], ...]
    """Quantisation method -> compute capability times ten, as the loader checks it."""
    modelopt_mixed: str
    """Which ModelOpt checkpoints of mixed precision it takes for what they are: none, nemotron_h (its family alone), or listed (those whose
    list names NVFP4 layers). All others it takes for w4afp8, whose linear layers are FP8."""
    nvfp4_group_assumed: bool
    """Whether it takes NVFP4's group of 16 for granted where config.json's own quantization_config names no group_size."""
    unread_types: frozenset[str]
    """Model types that are planned here and that it reads with code of the model's repository only: neither it nor the transformers that it
    pins has a configuration class for them."""
    # Speculation and the state cache
    strategy_option: str
    strategy_auto: str
    strategy_needs_flag: bool
    no_buffer_refuses_speculation: bool
    no_buffer_turns_radix_off: bool
    """Whether no_buffer with speculation silently turns the radix cache off."""
    no_buffer_needs_overlap_off: bool
    extra_buffer_refuses_radix_off: bool
    lazy_strategy: bool
    """Whether there is extra_buffer_lazy."""
    lazy_with_speculation: bool
    verification_dies: bool
    """Whether a request that ends while its drafts are verified kills the scheduler of a hybrid model under extra_buffer. One with
    structured output does so each time: sgl-project/sglang#28407, repaired by #27998; seen on 0.5.14."""
    track_interval: int
    recurrent_chunk: int
    sm100_pages_with_speculation: bool
    """Whether trtllm_mha with pages of 64 is picked on compute capability 10.x for topk 1 given explicitly."""
    sm100_pages_without_speculation: bool
    """Whether trtllm_mha with pages of 64 is picked on compute capability 10.x for extra_buffer alone, too."""
    blackwell_backends: tuple[tuple[str, tuple[str, ...]], ...]
    """Attention backends that a GDN hybrid may have on sm100 (10.x) and sm120 (12.x)."""
    sparse_backend: str
    """What it calls the attention backend of models with sparse attention (DeepSeek V3.2, GLM-5)."""
    running_cap_with_speculation: int
    algorithm_shown: str
    """What the engine calls NEXTN once resolved."""
    algorithms: tuple[str, ...]
    """Speculative algorithms it knows, as --speculative-algorithm spells them."""
    speculation_environment: tuple[tuple[str, str], ...]
    """Variables without which speculation does not overlap."""
    dflash_targets: frozenset[str]
    """Classes that give a block-diffusion drafter their hidden states (set_dflash_layers_to_capture)."""
    eagle3_targets: frozenset[str]
    """Classes that give an EAGLE3 drafter theirs (set_eagle3_layers_to_capture)."""
    dflash_overlap_off: bool
    """Whether DFLASH turns the overlap schedule off."""
    dflash_exact_cell: bool
    """Whether a token is budgeted with the block-diffusion drafter's own KV bytes, rather than with a share of the target's."""
    # Memory
    joint_pool_rule: bool
    joint_pool_padding: bool
    """Whether the joint rule reckons with one padding slot in both state pools."""
    draft_counted_first: bool
    draft_in_cell: bool
    """Whether the KV cache of an external drafter's layers is part of a token's budgeted bytes."""
    speculation_reserve_mib: int
    multimodal_reserve_mib: int
    slots_base: int
    slots_extra_buffer_overlap: int
    slots_extra_buffer_no_overlap: int
    slots_follow_speculation: bool
    """Whether extra_buffer's slots depend on speculation (on: as without overlap) rather than on the overlap schedule."""
    card_defaults: tuple[CardDefaults, ...]
    memory_measured: bool
    piecewise_off_for_vision: bool
    # Names
    graph_requests_option: str
    """The setting for how many requests CUDA graphs cover while decoding."""
    allreduce_off_option: str
    """The switch that keeps FlashInfer's allreduce fusion off; empty where there is none."""
    renamed_options: tuple[tuple[str, str], ...]
    """Renames that its parser does not know of by itself: name elsewhere -> name here. `_options.successor_of` has all."""
    removed_environment: tuple[tuple[str, str], ...]
    # Log wording
    log_lines: tuple[tuple[str, str], ...]
    """Stage of a start -> regular expression that the line which begins it starts with."""
    dispatcher_lines: tuple[tuple[str, str], ...]
    ready_line: str
    # HTTP and the end
    ready_path: str
    """Answers 200 only once requests are served, without generating; empty where there is none."""
    stops_by_killing_itself: bool
    """Whether a clean stop ends by SIGKILL to itself instead of status 0."""
    # What it has to be installed beside
    python_minimum: str
    torch: str
    cuda: str
    driver_minimum: str
    glibc_minimum: str
    transformers: str
    flashinfer: str
    kernel: str
    """Version of sglang-kernel (sgl-kernel before 0.5.10)."""
    torchcodec: str

    @property
    def is_verified(self) -> bool:
        """Whether plans for it are made without being asked twice."""
        return self.status == VERIFIED

    def as_dict(self) -> dict[str, Any]:
        """The facts that roles read."""
        return {
            "version": self.version,
            "status": self.status,
            "python_minimum": self.python_minimum,
            "torch": self.torch,
            "cuda": self.cuda,
            "driver_minimum": self.driver_minimum,
            "glibc_minimum": self.glibc_minimum,
            "transformers": self.transformers,
            "flashinfer": self.flashinfer,
            "kernel": self.kernel,
            "torchcodec": self.torchcodec,
            "strategy_option": self.strategy_option,
            "ready_line": self.ready_line,
            "ready_path": self.ready_path,
            "dispatcher_lines": dict(self.dispatcher_lines),
            "removed_environment": dict(self.removed_environment),
        }
