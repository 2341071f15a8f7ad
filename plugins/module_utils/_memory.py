# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The memory plan: what one rank holds, what is left, and the three numbers chosen for the declared load."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils import _cells
from ansible_collections.inference.sglang.plugins.module_utils._calibration import CALIBRATION
from ansible_collections.inference.sglang.plugins.module_utils._model_profile import GatedDeltaState, ModelProfile
from ansible_collections.inference.sglang.plugins.module_utils._plain import Fields
from ansible_collections.inference.sglang.plugins.module_utils._pools import GIB, Pools, Shapes, Split, demand, divide, ratio_for
from ansible_collections.inference.sglang.plugins.module_utils._releases import CardDefaults, Release
from ansible_collections.inference.sglang.plugins.module_utils._speculative import Speculation
from ansible_collections.inference.sglang.plugins.module_utils._weights import RankWeights

WINDOW_SHARE = 0.8
"""Tokens of the sliding layers' pool for each of the full ones': --swa-full-tokens-ratio's default in every release so far."""
KV_BYTES = {"fp8_e5m2": 1, "fp8_e4m3": 1, "bf16": 2, "bfloat16": 2}


PROFILES = ("balanced", "low-latency", "throughput")
LOW_LATENCY, THROUGHPUT = PROFILES[1:]


@dataclass(frozen=True)
class Workload:
    """The declared load."""

    context_tokens: int
    concurrency: Optional[int]
    declared: bool
    profile: str = PROFILES[0]
    limit: Optional[int] = None
    """Most requests at once where no number was declared; None: as far as CUDA graphs reach."""


@dataclass(frozen=True)
class Setup:
    """Everything the sizing needs, for one rank."""

    shapes: Shapes
    before: float
    after: float
    """GiB free when the pools are sized."""
    total: float
    draft: float
    draft_embedding: float
    draft_graphs: bool
    """Whether the draft's steps get CUDA graphs of their own: with one MTP step they do not."""
    activation: float
    has_vision: bool
    reserve: float
    graph_requests: int
    piecewise: float
    graph_token: float
    """GiB of the target's CUDA graphs for each token of the largest batch."""
    draft_graph_token: float
    counted_first: bool

    @property
    def table_row(self) -> float:
        """GiB of the request-to-token table for one request: four bytes a position, outside the engine's budget."""
        return 4.0 * (self.shapes.context_length + 4 + self.shapes.draft_tokens) / GIB


@dataclass(frozen=True)
class Sized:
    """A choice and what comes of it."""

    fraction: float
    split: Split
    pools: Pools
    rest: float
    free_after_pools: float
    lowest_at_start: float
    free: float

    def serves(self, requests: int, context_tokens: int) -> bool:
        """Whether so many requests of that length run at once."""
        return self.pools.works and self.pools.running >= requests and self.pools.tokens >= requests * context_tokens


def card_defaults(release: Release, memory_mib: int) -> CardDefaults:
    """What the engine picks by itself for a card of this size."""
    for row in release.card_defaults:
        if row.below_mib == 0 or memory_mib < row.below_mib:
            return row
    return release.card_defaults[-1]


def engine_default_fraction(profile: ModelProfile, release: Release, memory_mib: int, size: int, speculative: bool) -> Optional[float]:
    """The fraction 0.5.11 would pick by itself for a model with a vision tower; None where it was not checked."""
    if profile.vision is None or not release.piecewise_off_for_vision:
        return None
    defaults = card_defaults(release, memory_mib)
    requests = defaults.graph_requests_small_tp if size < 4 else defaults.graph_requests_large_tp
    reserved = 512 + 1.5 * max(defaults.chunked_prefill_size, 2048) + 2 * requests + 1024 * size / 8
    if memory_mib > 60 * 1024:
        reserved = max(reserved, 10 * 1024)
    reserved += release.speculation_reserve_mib if speculative else 0
    # The engine looks for num_hidden_layers in vision_config, does not find it here, and takes 24.
    complexity = 24 * profile.vision.hidden_size**2 / (24 * 1024**2)
    factor = 0.95 * max(0.8, min(1.05, 1 - 0.1 * (complexity - 1)))
    return round((memory_mib - reserved) / memory_mib, 3) * factor


def activation_gib(profile: ModelProfile, size: int, chunk: int) -> float:
    """An upper estimate of what one prefill chunk needs beside the weights and pools."""
    hidden = profile.hidden_size
    values = 16.0 * hidden
    if profile.experts:
        forward = profile.forward
        values += forward.per_token * (2.0 * hidden + 6.0 * forward.expert_size / size) + 6.0 * forward.shared_size / size
    else:
        values += 6.0 * profile.forward.size / size
    values += 8.0 * profile.heads * profile.head_dim / size
    state = profile.state
    if isinstance(state, GatedDeltaState):
        values += 8.0 * (state.key_heads * state.key_head_dim + state.value_heads * state.value_head_dim) / size
        values += state.value_heads / size * state.key_head_dim * state.value_head_dim * 8.0 / 64
    return values * chunk / GIB


def graph_reach(release: Release, memory_mib: int, size: int) -> int:
    """Requests that CUDA graphs cover by the engine's own choice; a larger card is never planned with fewer than a smaller one."""
    found = 0
    for row in release.card_defaults:
        found = max(found, row.graph_requests_small_tp if size < 4 else row.graph_requests_large_tp)
        if row.below_mib == 0 or memory_mib < row.below_mib:
            break
    return found


def activation_for(profile: ModelProfile, release: Release, size: int, memory_mib: int, own_chunk: Optional[int]) -> float:
    """Activations at the card's chunk size. At a class's lower end it grows with the card, so that more memory never plans for less."""
    if own_chunk is not None:
        return activation_gib(profile, size, own_chunk)
    found, floor_mib = 0.0, 0
    for row in release.card_defaults:
        wanted = activation_gib(profile, size, row.chunked_prefill_size)
        found = wanted if floor_mib == 0 else min(wanted, found + (memory_mib - floor_mib) / 2048)
        if row.below_mib == 0 or memory_mib < row.below_mib:
            break
        floor_mib = row.below_mib
    return found


def _slots_per_request(release: Release, settings: Fields, speculation: Speculation) -> int:
    if speculation.strategy == "radix_off":
        return 1
    overlap = settings.boolean("disable_overlap_schedule") is not True and not speculation.overlap_off
    if release.slots_follow_speculation:
        overlap = not speculation.enabled
    if speculation.strategy == "extra_buffer_lazy":
        return release.slots_base + release.slots_extra_buffer_no_overlap
    if speculation.strategy == "extra_buffer":
        return release.slots_base + (release.slots_extra_buffer_overlap if overlap else release.slots_extra_buffer_no_overlap)
    return release.slots_base


def _kv_width(profile: ModelProfile, settings: Fields, dtype_bytes: int) -> int:
    name = settings.text("kv_cache_dtype") or "auto"
    if name == "auto":
        fp8 = profile.quantization is not None and profile.quantization.kv_cache == "FP8"
        return 1 if fp8 else dtype_bytes
    if name not in KV_BYTES:
        raise settings.wrong("kv_cache_dtype", "auto, " + ", ".join(sorted(KV_BYTES)) + ": others have no memory rule yet")
    return KV_BYTES[name]


def make_shapes(profile: ModelProfile, release: Release, settings: Fields, size: int, speculation: Speculation, page_size: int) -> Shapes:
    """Sizes of slots and tokens for one rank."""
    width = _kv_width(profile, settings, 2)
    draft = speculation.num_draft_tokens or 0
    full_layers = profile.layers.count("full_attention")
    share = settings.number("swa_full_tokens_ratio", 0.001, 1.0) or WINDOW_SHARE
    if settings.boolean("disable_hybrid_swa_memory"):
        share = 1.0
    token = max(1, int(_cells.token_bytes(profile, size, width, full_layers) + _cells.window_bytes(profile, size, width, share)))
    draft_token, cell = _draft_cell(profile, release, size, width, speculation, token)
    return Shapes(
        slot_bytes=_cells.slot_bytes(profile, size, _cells.state_dtype(profile, settings.text("mamba_ssm_dtype"))),
        token_bytes=token,
        draft_token_bytes=draft_token,
        cell_bytes=cell,
        draft_tokens=draft,
        slots_per_request=_slots_per_request(release, settings, speculation),
        radix=speculation.strategy != "radix_off" and settings.boolean("disable_radix_cache") is not True,
        context_length=settings.integer("context_length", 1) or profile.max_context or 32768,
        page_size=page_size,
        joint=release.joint_pool_rule,
        padding=1 if release.joint_pool_padding else 0,
    )


def _draft_cell(profile: ModelProfile, release: Release, size: int, width: int, speculation: Speculation, token: int) -> tuple[int, int]:
    """(KV bytes of a token in the draft's layers, bytes that the engine budgets for a token)."""
    drafter = speculation.drafter
    if not speculation.enabled:
        return 0, token
    if drafter is None:
        # The layers of a drafter are counted where its path is given (0.5.14 model_executor/model_runner.py:435). The model's own MTP has
        # none, and its config names no num_nextn_predict_layers: seen on 0.5.14, start-planned-0514-27b.log.
        return _cells.token_bytes(profile, size, width, 1), token
    own = drafter.token_bytes(size, width)
    layers = max(1, profile.layers.count("full_attention"))
    if drafter.block is None:  # assumed to be like the target's layers, where it is counted at all
        return own, token + token * drafter.layers // layers if release.draft_in_cell else token
    if release.dflash_exact_cell:
        return own, token + own
    return own, -(-token * (layers + drafter.layers) // layers)


def beside_gib(weights: RankWeights) -> float:
    """Taken beside the weights until the pools are sized."""
    return CALIBRATION.overhead + CALIBRATION.overhead_vision * weights.vision / GIB


def make_setup(
    profile: ModelProfile,
    release: Release,
    settings: Fields,
    size: int,
    memory_mib: int,
    available_gib: Optional[float],
    weights: RankWeights,
    speculation: Speculation,
    page_size: int,
) -> Setup:
    """One rank of a plan, ready to be sized."""
    constants = CALIBRATION
    total = memory_mib / 1024
    group = constants.group_many if size > 1 else constants.group_single
    before = available_gib if available_gib is not None else total - constants.card_reserve - constants.context - group
    drafter = speculation.drafter
    draft_bytes, own_bytes = drafter.rank_bytes(profile, size) if drafter else (weights.draft, weights.draft_own_embedding)
    draft = draft_bytes / GIB if speculation.enabled else 0.0
    after = before - weights.target / GIB - beside_gib(weights)
    own_embedding = own_bytes / GIB if speculation.enabled else 0.0
    if release.draft_counted_first:
        # The draft is loaded before the pools are sized, and its own embedding and head are given back only after that:
        # SGLang 0.5.23 managers/scheduler.py init_model_worker, speculative/eagle_worker_v2.py alloc_memory_pool.
        after -= draft + own_embedding
    chunk = settings.integer("chunked_prefill_size", -1, 1 << 20)
    if chunk is not None and chunk <= 0:
        chunk = settings.integer("max_prefill_tokens", 1, 1 << 20) or 16384
    # With a vision tower the engine leaves them out (SGLang 0.5.11 server_args.py, piecewise graphs of multimodal models).
    no_pieces = profile.vision is not None or settings.boolean("disable_cuda_graph") is True
    own = settings.integer(release.graph_requests_option, 1, 1 << 16)
    return Setup(
        shapes=make_shapes(profile, release, settings, size, speculation, page_size),
        before=before,
        after=after,
        total=total,
        draft=draft,
        draft_embedding=own_embedding,
        draft_graphs=(speculation.num_steps or 0) > 1 or drafter is not None,
        activation=activation_for(profile, release, size, memory_mib, chunk),
        has_vision=profile.vision is not None,
        reserve=release.multimodal_reserve_mib / 1024 if profile.vision is not None else 0.0,
        graph_requests=own or graph_reach(release, memory_mib, size),
        piecewise=0.0 if no_pieces else constants.piecewise,
        graph_token=graph_token_bytes(profile, size) / GIB,
        draft_graph_token=(logits_bytes(profile, size) + constants.draft_graph_hidden * profile.hidden_size) / GIB,
        counted_first=release.draft_counted_first,
    )


def logits_bytes(profile: ModelProfile, size: int) -> float:
    """A row of logits in four bytes; with several ranks beside the gathered halves that it is made of."""
    return 4.0 * profile.vocab_size * (CALIBRATION.gathered if size > 1 else 1.0)


def graph_token_bytes(profile: ModelProfile, size: int) -> float:
    """A row of logits, and the state that a token is computed in, in four bytes."""
    state = profile.state
    values = 0.0
    if isinstance(state, GatedDeltaState):
        values = state.value_heads / size * state.key_head_dim * state.value_head_dim
    return logits_bytes(profile, size) + 4.0 * values


def graphs_gib(setup: Setup, running: int) -> tuple[float, float]:
    """CUDA graphs of the target and of the draft."""
    tokens = min(running, setup.graph_requests) * max(1, setup.shapes.draft_tokens)
    target = CALIBRATION.graph_base + setup.graph_token * tokens + setup.piecewise
    draft = CALIBRATION.draft_graph_base + setup.draft_graph_token * tokens if setup.draft_graphs else 0.0
    return target, draft


def keep_free(setup: Setup) -> float:
    """GiB a plan leaves free after the start: activations, image processing, and the stated margin."""
    constants = CALIBRATION
    margin = max(constants.margin, constants.margin_share * setup.total)
    return setup.activation + constants.runtime + (constants.vision if setup.has_vision else 0.0) + margin


def rest_gib(setup: Setup, fraction: float) -> float:
    """What the engine divides into pools at a fraction."""
    return setup.after - (setup.before + CALIBRATION.measured_before) * (1 - fraction) - setup.reserve


def size_with(setup: Setup, fraction: float, split: Split) -> Sized:
    """The start, step by step, with given numbers."""
    rest = rest_gib(setup, fraction)
    pools = divide(setup.shapes, split, rest * GIB)
    after_pools = setup.after - pools.bytes_used / GIB - pools.running * setup.table_row
    target_graphs, draft_graphs = graphs_gib(setup, pools.running)
    loaded = after_pools - CALIBRATION.workspace - target_graphs
    draft_cache = 0.0 if setup.shapes.draft_budgeted else pools.tokens * setup.shapes.draft_token_bytes / GIB
    if setup.counted_first:
        settled = loaded - draft_cache + setup.draft_embedding
        return Sized(fraction, split, pools, rest, after_pools, after_pools - draft_cache, settled - draft_graphs)
    settled = loaded - setup.draft - draft_cache
    # The draft's own embedding and head exist until they are replaced by the target's.
    return Sized(fraction, split, pools, rest, after_pools, settled - setup.draft_embedding, settled - draft_graphs)


def budget_gib(setup: Setup, running: int) -> float:
    """What the pools may take in all so that enough stays free after the start."""
    target_graphs, draft_graphs = graphs_gib(setup, running)
    table = running * setup.table_row
    running_free = CALIBRATION.workspace + target_graphs + draft_graphs + table + keep_free(setup)
    # Not every rule reckons with the padding slot of both state pools; the memory is taken all the same.
    forgotten = not (setup.shapes.joint and setup.shapes.padding)
    padding = setup.shapes.slot_bytes * (1 + setup.shapes.draft_tokens) / GIB if forgotten else 0.0
    if setup.counted_first:
        left = setup.after - padding - max(running_free - setup.draft_embedding, CALIBRATION.load_margin)
    else:
        while_loading = CALIBRATION.workspace + target_graphs + table + setup.draft_embedding + CALIBRATION.load_margin
        left = setup.after - setup.draft - padding - max(running_free, while_loading)
    # What the draft's KV cache takes beyond the engine's budget for a token comes on top.
    share = max(1.0, (setup.shapes.token_bytes + setup.shapes.draft_token_bytes) / setup.shapes.cell_bytes)
    return left / share if left > 0 else left


def exact_fraction(setup: Setup, running: int) -> float:
    """The fraction whose pools take the budget, no more than was ever measured."""
    wanted = 1 - (setup.after - setup.reserve - budget_gib(setup, running)) / (setup.before + CALIBRATION.measured_before)
    return max(CALIBRATION.lowest_fraction, min(CALIBRATION.highest_fraction, wanted))


def fraction_for(setup: Setup, running: int) -> float:
    """`exact_fraction` in thousandths. Rounded up, so that what was found to fit still fits; the margin bears it."""
    return math.ceil(exact_fraction(setup, running) * 1000 - 1e-6) / 1000


def most_requests(setup: Setup, context_tokens: int, limit: int, fraction: Optional[float]) -> int:
    """How many requests of a length fit, at a given fraction or the one a plan would choose."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        rest = rest_gib(setup, fraction if fraction is not None else exact_fraction(setup, middle)) * GIB
        if demand(setup.shapes, middle, context_tokens) <= rest:
            low = middle
        else:
            high = middle - 1
    return low


def choose(setup: Setup, workload: Workload, given: Split, fixed: dict[str, Any]) -> Sized:
    """The numbers for a load. `fixed` names those the operator set: fraction, running, ratio, pinned."""
    fraction = fixed.get("fraction")
    limit = workload.concurrency or min(workload.limit or setup.graph_requests, setup.graph_requests)
    if "running" in fixed:
        limit = fixed["running"]
    requests = max(1, most_requests(setup, workload.context_tokens, limit, fraction))
    tried: list[Sized] = []
    for count in range(requests, max(0, requests - 3), -1):
        running = fixed.get("running", count)
        used = fraction if fraction is not None else fraction_for(setup, running)
        ratio = fixed.get("ratio")
        if ratio is None and "pinned" not in fixed:
            ratio = ratio_for(setup.shapes, count, workload.context_tokens, rest_gib(setup, used) * GIB)
        split = replace(given, running=running, ratio=ratio if ratio is not None else given.ratio)
        sized = size_with(setup, used, split)
        if sized.serves(count, workload.context_tokens):
            return sized
        tried.append(sized)
    return max(tried, key=lambda sized: (sized.pools.running, sized.pools.tokens))
