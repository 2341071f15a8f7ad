#!/usr/bin/python
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

DOCUMENTATION = r"""
module: model_snapshot
short_description: Fetches a model's files from a hub, proves every byte and publishes them
description:
  - Brings one revision of a model repository to the host. Every file's size and digest is compared with what the hub declares
    (sha256 of large files, git blob id of small ones), safetensors headers are held against file sizes, and an index must not
    name a shard that is not there.
  - Files grow in C(<root>/<org>--<name>/.partial-<commit>/), and a run that was killed or cut off continues at the byte where it
    stopped. The directory appears as C(<root>/<org>--<name>/<commit>/) by one rename, with C(<commit>.manifest.json) beside it
    written last, so what is there is whole.
  - A branch or tag is resolved to a commit once and recorded. Later runs mean the same commit and need no hub, until O(refresh).
  - With O(path), a directory that is already on the host is proven where it lies and recorded, and nothing is copied or changed.
  - Runs in the background and shows its progress; do not give it C(async).
  - Pickles and second copies of the weights (C(*.bin), C(*.pth), C(*.pt), C(*.gguf) and the like) are never fetched.
version_added: "0.1.0"
author: inference.sglang maintainers (@inference-sglang)
options:
  repo:
    description:
      - The repository, C(organisation/name).
      - With O(path), what the directory is compared with; empty means that it is a copy of no repository.
    type: str
    default: ""
  revision:
    description: Branch, tag or full commit hash.
    type: str
    default: main
  path:
    description:
      - An existing directory with the model, used where it is.
      - Its files are hashed once, compared with O(repo) if the hub can be asked, else with the digests that the hub's client left in
        the directory, and recorded below C(<root>/adopted/).
      - It is never repaired. A change that was not recorded is an error until O(refresh).
    type: path
  root:
    description: Where models are published.
    type: path
    default: /opt/sglang/models
  python:
    description:
      - Interpreter of an environment that holds huggingface_hub 1.x, see M(inference.sglang.python_environment).
      - Needed only when something is fetched.
    type: path
  endpoint:
    description: The hub or a mirror of it. Empty means C(https://huggingface.co).
    type: str
    default: ""
  token:
    description:
      - Access token for gated and private repositories.
      - It reaches the downloading process through a pipe, and is in no command line, environment or file of this module.
    type: str
    default: ""
  peer:
    description:
      - Another host of the fleet, in the place of the hub. Every file is held against the sha256 of its manifest, which is that of the
        host that asked the hub, so a peer can neither add nor alter a byte.
      - O(revision) then means the commit of that manifest, and O(python) is not needed.
    type: dict
    suboptions:
      url:
        description: Where the peer serves, as M(inference.sglang.model_peer) returned it.
        type: str
        required: true
      token:
        description: The token of this one transfer.
        type: str
        required: true
      manifest:
        description: The manifest, as M(inference.sglang.model_peer) returned it.
        type: dict
        required: true
  bundle:
    description:
      - Directory of an offline bundle, see M(inference.sglang.offline_bundle), in the place of the hub. Its files are copied, each held
        against the sha256 of the bundle's manifest, and published as those of a hub. The bundle is not needed after that.
      - O(python), O(endpoint) and O(token) are not needed.
    type: path
    default: ""
  patterns:
    description:
      - The files wanted. A pattern without a slash speaks of the top level, one with a slash of the whole path.
      - The default is what an engine reads.
    type: list
    elements: str
    default: ["*.safetensors", "*.json", "*.txt", "*.jinja", "*.model", "*.tiktoken"]
  verify:
    description:
      - How to look at a model that is published or adopted already. V(quick) compares sizes, times and safetensors headers and reads
        only files whose time changed; V(deep) reads and hashes everything.
    type: str
    choices: [quick, deep]
    default: quick
  repair:
    description: Fetch broken files of a published model again, and only those. Otherwise they are an error.
    type: bool
    default: true
  refresh:
    description: Ask again where the branch points to, or adopt the directory anew.
    type: bool
    default: false
  reader:
    description: A user who must be able to read the files. Empty means that nobody is checked.
    type: str
    default: ""
  workers:
    description: How many files are fetched at once.
    type: int
    default: 4
  xet:
    description:
      - Fetch through the hub's xet protocol where it offers it. It can be faster, and an interrupted file starts again from its beginning.
      - A download that stalls goes on without it.
    type: bool
    default: false
  retries:
    description: How often one file is asked for again in a row without a new byte having come.
    type: int
    default: 8
  retry_delay:
    description: Seconds before the first repetition; it doubles up to a minute. A hub that says when to come back is obeyed.
    type: float
    default: 1.0
  stall_timeout:
    description: Seconds without a new byte after which the download is stopped and started again.
    type: float
    default: 60.0
  lock_timeout:
    description: Seconds to wait for another run on this host that works on the same model.
    type: float
    default: 3600.0
  progress_file:
    description: Internal, given by the action plugin of the same name.
    type: path
attributes:
  check_mode:
    description:
      - Says what would be fetched, by asking the hub. A hub that cannot be reached yet is a warning.
      - A directory at O(path) is checked by names, sizes and headers, and not hashed.
    support: full
  diff_mode:
    description: Shows revision and digests of the files before and after.
    support: full
  platform:
    description: Linux.
    support: full
    platforms: linux
seealso:
  - module: inference.sglang.python_environment
  - module: inference.sglang.model_info
  - module: inference.sglang.model_peer
"""

EXAMPLES = r"""
- name: Fetch a model
  inference.sglang.model_snapshot:
    repo: Qwen/Qwen3.6-27B
    revision: main
    python: /opt/sglang/tools/hub-0123456789ab/bin/python

- name: Use a directory that is already there
  inference.sglang.model_snapshot:
    repo: Qwen/Qwen3.6-27B
    path: /root/models/Qwen3.6-27B

- name: Read every byte of a published model and fetch what is broken
  inference.sglang.model_snapshot:
    repo: Qwen/Qwen3.6-27B
    verify: deep
    python: /opt/sglang/tools/hub-0123456789ab/bin/python
"""

RETURN = r"""
path:
  description: Directory of the model. In check mode it may not exist yet.
  returned: success
  type: str
  sample: /opt/sglang/models/Qwen--Qwen3.6-27B/0123456789abcdef0123456789abcdef01234567
repo:
  description: The repository, as asked.
  returned: success
  type: str
revision:
  description: The commit. C(local-) and a digest of the content for a directory that could not be compared with a repository.
  returned: success
  type: str
manifest:
  description: JSON file with size, sha256 and proof of each file.
  returned: success
  type: str
adopted:
  description: Whether this is a directory that was there before, in its own place.
  returned: success
  type: bool
files:
  description: Number of files.
  returned: success
  type: int
bytes:
  description: Their size.
  returned: success
  type: int
fetched_files:
  description: Names of the files that were fetched in this run.
  returned: success
  type: list
  elements: str
fetched_bytes:
  description: Bytes that came over the network in this run, as far as they were kept.
  returned: success
  type: int
repaired_files:
  description: Broken files of a published model that were fetched again.
  returned: success
  type: list
  elements: str
verified:
  description: V(deep) when all bytes were read in this run, V(quick) when sizes, times and headers were looked at.
  returned: success
  type: str
compared_with:
  description: What declared the digests that the files were held against in this run.
  returned: success
  type: str
msg:
  description: What was done, in a sentence.
  returned: success
  type: str
error:
  description: The four parts of a refusal.
  returned: failure
  type: dict
  contains:
    wrong:
      description: What is wrong.
      type: str
    found:
      description: What was found.
      type: str
    wanted:
      description: What was wanted.
      type: str
    next:
      description: What to do.
      type: str
"""

import sys
import time
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inference.sglang.plugins.module_utils._bundle_files import BundleHub
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._peer import peer_hub
from ansible_collections.inference.sglang.plugins.module_utils._progress import Progress
from ansible_collections.inference.sglang.plugins.module_utils._snapshot import Snapshot
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_adopt import Adoption
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_errors import Context, Failure, explain
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_fetch import FetchOptions
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_files import DEFAULT_PATTERNS
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_hub import Hub, normal_endpoint, public_endpoint
from ansible_collections.inference.sglang.plugins.module_utils._snapshot_types import Outcome, Request, check_request

PEER_RETRIES = 2


def argument_spec() -> dict[str, Any]:
    return {
        "repo": {"type": "str", "default": ""},
        "revision": {"type": "str", "default": "main"},
        "path": {"type": "path"},
        "root": {"type": "path", "default": "/opt/sglang/models"},
        "python": {"type": "path"},
        "endpoint": {"type": "str", "default": ""},
        "token": {"type": "str", "default": "", "no_log": True},
        "peer": {
            "type": "dict",
            "options": {
                "url": {"type": "str", "required": True},
                "token": {"type": "str", "required": True, "no_log": True},
                "manifest": {"type": "dict", "required": True},
            },
        },
        "bundle": {"type": "path", "default": ""},
        "patterns": {"type": "list", "elements": "str", "default": list(DEFAULT_PATTERNS)},
        "verify": {"type": "str", "choices": ["quick", "deep"], "default": "quick"},
        "repair": {"type": "bool", "default": True},
        "refresh": {"type": "bool", "default": False},
        "reader": {"type": "str", "default": ""},
        "workers": {"type": "int", "default": 4},
        "xet": {"type": "bool", "default": False},
        "retries": {"type": "int", "default": 8},
        "retry_delay": {"type": "float", "default": 1.0},
        "stall_timeout": {"type": "float", "default": 60.0},
        "lock_timeout": {"type": "float", "default": 3600.0},
        "progress_file": {"type": "path"},
    }


def run(params: dict[str, Any], check_mode: bool) -> Outcome:
    request = Request(
        repo=params["repo"],
        revision=params["revision"],
        root=params["root"],
        patterns=tuple(params["patterns"]),
        path=(params["path"] or "").rstrip("/"),
        verify=params["verify"],
        repair=params["repair"],
        # A peer has one commit: what a branch meant on this host before does not count.
        refresh=params["refresh"] or params["peer"] is not None,
        reader=params["reader"],
        lock_timeout=params["lock_timeout"],
        check_mode=check_mode,
    )
    check_request(request, params["token"])
    endpoint = normal_endpoint(params["endpoint"])
    # Where the answer can be done without, a site without a hub should not wait long for it.
    retries = 0 if check_mode else min(2, params["retries"]) if request.path else params["retries"]
    # A directory that is there stays where it is, also on a site with a bundle.
    bundle = "" if request.path else (params["bundle"] or "").rstrip("/")
    hub = BundleHub(bundle) if bundle else Hub(endpoint, params["token"], retries=retries, retry_delay=params["retry_delay"])
    progress = Progress(params["progress_file"])
    if params["peer"]:
        return _from_peer(params, request, progress)
    if request.path:
        return Adoption(request, hub, progress, time.monotonic).run()
    options = FetchOptions(
        python=params["python"] or "",
        endpoint=endpoint,
        token=params["token"],
        workers=params["workers"],
        retries=params["retries"],
        retry_delay=params["retry_delay"],
        stall_timeout=params["stall_timeout"],
        xet=params["xet"],
        bundle=bundle,
    )
    return Snapshot(request, hub, options, progress, time.monotonic).run()


def _from_peer(params: dict[str, Any], request: Request, progress: Progress) -> Outcome:
    if request.path:
        raise SglangError(
            "path and peer are given together.",
            found=f"path {request.path}",
            wanted="a directory that is there, or a peer to fetch from",
            next_step="Leave one of them out.",
        )
    hub = peer_hub(params["peer"])
    options = FetchOptions(
        python=sys.executable,
        endpoint=hub.endpoint,
        token=params["peer"]["token"],
        workers=params["workers"],
        # A peer that is gone does not come back: another one takes its place.
        retries=min(PEER_RETRIES, params["retries"]),
        retry_delay=params["retry_delay"],
        stall_timeout=params["stall_timeout"],
        xet=False,
        peer=True,
    )
    return Snapshot(request, hub, options, progress, time.monotonic).run()


def _explained(error: OSError, params: dict[str, Any]) -> SglangError:
    """A disk that fails outside the download: full while a manifest is written, read-only, or broken while reading."""
    context = Context(params["repo"], params["revision"], public_endpoint(params["endpoint"]), directory=params["root"])
    return explain(Failure(type=type(error).__name__, message=str(error), errno=error.errno or 0), context)


def main() -> None:
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    try:
        outcome = run(module.params, module.check_mode)
    except SglangError as error:
        module.fail_json(**error.as_result())
    except OSError as error:
        module.fail_json(**_explained(error, module.params).as_result())
    for warning in outcome.warnings:
        module.warn(warning)
    result = {key: value for key, value in outcome.__dict__.items() if key not in ("warnings", "before", "after")}
    module.exit_json(diff={"before": outcome.before, "after": outcome.after}, **result)


if __name__ == "__main__":
    main()
