# shellcheck shell=bash disable=SC2154
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
# The life of one host: sourced settings come first (name, dir, tree, kind, nspawn). It runs in a mount
# namespace of its own, so nothing that it mounts is seen outside.

# whatever the caller had open (a lock, say) must not stay open for as long as the host lives
for fd in "/proc/$$/fd"/*; do
  fd=${fd##*/}
  case $fd in
    0 | 1 | 2 | 255) ;;
    *) eval "exec $fd>&-" ;;
  esac
done

case $kind in
  plain)
    umount -l /sys/fs/cgroup 2>/dev/null
    mount -t cgroup2 cgroup2 /sys/fs/cgroup
    group=/sys/fs/cgroup/$tree/$name
    ;;
  systemd)
    # our unit's delegated cgroup; it may hand its controllers down only when no process sits in it
    unit=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
    group=$unit/host
    mkdir -p "$unit/loop"
    echo $$ >"$unit/loop/cgroup.procs"
    read -ra controllers <"$unit/cgroup.controllers"
    for controller in "${controllers[@]}"; do echo "+$controller" >"$unit/cgroup.subtree_control"; done
    ;;
  hybrid) group= ;;
esac

enter() { # move the calling process into the host's cgroup
  if [ -n "$group" ]; then
    mkdir -p "$group"
    echo "$BASHPID" >"$group/cgroup.procs"
    return
  fi
  local line controller path base
  : >"$dir/cgroups"
  while IFS= read -r line; do
    controller=${line#*:} path=${line##*:}
    controller=${controller%%:*} controller=${controller#name=}
    [ "$path" = / ] && path=
    case $controller in
      memory | cpu | cpuacct | pids | blkio | systemd) base=/sys/fs/cgroup/$controller$path/$tree-$name ;;
      '') base=/sys/fs/cgroup/unified/$tree/$name ;;
      *) continue ;;
    esac
    mkdir -p "$base"
    echo "$BASHPID" >"$base/cgroup.procs"
    echo "$base" >>"$dir/cgroups"
  done < <(cat /proc/self/cgroup)
  echo "/sys/fs/cgroup/systemd/$tree/$name" >>"$dir/cgroups"
}

mkdir -p /run/systemd/nspawn
mount -t tmpfs -o mode=755 tmpfs /run/systemd/nspawn
export SYSTEMD_NSPAWN_API_VFS_WRITABLE=network # sysctl net.* works in the host's own network namespace
status=133
while [ "$status" = 133 ]; do # the host asked for a reboot
  (
    echo "$BASHPID" >"$dir/nspawn.pid"
    enter
    exec "${nspawn[@]}"
  )
  status=$?
done
echo "lab: nspawn ended with status $status"
