# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import struct

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._model_files import read_model, read_shard
from ansible_collections.inference.sglang.plugins.module_utils._safetensors import group_of, is_mtp, read_index
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.core_helpers import DATA, config

INDEX = DATA / "index"
TENSORS = {
    "model.language_model.embed_tokens.weight": ("BF16", [8, 4]),
    "model.language_model.layers.0.linear_attn.in_proj_qkv.weight": ("BF16", [4, 4]),
    "model.language_model.layers.0.linear_attn.A_log": ("F32", [4]),
    "model.visual.blocks.0.attn.qkv.weight": ("BF16", [2, 2]),
    "lm_head.weight": ("BF16", [8, 4]),
    "mtp.fc.weight": ("BF16", [4, 8]),
    "mtp.layers.0.self_attn.q_proj.weight_packed": ("I32", [4]),
}
WIDTH = {"BF16": 2, "F32": 4, "I32": 4}


def shard_bytes(tensors, pad=0):
    header, position = {"__metadata__": {"format": "pt"}}, 0
    for name, (dtype, shape) in tensors.items():
        count = 1
        for item in shape:
            count *= item
        size = count * WIDTH[dtype]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [position, position + size]}
        position += size
    text = json.dumps(header).encode() + b" " * pad
    return struct.pack("<Q", len(text)) + text + b"\0" * position


def write_model(directory, shards, index=True, ghosts=()):
    (directory / "config.json").write_text(json.dumps(config("Qwen3.6-27B")))
    mapping = {}
    for name, tensors in shards.items():
        (directory / name).write_bytes(shard_bytes(tensors))
        mapping.update(dict.fromkeys(tensors, name))
    mapping.update({ghost: next(iter(shards)) for ghost in ghosts})
    if index:
        (directory / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": mapping}))
    return str(directory)


def halves():
    names = list(TENSORS)
    return {
        "model-00001-of-00002.safetensors": {name: TENSORS[name] for name in names[:4]},
        "model-00002-of-00002.safetensors": {name: TENSORS[name] for name in names[4:]},
    }


def test_headers_tell_groups_types_and_mtp(tmp_path):
    found = read_model(write_model(tmp_path, halves()))["weights"]
    assert found["evidence"] == "headers"
    assert found["mtp_tensors"] == 2
    assert found["bytes_by_group"] == {"text": 48, "embedding": 64, "lm_head": 64, "vision": 8, "mtp": 80}
    assert found["dtypes"] == {"BF16": 232, "F32": 16, "I32": 16}
    assert (found["ghosts"], found["unlisted"]) == ([], [])


def test_a_single_file_without_an_index(tmp_path):
    found = read_model(write_model(tmp_path, {"model.safetensors": TENSORS}, index=False))["weights"]
    assert (found["evidence"], found["shards"]) == ("headers", ["model.safetensors"])


def test_only_headers_are_read(tmp_path, monkeypatch):
    path = tmp_path / "model.safetensors"
    path.write_bytes(shard_bytes({"a.weight": ("BF16", [1000, 1000])}))
    taken = []
    real = open

    class Counting:
        def __init__(self, *arguments, **named):
            self.handle = real(*arguments, **named)

        def __enter__(self):
            return self

        def __exit__(self, *_error):
            self.handle.close()

        def seek(self, position):
            return self.handle.seek(position)

        def read(self, size):
            taken.append(size)
            return self.handle.read(size)

    monkeypatch.setattr("builtins.open", Counting)
    read_shard(str(path))
    monkeypatch.undo()
    assert sum(taken) < 1000


def test_index_alone_and_nothing_at_all(tmp_path):
    directory = write_model(tmp_path, halves())
    for name in halves():
        os.unlink(tmp_path / name)
    found = read_model(directory)["weights"]
    assert (found["evidence"], found["mtp_tensors"], found["bytes_by_group"]) == ("index", 2, {})
    os.unlink(tmp_path / "model.safetensors.index.json")
    bare = read_model(directory)["weights"]
    assert (bare["evidence"], bare["mtp_tensors"]) == ("none", None)
    assert read_model(directory, headers=False)["weights"] is None


def test_ghosts(tmp_path):
    shards = {"model.safetensors": {name: value for name, value in TENSORS.items() if not is_mtp(name)}}
    found = read_model(write_model(tmp_path, shards, ghosts=["mtp.fc.weight"]))["weights"]
    assert (found["ghosts"], found["mtp_tensors"]) == (["mtp.fc.weight"], 0)
    with pytest.raises(SglangError, match=r"model\.norm\.weight"):
        read_model(write_model(tmp_path, shards, ghosts=["model.norm.weight"]))


def test_a_side_file_for_mtp_and_an_unlisted_one(tmp_path):
    rest = {name: value for name, value in TENSORS.items() if not is_mtp(name)}
    mtp = {name: value for name, value in TENSORS.items() if is_mtp(name)}
    directory = write_model(tmp_path, {"model.safetensors": rest, "model-mtp.safetensors": mtp})
    (tmp_path / "old.safetensors").write_bytes(b"never read")
    found = read_model(directory)["weights"]
    assert (found["mtp_tensors"], found["unlisted"]) == (2, ["old.safetensors"])


def damage(data, kind):
    length = struct.unpack("<Q", data[:8])[0]
    return {
        "half": data[: len(data) // 2],
        "in the header": data[: 8 + length // 2],
        "eight junk bytes": b"\xff" * 8,
        "empty": b"",
        "three bytes": data[:3],
        "one byte short": data[:-1],
        "one byte more": data + b"\0",
        "not JSON": data[:8] + b"\0" * (len(data) - 8),
        "pointer": (INDEX / "lfs-pointer-shard.txt").read_bytes(),
        "web page": b"<html><body>404 Not Found</body></html>" * 20,
        "zeros": b"\0" * 100,
    }[kind]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("half", "the file"),
        ("in the header", "header would end"),
        ("eight junk bytes", "does not start with"),
        ("empty", "too short"),
        ("three bytes", "too short"),
        ("one byte short", "cut off"),
        ("one byte more", "longer than"),
        ("not JSON", "not readable JSON"),
        ("pointer", "git-lfs pointer"),
        ("web page", "does not start with"),
        ("zeros", "header"),
    ],
)
def test_broken_shards_are_named(tmp_path, kind, said):
    directory = write_model(tmp_path, halves())
    broken = tmp_path / "model-00002-of-00002.safetensors"
    broken.write_bytes(damage(broken.read_bytes(), kind))
    with pytest.raises(SglangError, match=said) as caught:
        read_model(directory)
    assert "model-00002-of-00002.safetensors" in str(caught.value)


def test_missing_shards_are_named(tmp_path):
    directory = write_model(tmp_path, halves())
    os.unlink(tmp_path / "model-00002-of-00002.safetensors")
    with pytest.raises(SglangError, match="1 of 2 files are not there: model-00002-of-00002"):
        read_model(directory)


def test_directories_and_json(tmp_path):
    with pytest.raises(SglangError, match="is not there"):
        read_model(str(tmp_path / "nowhere"))
    with pytest.raises(SglangError, match=r"no config\.json"):
        read_model(str(tmp_path))
    for text, said in (("{", "not readable JSON"), ("[]", "not a JSON object")):
        (tmp_path / "config.json").write_text(text)
        with pytest.raises(SglangError, match=said):
            read_model(str(tmp_path))
    (tmp_path / "config.json").write_bytes(b"\xff\xfe")
    with pytest.raises(SglangError, match="not text"):
        read_model(str(tmp_path))


def overlapping(name="a"):
    one = {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}
    return {name: one, "b": {**one, "data_offsets": [2, 6]}}


@pytest.mark.parametrize(
    "header",
    [
        overlapping(),
        {"a": {"dtype": "U8", "shape": [4], "data_offsets": [4, 8]}},
        {"a": {"dtype": "U8", "shape": [5], "data_offsets": [0, 4]}},
        {"a": {"dtype": "Q9", "shape": [4], "data_offsets": [0, 4]}},
        {"a": {"dtype": "U8", "shape": [-4], "data_offsets": [0, 4]}},
        {"a": {"dtype": "U8", "shape": 4, "data_offsets": [0, 4]}},
        {"a": {"dtype": "U8", "shape": [4], "data_offsets": [4, 0]}},
        {"a": {"dtype": "U8", "shape": [4]}},
        {"a": 1},
        [1],
    ],
)
def test_headers_that_do_not_add_up(tmp_path, header):
    text = json.dumps(header).encode()
    path = tmp_path / "odd.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"\0" * 4)
    with pytest.raises(SglangError, match=r"odd\.safetensors"):
        read_shard(str(path))


@settings(max_examples=200, deadline=None)
@given(data=st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "any.safetensors"
    path.write_bytes(data)
    try:
        read_shard(str(path))
    except SglangError as error:
        assert "any.safetensors" in str(error)


@pytest.mark.parametrize(
    ("file", "mtp"),
    [
        ("bf16-mtp-15keys.cut.index.json", 15),
        ("int4-mtp-in-side-file.cut.index.json", 36),
        ("mlx-renamed-vision-no-mtp.cut.index.json", 0),
        ("no-mtp-but-config-says-1.cut.index.json", 0),
    ],
)
def test_recorded_indexes(file, mtp):
    mapping = read_index(file, (INDEX / file).read_text())
    assert sum(1 for name in mapping if is_mtp(name)) == mtp


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"weight_map": {}}', '{"weight_map": {"a": "../up.safetensors"}}', '{"weight_map": {"a": 1}}']
)
def test_indexes_that_cannot_be_used(text):
    with pytest.raises(SglangError, match=r"some\.index\.json"):
        read_index("some.index.json", text)


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("model.embed_tokens.weight", "embedding"),
        ("language_model.model.embed_tokens.weight", "embedding"),
        ("vision_tower.pos_embed.weight", "vision"),
        ("model.visual.merger.mlp.0.weight", "vision"),
        ("language_model.lm_head.weight", "lm_head"),
        ("model.layers.3.mlp.gate_proj.weight", "text"),
        ("mtp.embed_tokens.weight", "mtp"),
    ],
)
def test_groups(name, group):
    assert group_of(name) == group


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("model.layers.60.mlp.gate.weight", "text"),
        ("model.layers.61.eh_proj.weight", "mtp"),
        ("model.layers.61.embed_tokens.weight", "mtp"),
        ("model.layers.61.shared_head.head.weight", "mtp"),
        ("model.vision_tower.encoder.layers.99.mlp.weight", "vision"),
        ("backbone.embeddings.weight", "embedding"),
        ("backbone.layers.5.mixer.in_proj.weight", "text"),
        ("model.layers.x.mlp.weight", "text"),
    ],
)
def test_layers_beyond_the_model_are_its_mtp_layers(name, group):
    """DeepSeek, GLM and MiMo number them on; without the number of layers nobody can tell."""
    assert group_of(name, 61) == group
    assert (group_of(name) == "mtp") is False
