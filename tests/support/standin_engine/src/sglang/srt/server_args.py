# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Arguments as SGLang 0.5.11 takes them: its recorded flags, and the refusals that a GDN model's start meets first."""

from __future__ import annotations

import argparse
import json
import logging
import os
from importlib import resources
from typing import Any

logger = logging.getLogger(__name__)

# argparse destination -> the attribute's name in the engine.
_RENAMED = {
    "tensor_parallel_size": "tp_size",
    "pipeline_parallel_size": "pp_size",
    "data_parallel_size": "dp_size",
    "expert_parallel_size": "ep_size",
    "attention_context_parallel_size": "attn_cp_size",
    "moe_data_parallel_size": "moe_dp_size",
}
_GDN = ("Qwen3_5", "Qwen3Next")


def human_readable_int(text: str) -> int:
    """``4096``, ``4k`` and ``4K``."""
    scale = {"k": 1000, "K": 1024, "m": 1000**2, "M": 1024**2}.get(text[-1:], 1)
    return int(text[:-1] if scale > 1 else text) * scale


_TYPES = {"int": int, "float": float, "str": str, "loads": json.loads, "human_readable_int": human_readable_int}


def _flags() -> list[dict[str, Any]]:
    text = resources.files("sglang._standin").joinpath("data/flags-0.5.11.json").read_text(encoding="utf-8")
    flags: list[dict[str, Any]] = json.loads(text)
    return flags


class ServerArgs:
    """Every recorded flag as an attribute."""

    model_path: str
    served_model_name: Any
    max_running_requests: Any
    speculative_algorithm: Any
    speculative_num_steps: Any
    speculative_eagle_topk: Any
    speculative_num_draft_tokens: Any

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)
        self.__post_init__()

    def __repr__(self) -> str:
        return "ServerArgs(" + ", ".join(f"{name}={value!r}" for name, value in vars(self).items()) + ")"

    @staticmethod
    def add_cli_args(parser: argparse.ArgumentParser) -> None:
        """The engine's options, as recorded."""
        for flag in _flags():
            options: dict[str, Any] = {"dest": flag["dest"], "default": flag.get("default"), "required": flag.get("required", False)}
            action = flag.get("action", "store")
            if action == "BooleanOptionalAction":
                options["action"] = argparse.BooleanOptionalAction
                flag["flags"] = [name for name in flag["flags"] if not name.startswith("--no-")]
            elif action in ("store_true", "deprecated"):
                options["action"] = "store_true"
            else:
                options["type"] = _TYPES.get(flag.get("type", "str"), str)
                options["nargs"] = flag.get("nargs")
                options["choices"] = flag.get("choices")
            parser.add_argument(*flag["flags"], **options)

    @classmethod
    def from_cli_args(cls, args: argparse.Namespace) -> ServerArgs:
        """From a parsed command line."""
        return cls(**{_RENAMED.get(name, name): value for name, value in vars(args).items()})

    def __post_init__(self) -> None:
        if self.served_model_name is None:
            self.served_model_name = self.model_path
        self._handle_model_specific_adjustments()
        self._handle_speculative_decoding()

    def _handle_model_specific_adjustments(self) -> None:
        architectures = self._architectures()
        if not any(name.startswith(_GDN) for name in architectures):
            return
        extra_buffer = self.mamba_scheduler_strategy == "extra_buffer"
        if extra_buffer and self.disable_radix_cache:
            raise ValueError(
                "mamba extra_buffer is not compatible with --disable-radix-cache Overlap scheduling is already supported with "
                "no_buffer + disable_radix_cache. Please use --mamba-scheduler-strategy no_buffer instead."
            )
        if self.speculative_algorithm and not extra_buffer and not self.disable_radix_cache:
            raise ValueError(
                f"Speculative decoding for {architectures[0]} is not compatible with radix cache when using --mamba-scheduler-strategy "
                "no_buffer.To use radix cache with speculative decoding, please use --mamba-scheduler-strategy extra_buffer and set "
                "SGLANG_ENABLE_SPEC_V2=1."
            )

    def _architectures(self) -> list[str]:
        path = os.path.join(self.model_path, "config.json")
        if not os.path.exists(path):
            raise OSError(
                f"Repo id must be in the form 'repo_name' or 'namespace/repo_name': '{self.model_path}'. "
                "Use `repo_type` argument if needed."
            )
        with open(path, encoding="utf-8") as stream:
            names: list[str] = json.load(stream).get("architectures") or []
        return names

    def _handle_speculative_decoding(self) -> None:
        if not self.speculative_algorithm:
            return
        if self.speculative_algorithm == "NEXTN":
            self.speculative_algorithm = "EAGLE"
        if self.max_running_requests is None:
            self.max_running_requests = 48
            logger.warning(
                "Max running requests is reset to 48 for speculative decoding. "
                "You can override this by explicitly setting --max-running-requests."
            )
        logger.info("Spec v2 is enabled by default for eagle/eagle3/standalone speculative decoding.")
        if self.speculative_num_steps is None:
            assert (
                self.speculative_eagle_topk is None
                and self.speculative_num_draft_tokens is None
            )  # fmt: skip
            self.speculative_num_steps, self.speculative_eagle_topk, self.speculative_num_draft_tokens = 3, 1, 4
        if (
            self.speculative_eagle_topk > 1
        ):  # fmt: skip
            return

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"ServerArgs (stand-in) has no {name}")

    def check_server_args(self) -> None:
        """What the engine asserts last."""
        assert (self.tp_size * self.pp_size) % self.nnodes == 0, "tp_size must be divisible by number of nodes"
        assert ":" not in self.served_model_name, "served_model_name cannot contain a colon (':') character."


def prepare_server_args(argv: list[str]) -> ServerArgs:
    """Parse, set up logging, resolve: as the engine does, errors included (argparse: status 2)."""
    parser = argparse.ArgumentParser(prog="sglang serve")
    ServerArgs.add_cli_args(parser)
    raw = parser.parse_args(argv)
    logging.basicConfig(
        level=getattr(logging, raw.log_level.upper()), format="[%(asctime)s] %(message)s", datefmt="%Y-%m-%d %H:%M:%S", force=True
    )
    return ServerArgs.from_cli_args(raw)
