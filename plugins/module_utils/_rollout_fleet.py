# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a whole inventory: told before any host is touched. Pure."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._plain import shown
from ansible_collections.inference.sglang.plugins.module_utils._rollout_batches import parse_batches, parse_min_serving


@dataclass(frozen=True)
class Member:
    """One entry of the inventory: an instance on a machine. `looked`: part of this run, and not only of the inventory."""

    name: str
    address: str
    instance: str
    port: str
    balancer: str
    group: str
    min_serving: Any
    looked: bool = True


def member_of(name: str, values: Mapping[str, Any], looked: bool = True) -> Member:
    """A member out of its variables; what is not set has the roles' defaults."""

    def value(key: str, default: Any) -> Any:
        found = values.get(key)
        return default if found is None else found

    balancer = str(value("fleet_rollout_balancer", "none"))
    return Member(
        name=name,
        address=str(value("ansible_host", name)),
        instance=str(value("sglang_server_instance", "default")),
        port=str(value("sglang_server_port", 30000)),
        balancer=balancer,
        group=str(value("fleet_rollout_group", "")) or f"{_served(values)} ({balancer})",
        min_serving=value("fleet_rollout_min_serving", "50%"),
        looked=looked,
    )


def _served(values: Mapping[str, Any]) -> str:
    """The model's name, as the roles choose it."""
    name = values.get("sglang_server_served_model_name")
    path = values.get("sglang_server_model_path") or values.get("model_shards_path")
    return str(name or (os.path.basename(str(path).rstrip("/")) if path else values.get("model_shards_repo") or "Qwen/Qwen3.6-27B"))


def fleet_faults(members: Sequence[Member], batches: object, balancers: Iterable[str], directories: Mapping[str, str]) -> list[str]:
    """Every reason not to begin. `directories`: why a site's own balancer directory cannot be used, by its path."""
    looked = [member for member in members if member.looked]
    faults = _twice(looked, "port", "listen on port") + _twice(looked, "instance", "are the instance")
    try:
        parse_batches(batches)
    except SglangError as error:
        faults.append(f"{error.found} is not {error.wanted}")
    faults += _balancer_faults(looked, tuple(balancers), directories)
    return faults + _quorum_faults(members)


def _twice(members: Sequence[Member], what: str, words: str) -> list[str]:
    found: dict[tuple[str, str], list[str]] = {}
    for member in members:
        found.setdefault((member.address, getattr(member, what)), []).append(member.name)
    return [f"{' and '.join(names)} {words} {value} of {address}" for (address, value), names in found.items() if len(names) > 1]


def _balancer_faults(members: Sequence[Member], known: Sequence[str], directories: Mapping[str, str]) -> list[str]:
    faults = []
    for balancer in sorted({member.balancer for member in members} - set(known)):
        names = _names(member for member in members if member.balancer == balancer)
        if not balancer.startswith("/"):
            faults.append(
                f"fleet_rollout_balancer {balancer} of {names} is none of {', '.join(known)}, nor the full path of a site's own directory"
            )
        elif directories.get(balancer):
            faults.append(f"fleet_rollout_balancer of {names}: {directories[balancer]}")
    return faults


def _quorum_faults(members: Sequence[Member]) -> list[str]:
    faults = []
    groups: dict[str, list[Member]] = {}
    for member in members:
        groups.setdefault(member.group, []).append(member)
    for group, whole in sorted(groups.items()):
        looked = [member for member in whole if member.looked]
        wanted = sorted({str(member.min_serving) for member in looked})
        if len(wanted) > 1:
            faults.append(f"{_names(looked)} are one group ({group}) and have several fleet_rollout_min_serving: {', '.join(wanted)}")
            continue
        if not looked:
            continue
        try:
            amount = parse_min_serving(looked[0].min_serving)
        except SglangError as error:
            faults.append(f"{_names(looked)}: {error.found} is not {error.wanted}")
            continue
        if amount.number >= 100 if amount.share else amount.number >= len(whole):
            faults.append(
                f"{_names(looked)}: with fleet_rollout_min_serving {shown(looked[0].min_serving)} "
                f"none of the {len(whole)} hosts of the group {group} could ever be changed"
            )
    return faults


def _names(members: Iterable[Member]) -> str:
    names = [member.name for member in members]
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def groups_of(members: Sequence[Member]) -> dict[str, Any]:
    """What the plan of a rollout needs: the group of each host of this run, and each group's quorum."""
    looked = [member for member in members if member.looked]
    return {
        "group_of": {member.name: member.group for member in looked},
        "groups": {
            member.group: {
                "min_serving": member.min_serving,
                "outside": sum(1 for other in members if other.group == member.group and not other.looked),
            }
            for member in looked
        },
    }
