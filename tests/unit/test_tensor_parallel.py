# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.inference.sglang.plugins.module_utils import _tensor_parallel
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._model_profile import profile_model

from tests.unit.core_helpers import SMOLLM2, config


def sizes(name, limit=16):
    return _tensor_parallel.working_sizes(profile_model(config(name)), limit)


def test_sizes_of_known_models():
    assert sizes("Qwen3.6-27B") == [1, 2, 4, 8]
    assert sizes("Qwen3.5-35B-A3B") == [1, 2, 4, 8, 16]
    assert sizes("Qwen3-Next-80B-A3B-Instruct") == [1, 2, 4, 8, 16]
    assert _tensor_parallel.working_sizes(profile_model(SMOLLM2), 9) == [1, 3]


@pytest.mark.parametrize(("size", "said"), [(3, "linear_num_key_heads 16"), (6, "num_key_value_heads"), (5, "num_attention_heads 24")])
def test_a_size_that_does_not_divide_names_the_dimension(size, said):
    with pytest.raises(SglangError, match=said) as caught:
        _tensor_parallel.check(profile_model(config("Qwen3.6-27B")), size, 8)
    assert "1, 2, 4, 8" in caught.value.wanted


def test_quantised_experts_have_to_fill_their_blocks():
    values = config("Qwen3-235B-A22B-NVFP4")
    values["quantization_config"] = {"quant_method": "fp8", "weight_block_size": [128, 128]}
    found = _tensor_parallel.problems(profile_model(values), 8)
    assert found == ["moe_intermediate_size 1536 / 8 = 192 is not a multiple of the weight block 128"]
    assert _tensor_parallel.problems(profile_model(values), 4) == []
