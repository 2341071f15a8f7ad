# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The attention backend and the page size that a plan expects, as the real resolution of SGLang 0.5.10.post1 and 0.5.23 had them."""

from __future__ import annotations

import pytest

from tests.unit.core_helpers import A100, B200, H200, plan

SEEN = [
    ("Qwen3-8B", H200, "0.5.10.post1", "fa3", 1),
    ("DeepSeek-V3", H200, "0.5.23", "fa3", 1),
    ("GLM-5", H200, "0.5.10.post1", "nsa", 64),
    ("GLM-5", A100, "0.5.10.post1", "nsa", 64),
    ("GLM-5", H200, "0.5.23", "dsa", 64),
    ("Qwen3-8B", A100, "0.5.10.post1", "flashinfer", 1),
    ("Falcon-H1-0.5B-Instruct", A100, "0.5.10.post1", "flashinfer", 1),
    ("Qwen3.6-27B", A100, "0.5.10.post1", "flashinfer", 1),
    ("DeepSeek-V3", A100, "0.5.10.post1", "triton", 1),
    ("gpt-oss-20b", A100, "0.5.10.post1", "triton", 1),
    ("Qwen3-8B", B200, "0.5.10.post1", "trtllm_mha", 64),
    ("Qwen3.6-27B", B200, "0.5.10.post1", "trtllm_mha", 64),
    ("DeepSeek-V3", B200, "0.5.10.post1", "trtllm_mla", 64),
]


def predicted(name: str, card: dict, version: str, **more: object) -> tuple[object, object]:
    found = plan(name, version, (card,) * 8, allow_unverified_release=True, weights=None, **more)["predicted"]
    return found.get("attention_backend"), found.get("page_size")


@pytest.mark.parametrize(("name", "card", "version", "backend", "page"), SEEN)
def test_the_engines_own_choice_is_expected(name: str, card: dict, version: str, backend: str, page: int) -> None:
    assert predicted(name, card, version) == (backend, page)


def test_what_is_set_is_expected_and_nothing_is_guessed_about_its_page_size() -> None:
    assert predicted("Qwen3-8B", H200, "0.5.11", settings={"attention_backend": "flashmla"}) == ("flashmla", None)
    assert predicted("Qwen3-8B", H200, "0.5.11", settings={"attention_backend": "triton", "page_size": 16}) == ("triton", 16)
    assert predicted("Qwen3-8B", H200, "0.5.11", settings={"decode_attention_backend": "triton"}) == (None, None)


@pytest.mark.parametrize("name", ["Falcon-H1-0.5B-Instruct", "LFM2-1.2B-finetune", "MiMo-V2-Flash", "Kimi-Linear-48B-A3B-Instruct"])
def test_no_backend_is_expected_where_no_rule_is_known(name: str) -> None:
    """Each of these classes has a default of its own on compute capability 10.x, which changed between releases."""
    assert predicted(name, B200, "0.5.23") == (None, None)
