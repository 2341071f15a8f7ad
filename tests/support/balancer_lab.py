# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""A site's own nginx and HAProxy in front of servers: Debian's packages on a real host of the lab, configured as docs/rollout.md shows."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.play.conftest import LAB, STATE, Host
from tests.support.router_lab import ROOT, SERVER_KEY, SERVER_PORT, Fleet, hosts_of

EXAMPLES = ROOT / "examples/balancers"
PORTS = {"nginx": 8080, "haproxy": 8081}
KINDS = tuple(PORTS)
STATE_FILE = "/var/lib/haproxy/server-state"
SOCKET = "/run/haproxy/admin.sock"


@dataclass
class BalancedFleet(Fleet):
    """Servers behind a balancer of the site. `others`: more hosts of that group, by name and address."""

    others: dict[str, str] = field(default_factory=dict)

    def inventory(self) -> dict[str, Any]:
        whole = super().inventory()
        children = whole["all"]["children"]
        routers = children.pop("sglang_routers")["hosts"]
        more = {name: {"ansible_host": address, "ansible_ssh_timeout": 3} for name, address in self.others.items()}
        children["balancers"] = {"hosts": {**routers, **more}}
        values = {"fleet_rollout_balancer_group": "balancers", "fleet_rollout_haproxy_state_file": STATE_FILE}
        children["sglang_hosts"]["vars"] = {**values, **children["sglang_hosts"]["vars"]}
        return whole

    def behind(self, kind: str, **changes: Any) -> BalancedFleet:
        """The same servers behind another balancer of that host."""
        self.runs += 1
        return replace(self, kind=kind, port=PORTS[kind], folder=self.folder / f"{kind}-{self.runs}", runs=0, **changes)

    def serving(self) -> set[str]:
        """The names of the hosts that get requests, as the balancer has it."""
        return nginx_serving(self) if self.kind == "nginx" else haproxy_serving(self)


def nginx_serving(fleet: Fleet) -> set[str]:
    """By the files; that nginx reads them is what requests show."""
    text = fleet.balancer.shell("cd /etc/nginx/sglang && grep -H server *.conf || true")
    return {line.partition(".conf:")[0] for line in text.splitlines() if "server " in line and " down;" not in line and "#" not in line}


def stats(fleet: Fleet) -> dict[str, dict[str, str]]:
    """HAProxy's own figures by server."""
    script = (
        f"import socket; s = socket.socket(socket.AF_UNIX); s.connect('{SOCKET}'); s.sendall(b'show stat\\n'); print(s.makefile().read())"
    )
    rows = list(csv.reader(fleet.balancer.shell(f'python3 -c "{script}"').lstrip("# ").splitlines()))
    return {row[1]: dict(zip(rows[0], row)) for row in rows[1:] if row and row[1] not in ("FRONTEND", "BACKEND")}


def haproxy_serving(fleet: Fleet) -> set[str]:
    return {name for name, row in stats(fleet).items() if row["status"].startswith("UP")}


def packages(host: Host) -> None:
    """nginx and HAProxy from Debian's archive, fetched once for each state of the lab."""
    folder = STATE / "debs" / "balancers-bookworm"
    if not folder.is_dir():
        host.shell("apt-get -q update && apt-get -q -y --no-install-recommends --download-only install nginx haproxy")
        part = folder.with_name(f"{folder.name}.part-{os.getpid()}")
        part.mkdir(parents=True)
        send = subprocess.Popen(
            [str(LAB), "shell", host.name, "tar -C /var/cache/apt/archives --exclude=partial -c ."], stdout=subprocess.PIPE
        )
        subprocess.run(["tar", "-C", str(part), "-x", "--wildcards", "*.deb"], stdin=send.stdout, check=True)
        assert send.wait() == 0
        try:
            part.rename(folder)
        except OSError:
            # Another lane was first.
            shutil.rmtree(part)
    pack = subprocess.Popen(["tar", "-C", str(folder), "-c", "."], stdout=subprocess.PIPE)
    install = "mkdir -p /run/debs && tar -C /run/debs -x && DEBIAN_FRONTEND=noninteractive dpkg --install /run/debs/*.deb >/dev/null"
    subprocess.run([str(LAB), "shell", host.name, install], stdin=pack.stdout, check=True, capture_output=True)
    assert pack.wait() == 0


def configure(balancer: Host, servers: list[Host], retries: bool = True) -> None:
    """The examples, with these servers; without retries a proxy tries nothing twice, as the client."""
    nginx = (EXAMPLES / "nginx.conf").read_text()
    haproxy = (EXAMPLES / "haproxy.cfg").read_text()
    first, mark, _rest = haproxy.partition("    server gpu21 ")
    assert mark
    haproxy = first + "".join(f"    server {host.name} {host.address}:{SERVER_PORT}\n" for host in servers)
    if not retries:
        for old, new in (("proxy_next_upstream error timeout;", "proxy_next_upstream off;"),):
            assert old in nginx
            nginx = nginx.replace(old, new)
        assert "retries 3\n    option redispatch\n" in haproxy
        haproxy = haproxy.replace("retries 3\n    option redispatch\n", "retries 0\n")
    balancer.write("/etc/nginx/conf.d/sglang.conf", nginx)
    balancer.write("/etc/haproxy/haproxy.cfg", haproxy)
    balancer.shell("nginx -t -q && systemctl restart nginx && systemctl restart haproxy")


@contextmanager
def balanced_fleet_of(folder: Path, servers: int, retries: bool = True) -> Iterator[BalancedFleet]:
    """Both balancers run, and no server does yet."""
    with hosts_of(folder, servers) as hosts:
        packages(hosts[0])
        configure(hosts[0], hosts[1:], retries)
        yield BalancedFleet("fleet", "", folder, balancer=hosts[0], servers=hosts[1:], key=SERVER_KEY)
