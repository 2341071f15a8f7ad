# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The one server that all of a comparison fetch from: the mock hub in a process of its own, with a model that costs no disk."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HUB = Path(__file__).resolve().parents[1] / "support/hub/mockhub.py"
REPO = "acme/large"
SHARDS = 4


@dataclass(frozen=True)
class Origin:
    """A running hub."""

    url: str

    def _ask(self, method: str, path: str) -> Any:
        with urllib.request.urlopen(urllib.request.Request(self.url + path, method=method)) as answer:
            return json.load(answer)

    def forget(self) -> None:
        """Begin to count anew."""
        self._ask("DELETE", "/_mock/log")

    def sent_bytes(self) -> int:
        """File bytes handed out since."""
        return sum(line["sent"] for line in self._ask("GET", "/_mock/log") if "/resolve/" in line["path"])

    def files(self) -> dict[str, str]:
        """Name and sha256 of each shard."""
        info = self._ask("GET", f"/api/models/{REPO}?blobs=true")
        return {entry["rfilename"]: entry["lfs"]["sha256"] for entry in info["siblings"] if "lfs" in entry}


def make_model(folder: Path, total: int) -> None:
    """A model of ``total`` bytes in four shards, each a whole safetensors file."""
    folder.mkdir(parents=True)
    names = [f"model-{number + 1:05d}-of-{SHARDS:05d}.safetensors" for number in range(SHARDS)]
    for number, name in enumerate(names):
        (folder / f"{name}.sparse").write_text(f"{total // SHARDS} shard-{number} layer.{number}")
    index = {"metadata": {}, "weight_map": {f"layer.{number}": name for number, name in enumerate(names)}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    (folder / "config.json").write_text(json.dumps({"architectures": ["TinyForCausalLM"]}))
    (folder / "tokenizer.json").write_text(json.dumps({"version": "1.0"}))


@contextmanager
def running(folder: Path, total: int, rate: int = 0) -> Iterator[Origin]:
    """A hub with a model of ``total`` bytes; ``rate`` bytes a second for all downloads together, 0 as fast as it can."""
    make_model(folder / REPO, total)
    command = [sys.executable, str(HUB), "--root", str(folder), "--port", "0", "--rate", str(rate)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        try:
            url = next(line.strip().partition("=")[2] for line in child.stdout if line.startswith("HF_ENDPOINT="))
            yield Origin(url)
        finally:
            child.kill()
