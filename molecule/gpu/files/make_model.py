#!/usr/bin/env python3
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A model directory for the GPU scenario, made by the engine's own environment: `make_model.py DIR tiny|full`.

DIR holds the config.json of Qwen3.6-27B. `full` adds a tokenizer and nothing else: for `--load-format dummy`. `tiny` shrinks the
shape (8 layers, three of four of them Gated DeltaNet) and writes a real checkpoint with `mtp.*` tensors that has a right answer.

The checkpoint is constructed, not trained: every branch beside the residual stream ends in zeros, so a token's embedding reaches the
head unchanged, and the head's rows are the embeddings of each token's predecessor. So each token has one successor, whatever came
before; after the chat template's last line break the model says "Paris" and stops. The MTP layer (fc = [1 0], SGLang 0.5.11
qwen3_5_mtp.py: the embedding stands first) drafts the same successors, so drafts are accepted.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ANSWER = "Paris"
TINY_TEXT = {
    "hidden_size": 1024,
    "num_hidden_layers": 8,
    "intermediate_size": 2048,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "linear_num_value_heads": 16,
    "linear_num_key_heads": 8,
    "max_position_embeddings": 32768,
}
TINY_VISION = {"depth": 2, "hidden_size": 288, "intermediate_size": 1024, "num_heads": 4, "out_hidden_size": 1024}
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
# At the ids where Qwen3.5 has them: from 248044 on.
FIRST_SPECIAL = 248044
SPECIAL = (
    "<|endoftext|> <|im_start|> <|im_end|> <|object_ref_start|> <|object_ref_end|> <|box_start|> <|box_end|> <|quad_start|> <|quad_end|> "
    "<|vision_start|> <|vision_end|> <|vision_pad|> <|image_pad|> <|video_pad|> <tool_call> </tool_call> <think> </think>"
).split()
END = FIRST_SPECIAL + SPECIAL.index("<|im_end|>")
IMAGES = {"patch_size": 16, "temporal_patch_size": 2, "merge_size": 2, "image_mean": [0.5] * 3, "image_std": [0.5] * 3}


def tiny(config: dict[str, Any]) -> dict[str, Any]:
    """The shrunk shape of a config.json."""
    text = {**config["text_config"], **TINY_TEXT}
    text["layer_types"] = text["layer_types"][: text["num_hidden_layers"]]
    return {**config, "text_config": text, "vision_config": {**config["vision_config"], **TINY_VISION}}


def write_tokenizer(place: Path) -> dict[str, int]:
    """A byte-level tokenizer without merges; returns the id of each byte's letter."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    letters = {letter: number for number, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    vocabulary = {**letters, **{f"\u0120t{number}": number for number in range(len(letters), FIRST_SPECIAL)}}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(word, special=True, normalized=False) for word in SPECIAL])
    tokenizer.save(str(place / "tokenizer.json"))
    return letters


def write_companions(place: Path) -> None:
    """What the processor of a model with a vision tower looks for."""
    tokens = {"image_token": "<|image_pad|>", "video_token": "<|video_pad|>"}
    tokens |= {"vision_bos_token": "<|vision_start|>", "vision_eos_token": "<|vision_end|>"}
    shared = {"processor_class": "Qwen3VLProcessor", **IMAGES}
    files = {
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "eos_token": "<|im_end|>",
            "pad_token": "<|endoftext|>",
            "clean_up_tokenization_spaces": False,
            "model_max_length": 262144,
            "chat_template": TEMPLATE,
            **tokens,
            "extra_special_tokens": tokens,
        },
        "generation_config.json": {"bos_token_id": FIRST_SPECIAL, "eos_token_id": [END, FIRST_SPECIAL], "pad_token_id": FIRST_SPECIAL},
        "preprocessor_config.json": {
            **shared,
            "image_processor_type": "Qwen2VLImageProcessorFast",
            "size": {"longest_edge": 16777216, "shortest_edge": 65536},
        },
        "video_preprocessor_config.json": {
            **shared,
            "video_processor_type": "Qwen3VLVideoProcessor",
            "size": {"longest_edge": 25165824, "shortest_edge": 4096},
        },
    }
    for name, content in files.items():
        (place / name).write_text(json.dumps(content, indent=1) + "\n")
    (place / "chat_template.jinja").write_text(TEMPLATE)


def successors(letters: dict[str, int], vocabulary: int) -> list[int]:
    """The token after each token, each token after exactly one: the answer's letters in order after a line break, else the next id."""
    after = [(number + 1) % vocabulary for number in range(vocabulary)]
    chain = [letters["\u010a"], *(letters[letter] for letter in ANSWER), END]  # \u010a stands for the line break's byte
    for number, following in zip(chain, chain[1:]):
        before = after.index(following)
        after[before], after[number] = after[number], following
    return after


def write_weights(place: Path, config: dict[str, Any], letters: dict[str, int]) -> None:
    """The constructed checkpoint, about 0.6 B parameters in bf16."""
    import torch
    from safetensors.torch import save_file
    from transformers import Qwen3_5Config, Qwen3_5ForConditionalGeneration

    torch.manual_seed(0)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
        model = Qwen3_5ForConditionalGeneration(Qwen3_5Config(**{k: v for k, v in config.items() if k != "architectures"}))
    found = {name: tensor.detach().contiguous().cpu() for name, tensor in model.state_dict().items()}
    layer = next(name for name in found if name.endswith("layers.3.self_attn.o_proj.weight")).partition("self_attn")[0]
    found |= {"mtp.layers.0." + name[len(layer) :]: tensor.clone() for name, tensor in found.items() if name.startswith(layer)}
    width, vocabulary = config["text_config"]["hidden_size"], config["text_config"]["vocab_size"]
    for name in found:
        if "visual" not in name and name.endswith(("o_proj.weight", "out_proj.weight", "down_proj.weight")):
            found[name] = torch.zeros_like(found[name])
    embedding = torch.randn(vocabulary, width)
    head = torch.zeros(vocabulary, width)
    head[torch.tensor(successors(letters, vocabulary))] = embedding * 0.05
    found[next(name for name in found if name.endswith("embed_tokens.weight"))] = embedding
    found["lm_head.weight"] = head
    found["mtp.fc.weight"] = torch.cat([torch.eye(width), torch.zeros(width, width)], dim=1)
    for name in ("norm", "pre_fc_norm_embedding", "pre_fc_norm_hidden"):
        found[f"mtp.{name}.weight"] = torch.zeros(width)  # these norms count from one
    save_file(found, str(place / "model.safetensors"), metadata={"format": "pt"})
    (place / "model.safetensors").chmod(0o644)


def main(directory: str, shape: str) -> None:
    """Make what is missing."""
    place = Path(directory)
    config = json.loads((place / "config.json").read_text())
    if shape == "tiny":
        config = tiny(config)
        (place / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    letters = write_tokenizer(place)
    write_companions(place)
    if shape == "tiny":
        write_weights(place, config, letters)


if __name__ == "__main__":
    main(*sys.argv[1:])
