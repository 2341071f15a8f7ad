# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is refused from the variables alone: keys that cannot be sent, options that the gate or the probe cannot survive."""

from __future__ import annotations

import argparse
import http.client
import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._launch_plan import launch_plan
from ansible_collections.inference.sglang.plugins.module_utils._probe_client import HttpClient, Unreachable
from ansible_collections.inference.sglang.plugins.module_utils._refused_options import ROLE_OPTIONS
from ansible_collections.inference.sglang.plugins.module_utils._server_variables import SHORTEST_KEY, key_fault, variable_faults
from ansible_collections.inference.sglang.plugins.modules import host_preflight
from core_helpers import H200, RELEASES, config
from hypothesis import assume, given
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[2]


def launcher() -> Any:
    spec = importlib.util.spec_from_file_location("launcher", ROOT / "roles/sglang_server/files/launcher.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["launcher"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "key", ["canary-1\ncanary-2", "can€ary-12345", "canary blank", "canary\x01x", "canary\r\n", "  ", "\n", "cana", "c" * 1025]
)
def test_a_key_that_cannot_be_sent_is_refused_without_showing_it(key: str) -> None:
    fault = key_fault(key)
    assert fault is not None and "sglang_server_api_key" in str(fault)
    assert "cana" not in str(fault) and "€" not in str(fault)


@pytest.mark.parametrize("key", [None, 123456789, 1.5, True, ["canary-1"], {"canary-1": 1}])
def test_a_key_that_is_no_text_is_refused_without_showing_it(key: object) -> None:
    fault = str(key_fault(key))
    assert "is no text" in fault and "quotes" in fault
    assert "canary" not in fault and "1234" not in fault


def test_a_server_without_a_key_is_allowed() -> None:
    assert key_fault("") is None
    assert variable_faults({"api_key": "", "settings": {"port": None}}) == []
    assert variable_faults({"api_key": "", "settings": {"crash_dump_folder": "/d"}}) == []


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=6) | st.text(min_size=6))
def test_an_accepted_key_passes_the_header_the_parser_and_the_file(key: str) -> None:
    assume(key_fault(key) is None)
    connection = http.client.HTTPConnection("127.0.0.1")
    connection._HTTPConnection__state = "Request-started"
    connection.putheader("Authorization", f"Bearer {key}")
    parser = argparse.ArgumentParser()
    parser.add_argument("--api-key")
    assert parser.parse_args([f"--api-key={key}"]).api_key == key
    assert key.strip() == key


def test_the_launcher_hides_every_key_that_is_accepted() -> None:
    assert launcher().SHORTEST_LITERAL <= SHORTEST_KEY


@pytest.mark.parametrize("key", ["canary-1\ncanary-2", "can€ary-12345", "canary-crlf\r\n"])
def test_the_probe_refuses_such_a_key_without_showing_it(key: str) -> None:
    with pytest.raises(SglangError) as error:
        HttpClient("http://127.0.0.1:1", key)
    assert "canary" not in str(error.value) and "€ary" not in str(error.value)


def test_a_request_that_cannot_be_written_does_not_show_its_headers() -> None:
    client = HttpClient("http://127.0.0.1:1")
    client._headers["X-Api-Key"] = "canary\ncanary"
    connection = http.client.HTTPConnection("127.0.0.1")
    connection.connect = lambda: None
    client._connect = lambda _timeout: connection
    with pytest.raises(Unreachable) as error:
        client.request("GET", "/", None, 1)
    assert "canary" not in str(error.value) and error.value.__cause__ is None


@pytest.mark.parametrize("name", [*ROLE_OPTIONS, "model", "served-model-name"])
def test_an_option_of_the_role_is_refused_with_its_variable(name: str) -> None:
    (fault,) = variable_faults({"api_key": "", "settings": {name: "x"}})
    variable = ROLE_OPTIONS[{"model": "model_path"}.get(name, name.replace("-", "_"))]
    assert f"set {variable} instead" in fault
    flag = "--" + name.replace("_", "-")
    assert variable_faults({"api_key": "", "extra_args": [flag, "x"]}) == variable_faults({"api_key": "", "extra_args": [f"{flag}=x"]})
    assert variable in variable_faults({"api_key": "", "extra_args": [flag, "x"]})[0]


def test_a_folder_that_gets_the_key_is_refused_where_there_is_a_key() -> None:
    for where in ({"settings": {"crash_dump_folder": "/d"}}, {"extra_args": ["--crash-dump-folder=/d"]}):
        (fault,) = variable_faults({"api_key": "canary-key", **where})
        assert "would write the API key into files" in fault and "canary" not in fault


def test_the_faults_of_all_variables_are_told_at_once() -> None:
    assert len(variable_faults({"api_key": None, "settings": {"port": 1, "crash_dump_folder": "/d"}, "extra_args": ["--host", "x"]})) == 3
    assert variable_faults({"api_key": "canary-key", "settings": {"mem_fraction_static": 0.8}, "extra_args": ["--log-requests"]}) == []


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize(
    "refused",
    [
        {"log_level": "error"},
        {"log_level": "warning"},
        {"ssl_certfile": "/c", "ssl_keyfile": "/k"},
        {"ssl_ca_certs": "/c"},
        {"enable_ssl_refresh": True},
        {"grpc_mode": True},
        {"is_embedding": True},
        {"disaggregation_mode": "prefill"},
        {"base_gpu_id": 1},
        {"gpu_id_step": 2},
        {"port": 0},
        {"port": 70000},
        {"port": -1},
        {"port": "0"},
        {"nccl_port": 70000},
    ],
    ids=str,
)
def test_what_gate_or_probe_cannot_survive_is_refused_in_settings_and_arguments(version: str, refused: dict[str, Any]) -> None:
    arguments = [f"--{key.replace('_', '-')}" + ("" if value is True else f"={value}") for key, value in refused.items()]
    for given_ in ({"settings": refused}, {"extra_args": arguments}):
        with pytest.raises(SglangError) as error:
            launch_plan(config("Qwen3.6-27B"), version, [H200], **given_)
        assert next(iter(refused)).split("_")[0] in str(error.value)
        assert error.value.next_step


@pytest.mark.parametrize(
    "harmless", [{"log_level": "debug"}, {"log_level": "info"}, {"disaggregation_mode": "null"}, {"base_gpu_id": 0}, {"port": 65535}]
)
def test_the_engine_s_own_defaults_are_not_refused(harmless: dict[str, Any]) -> None:
    assert launch_plan(config("Qwen3.6-27B"), "0.5.11", [H200], settings=harmless)["argv"]


@pytest.mark.parametrize("port", [0, -1, 65536, 70000])
def test_preflight_refuses_a_port_that_is_none(port: int) -> None:
    with pytest.raises(SglangError, match="inference_host_ports names no TCP port"):
        host_preflight.wants({"ports": [30000, port]})
