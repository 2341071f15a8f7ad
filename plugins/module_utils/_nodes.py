# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""One model over several hosts: what each of them is told, and which sizes they can share evenly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils import _tensor_parallel
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._model_profile import ModelProfile
from ansible_collections.inference.sglang.plugins.module_utils._plain import Fields, plain_mapping, shown

MAXIMUM = 64
_OWN = ("nnodes", "node_rank")


@dataclass(frozen=True)
class Nodes:
    """How many hosts, and which of them a command is for, where that is known."""

    count: int
    rank: Optional[int] = None
    address: Optional[str] = None

    @property
    def missing(self) -> list[str]:
        """What a command still needs before it can be started."""
        if self.count == 1:
            return []
        return [name for name, value in (("node_rank", self.rank), ("dist_init_addr", self.address)) if value is None]

    def as_dict(self, size: int) -> dict[str, Any]:
        """Plain data: the arguments that differ from host to host."""
        return {
            "count": self.count,
            "gpus_per_node": size // self.count,
            "arguments": [["--node-rank", str(rank)] for rank in range(self.count)] if self.count > 1 else [[]],
            "missing": self.missing,
        }


def read_nodes(nodes: object, settings: object) -> tuple[Nodes, object]:
    """The hosts, and the settings without the options that follow from them."""
    if isinstance(nodes, bool) or not isinstance(nodes, int) or not 1 <= nodes <= MAXIMUM:
        raise SglangError("nodes cannot be used.", found=f"nodes: {shown(nodes)}", wanted=f"a whole number from 1 to {MAXIMUM}")
    if nodes == 1:
        return Nodes(1), settings
    values = plain_mapping(settings, "sglang_server_settings")
    fields = Fields(values, "sglang_server_settings")
    named = fields.integer("nnodes", 1, MAXIMUM)
    if named is not None and named != nodes:
        raise SglangError(
            "nnodes contradicts the number of nodes.", found=f"nnodes: {named}, nodes: {nodes}", wanted="the same, or no nnodes"
        )
    rank = fields.integer("node_rank", 0, nodes - 1)
    return Nodes(nodes, rank, fields.text("dist_init_addr")), {key: value for key, value in values.items() if key not in _OWN}


def even_sizes(profile: ModelProfile, gpus: int, nodes: int) -> list[int]:
    """Sizes that divide the model and lie evenly on the hosts: SGLang asserts that tp_size is a multiple of the number of nodes."""
    return [size for size in _tensor_parallel.working_sizes(profile, gpus * nodes) if size % nodes == 0]
