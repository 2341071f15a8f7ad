# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The deciding parts of model_snapshot: names, patterns, manifests, errors."""

from __future__ import annotations

import errno
from typing import Any

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_errors import Context, Failure, explain
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_fetch import Rate, child_environment, duration
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_files import (
    DEFAULT_PATTERNS,
    REFUSED_SUFFIXES,
    RemoteFile,
    describe,
    is_safe_name,
    is_wanted,
    missing_shards,
    parse_metadata,
    require_patterns,
    require_repo,
    select,
)
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_hub import normal_endpoint, public_endpoint, require_token
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_manifest import (
    Entry,
    Manifest,
    Seen,
    compare,
    content_digest,
    dump,
    load,
    slug,
    with_entries,
)
from hypothesis import given
from hypothesis import strategies as st

COMMIT = "0123456789abcdef0123456789abcdef01234567"
CONTEXT = Context(repo="acme/tiny", revision="main", endpoint="https://hub.example", directory="/opt/sglang/models/acme--tiny")


# --- which files ------------------------------------------------------------------------------------------------


@given(st.text(alphabet="abcXYZ.-_/\\\0 ", max_size=30))
def test_no_name_leads_out_of_the_directory(name: str) -> None:
    import os.path

    if is_safe_name(name):
        joined = os.path.normpath(os.path.join("/models/x", name))
        assert joined.startswith("/models/x/")
        assert not any(part.startswith(".") for part in name.split("/"))


@given(st.sampled_from(REFUSED_SUFFIXES), st.text(alphabet="abc-1", min_size=1, max_size=9), st.booleans())
def test_no_pattern_brings_a_pickle(suffix: str, stem: str, upper: bool) -> None:
    name = stem + (suffix.upper() if upper else suffix)
    assert not is_wanted(name, ["*", f"*{suffix}", name])


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("config.json", True),
        ("model-00001-of-00015.safetensors", True),
        ("model.safetensors.index.json", True),
        ("merges.txt", True),
        ("tokenizer.model", True),
        ("chat_template.jinja", True),
        ("qwen.tiktoken", True),
        ("pytorch_model.bin.index.json", False),
        ("README.md", False),
        (".gitattributes", False),
        ("original/params.json", False),
        ("../config.json", False),
        ("/etc/config.json", False),
        ("training_args.bin", False),
        ("modeling_qwen.py", False),
    ],
)
def test_the_default_patterns_bring_what_an_engine_reads(name: str, wanted: bool) -> None:
    assert is_wanted(name, DEFAULT_PATTERNS) is wanted


def test_a_pattern_with_a_slash_speaks_of_folders() -> None:
    assert is_wanted("vision/config.json", ["vision/*.json"])
    assert not is_wanted("vision/config.json", ["*.json"])
    assert not is_wanted("config.json", ["*/config.json"])


def test_mistrals_second_copy_is_left_out_only_beside_the_first() -> None:
    usual, second = RemoteFile("model-00001-of-00002.safetensors", 1), RemoteFile("consolidated-00001.safetensors", 1)
    assert [file.name for file in select([usual, second], DEFAULT_PATTERNS)] == [usual.name]
    assert [file.name for file in select([second], DEFAULT_PATTERNS)] == [second.name]


def test_missing_shards_of_an_index() -> None:
    index = {"weight_map": {"a": "one.safetensors", "b": "two.safetensors", "c": "two.safetensors"}}
    assert missing_shards(index, ["one.safetensors"]) == ["two.safetensors"]
    assert missing_shards({"weight_map": []}, []) == []


@pytest.mark.parametrize("repo", ["", "Qwen", "a/b/c", "../x", "a/..b", "a b/c", "-a/b", "https://huggingface.co/a/b"])
def test_what_is_no_repository_name_is_refused(repo: str) -> None:
    with pytest.raises(SglangError, match="organisation/name"):
        require_repo(repo)


@pytest.mark.parametrize("patterns", [[], ["*.bin"], ["*.safetensors", "original/*.PTH"]])
def test_patterns_that_make_no_sense_are_refused(patterns: list[str]) -> None:
    with pytest.raises(SglangError):
        require_patterns(patterns)


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {"sha": "main", "siblings": []},
        {"sha": COMMIT},
        {"sha": COMMIT, "siblings": [{}]},
        {"sha": COMMIT, "siblings": [{"rfilename": "a"}]},
        {"sha": COMMIT, "siblings": [{"rfilename": "a", "size": True, "blobId": COMMIT}]},
        {"sha": COMMIT, "siblings": [{"rfilename": "a", "size": -1, "blobId": COMMIT}]},
        {"sha": COMMIT, "siblings": [{"rfilename": "a", "size": 1}]},
        {"sha": COMMIT, "siblings": [{"rfilename": "a", "size": 1, "lfs": {"sha256": "short", "size": 1}}]},
    ],
)
def test_metadata_without_sizes_or_digests_is_not_accepted(body: Any) -> None:
    with pytest.raises(SglangError, match="does not answer like a model hub"):
        parse_metadata(body, "https://hub.example")


def test_the_size_of_a_large_file_is_the_one_of_its_content() -> None:
    sibling = {"rfilename": "a", "size": 134, "blobId": COMMIT, "lfs": {"sha256": "a" * 64, "size": 5_000, "pointerSize": 134}}
    assert parse_metadata({"sha": COMMIT, "siblings": [sibling]}, "x").files == (RemoteFile("a", 5000, sha256="a" * 64),)


# --- manifests ----------------------------------------------------------------------------------------------------

names = st.text(alphabet="abcdef-.0123", min_size=1, max_size=12).filter(is_safe_name)
entries = st.builds(
    Entry,
    file=names,
    size=st.integers(0, 10**12),
    sha256=st.text(alphabet="0123456789abcdef", min_size=64, max_size=64),
    mtime_ns=st.integers(0, 2**62),
    proof=st.sampled_from(["lfs-sha256", "git-blob", "none"]),
)
entry_lists = st.lists(entries, unique_by=lambda entry: entry.file, max_size=8)


def manifest_of(files: list[Entry]) -> Manifest:
    return Manifest("acme/tiny", COMMIT, "main", "https://hub.example", "2026-01-01T00:00:00Z", False, "/models/x", tuple(files))


@given(entry_lists)
def test_a_manifest_survives_being_written_and_read(files: list[Entry]) -> None:
    manifest = manifest_of(files)
    assert load(dump(manifest), "x") == manifest


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"format": 2}',
        '{"format": 1, "files": [{"file": "../../etc/passwd"}]}',
        dump(manifest_of([])).replace('"acme/tiny"', "7"),
    ],
)
def test_a_damaged_manifest_is_an_error_and_no_guess(text: str) -> None:
    with pytest.raises(SglangError, match="cannot be read"):
        load(text, "x.manifest.json")


def test_a_manifest_cannot_point_outside() -> None:
    text = dump(manifest_of([Entry("config.json", 1, "a" * 64, 1, "none")])).replace("config.json", "../config.json")
    with pytest.raises(SglangError, match="unsafe"):
        load(text, "x")


@given(entry_lists, st.data())
def test_a_comparison_puts_every_file_in_its_place(files: list[Entry], data: st.DataObject) -> None:
    seen: dict[str, Seen] = {}
    expected: dict[str, set[str]] = {"missing": set(), "size": set(), "time": set()}
    for entry in files:
        fate = data.draw(st.sampled_from(["same", "missing", "size", "time"]))
        if fate != "same":
            expected[fate].add(entry.file)
        if fate != "missing":
            seen[entry.file] = Seen(entry.size + (fate == "size"), entry.mtime_ns + (fate == "time"))
    seen["zz-new"] = Seen(1, 1)
    comparison = compare(manifest_of(files), seen)
    assert set(comparison.missing) == expected["missing"]
    assert set(comparison.wrong_size) == expected["size"]
    assert set(comparison.suspects) == expected["time"]
    assert comparison.added == ("zz-new",)
    assert set(comparison.broken) == expected["missing"] | expected["size"]


@given(entry_lists, st.randoms())
def test_the_content_digest_knows_neither_order_nor_time(files: list[Entry], random: Any) -> None:
    shuffled = [Entry(entry.file, entry.size, entry.sha256, 1, "none") for entry in files]
    random.shuffle(shuffled)
    assert content_digest(shuffled) == content_digest(files)
    if files:
        other = [Entry(files[0].file, files[0].size, "f" * 63 + "0", 1, "none"), *files[1:]]
        assert (content_digest(other) == content_digest(files)) is (files[0].sha256 == "f" * 63 + "0")


def test_replaced_entries_keep_the_rest() -> None:
    a, b, c = (Entry(name, 1, "a" * 64, 1, "none") for name in "abc")
    new = Entry("b", 2, "b" * 64, 2, "none")
    assert with_entries(manifest_of([a, b, c]), [new]).files == (a, new, c)


@given(st.lists(st.text(alphabet="ab/-. é", min_size=1, max_size=120).map(lambda text: "/" + text), unique=True, max_size=6))
def test_slugs_are_file_names_and_differ(paths: list[str]) -> None:
    slugs = [slug(path) for path in paths]
    assert len(set(slugs)) == len(paths)
    assert all("/" not in made and not made.startswith(".") and len(made.encode()) < 120 for made in slugs)


# --- what people read -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failure", "context", "words"),
    [
        (Failure(status=404, code="RevisionNotFound"), {}, ["no revision 'main'", "model_shards_revision"]),
        (Failure(status=401, code="RepoNotFound"), {}, ["no repository acme/tiny", "no token was sent"]),
        (Failure(status=404, code="RepoNotFound"), {"token_given": True}, ["a token was sent"]),
        (Failure(status=401, code="GatedRepo"), {}, ["gated", "Accept the conditions"]),
        (Failure(status=403, code="GatedRepo"), {"token_given": True}, ["gated", "Ask for access"]),
        (Failure(status=401), {"token_given": True, "token_refused": True}, ["refuses the token"]),
        (Failure(status=404, code="EntryNotFound", file="a.json"), {}, ["lists the file a.json"]),
        (Failure(status=429, retry_after=300.0), {}, ["limits the rate", "wait 300 s"]),
        (Failure(status=503), {}, ["error, also after retries", "HTTP 503"]),
        (Failure(type="gaierror", message="Name or service not known"), {}, ["cannot be reached", "Name or service not known"]),
        (Failure(type="Corrupt", message="expected a, found b", file="x"), {}, ["x arrives wrong", "expected a, found b"]),
        (Failure(type="ModuleNotFoundError", message="No module named 'huggingface_hub'"), {}, ["tool environment", "python_environment"]),
        (
            Failure(errno=errno.ENOSPC, file="a.safetensors"),
            {"free": 10, "needed": 5_000_000_000},
            ["disk is full", "10 B free", "5.0 GB more"],
        ),
        (Failure(errno=errno.EROFS, message="Read-only file system"), {}, ["cannot be written"]),
        (Failure(errno=errno.EIO, message="Input/output error"), {}, ["disk below", "fails"]),
    ],
)
def test_every_failure_has_four_parts_and_says_the_thing(failure: Failure, context: dict[str, Any], words: list[str]) -> None:
    error = explain(failure, Context(**{**CONTEXT.__dict__, **context}))
    assert all((error.wrong, error.found, error.wanted, error.next_step))
    for word in words:
        assert word in str(error)


@pytest.mark.parametrize("token", ["hf_x\n", "hf x", "hf_é", " hf_x"])
def test_a_token_that_is_none_is_refused_without_being_shown(token: str) -> None:
    with pytest.raises(SglangError) as caught:
        require_token(token)
    assert token not in str(caught.value)


@pytest.mark.parametrize(
    ("endpoint", "normal"),
    [
        ("", "https://huggingface.co"),
        ("http://10.0.0.1:8900/", "http://10.0.0.1:8900"),
        ("https://mirror.example/hf/", "https://mirror.example/hf"),
    ],
)
def test_endpoints_are_brought_into_one_form(endpoint: str, normal: str) -> None:
    assert normal_endpoint(endpoint) == normal


@pytest.mark.parametrize("endpoint", ["ftp://x", "huggingface.co", "http://", "https://x?y=1", "file:///etc"])
def test_what_is_no_http_address_is_refused(endpoint: str) -> None:
    with pytest.raises(SglangError, match="no HTTP address"):
        normal_endpoint(endpoint)


def test_a_mirrors_password_is_not_shown() -> None:
    assert public_endpoint("https://user:secret@mirror.example/hf") == "https://mirror.example/hf"
    with pytest.raises(SglangError) as caught:
        normal_endpoint("ftp://user:secret@mirror.example")
    assert "secret" not in str(caught.value)


def test_sizes_and_durations_for_people() -> None:
    assert [describe(size) for size in (0, 999, 1000, 55_600_000_000, 3_000_000_000_000)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "55.6 GB",
        "3.00 TB",
    ]
    assert [duration(seconds) for seconds in (0, 59.4, 75, 3_725)] == ["0 s", "59 s", "1 min 15 s", "1 h 2 min"]


def test_rate_and_rest() -> None:
    rate = Rate()
    assert rate.text(0, 100) == "0 B of 100 B"
    for second in range(100):
        rate.add(float(second), second * 10)
    assert rate.per_second == 10
    assert rate.text(990, 1990) == "990 B of 2.0 kB, 10 B/s, 1 min 40 s left"


def test_the_downloader_gets_no_stray_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_x")
    monkeypatch.setenv("HF_ENDPOINT", "http://elsewhere")
    monkeypatch.setenv("https_proxy", "http://proxy:1")
    environment = child_environment(xet=False)
    assert "HF_TOKEN" not in environment
    assert "HF_ENDPOINT" not in environment
    assert environment["https_proxy"] == "http://proxy:1"
    assert environment["HF_HUB_DISABLE_XET"] == "1"
    assert child_environment(xet=True)["HF_HUB_DISABLE_XET"] == "0"
