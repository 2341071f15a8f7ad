# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the engine checks after it resolved its arguments and before it reads a weight. Runs inside an environment of the matrix.

Each check is the engine's own function, called as its loader calls it. Only the lookup of the model's class is replaced: the
modules of many models cannot be imported without GPU kernels, so whether the release registers a class of that name is read in
its source (`EntryClass`), as its registry does after importing.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import logging
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Callable

_ENTRY = re.compile(r"^EntryClass[^=\n]*=\s*(\[[^\]]*\]|\w+)", re.MULTILINE)


class Unasked(Exception):
    """A check that cannot be run here; says why."""


def registered_classes(models: Path) -> frozenset[str]:
    """The names that the modules of sglang.srt.models list as their EntryClass."""
    found: set[str] = set()
    for path in sorted(models.rglob("*.py")):
        for entry in _ENTRY.findall(path.read_text(encoding="utf-8-sig")):
            found |= set(re.findall(r"\w+", re.sub("#.*", "", entry)))
    return frozenset(found)


def _module(*names: str) -> Any:
    for name in names:
        try:
            return importlib.import_module(name)
        except Exception as error:
            wrong = error
    raise Unasked(f"{type(wrong).__name__}: {wrong}")


def _source() -> Path:
    import sglang.srt  # type: ignore[import-not-found]  # only in the environment

    return Path(sglang.srt.__path__[0])


def _model_config(args: Any) -> Any:
    return _module("sglang.srt.configs.model_config").ModelConfig.from_server_args(args)


def _model_class(config: Any) -> None:
    known = registered_classes(_source() / "models")
    names = list(config.hf_config.architectures)
    if not known & set(names):
        raise ValueError(f"Model architectures {names} are not supported for now: no module of sglang.srt.models lists one")


def _quantization(config: Any) -> None:
    loader = _module("sglang.srt.model_loader.loader")
    stand_in = type(config.hf_config.architectures[0], (), {})
    loader.get_model_architecture = lambda _config: (stand_in, stand_in.__name__)
    loader._get_quantization_config(config, _module("sglang.srt.configs.load_config").LoadConfig())


def _from_source(path: Path, name: str) -> Any:
    """One function of a module that cannot be imported without GPU kernels, by its own source."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            # What the function reads of its module.
            namespace: dict[str, Any] = {"envs": _module("sglang.srt.environ").envs, "_use_aiter": False}
            exec(compile(ast.Module([node], []), str(path), "exec"), namespace)
            return namespace[name]
    raise Unasked(f"{path.name} has no {name}")


def _expert_shapes(config: Any, args: Any) -> None:
    numbers = {"tp_size": args.tp_size, "moe_ep_size": args.ep_size, "moe_dp_size": getattr(args, "moe_dp_size", 1) or 1}
    name = "check_quantized_moe_compatibility"
    if importlib.util.find_spec("sglang.srt.model_executor.model_runner_components") is not None:
        getattr(_module("sglang.srt.model_executor.model_runner_components.moe_ep_setup"), name)(model_config=config, **numbers)
        return
    check = _from_source(_source() / "model_executor/model_runner.py", name)
    check(SimpleNamespace(model_config=config, server_args=args, **numbers))


def run(args: Any) -> list[dict[str, str]]:
    """Verdicts in the order of a start, to the first refusal: {check, verdict: accepted | refused | unasked, text}."""
    logging.disable(logging.WARNING)
    made: dict[str, Any] = {}

    def model_config() -> None:
        made["config"] = _model_config(args)

    checks: list[tuple[str, Callable[[], None]]] = [
        ("model config", model_config),
        ("model class", lambda: _model_class(made["config"])),
        ("quantization", lambda: _quantization(made["config"])),
        ("expert shapes", lambda: _expert_shapes(made["config"], args)),
    ]
    found = []
    for name, check in checks:
        try:
            check()
            found.append({"check": name, "verdict": "accepted", "text": ""})
        except (Unasked, NameError, ImportError) as error:  # the last two are this file's fault, not the engine's word
            found.append({"check": name, "verdict": "unasked", "text": f"{type(error).__name__}: {error}"[:300]})
        except Exception as error:
            found.append({"check": name, "verdict": "refused", "text": f"{type(error).__name__}: {error}"[:600]})
            break
    return found
