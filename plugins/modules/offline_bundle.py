#!/usr/bin/python
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

DOCUMENTATION = r"""
module: offline_bundle
short_description: Makes a directory with all that hosts without a network need, and its list
description:
  - Runs on a machine with a network, usually the controller, without root. Downloads the wheels of the given locks for the hosts' Python
    and platform into C(wheels), copies the locks into C(locks), and lists these and the model that M(inference.sglang.model_snapshot) has
    published below C(models) in C(bundle.json), each file with its size, sha256 and purpose.
  - C(bundle.json) is written last. A run that was killed goes on; where everything is there and whole, nothing is asked of an index.
  - uv chooses what of a universal lock is meant for the hosts, pip downloads it (C(--require-hashes --no-deps --only-binary :all:)).
  - Runs in the background and shows its progress; do not give it C(async).
version_added: "0.1.0"
author: inference.sglang maintainers (@inference-sglang)
options:
  path:
    description: The bundle.
    type: path
    required: true
  sglang_version:
    description: The SGLang release that the bundle is for.
    type: str
    required: true
  python_version:
    description: The hosts' Python, as major.minor.
    type: str
    required: true
  locks:
    description: Locks with hashes on this machine.
    type: list
    elements: dict
    required: true
    suboptions:
      path:
        description: The lock.
        type: path
        required: true
      purpose:
        description: What its wheels are for.
        type: str
        required: true
  uv_lock:
    description: Lock of uv, with which the tools of this machine are made.
    type: path
    required: true
  manifest:
    description: The manifest of the model, below C(models) of O(path).
    type: path
    required: true
  tools:
    description: Directory of uv and of the downloads' cache on this machine; no part of the bundle.
    type: path
    required: true
  python:
    description: An interpreter of this machine with venv.
    type: path
    default: /usr/bin/python3
  index_url:
    description: Package index. Credentials in it are kept out of every output, of argument lists and of files.
    type: str
    default: https://pypi.org/simple
  timeout:
    description: Seconds that it may take.
    type: int
    default: 7200
  progress_file:
    description: Internal, given by the action plugin of the same name.
    type: path
attributes:
  check_mode:
    description: Says whether anything would be done; asks no index.
    support: full
  diff_mode:
    description: There is no difference to show.
    support: none
  platform:
    description: Linux.
    support: full
    platforms: linux
seealso:
  - module: inference.sglang.model_snapshot
  - module: inference.sglang.python_environment
"""

EXAMPLES = r"""
- name: Fill a disk
  inference.sglang.offline_bundle:
    path: /mnt/disk/bundle
    sglang_version: 0.5.11
    python_version: "3.11"
    locks:
      - {path: roles/ml_env/files/locks/sglang-0.5.11.txt, purpose: environment}
      - {path: roles/ml_env/files/locks/uv.txt, purpose: uv}
    uv_lock: roles/ml_env/files/locks/uv.txt
    manifest: /mnt/disk/bundle/models/Qwen--Qwen3.6-27B/0123456789abcdef0123456789abcdef01234567.manifest.json
    tools: /var/tmp/bundle-tools
"""

RETURN = r"""
path:
  description: The bundle.
  returned: success
  type: str
files:
  description: Number of files in it.
  returned: when it was made
  type: int
bytes:
  description: Their size.
  returned: when it was made
  type: int
msg:
  description: What was done, in a sentence.
  returned: success
  type: str
error:
  description: The four parts of a refusal.
  returned: failure
  type: dict
"""

import os
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inference.sglang.plugins.module_utils._bundle import require_python
from ansible_collections.inference.sglang.plugins.module_utils._bundle_make import BundleMaker, BundleOrder, Lock
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._progress import Progress
from ansible_collections.inference.sglang.plugins.module_utils._python_environment import Source, url_secrets
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_files import describe

ARGUMENTS = {
    "path": {"type": "path", "required": True},
    "sglang_version": {"type": "str", "required": True},
    "python_version": {"type": "str", "required": True},
    "locks": {
        "type": "list",
        "elements": "dict",
        "required": True,
        "options": {"path": {"type": "path", "required": True}, "purpose": {"type": "str", "required": True}},
    },
    "uv_lock": {"type": "path", "required": True},
    "manifest": {"type": "path", "required": True},
    "tools": {"type": "path", "required": True},
    "python": {"type": "path", "default": "/usr/bin/python3"},
    "index_url": {"type": "str", "default": "https://pypi.org/simple"},
    "timeout": {"type": "int", "default": 7200},
    "progress_file": {"type": "path"},
}


def order_of(params: dict[str, Any]) -> BundleOrder:
    require_python(params["python_version"])
    return BundleOrder(
        path=params["path"].rstrip("/"),
        sglang=params["sglang_version"],
        python=params["python_version"],
        locks=tuple(Lock(lock["path"], lock["purpose"]) for lock in params["locks"]),
        uv_lock=params["uv_lock"],
        manifest=params["manifest"],
        tools=params["tools"],
        interpreter=params["python"],
        source=Source(params["index_url"]),
        timeout=params["timeout"],
    )


def run(module: AnsibleModule) -> dict[str, Any]:
    params = module.params
    module.no_log_values.update(url_secrets(params["index_url"]))
    maker = BundleMaker(order_of(params), Progress(params["progress_file"]))
    path = params["path"].rstrip("/")
    if module.check_mode:
        changed = maker.look()
        return {"changed": changed, "path": path, "msg": f"Would make {path}." if changed else f"{path} is whole."}
    bundle, changed = maker.make()
    size = sum(file.size for file in bundle.files)
    message = f"{path} {'was made' if changed else 'is whole'}: {len(bundle.files)} files, {describe(size)}."
    return {"changed": changed, "path": path, "files": len(bundle.files), "bytes": size, "msg": message}


def main() -> None:
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    os.umask(0o022)  # hosts must be able to read what is copied from here
    try:
        result = run(module)
    except SglangError as error:
        module.fail_json(**error.as_result())
    except OSError as error:
        refused = SglangError(
            "The bundle cannot be written.",
            found=str(error),
            wanted=f"a writable {module.params['path']} and {module.params['tools']} with enough space",
            next_step="Mend that and run again, which goes on.",
        )
        module.fail_json(**refused.as_result())
    module.exit_json(**result)


if __name__ == "__main__":
    main()
