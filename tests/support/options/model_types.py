# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which model types a release reads without code of a model's repository: its own configuration classes, and those of its transformers."""

from __future__ import annotations

import re
from pathlib import Path

from ansible_collections.inference.sglang.plugins.module_utils._architectures import MODEL_TYPES

from tests.support.options.wheel_facts import REGISTRY

_CLASS = re.compile(r"^class (\w+)\(.*?(?=^\S|\Z)", re.M | re.S)
_TYPE = re.compile(r'^ +model_type(?:: str)? = "([\w.-]+)"', re.M)
# A class of the registry's own file, or a type that is read by a function of its own (DeepSeek V3.2 up to 0.5.11).
_BESIDE = re.compile(r'^ +model_type = "([\w.-]+)"|^def _load_(\w+)_model\(', re.M)
# A line of CONFIG_MAPPING_NAMES, as a tuple or as a key with its value.
_MAPPED = re.compile(r'"([\w.-]+)"(?:, |: )"\w+Config"')


def of_sglang(directory: Path) -> frozenset[str]:
    """Types with a class in the registry of an unpacked SGLang wheel."""
    root = directory / "sglang/srt"
    registry = next(path.read_text() for path in (root / name for name in REGISTRY) if path.is_file())
    found = {name for names in _BESIDE.findall(registry) for name in names if name}
    for path in sorted((root / "configs").glob("*.py")):
        for match in _CLASS.finditer(path.read_text(encoding="utf-8-sig")):
            kind = _TYPE.search(match[0])
            if kind and re.search(rf"\b{match[1]}\b", registry):
                found.add(kind[1])
    return frozenset(found)


def of_transformers(directory: Path) -> frozenset[str]:
    """Types with a class in an unpacked transformers wheel."""
    files = sorted((directory / "transformers/models/auto").glob("*.py"))
    texts = [path.read_text() for path in files if path.name in ("configuration_auto.py", "auto_mappings.py")]
    return frozenset(name for text in texts for name in _MAPPED.findall(text))


def unread(sglang: Path, transformers: Path) -> frozenset[str]:
    """Of the types that are planned here, those without a class in either."""
    return MODEL_TYPES - of_sglang(sglang) - of_transformers(transformers)
