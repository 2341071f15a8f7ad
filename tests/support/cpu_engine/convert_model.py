# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""GGUF to a Hugging Face model folder: `convert_model.py GGUF FOLDER`, in an environment with transformers and torch."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

source, target = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
model = AutoModelForCausalLM.from_pretrained(source.parent, gguf_file=source.name, dtype=torch.bfloat16)
# The weights are plain bf16 from here on: nothing may say that they are quantized.
model.hf_quantizer, model.is_quantized = None, False
if hasattr(model.config, "quantization_config"):
    del model.config.quantization_config
model.save_pretrained(target)
AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name).save_pretrained(target)
# SmolLM2's own class. Under the generic one, each process of SGLang loads the tokenizer three times to find another.
settings = json.loads((target / "tokenizer_config.json").read_text())
settings["tokenizer_class"] = "GPT2Tokenizer"
(target / "tokenizer_config.json").write_text(json.dumps(settings, indent=2))
for file in target.iterdir():
    file.chmod(0o644)  # safetensors writes 0600, which a service user could not read
