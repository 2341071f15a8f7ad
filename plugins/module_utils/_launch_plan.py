# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""From config.json, weights, GPUs and wishes to the complete `sglang serve` command, with a reason for every flag."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils import _plan_checks, _plan_memory
from ansible_collections.inference.sglang.plugins.module_utils._alternatives import alternatives
from ansible_collections.inference.sglang.plugins.module_utils._attention import attention_backend, resolved_page_size
from ansible_collections.inference.sglang.plugins.module_utils._calibration import CALIBRATION_SOURCE
from ansible_collections.inference.sglang.plugins.module_utils._drafter import read_drafter
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._gpus import Gpu, read_gpus
from ansible_collections.inference.sglang.plugins.module_utils._memory import (
    THROUGHPUT,
    Sized,
    Workload,
    engine_default_fraction,
    keep_free,
    size_with,
)
from ansible_collections.inference.sglang.plugins.module_utils._model_code import note_unknown, refuse_unread
from ansible_collections.inference.sglang.plugins.module_utils._model_profile import ModelProfile, profile_model
from ansible_collections.inference.sglang.plugins.module_utils._nodes import Nodes, even_sizes, read_nodes
from ansible_collections.inference.sglang.plugins.module_utils._options import option_table, render
from ansible_collections.inference.sglang.plugins.module_utils._plain import Fields, shown
from ansible_collections.inference.sglang.plugins.module_utils._plan_memory import Answer, Case, answer
from ansible_collections.inference.sglang.plugins.module_utils._pools import Split
from ansible_collections.inference.sglang.plugins.module_utils._releases import Release, release_of
from ansible_collections.inference.sglang.plugins.module_utils._speculative import NUMBERS, Speculation, speculate
from ansible_collections.inference.sglang.plugins.module_utils._state_cache import Reason
from ansible_collections.inference.sglang.plugins.module_utils._weights import AGREEMENT, Evidence, read_evidence
from ansible_collections.inference.sglang.plugins.module_utils._wishes import SETTINGS, Wishes, read_wishes, why_set
from ansible_collections.inference.sglang.plugins.module_utils._workload import read_workload

# What the engine is told to assume for a model that does not say how long its context is.
DEFAULT_MODEL_CONTEXT = 32768
_HEAD = ("model_path", "served_model_name", "host", "port", "tensor_parallel_size", "nnodes", "node_rank", "dist_init_addr")


@dataclass(frozen=True)
class _Emitted:
    """One option of the command, and why."""

    key: str
    value: Any
    why: str
    source: str


@dataclass(frozen=True)
class _Task:
    """The question, read and checked."""

    profile: ModelProfile
    release: Release
    wishes: Wishes
    cards: list[Gpu]
    evidence: Evidence
    size: tuple[int, str, str]
    speculation: Speculation
    load: Workload


def _speculation_items(speculation: Speculation) -> list[_Emitted]:
    reasons = {reason.flag: reason for reason in speculation.reasons}
    items = []
    for key, value in speculation.settings.items():
        reason = reasons.get("--" + key.replace("_", "-"), Reason("", "set", SETTINGS))
        items.append(_Emitted(key, value, reason.why, reason.source))
    return items


def _default_outcome(case: Case, found: Answer) -> str:
    """What the engine's own numbers would do here: why the derived ones are better."""
    speculative = case.speculation.enabled
    fraction = engine_default_fraction(case.profile, case.release, case.memory_mib, case.size, speculative)
    if case.speculation.drafter is not None:
        fraction = None  # what the engine reserves for an external drafter was not measured
    if fraction is None or not found.weights.certain:
        return ""
    cap = case.release.running_cap_with_speculation if speculative else None
    sized = size_with(found.setup, fraction, Split(cap, _plan_memory.DEFAULT_RATIO))
    shapes = found.setup.shapes
    if not sized.pools.works:
        reserved = (cap or 0) * shapes.draft_tokens * shapes.slot_bytes / 2**30
        detail = f", {reserved:.1f} GiB of it reserved for {cap} requests" if reserved else ""
        return f"; left alone the engine (fraction {fraction:.4f}{detail}) ends with Not enough memory"
    return f"; left alone the engine (fraction {fraction:.4f}) runs {sized.pools.running} requests over {sized.pools.tokens} tokens"


def _memory_items(case: Case, found: Answer) -> list[_Emitted]:
    sized: Sized = found.sized
    shapes, load = found.setup.shapes, case.workload
    source = f"{case.release.source}; {CALIBRATION_SOURCE}"
    free = round(keep_free(found.setup), 2)
    items = [
        _Emitted(
            "mem_fraction_static",
            sized.fraction,
            f"weights and pools take {sized.fraction} of {found.setup.before:.2f} GiB, so that at least {free} GiB stay free for prefill, "
            f"images and a margin",
            source,
        )
    ]
    each = f"{load.context_tokens} tokens of {shapes.token_bytes} bytes"
    if shapes.slot_bytes:
        states = f"{shapes.slots_per_request} state slots"
        if shapes.draft_tokens:
            states += f" and {shapes.draft_tokens} states under verification"
        each = f"{states} of {shapes.slot_bytes / 2**20:.1f} MiB, and {each}"
    wanted = f"{load.concurrency} wanted at once" if load.concurrency else "as many as fit, as far as CUDA graphs reach"
    items.append(
        _Emitted(
            "max_running_requests",
            sized.split.running,
            f"{wanted}; one request takes {each}" + _default_outcome(case, found),
            source,
        )
    )
    if shapes.slot_bytes and shapes.radix and sized.split.pinned_slots is None:
        why = f"states : KV, so that {sized.pools.slots} slots and {sized.pools.tokens} tokens serve {sized.pools.running} such requests"
        items.append(_Emitted("mamba_full_memory_ratio", sized.split.ratio, why, source))
    return items


def _overridden(case: Case, found: Answer, wishes: Wishes) -> dict[str, str]:
    """What the plan would have chosen where the operator set something."""
    said: dict[str, str] = {}
    for key, name in _plan_memory.OVERRIDES.items():
        if key not in wishes.values or (key.startswith(("mamba_", "max_mamba_")) and not found.setup.shapes.slot_bytes):
            continue
        sized = answer(_without(case, key), ignore=(name,)).sized
        chosen = {"fraction": sized.fraction, "running": sized.split.running, "ratio": sized.split.ratio, "pinned": sized.pools.slots}
        said[key] = f"set; the plan would have chosen {chosen[name]}"
    return said


def _without(case: Case, key: str) -> Case:
    values = {name: value for name, value in case.settings.values.items() if name != key}
    return replace(case, settings=Fields(values, case.settings.where))


def _without_speculation(task: _Task, case: Case) -> Case:
    """The same question with speculation switched off."""
    values = {key: value for key, value in case.settings.values.items() if not key.startswith("speculative_")}
    settings = Fields({**values, "speculative_algorithm": "none"}, case.settings.where)
    return replace(case, settings=settings, speculation=speculate(task.profile, task.release, task.evidence.mtp, settings))


def _assemble(release: Release, wishes: Wishes, derived: list[_Emitted], overridden: dict[str, str]) -> tuple[list[str], list[Reason]]:
    """The argument list in a fixed order, and a reason for each of its flags."""
    explicit = {key: value for key, value in wishes.values.items() if key != "speculative_algorithm"}
    chosen: dict[str, _Emitted] = {}
    replaced: dict[str, Any] = {}
    for item in derived:
        if item.key in explicit and item.key != "tensor_parallel_size":
            replaced[item.key] = item.value
            continue
        chosen[item.key] = item
    for key, value in explicit.items():
        if key not in chosen:
            chosen[key] = _Emitted(key, value, overridden.get(key) or why_set(wishes, key, replaced), wishes.origin[key])
    order = [key for key in _HEAD if key in chosen]
    order += [item.key for item in derived if item.key in chosen and item.key not in _HEAD]
    order += sorted(key for key in chosen if key not in order)
    argv: list[str] = []
    reasons: list[Reason] = []
    for key in order:
        item = chosen[key]
        option = wishes.options.get(key) or option_table(release).find(key.replace("_", "-"))
        if option is None:
            raise SglangError(f"SGLang {release.version} has no option {key}.", found=key, wanted="an option of the release table")
        where = wishes.origin.get(key, SETTINGS)
        arguments = render(option, item.value, where)
        if arguments:
            argv += arguments
            reasons.append(Reason(arguments[0].split("=", 1)[0], item.why, item.source))
        else:
            reasons.append(Reason(option.flag, f"left out, because it is {shown(item.value)}", item.source))
    return argv, reasons


def _gate(profile: ModelProfile, release: Release, speculation: Speculation) -> dict[str, Any]:
    family = profile.recurrent_family
    line = dict(release.dispatcher_lines).get(family)
    # An external drafter has no such layers, and prints no such line.
    count = 0 if line is None else 2 if speculation.enabled and speculation.drafter is None else 1
    return {"family": family, "dispatcher": line, "dispatcher_count": count, "ready": release.ready_line}


@dataclass(frozen=True)
class _Sizing:
    """The memory section, the options that follow from it, what overrides replaced, warnings, page size and backend where known."""

    memory: dict[str, Any]
    items: list[_Emitted] = field(default_factory=list)
    overridden: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    page: Optional[int] = None
    backend: Optional[str] = None


def _predicted(task: _Task, derived: list[_Emitted], sizing: _Sizing) -> dict[str, Any]:
    """What the engine's own resolution will make of the command, by its field names: for the engine check to compare."""
    values = {item.key: item.value for item in derived}
    values.update({key: value for key, value in task.wishes.values.items() if key in values})
    found: dict[str, Any] = {"tp_size": task.size[0], "page_size": sizing.page, "attention_backend": sizing.backend}
    for key in ("mem_fraction_static", "max_running_requests", *NUMBERS):
        found[key] = values.get(key)
    if task.speculation.enabled:
        own = task.speculation.drafter is None
        found["speculative_algorithm"] = task.release.algorithm_shown if own else task.speculation.algorithm
    if task.speculation.strategy.startswith(("extra_buffer", "no_buffer")):
        found[task.release.strategy_option] = task.speculation.strategy
    return {key: value for key, value in found.items() if value is not None}


def _base_items(wishes: Wishes, size: tuple[int, str, str], hosts: Nodes) -> list[_Emitted]:
    items = [_Emitted("tensor_parallel_size", *size)]
    if hosts.count > 1:
        why = f"{hosts.count} hosts of {size[0] // hosts.count} GPUs each; the size has to be a multiple of it"
        items.append(_Emitted("nnodes", hosts.count, why, "nodes"))
        if hosts.rank is not None:
            items.append(_Emitted("node_rank", hosts.rank, "this host's number; 0 answers requests", SETTINGS))
    why = "exposes /metrics, which is not there without it; costs nothing to speak of"
    items.append(_Emitted("enable_metrics", True, why, "SGLang documentation; GET /metrics is 404 without it"))
    if "trust_remote_code" in wishes.values and wishes.fields.boolean("trust_remote_code"):
        items.append(_Emitted("trust_remote_code", True, "set: code from the model's repository will run", SETTINGS))
    return items


def _case(task: _Task) -> tuple[Case, Optional[str]]:
    """The sizing question of one rank, and a note on its page size."""
    card = _plan_checks.smallest(task.cards)
    fields = task.wishes.fields
    page, note = _plan_checks.page_size(task.release, fields, task.speculation, card)
    case = Case(
        task.profile,
        task.release,
        fields,
        task.size[0],
        card.memory_mib,
        card.available_gib,
        task.evidence,
        task.speculation,
        task.load,
        page,
    )
    return case, note


def _size_it(task: _Task) -> _Sizing:
    """Size one rank for the declared load."""
    if not task.cards:
        why = "the engine runs on the CPU: there is no GPU memory to plan"
        return _Sizing({"fits": None, "why": why, "per_rank": {}, "sum": [], "alternatives": []})
    case, note = _case(task)
    found = answer(case)
    notes = ([note] if note else []) + _memory_warnings(case, found)
    card, explicit = _plan_checks.smallest(task.cards), "page_size" in task.wishes.values
    backend = attention_backend(task.profile, task.release, case.settings, card, case.page_size)
    page = resolved_page_size(backend, task.profile, case.page_size, explicit)
    other = alternatives(case, found, lambda: _without_speculation(task, case)) if found.fits is False else []
    memory, items = _plan_memory.section(case, found, other, [card.name for card in task.cards]), _memory_items(case, found)
    return _Sizing(memory, items, _overridden(case, found, task.wishes), notes, page, backend)


def _most_requests(task: _Task, sizes: list[int]) -> tuple[int, str, str]:
    """Of the sizes that divide, the one that serves the most requests at once; the fewest GPUs where several do."""

    def served(size: int) -> tuple[bool, int, int, int]:
        found = answer(replace(_case(task)[0], size=size))
        return bool(found.fits), found.sized.pools.running, found.sized.pools.tokens if found.fits is False else 0, -size

    size = max(sizes, key=served)
    return (
        size,
        f"{size}: of {', '.join(map(str, sizes))} the size that serves the most requests at once with the fewest GPUs",
        "memory plan",
    )


def launch_plan(
    config: object,
    sglang_version: object,
    gpus: object,
    hf_quant_config: object = None,
    weights: object = None,
    drafter_config: object = None,
    tensor_parallel_size: object = None,
    nodes: object = 1,
    settings: object = None,
    workload: object = None,
    extra_args: object = None,
    environment: object = None,
    allow_unverified_release: object = False,
) -> dict[str, Any]:
    """The whole derivation. Raises SglangError for whatever it does not know."""
    release = release_of(sglang_version, allow_unverified=allow_unverified_release is True)
    profile = profile_model(config, hf_quant_config)
    hosts, settings = read_nodes(nodes, settings)
    wishes = read_wishes(release, settings, extra_args)
    on_cpu = wishes.fields.text("device") == "cpu"
    trusted = wishes.fields.boolean("trust_remote_code") is True
    _plan_checks.refuse_unplanned(profile, release, on_cpu)
    refuse_unread(profile, release, trusted)
    cards = [] if on_cpu else _plan_checks.need_gpus(read_gpus(gpus))
    _plan_checks.refuse_cards(release, cards)
    _plan_checks.refuse_quantization(profile, release, _plan_checks.smallest(cards) if cards else None)
    _plan_checks.refuse_backend(profile, release, wishes.fields, cards)
    evidence = read_evidence(weights)
    load = read_workload(workload, wishes.fields.integer("context_length", 1) or profile.max_context or DEFAULT_MODEL_CONTEXT)
    drafter = read_drafter(drafter_config, profile, release)
    many = load.profile == THROUGHPUT
    speculation = speculate(profile, release, evidence.mtp, wishes.fields, drafter=drafter, throughput=many)
    sizes = even_sizes(profile, len(cards), hosts.count) if cards else [1]
    size = _plan_checks.choose_size(profile, wishes, tensor_parallel_size, len(cards) if cards else 1, hosts.count, sizes)
    task = _Task(profile, release, wishes, cards, evidence, size, speculation, load)
    if many and cards and size[2] == _plan_checks.DERIVED:
        size = _most_requests(task, sizes)
        task = replace(task, size=size)
    sizing = _size_it(task)
    derived = _base_items(wishes, size, hosts) + _speculation_items(speculation) + sizing.items
    argv, reasons = _assemble(release, wishes, derived, sizing.overridden)
    emitted = {reason.flag for reason in reasons}
    reasons += [reason for reason in speculation.reasons if reason.flag not in emitted]
    unknown = note_unknown(profile, trusted)
    advice = _plan_checks.warnings(profile, release, speculation, cards, size[0], evidence, hosts) + ([unknown] if unknown else [])
    return {
        "sglang_version": release.version,
        "argv": argv,
        "env": dict(speculation.env),
        "speculative": speculation.as_dict(),
        "memory": sizing.memory,
        "predicted": _predicted(task, derived, sizing),
        "gate": _gate(profile, release, speculation),
        "reasons": [reason.as_dict() for reason in reasons],
        "warnings": advice + list(wishes.notes) + _plan_checks.check_environment(release, environment) + sizing.notes,
        "profile": profile.as_dict(),
        "tensor_parallel_size": size[0],
        "nodes": hosts.as_dict(size[0]),
        "gpus": [{"name": gpu.name, "memory_mib": gpu.memory_mib, "compute_capability": gpu.capability_text} for gpu in cards],
        "provisional": speculation.provisional,
    }


def _memory_warnings(case: Case, found: Answer) -> list[str]:
    notes = []
    sized, load = found.sized, case.workload
    if not found.weights.certain:
        notes.append("The numbers for memory are provisional: " + found.why + "; they reckon with one byte a value.")
    disagreement = found.weights.disagreement
    if disagreement is not None and abs(disagreement) > AGREEMENT:
        notes.append(
            f"The shards hold {disagreement:+.1%} of what config.json's shapes give: not this config's weights, or partly in another type. "
            "The plan reckons with the shards."
        )
    if found.fits is False:
        notes.append(f"Does not fit: {found.why}.")
    keep = round(keep_free(found.setup), 2)
    if found.fits and sized.free < keep - 0.5:
        notes.append(f"Only {sized.free:.2f} GiB a rank stay free after the start; the plan would keep {keep}.")
    context = case.settings.integer("context_length", 1) or case.profile.max_context or 0
    if found.fits and sized.pools.tokens < context:
        notes.append(f"One request can use at most {sized.pools.tokens} tokens here, although the model's context is {context}.")
    capped = "max_running_requests" in case.settings.values and sized.split.running is not None
    if load.concurrency and capped and (sized.split.running or 0) < load.concurrency:
        notes.append(f"max_running_requests {sized.split.running} is lower than the declared concurrency {load.concurrency}.")
    return notes
