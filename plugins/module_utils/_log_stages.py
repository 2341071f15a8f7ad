# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The steps of a start and the figures in its log, as patterns that hold for the wording of every release in the release table."""

from __future__ import annotations

import calendar
import re
import time
from dataclasses import dataclass, field
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._releases import log_wording, strategy_options


@dataclass
class Reached:
    """When a stage began: by this process's clock and, where the line had one, by the engine's."""

    at: float
    stamp: Optional[float] = None


@dataclass(frozen=True)
class Stage:
    """A step of a start, recognised by the line that begins it."""

    name: str
    pattern: re.Pattern[str]
    what: str


def _stage(name: str, pattern: str, what: str) -> Stage:
    return Stage(name, re.compile(pattern), what)


# In the order of a start up to SGLang 0.5.13; from 0.5.14 on a draft model loads before the pools are sized (DRAFT_FIRST).
STAGES: tuple[Stage, ...] = (
    _stage("process", r"(?!)", "start of the process, imports"),
    _stage("arguments", r"Attention backend not specified|server_args=ServerArgs\(|^Spec v[12] is ", "arguments resolved"),
    _stage("distributed", f"^(?:{log_wording('ranks')})", "ranks connect"),
    _stage("weights", f"^(?:{log_wording('weights')})", "weights"),
    _stage("memory", rf"^Load weight end|^(?:{log_wording('state')})|is allocated\..*#tokens", "state and KV pools"),
    _stage("backend", f"^(?:{log_wording('backend')}|{log_wording('kernels')})", "attention backend"),
    _stage("dispatcher", r"^\w+ kernel dispatcher: ", "kernel dispatcher"),
    _stage("graphs", f"^(?:{log_wording('graphs')})", "graph capture"),
    _stage("draft weights", r"(?!)", "draft model's weights"),
    _stage("draft memory", r"(?!)", "draft model's KV pool"),
    _stage("draft dispatcher", r"(?!)", "draft model's kernel dispatcher"),
    _stage("draft graphs", f"^(?:{log_wording('draft graphs')})", "draft graph capture"),
    _stage("scheduler", f"^(?:{log_wording('scheduler')})", "scheduler up"),
    _stage("http", r"Uvicorn running on ", "HTTP open"),
    _stage("warm-up", r'"GET /(?:get_)?model_info HTTP', "warm-up request"),
    _stage("ready", r"(?!)", "ready"),
)
ORDER = {stage.name: index for index, stage in enumerate(STAGES)}
AS_DRAFT = {"weights": "draft weights", "memory": "draft memory", "dispatcher": "draft dispatcher", "graphs": "draft graphs"}
_MODELS = {theirs: ours for ours, theirs in AS_DRAFT.items()}
_TURN = ORDER["weights"], ORDER["draft graphs"]
DRAFT_FIRST: tuple[Stage, ...] = (
    *STAGES[: _TURN[0]],
    # Each of the draft's follows the model's own, but for its weights, which the sizes of all pools wait for.
    *sorted(
        STAGES[_TURN[0] : _TURN[1] + 1],
        key=lambda stage: (ORDER[_MODELS.get(stage.name, stage.name)], stage.name in _MODELS),
    ),
    *STAGES[_TURN[1] + 1 :],
)

RANK_FIGURES: tuple[tuple[re.Pattern[str], dict[str, str]], ...] = (
    (re.compile(r"^Load weight begin\. avail mem=(?P<a>[\d.]+) GB"), {"a": "free_before_weights_gb"}),
    (
        re.compile(r"^Load weight end\..* avail mem=(?P<a>[\d.]+) GB, mem usage=(?P<b>[\d.]+) GB"),
        {"a": "free_after_weights_gb", "b": "weights_gb"},
    ),
    (
        re.compile(
            r"^Mamba Cache is allocated\. max_mamba_cache_size: (?P<a>\d+), conv_state size: (?P<b>[\d.]+)GB"
            r", ssm_state size: (?P<c>[\d.]+)GB"
            r"(?: intermediate_ssm_state_cache size: (?P<d>[\d.]+)GB intermediate_conv_window_cache size: (?P<e>[\d.]+)GB)?"
        ),
        {"a": "state_slots", "b": "conv_state_gb", "c": "ssm_state_gb", "d": "intermediate_ssm_gb", "e": "intermediate_conv_gb"},
    ),
    (
        re.compile(r"is allocated\..*#tokens: (?P<a>\d+), K size: (?P<b>[\d.]+) GB, V size: (?P<c>[\d.]+) GB"),
        {"a": "kv_tokens", "b": "k_gb", "c": "v_gb"},
    ),
    (re.compile(r"^Memory pool end\. avail mem=(?P<a>[\d.]+) GB"), {"a": "free_after_pools_gb"}),
    (
        re.compile(
            r"^Capture .*(?:cuda|CUDA) graph end\. (?:Time elapsed: |elapsed=)(?P<a>[\d.]+) s[.,] mem usage=(?P<b>[\d.]+) GB"
            r"[.,] avail mem=(?P<c>[\d.]+) GB"
        ),
        {"a": "graphs_s", "b": "graphs_gb", "c": "free_after_graphs_gb"},
    ),
)
SCHEDULER = re.compile(
    r"^max_total_num_tokens=(?P<max_total_num_tokens>\d+), chunked_prefill_size=(?P<chunked_prefill_size>-?\d+), "
    r"max_prefill_tokens=(?P<max_prefill_tokens>\d+), max_running_requests=(?P<max_running_requests>\d+), "
    r"context_len=(?P<context_len>\d+)(?:, available_gpu_mem=(?P<available_gpu_mem_gb>[\d.]+) GB)?"
)
# Of the arguments that the engine prints, only these: the rest of that line may hold secrets.
ARGUMENTS = re.compile(
    r"\b(?P<name>mem_fraction_static|attention_backend|page_size|tp_size|speculative_algorithm|speculative_num_steps|speculative_eagle_topk"
    rf"|speculative_num_draft_tokens|{'|'.join(strategy_options())}|disable_radix_cache|disable_overlap_schedule|load_format)"
    r"=(?P<value>'[^']*'|None|True|False|-?[\d.]+)(?=[,)])"
)

_POOLS_DONE = re.compile(r"^Memory pool end")
_WEIGHTS = re.compile(r"^Load weight ")
_DRAFT_GRAPH = re.compile(r"^Capture draft ")


@dataclass
class Turns:
    """Whose a rank's lines are, the model's or its draft model's: by their order, since both log the same words.

    A second "Load weight begin" is the draft's. Up to SGLang 0.5.13 the model is complete by then and all that follows is the draft's. From
    0.5.14 on (``draft_counted_first`` of the release table) its pools come later, and the two take turns: pools, dispatchers, graphs.
    """

    drafting: bool = False
    draft_first: bool = False
    _seen: set[str] = field(default_factory=set)

    def stage(self, name: str, body: str) -> str:
        """The stage that a line begins, or is in, by its own stage's name."""
        if name == "weights" and "weights" in self._seen:
            self.drafting, self.draft_first = True, "pools" not in self._seen
        if not self.drafting or name not in AS_DRAFT:
            self._seen.add(name)
            return name
        if not self.draft_first or _WEIGHTS.search(body):
            return AS_DRAFT["weights" if self.draft_first else name]
        first = "pools" if name == "memory" else name
        if first in self._seen:
            return AS_DRAFT[name]
        if name != "memory":
            self._seen.add(name)
        return name

    def is_drafts(self, body: str) -> bool:
        """Whether the figures of a line are the draft's; in the order of the log."""
        if not self.draft_first:
            ours = not self.drafting
        elif _WEIGHTS.search(body):
            ours = False
        elif body.startswith("Capture "):
            ours = not _DRAFT_GRAPH.search(body)
        else:
            ours = "pools" not in self._seen
        if _POOLS_DONE.search(body):
            self._seen.add("pools")
        return not ours


def number(text: str) -> Any:
    return float(text) if "." in text else int(text)


def literal(text: str) -> Any:
    if text.startswith("'"):
        return text[1:-1]
    if text in ("None", "True", "False"):
        return {"None": None, "True": True, "False": False}[text]
    return number(text)


def stamp_seconds(stamp: str) -> float:
    """The engine's local time as seconds; only differences are used."""
    whole, _dot, fraction = stamp.replace(",", ".").partition(".")
    return calendar.timegm(time.strptime(whole, "%Y-%m-%d %H:%M:%S")) + (float(f"0.{fraction}") if fraction else 0.0)
