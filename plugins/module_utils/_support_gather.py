# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Looks at the host for a support bundle. Whatever cannot be read is said in the bundle, and nothing fails for it."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping
from typing import Any, Optional

from ansible_collections.inference.sglang.plugins.module_utils import _release_files as files
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._live_unit import UNIT_DIRECTORY, RunCommand
from ansible_collections.inference.sglang.plugins.module_utils._plain import as_mapping
from ansible_collections.inference.sglang.plugins.module_utils._release import instance_directory
from ansible_collections.inference.sglang.plugins.module_utils._scrub import scrub_arguments
from ansible_collections.inference.sglang.plugins.module_utils._support_bundle import (
    LARGEST_TEXT,
    Bundle,
    kernel_lines,
    secrets_of,
    unit_environment,
    unit_without_values,
)
from ansible_collections.inference.sglang.plugins.module_utils._unit import unit_name

# A refused release is not the accepted one: the newest of those that are kept are taken, too.
NEWEST_RELEASES = 3
COMMANDS = {
    "gpu/nvidia-smi.txt": ["nvidia-smi"],
    "gpu/nvidia-smi-q.txt": ["nvidia-smi", "-q", "-d", "MEMORY,UTILIZATION,ECC,TEMPERATURE,POWER,CLOCK,PERFORMANCE"],
    "gpu/topology.txt": ["nvidia-smi", "topo", "-m"],
    "host/kernel.txt": ["uname", "-a"],
    "host/disks.txt": ["df", "-h", "/", "/dev/shm", "/var/cache", "/opt"],
    "host/processes.txt": ["ps", "-eo", "pid,ppid,user,lstart,rss,stat,comm"],
}
FILES = {
    "gpu/driver.txt": "/proc/driver/nvidia/version",
    "host/os-release.txt": "/etc/os-release",
    "host/memory.txt": "/proc/meminfo",
}


def read_end(path: str) -> str:
    """The end of a file, as far as a bundle takes it."""
    with open(path, "rb") as handle:
        handle.seek(max(0, os.fstat(handle.fileno()).st_size - LARGEST_TEXT - 1))
        return handle.read(LARGEST_TEXT + 1).decode("utf-8", "replace")


class Gatherer:
    """One instance's bundle."""

    def __init__(self, root: str, instance: str, run: RunCommand) -> None:
        self._home = instance_directory(root, instance)
        self._unit = unit_name(instance)
        self._run = run
        self._releases = self._newest()
        self._records = [record for record in map(self._record, self._releases) if record]
        self._placed = self._text(f"{UNIT_DIRECTORY}/{self._unit}") or ""
        self.bundle = Bundle(self._secrets())

    def gather(self) -> Bundle:
        """Everything. The small facts come first: the logs may fill the bundle."""
        self._add_instance()
        self._add_releases()
        self._add_versions()
        for name, path in FILES.items():
            self._add_file(name, path)
        for name, command in COMMANDS.items():
            self._add_command(name, command)
        self._add_unit()
        self._add_logs()
        return self.bundle

    # -- what there is -------------------------------------------------------------------------------------------------------
    def _newest(self) -> list[str]:
        """Directories of the newest releases, the newest first."""
        places = [os.path.join(self._home, "releases", name) for name in files.present_releases(self._home)]
        return sorted(places, key=lambda place: os.stat(place).st_mtime, reverse=True)[:NEWEST_RELEASES]

    @staticmethod
    def _record(directory: str) -> dict[str, Any]:
        try:
            return files.read_release(directory)
        except (SglangError, OSError):
            return {}

    @staticmethod
    def _text(path: str) -> Optional[str]:
        try:
            return read_end(path)
        except OSError:
            return None

    def _serving(self, name: str) -> list[str]:
        found = [str(as_mapping(record.get("serving")).get(name) or "") for record in self._records]
        return sorted({value for value in found if value})

    def _secrets(self) -> list[str]:
        units = [self._placed, *(self._text(path) or "" for path in glob.glob(f"{UNIT_DIRECTORY}/{self._unit}.d/*.conf"))]
        units += [*(self._text(os.path.join(place, self._unit)) or "" for place in self._releases)]
        environment: dict[str, str] = {}
        for number, unit in enumerate(units):  # the same variable may have had another value
            environment.update({f"{number}_{name}": value for name, value in unit_environment(unit).items()})
        keys = glob.glob(os.path.join(glob.escape(self._home), "secrets", "*")) + self._serving("key_file")
        return secrets_of(environment, [self._text(path) or "" for path in keys])

    # -- adding --------------------------------------------------------------------------------------------------------------
    def _add_file(self, name: str, path: str) -> None:
        try:
            self.bundle.add(name, read_end(path))
        except OSError as error:
            self.bundle.lack(name, f"{path}: {error.strerror}")

    def _add_command(self, name: str, command: list[str]) -> str:
        """The output of a command, which is returned, too."""
        try:
            code, output, errors = self._run(command)
        except OSError as error:
            self.bundle.lack(name, f"{command[0]}: {error.strerror}")
            return ""
        if code != 0 and not output.strip():
            self.bundle.lack(name, f"{' '.join(command)}: status {code}: {errors[-400:]}")
        else:
            self.bundle.add(name, output)
        return output

    def _add_instance(self) -> None:
        for name in (files.ACCEPTED_FILE, files.PREVIOUS_FILE):
            self._add_file(f"instance/{name}", os.path.join(self._home, name))

    def _add_releases(self) -> None:
        for place in self._releases:
            folder = f"releases/{os.path.basename(place)}"
            self._add_file(f"{folder}/plan.json", os.path.join(place, "plan.json"))
            unit = self._text(os.path.join(place, self._unit))
            if unit is not None:
                self.bundle.add(f"{folder}/unit.txt", unit_without_values(unit))
                self.bundle.add(f"{folder}/environment-names.txt", "\n".join(sorted(unit_environment(unit))) + "\n")
            self._add_record(folder, self._record(place))

    def _add_record(self, folder: str, record: Mapping[str, Any]) -> None:
        words = as_mapping(record.get("serving")).get("argv")
        argv = [str(word) for word in words] if isinstance(words, list) else []
        if argv:
            self.bundle.add(f"{folder}/argv.txt", "\n".join(scrub_arguments(argv)) + "\n")
        manifest = str(as_mapping(record.get("model")).get("manifest") or "")
        if manifest:
            self._add_file(f"{folder}/model-manifest.json", manifest)

    def _add_versions(self) -> None:
        for path in sorted({str(as_mapping(record.get("environment")).get("path") or "") for record in self._records} - {""}):
            found = glob.glob(os.path.join(glob.escape(path), "lib/python3*/site-packages/*.dist-info"))
            packages = sorted(os.path.basename(name)[: -len(".dist-info")].replace("-", "==", 1) for name in found)
            self.bundle.add(f"versions/{os.path.basename(path)}.txt", "\n".join([path, *packages]) + "\n")

    def _add_unit(self) -> None:
        if self._placed:
            self.bundle.add("unit/unit.txt", unit_without_values(self._placed))
        properties = (
            "LoadState,ActiveState,SubState,Result,ExecMainCode,ExecMainStatus,NRestarts,ActiveEnterTimestamp,DropInPaths,MemoryPeak"
        )
        shown = self._add_command("unit/state.txt", ["systemctl", "show", self._unit, "--property", properties])
        for line in shown.splitlines():
            name, _equals, value = line.partition("=")
            for path in value.split() if name == "DropInPaths" else ():
                self.bundle.add(f"unit/{os.path.basename(path)}", unit_without_values(self._text(path) or ""))

    def _add_logs(self) -> None:
        try:
            self.bundle.add("log/kernel.txt", kernel_lines(self._kernel_log()))
        except OSError as error:
            self.bundle.lack("log/kernel.txt", str(error))
        for number, path in enumerate(self._serving("log_file")):
            self._add_file(f"log/file-{number}.txt", path)
        # Of the unit and not of one start: after a refused release the accepted one has started again.
        command = ["journalctl", "--unit", self._unit, "--no-pager", "--quiet", "--output=short-iso-precise", "--lines=20000"]
        self._add_command("log/journal.txt", command)

    def _kernel_log(self) -> str:
        try:
            code, output, _errors = self._run(["journalctl", "--dmesg", "--boot", "--no-pager", "--quiet", "--lines=20000"])
        except OSError:
            code, output = 1, ""
        return output if code == 0 and output.strip() else self._run(["dmesg", "--ctime"])[1]
