# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The support bundle: complete where it can be, never with a secret, never without an end."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from ansible_collections.inference.sglang.plugins.module_utils import _support_bundle, _support_gather
from ansible_collections.inference.sglang.plugins.module_utils._support_bundle import (
    Bundle,
    clean,
    kernel_lines,
    secrets_of,
    unit_environment,
    unit_without_values,
)
from ansible_collections.inference.sglang.plugins.module_utils._support_gather import Gatherer

from tests.unit.test_server_status import ID, KEY, deploy

TOKEN = "hf_CANARYtoken0123456789"
WORD = "canary-correct-horse-battery"
UNIT = f"""[Service]
User=sglang
Environment="HF_HOME=/var/cache/sglang/default/huggingface"
Environment=SGLANG_LOG_MS=1 'DB_PASSWORD={WORD}'
Environment="HF_TOKEN={TOKEN}" \\
  "CANARY_OTHER=canary-value-of-a-harmless-name"
ExecStart=/env/bin/python launcher.py -- --port 30000 --api-key {KEY}
SetCredential=api-key:canary-in-a-credential
"""
LOG = f"""[2026-11-30 02:13:00] server_args=ServerArgs(model_path='/models/x', api_key='{KEY}', tp_size=2)
[2026-11-30 02:13:01] Authorization: Bearer {KEY}
[2026-11-30 02:13:02] the word is {WORD} and the key is {KEY}, as bare words
[2026-11-30 02:13:03] GET https://user:canary-in-a-url@hub.example/x?token={TOKEN}
[2026-11-30 02:13:04] The server is fired up and ready to roll!
"""
KERNEL = """[1.0] usb 1-1: new device
[2.0] NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.
[3.0] Out of memory: Killed process 4242 (python3)
"""


def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A deployed instance whose every text holds canaries."""
    units = tmp_path / "units"
    (units / "sglang-default.service.d").mkdir(parents=True)
    (units / "sglang-default.service").write_text(UNIT)
    (units / "sglang-default.service.d/site.conf").write_text("[Service]\nEnvironment=SITE_SECRET=canary-of-the-drop-in\n")
    monkeypatch.setattr(_support_gather, "UNIT_DIRECTORY", str(units))
    home = deploy(tmp_path / "root", "http://127.0.0.1:30000")
    release = home / "releases" / ID
    manifest = tmp_path / "manifest.json"
    manifest.write_text(json.dumps({"files": {"model.safetensors": 1}}))
    record = json.loads((release / "release.json").read_text())
    record.update(id=ID, model={"manifest": str(manifest)}, environment={"path": str(tmp_path / "env")})
    record["serving"]["argv"] = ["--port", "30000", "--api-key", KEY]
    (release / "release.json").write_text(json.dumps(record))
    (release / "plan.json").write_text(json.dumps({"argv": ["--api-key", KEY], "env": {"HF_TOKEN": TOKEN}}, indent=1))
    (release / "sglang-default.service").write_text(UNIT)
    (tmp_path / "env/lib/python3.12/site-packages/sglang-0.5.11.dist-info").mkdir(parents=True)
    return tmp_path / "root"


def run(command: list[str]) -> tuple[int, str, str]:
    """The host's commands; no GPU."""
    answers = {
        ("journalctl", "--dmesg"): KERNEL,
        ("journalctl", "--unit"): LOG + "canary-of-the-drop-in is what the site said\n",
        ("systemctl", "show"): f"ActiveState=failed\nDropInPaths={_support_gather.UNIT_DIRECTORY}/sglang-default.service.d/site.conf\n",
    }
    if command[0] == "nvidia-smi":
        raise FileNotFoundError(2, "No such file or directory")
    return 0, answers.get(tuple(command[:2]), "text\n"), ""


def opened(path: Path) -> Mapping[str, str]:
    with tarfile.open(path) as archive:
        assert all(member.isfile() and member.name.startswith("support/") and ".." not in member.name for member in archive)
        return {member.name[len("support/") :]: archive.extractfile(member).read().decode() for member in archive}  # type: ignore[union-attr]


def test_the_bundle_holds_everything_and_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = Gatherer(str(host(tmp_path, monkeypatch)), "default", run).gather()
    path = tmp_path / "bundle.tar.gz"
    assert bundle.write(str(path), "support") == path.stat().st_size
    texts = opened(path)
    for name in (
        "bundle.json",
        "instance/accepted.json",
        *(f"releases/{ID}/{part}" for part in ("plan.json", "argv.txt", "environment-names.txt", "model-manifest.json", "unit.txt")),
        *("versions/env.txt", "unit/unit.txt", "unit/site.conf", "unit/state.txt", "log/journal.txt", "log/kernel.txt"),
        *("host/os-release.txt", "host/memory.txt", "host/kernel.txt"),
    ):
        assert texts[name].strip(), name
    everything = "\n".join(texts.values())
    for canary in (KEY, TOKEN, WORD, "canary-"):
        assert canary not in everything, next(name for name, text in texts.items() if canary in text)
    assert "fired up" in texts["log/journal.txt"]
    assert texts["log/kernel.txt"].splitlines() == KERNEL.splitlines()[1:]
    assert texts[f"releases/{ID}/environment-names.txt"].split() == ["CANARY_OTHER", "DB_PASSWORD", "HF_HOME", "HF_TOKEN", "SGLANG_LOG_MS"]
    assert "sglang==0.5.11" in texts["versions/env.txt"]
    assert json.loads(texts["bundle.json"])["missing"]["gpu/nvidia-smi.txt"] == "nvidia-smi: No such file or directory"


def test_a_host_without_anything_still_has_a_bundle(tmp_path: Path) -> None:
    def nothing(_command: list[str]) -> tuple[int, str, str]:
        raise FileNotFoundError(2, "No such file or directory")

    bundle = Gatherer(str(tmp_path), "default", nothing).gather()
    bundle.write(str(tmp_path / "b.tar.gz"), "support")
    missing = json.loads(opened(tmp_path / "b.tar.gz")["bundle.json"])["missing"]
    assert {"instance/accepted.json", "log/journal.txt", "log/kernel.txt", "unit/state.txt"} <= set(missing)


@pytest.mark.parametrize("damaged", ["release.json", "plan.json", "sglang-default.service"])
def test_damaged_files_fail_nothing_and_are_taken_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damaged: str) -> None:
    root = host(tmp_path, monkeypatch)
    (root / "instances/default/releases" / ID / damaged).write_bytes(b"\xff\x00{")
    assert Gatherer(str(root), "default", run).gather().texts["log/journal.txt"]


@pytest.mark.parametrize("wrong", ["x", 3, None, [], {"argv": 3}])
def test_parts_of_another_kind_fail_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: object) -> None:
    root = host(tmp_path, monkeypatch)
    path = root / "instances/default/releases" / ID / "release.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "serving": wrong, "model": wrong, "environment": wrong}))
    assert Gatherer(str(root), "default", run).gather().texts["log/journal.txt"]


def test_sizes_are_bounded_and_what_was_cut_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_support_bundle, "LARGEST_TEXT", 1000)
    monkeypatch.setattr(_support_bundle, "LARGEST_BUNDLE", 2500)
    bundle = Bundle()
    for number in range(4):
        bundle.add(f"log/{number}", "\n".join(f"line {line}" for line in range(1000)))
    assert sorted(bundle.texts) == ["log/0", "log/1"]
    assert all(len(text) <= 1000 and text.endswith("line 999") and text.startswith("line ") for text in bundle.texts.values())
    index = json.loads(bundle.index())
    assert index["missing"] == {"log/2": "the bundle is full", "log/3": "the bundle is full"}
    assert index["cut_characters"]["log/0"] > 0


def test_half_a_line_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of a secret without its name would be recognised by nobody."""
    monkeypatch.setattr(_support_bundle, "LARGEST_TEXT", 30)
    bundle = Bundle()
    bundle.add("log", f"password: {WORD}\nthe end")
    assert bundle.texts["log"] == "the end"


def test_the_file_is_its_owner_s_alone_and_no_link_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "b.tar.gz"
    path.write_text("")
    path.chmod(0o666)
    Bundle().write(str(path), "support")
    assert path.stat().st_mode & 0o777 == 0o600
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match=r"."):
        Bundle().write(str(tmp_path / "link"), "support")
    assert not (tmp_path / "elsewhere").exists()


def test_names_of_the_environment_and_no_value(tmp_path: Path) -> None:
    shown = unit_without_values(UNIT)
    assert "canary-value" not in shown
    assert "Environment=CANARY_OTHER=***" in shown
    assert "User=sglang" in shown
    assert unit_environment('Environment="A=50%% \\"x\\"" B=c') == {"A": '50% "x"', "B": "c"}
    assert unit_environment("Environment='never closed") == {}
    assert secrets_of({"A_TOKEN": "short", "B_TOKEN": "long-enough", "HF_HOME": "/cache/home"}, ["", " a-key-of-a-file\n"]) == [
        "a-key-of-a-file",
        "long-enough",
    ]


def test_known_values_go_before_what_only_looks_like_a_secret() -> None:
    assert KEY not in clean(f"x{KEY}y\n", [KEY])
    assert clean("a\nb\n") == "a\nb\n"
    assert kernel_lines("nothing\n") == "\n"


def test_a_real_log_stays_readable() -> None:
    lines = (Path(__file__).parent.parent / "data/logs/start-tiny-mtp.log").read_text()
    kept = clean(lines)
    assert "The server is fired up" in kept
    assert kept.count("\n") == lines.count("\n")
