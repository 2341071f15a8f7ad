#!/usr/bin/python
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Packs what one needs to know of an SGLang instance into one file, without secrets."""

from __future__ import annotations

DOCUMENTATION = r"""
module: support_bundle
short_description: Pack what explains an SGLang instance into one file, without secrets
version_added: "0.1.0"
description:
  - Writes a compressed tar file with the instance's logs, stamps, plans, arguments, names of environment variables, unit, versions, the
    model's manifest, the facts of the host, of its GPUs and driver, and the kernel's lines that may matter.
  - Values of environment variables are left out. The API key and everything that looks like a secret is replaced, and sizes are bounded.
  - What cannot be read is told in C(bundle.json) in the bundle and fails nothing.
options:
  root:
    description: Root of the collection's files on the host.
    type: path
    default: /opt/sglang
  instance:
    description: The instance's name.
    type: str
    default: default
  path:
    description: The file to write on the host. Only its owner may read it.
    type: path
    required: true
  folder:
    description: The directory inside the file that holds all.
    type: str
    default: support
extends_documentation_fragment: [action_common_attributes]
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  platform:
    platforms: posix
    support: full
author:
  - inference.sglang maintainers (@inference-sglang)
"""

EXAMPLES = r"""
- name: Pack
  inference.sglang.support_bundle:
    path: /root/support.tar.gz
"""

RETURN = r"""
files:
  description: What is in the bundle.
  type: list
  elements: str
  returned: unless check mode
missing:
  description: What is not, and why.
  type: dict
  returned: unless check mode
size:
  description: Bytes of the file.
  type: int
  returned: unless check mode
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._support_gather import Gatherer


def main() -> None:
    """Gather and write."""
    module = AnsibleModule(
        argument_spec={
            "root": {"type": "path", "default": "/opt/sglang"},
            "instance": {"type": "str", "default": "default"},
            "path": {"type": "path", "required": True},
            "folder": {"type": "str", "default": "support"},
        },
        supports_check_mode=True,
    )

    def run(command: list[str]) -> tuple[int, str, str]:
        code, output, errors = module.run_command(command, handle_exceptions=False, errors="replace")
        return code, output, errors

    params = module.params
    if module.check_mode:
        module.exit_json(changed=True, msg=f"check mode: gathers nothing for {params['path']}")
    try:
        bundle = Gatherer(params["root"], params["instance"], run).gather()
        size = bundle.write(params["path"], params["folder"])
    except SglangError as error:
        module.fail_json(**error.as_result())
    except OSError as error:
        module.fail_json(msg=f"cannot write the bundle: {error}")
    module.exit_json(changed=True, files=sorted(bundle.texts), missing=bundle.missing, size=size)


if __name__ == "__main__":
    main()
