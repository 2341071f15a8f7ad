# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Every reason against a host, at once: needs, has, next."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._listeners import Listener, ProcessFacts
from ansible_collections.inference.sglang.plugins.module_utils._preflight import CAPABILITIES, check, refusal
from ansible_collections.inference.sglang.plugins.module_utils._preflight_gpu import version_key
from ansible_collections.inference.sglang.plugins.module_utils._preflight_needs import needs_of
from ansible_collections.inference.sglang.plugins.module_utils._preflight_types import (
    Capability,
    DeviceNode,
    DiskFacts,
    DiskWant,
    DriverFacts,
    GpuFacts,
    GpuProcess,
    HostFacts,
    PythonFacts,
    Reason,
    Wants,
)

A6000 = GpuFacts(0, "NVIDIA RTX A6000", 49140, "8.6", used_mib=3, uuid="GPU-a")
PAIR = (A6000, replace(A6000, index=1, uuid="GPU-b"))
DISK = DiskFacts("/opt/sglang/envs", "/opt/sglang/envs", device=1, free_gib=100)
HOST = HostFacts(
    os_id="debian",
    os_version="12",
    os_name="Debian GNU/Linux 12 (bookworm)",
    architecture="x86_64",
    kernel="6.1.0",
    glibc="2.36",
    init="systemd",
    systemd=252,
    python=PythonFacts("/usr/bin/python3", "3.11.2"),
    memory_gib=128,
    shm_gib=64,
    disks=(DISK,),
    driver=DriverFacts("580.65.06", "nvidia-smi"),
    gpus=PAIR,
    capabilities=tuple(Capability(name, True) for name in CAPABILITIES),
)
WANTS = Wants(
    release=needs_of("0.5.11"),
    disks=(DiskWant("/opt/sglang/envs", "the environments", 20, executable=True),),
    memory_gib=4,
    shm_gib=1,
    own_units=("sglang-default.service",),
)
SERVER = Listener(30000, "0.0.0.0", 77, "root", "python3 -m sglang.launch_server", "2026-11-29T10:00:00Z", "session-3.scope")
PROCESS = ProcessFacts(78, 77, "root", "sglang::scheduler_TP0", "2026-11-29T10:00:20Z", "session-3.scope", (77, 50))


def reasons_of(host: dict[str, Any], wants: dict[str, Any]) -> list[Reason]:
    return list(check(replace(HOST, **host), replace(WANTS, **wants)).reasons)


def only_reason(host: dict[str, Any], wants: dict[str, Any]) -> Reason:
    (reason,) = reasons_of(host, wants)
    return reason


def test_a_good_host_has_no_reason_and_no_note() -> None:
    verdict = check(HOST, WANTS)
    assert (verdict.reasons, verdict.notes) == ((), ())


@pytest.mark.parametrize(
    ("host", "wants", "need", "has"),
    [
        (
            {"os_id": "rocky", "os_version": "9.4", "os_name": "Rocky Linux 9.4"},
            {},
            "Debian 12, Debian 13, Ubuntu 22.04",
            "Rocky Linux 9.4",
        ),
        ({"os_id": "debian", "os_version": "11", "os_name": "Debian 11"}, {}, "Debian 12", "Debian 11"),
        ({"architecture": "aarch64"}, {}, "x86_64", "aarch64"),
        ({"glibc": "2.31"}, {}, "glibc >= 2.34", "glibc 2.31"),
        ({"glibc": ""}, {}, "glibc >= 2.34", "another C library"),
        ({"init": "docker-init"}, {}, "systemd as process 1", "docker-init"),
        ({"systemd": 246}, {}, "systemd >= 247", "systemd 246"),
        ({"python": PythonFacts("/usr/bin/python3", "3.9.2")}, {}, "Python >= 3.10", "Python 3.9.2"),
        ({"python": PythonFacts("/x", problem="No such file or directory")}, {}, "Python >= 3.10", "/x: No such file"),
        ({"python": PythonFacts("/usr/bin/python3", "3.10.12")}, {"release": needs_of("0.5.23")}, "Python >= 3.11", "3.10.12"),
        ({"memory_gib": 3.2}, {}, "4 GiB", "3.2 GiB"),
        ({"shm_gib": 0.06}, {}, "1 GiB", "0.06 GiB"),
        ({"driver": DriverFacts("575.57.08", "nvidia-smi")}, {}, "driver >= 580 (CUDA 13, SGLang 0.5.11)", "driver 575.57.08"),
        ({}, {"driver": "590"}, "driver >= 590 (inference_host_min_driver)", "driver 580.65.06"),
        ({"gpus": (replace(A6000, compute_capability="7.0", name="Tesla V100"),)}, {}, "compute capability >= 7.5", "Tesla V100: 7.0"),
        ({}, {"gpu_indices": (1, 2)}, "the GPUs 1, 2", "only the GPUs 0, 1"),
    ],
)
def test_one_thing_wrong_is_one_reason(host: dict[str, Any], wants: dict[str, Any], need: str, has: str) -> None:
    reason = only_reason(host, wants)
    assert need in reason.need
    assert has in reason.has
    assert reason.next


def test_all_reasons_come_at_once_and_in_one_message() -> None:
    reasons = reasons_of({"glibc": "2.31", "memory_gib": 1, "driver": DriverFacts("535.1", "/proc"), "gpus": PAIR}, {"memory_gib": 8})
    assert [reason.subject for reason in reasons] == ["C library", "NVIDIA driver", "Memory"]
    text = str(refusal(reasons, "0.5.11"))
    assert text.splitlines()[0] == "This host is not ready for SGLang 0.5.11: 3 reasons. Nothing was changed."
    assert text.count("needs:") == text.count("has:") == text.count("next:") == 3


def test_an_unsupported_system_can_be_accepted() -> None:
    assert reasons_of({"os_id": "rocky", "os_version": "9.4"}, {"allow_unsupported_os": True}) == []


def test_an_expected_system_is_noted() -> None:
    verdict = check(replace(HOST, os_id="ubuntu", os_version="24.04", os_name="Ubuntu 24.04.3 LTS"), WANTS)
    assert not verdict.reasons
    assert "Ubuntu 24.04.3 LTS is expected to work" in verdict.notes[0]


def test_an_unknown_release_is_refused() -> None:
    with pytest.raises(SglangError, match=r"0\.4\.0"):
        needs_of("0.4.0")


@pytest.mark.parametrize(
    ("lower", "higher"), [("575.57.08", "580"), ("3.9.18", "3.10"), ("2.4", "2.34"), ("580.65.06", "580.159.04"), ("7.5", "8")]
)
def test_versions_compare_as_numbers(lower: str, higher: str) -> None:
    assert version_key(lower) < version_key(higher)


def test_versions_ignore_trailing_zeros() -> None:
    assert version_key("580") == version_key("580.0") == version_key("580.00.0")


# --- OS libraries


@pytest.mark.parametrize("name", CAPABILITIES)
def test_a_required_library_that_is_missing_is_a_reason(name: str) -> None:
    missing = tuple(replace(c, present=c.name != name) for c in HOST.capabilities)
    assert only_reason({"capabilities": missing}, {"capabilities": tuple(CAPABILITIES)}).need == CAPABILITIES[name]
    assert reasons_of({"capabilities": missing}, {}) == []


# --- GPUs


NONE: dict[str, Any] = {"gpus": (), "driver": DriverFacts()}


def test_no_driver_is_a_reason_that_names_the_way_out() -> None:
    reason = only_reason(NONE, {})
    assert reason.need == "driver >= 580 (CUDA 13, SGLang 0.5.11)"
    assert "inference_host_require_gpu: false" in reason.next


def test_no_driver_where_none_is_required_is_said() -> None:
    verdict = check(replace(HOST, **NONE), replace(WANTS, require_gpu=False))
    assert not verdict.reasons
    assert "none is required" in verdict.notes[0]


def test_declared_gpus_stand_in_and_that_is_said() -> None:
    verdict = check(replace(HOST, **NONE), replace(WANTS, declared_gpus=PAIR, gpu_indices=(0, 1)))
    assert not verdict.reasons
    assert "come from the inventory" in verdict.notes[0]
    assert "NVIDIA RTX A6000, 49140 MiB" in verdict.notes[0]


def test_declared_gpus_are_checked_like_real_ones() -> None:
    old = replace(A6000, name="Tesla V100", compute_capability="7.0")
    assert "Tesla V100: 7.0" in only_reason(NONE, {"declared_gpus": (old,)}).has
    assert "only the GPUs 0, 1" in only_reason(NONE, {"declared_gpus": PAIR, "gpu_indices": (5,)}).has


def test_real_gpus_win_over_declared_ones() -> None:
    verdict = check(HOST, replace(WANTS, declared_gpus=(A6000,)))
    assert not verdict.reasons
    assert "differ from inference_host_gpus" in verdict.notes[0]
    assert check(HOST, replace(WANTS, declared_gpus=PAIR)).notes == ()


@pytest.mark.parametrize(
    ("problem", "step"),
    [
        ("Failed to initialize NVML: Driver/library version mismatch", "reboot"),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", "modprobe nvidia"),
        ("no answer in 30 s", "Xid"),
        ("No devices were found", "NVRM"),
        ("the program is missing", "install nvidia-smi"),
    ],
)
def test_an_nvidia_smi_that_does_not_work(problem: str, step: str) -> None:
    reason = only_reason({"gpus": (), "driver": DriverFacts("580.65.06", "/proc", problem)}, {})
    assert problem in reason.has
    assert step in reason.next
    assert reasons_of({"gpus": (), "driver": DriverFacts("580.65.06", "/proc", problem)}, {"require_gpu": False}) == []


def test_an_old_driver_with_a_broken_nvidia_smi_gives_both_reasons() -> None:
    reasons = reasons_of({"gpus": (), "driver": DriverFacts("535.1", "/proc", "version mismatch")}, {})
    assert [reason.subject for reason in reasons] == ["NVIDIA driver", "NVIDIA GPUs"]


def test_device_files_of_a_group() -> None:
    nodes = (DeviceNode("/dev/nvidia0", world=False, group="video"),)
    reason = only_reason({"device_nodes": nodes}, {"user": "sglang"})
    assert "inference_host_supplementary_groups: [video]" in reason.next
    assert reasons_of({"device_nodes": nodes}, {"user": "sglang", "supplementary_groups": ("video",)}) == []
    assert reasons_of({"device_nodes": nodes, "user_groups": ("sglang", "video")}, {"user": "sglang"}) == []
    assert reasons_of({"device_nodes": nodes}, {"user": "root"}) == []


def busy(process: ProcessFacts | None = PROCESS) -> dict[str, Any]:
    return {"gpus": (replace(A6000, used_mib=30000), PAIR[1]), "gpu_processes": (GpuProcess("GPU-a", 78, 29990, process),)}


def test_a_gpu_in_use_is_named_with_its_process() -> None:
    reason = only_reason(busy(), {})
    assert "GPU 0 (NVIDIA RTX A6000) free" in reason.need
    assert "29990 MiB by pid 78 of user root since 2026-11-29T10:00:20Z, unit session-3.scope: sglang::scheduler_TP0" in reason.has


def test_a_gpu_that_is_not_wanted_may_be_in_use() -> None:
    assert reasons_of(busy(), {"gpu_indices": (1,)}) == []


def test_our_own_unit_may_use_the_gpu() -> None:
    assert reasons_of(busy(replace(PROCESS, unit="sglang-default.service")), {}) == []
    assert reasons_of(busy(replace(PROCESS, unit="sglang-other.service")), {})


def test_a_server_that_will_be_replaced_may_use_the_gpu_and_another_program_may_not() -> None:
    wants = {"ports": (30000,), "replace_unmanaged": True}
    assert reasons_of({**busy(), "listeners": (SERVER,)}, wants) == []
    stranger = replace(PROCESS, pid=90, ancestors=(50,), command="python3 train.py")
    assert "train.py" in only_reason({**busy(stranger), "listeners": (SERVER,)}, wants).has


def test_memory_that_nobody_is_named_for() -> None:
    nameless = {"gpus": (replace(A6000, used_mib=30000),)}
    assert "no process that nvidia-smi names" in only_reason(nameless, {}).has
    assert "not visible from here" in only_reason(busy(None), {}).has
    assert reasons_of({"gpus": (replace(A6000, used_mib=1000),)}, {}) == []


def test_in_a_container_a_running_unit_of_ours_accounts_for_nameless_memory() -> None:
    units = ("ssh.service", "sglang-default.service")
    assert reasons_of({"gpus": (replace(A6000, used_mib=30000),), "units": units}, {}) == []
    assert reasons_of({**busy(None), "units": units}, {}) == []


# --- disks


def test_needs_on_one_file_system_add_up() -> None:
    disks = (replace(DISK, free_gib=60), replace(DISK, path="/opt/sglang/models", real_path="/opt/sglang/models", free_gib=60))
    wants = (*WANTS.disks, DiskWant("/opt/sglang/models", "the models", 52))
    reason = only_reason({"disks": disks}, {"disks": wants})
    assert reason.need == (
        "72 GiB free on one file system: 20 for the environments (/opt/sglang/envs), 52 for the models (/opt/sglang/models)"
    )
    assert reason.has == "60.0 GiB free"
    assert reasons_of({"disks": (disks[0], replace(disks[1], device=2))}, {"disks": wants}) == []


def test_what_is_published_already_needs_little_room() -> None:
    assert reasons_of({"disks": (replace(DISK, free_gib=2, settled=True),)}, {}) == []
    assert only_reason({"disks": (replace(DISK, free_gib=0.5, settled=True),)}, {}).subject == "Disk"
    assert only_reason({"disks": (replace(DISK, free_gib=2),)}, {}).subject == "Disk"


@pytest.mark.parametrize(
    ("disk", "has"),
    [
        ({"real_path": "/tmp/envs"}, "/opt/sglang/envs → /tmp/envs (below /tmp)"),
        ({"real_path": "/run/envs"}, "below /run"),
        ({"read_only": True}, "mounted read-only"),
        ({"no_exec": True}, "mounted noexec"),
    ],
)
def test_places_that_cannot_be(disk: dict[str, Any], has: str) -> None:
    assert has in only_reason({"disks": (replace(DISK, **disk),)}, {}).has


def test_a_name_that_begins_like_tmp_is_fine() -> None:
    assert reasons_of({"disks": (replace(DISK, real_path="/tmpfs/envs"),)}, {}) == []


def test_files_that_are_no_programs_may_lie_on_noexec() -> None:
    assert reasons_of({"disks": (replace(DISK, no_exec=True),)}, {"disks": (replace(WANTS.disks[0], executable=False),)}) == []


# --- ports


def test_a_stranger_on_the_port_is_named() -> None:
    verdict = check(replace(HOST, listeners=(SERVER,)), replace(WANTS, ports=(30000,)))
    (reason,) = verdict.reasons
    assert "pid 77 of user root since 2026-11-29T10:00:00Z, unit session-3.scope: python3 -m sglang.launch_server" in reason.has
    assert "sglang_server_replace_unmanaged: true" in reason.next
    assert verdict.unmanaged == (SERVER,)


def test_a_server_on_both_kinds_of_address_is_one_reason() -> None:
    verdict = check(replace(HOST, listeners=(SERVER, replace(SERVER, address="::"))), replace(WANTS, ports=(30000,)))
    (reason,) = verdict.reasons
    assert reason.has.startswith("port 30000 (on 0.0.0.0 and ::): pid 77")
    assert len(verdict.unmanaged) == 1


def test_a_stranger_that_will_be_replaced_is_noted() -> None:
    verdict = check(replace(HOST, listeners=(SERVER,)), replace(WANTS, ports=(30000,), replace_unmanaged=True))
    assert not verdict.reasons
    assert verdict.notes[0].startswith("To be replaced: port 30000 (on 0.0.0.0): pid 77")
    assert verdict.unmanaged == (SERVER,)


def test_our_own_unit_may_hold_the_port() -> None:
    verdict = check(replace(HOST, listeners=(replace(SERVER, unit="sglang-default.service"),)), replace(WANTS, ports=(30000,)))
    assert (verdict.reasons, verdict.unmanaged) == ((), ())


@pytest.mark.parametrize("replacing", [True, False])
def test_another_instance_on_the_port_is_never_replaced(replacing: bool) -> None:
    sibling = replace(SERVER, unit="sglang-other.service")
    verdict = check(replace(HOST, listeners=(sibling,)), replace(WANTS, ports=(30000,), replace_unmanaged=replacing))
    assert "another port" in verdict.reasons[0].next
    assert verdict.unmanaged == ()


def test_other_ports_do_not_matter() -> None:
    assert reasons_of({"listeners": (SERVER,)}, {"ports": (30001,)}) == []
