#!/usr/bin/python
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Whether this host is fit for an SGLang release."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: host_preflight
short_description: Tell every reason why a host is not ready for SGLang, at once
version_added: "0.1.0"
author: inference.sglang maintainers (@inference-sglang)
description:
  - Looks at the operating system, the C library, systemd, the Python interpreter, NVIDIA's driver and GPUs, memory, disks, ports and the
    libraries that the engine needs, and compares them with what an SGLang release needs and the site wants.
  - Fails with all reasons in one message, each with what is needed, what is there, and what to do next.
  - It only reads.
attributes:
  check_mode:
    description: Can run in check mode and return what it would return otherwise.
    support: full
  diff_mode:
    description: Shows what would change.
    support: none
    details: It changes nothing.
  platform:
    description: Where it runs.
    support: full
    platforms: linux
options:
  sglang_version:
    description: The SGLang release whose needs count. They come from this collection's table of releases.
    type: str
    required: true
  python:
    description: The interpreter that environments are made with.
    type: path
    default: /usr/bin/python3
  user:
    description: The user that the engine runs as. It need not exist yet.
    type: str
    default: root
  supplementary_groups:
    description: Groups that the user will be given.
    type: list
    elements: str
    default: []
  disks:
    description: Paths that will be written to. Paths on the same file system are added up.
    type: list
    elements: dict
    default: []
    suboptions:
      path:
        description: The path. It need not exist yet.
        type: path
        required: true
      purpose:
        description: What it is for, in the words of the message.
        type: str
        required: true
      needed_gib:
        description: How much must be free, in GiB.
        type: float
        default: 0
      settled:
        description: A glob. Where it matches, what needs the room is there already, and 1 GiB is enough.
        type: str
        default: ""
      executable:
        description: Whether programs will run from there.
        type: bool
        default: false
  memory_gib:
    description: The memory that the machine must have, in GiB.
    type: float
    default: 0
  shm_gib:
    description: The size that C(/dev/shm) must have, in GiB.
    type: float
    default: 0
  min_driver:
    description: The oldest NVIDIA driver that the site accepts. The release's own minimum holds as well.
    type: str
    default: ""
  require_gpu:
    description: Whether a host without an NVIDIA GPU is refused. Declared GPUs count as GPUs.
    type: bool
    default: true
  declared_gpus:
    description: The GPUs that the inventory declares, used where there is no driver.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: The product name, as C(nvidia-smi) prints it.
        type: str
        required: true
      memory_mib:
        description: The whole memory in MiB, as C(nvidia-smi) prints it.
        type: int
        required: true
      compute_capability:
        description: The compute capability, such as V(8.6).
        type: str
        required: true
  gpus:
    description: The indices of the GPUs that are wanted. Empty means all.
    type: list
    elements: int
    default: []
  gpu_used_mib_allowed:
    description: How much memory others may use on a wanted GPU, in MiB.
    type: int
    default: 1024
  nvidia_smi:
    description: The C(nvidia-smi) to ask.
    type: str
    default: nvidia-smi
  nvidia_smi_timeout:
    description: Seconds after which C(nvidia-smi) counts as hanging.
    type: int
    default: 30
  ports:
    description: TCP ports that must be free, or held by one of O(allow_listener_units).
    type: list
    elements: int
    default: []
  allow_listener_units:
    description: Globs of the systemd units that may hold the ports and use the GPUs, such as V(sglang-default.service).
    type: list
    elements: str
    default: []
  replace_unmanaged:
    description:
      - Whether a server that is none of this collection's may hold the ports and the GPUs, because it will be replaced.
      - This module stops nothing; it returns such servers in RV(unmanaged).
    type: bool
    default: false
  require_capabilities:
    description: What must be there already.
    type: list
    elements: str
    choices: [ffmpeg, compiler, cxx_compiler, libc_headers, python_headers, python_venv, libnuma, ca_certificates]
    default: []
  allow_unsupported_os:
    description: Whether an operating system outside the support table is accepted.
    type: bool
    default: false
  report_only:
    description: Return the reasons instead of failing with them.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: See that the host is fit for SGLang 0.5.11 and that its port and GPUs are free
  inference.sglang.host_preflight:
    sglang_version: 0.5.11
    gpus: [0, 1]
    ports: [30000]
    allow_listener_units: [sglang-default.service]
    disks:
      - path: /opt/sglang/envs
        purpose: the environments
        needed_gib: 20
        executable: true

- name: Ask who holds the port, without a failure
  inference.sglang.host_preflight:
    sglang_version: 0.5.11
    require_gpu: false
    ports: [30000]
    report_only: true
  register: port_30000
"""

RETURN = r"""
ready:
  description: Whether there is no reason against this host.
  returned: always
  type: bool
reasons:
  description: The reasons against it.
  returned: always
  type: list
  elements: dict
  contains:
    subject:
      description: What it is about.
      type: str
    need:
      description: What is needed.
      type: str
    has:
      description: What the host has.
      type: str
    next:
      description: What to do.
      type: str
notes:
  description: What a person should know though it is no reason, such as that the GPU facts come from the inventory.
  returned: always
  type: list
  elements: str
facts:
  description: What was looked at (operating system, driver, GPUs, disks, memory …). Command lines in it are scrubbed of secrets.
  returned: success
  type: dict
listeners:
  description: Who listens on the ports.
  returned: always
  type: list
  elements: dict
  contains:
    port:
      description: The port.
      type: int
    address:
      description: The address.
      type: str
    pid:
      description: The process, or 0 when it cannot be seen.
      type: int
    user:
      description: Its user.
      type: str
    command:
      description: Its command line, scrubbed of secrets.
      type: str
    since:
      description: When it began, in UTC.
      type: str
    unit:
      description: Its systemd unit or scope, or empty.
      type: str
unmanaged:
  description: Those of RV(listeners) that are none of this collection's.
  returned: always
  type: list
  elements: dict
missing_capabilities:
  description: The names of the capabilities that are not there, required or not.
  returned: always
  type: list
  elements: str
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._host_facts import DiskQuestion, Questions, gather
from ansible_collections.inference.sglang.plugins.module_utils._plain import refuse_port
from ansible_collections.inference.sglang.plugins.module_utils._preflight import CAPABILITIES, check, refusal
from ansible_collections.inference.sglang.plugins.module_utils._preflight_needs import needs_of
from ansible_collections.inference.sglang.plugins.module_utils._preflight_types import DiskWant, GpuFacts, Wants


def argument_spec() -> dict[str, Any]:
    disk = {
        "path": {"type": "path", "required": True},
        "purpose": {"type": "str", "required": True},
        "needed_gib": {"type": "float", "default": 0},
        "settled": {"type": "str", "default": ""},
        "executable": {"type": "bool", "default": False},
    }
    gpu = {
        "name": {"type": "str", "required": True},
        "memory_mib": {"type": "int", "required": True},
        "compute_capability": {"type": "str", "required": True},
    }
    return {
        "sglang_version": {"type": "str", "required": True},
        "python": {"type": "path", "default": "/usr/bin/python3"},
        "user": {"type": "str", "default": "root"},
        "supplementary_groups": {"type": "list", "elements": "str", "default": []},
        "disks": {"type": "list", "elements": "dict", "default": [], "options": disk},
        "memory_gib": {"type": "float", "default": 0},
        "shm_gib": {"type": "float", "default": 0},
        "min_driver": {"type": "str", "default": ""},
        "require_gpu": {"type": "bool", "default": True},
        "declared_gpus": {"type": "list", "elements": "dict", "default": [], "options": gpu},
        "gpus": {"type": "list", "elements": "int", "default": []},
        "gpu_used_mib_allowed": {"type": "int", "default": 1024},
        "nvidia_smi": {"type": "str", "default": "nvidia-smi"},
        "nvidia_smi_timeout": {"type": "int", "default": 30},
        "ports": {"type": "list", "elements": "int", "default": []},
        "allow_listener_units": {"type": "list", "elements": "str", "default": []},
        "replace_unmanaged": {"type": "bool", "default": False},
        "require_capabilities": {"type": "list", "elements": "str", "choices": list(CAPABILITIES), "default": []},
        "allow_unsupported_os": {"type": "bool", "default": False},
        "report_only": {"type": "bool", "default": False},
    }


def questions(params: dict[str, Any]) -> Questions:
    return Questions(
        python=params["python"],
        user=params["user"],
        disks=tuple(DiskQuestion(disk["path"], disk["settled"]) for disk in params["disks"]),
        ports=tuple(params["ports"]),
        nvidia_smi=params["nvidia_smi"],
        nvidia_smi_timeout=params["nvidia_smi_timeout"],
    )


def wants(params: dict[str, Any]) -> Wants:
    for port in params["ports"]:
        refuse_port(port, "inference_host_ports")
    return Wants(
        release=needs_of(params["sglang_version"]),
        disks=tuple(DiskWant(disk["path"], disk["purpose"], disk["needed_gib"], disk["executable"]) for disk in params["disks"]),
        memory_gib=params["memory_gib"],
        shm_gib=params["shm_gib"],
        driver=params["min_driver"],
        require_gpu=params["require_gpu"],
        declared_gpus=tuple(
            GpuFacts(index, gpu["name"], gpu["memory_mib"], gpu["compute_capability"]) for index, gpu in enumerate(params["declared_gpus"])
        ),
        gpu_indices=tuple(params["gpus"]),
        gpu_used_mib_allowed=params["gpu_used_mib_allowed"],
        ports=tuple(params["ports"]),
        own_units=tuple(params["allow_listener_units"]),
        replace_unmanaged=params["replace_unmanaged"],
        capabilities=tuple(params["require_capabilities"]),
        user=params["user"],
        supplementary_groups=tuple(params["supplementary_groups"]),
        allow_unsupported_os=params["allow_unsupported_os"],
    )


def main() -> None:
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    try:
        wanted = wants(module.params)
    except SglangError as error:
        module.fail_json(**error.as_result())
    facts = gather(questions(module.params))
    verdict = check(facts, wanted)
    result = {
        "changed": False,
        "ready": not verdict.reasons,
        "reasons": [reason.as_result() for reason in verdict.reasons],
        "notes": list(verdict.notes),
        "listeners": [listener.as_result() for listener in facts.listeners],
        "unmanaged": [listener.as_result() for listener in verdict.unmanaged],
        "missing_capabilities": [capability.name for capability in facts.capabilities if not capability.present],
    }
    if verdict.reasons and not module.params["report_only"]:
        # Without the facts: a person must be able to read what a failed task prints.
        module.fail_json(msg=str(refusal(verdict.reasons, wanted.release.version)), **result)
    module.exit_json(facts=facts.as_result(), **result)


if __name__ == "__main__":
    main()
