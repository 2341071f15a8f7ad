# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""What a rollout does on which host: the state that a look found, the order of the changes, and when to stop. Pure.

A row is what a play keeps of a host (the fact ``__fleet_rollout``): host, group, state, why, release, origin, out, staged, verdict …
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._plain import as_mapping
from ansible_collections.inference.sglang.plugins.module_utils._rollout_batches import (
    Candidate,
    Quorum,
    as_quorum,
    make_batches,
    parse_batches,
    parse_min_serving,
    still_serving,
)

# What a look finds. Of `converged` and `serving` requests are answered; `finish` only has to go back into its balancer.
STATES = ("lost", "unknown", "converged", "finish", "fresh", "down", "serving")
DONE, FAILED = "done", "failed"
# These answer requests now.
_COSTING = ("converged", "serving")


def view_host(look: Mapping[str, Any]) -> dict[str, Any]:
    """A host's state out of what the module launch_plan returned there, or of how it failed."""
    if look.get("unreachable"):
        return _row("lost", [_first_line(look.get("msg"))])
    if look.get("failed") or "planned" not in look:
        return _row("unknown", [str(look.get("msg") or "no reason given")])
    accepted, difference = as_mapping(look.get("accepted")), as_mapping(look.get("difference"))
    release, record = as_mapping(look.get("release")), as_mapping(look.get("rollout"))
    active = bool(as_mapping(difference.get("live")).get("active", look.get("active")))
    common = {"release": str(release.get("id") or ""), "origin": str(accepted.get("id") or ""), "out": bool(look.get("out"))}
    common["phase"] = str(record.get("phase") or "")
    if look.get("complete") and difference.get("converged") and not look.get("unstaged"):
        return _row("finish" if common["out"] else "converged", [], **common)
    why = [*look.get("unstaged", []), *look.get("missing", []), *difference.get("reasons", [])]
    if accepted:
        return _row("serving" if active and not common["out"] else "down", why, **common)
    # Somebody else's server that is to be replaced serves until then.
    return _row("serving" if look.get("port_holders") or active else "fresh", why, **common)


# Rollouts that go back have names that begin so: a host that one of them has changed is where it was to be.
BACK = "back-"


def view_before_rollback(look: Mapping[str, Any], last: Mapping[str, Any], to: str = "") -> dict[str, Any]:
    """A host's state before a rollback, out of what the modules server_release and rollout_record returned there."""
    if look.get("unreachable") or last.get("unreachable"):
        return _row("lost", [_first_line(look.get("msg") or last.get("msg"))])
    if look.get("failed") or "releases" not in look:
        return _row("unknown", [str(look.get("msg") or "no reason given")])
    accepted, previous = as_mapping(look.get("accepted")), as_mapping(look.get("previous"))
    record, active = as_mapping(last.get("rollout")), as_mapping(look.get("unit")).get("active") == "active"
    origin, out = str(accepted.get("id") or ""), bool(last.get("out"))
    went_back = str(record.get("rollout") or "").startswith(BACK) and record.get("release") == origin and record.get("phase") != "failed"
    there = bool(origin) and (origin == to if to else went_back)
    release = to or (origin if there else str(previous.get("id") or ""))
    common = {"release": release, "origin": origin, "out": out, "phase": str(record.get("phase") or "")}
    if there and active:
        return _row("finish" if out else "converged", [], **common)
    if not there and release not in look["releases"]:
        kept = ", ".join(look["releases"]) or "none"
        return _row("unknown", [f"there is no release {release or 'before the accepted one'} to go back to; kept are {kept}"], **common)
    return _row("serving" if active and not out else "down", [f"goes from {origin or 'nothing'} to {release}"], **common)


def _row(state: str, why: Sequence[str], **more: Any) -> dict[str, Any]:
    return {"state": state, "why": list(why), "release": "", "origin": "", "out": False, "phase": "", "verdict": "", "code": "", **more}


def _first_line(text: object) -> str:
    return (str(text or "").strip() or "no reason given").splitlines()[0]


def make_plan(rows: Sequence[Mapping[str, Any]], fleet: Mapping[str, Any], batches: object, full: bool = False) -> dict[str, Any]:
    """Who is staged, who changes at once, who changes in which batch; `halt` says why nothing may be changed at all.

    `fleet`: by group's name min_serving and outside. With `full` every role walks over the converged hosts too.
    """
    lost = [row for row in rows if row["state"] in ("lost", "unknown")]
    walked = ("converged",) if full else ()
    fresh = [str(row["host"]) for row in rows if row["state"] == "fresh"]
    # Hosts that serve nothing now come first: their change costs nobody anything.
    changing = [row for row in rows if row["state"] in ("finish", "down")]
    changing += [row for row in rows if row["state"] in ("serving", *walked)]
    quorums = group_quorums(rows, fleet)
    plan: dict[str, Any] = {
        "hosts": [str(row["host"]) for row in rows],
        "stage": [str(row["host"]) for row in rows if row["state"] in ("fresh", "down", "serving", *walked)],
        "fresh": fresh,
        "batches": [],
        "halt": "",
        "groups": {name: _shown(quorum) for name, quorum in quorums.items()},
    }
    try:
        candidates = [Candidate(str(row["host"]), str(row["group"]), row["state"] in _COSTING) for row in changing]
        plan["batches"] = make_batches(candidates, parse_batches(batches), quorums)
        if lost:
            plan["halt"] = "; ".join(f"{row['host']} is {_words(row)}" for row in lost)
    except SglangError as error:
        plan["halt"] = str(error)
    plan["order"] = [host for batch in plan["batches"] for host in batch]
    plan["serial"] = [len(batch) for batch in plan["batches"]]
    if plan["halt"]:
        plan.update(stage=[], fresh=[], order=[], serial=[])
    return plan


def group_quorums(rows: Sequence[Mapping[str, Any]], fleet: Mapping[str, Any]) -> dict[str, Quorum]:
    """Each group's quorum, as the look found it."""
    return {
        str(name): Quorum(
            parse_min_serving(values["min_serving"]),
            serving=sum(1 for row in rows if row["group"] == name and row["state"] in _COSTING),
            outside=int(values["outside"]),
        )
        for name, values in fleet.items()
    }


def _shown(quorum: Quorum) -> dict[str, Any]:
    wanted = f"{quorum.wanted.number}%" if quorum.wanted.share else quorum.wanted.number
    return {"min_serving": wanted, "serving": quorum.serving, "outside": quorum.outside, "need": quorum.need}


def _words(row: Mapping[str, Any]) -> str:
    reason = _first_line((row.get("why") or [""])[0])
    return f"not reached ({reason})" if row["state"] == "lost" else f"in an unknown state ({reason})"


def reason_to_halt(plan: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], upcoming: Sequence[str]) -> str:
    """Why the hosts that come next must not be changed; empty where they may.

    Every host must have been staged, and every one that came before must have said so itself: silence is a host that was lost.
    """
    if plan["halt"]:
        return str(plan["halt"])
    found = {str(row["host"]): row for row in rows}
    failed = [name for name, row in found.items() if row.get("verdict") == FAILED]
    unstaged = [name for name in plan["stage"] if not as_mapping(found.get(name)).get("staged") and name not in failed]
    sequence = [*plan["fresh"], *plan["order"]]
    begin = min((sequence.index(name) for name in upcoming if name in sequence), default=len(sequence))
    silent = [name for name in sequence[:begin] if as_mapping(found.get(name)).get("verdict") not in (DONE, FAILED)]
    parts = [("failed", failed), ("not staged", unstaged), ("lost", [name for name in silent if name not in unstaged])]
    return "; ".join(f"{what}: {', '.join(names)}" for what, names in parts if names)


# ----- the quorum at this moment -----
def to_ask(rows: Sequence[Mapping[str, Any]], batch: Sequence[str]) -> dict[str, list[str]]:
    """Which host of a batch asks which others whether they serve: those of the batch's groups, dealt out evenly."""
    groups = {row["group"] for row in rows if row["host"] in batch and row["state"] in _COSTING}
    others = [str(row["host"]) for row in rows if row["group"] in groups and row["host"] not in batch and _should_serve(row)]
    return {name: others[index :: len(batch)] for index, name in enumerate(batch)}


def _should_serve(row: Mapping[str, Any]) -> bool:
    return row["state"] in _COSTING or row.get("verdict") == DONE


def answering(rows: Sequence[Mapping[str, Any]], asked: Sequence[Mapping[str, Any]]) -> set[str]:
    """The hosts whose server answers. `asked`: results of the module server_status, each with the host as its `item`."""
    instances = {str(row["host"]): row.get("instance", "default") for row in rows}
    return {
        str(result["item"])
        for result in asked
        for found in result.get("instances") or []
        if found.get("instance") == instances.get(str(result["item"])) and found.get("answers") == "yes"
    }


def quorum_faults(
    plan: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], batch: Sequence[str], asked: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Each group of the batch that would fall below its quorum; `asked`: what the hosts outside of it said just now."""
    faults, serving = [], answering(rows, asked)
    for group in sorted({str(row["group"]) for row in rows if row["host"] in batch and row["state"] in _COSTING}):
        members = {str(row["host"]) for row in rows if row["group"] == group}
        error = still_serving(group, as_quorum(plan["groups"][group]), len(members & serving - set(batch)))
        if error is not None:
            faults.append(str(error))
    return faults


def table(plan: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the look found, for a person: converged hosts in one line, every other one with its reasons."""
    converged = [str(row["host"]) for row in rows if row["state"] == "converged"]
    lines = [f"converged, nothing to do: {len(converged)} of {len(rows)} hosts"] if converged else []
    for row in rows:
        if row["state"] != "converged":
            lines.append(f"{row['host']}: {_STATE_WORDS[row['state']]}")
            lines += [f"  {line}" for reason in row["why"] for line in reason.splitlines()]
    if plan["fresh"]:
        lines.append(f"at once, as nothing serves there yet: {', '.join(plan['fresh'])}")
    lines += [f"batch {number}: {', '.join(batch)}" for number, batch in enumerate(plan["batches"], 1) if not plan["halt"]]
    return lines + ([f"NOTHING IS CHANGED: {plan['halt']}"] if plan["halt"] else [])


_STATE_WORDS = {
    "lost": "not reached",
    "unknown": "its state cannot be told",
    "finish": "the wanted release serves, but is not back in its balancer",
    "fresh": "nothing was accepted here yet",
    "down": "does not serve; it is healed before any serving host is changed",
    "serving": "serves, and differs from what is wanted",
}


def verdicts(plan: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """How it went, host by host."""
    lines, untouched = [], []
    touched = {*plan["stage"], *plan["fresh"], *plan["order"]}
    for row in rows:
        name, verdict = str(row["host"]), row.get("verdict")
        if row["state"] == "converged" and name not in touched:
            continue
        if verdict == DONE:
            lines.append(f"{name}: {row.get('text') or 'done'}")
        elif verdict == FAILED or row["state"] in ("lost", "unknown"):
            lines.append(f"{name}: FAILED: {row.get('text') or _words(row)}")
        elif row.get("begun"):
            lines.append(f"{name}: LOST while it was changed; the next run sees how far it came")
        elif name in plan["stage"] and not row.get("staged"):
            lines.append(f"{name}: LOST before it was staged; it serves what it served")
        else:
            untouched.append(name)
    if untouched:
        lines.append(f"not touched: {', '.join(untouched)}")
    return lines


def failed_hosts(plan: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Whose failure ends the play as a failed one."""
    return [str(row["host"]) for row in rows if row.get("verdict") == FAILED or row["state"] in ("lost", "unknown")] or (
        [str(rows[0]["host"])] if plan["halt"] and rows else []
    )
