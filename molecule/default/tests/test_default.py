# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a deployed host looks like from inside and from the network."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

KEY = "canary-4f1d7c20b9e84a53"
UNIT = "sglang-default.service"
PORT = 30000

testinfra_hosts = ["sglang_hosts"]


@pytest.fixture(autouse=True)
def journal_on_failure(host: Any, request: pytest.FixtureRequest) -> Iterator[None]:
    """A red test shows what the server said."""
    failed_before = request.session.testsfailed
    yield
    if request.session.testsfailed > failed_before:
        print(host.run(f"systemctl status --no-pager {UNIT}; journalctl -u {UNIT} -n 80 --no-pager").stdout)


def ask(host: Any, question: str, key: str) -> dict[str, Any]:
    address = host.check_output("hostname -I").split()[0]
    body = {"model": "default", "messages": [{"role": "user", "content": question}], "max_tokens": 40, "temperature": 0}
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    request = urllib.request.Request(f"http://{address}:{PORT}/v1/chat/completions", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=120) as answer:
        return dict(json.load(answer)["choices"][0])


# Each command is a run of Ansible: the tests ask for several things at once.
def test_unit_runs_as_the_service_user_and_listens(host: Any) -> None:
    command = f"systemctl is-active {UNIT}; systemctl is-enabled {UNIT}; ps -o user= -p $(systemctl show -P MainPID {UNIT})"
    assert host.check_output(command).split() == ["active", "enabled", "sglang"]
    assert f"0.0.0.0:{PORT}" in host.check_output("ss -Hltn")


def test_chat_is_answered(host: Any) -> None:
    choice = ask(host, "What is the capital of France?", KEY)
    assert choice["finish_reason"] in ("stop", "length")
    if "cpu_engine" in host.ansible.get_variables()["group_names"]:  # the stand-in only replays a log
        assert "Paris" in choice["message"]["content"]


def test_wrong_key_is_refused(host: Any) -> None:
    with pytest.raises(urllib.error.HTTPError, match="401"):
        ask(host, "Hello", "wrong")


def test_key_is_nowhere_but_in_its_file(host: Any) -> None:
    sources = f"cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '; systemctl show {UNIT}; systemctl cat {UNIT}; journalctl --no-pager -a"
    # the pattern does not match itself in the command line of this very search
    assert host.run(f"{{ {sources}; }} | grep -ac 'canary-[4]f1d7c20b9e84a53'").stdout.strip() == "0"
    assert host.run("cat /opt/sglang/instances/default/secrets/*").stdout.strip() == KEY


def test_release_is_stamped_and_everything_published(host: Any) -> None:
    root = "/opt/sglang"
    stamp = host.check_output(f"cat {root}/instances/default/accepted.json")
    assert json.loads(stamp)["id"]
    assert KEY not in stamp
    host.check_output(f"test -L {root}/ml-env && test -f {root}/ml-env/.complete.json")
    # the service user can read the model
    assert "architectures" in host.check_output(f"runuser -u sglang -- sh -c 'cat {root}/models/*/*/config.json'")
