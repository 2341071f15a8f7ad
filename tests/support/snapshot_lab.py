# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the tests of model_snapshot share: small real models, a hub in a thread, and the module with its defaults."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.modules.model_snapshot import argument_spec, run

from tests.support.hub.mockhub import Hub

COLLECTIONS = Path(__file__).resolve().parents[2] / ".collections"
REPO = "acme/tiny"
SHARDS = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")

# The module's own run(), in a process that can be killed.
RUN_IN_PROCESS = """
import json, sys
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.modules.model_snapshot import run
try:
    outcome = run(json.load(sys.stdin), False)
except SglangError as error:
    print(json.dumps(error.as_result()))
    sys.exit(1)
print(json.dumps(outcome.__dict__))
"""


def shard_bytes(size: int, seed: int = 0, name: str = "w") -> bytes:
    """A valid safetensors file with ``size`` bytes of tensor data."""
    header = json.dumps({name: {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
    return struct.pack("<Q", len(header)) + header + random.Random(seed).randbytes(size)


def make_model(directory: Path, shard_size: int = 300_000) -> Path:
    """A model of two shards with an index, and files that must never be fetched."""
    directory.mkdir(parents=True, exist_ok=True)
    for number, shard in enumerate(SHARDS):
        (directory / shard).write_bytes(shard_bytes(shard_size, number, f"layer.{number}"))
    index = {"metadata": {}, "weight_map": {"layer.0": SHARDS[0], "layer.1": SHARDS[1]}}
    (directory / "model.safetensors.index.json").write_text(json.dumps(index))
    (directory / "config.json").write_text(json.dumps({"architectures": ["TinyForCausalLM"]}))
    (directory / "tokenizer.json").write_text(json.dumps({"version": "1.0"}))
    (directory / "merges.txt").write_text("a b\n")
    (directory / "chat_template.jinja").write_text("{{ messages }}")
    (directory / "pytorch_model.bin").write_bytes(b"pickle" * 100)
    (directory / "pytorch_model.bin.index.json").write_text("{}")
    (directory / "model.gguf").write_bytes(b"GGUF" * 100)
    (directory / "README.md").write_text("# Tiny\n")
    (directory / ".gitattributes").write_text("*.safetensors filter=lfs\n")
    return directory


WANTED = sorted([*SHARDS, "model.safetensors.index.json", "config.json", "tokenizer.json", "merges.txt", "chat_template.jinja"])


@contextlib.contextmanager
def running_hub(root: Path, hub_class: type[Hub] = Hub, **options: Any) -> Iterator[Hub]:
    hub = hub_class(("127.0.0.1", 0), root, **options)
    hub.handle_error = lambda *_: None  # type: ignore[method-assign]  # clients that go away are what these tests are about
    thread = threading.Thread(target=hub.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.shutdown()
        hub.server_close()


def params(hub: Optional[Hub], root: Path, **changes: Any) -> dict[str, Any]:
    """All options with their defaults, quick enough for tests."""
    values = {name: option.get("default") for name, option in argument_spec().items()}
    values.update(repo=REPO, root=str(root), python=sys.executable, endpoint=hub.url if hub else "http://127.0.0.1:9", retry_delay=0.05)
    values.update(changes)
    return values


def snapshot(hub: Optional[Hub], root: Path, check_mode: bool = False, **changes: Any) -> Any:
    return run(params(hub, root, **changes), check_mode)


def start_process(values: dict[str, Any], **options: Any) -> subprocess.Popen[str]:
    """The same in a process of its own."""
    child = subprocess.Popen(
        [sys.executable, "-c", RUN_IN_PROCESS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(COLLECTIONS), "PATH": "/usr/bin:/bin"},
        **options,
    )
    assert child.stdin is not None
    child.stdin.write(json.dumps(values))
    child.stdin.close()
    child.stdin = None
    return child


def sent_bytes(hub: Hub) -> int:
    """File bytes that the hub sent."""
    with hub.lock:
        return sum(line["sent"] for line in hub.log if "/resolve/" in line["path"])


def file_requests(hub: Hub) -> list[dict[str, Any]]:
    with hub.lock:
        return [dict(line) for line in hub.log if "/resolve/" in line["path"]]


def assert_published(outcome: Any, source: Path) -> None:
    """The published directory holds exactly the wanted files, byte for byte, and the manifest says the same."""
    published = Path(outcome.path)
    names = sorted(str(path.relative_to(published)) for path in published.rglob("*") if path.is_file())
    assert names == WANTED
    manifest = json.loads(Path(outcome.manifest).read_text())
    assert manifest["revision"] == published.name == outcome.revision
    recorded = {entry["file"]: entry for entry in manifest["files"]}
    assert sorted(recorded) == WANTED
    for name in WANTED:
        data = (published / name).read_bytes()
        assert data == (source / name).read_bytes(), name
        assert recorded[name]["sha256"] == hashlib.sha256(data).hexdigest()
        assert (published / name).stat().st_mode & 0o777 == 0o644
    assert published.stat().st_mode & 0o777 == 0o755
    assert not [path for path in published.parent.iterdir() if path.name.startswith((".partial", ".pending", ".write"))]


class Watcher:
    """Looks at every process's command line and environment until it is stopped."""

    def __init__(self, canary: bytes, every: float = 0.02) -> None:
        self.canary, self.every = canary, every
        self.seen: list[str] = []
        self.rounds = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def _watch(self) -> None:
        while not self._stop.wait(self.every):
            self.rounds += 1
            for entry in os.listdir("/proc"):
                # The test's own process made the token up.
                if entry.isdigit() and int(entry) != os.getpid():
                    for name in ("cmdline", "environ"):
                        with contextlib.suppress(OSError):
                            if self.canary in Path(f"/proc/{entry}/{name}").read_bytes():
                                self.seen.append(f"{entry}/{name}")

    def __enter__(self) -> Watcher:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
