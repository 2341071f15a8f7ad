# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Print the argument parser of an unpacked SGLang wheel as JSON, with nothing of what the wheel depends on installed.

    python3 -I -S tests/support/options/wheel_parser.py DIRECTORY

The wheel's own ``ServerArgs.add_cli_args`` fills a standard ``argparse`` parser. Every import that is neither the standard library nor
``sglang`` gives a stand-in, so neither torch nor a GPU is needed; a module of ``sglang`` that cannot be imported that way becomes a
stand-in too. A stand-in that would reach an option's choices or default ends the reading: nothing is guessed.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.machinery
import json
import sys
import types
from pathlib import Path

# What the engine asks `hasattr(torch, ...)` for to find out about other machines than NVIDIA's.
OTHER_MACHINES = ("npu", "hpu", "musa", "mps")
SHOWN = (str, int, float, bool, type(None))


class Meta(type):
    """Stand-in classes: any attribute, any subscript, unions with other types."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Module(f"{cls.__name__}.{name}")

    def __or__(cls, other):
        return cls

    __ror__ = __or__

    def __getitem__(cls, item):
        return cls

    def __iter__(cls):
        return iter(())


class Base(metaclass=Meta):
    """What stand-in classes inherit from, and what a class of the wheel inherits where its base is missing."""

    def __init__(self, *args, **kwargs):
        pass

    def __init_subclass__(cls, **kwargs):
        pass

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Module(name)

    def __call__(self, *args, **kwargs):
        return args[0] if len(args) == 1 and callable(args[0]) else Module("called")


class Module(types.ModuleType):
    """A stand-in for a module, and for whatever is looked up in one."""

    def __init__(self, name):
        super().__init__(name)
        self.__path__ = []

    def __getattr__(self, name):
        if name == "__version__":
            return "999.0"
        if name in OTHER_MACHINES or (name.startswith("__") and name.endswith("__")):
            raise AttributeError(name)
        full = f"{self.__name__}.{name}"
        value = type(name, (Base,), {}) if name[:1].isupper() else sys.modules.setdefault(full, Module(full))
        setattr(self, name, value)
        return value

    def __call__(self, *args, **kwargs):
        return args[0] if len(args) == 1 and callable(args[0]) and not kwargs else Module("called")

    def __mro_entries__(self, bases):
        return (Base,)

    def _itself(self, *_other):
        return self

    def _no(self, *_other):
        return False

    __or__ = __ror__ = __getitem__ = _itself
    __bool__ = __contains__ = __lt__ = __gt__ = __le__ = __ge__ = _no

    def __iter__(self):
        return iter(())

    def __len__(self):
        return 0

    def __hash__(self):
        return id(self)


class Soft:
    """Loads a module of the wheel, or leaves a stand-in where that fails."""

    def __init__(self, loader, missing):
        self.loader, self.missing = loader, missing

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        try:
            self.loader.exec_module(module)
        except Exception as error:
            self.missing[module.__name__] = f"{type(error).__name__}: {error}"[:200]
            module.__class__ = Module


class Finder:
    """Standard library as ever, `sglang` from the wheel, everything else as a stand-in."""

    def __init__(self):
        self.missing = {}

    def find_spec(self, fullname, path=None, target=None):
        top = fullname.split(".", 1)[0]
        if top in sys.stdlib_module_names:
            return None
        if top != "sglang":
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is not None and spec.loader is not None and fullname != "sglang.srt.server_args":
            spec.loader = Soft(spec.loader, self.missing)
        return spec

    def create_module(self, spec):
        return sys.modules.get(spec.name) or Module(spec.name)

    def exec_module(self, module):
        pass


class Struct:
    """As much of msgspec.Struct as the declaration of arguments uses (0.5.21 and later): fields, defaults, frozen."""

    def __init_subclass__(cls, frozen=False, kw_only=False, **_other):
        for name in vars(cls).get("__annotations__", {}):
            value = cls.__dict__.get(name)
            if isinstance(value, (list, dict, set)):
                setattr(cls, name, dataclasses.field(default_factory=value.copy))
        dataclasses.dataclass(kw_only=kw_only, frozen=frozen)(cls)


def struct_field(default=dataclasses.MISSING, default_factory=dataclasses.MISSING, name=None):
    given = {"default": default, "default_factory": default_factory}
    return dataclasses.field(**{key: value for key, value in given.items() if value is not dataclasses.MISSING})


def define_struct(name, fields, namespace=None, **_other):
    body = {"__annotations__": {row[0]: row[1] for row in fields}, **(namespace or {})}
    body.update({row[0]: row[2] for row in fields if len(row) > 2})
    # A field without a default may follow one that has one, as in msgspec.
    return type(name, (Struct,), body, kw_only=True)


def install(directory):
    """Put the stand-ins in place; returns the finder, which knows what was missing."""
    finder = Finder()
    sys.meta_path.insert(0, finder)
    package = types.ModuleType("sglang")
    package.__path__, package.__version__ = [str(directory / "sglang")], "0"
    structs, msgspec = Module("msgspec.structs"), Module("msgspec")
    structs.fields = dataclasses.fields
    msgspec.Struct, msgspec.field, msgspec.defstruct = Struct, struct_field, define_struct
    msgspec.structs, msgspec.NODEFAULT = structs, dataclasses.MISSING
    sys.modules.update({"sglang": package, "msgspec": msgspec, "msgspec.structs": structs})
    return finder


def plain(value, where):
    """A choice or a default as JSON has it; a stand-in among them is an error."""
    if isinstance(value, (Module, Base)) or (isinstance(value, type) and issubclass(value, Base)):
        raise SystemExit(f"{where} comes from a module that could not be imported")
    if isinstance(value, (list, tuple)):
        return [plain(item, where) for item in value]
    return value if isinstance(value, SHOWN) else str(value)


def described(action):
    where = action.option_strings[0]
    choices = action.choices
    if isinstance(choices, (set, frozenset)):
        choices = sorted(choices)
    default = plain(action.default, where)
    return {
        "flags": action.option_strings,
        "dest": action.dest,
        "action": type(action).__name__,
        "nargs": action.nargs,
        "type": getattr(action.type, "__name__", None) if action.type else None,
        "choices": None if choices is None else [plain(choice, where) for choice in choices],
        "default": default if isinstance(default, SHOWN) else str(default),
        "required": action.required,
        "new_flag": getattr(action, "new_flag", None),
        "value": plain(getattr(action, "const_value", None), where),
        "error": getattr(action, "error_message", None),
        "deprecated": "eprecated" in type(action).__name__ or "eprecated" in (action.help or ""),
    }


def main(directory):
    finder = install(Path(directory).resolve())
    from sglang.srt.server_args import ServerArgs

    parser = argparse.ArgumentParser(prog="sglang serve")
    ServerArgs.add_cli_args(parser)
    flags = [described(action) for action in parser._actions if action.option_strings]
    json.dump({"flags": flags, "stand_ins": finder.missing}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
