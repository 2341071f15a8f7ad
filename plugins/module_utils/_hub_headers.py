# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A model that is only on the hub: its config, and the headers of its shards over HTTP ranges, a few KB each."""

from __future__ import annotations

from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._model_files import Source, layers_of, parse_json, weights_of
from ansible_collections.inference.sglang.plugins.module_utils._regular_files import MAXIMUM_MODEL_JSON
from ansible_collections.inference.sglang.plugins.module_utils._safetensors import PREFIX, Tensor, header_length, parse_header
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_files import is_safe_name, require_repo
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_hub import Hub, HubError, public_endpoint

# Most headers are shorter than this, so that one request a shard is enough.
_FIRST = 64 * 1024


class _Repository:
    """One revision's files, read in parts."""

    def __init__(self, hub: Hub, repo: str, revision: str) -> None:
        self.hub, self.repo = hub, repo
        answer = hub.metadata(repo, revision)
        self.commit = answer.commit
        self.sizes = {file.name: file.size for file in answer.files if is_safe_name(file.name)}

    def text(self, name: str) -> str:
        size = self.sizes[name]
        if size > MAXIMUM_MODEL_JSON:
            raise SglangError(f"{name} of {self.repo} is too large to be what its name says.", wanted=f"at most {MAXIMUM_MODEL_JSON} bytes")
        try:
            return self.hub.read(self.repo, self.commit, name, 0, max(1, size)).decode("utf-8")
        except UnicodeDecodeError:
            raise SglangError(f"{name} of {self.repo} is not text.", wanted="UTF-8") from None

    def json(self, name: str) -> Optional[dict[str, Any]]:
        return parse_json(f"{name} of {self.repo}", self.text(name)) if name in self.sizes else None

    def tensors(self, name: str) -> list[Tensor]:
        size = self.sizes[name]
        start = self.hub.read(self.repo, self.commit, name, 0, min(_FIRST, max(1, size)))
        length = header_length(name, start, size)
        header = start[PREFIX : PREFIX + length]
        if len(header) < length:
            header += self.hub.read(self.repo, self.commit, name, PREFIX + len(header), length - len(header))
        if len(header) < length:
            raise SglangError(
                f"The header of {name} ends early.", found=f"{len(header)} of {length} bytes", wanted="a hub that answers ranges"
            )
        return parse_header(name, header, size)


def read_remote_model(hub: Hub, repo: str, revision: str, headers: bool = True) -> dict[str, Any]:
    """{config, hf_quant_config, weights, commit} of a repository that was not downloaded. Raises SglangError."""
    require_repo(repo)
    try:
        found = _Repository(hub, repo, revision)
        config = found.json("config.json")
        if config is None:
            raise SglangError(
                f"There is no config.json in {repo}.",
                found=f"{len(found.sizes)} files at {public_endpoint(hub.endpoint)}",
                wanted="a model's repository",
                next_step="Check the repository; one with adapters or GGUF files only cannot be served.",
            )
        # Shards lie beside config.json; what lies below is another model's, or another format.
        names = [name for name in found.sizes if "/" not in name]
        source = Source(where=f"{repo} at {public_endpoint(hub.endpoint)}", names=names, text=found.text, tensors=found.tensors)
        return {
            "config": config,
            "hf_quant_config": found.json("hf_quant_config.json"),
            "weights": weights_of(source, layers_of(config)) if headers else None,
            "commit": found.commit,
        }
    except HubError as error:
        raise error.explained() from error
