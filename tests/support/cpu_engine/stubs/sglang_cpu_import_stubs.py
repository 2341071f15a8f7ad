# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Catch-all stand-ins for `triton`, `torchvision` and `sgl_kernel`, so that SGLang *imports* without them.

The same idea as SGLang's own sglang/_triton_stub.py (used on macOS): decorators pass through, nothing can be
executed, and a stand-in that is called with a tensor raises. A package that is really installed is left alone.
The .pth file beside this module installs them in every process of the environment, spawned ones too.
"""

from __future__ import annotations

import enum
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any, Callable, Optional

ROOTS = ("triton", "torchvision", "sgl_kernel")


class InterpolationMode(enum.Enum):
    """torchvision's, whose members transformers reads while it is imported."""

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


class _StandIn(types.ModuleType):
    """A module that has every attribute, is every function, and computes nothing."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self.__spec__ = importlib.machinery.ModuleSpec(name, _Finder(), is_package=True)

    def __getattr__(self, name: str) -> Any:
        # torch asks for these to learn which backends exist
        if (name.startswith("__") and name.endswith("__")) or name in ("npu", "hpu", "musa"):
            raise AttributeError(name)
        value: Any
        if name == "InterpolationMode":
            value = InterpolationMode
        elif name[:1].isupper():
            value = type(name, (), {"__init__": lambda self, *args, **kwargs: None})
        else:
            value = sys.modules.setdefault(f"{self.__name__}.{name}", _StandIn(f"{self.__name__}.{name}"))
        setattr(self, name, value)
        return value

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tensor = getattr(sys.modules.get("torch"), "Tensor", ())
        if any(isinstance(value, tensor) for value in (*args, *kwargs.values())):
            raise RuntimeError(f"{self.__name__} is an import-only stand-in, called with tensors")
        if len(args) == 1 and callable(args[0]) and not kwargs:
            return args[0]  # used as a bare decorator
        return _identity

    def __bool__(self) -> bool:
        return False

    def __neg__(self) -> _StandIn:
        return self

    def __or__(self, other: object) -> _StandIn:  # `torch.Tensor | None`, evaluated at run time
        return self

    __ror__ = __or__

    def __mro_entries__(self, bases: tuple[type, ...]) -> tuple[type, ...]:  # `class X(module.lowercase):`
        return (object,)

    def __getitem__(self, item: object) -> _StandIn:
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __contains__(self, item: object) -> bool:
        return False

    def __len__(self) -> int:
        return 0

    def __hash__(self) -> int:
        return id(self)


def _identity(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    roots: set[str] = set()

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Optional[importlib.machinery.ModuleSpec]:
        if fullname.split(".")[0] in self.roots:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return sys.modules.get(spec.name) or _StandIn(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """There is nothing to run."""


def install(roots: Sequence[str] = ROOTS) -> list[str]:
    """Stand in for each root that is not installed; returns those."""
    missing = [root for root in roots if root not in sys.modules and importlib.util.find_spec(root) is None]
    if missing and not _Finder.roots:
        sys.meta_path.append(_Finder())
    _Finder.roots.update(missing)
    # Versions and helpers that are read or used while modules are imported.
    if "torchvision" in missing:
        importlib.import_module("torchvision").__version__ = "0.28.0"  # type: ignore[attr-defined]
    if "triton" in missing:
        triton: Any = importlib.import_module("triton")
        triton.__version__ = "3.0.0"
        triton.cdiv = lambda a, b: -(a // -b)
        triton.next_power_of_2 = lambda n: 1 << (n - 1).bit_length() if n > 0 else 1
    return missing
