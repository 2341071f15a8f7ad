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


def name_of(host: Any) -> str:
    return str(host.backend.get_hostname())


def ask(host: Any, question: str, key: str) -> dict[str, Any]:
    address = host.ansible.get_variables()["inventory_hostname"]
    address = host.check_output("hostname -I").split()[0]
    body = {"model": "default", "messages": [{"role": "user", "content": question}], "max_tokens": 40, "temperature": 0}
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    request = urllib.request.Request(f"http://{address}:{PORT}/v1/chat/completions", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=120) as answer:
        return dict(json.load(answer)["choices"][0])


def test_unit_runs_as_the_service_user(host: Any) -> None:
    service = host.service(UNIT)
    assert service.is_running
    assert service.is_enabled
    pid = host.check_output(f"systemctl show -P MainPID {UNIT}")
    assert host.check_output(f"ps -o user= -p {pid}").strip() == "sglang"


def test_port_listens(host: Any) -> None:
    assert host.socket(f"tcp://0.0.0.0:{PORT}").is_listening


def test_chat_is_answered(host: Any) -> None:
    choice = ask(host, "What is the capital of France?", KEY)
    assert choice["finish_reason"] in ("stop", "length")
    if "cpu_engine" in host.ansible.get_variables()["group_names"]:  # the stand-in only replays a log
        assert "Paris" in choice["message"]["content"]


def test_wrong_key_is_refused(host: Any) -> None:
    with pytest.raises(urllib.error.HTTPError, match="401"):
        ask(host, "Hello", "wrong")


def test_key_is_nowhere_but_in_its_file(host: Any) -> None:
    found = host.run("cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -c 'canary-[4]f1d7c20b9e84a53'")
    assert found.stdout.strip() == "0"
    for command in (f"systemctl show {UNIT}", f"systemctl cat {UNIT}", "journalctl --no-pager -a"):
        assert KEY not in host.run(command).stdout, command


def test_accepted_release_is_stamped(host: Any) -> None:
    stamp = json.loads(host.file("/opt/sglang/instances/default/accepted.json").content_string)
    assert stamp
    assert KEY not in json.dumps(stamp)


def test_environment_and_model_are_published(host: Any) -> None:
    assert host.file("/opt/sglang/ml-env").is_symlink
    assert host.file("/opt/sglang/ml-env/.complete.json").is_file
    model = host.run("ls -d /opt/sglang/models/*/*/config.json").stdout.split()
    assert len(model) == 1
    # the service user reads it, so anybody in its group does
    assert host.run(f"runuser -u sglang -- cat {model[0]}").rc == 0
