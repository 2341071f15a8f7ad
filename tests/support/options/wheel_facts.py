# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Facts of the release table, read in an unpacked SGLang wheel: each with the file and line it was found at.

A probe is a piece of text that has been where a fact stands in every release so far. One that is found nowhere is news: either the
fact is not true of this release, or it is written differently, and a person has to look.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ansible_collections.inference.sglang.plugins.module_utils._architectures import ARCHITECTURES

ARGUMENTS = ("arg_groups/**/*.py", "server_args.py")
POOLS = ("mem_cache/kv_cache_configurator.py", "model_executor/model_runner_kv_cache_mixin.py")
CELLS = ("model_executor/pool_configurator.py",)
HTTP = ("entrypoints/http_server.py",)
LOADING = ("model_executor/model_runner_components/load_model_utils.py", "model_executor/model_runner.py")
LOG = ("model_executor/**/*.py", "mem_cache/*.py", "managers/scheduler.py", "managers/**/*.py")
REGISTRY = ("utils/hf_transformers/common.py", "utils/hf_transformers_utils.py")
# fact -> (files below sglang/srt, in the order of trust; text)
PROBES: dict[str, tuple[tuple[str, ...], str]] = {
    "strategy": (ARGUMENTS, r"def _mamba_radix_cache_resolution|def _?handle_mamba_radix_cache"),
    "no_buffer": (
        ARGUMENTS,
        r"no_buffer do not support overlap schedule|is not compatible with radix cache when using|Disabling radix cache since speculative",
    ),
    "radix_off": (ARGUMENTS, r"mamba extra_buffer is not compatible with --disable-radix-cache"),
    "extra_buffer_models": (
        ARGUMENTS,
        r"_MAMBA_EXTRA_BUFFER_ARCHS = |def _support_mamba_cache_extra_buffer|support_mamba_cache_extra_buffer=True",
    ),
    "lazy_refused": (ARGUMENTS, r"extra_buffer_lazy (?:is not yet supported with spec|unsupported with spec)"),
    "verification": (("managers/schedule_batch.py",), r"\[req\.mamba_next_track_idx for req in batch\.reqs\]"),
    "sm100": (ARGUMENTS, r'sm100_default_attn_backend = "triton"|sm100_default_attention_backend="triton"'),
    "sm100_paged": (ARGUMENTS, r'sm100_default_attn_backend = "trtllm_mha"'),
    "blackwell": (("layers/attention/attention_registry.py",), r"supported backends on Blackwell|backends are supported on Blackwell"),
    "oldest_card": (LOADING, r"SGLang only supports sm(\d+) and above"),
    "bfloat16_card": (LOADING, r"Compute capability below sm(\d+)\. Use float16"),
    "sparse_backend": (ARGUMENTS, r'attention_backend(?:"\])? = "([nd]sa)"'),
    "numbers": (ARGUMENTS, r"def _?auto_choose_speculative_params"),
    "running_cap": (ARGUMENTS, r"max_running_requests ?= ?48\b"),
    "spec_v2_default": (("environ.py",), r"SGLANG_ENABLE_SPEC_V2 = EnvBool\((True|False)\)"),
    "spec_v2_removed": (ARGUMENTS, r"SGLANG_ENABLE_SPEC_V2 has been removed"),
    "mtp_models": (("configs/model_config.py",), r'architectures\[0\] = "Qwen3_5ForCausalLMMTP"'),
    "modelopt_mixed": (("configs/model_config.py",), r'has_modelopt_nvfp4_layers = |arch\.startswith\("NemotronH"\)'),
    "nvfp4_group": (("layers/quantization/modelopt_quant.py",), r"# NVFP4 \(incl\. NVFP4_AWQ\) always uses group_size 16"),
    "nvfp4_legacy": (("layers/quantization/modelopt_quant.py",), r"group_size = ModelOptFp4Config\.common_group_size\(config\)"),
    "model_types": (REGISTRY, r"^_CONFIG_REGISTRY"),
    "text_only": (("models/qwen3_5_text.py",), r"^EntryClass = "),
    "dflash": (ARGUMENTS, r"DFLASH speculative decoding requires setting"),
    "dflash_exact_cell": (CELLS, r"def _dflash_draft_cell_size"),
    "dflash_overlap_off": (ARGUMENTS, r"Overlap scheduler is disabled when using DFLASH"),
    "pools": (POOLS, r"def _?handle_max_mamba_cache"),
    "joint": (POOLS, r"# Joint solve"),
    "padding": (POOLS, r"\+1 padding slot on both buffers"),
    "draft_counted": (POOLS, r"draft weights are now counted"),
    "draft_in_cell": (CELLS, r"eagle_draft_num_layers is not None"),
    "slots": (POOLS, r"MAMBA_CACHE_SIZE_MAX_RUNNING_REQUESTS_RATIO = (\d)"),
    "slots_by_speculation": (
        POOLS,
        r"if not self\.spec_algorithm\.is_none\(\):\n +additional_ratio = MAMBA_CACHE_V2_ADDITIONAL_RATIO_NO_OVERLAP",
    ),
    "multimodal_reserve": (POOLS, r"def mm_runtime_reservation_gb"),
    "cards": (ARGUMENTS, r"gpu_mem < 20 \* 1024"),
    "speculation_reserve": (ARGUMENTS, r"# eagle draft models and cuda graphs\n +reserved_mem \+= (\d) \* 1024"),
    "chunk": (("layers/attention/fla/chunk_delta_h.py", "../kernels/ops/attention/fla/chunk_delta_h.py"), r"^CHUNK_SIZE = (\d+)"),
    "gdn_dispatcher": (("layers/attention/linear/gdn_backend.py",), r"GDN kernel dispatcher: "),
    "kda_dispatcher": (("layers/attention/linear/kda_backend.py",), r"KDA kernel dispatcher: "),
    "ready_line": (HTTP, r"The server is fired up and ready to roll!"),
    "ready_path": (HTTP, r'@app\.get\("(/ready)"'),
    "stop": (
        ("managers/tokenizer_manager.py",),
        r"kill_process_tree\(os\.getpid\(\), include_parent=(True|False)[^\n]*\n(?:[^\n]*\n){0,12} +sys\.exit\(0\)",
    ),
    "ranks_line": (("distributed/bootstrap.py", "model_executor/model_runner.py"), r"Init (?:torch distributed|parallel) begin\."),
    "weights_line": (LOG, r"Load weight begin\."),
    "state_line": (LOG, r"Mamba Cache is allocated\."),
    "pools_line": (LOG, r"Memory pool end\."),
    "graphs_line": (LOG, r"Capture \{?[^\"]*(?:graph )?begin\. This can take|Capture \{[^\"]+ CUDA graph begin\."),
    "backend_line": (("layers/attention/attention_registry.py",), r"Using hybrid linear attention backend for hybrid GDN models\."),
    "kernels_line": (("layers/attention/linear/utils.py",), r"Linear attention kernel backend: "),
    "scheduler_line": (LOG, r"max_total_num_tokens=\{"),
}
CLASSES = {
    "AWQMarlinConfig": "awq_marlin",
    "BitsAndBytesConfig": "bitsandbytes",
    "CompressedTensorsConfig": "compressed-tensors",
    "Fp8Config": "fp8",
    "GPTQMarlinConfig": "gptq_marlin",
    "ModelOptFp4Config": "modelopt_fp4",
    "ModelOptFp8Config": "modelopt_fp8",
    "Mxfp4Config": "mxfp4",
    "PetitNvFp4Config": "petit_nvfp4",
    "W4AFp8Config": "w4afp8",
    "W8A8Fp8Config": "w8a8_fp8",
    "W8A8Int8Config": "w8a8_int8",
}
KNOWN = frozenset(ARCHITECTURES)
PINS = ("torch", "transformers", "flashinfer_python", "sgl-kernel", "sglang-kernel", "torchcodec", "cuda-python")


# Rules that the derivation repeats; what changed in them has to be read.
FUNCTIONS = frozenset(
    "handle_max_mamba_cache calculate_mamba_ratio profile_available_bytes mamba_radix_cache_resolution handle_mamba_radix_cache "
    "validate_mamba_extra_buffer validate_mamba_no_buffer auto_choose_speculative_params handle_eagle_family handle_dflash "
    "handle_speculative_decoding handle_gpu_memory_settings adjust_mem_fraction_for_vlm mm_runtime_reservation_gb sigterm_watchdog "
    "qwen3_5_hybrid_overrides get_default_attn_backend compute_cell_size".split()
)


class Found(NamedTuple):
    """Where a probe matched, and what it caught."""

    place: str
    caught: str


def _files(root: Path, globs: tuple[str, ...]) -> Iterator[Path]:
    for glob in globs:
        yield from sorted(root.glob(glob)) if "*" in glob else [path for path in [root / glob] if path.is_file()]


def places_of(directory: Path) -> dict[str, Found]:
    """Every probe that matches in a wheel."""
    root = directory / "sglang/srt"
    found: dict[str, Found] = {}
    for fact, (globs, pattern) in PROBES.items():
        for alternative in pattern.split("|") if fact == "strategy" else [pattern]:
            for path in _files(root, globs):
                text = path.read_text()
                match = re.search(alternative, text, re.M)
                if match and fact not in found:
                    line = text.count("\n", 0, match.start()) + 1
                    name = path.resolve().relative_to(root.resolve().parent).as_posix().removeprefix("srt/")
                    found[fact] = Found(f"{name}:{line}", match.group(match.lastindex) if match.lastindex else match.group(0))
    return found


def functions_of(directory: Path) -> dict[str, str]:
    """The rules' own code without comments and layout, by name without leading underscores."""
    found = {}
    for path in _files(directory / "sglang/srt", (*ARGUMENTS, *POOLS, *CELLS, "managers/tokenizer_manager.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8-sig"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.lstrip("_") in FUNCTIONS:
                found[node.name.lstrip("_")] = ast.unparse(node)
    return found


def cards_of(directory: Path) -> list[tuple[int, int, int, int]]:
    """The engine's classes of cards: (below how many MiB, chunk, graph requests at TP < 4, at TP >= 4); equal neighbours are one."""
    for path in _files(directory / "sglang/srt", ARGUMENTS):
        text = path.read_text()
        start = text.find("gpu_mem < 20 * 1024")
        if start < 0:
            continue
        block = text[start : text.index("Fallback defaults" if "Fallback defaults" in text[start:] else "# Set cuda graph batch", start)]
        rows: list[tuple[int, int, int, int]] = []
        for part in re.split(r"\n +(?:elif (?=gpu_mem)|else:\n +# B200)", block):
            limit = re.match(r"gpu_mem < (\d+) \* 1024", part)
            chunk = re.search(r"chunked_prefill_size ?= ?(\d+)", part)
            graphs = [int(number) for number in re.findall(r"max_bs = (\d+)", part)]
            assert chunk and graphs, part
            row = (int(limit[1]) * 1024 if limit else 0, int(chunk[1]), graphs[0], graphs[-1])
            if rows and rows[-1][1:] == row[1:]:
                rows.pop()
            rows.append(row)
        return rows
    return []


def capabilities_of(directory: Path) -> dict[str, int]:
    """Quantisation method -> lowest compute capability times ten, as its class says it for NVIDIA's cards."""
    found = {}
    for path in sorted((directory / "sglang/srt/layers/quantization").glob("**/*.py")):
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, ast.ClassDef) or node.name not in CLASSES:
                continue
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and method.name == "get_min_capability":
                    values = [
                        (value.orelse if isinstance(value, ast.IfExp) else value)
                        for value in (statement.value for statement in ast.walk(method) if isinstance(statement, ast.Return))
                    ]
                    # Branches for other makers' devices return numbers of their own kind: 0, 21, 31, 94, 95.
                    numbers = [node.value for node in values if isinstance(node, ast.Constant) and node.value not in (0, 21, 31, 94, 95)]
                    found[CLASSES[node.name]] = int(numbers[0])
    return found


def with_method(directory: Path, method: str) -> frozenset[str]:
    """Classes of models that have a method, by themselves or from a class of the wheel."""
    classes: dict[str, list[tuple[list[str], bool]]] = {}
    for path in sorted((directory / "sglang/srt/models").glob("**/*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8-sig")).body:
            if isinstance(node, ast.ClassDef):
                own = any(isinstance(item, ast.FunctionDef) and item.name == method for item in node.body)
                classes.setdefault(node.name, []).append(([ast.unparse(base).split(".")[-1] for base in node.bases], own))

    found = {name for name, rows in classes.items() if any(own for _bases, own in rows)}
    while True:
        heirs = {name for name, rows in classes.items() if any(found & set(bases) for bases, _own in rows)} - found
        if not heirs:
            return frozenset(found)
        found |= heirs


def extra_buffer_of(directory: Path) -> frozenset[str]:
    """Classes that may have extra_buffer; empty up to 0.5.13, where a chain of conditions says it."""
    pattern = (
        r"_MAMBA_EXTRA_BUFFER_ARCHS = frozenset\(\s*\{(.*?)\n    \}|def _support_mamba_cache_extra_buffer\(self.*?model_arch in \[(.*?)\]"
    )
    for path in _files(directory / "sglang/srt", ARGUMENTS):
        match = re.search(pattern, path.read_text(), re.S)
        if match:
            return frozenset(re.findall(r'"(\w+)"', match[1] or match[2]))
    return frozenset()


def metadata_of(directory: Path) -> dict[str, str]:
    """Pins, lowest Python and platform tag of a wheel."""
    information = next(directory.glob("sglang-*.dist-info"))
    text = (information / "METADATA").read_text()
    found = {"python": re.findall(r"^Requires-Python: >=([\d.]+)", text, re.M)[0]}
    for name in PINS:
        pins = re.findall(rf"^Requires-Dist: {name}(?:\[[^\]]*\])?(?:==|>=)([\w.]+)", text, re.M)
        if pins:
            found[name] = pins[0]
    found["tag"] = re.findall(r"^Tag: (\S+)", (information / "WHEEL").read_text(), re.M)[0]
    return found


def environment_of(directory: Path) -> set[str]:
    """Every name of an environment variable of its own that the server's Python mentions anywhere."""
    names: set[str] = set()
    for path in (directory / "sglang").glob("**/*.py"):
        if {"test", "multimodal_gen", "benchmark"} & set(path.relative_to(directory).parts):
            continue  # tests, and the server of diffusion models, which is another program
        names.update(re.findall(r"\bSGL(?:ANG)?_[A-Z0-9_]*[A-Z0-9]\b", path.read_text(errors="replace")))
    return names


def _mixed(places: dict[str, Found]) -> str:
    if "modelopt_mixed" not in places:
        return "none"
    return "nemotron_h" if "NemotronH" in places["modelopt_mixed"].caught else "listed"


def facts_of(directory: Path) -> dict[str, Any]:
    """Fields of the release table whose value the wheel tells by itself."""
    places, metadata = places_of(directory), metadata_of(directory)
    reserve = places.get("speculation_reserve")
    stop = places.get("stop")
    return {
        "strategy_auto": "no_buffer" if "radix_off" in places or "joint" not in places else "extra_buffer",
        "modelopt_mixed": _mixed(places),
        "nvfp4_group_assumed": "nvfp4_group" in places,
        "sparse_backend": places["sparse_backend"].caught,
        "no_buffer_refuses_speculation": "is not compatible with radix cache" in places["no_buffer"].caught,
        "no_buffer_needs_overlap_off": "overlap schedule" in places["no_buffer"].caught,
        "no_buffer_turns_radix_off": "Disabling radix cache" in places["no_buffer"].caught,
        "extra_buffer_refuses_radix_off": "radix_off" in places,
        "verification_dies": "verification" in places,
        "sm100_pages_with_speculation": "sm100_paged" in places,
        "oldest_card": int(places["oldest_card"].caught),
        "bfloat16_card": int(places["bfloat16_card"].caught),
        "recurrent_chunk": int(places["chunk"].caught),
        "joint_pool_rule": "joint" in places,
        "joint_pool_padding": "padding" in places,
        "draft_counted_first": "draft_counted" in places,
        "draft_in_cell": "draft_in_cell" in places,
        "slots_base": int(places["slots"].caught),
        "speculation_reserve_mib": int(reserve.caught) * 1024 if reserve else 0,
        "multimodal_reserve_mib": 100 if "multimodal_reserve" in places else 0,
        "dflash_overlap_off": "dflash_overlap_off" in places,
        "dflash_exact_cell": "dflash_exact_cell" in places,
        "dispatcher_lines": tuple(
            (family, places[f"{family}_dispatcher"].caught.rstrip(": ")) for family in ("gdn", "kda") if f"{family}_dispatcher" in places
        ),
        "ready_line": places["ready_line"].caught,
        "ready_path": places["ready_path"].caught if "ready_path" in places else "",
        "stops_by_killing_itself": bool(stop) and stop.caught == "True",
        "python_minimum": metadata["python"],
        "torch": metadata["torch"],
        "transformers": metadata["transformers"],
        "flashinfer": metadata["flashinfer_python"],
        "torchcodec": metadata["torchcodec"],
        "kernel": metadata.get("sglang-kernel") or metadata["sgl-kernel"],
        "cards": cards_of(directory),
        "capabilities": capabilities_of(directory),
        "dflash_targets": with_method(directory, "set_dflash_layers_to_capture") & KNOWN,
        "eagle3_targets": with_method(directory, "set_eagle3_layers_to_capture") & KNOWN,
        "extra_buffer_architectures": extra_buffer_of(directory) & KNOWN,
    }


def differences(row: Any, directory: Path) -> list[str]:
    """Where a row of the table says otherwise than its wheel."""
    facts, found = facts_of(directory), []
    cards = [tuple(vars(card).values()) for card in row.card_defaults]
    if cards != facts.pop("cards"):
        found.append(f"cards: {cards}")
    stated = dict(row.minimum_capability)
    capabilities = facts.pop("capabilities")
    # modelopt_mixed asks ModelOptFp4Config for its own.
    if {name: value for name, value in stated.items() if name != "modelopt_mixed"} != capabilities:
        found.append(f"capabilities: {capabilities}")
    if stated.get("modelopt_mixed", capabilities["modelopt_fp4"]) != capabilities["modelopt_fp4"]:
        found.append("modelopt_mixed needs what modelopt_fp4 needs")
    targets = {name: facts.pop(name) for name in ("dflash_targets", "eagle3_targets", "extra_buffer_architectures")}
    hybrids = {name for name in KNOWN if name.startswith("Qwen3_5")}
    if "Qwen3_5ForCausalLM" not in targets["eagle3_targets"]:
        targets["eagle3_targets"] -= hybrids  # inherited from Qwen3-VL, and not honoured
    targets["dflash_targets"] -= hybrids - row.gdn_architectures  # a class of that name is the body of another there
    if not targets["extra_buffer_architectures"]:
        targets["extra_buffer_architectures"] = row.extra_buffer_architectures
    for name, value in targets.items():
        if value != getattr(row, name):
            found.append(f"{name}: {sorted(value ^ getattr(row, name))} in one of wheel and table")
    found += [
        f"{name}: {value!r} in the wheel, {getattr(row, name)!r} in the table"
        for name, value in facts.items()
        if getattr(row, name) != value
    ]
    return found
