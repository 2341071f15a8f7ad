# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The unit's text: quoting that systemd undoes exactly, and a sandbox that follows the paths."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._unit import (
    UnitPaths,
    UnitRequest,
    environment_line,
    exec_word,
    interpreter_places,
    render_unit,
    unit_name,
)
from hypothesis import given
from hypothesis import strategies as st

PATHS = UnitPaths(
    environment="/opt/sglang/envs/main-0123",
    python="/opt/sglang/envs/main-0123/bin/python",
    release="/opt/sglang/instances/default/releases/abc",
    model="/opt/sglang/models/Qwen--Qwen3.6-27B/main",
)
REQUEST = UnitRequest(
    instance="default",
    description="SGLang default",
    user="sglang",
    group="sglang",
    paths=PATHS,
    argv=("--model-path", PATHS.model, "--tp-size", "2"),
    environment={},
)


def _with(**changes: object) -> UnitRequest:
    return dataclasses.replace(REQUEST, **changes)


def _with_paths(**changes: object) -> UnitRequest:
    return _with(paths=dataclasses.replace(PATHS, **changes))


def _value(text: str, key: str) -> str:
    values = [line.split("=", 1)[1] for line in text.splitlines() if line.startswith(key + "=")]
    assert len(values) == 1, (key, values)
    return values[0]


def _systemd_words(line: str) -> list[str]:
    """systemd's rules for a line of words (systemd.syntax, systemd.service): quotes, C escapes, specifiers, variables."""
    words: list[str] = []
    word, quote, index, open_word = "", "", 0, False
    while index < len(line):
        char = line[index]
        if char == "\\":
            index += 1
            word += {"n": "\n", "t": "\t", "\\": "\\", '"': '"', "'": "'", "s": " "}[line[index]]
            open_word = True
        elif quote:
            if char == quote:
                quote = ""
            else:
                word += char
        elif char in "\"'":
            quote, open_word = char, True
        elif char in " \t":
            if open_word:
                words.append(word)
            word, open_word = "", False
        else:
            word += char
            open_word = True
        index += 1
    assert not quote
    if open_word:
        words.append(word)
    return words


def _expand(word: str, dollar: bool) -> str:
    for mark in "%$" if dollar else "%":
        assert word.replace(mark * 2, "").count(mark) == 0, f"a lone {mark} in {word!r}"
        word = word.replace(mark * 2, mark)
    return word


TEXT = st.text(alphabet=st.characters(blacklist_categories=("Cs", "Cc")) | st.sampled_from("\n\t%$\"'\\; {}"), max_size=30)


@given(st.lists(TEXT, min_size=1, max_size=4))
def test_systemd_reads_back_every_argument(arguments: list[str]) -> None:
    line = " ".join(exec_word(argument) for argument in arguments)
    assert "\n" not in line
    assert [_expand(word, dollar=True) for word in _systemd_words(line)] == arguments


@given(TEXT)
def test_systemd_reads_back_every_environment_value(value: str) -> None:
    line = environment_line("NAME", value).split("=", 1)[1]
    assert [_expand(word, dollar=False) for word in _systemd_words(line)] == [f"NAME={value}"]


@pytest.mark.parametrize(
    ("argument", "written"),
    [
        ("--tp-size", "--tp-size"),
        ("100%", '"100%%"'),
        ("$HOME", '"$$HOME"'),
        (";", '";"'),
        ("", '""'),
        ('{"a": 1}', '"{\\"a\\": 1}"'),
    ],
)
def test_writes_the_characters_that_systemd_would_interpret(argument: str, written: str) -> None:
    assert exec_word(argument) == written


@pytest.mark.parametrize("text", ["a\0b", "a\x1bb", "a\rb"])
def test_refuses_control_characters(text: str) -> None:
    with pytest.raises(SglangError, match="control character"):
        exec_word(text)
    with pytest.raises(SglangError, match="control character"):
        environment_line("NAME", text)


def test_starts_the_launcher_with_the_plan_s_arguments() -> None:
    start = _value(render_unit(REQUEST), "ExecStart")
    assert start == f"{PATHS.python} {PATHS.release}/launcher.py --model-path {PATHS.model} --tp-size 2"


@pytest.mark.parametrize("place", ["/tmp/models/x", "/var/tmp/x", "/dev/shm/x", "/run/user/0/x"])
@pytest.mark.parametrize("field", ["environment", "python", "release", "model"])
def test_refuses_a_path_that_the_sandbox_hides(field: str, place: str) -> None:
    with pytest.raises(SglangError) as caught:
        render_unit(_with_paths(**{field: place}))
    assert place in caught.value.found
    assert caught.value.next_step


def test_refuses_hidden_targets_of_links_too() -> None:
    with pytest.raises(SglangError, match="would hide"):
        render_unit(_with_paths(readable=("/tmp/blobs",)))


def test_a_path_that_only_looks_like_tmp_is_fine() -> None:
    assert "/tmpfs/model" in render_unit(_with_paths(model="/tmpfs/model"))


def test_shows_exactly_what_lies_below_home_and_root() -> None:
    text = render_unit(
        _with_paths(
            environment="/root/ml-env",
            python="/root/ml-env/bin/python",
            model="/root/models/Qwen3.6-27B",
            readable=("/home/shared/hub/blobs", "/root/.local/share/uv/python/cpython-3.12"),
        )
    )
    assert _value(text, "ProtectHome") == "tmpfs"
    shown = _value(text, "BindReadOnlyPaths").split()
    assert shown == ["/home/shared/hub/blobs", "/root/.local/share/uv/python/cpython-3.12", "/root/ml-env", "/root/models/Qwen3.6-27B"]


def test_needs_no_bind_when_nothing_lies_in_a_home() -> None:
    assert "BindReadOnlyPaths" not in render_unit(REQUEST)


def test_quotes_paths_with_blanks() -> None:
    text = render_unit(_with_paths(model="/root/my models/a%b", release="/opt/s g/r"))
    assert '"/root/my models/a%%b"' in _value(text, "BindReadOnlyPaths")
    assert '"/opt/s g/r/launcher.py"' in _value(text, "ExecStart")


def test_leaves_the_gpu_devices_visible_and_hides_all_devices_without_one() -> None:
    with_gpu, without = render_unit(REQUEST), render_unit(_with(uses_gpu=False, gpus=("0",)))
    assert "PrivateDevices" not in with_gpu
    assert "DeviceAllow=char-nvidia* rwm" in with_gpu
    assert _value(without, "PrivateDevices") == "yes"
    assert "CUDA_VISIBLE_DEVICES" not in without


def test_names_the_instance_s_gpus_in_nvidia_smi_s_order() -> None:
    text = render_unit(_with(gpus=("2", "3")))
    assert 'Environment="CUDA_VISIBLE_DEVICES=2,3"' in text
    assert 'Environment="CUDA_DEVICE_ORDER=PCI_BUS_ID"' in text
    assert "CUDA_VISIBLE_DEVICES" not in render_unit(REQUEST)


def test_the_stop_and_the_restarts() -> None:
    text = render_unit(_with(stop_timeout=240))
    unit, service = text.split("[Service]")
    assert "StartLimitIntervalSec=" in unit
    assert "StartLimitBurst=" in unit
    assert "StartLimit" not in service
    assert _value(text, "KillMode") == "mixed"
    assert _value(text, "TimeoutStopSec") == "240"
    assert _value(text, "Restart") == "on-failure"
    assert "SuccessExitStatus" not in text


def test_caches_and_working_directory_are_the_instance_s_own() -> None:
    text = render_unit(_with(instance="b"))
    assert _value(text, "CacheDirectory") == "sglang/b"
    for name in ("HOME", "TRITON_CACHE_DIR", "XDG_CACHE_HOME", "HF_HOME", "TORCHINDUCTOR_CACHE_DIR", "FLASHINFER_WORKSPACE_BASE"):
        assert f'Environment="{name}=/var/cache/sglang/b' in text
    assert 'Environment="HF_HUB_OFFLINE=1"' in text
    assert f'Environment="PATH={PATHS.environment}/bin:' in text


def test_a_site_s_environment_wins() -> None:
    text = render_unit(_with(environment={"HF_HUB_OFFLINE": "0", "NCCL_P2P_DISABLE": "1"}))
    assert 'Environment="HF_HUB_OFFLINE=0"' in text
    assert 'Environment="HF_HUB_OFFLINE=1"' not in text
    assert 'Environment="NCCL_P2P_DISABLE=1"' in text


@pytest.mark.parametrize(
    "name",
    [
        *("HF_TOKEN", "OPENAI_API_KEY", "X_SECRET", "PASSWORD", "aws_credentials", "AWS_SECRET_ACCESS_KEY", "OPENAI_KEY", "DB_PASS"),
        *("GITHUB_PAT", "WANDB_API_KEY", "SECRET_OF_X", "API_KEYS"),
    ],
)
def test_refuses_secrets_in_the_environment(name: str) -> None:
    with pytest.raises(SglangError, match=name):
        render_unit(_with(environment={name: "canary"}))


@pytest.mark.parametrize(
    "name",
    ["SGLANG_MAX_TOKENS", "TOKENIZERS_PARALLELISM", "NCCL_DEBUG", "SGLANG_PREFILL_DELAYER_TOKEN_USAGE_LOW_WATERMARK", "SSH_AUTH_SOCK"],
)
def test_a_name_that_only_resembles_a_secret_is_fine(name: str) -> None:
    assert name in render_unit(_with(environment={name: "1"}))


@pytest.mark.parametrize("value", ["http://user:canary@proxy:3128", "hf_canarycanary", "x sk-canarycanary"])
def test_refuses_a_secret_by_its_shape_without_showing_it(value: str) -> None:
    with pytest.raises(SglangError, match="the secret in HTTPS_PROXY") as error:
        render_unit(_with(environment={"HTTPS_PROXY": value}))
    assert "canary" not in str(error.value)
    assert render_unit(_with(environment={"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "user@host"}))


@pytest.mark.parametrize("name", ["CREDENTIALS_DIRECTORY", "INVOCATION_ID"])
def test_refuses_variables_that_are_systemd_s_own(name: str) -> None:
    with pytest.raises(SglangError, match=f"{name} is systemd's own"):
        render_unit(_with(environment={name: "/x"}))


def test_refuses_a_stop_without_time() -> None:
    for seconds in (0, -5):
        with pytest.raises(SglangError, match="sglang_server_stop_timeout"):
            render_unit(_with(stop_timeout=seconds))


@pytest.mark.parametrize("name", ["user", "group"])
@pytest.mark.parametrize("value", ["a\nExecStartPre=/bin/touch /x", "%u", "a b", "", "0", "-a", "a\n", "$USER"])
def test_refuses_an_account_s_name_that_means_more(name: str, value: str) -> None:
    with pytest.raises(SglangError, match=f"sglang_server_{name}"):
        render_unit(_with(**{name: value}))


def test_refuses_a_hidden_path_that_is_written_differently() -> None:
    with pytest.raises(SglangError, match="sandbox would hide"):
        render_unit(_with_paths(readable=("/opt/../tmp/x",)))


_ANY = st.text(st.characters(exclude_categories=()), max_size=12) | st.sampled_from(
    ["\nUser=root", "\r", "%h", "$HOME", "\\", "\udcff", "\0", '"']
)
_FIELDS = [
    "description",
    "user",
    "group",
    "argument",
    "value",
    "release",
    "model",
    "readable",
    "writable",
    "log_file",
    "key_file",
    "nvidia_modprobe",
]


@given(st.sampled_from(_FIELDS), _ANY, st.sampled_from(["", "/srv/"]))
def test_no_field_can_add_a_directive(field: str, text: str, before: str) -> None:
    def request(value: str) -> UnitRequest:
        if field in ("description", "user", "group"):
            return _with(**{field: value})
        if field == "argument":
            return _with(argv=("--a", value))
        if field == "value":
            return _with(environment={"SITE": value})
        return _with_paths(**{field: (value,) if field in ("readable", "writable") else value})

    try:
        text = render_unit(request(before + text))
    except SglangError:
        return
    plain = render_unit(request("plain" if field in ("description", "user", "group") else "/srv/plain"))
    assert not directives(text.encode().decode()) - directives(plain)


def directives(unit: str) -> Counter[str]:
    """Names of directives with their number; systemd ends a line at any of these characters."""
    return Counter(line.partition("=")[0] for line in re.split(r"[\n\r\0]", unit))


def test_the_key_is_a_credential_and_the_log_a_file() -> None:
    text = render_unit(_with_paths(key_file="/opt/sglang/instances/default/secrets/api-key", log_file="/root/sglang_serve.log"))
    assert _value(text, "LoadCredential") == "api-key:/opt/sglang/instances/default/secrets/api-key"
    assert _value(text, "StandardOutput") == "append:/root/sglang_serve.log"
    assert "StandardOutput" not in render_unit(REQUEST)


def test_capabilities_only_for_a_low_port() -> None:
    assert _value(render_unit(REQUEST), "CapabilityBoundingSet") == ""
    assert _value(render_unit(_with(port=443)), "CapabilityBoundingSet") == "CAP_NET_BIND_SERVICE"
    assert _value(render_unit(_with(port=443)), "AmbientCapabilities") == "CAP_NET_BIND_SERVICE"


@pytest.mark.parametrize("name", ["", "a/b", "..", "a b", "A", "-a", "a-", "x" * 60, "a.b"])
def test_refuses_an_instance_name_that_cannot_name_a_unit(name: str) -> None:
    with pytest.raises(SglangError, match="instance"):
        unit_name(name)


def test_an_interpreter_elsewhere_is_shown_whole() -> None:
    python = "/root/ml-env/bin/python"
    places = interpreter_places(
        "/root/ml-env/", "/root/.local/share/uv/python/cpython-3.12/bin/python3.12", "/root/.local/share/uv/python/cpython-3.12"
    )
    assert "/root/.local/share/uv/python/cpython-3.12" in places
    text = render_unit(_with_paths(environment="/root/ml-env", python=python, readable=places))
    assert "/root/.local/share/uv/python/cpython-3.12" in _value(text, "BindReadOnlyPaths")
