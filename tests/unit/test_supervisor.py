# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""The supervisor substitute reads the collection's units as systemd would, and refuses what it does not do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._unit import UnitPaths, UnitRequest, environment_line, exec_word, render_unit
from hypothesis import given
from hypothesis import strategies as st

from tests.support.supervisor import cli
from tests.support.supervisor.cgroup import hierarchy
from tests.support.supervisor.service import ended, over_limit
from tests.support.supervisor.state import Record
from tests.support.supervisor.unit_file import SANDBOX, Refused, Service, command_words, parse, words

PLUGINS = Path(__file__).parents[2] / "plugins"
PATHS = UnitPaths(
    environment="/root/ml-env",
    python="/root/ml-env/bin/python",
    release="/opt/sglang/instances/gpu/releases/abc",
    model="/root/models/tiny",
    readable=("/opt/a place",),
    writable=("/var/lib/written",),
    log_file="/var/log/sglang/gpu.log",
    key_file="/opt/sglang/instances/gpu/secrets/api-key",
    nvidia_modprobe="/usr/bin/nvidia-modprobe",
)
REQUEST = UnitRequest(
    instance="gpu",
    description="SGLang 0.5.11 (gpu)",
    user="root",
    group="root",
    paths=PATHS,
    argv=("--model-path", PATHS.model, "--served-model-name", 'a "b" $c 100%'),
    environment={"LD_LIBRARY_PATH": "/opt/lib dir"},
    gpus=("0", "1"),
    port=443,
    stop_timeout=7,
)
UNIT = render_unit(REQUEST)


def with_line(line: str, section: str = "Service") -> str:
    return UNIT.replace(f"[{section}]\n", f"[{section}]\n{line}\n")


def test_everything_that_our_units_say_is_read() -> None:
    service = parse(UNIT)
    assert service.exec_start == [PATHS.python, f"{PATHS.release}/launcher.py", *REQUEST.argv]
    assert service.exec_start_pre == [(["/usr/bin/nvidia-modprobe", "-u", "-c", "0"], False)]
    assert service.environment["LD_LIBRARY_PATH"] == "/opt/lib dir"
    assert service.environment["CUDA_VISIBLE_DEVICES"] == "0,1"
    assert (service.user, service.group, service.directory) == ("root", "root", "/var/cache/sglang/gpu")
    assert (service.cache_directory, service.cache_mode, service.umask) == ("sglang/gpu", 0o750, 0o077)
    assert service.credentials == {"api-key": PATHS.key_file}
    assert (service.log_file, service.stop_seconds) == (PATHS.log_file, 7)
    assert (service.restart, service.restart_seconds, service.start_interval, service.start_burst) == ("on-failure", 10, 1800, 5)
    assert service.limits == {"NOFILE": (1048576, 1048576), "MEMLOCK": (-1, -1), "STACK": (67108864, -1), "CORE": (0, 0)}
    assert service.wanted_by == ["multi-user.target"]


def test_the_sandbox_is_named_as_not_applied_and_nothing_else_is() -> None:
    """A directive that a later unit gains is either done, or named here on purpose."""
    assert set(parse(UNIT).not_applied) <= SANDBOX
    assert {"NoNewPrivileges", "ProtectSystem", "DevicePolicy", "BindReadOnlyPaths", "ReadWritePaths"} <= set(parse(UNIT).not_applied)
    assert not {"User", "UMask", "LoadCredential", "LimitCORE", "KillMode"} & SANDBOX


@pytest.mark.parametrize(
    ("line", "section"),
    [
        ("ExecStop=/bin/true", "Service"),
        ("Type=notify", "Service"),
        ("KillMode=process", "Service"),
        ("Restart=always", "Service"),
        ("StandardOutput=journal", "Service"),
        ("TimeoutStopSec=1min", "Service"),
        ("EnvironmentFile=/etc/x", "Service"),
        ("ExecStart=/bin/other", "Service"),
        ("ExecStartPre=/bin/true", "Service"),
        ("LimitNOFILE=many", "Service"),
        ("LoadCredential=api-key", "Service"),
        ("CacheDirectory=../etc", "Service"),
        ("Environment=A=%h", "Service"),
        ("a line without its sign", "Service"),
        ("Requires=other.service", "Unit"),
        ("NoNewPrivileges=yes", "Unit"),
        ("Also=other.service", "Install"),
    ],
)
def test_what_is_not_understood_is_refused(line: str, section: str) -> None:
    parse(UNIT)
    with pytest.raises(Refused):
        parse(with_line(line, section))


@pytest.mark.parametrize("text", ["[Timer]\nOnBootSec=1\n", UNIT.replace("StandardOutput=append:", "#"), UNIT.replace("ExecStart=", "#")])
def test_a_unit_that_would_not_run_as_written_is_refused(text: str) -> None:
    with pytest.raises(Refused):
        parse(text)


PRINTABLE = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]) | st.sampled_from("\n\t\"\\$%;' "), max_size=20)


@given(PRINTABLE)
def test_quoting_of_arguments_is_undone(text: str) -> None:
    word = exec_word(text)
    if word in ("", ";"):
        return
    assert command_words(f"/bin/x {word}")[1:] == [text]


@given(PRINTABLE)
def test_quoting_of_environment_is_undone(text: str) -> None:
    assert words(environment_line("NAME", text).partition("=")[2]) == [f"NAME={text}"]


@pytest.mark.parametrize("text", ["/bin/x $HOME", "/bin/x a ; /bin/y", "/bin/x 'a'", '/bin/x "a', "/bin/x %i", r"/bin/x \x41"])
def test_words_that_systemd_would_expand_are_refused(text: str) -> None:
    with pytest.raises(Refused):
        command_words(text)


def test_every_property_that_the_modules_ask_for_is_known() -> None:
    asked = set()
    for path in PLUGINS.rglob("*.py"):
        for names in re.findall(r'"((?:[A-Z][A-Za-z]+,)*(?:MainPID|ControlGroup|NRestarts)(?:,[A-Z][A-Za-z]+)*)"', path.read_text()):
            asked |= set(names.split(","))
    assert {"InvocationID", "MainPID", "ExecMainStatus", "Result", "NRestarts", "NeedDaemonReload"} <= asked
    assert asked <= set(cli.properties(cli.Unit("sglang-never-made.service")))


def test_every_verb_that_the_modules_use_is_known() -> None:
    used = {verb for path in PLUGINS.rglob("*.py") for verb in re.findall(r'\["systemctl", "([a-z-]+)"', path.read_text())}
    assert used >= {"show", "stop", "daemon-reload", "reset-failed", "is-enabled"}
    assert used <= set(cli.VERBS)


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["mask", "a.service"],
        ["show", "a.service", "--property", "Nope"],
        ["show", "--all", "a.service"],
        ["stop", "a.service", "b.service"],
    ]
    + [["start", "--no-block", "a.service"], ["show", "../a.service"], ["daemon-reload", "now"], ["--user", "start", "a.service"]],
)
def test_other_calls_are_refused(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.systemctl(argv) == 1
    assert "refuses" in capsys.readouterr().err


def test_it_never_says_that_it_is_systemd(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.systemctl(["--version"]) == 0
    assert not capsys.readouterr().out.startswith("systemd")


def test_verify_reads_as_the_roles_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A complaint names the file; what is not applied is said without it."""
    good, bad = tmp_path / "sglang-good.service", tmp_path / "sglang-bad.service"
    good.write_text(UNIT)
    bad.write_text(with_line("ExecReload=/bin/true"))
    assert cli.systemd_analyze(["verify", "--man=no", str(good)]) == 0
    said = capsys.readouterr().err
    assert "ProtectSystem" in said
    assert str(tmp_path) not in said
    assert cli.systemd_analyze(["verify", "--man=no", str(bad)]) == 1
    assert str(bad) in capsys.readouterr().err


@pytest.mark.parametrize(
    ("status", "found"),
    [
        (0, ("success", 1, 0)),
        (3 << 8, ("exit-code", 1, 3)),
        (15, ("success", 2, 15)),
        (9, ("signal", 2, 9)),
        (11 | 0x80, ("core-dump", 3, 11)),
    ],
)
def test_ends_are_told_in_systemds_words(status: int, found: tuple[str, int, int]) -> None:
    assert ended(status) == found


def test_start_limit_counts_recent_starts_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 1000.0)
    service = Service(start_interval=100, start_burst=2)
    assert over_limit(Record(starts=[950.0, 960.0]), service)
    assert not over_limit(Record(starts=[850.0, 960.0]), service)


@pytest.mark.parametrize(
    ("mounts", "found"),
    [
        ("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0", "/sys/fs/cgroup"),
        ("c /sys/fs/cgroup/systemd cgroup rw,name=systemd 0 0\nc /sys/fs/cgroup/unified cgroup2 rw 0 0", "/sys/fs/cgroup/systemd"),
        ("c /sys/fs/cgroup/memory cgroup rw,memory 0 0\nc /mnt/two cgroup2 rw 0 0", "/mnt/two"),
        ("c /sys/fs/cgroup/memory cgroup rw,memory 0 0", ""),
    ],
)
def test_the_tree_of_groups_is_the_one_that_systemd_would_take(mounts: str, found: str) -> None:
    assert hierarchy(mounts) == found
