# shellcheck shell=bash
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034,SC2153  # used by the files that source this one
# Settings and small helpers of the lab (sourced, not run).

SGLANG_LAB=${SGLANG_LAB:-/var/lib/inference-sglang-lab} # images, hosts' disks, key, wheelhouses, models
LAB_BRIDGE=${SGLANG_LAB_BRIDGE:-sgl0}                   # a second lab on one machine needs its own name
LAB_TABLE=inference_sglang_lab                          # our nftables table, cgroup and rule marker
[ "$LAB_BRIDGE" = sgl0 ] || LAB_TABLE=inference_sglang_lab_$LAB_BRIDGE
LAB_NAT=${SGLANG_LAB_NAT:-1}
LAB_KEY=$SGLANG_LAB/id_ed25519
LAB_SUITE=bookworm

die() {
  echo "lab: $*" >&2
  exit 1
}

say() { echo "lab: $*"; }

need_root() { [ "$(id -u)" = 0 ] || die "must run as root"; }

# The host's name names network interfaces, which the kernel limits to 15 characters.
check_name() {
  [[ $1 =~ ^[a-z][a-z0-9-]{0,10}$ ]] || die "bad host name '$1': a-z, 0-9 and -, at most 11 characters, a letter first"
}

# The host's end of its cable. Two labs may have a host of the same name; a link's name is the machine's.
link_of() {
  if [ "$LAB_BRIDGE" = sgl0 ]; then echo "v$1"; else echo "v$(printf %s "$LAB_BRIDGE/$1" | sha256sum | cut -c1-12)"; fi
}

rootfs_of() { echo "$SGLANG_LAB/rootfs-$1"; }
host_dir() { echo "$SGLANG_LAB/hosts/$1"; }

# `lab clean` removes the whole folder, so it must be one that the lab made. Looked for again after the listing: another command may be
# making it just now, and the mark is the first thing that it puts there.
state_make() {
  if [ ! -e "$SGLANG_LAB/.lab" ]; then
    mkdir -p "$SGLANG_LAB"
    [ -z "$(ls -A "$SGLANG_LAB")" ] || [ -e "$SGLANG_LAB/.lab" ] || die "SGLANG_LAB=$SGLANG_LAB holds something that is not the lab's: choose an empty folder"
    touch "$SGLANG_LAB/.lab"
  fi
}

state_remove() {
  [ -e "$SGLANG_LAB/.lab" ] || die "SGLANG_LAB=$SGLANG_LAB is not a folder of the lab: left alone"
  find "$SGLANG_LAB" -xdev -mindepth 1 -delete
  rmdir "$SGLANG_LAB" 2>/dev/null || true # a mount point stays
}

# Several commands may run at once: what is made once is made under this lock. (No `||` here: it would
# switch `set -e` off inside.)
with_lock() {
  state_make
  exec 9>"$SGLANG_LAB/lock"
  flock 9
  "$@"
  exec 9>&-
}

# systemd runs this machine and owns a unified cgroup tree
systemd_is_pid_1() {
  [ -d /run/systemd/system ] && [ "$(cat /proc/1/comm)" = systemd ] && [ "$(stat -fc %T /sys/fs/cgroup)" = cgroup2fs ]
}

lab_env() {
  with_lock network_choose
  cat <<V
SGLANG_LAB=$SGLANG_LAB
SGLANG_LAB_BRIDGE=$LAB_BRIDGE
SGLANG_LAB_TABLE=$LAB_TABLE
SGLANG_LAB_NET=$LAB_NET
SGLANG_LAB_GATEWAY=$LAB_NET.1
SGLANG_LAB_KEY=$LAB_KEY
SGLANG_LAB_HUB=http://$LAB_NET.1:$LAB_HUB_PORT
V
}
