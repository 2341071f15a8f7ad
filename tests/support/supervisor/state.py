# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is known of a unit: its file, the text that was loaded, and the record that its supervisor writes."""

from __future__ import annotations

import contextlib
import json
import os
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Optional

from tests.support.supervisor.unit_file import Refused

# Only for tests of the substitute itself: a folder that stands for / in front of the two places below.
ROOT = os.environ.get("SUPERVISOR_ROOT", "")
UNITS = Path(ROOT + "/etc/systemd/system")
STATE = Path(ROOT + "/run/inference-sglang-supervisor")
_NAME = re.compile(r"[A-Za-z0-9_@.-]+\.(?:service|target|scope|slice)")


@dataclass
class Record:
    """One unit's state, in systemd's words."""

    active: str = "inactive"
    sub: str = "dead"
    supervisor: int = 0
    supervisor_since: str = ""
    main_pid: int = 0
    invocation: str = ""
    restarts: int = 0
    result: str = "success"
    exit_code: int = 0
    exit_status: int = 0
    control_group: str = ""
    starts: list[float] = field(default_factory=list)  # seconds since the epoch, for the start limit


def since(pid: int) -> str:
    """When a process began, in clock ticks after boot; empty when it is gone. Tells a pid from its reuse."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in ("Z", "X") else fields[19]


class Unit:
    """The files of one unit."""

    def __init__(self, name: str) -> None:
        if not _NAME.fullmatch(name):
            raise Refused(f"the unit name {name}")
        self.name = name
        self.file = UNITS / name
        self._loaded, self._record = STATE / f"{name}.loaded", STATE / f"{name}.json"
        if (UNITS / f"{name}.d").exists():
            raise Refused(f"drop-ins ({UNITS / name}.d)")

    def record(self) -> Record:
        """The record; of a supervisor that was killed nothing is active any more."""
        try:
            record = Record(**json.loads(self._record.read_text()))
        except FileNotFoundError:
            return Record()
        if record.supervisor and since(record.supervisor) != record.supervisor_since:
            record.active, record.sub, record.result = "failed", "failed", "supervisor-gone"
            record.supervisor, record.main_pid = 0, 0
        return record

    def write(self, record: Record) -> None:
        """Replace the record at once."""
        STATE.mkdir(parents=True, exist_ok=True)
        draft = self._record.with_suffix(".new")
        draft.write_text(json.dumps(asdict(record)))
        draft.replace(self._record)

    # ----- the unit's text -----
    def text(self) -> Optional[str]:
        """What the unit file says now; None when there is none."""
        try:
            return self.file.read_text()
        except FileNotFoundError:
            return None

    def loaded(self) -> Optional[str]:
        """The text that a start would use: what was read last, or for a unit that nobody has loaded the file."""
        try:
            return self._loaded.read_text()
        except FileNotFoundError:
            return self.text()

    def load(self) -> Optional[str]:
        """Read the file, as `daemon-reload` and the first start do."""
        text = self.text()
        if text is not None:
            STATE.mkdir(parents=True, exist_ok=True)
            self._loaded.write_text(text)
        elif self.record().active in ("inactive", "failed"):
            self._loaded.unlink(missing_ok=True)
            self._record.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # as long as another unit has its state there
                STATE.rmdir()
        return text

    @property
    def needs_reload(self) -> bool:
        """Whether the file was changed since it was read."""
        return self._loaded.exists() and self._loaded.read_text() != self.text()

    # ----- enabling -----
    def links(self, targets: list[str]) -> list[Path]:
        """The links of an enabled unit."""
        return [UNITS / f"{target}.wants" / self.name for target in targets]


def known_units() -> list[Unit]:
    """Every unit that was loaded."""
    return [Unit(path.name[: -len(".loaded")]) for path in sorted(STATE.glob("*.loaded"))]
