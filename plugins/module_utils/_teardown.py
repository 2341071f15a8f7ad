# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
"""Takes away what this collection made on a host, and tells what stays and why: what others made, adopted or use.

What is ours is known by a mark of our own: the first line of a unit, the marker of an environment, the manifest of a model, the
account's comment. Everything else stays. What is already gone is no fault, so a killed run is finished by the next.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import grp
import os
import pwd
import re
from dataclasses import dataclass, field

from ansible_collections.inference.sglang.plugins.module_utils import _prune_survey as look
from ansible_collections.inference.sglang.plugins.module_utils import _prune_users as users
from ansible_collections.inference.sglang.plugins.module_utils._errors import SglangError
from ansible_collections.inference.sglang.plugins.module_utils._lease import LEASE_FILE, held_now, paused, refusal
from ansible_collections.inference.sglang.plugins.module_utils._live_unit import UNIT_DIRECTORY, RunCommand, instance_of_unit, parse_show
from ansible_collections.inference.sglang.plugins.module_utils._plain import as_mapping
from ansible_collections.inference.sglang.plugins.module_utils._prune import FOREIGN, MODEL, Item, Mention, named_by
from ansible_collections.inference.sglang.plugins.module_utils._prune_work import Order, alone, remove, take_away, try_lock
from ansible_collections.inference.sglang.plugins.module_utils._python_environment import MARKER
from ansible_collections.inference.sglang.plugins.module_utils._regular_files import read_record
from ansible_collections.inference.sglang.plugins.module_utils._unit import unit_name

CACHES = "/var/cache/sglang"
ROUTER_UNIT = "sglang-router.service"
ROUTER_MARK = "# Written by the Ansible collection inference.sglang, role sglang_router."
# What role inference_host gives an account that it makes.
ACCOUNT_COMMENT = "SGLang inference server"
_ROUTER_FILES = ("router.json", "secrets", ROUTER_UNIT, "workers.json", "workers.lock")
_WATCH = "inference-sglang-watch-"
_UV = re.compile(r"uv-\d[\w.]*")


@dataclass(frozen=True)
class Places:
    """Where the collection's things are on this host."""

    root: str = "/opt/sglang"
    environments: str = ""
    link: str = ""
    tools: str = ""
    models: str = ""
    router: str = ""
    user: str = ""
    group: str = ""
    check_mode: bool = False
    units: str = UNIT_DIRECTORY
    unit_folders: tuple[str, ...] = users.UNIT_FOLDERS
    caches: str = CACHES


@dataclass
class Taken:
    """What went (in check mode: would go), and what stays with its reason."""

    removed: list[str] = field(default_factory=list)
    kept: dict[str, str] = field(default_factory=dict)
    units: list[str] = field(default_factory=list)

    def take(self, path: str, check_mode: bool) -> None:
        """Remove a file, a link or a whole directory; one that is gone already is no fault."""
        if not os.path.lexists(path):
            return
        self.removed.append(path)
        if check_mode:
            return
        if look.is_directory(path):
            remove([path])
        else:
            os.unlink(path)

    def take_empty(self, path: str, check_mode: bool) -> None:
        """Remove a directory that holds nothing, or nothing but what went from it."""
        if not look.is_directory(path) or os.path.ismount(path):
            return
        left = [name for name in look.listed(path) if os.path.join(path, name) not in self.removed]
        if left:
            self.kept.setdefault(path, f"not empty: {', '.join(left[:5])}{' …' if len(left) > 5 else ''}")
            return
        self.removed.append(path)
        if not check_mode:
            os.rmdir(path)


def refuse_left(done: Taken, again: Taken) -> None:
    """After a removal: what a second look, in check mode, would still take away. It asks no process; what those use was kept."""
    left = [path for path in again.removed if path not in done.kept]
    if left:
        raise SglangError(
            "something that this collection made is still there",
            found=", ".join(left[:8]),
            wanted="nothing of it, after it was removed",
            next_step="look for what makes it again (a deployment that runs meanwhile), then run again",
        )


# ----- servers -----


def our_units(places: Places) -> dict[str, str]:
    """Unit file -> instance: the watches, whose name is ours alone, before those whose first line says that this collection wrote them."""
    directory = glob.escape(places.units)
    watches = sorted(glob.glob(f"{directory}/{_WATCH}*.timer")) + sorted(glob.glob(f"{directory}/{_WATCH}*.service"))
    servers = sorted(glob.glob(f"{directory}/sglang-*.service"))
    found = {path: os.path.splitext(os.path.basename(path))[0][len(_WATCH) :] for path in watches}
    return {**found, **{path: instance for path in servers if (instance := instance_of_unit(path))}}


def servers(places: Places, run: RunCommand) -> Taken:
    """Units, releases, stamps, keys and compiled kernels of every instance. A unit that still runs is refused."""
    done = Taken()
    units = our_units(places)
    homes = users.instance_homes(places.root)
    done.units = [os.path.basename(path) for path in units]
    instances = sorted({*units.values(), *(os.path.basename(home) for home in homes)})
    with contextlib.ExitStack() as stack:
        for home in homes:
            lease = held_now(home) if places.check_mode else stack.enter_context(paused(home))
            if lease is not None:
                raise refusal(lease, os.path.join(home, LEASE_FILE))
        if not places.check_mode:
            _refuse_running(done.units, run)
        for home in homes:
            _tell_logs(home, done)
        for path in units:
            done.take(path, places.check_mode)
            drop_ins = f"{path}.d"
            if os.path.isdir(drop_ins):
                done.kept[drop_ins] = "drop-ins are the site's"
        for instance in instances:
            foreign = os.path.join(places.units, unit_name(instance))
            if os.path.lexists(foreign) and foreign not in units:
                done.kept[foreign] = "a unit that this collection did not write"
            done.take(os.path.join(places.caches, instance), places.check_mode)
    # After the pause: the lease's file lies in there.
    for home in homes:
        done.take(home, places.check_mode)
    for directory in (os.path.join(places.root, "instances"), places.caches):
        done.take_empty(directory, places.check_mode)
    return done


def _refuse_running(units: list[str], run: RunCommand) -> None:
    for unit in units:
        state = parse_show(run(["systemctl", "show", unit, "--property", "ActiveState"])[1]).get("ActiveState", "")
        if state not in ("inactive", "failed", ""):
            raise SglangError(
                f"{unit} still runs",
                found=f"systemd: {state}",
                wanted="a stopped unit",
                next_step="use the role's entry point teardown, which stops it first; nothing was removed",
            )


def _tell_logs(home: str, done: Taken) -> None:
    """A log file lies where the site wanted it, and may be older than we are."""
    for path in glob.glob(f"{glob.escape(home)}/releases/*/release.json"):
        log = as_mapping(as_mapping(read_record(path)).get("serving")).get("log_file")
        if isinstance(log, str) and log and os.path.exists(log):
            done.kept[log] = "the log file that the site named"


# ----- the router -----


def router(places: Places, run: RunCommand) -> Taken:
    """The router's unit, options, keys and list of servers, and its environment. A router that still runs is refused. A unit of that name
    that others wrote stays, with the files that it may use."""
    done = Taken()
    path = os.path.join(places.units, ROUTER_UNIT)
    if not router_is_ours(places):
        done.kept[path] = "a unit that this collection did not write"
        return done
    done.units = [ROUTER_UNIT] if os.path.lexists(path) else []
    if not places.check_mode:
        _refuse_running(done.units, run)
    done.take(path, places.check_mode)
    if os.path.isfile(os.path.join(places.router, "launcher.py")):
        # The launcher last: what a killed run has left is still known for ours.
        for name in [*sorted(set(look.listed(places.router)) & set(_ROUTER_FILES)), "launcher.py"]:
            done.take(os.path.join(places.router, name), places.check_mode)
        done.take_empty(places.router, places.check_mode)
    environment = os.path.join(places.tools, "router")
    if os.path.isfile(os.path.join(environment, MARKER)):
        done.take(environment, places.check_mode)
        done.take(look.environment_lock(environment), places.check_mode)
        done.take(os.path.join(places.tools, ".locks/router.txt"), places.check_mode)
    return done


def router_is_ours(places: Places) -> bool:
    """Whether no other unit has the router's name, by the first line; then its account is ours as well."""
    path = os.path.join(places.units, ROUTER_UNIT)
    if not os.path.lexists(path):
        return True
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.readline().rstrip("\n") == ROUTER_MARK


# ----- environments and models -----


def environments(places: Places) -> Taken:
    """Environments that we built, the link to one of them, uv and its cache."""
    done = Taken()
    _versions("environments", places.environments, places, done)
    target = os.path.realpath(places.link) if os.path.islink(places.link) else ""
    # A link to what stays is somebody's way to it.
    if (
        target
        and (target in done.removed or not os.path.exists(target))
        and os.path.dirname(target) == os.path.realpath(places.environments)
    ):
        done.take(places.link, places.check_mode)
    elif os.path.lexists(places.link):
        done.kept[places.link] = "it is adopted, or leads elsewhere"
    _tools(places, done)
    for directory in (places.environments, places.tools):
        done.take_empty(directory, places.check_mode)
    return done


def models(places: Places) -> Taken:
    """Models that we fetched, the records of adopted ones (not those), and the download tool."""
    done = Taken()
    _versions("models", places.models, places, done)
    adopted = os.path.join(places.models, "adopted")
    for name in look.listed(adopted):
        if name.endswith((".manifest.json", ".lock")):
            done.take(os.path.join(adopted, name), places.check_mode)
    if os.path.isdir(places.tools):
        _versions("environments", places.tools, places, done)
    done.kept = {path: why for path, why in done.kept.items() if not path.startswith(f"{places.tools}/") and path != adopted}
    for directory in (adopted, places.models):
        done.take_empty(directory, places.check_mode)
    return done


def _versions(kind: str, root: str, places: Places, done: Taken) -> None:
    """What lies below a root, by the survey that pruning uses: only what is ours and what nothing else names goes."""
    if not os.path.isdir(root):
        return
    order = Order(kind=kind, root=root, keep=0, server_root=places.root, check_mode=places.check_mode, unit_folders=places.unit_folders)
    # Two names of one machine look at the same time.
    lock_kind = fcntl.LOCK_SH if places.check_mode else fcntl.LOCK_EX
    with contextlib.nullcontext() if places.check_mode else alone(order):
        for path in look.trash(kind, root):
            done.take(path, places.check_mode)
        with contextlib.ExitStack() as stack:
            locks = look.locks(kind, root)
            items = look.survey(kind, root, {lock: try_lock(lock, stack, lock_kind) for lock in locks})
            mentions = _others(items, places)
            going = [item for item in items if _goes(item, mentions, done)]
            records = [path for item in going if item.kind == MODEL and os.path.lexists(path := f"{item.path}.manifest.json")]
            taken = [] if places.check_mode else [path for item in going for path in take_away(item)]
            done.removed += [*(item.path for item in going), *records]
        remove(taken)
        _leftovers(kind, root, locks, [item.path for item in items if item not in going], places, done)


def _goes(item: Item, mentions: list[Mention], done: Taken) -> bool:
    by = named_by(item, mentions)
    reason = f"not ours: {item.about}" if item.kind == FOREIGN else item.busy or (f"in use: {by}" if by else "")
    if reason:
        done.kept[item.path] = reason
    return not reason


def _others(items: list[Item], places: Places) -> list[Mention]:
    """Units that are not ours, and what runs. In check mode our own servers still run, so processes say nothing."""
    ours = {f"the unit {path}" for path in our_units(places)}
    found = [mention for mention in users.units(places.unit_folders) if mention.by not in ours]
    return found if places.check_mode else found + users.processes({item.name for item in items})


def _leftovers(kind: str, root: str, locks: list[str], left: list[str], places: Places, done: Taken) -> None:
    """Lock files and records of what went, where nothing is left that needs them."""
    if kind == "environments":
        for lock in locks:
            if not any(look.environment_lock(path) == lock for path in left):
                done.take(lock, places.check_mode)
        return
    for repository in look.repositories(root):
        if any(os.path.dirname(path) == repository for path in left):
            continue
        for name in look.listed(repository):
            if name in (".lock", "refs.json") or name.startswith((".pending-", ".partial-")):
                done.take(os.path.join(repository, name), places.check_mode)
        done.take_empty(repository, places.check_mode)


def _tools(places: Places, done: Taken) -> None:
    """uv, its cache and the locks that were copied beside them; the download tool's environment too, which needs uv."""
    if not os.path.isdir(places.tools):
        return
    before = dict(done.kept)
    _versions("environments", places.tools, places, done)
    # The survey takes uv for somebody else's, and it is told below what is.
    done.kept = before
    for name in look.listed(places.tools):
        path = os.path.join(places.tools, name)
        ours = name in (".locks", "uv-cache") or (_UV.fullmatch(name) and os.path.isfile(os.path.join(path, MARKER)))
        if ours or re.fullmatch(rf"\.{_UV.pattern}\.lock", name):
            done.take(path, places.check_mode)


# ----- the host -----


def account(places: Places) -> tuple[bool, bool]:
    """Whether the service user is one that we made, and whether its group goes with it. Others' accounts have another comment."""
    try:
        user = pwd.getpwnam(places.user)
    except KeyError:
        return False, False
    if user.pw_gecos.split(",")[0] != ACCOUNT_COMMENT or user.pw_dir != "/nonexistent":
        return False, False
    try:
        group = grp.getgrnam(places.group)
    except KeyError:
        return True, False
    shared = [other for other in pwd.getpwall() if other.pw_gid == group.gr_gid and other.pw_name != places.user]
    return True, group.gr_gid == user.pw_gid and not shared and not set(group.gr_mem) - {places.user}


def host(places: Places) -> Taken:
    """The directories, as far as nothing is left in them. In check mode what other roles would take away is still in them."""
    done = Taken()
    for name in ("envs", "instances", "models", "tools"):
        done.take_empty(os.path.join(places.root, name), places.check_mode)
    done.take_empty(places.root, places.check_mode)
    return done
