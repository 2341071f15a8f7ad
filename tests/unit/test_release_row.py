# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Reading a wheel that is made up here: its parser without its dependencies, its facts, and the tables written from them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._options_read import _apply, _option
from ansible_collections.inference.sglang.plugins.module_utils._releases_types import unfolded

from tests.support.options import make_options, model_types, wheel_facts

ROOT = Path(__file__).resolve().parents[2]
SERVER_ARGS = """
import dataclasses
import torch
import triton.language as tl
from numpy.typing import NDArray
from sglang.srt.names import NAMES, Base, {extra}
from sglang.srt.broken import something

@torch.jit.script
def decorated(x: torch.Tensor | None = None): return x

class Derived(torch.nn.Module, Base): pass

class ServerArgs:
    @staticmethod
    def add_cli_args(parser):
        if torch.cuda.is_available():
            parser.add_argument("--only-with-a-gpu")
        parser.add_argument("--model-path", "--model", required=True)
        parser.add_argument("--level", type=int, choices=[0, 1], default=1)
        parser.add_argument("--parser", choices=sorted(NAMES))
        parser.add_argument("--fast", action="store_true", help="[Deprecated] Slow is better.")
        parser.add_argument("--sizes", type=int, nargs="+")
        {more}
"""


def wheel(directory: Path, extra: str = "NAMES as AGAIN", more: str = "pass") -> Path:
    package = directory / "sglang/srt"
    package.mkdir(parents=True)
    (package / "server_args.py").write_text(SERVER_ARGS.format(extra=extra, more=more))
    (package / "names.py").write_text("import transformers\nNAMES = {'b', 'a'}\nclass Base(transformers.X): pass\n")
    (package / "broken.py").write_text("import torch\nx: int = int(torch.version.major)\n")
    return directory


def parsed(directory: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-S", "-B", str(ROOT / "tests/support/options/wheel_parser.py"), str(directory)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_parser_without_any_of_its_dependencies(tmp_path: Path) -> None:
    run = parsed(wheel(tmp_path))
    assert run.returncode == 0, run.stderr
    record = json.loads(run.stdout)
    rows = make_options.rows_of(record)
    assert list(rows) == ["model-path", "level", "parser", "fast", "sizes"]
    assert rows["model-path"].aliases == ("model",)
    assert (rows["level"].kind, rows["level"].choices, rows["level"].default) == ("integer", ("0", "1"), "1")
    assert rows["parser"].choices == ("a", "b")
    assert (rows["fast"].kind, rows["fast"].deprecated) == ("switch", True)
    assert (rows["sizes"].kind, rows["sizes"].many) == ("integer", "+")
    assert list(record["stand_ins"]) == ["sglang.srt.broken"]


def test_choices_from_a_stand_in_end_the_reading(tmp_path: Path) -> None:
    run = parsed(wheel(tmp_path, more='parser.add_argument("--x", choices=[tl.constexpr])'))
    assert run.returncode != 0
    assert "--x comes from a module that could not be imported" in run.stderr


def test_lines_come_back_as_they_were_written() -> None:
    flag = {"dest": "a_b", "action": "_StoreAction", "nargs": "+", "type": "int", "choices": [1, 2], "default": 2, "deprecated": True}
    rows = make_options.rows_of({"flags": [{**flag, "flags": ["--a-b", "--c"]}]})
    option = _option(make_options.line_of("a-b", rows["a-b"]))
    assert (option.name, option.kind, option.many, option.choices) == ("a-b", "integer", "+", ("1", "2"))
    assert (option.default, option.aliases, option.deprecated) == ("2", ("c",), True)


def test_changes_lead_from_one_release_to_the_next() -> None:
    def row(kind: str, *choices: str, default: str = "") -> make_options.Row:
        return make_options.Row(kind, "1", choices, default, (), "", False)

    many = [f"choice-number-{number}" for number in range(40)]
    before = {"gone": row("switch"), "kept": row("text"), "grown": row("text", "a", "b"), "other": row("integer", default="1")}
    after = {"kept": row("text"), "grown": row("text", "b", *many), "other": row("integer", default="2"), "new": row("text", *many)}
    options = _apply(
        _apply({}, make_options.wrapped(make_options.grouped(before))), make_options.wrapped(make_options.changes_of(before, after))
    )
    assert set(options) == set(after)
    for name, wanted in after.items():
        assert (options[name].kind, options[name].choices, options[name].default) == (wanted.kind, wanted.choices, wanted.default)


@pytest.mark.parametrize("line", ["a", "name " * 60, "x text [" + "|".join(f"choice{number}" for number in range(99)) + "] =choice1 !"])
def test_long_lines_are_unfolded_to_what_they_were(line: str) -> None:
    text = make_options.wrapped([line.strip(), "next"])
    assert max(len(piece) for piece in text.split("\n")) <= 140
    assert list(unfolded(text)) == [line.strip(), "next"]


def test_facts_that_are_found_and_that_are_not(tmp_path: Path) -> None:
    package = wheel(tmp_path) / "sglang/srt"
    (package / "mem_cache").mkdir()
    (package / "mem_cache/kv_cache_configurator.py").write_text(
        "\n\ndef _handle_max_mamba_cache(self):\n    # Joint solve: x\n    return 1\n"
    )
    (package / "models").mkdir()
    (package / "models/a.py").write_text("class A:\n    def hook(self): pass\nclass B(A): pass\nclass C(B): pass\nclass D: pass\n")
    places = wheel_facts.places_of(tmp_path)
    assert places["pools"].place == "mem_cache/kv_cache_configurator.py:3"
    assert places["joint"].place == "mem_cache/kv_cache_configurator.py:4"
    assert "padding" not in places
    assert wheel_facts.functions_of(tmp_path) == {"handle_max_mamba_cache": "def _handle_max_mamba_cache(self):\n    return 1"}
    assert wheel_facts.with_method(tmp_path, "hook") == {"A", "B", "C"}


REGISTRY = """
from sglang.srt.configs import FalconH1Config, Inner
_CONFIG_REGISTRY = {cls.model_type: cls for cls in [FalconH1Config, Inner]}
class _Alias(Other):
    model_type = "kimi_k2"
def _load_deepseek_v32_model(model): pass
"""
CONFIGS = """
class FalconH1Config(PretrainedConfig):
    model_type = "falcon_h1"
class Inner(PretrainedConfig):
    model_type: str = "lfm2"
class Elsewhere(PretrainedConfig):
    model_type = "mimo"
"""


def test_types_of_both_wheels(tmp_path: Path) -> None:
    """A class that nobody registers reads nothing, and neither does a name that is not mapped to a configuration."""
    root, auto = tmp_path / "sglang/srt", tmp_path / "transformers/models/auto"
    for folder in (root / "configs", root / "utils", auto):
        folder.mkdir(parents=True)
    (root / "utils/hf_transformers_utils.py").write_text(REGISTRY)
    (root / "configs/all.py").write_text(CONFIGS)
    (auto / "configuration_auto.py").write_text('MAP = OrderedDict([("llama", "LlamaConfig")])\nMAP.update({"qwen3": "Qwen3Config"})\n')
    (auto / "auto_mappings.py").write_text('OrderedDict([("mistral", "MistralConfig"), ("mimo_v2_flash", "MiMo")])')
    (auto / "modeling_auto.py").write_text('OrderedDict([("glm4_moe", "Glm4MoeConfig")])')
    assert model_types.of_sglang(tmp_path) == {"falcon_h1", "lfm2", "kimi_k2", "deepseek_v32"}
    assert model_types.of_transformers(tmp_path) == {"llama", "qwen3", "mistral"}
    unread = model_types.unread(tmp_path, tmp_path)
    assert {"mimo", "mimo_v2_flash", "glm4_moe"} <= unread
    assert not unread & {"falcon_h1", "kimi_k2", "llama", "qwen3"}
