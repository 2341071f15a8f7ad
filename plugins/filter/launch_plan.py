# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

DOCUMENTATION = r"""
name: launch_plan
short_description: The complete command of a server, sized for its GPUs and load
version_added: "0.1.0"
author: inference.sglang maintainers (@inference-sglang)
description:
  - Derives the arguments of C(sglang serve) for a model, a release, GPUs and a declared load, with a reason and a source for each.
  - Says whether it fits before anything is downloaded. Explicit settings win, and the plan says what they replaced.
positional: sglang_version, gpus
options:
  _input:
    description: Content of the model's C(config.json).
    type: dict
    required: true
  sglang_version:
    description: SGLang release, for example V(0.5.11). A release outside the table is refused, see O(allow_unverified_release).
    type: str
    required: true
  gpus:
    description: GPUs of the instance, each with C(name), C(memory_mib) and C(compute_capability), and C(available_gib) where it is known.
    type: list
    elements: dict
    required: true
  hf_quant_config:
    description: Content of C(hf_quant_config.json), which some checkpoints have beside C(config.json).
    type: dict
  weights:
    description: What M(inference.sglang.model_info) returned as C(weights). Without it the plan reckons with the shapes of C(config.json).
    type: dict
  drafter_config:
    description:
      - C(config.json) of an external drafter, a block-diffusion model (DFLASH) or an EAGLE3 head. It goes with
        C(speculative_draft_model_path) in O(settings); without it the model's own MTP layer drafts. One of another model is refused.
    type: dict
  tensor_parallel_size:
    description: GPUs to split over; 0 or nothing derives it.
    type: int
  nodes:
    description:
      - Hosts to split over, each with the GPUs given. C(node_rank) and C(dist_init_addr) in O(settings) belong to one of them; without
        them the plan lists the arguments of each under C(nodes), and says what is missing.
    type: int
    default: 1
  settings:
    description: SGLang's own options, with underscores. Unknown, renamed and secret ones are errors.
    type: dict
    default: {}
  workload:
    description:
      - The declared load, C(context_tokens) a request (default 16384) and C(concurrency), requests at once (default as many as fit).
      - C(profile) says what matters most. V(low-latency) drafts and runs few requests (8 unless C(concurrency) says otherwise);
        V(throughput) does not draft, and takes the number of GPUs that serves the most requests at once; V(balanced) is the default.
    type: dict
    default: {}
  extra_args:
    description: Further arguments, checked against the release. What the plan decides on belongs into O(settings).
    type: list
    elements: str
    default: []
  environment:
    description: Environment variables the server will get, checked for those that the release does not read.
    type: dict
  allow_unverified_release:
    description: Plan for a release whose parser was never asked about such plans, or that is newer than the table, all the same.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Show the command for two RTX A6000
  ansible.builtin.debug:
    msg: "{{ (config | inference.sglang.launch_plan('0.5.11', [card, card], workload=load)).argv | join(' ') }}"
  vars:
    load: {context_tokens: 8192, concurrency: 8}
    card: {name: NVIDIA RTX A6000, memory_mib: 49140, compute_capability: '8.6'}
"""

RETURN = r"""
_value:
  description: The plan.
  type: dict
  contains:
    argv: {description: Arguments after C(sglang serve)., type: list, elements: str}
    env: {description: Environment variables the plan needs., type: dict}
    speculative: {description: As P(inference.sglang.speculative_settings#filter) returns it., type: dict}
    memory: {description: 'Verdict (fits, none where it cannot be known), why, sum, alternatives and per_rank figures.', type: dict}
    predicted: {description: 'What the engine''s own resolution makes of the command, by its field names.', type: dict}
    gate: {description: 'Log lines that prove the start: family, dispatcher, dispatcher_count, ready.', type: dict}
    reasons: {description: 'One mapping a flag: flag, why, source.', type: list, elements: dict}
    warnings: {description: What a person should know., type: list, elements: str}
    nodes: {description: 'Hosts: count, gpus_per_node, the arguments that differ between them, and what is missing.', type: dict}
    profile: {description: As P(inference.sglang.model_profile#filter) returns it., type: dict}
"""

from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._launch_plan import launch_plan


def _filter(
    config: Any,
    sglang_version: Any,
    gpus: Any,
    hf_quant_config: Any = None,
    weights: Any = None,
    drafter_config: Any = None,
    tensor_parallel_size: Any = None,
    nodes: Any = 1,
    settings: Any = None,
    workload: Any = None,
    extra_args: Any = None,
    environment: Any = None,
    allow_unverified_release: Any = False,
) -> dict[str, Any]:
    try:
        return launch_plan(
            config,
            sglang_version,
            gpus,
            hf_quant_config,
            weights,
            drafter_config,
            tensor_parallel_size,
            nodes,
            settings,
            workload,
            extra_args,
            environment,
            allow_unverified_release,
        )
    except SglangError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """Jinja filters."""

    def filters(self) -> dict[str, Any]:
        """Names to functions."""
        return {"launch_plan": _filter}
