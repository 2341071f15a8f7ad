# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The cells of the engine matrix, release x model x card, and what this collection plans for each."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._launch_plan import launch_plan

MODELS = Path(__file__).resolve().parents[1] / "data/models"
MANDATORY = ("0.5.10.post1", "0.5.11", "0.5.12.post1", "0.5.14", "0.5.23")
CARDS = {
    "H200": {"name": "NVIDIA H200", "memory_mib": 143771, "compute_capability": "9.0"},
    "H100": {"name": "NVIDIA H100 80GB HBM3", "memory_mib": 81559, "compute_capability": "9.0"},
    "A100": {"name": "NVIDIA A100-SXM4-80GB", "memory_mib": 81920, "compute_capability": "8.0"},
    "A6000": {"name": "NVIDIA RTX A6000", "memory_mib": 49140, "compute_capability": "8.6"},
    "L40S": {"name": "NVIDIA L40S", "memory_mib": 46068, "compute_capability": "8.9"},
    "B200": {"name": "NVIDIA B200", "memory_mib": 183359, "compute_capability": "10.0"},
    "PRO6000": {"name": "NVIDIA RTX PRO 6000 Blackwell Server Edition", "memory_mib": 97887, "compute_capability": "12.0"},
}
"""Names and memory as nvidia-smi prints them."""
SIZES = ((1, 1), (1, 2), (1, 4), (1, 8), (2, 8), (4, 8), (8, 8))
"""Hosts and cards of each, in the order in which they are tried."""
NEEDS_CODE = frozenset({"Kimi-K2-Instruct", "MiniMax-Text-01"})
"""Models that some release's transformers knows from code in their repository only."""
_STAND_IN = "from transformers import PretrainedConfig\n\n\nclass {name}(PretrainedConfig):\n    model_type = {model_type!r}\n"


@dataclass(frozen=True)
class Cell:
    """One cell with its plan, or with why there is none."""

    release: str
    model: str
    card: str
    hosts: int
    each: int
    """Cards of a host: of the planned size, of a refused model the largest that divides it."""
    plan: Optional[dict[str, Any]] = None
    refusal: str = ""
    """The first line of the core's own words."""
    kind: str = ""
    """What the core refused for: memory, or not served, quantisation and so on."""
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """As the reviewed files and the answers name it."""
        return f"{self.release} {self.model} {self.card}"

    @property
    def size(self) -> int:
        """All cards."""
        return self.hosts * self.each

    @property
    def natural(self) -> list[str]:
        """The command that a person would give first."""
        argv = ["--model-path", self.settings["model_path"], "--tp-size", str(self.size)]
        if self.hosts > 1:
            argv += ["--nnodes", str(self.hosts), "--node-rank", "0", "--dist-init-addr", self.settings["dist_init_addr"]]
        return argv + (["--trust-remote-code"] if self.model in NEEDS_CODE else [])


def all_models() -> list[str]:
    """All recorded configs."""
    return sorted(path.stem for path in MODELS.glob("*.json") if not path.name.endswith(".hf_quant_config.json"))


def read(model: str, suffix: str = "") -> Optional[dict[str, Any]]:
    """A recorded file of a model."""
    path = MODELS / f"{model}{suffix}.json"
    return json.loads(path.read_text()) if path.exists() else None


def _files(model: str) -> dict[str, str]:
    """What a plan before the download sees of a model, and a stand-in for code of its repository."""
    found = {}
    for name, values in (("config", read(model)), ("hf_quant_config", read(model, ".hf_quant_config"))):
        if values is not None:
            found[f"{name}.json"] = json.dumps(values)
    config = read(model) or {}
    module, _dot, name = config.get("auto_map", {}).get("AutoConfig", "").partition(".")
    if module:
        found[f"{module}.py"] = _STAND_IN.format(name=name, model_type=config["model_type"])
    return found


def write_folders(base: Path) -> Path:
    """All models as folders, below one that is named by what they hold."""
    contents = {model: _files(model) for model in all_models()}
    target = base / hashlib.sha256(json.dumps(contents, sort_keys=True).encode()).hexdigest()[:16]
    for model, files in contents.items():
        (target / model).mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            path = target / model / name
            if not path.exists():
                scratch = path.with_name(f".{name}.{os.getpid()}.{threading.get_ident()}")
                scratch.write_text(text)
                scratch.replace(path)  # releases are planned side by side
    return target


def _settings(model: str, base: Path, hosts: int) -> dict[str, Any]:
    found: dict[str, Any] = {"model_path": str(base / model)}
    if model in NEEDS_CODE:
        found["trust_remote_code"] = True
    if hosts > 1:
        found.update(node_rank=0, dist_init_addr="10.0.0.1:5000")
    return found


def planned(release: str, model: str, card: str, size: tuple[int, int], settings: dict[str, Any], load: Any) -> dict[str, Any]:
    """The launch plan on so many hosts with so many of one card each."""
    hosts, each = size
    return launch_plan(
        read(model),
        release,
        [CARDS[card]] * each,
        read(model, ".hf_quant_config"),
        tensor_parallel_size=hosts * each,
        nodes=hosts,
        settings=settings,
        workload=load,
        allow_unverified_release=True,
    )


def plan_cell(release: str, model: str, card: str, base: Path) -> Cell:
    """The plan on the fewest cards that fit; for one short request where nothing fits more."""
    refused = Cell(release, model, card, 1, 1, settings=_settings(model, base, 1))
    for load in (None, {"context_tokens": 2048, "concurrency": 1}):
        for hosts, each in SIZES:
            settings = _settings(model, base, hosts)
            try:
                plan = planned(release, model, card, (hosts, each), settings, load)
            except SglangError as error:
                words = str(error).splitlines()[0]
                # A size that does not divide is no verdict on the model, but where no size is one.
                if not words.startswith("Tensor parallelism over") or not refused.refusal:
                    refused = Cell(release, model, card, hosts, each, None, words, kind_of(words), settings)
                if refused.kind not in ("memory", "division"):
                    return refused
                continue
            if plan["memory"]["fits"] is not False:
                return Cell(release, model, card, hosts, each, plan, settings=settings)
            refused = Cell(release, model, card, hosts, each, None, plan["memory"]["why"], "memory", settings)
    return refused


def kind_of(words: str) -> str:
    """The kind of a refusal, by the core's words."""
    for text, kind in (
        ("Tensor parallelism over", "division"),
        ("does not serve", "not served"),
        ("which it is not", "misread"),
        ("weights do not run on", "quantisation"),
        ("cannot read the model type", "not readable"),
        ("names no group_size", "incomplete"),
        ("has no memory rule", "no memory rule"),
    ):
        if text in words:
            return kind
    return "other"
