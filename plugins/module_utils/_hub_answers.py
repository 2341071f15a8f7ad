# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a hub's answers say of a model, for a plan: whatever is no such file becomes a note, never a failure. Pure.

A proxy's login page comes with status 200 as well, and a plan has other sources to fall back on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

CONFIG, QUANTIZATION, INDEX = "config.json", "hf_quant_config.json", "model.safetensors.index.json"
# One of them stands in every config.json that a plan can be made from.
_MODEL_KEYS = ("architectures", "model_type", "text_config")
_LONGEST_NOTE = 160


def _short(text: object) -> str:
    flat = " ".join(str(text).split())
    return flat if len(flat) <= _LONGEST_NOTE else f"{flat[: _LONGEST_NOTE - 1]}…"


def _why_no_document(name: str, document: object) -> str:
    """Why this is not the file that was asked for; empty when it is."""
    if not isinstance(document, Mapping):
        return "no JSON object"
    if name == CONFIG and not any(key in document for key in _MODEL_KEYS):
        return "JSON, but no model's config.json"
    names = document.get("weight_map")
    if name == INDEX and not (isinstance(names, Mapping) and all(isinstance(file, str) for file in names.values())):
        return "JSON, but no index of tensors (weight_map)"
    return ""


def _read(name: str, answer: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """The document, or an empty one and what came instead (empty: the hub says that it has no such file)."""
    status = answer.get("status")
    if status == 404:
        return {}, ""
    if status != 200:
        return {}, _short(answer.get("msg") or "no answer")
    content = str(answer.get("content") or "")
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return {}, f"not JSON: {_short(content) or 'nothing'}"
    wrong = _why_no_document(name, document)
    return ({}, wrong) if wrong else (dict(document), "")


def read_answers(answers: Iterable[Mapping[str, Any]], repo: str) -> dict[str, Any]:
    """From one answer a file (``item``, ``status``, ``content``, ``msg``) to config, hf_quant_config, tensor_index and notes."""
    found: dict[str, dict[str, Any]] = {}
    notes = []
    for answer in answers:
        name = str(answer.get("item"))
        found[name], instead = _read(name, answer)
        if name == CONFIG and not found[name]:
            notes.append(f"the hub gave no config.json of {repo} ({instead or 'status 404'})")
        elif instead and found.get(CONFIG):
            notes.append(f"the hub's {name} of {repo} is not used ({instead})")
    if not found.get(CONFIG):
        # The others belong to it.
        found = {}
    return {
        "config": found.get(CONFIG, {}),
        "hf_quant_config": found.get(QUANTIZATION, {}),
        "tensor_index": found.get(INDEX, {}),
        "notes": notes,
    }
