# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The core's thin modules, run as the target runs them."""

from __future__ import annotations

import json

import pytest
from ansible.module_utils.testing import patch_module_args
from ansible_collections.inference.sglang.plugins.modules import gpu_info, model_info, speculative_settings

from tests.unit.test_safetensors import TENSORS, halves, is_mtp, write_model

SMI = """#!/bin/sh
case "$1" in
--query-gpu*) echo "0, GPU-a, NVIDIA RTX A6000, 49140, 1, 8.6, 580.95.05" ;;
--query-compute-apps*) echo "GPU-a, 77, python, 900" ;;
esac
"""


def run(module, capsys, **arguments):
    with patch_module_args(arguments), pytest.raises(SystemExit):
        module.main()
    return json.loads(capsys.readouterr().out)


def executable(directory, text):
    path = directory / "nvidia-smi"
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def test_gpu_info(tmp_path, capsys):
    found = run(gpu_info, capsys, executable=executable(tmp_path, SMI))
    assert found["found"] is True
    assert found["gpus"][0]["compute_capability"] == "8.6"
    assert found["gpus"][0]["processes"] == [{"pid": 77, "name": "python", "memory_used_mib": 900}]


@pytest.mark.parametrize(
    ("text", "timeout", "said"),
    [
        ("#!/bin/sh\necho 'NVIDIA-SMI has failed' >&2; exit 9\n", 60, "NVIDIA-SMI has failed"),
        ("#!/bin/sh\necho 'No devices were found'\n", 60, "lists no GPU"),
        ("#!/bin/sh\nexec sleep 30\n", 1, "did not answer in 1 seconds"),
    ],
)
def test_gpu_info_without_an_answer(tmp_path, capsys, text, timeout, said):
    found = run(gpu_info, capsys, executable=executable(tmp_path, text), timeout=timeout)
    assert (found["found"], found["gpus"], found.get("failed")) == (False, [], None)
    assert said in found["why"]


def test_gpu_info_without_the_program(capsys):
    assert run(gpu_info, capsys, executable="no-such-smi")["why"] == "no-such-smi is not there"
    assert run(gpu_info, capsys, executable="/no/such/smi")["found"] is False


def test_model_info(tmp_path, capsys):
    found = run(model_info, capsys, path=write_model(tmp_path, halves()))
    assert found["changed"] is False
    assert found["weights"]["mtp_tensors"] == 2
    assert found["profile"]["recurrent_family"] == "gdn"
    assert found["hf_quant_config"] is None
    failed = run(model_info, capsys, path=str(tmp_path / "nowhere"))
    assert failed["failed"] is True
    assert failed["msg"].startswith("The model's directory is not there.")
    assert "error" not in failed, "the parts of the message would be shown twice"


def test_speculative_settings_looks_at_the_weights(tmp_path, capsys):
    with_mtp, without = tmp_path / "with", tmp_path / "without"
    with_mtp.mkdir()
    without.mkdir()
    write_model(with_mtp, halves())
    write_model(without, {"model.safetensors": {name: value for name, value in TENSORS.items() if not is_mtp(name)}})
    arguments = {"sglang_version": "0.5.11"}
    on = run(speculative_settings, capsys, path=str(with_mtp), **arguments)["speculative"]
    assert (on["enabled"], on["provisional"]) == (True, False)
    off = run(speculative_settings, capsys, path=str(without), **arguments)["speculative"]
    assert (off["enabled"], off["provisional"]) == (False, False)
    refused = run(speculative_settings, capsys, path=str(without), settings={"speculative_algorithm": "NEXTN"}, **arguments)
    assert "no MTP tensors" in refused["msg"]
