# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Which hosts change together: batches that leave enough of each group serving. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._plain import shown

_SHARE = re.compile(r"([0-9]{1,3})\s*%")
_NUMBER = re.compile(r"[0-9]{1,6}")


@dataclass(frozen=True)
class Amount:
    """A number of hosts, or a share of them in percent."""

    number: int
    share: bool = False

    def of(self, total: int) -> int:
        """How many that is, rounded down."""
        return total * self.number // 100 if self.share else self.number


def _amount(value: object) -> Union[Amount, None]:
    if isinstance(value, int) and not isinstance(value, bool):
        return Amount(int(value)) if value >= 0 else None
    text = str(value).strip() if isinstance(value, str) else ""
    share = _SHARE.fullmatch(text)
    if share:
        return Amount(int(share.group(1)), share=True) if int(share.group(1)) <= 100 else None
    return Amount(int(text)) if _NUMBER.fullmatch(text) else None


def parse_batches(value: object) -> tuple[Amount, ...]:
    """`deploy_batches`: sizes one after the other; the last one goes on until all hosts had their turn."""
    items = list(value) if isinstance(value, (list, tuple)) else [value]
    found = [_amount(item) for item in items]
    if not found or any(amount is None or amount.number == 0 for amount in found):
        raise SglangError(
            "the sizes of the batches cannot be used",
            found=f"deploy_batches (of a rollback, rollback_batches): {shown(value)}",
            wanted='a list of numbers of hosts and shares of them, each at least 1 (1%) and at most 100%, such as [1, "25%", "100%"]',
            next_step="""correct it on the command line: -e '{"deploy_batches": [1, "50%", "100%"]}'""",
        )
    return tuple(amount for amount in found if amount is not None)


def parse_min_serving(value: object) -> Amount:
    """`fleet_rollout_min_serving`: how many of a group must go on serving."""
    amount = _amount(value)
    if amount is None:
        raise SglangError(
            "it cannot be told how many hosts must go on serving",
            found=f"fleet_rollout_min_serving: {shown(value)}",
            wanted='a number of hosts, or a share of them such as "50%"',
            next_step="correct it in the inventory",
        )
    return amount


@dataclass(frozen=True)
class Quorum:
    """A group behind one balancer. `outside`: hosts of the inventory that this run does not look at, taken to serve."""

    wanted: Amount
    serving: int = 0  # hosts of this run that serve as it begins
    outside: int = 0

    @property
    def need(self) -> int:
        """Hosts of this run that must go on serving. A share is of this run's hosts alone: nobody knows whether the others serve."""
        return self.wanted.of(self.serving) if self.wanted.share else max(0, self.wanted.number - self.outside)

    @property
    def spare(self) -> int:
        """How many may be taken down at a time."""
        return self.serving - self.need


@dataclass(frozen=True)
class Candidate:
    """A host that is to be changed; `costs` says that its change takes a serving one away for a while."""

    name: str
    group: str
    costs: bool


def quorum_fault(group: str, quorum: Quorum) -> SglangError:
    """No host of the group can be changed at all."""
    wanted = f"{quorum.wanted.number}%" if quorum.wanted.share else str(quorum.wanted.number)
    return SglangError(
        f"no host of {group or 'the fleet'} can be changed without breaking its quorum",
        found=f"{quorum.serving} of its hosts serve in this run, {quorum.outside} more are outside of it",
        wanted=f"fleet_rollout_min_serving: {wanted} leaves {quorum.need} serving while at least one is changed",
        next_step="bring more hosts of the group to serve first, or lower fleet_rollout_min_serving",
    )


def make_batches(hosts: Sequence[Candidate], sizes: Sequence[Amount], groups: Mapping[str, Quorum]) -> list[list[str]]:
    """Every host once, in order. A batch ends early where the next host would leave its group with too few."""
    stuck = [host for host in hosts if host.costs and groups[host.group].spare < 1]
    if stuck:
        raise quorum_fault(stuck[0].group, groups[stuck[0].group])
    batches: list[list[str]] = []
    left = list(hosts)
    while left:
        size = max(1, sizes[min(len(batches), len(sizes) - 1)].of(len(hosts)))
        down: dict[str, int] = {}
        batch: list[str] = []
        for host in left[:size]:
            down[host.group] = down.get(host.group, 0) + host.costs
            if host.costs and down[host.group] > groups[host.group].spare:
                break
            batch.append(host.name)
        batches.append(batch)
        left = left[len(batch) :]
    return batches


def still_serving(group: str, quorum: Quorum, serving: int) -> Union[SglangError, None]:
    """Whether enough others of the group serve at this moment for the batch to go down; `serving` counts hosts outside the batch."""
    if serving >= quorum.need:
        return None
    return SglangError(
        f"the quorum of {group or 'the fleet'} does not hold any more",
        found=f"{serving} of its hosts outside this batch serve now",
        wanted=f"{quorum.need} that go on serving",
        next_step="see with playbooks/status.yml which stopped and why, bring them back, then run the same command again",
    )


def as_quorum(values: Mapping[str, Any]) -> Quorum:
    """A quorum out of a play's variables."""
    return Quorum(parse_min_serving(values["min_serving"]), int(values.get("serving", 0)), int(values.get("outside", 0)))
