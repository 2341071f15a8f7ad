# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What the shards' headers tell before anything is downloaded: the same code, over HTTP ranges against a hub on loopback."""

from __future__ import annotations

import json
import time

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._hub_headers import read_remote_model
from ansible_collections.inference.sglang.plugins.module_utils._model_files import read_model
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_hub import Hub

from tests.support.snapshot_lab import file_requests, running_hub, sent_bytes
from tests.unit.core_helpers import H200
from tests.unit.test_safetensors import halves, shard_bytes, write_model

REPO = "acme/tiny"


@pytest.fixture
def source(tmp_path):
    directory = tmp_path / "hub" / REPO
    directory.mkdir(parents=True)
    write_model(directory, halves())
    return directory


@pytest.fixture
def hub(tmp_path, source):
    with running_hub(tmp_path / "hub") as running:
        yield running


def client(hub, **options):
    return Hub(hub.url, retries=3, retry_delay=0.01, wait=lambda _seconds: time.sleep(0), **options)


def remote(hub, **options):
    return read_remote_model(client(hub, **options), REPO, "main")


def test_the_hub_tells_what_the_directory_tells(hub, source):
    there, here = remote(hub), read_model(str(source))
    assert there["weights"] == here["weights"]
    assert there["weights"]["evidence"] == "headers"
    assert there["config"] == here["config"]
    assert len(there["commit"]) == 40


def test_a_few_kb_a_shard_are_read(hub, source):
    large = {f"model.layers.{number}.mlp.down_proj.weight": ("BF16", [1024, 1024]) for number in range(4)}
    (source / "model-00003-of-00003.safetensors").write_bytes(shard_bytes(large))
    index = json.loads((source / "model.safetensors.index.json").read_text())
    index["weight_map"].update(dict.fromkeys(large, "model-00003-of-00003.safetensors"))
    (source / "model.safetensors.index.json").write_text(json.dumps(index))
    found = remote(hub)["weights"]
    assert found["bytes_by_group"]["text"] == 48 + 4 * 2 * 1024 * 1024
    assert sent_bytes(hub) < 200_000
    assert all(line["range"] for line in file_requests(hub))


def test_a_header_longer_than_the_first_part(hub, source):
    many = {f"model.layers.{number}.mlp.experts.{number}.gate_proj.weight": ("BF16", [2]) for number in range(3000)}
    write_model(source, {"model-00001-of-00002.safetensors": many, "model-00002-of-00002.safetensors": {"lm_head.weight": ("BF16", [4])}})
    assert remote(hub)["weights"] == read_model(str(source))["weights"]


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (
            lambda d: (d / "model-00002-of-00002.safetensors").write_bytes(b"version https://git-lfs.github.com/spec/v1\n" + b"x" * 90),
            "git-lfs",
        ),
        (
            lambda d: (d / "model-00002-of-00002.safetensors").write_bytes(shard_bytes(halves()["model-00002-of-00002.safetensors"])[:-8]),
            "cut off",
        ),
        (lambda d: (d / "model-00002-of-00002.safetensors").unlink(), "are missing"),
        (lambda d: (d / "config.json").write_text("{"), "not readable JSON"),
        (lambda d: (d / "config.json").unlink(), "no config.json"),
    ],
)
def test_what_is_wrong_on_the_hub_is_named(tmp_path, source, spoil, said):
    spoil(source)
    with running_hub(tmp_path / "hub") as hub, pytest.raises(SglangError) as caught:
        remote(hub)
    assert said in str(caught.value)


def test_faults_on_the_way_are_tried_again(hub, source):
    hub.faults.extend([{"match": "*.safetensors", "kind": "status", "status": 503, "times": 2}])
    assert remote(hub)["weights"] == read_model(str(source))["weights"]


def test_a_repository_that_is_not_there(hub):
    with pytest.raises(SglangError) as caught:
        read_remote_model(client(hub), "acme/absent", "main")
    assert "acme/absent" in str(caught.value)
    with pytest.raises(SglangError, match="organisation/name"):
        read_remote_model(client(hub), "../etc", "main")


def test_a_token_is_sent_and_never_shown(tmp_path, source):
    with running_hub(tmp_path / "hub", token="canary-7d1f") as hub:
        assert remote(hub, token="canary-7d1f")["weights"]["evidence"] == "headers"
        with pytest.raises(SglangError) as caught:
            remote(hub, token="canary-wrong")
    assert "canary" not in str(caught.value)


def test_the_plan_before_a_download(hub):
    from ansible_collections.inference.sglang.plugins.module_utils._launch_plan import launch_plan

    found = remote(hub)
    made = launch_plan(found["config"], "0.5.11", [H200], weights=found["weights"])
    assert made["memory"]["evidence"] == "headers"
    assert made["speculative"]["enabled"] is True
    assert made["provisional"] is False
