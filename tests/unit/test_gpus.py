# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._gpus import parse_nvidia_smi, read_gpus

CARDS = """\
1, GPU-b, NVIDIA RTX A6000, 49140, 24123, 8.6, 580.95.05
0, GPU-a, NVIDIA RTX A6000, 49140, 1, 8.6, 580.95.05
"""
USERS = """\
GPU-b, 4242, /root/ml-env/bin/python, 24100
GPU-b, 4300, sglang::scheduler_TP1, [N/A]
"""


def test_two_cards_and_their_users():
    first, second = parse_nvidia_smi(CARDS, USERS)
    assert (first["index"], first["uuid"], first["processes"]) == (0, "GPU-a", [])
    assert second["memory_used_mib"] == 24123
    assert second["processes"] == [
        {"pid": 4242, "name": "/root/ml-env/bin/python", "memory_used_mib": 24100},
        {"pid": 4300, "name": "sglang::scheduler_TP1", "memory_used_mib": None},
    ]
    cards = read_gpus(parse_nvidia_smi(CARDS, USERS))
    assert [(card.name, card.memory_mib, card.capability, card.capability_text) for card in cards] == [
        ("NVIDIA RTX A6000", 49140, 86, "8.6")
    ] * 2


@pytest.mark.parametrize(
    "text", ["", "No devices were found\n", "NVIDIA-SMI has failed because it couldn't communicate with the driver.\n"]
)
def test_no_cards(text):
    assert parse_nvidia_smi(text) == []


def test_a_card_without_its_own_memory():
    (card,) = parse_nvidia_smi("0, GPU-a, NVIDIA GB10, [N/A], [N/A], 12.1, 580.95.05\n")
    assert (card["memory_mib"], card["memory_used_mib"]) == (None, None)
    with pytest.raises(SglangError, match="memory_mib"):
        read_gpus([card])


@pytest.mark.parametrize("capability", ["8.6", 8.6, "86.1", 12, "12.0"])
def test_capabilities(capability):
    (card,) = read_gpus([{"name": "x", "memory_mib": 49140, "compute_capability": capability}])
    assert card.capability in (86, 861, 120)


@pytest.mark.parametrize("capability", [None, "", "x", "8.", "8.66", True, [8], -1, "-8.6"])
def test_capabilities_that_are_none(capability):
    with pytest.raises(SglangError, match="compute_capability"):
        read_gpus([{"name": "x", "memory_mib": 49140, "compute_capability": capability}])


@pytest.mark.parametrize("memory", [None, 0, 1, 48, 96, 4095, "48", "49140", 48.0, True, 1 << 24])
def test_memory_that_no_card_has_is_questioned(memory):
    with pytest.raises(SglangError, match="memory_mib in GPU 0 of gpus cannot be a card's memory in MiB") as caught:
        read_gpus([{"name": "x", "memory_mib": memory, "compute_capability": "8.6"}])
    assert "49140" in caught.value.wanted
    assert "nvidia-smi" in caught.value.next_step
    assert ("in GiB?" in caught.value.found) == (type(memory) is int and memory in (48, 96))
