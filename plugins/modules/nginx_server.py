#!/usr/bin/python
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Takes a server out of an nginx upstream, or puts it back."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nginx_server
short_description: Take a server out of an nginx upstream, or put it back
version_added: "0.1.0"
description:
  - Runs on nginx's host. One file holds one C(server) directive; the site's C(upstream) includes the files of all
    (C(include DIRECTORY/*.conf;)).
  - A file that C(nginx -T) does not take, or does not read, is put back as it was, and nginx is not told. Else nginx is reloaded, and this
    module waits until only workers with the new configuration take requests. Those from before go on to the end of their requests.
  - A run that was killed between the file and the reload is finished by the next one.
  - C(ready) is written only once the server is healthy as seen from nginx's host. A server that has no file yet gets one.
  - nginx must run with its default configuration file, and its program must be found in the usual folders.
options:
  directory:
    description: The folder of the servers' files.
    type: path
    default: /etc/nginx/sglang
  name:
    description: Name of the server's file, without C(.conf).
    type: str
    required: true
  url:
    description: The server, as nginx reaches it.
    type: str
    required: true
  state:
    description: Whether nginx sends new requests to it.
    type: str
    choices: [ready, drain]
    default: ready
  timeout:
    description: Seconds until it is done.
    type: int
    default: 180
extends_documentation_fragment: [action_common_attributes]
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  platform:
    platforms: linux
    support: full
author:
  - inference.sglang maintainers (@inference-sglang)
"""

EXAMPLES = r"""
- name: Take the server out of every nginx
  inference.sglang.nginx_server:
    name: gpu21
    url: http://192.0.2.21:30000
    state: drain
  delegate_to: "{{ item }}"
  loop: "{{ groups['balancers'] }}"
"""

RETURN = r"""
running:
  description: Whether nginx runs. One that does not sends nothing to anybody; its file is changed all the same.
  type: bool
  returned: when nothing is only looked at
steps:
  description: What was done, of C(write) and C(reload).
  type: list
  elements: str
  returned: success
"""

import os
import re
import signal
from typing import Any, Callable, Optional

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.inference.sglang.plugins.module_utils._balancer_host import Deadline, locked, split_url, wait_until_healthy
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._nginx import (
    READY,
    RELOAD,
    WRITE,
    Dump,
    active_workers,
    entry_for,
    is_reloaded,
    parse_dump,
    parse_entry,
    steps,
)
from ansible_collections.inference.sglang.plugins.module_utils._release_files import write_atomic
from ansible_collections.inference.sglang.plugins.module_utils._text_files import read_text

# (exit status, stdout, stderr) of nginx with some options.
Nginx = Callable[[list[str]], tuple[int, str, str]]
PLACES = ["/usr/sbin", "/sbin", "/usr/local/sbin", "/usr/local/nginx/sbin"]


def titles_below(master: int, proc: str = "/proc") -> dict[int, str]:
    """{pid: title} of the processes that this one started."""
    found = {}
    for name in filter(str.isdigit, os.listdir(proc)):
        try:
            with open(f"{proc}/{name}/stat", encoding="utf-8", errors="replace") as stream:
                # The name in parentheses may hold anything; the parent is the second field behind it.
                parent = stream.read().rpartition(")")[2].split()[1]
            if int(parent) == master:
                with open(f"{proc}/{name}/cmdline", encoding="utf-8", errors="replace") as stream:
                    found[int(name)] = stream.read().replace("\0", " ").strip()
        except (OSError, ValueError, IndexError):
            # It has ended meanwhile.
            continue
    return found


def master_of(pid_file: str) -> Optional[int]:
    """The running nginx; None where there is none."""
    try:
        pid = int((read_text(pid_file) or "").strip())
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as stream:
            return pid if "nginx" in stream.read() else None
    except (OSError, ValueError):
        return None


class Work:
    """One server, one nginx, one deadline."""

    def __init__(self, params: dict[str, Any], nginx: Nginx) -> None:
        self.url, self.state, self.nginx = params["url"], params["state"], nginx
        self.host, self.port = split_url(self.url)
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", params["name"]):
            raise SglangError(
                "this name cannot be that of a server's file",
                found=repr(params["name"]),
                wanted="letters, digits, '.', '_' and '-'",
                next_step="give the host such a name in the inventory",
            )
        self.directory = params["directory"]
        self.path = os.path.join(self.directory, f"{params['name']}.conf")
        # Holds what the file was before, from before it is written until nginx has it. The upstream's include does not match its name.
        self.before_path = os.path.join(self.directory, f".{params['name']}.before")
        self.deadline = Deadline(params["timeout"])

    def look(self) -> tuple[str, str, tuple[str, ...]]:
        """The file as it is, as it should be, and what there is to do."""
        found = read_text(self.path)
        wanted = entry_for(parse_entry(found), self.host, self.port, self.state).render()
        return found or "", wanted, steps(found, wanted, os.path.lexists(self.before_path))

    def do(self) -> dict[str, Any]:
        """Returns what was done."""
        if self.state == READY and self.look()[2]:
            wait_until_healthy(self.url, "nginx", self.deadline)
        os.makedirs(self.directory, mode=0o755, exist_ok=True)
        with open(os.path.join(self.directory, ".lock"), "a", encoding="utf-8") as stream, locked(stream, "nginx's list of servers"):
            found, wanted, todo = self.look()
            if WRITE in todo:
                if not os.path.lexists(self.before_path):
                    write_atomic(self.before_path, found)
                write_atomic(self.path, wanted)
            master = master_of(self.read_by_nginx(todo).pid_file)
            if RELOAD in todo:
                if master is not None:
                    self.reload(master)
                os.unlink(self.before_path)
        if master is None and self.state == READY:
            raise SglangError(
                "nginx does not run",
                found=f"no nginx under the pid of its pid file; {self.path} is as it should be",
                wanted="a running nginx",
                next_step="start nginx on that host, then run again",
            )
        return {"changed": bool(todo), "steps": list(todo), "running": master is not None}

    def read_by_nginx(self, todo: tuple[str, ...]) -> Dump:
        """What nginx reads, with the server's file in it. What it does not take is put back."""
        status, dump, words = self.nginx(["-T"])
        if status != 0:
            self.put_back(todo)
            raise SglangError(
                "nginx refuses its configuration",
                found=words.strip()[-600:] or f"nginx -T ended with {status}",
                wanted="a configuration that nginx -t takes",
                next_step=f"correct it on that host; {self.path} is as it was, and nginx was told nothing",
            )
        read = parse_dump(dump, self.nginx(["-V"])[2])
        if os.path.realpath(self.path) not in {os.path.realpath(path) for path in read.files}:
            self.put_back(todo)
            raise SglangError(
                "nginx does not read the server's file",
                found=f"{self.path} is none of the {len(read.files)} files of its configuration",
                wanted=f"'include {self.directory}/*.conf;' in the site's upstream",
                next_step="add it there, or name the folder with fleet_rollout_nginx_directory; nginx was told nothing",
            )
        return read

    def put_back(self, todo: tuple[str, ...]) -> None:
        """The file as it was before, also before a run that was killed."""
        if RELOAD not in todo:
            return
        before = read_text(self.before_path)
        if before:
            write_atomic(self.path, before)
        elif os.path.lexists(self.path):
            os.unlink(self.path)
        os.unlink(self.before_path)

    def reload(self, master: int) -> None:
        """As `nginx -s reload` does, and waits for it."""
        before = active_workers(titles_below(master))
        os.kill(master, signal.SIGHUP)
        while not is_reloaded(before, titles_below(master)):
            self.deadline.pause(
                "nginx does not take its new configuration",
                f"workers from before the reload still take requests ({', '.join(map(str, sorted(before)))})",
                "nginx's error log says why; the next run tries again",
            )


def main() -> None:
    """Ready or drained."""
    module = AnsibleModule(
        argument_spec={
            "directory": {"type": "path", "default": "/etc/nginx/sglang"},
            "name": {"type": "str", "required": True},
            "url": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["ready", "drain"], "default": "ready"},
            "timeout": {"type": "int", "default": 180},
        },
        supports_check_mode=True,
    )
    try:
        program = module.get_bin_path("nginx", opt_dirs=PLACES)
        if program is None:
            raise SglangError(
                "there is no nginx on this host",
                found=f"no nginx in PATH or {', '.join(PLACES)}",
                wanted="hosts on which nginx is installed",
                next_step="take the host out of the group of balancers, or install nginx",
            )
        work = Work(module.params, lambda options: module.run_command([program, *options]))
        found, wanted, todo = work.look()
        diff = {"before": found, "after": wanted, "before_header": work.path, "after_header": work.path}
        if module.check_mode:
            module.exit_json(changed=bool(todo), steps=list(todo), diff=diff)
        module.exit_json(**work.do(), diff=diff)
    except SglangError as error:
        module.fail_json(**error.as_result())
    except OSError as error:
        fault = SglangError(
            "a server's file of nginx cannot be written, or nginx cannot be told",
            found=str(error),
            wanted=f"a folder for root on nginx's host: {module.params['directory']}",
            next_step="run the play with become; fleet_rollout_nginx_directory names another folder",
        )
        module.fail_json(**fault.as_result())


if __name__ == "__main__":
    main()
