# shellcheck shell=bash disable=SC2154  # here: the folder of `lab`
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
# Hosts: systemd-nspawn machines with systemd as PID 1, an overlay on an image as disk, a network namespace
# with one address on the bridge, and sshd.

# pid of the host's PID 1, seen from here; empty when it is not running
leader_of() {
  local supervisor
  supervisor=$(cat "$(host_dir "$1")/nspawn.pid" 2>/dev/null) || return 0
  [ -n "$supervisor" ] && [ "$(cat "/proc/$supervisor/comm" 2>/dev/null)" = systemd-nspawn ] || return 0
  # systemd-nspawn has one long-lived child: the host's PID 1
  awk '{print $1}' "/proc/$supervisor/task/$supervisor/children" 2>/dev/null || true
}

lab_list() {
  local dir
  for dir in "$SGLANG_LAB"/hosts/*/; do
    dir=${dir%/}
    [ -f "$dir/ip" ] && [ -n "$(leader_of "${dir##*/}")" ] && echo "${dir##*/} $(cat "$dir/ip")"
  done
  return 0
}

lab_up() {
  local positional=() nspawn_options=() offline='' limits=''
  while [ $# -gt 0 ]; do
    case $1 in
      --mount) nspawn_options+=("--bind=$2"); shift ;;
      --mount-ro) nspawn_options+=("--bind-ro=$2"); shift ;;
      --offline) offline=1 ;;
      --limits) limits=1 ;;
      -*) die "up: unknown option $1" ;;
      *) positional+=("$1") ;;
    esac
    shift
  done
  [ ${#positional[@]} -ge 2 ] || die "usage: lab up NAME ADDRESS [SUITE] [options]"
  local name=${positional[0]} address=${positional[1]} suite=${positional[2]:-$LAB_SUITE}
  check_name "$name"
  [ -x "$(rootfs_of "$suite")/lib/systemd/systemd" ] || lab_build_rootfs "$suite"
  local dir
  dir=$(host_dir "$name")
  if [ -n "$(leader_of "$name")" ]; then
    say "$name is already up at $(cat "$dir/ip")"
    return 0
  fi
  mkdir -p "$dir/upper" "$dir/work" "$dir/root"
  with_lock host_prepare_lab
  [[ $address == *.* ]] || address=$LAB_NET.$address
  [[ $address == "$LAB_NET".* ]] || die "$address is not in the lab's subnet $LAB_NET.0/24"
  echo "$address" >"$dir/ip"
  rm -f "$dir/offline"
  if [ -n "$offline" ]; then
    echo "$address" >"$dir/offline"
    with_lock network_nat
  fi
  host_disk "$name" "$address" "$suite"
  host_network "$name" "$address"
  host_boot "$name" "$limits" "${nspawn_options[@]}"
  host_wait_for_ssh "$name" "$address" "$suite"
}

host_prepare_lab() {
  packages_install "${LAB_HOST_PACKAGES[@]}"
  [ -f "$LAB_KEY" ] || ssh-keygen -q -t ed25519 -N '' -C "$LAB_TABLE" -f "$LAB_KEY"
  network_up
}

# The image read-only below, the host's own changes in upper/.
host_disk() {
  local name=$1 address=$2 suite=$3 dir root
  dir=$(host_dir "$name") root=$dir/root
  mountpoint -q "$root" ||
    mount -t overlay "$LAB_BRIDGE-$name" -o "lowerdir=$(rootfs_of "$suite"),upperdir=$dir/upper,workdir=$dir/work" "$root"
  [ ! -e "$root/etc/.lab-host" ] || return 0
  tr -d - </proc/sys/kernel/random/uuid >"$root/etc/machine-id"
  echo "$name" >"$root/etc/hostname"
  printf '127.0.0.1 localhost\n::1 localhost\n%s %s\n%s controller\n' "$address" "$name" "$LAB_NET.1" >"$root/etc/hosts"
  install -d -m 700 "$root/root/.ssh"
  install -m 600 "$LAB_KEY.pub" "$root/root/.ssh/authorized_keys"
  [ -f "$root/etc/ssh/ssh_host_ed25519_key" ] ||
    ssh-keygen -q -t ed25519 -N '' -C "$name" -f "$root/etc/ssh/ssh_host_ed25519_key"
  host_resolver "$root/etc/resolv.conf"
  # this machine's trust store, so that apt and pip inside get through a site's TLS proxy as it does
  if [ -s /etc/ssl/certs/ca-certificates.crt ]; then
    mkdir -p "$root/etc/ssl/certs"
    cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
    printf '[global]\ncert = /etc/ssl/certs/ca-certificates.crt\n' >"$root/etc/pip.conf"
  fi
  : >"$root/etc/.lab-host"
}

# This machine's name servers, less those that only it can reach (a local stub, IPv6).
host_resolver() {
  local source servers=''
  for source in /etc/resolv.conf /run/systemd/resolve/resolv.conf /run/NetworkManager/no-stub-resolv.conf; do
    servers=$(awk '$1=="nameserver" && $2 !~ /^127\./ && $2 !~ /:/' "$source" 2>/dev/null || true)
    [ -z "$servers" ] || break
  done
  if [ -z "$servers" ]; then
    say "no name server found that a host could reach: using 9.9.9.9" >&2
    servers='nameserver 9.9.9.9'
  fi
  rm -f "$1"
  echo "$servers" >"$1"
}

host_network() {
  local name=$1 address=$2 netns=$LAB_BRIDGE-$1
  # the first `ip netns add` on a machine makes /run/netns a mount point, and leaves it one
  mountpoint -q /run/netns || touch "$SGLANG_LAB/netns.made"
  ip netns add "$netns" 2>/dev/null || true
  if ! ip -n "$netns" link show eth0 >/dev/null 2>&1; then
    ip link del "$(link_of "$name")" 2>/dev/null || true
    ip link add "$(link_of "$name")" type veth peer name eth0 netns "$netns"
  fi
  ip link set "$(link_of "$name")" master "$LAB_BRIDGE" up
  ip -n "$netns" link set lo up
  ip -n "$netns" addr replace "$address/24" dev eth0
  ip -n "$netns" link set eth0 up
  ip -n "$netns" route replace default via "$LAB_NET.1"
}

# Where the host's processes live:
# - systemd is PID 1 here: a transient unit with a delegated cgroup; limits of units inside are enforced.
# - otherwise: a private mount namespace in which /sys/fs/cgroup is the cgroup2 tree alone, so that the host
#   sees plain cgroup v2 whatever layout this machine has. Where the controllers are bound to cgroup v1,
#   MemoryMax=, TasksMax= and CPUQuota= inside are accepted, not enforced; --limits enforces them by giving the
#   host this machine's hybrid layout with v1 cgroups of its own.
host_boot() {
  local name=$1 limits=$2 dir kind=plain
  shift 2
  dir=$(host_dir "$name")
  ! systemd_is_pid_1 || kind=systemd
  if [ -n "$limits" ] && [ $kind = plain ] && grep -q ' /sys/fs/cgroup/memory cgroup ' /proc/mounts; then kind=hybrid; fi
  # shellcheck disable=SC2054
  local nspawn=(systemd-nspawn --quiet --register=no --keep-unit "--machine=$name" "--directory=$dir/root"
    "--network-namespace-path=/run/netns/$LAB_BRIDGE-$name" --capability=CAP_NET_ADMIN,CAP_BPF,CAP_PERFMON
    --system-call-filter=bpf --resolv-conf=off --timezone=off --link-journal=no --console=pipe "$@")
  # 133 asks for a reboot; with --keep-unit nspawn leaves that to us. Without CAP_BPF and the bpf call,
  # IPAddressDeny= in a unit would silently not be enforced.
  if [ $kind = hybrid ]; then
    host_hybrid_init "$dir/root/.lab-init"
    nspawn+=(--kill-signal=SIGRTMIN+3 /.lab-init)
  else
    nspawn+=(--boot)
  fi
  {
    printf '#!/bin/bash\nname=%q dir=%q tree=%q kind=%q nspawn=(' "$name" "$dir" "$LAB_TABLE" "$kind"
    printf '%q ' "${nspawn[@]}"
    printf ')\n'
    cat "$here/lib/boot.sh"
  } >"$dir/boot"
  chmod +x "$dir/boot"
  rm -f "$dir/nspawn.pid"
  if [ $kind = systemd ]; then
    systemd-run --quiet --collect --unit="$LAB_BRIDGE-$name" --property=Delegate=yes --property=KillMode=mixed \
      --property=TasksMax=infinity --property=StandardOutput="truncate:$dir/console.log" \
      --property=StandardError="append:$dir/console.log" unshare --mount --propagation private "$dir/boot"
  else
    setsid unshare --mount --propagation private "$dir/boot" </dev/null >"$dir/console.log" 2>&1 &
  fi
}

host_hybrid_init() {
  cat >"$1" <<'I'
#!/bin/sh
for c in memory cpu cpuacct pids blkio; do mount -o remount,rw,bind /sys/fs/cgroup/$c; done
export SYSTEMD_PROC_CMDLINE=SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1 # systemd 256 and later want to be asked for v1
exec /lib/systemd/systemd
I
  chmod 755 "$1"
}

host_wait_for_ssh() {
  local name=$1 address=$2 suite=$3 dir banner supervisor
  dir=$(host_dir "$name")
  for _ in $(seq 1 1200); do
    if (exec 3<>"/dev/tcp/$address/22" && read -r -t 2 banner <&3 && [[ $banner == SSH-* ]]) 2>/dev/null; then
      say "$name ($suite) is up at $address"
      return 0
    fi
    supervisor=$(cat "$dir/nspawn.pid" 2>/dev/null || true)
    if [ -n "$supervisor" ] && [ ! -d "/proc/$supervisor" ]; then
      tail -n 20 "$dir/console.log" >&2
      die "$name died while booting"
    fi
    sleep 0.05 # nothing to wait on: sshd inside tells nobody here that it listens
  done
  tail -n 20 "$dir/console.log" >&2
  die "$name: no sshd at $address after 60 s"
}

lab_down() {
  [ $# -ge 1 ] || die "usage: lab down NAME [--keep]"
  local name=$1 keep=${2:-} dir
  check_name "$name"
  dir=$(host_dir "$name")
  host_end_ssh_masters "$dir/ssh"
  host_stop "$name" "$keep"
  rm -f "$dir/nspawn.pid"
  ip link del "$(link_of "$name")" 2>/dev/null || true
  ip netns del "$LAB_BRIDGE-$name" 2>/dev/null || true
  # a mount that was still busy a moment ago is free once the kernel has torn the host's namespaces down
  if mountpoint -q "$dir/root"; then umount "$dir/root" 2>/dev/null || umount -l "$dir/root"; fi
  systemd_is_pid_1 || host_remove_cgroups "$name"
  if [ "$keep" != --keep ]; then
    # renamed first: a process that still writes by the host's name (an ssh master with its socket) cannot refill what is being removed
    rm -rf --one-file-system "$SGLANG_LAB/hosts/.removing-$name"
    [ ! -e "$dir" ] || mv "$dir" "$SGLANG_LAB/hosts/.removing-$name"
    rm -rf --one-file-system "$SGLANG_LAB/hosts/.removing-$name"
    if [ -d "$SGLANG_LAB/hosts" ]; then rmdir --ignore-fail-on-non-empty "$SGLANG_LAB/hosts"; fi
  fi
  say "$name is down"
}

# Ansible's shared connections would outlive the host and answer for its successor at the same address.
host_end_ssh_masters() {
  local socket
  [ -d "$1" ] || return 0
  for socket in "$1"/*; do
    [ ! -S "$socket" ] || ssh -o ControlPath="$socket" -O exit lab >/dev/null 2>&1 || true
  done
}

host_stop() {
  local name=$1 keep=$2 leader supervisor
  supervisor=$(cat "$(host_dir "$name")/nspawn.pid" 2>/dev/null || true)
  leader=$(leader_of "$name")
  [ -n "$leader" ] || return 0
  if [ "$keep" = --keep ]; then # orderly power-off
    kill -s RTMIN+4 "$leader" 2>/dev/null || true
    timeout 30 tail -s 0.05 --pid="$supervisor" -f /dev/null || true
  fi
  kill -KILL "$leader" 2>/dev/null || true # a pid namespace dies with its PID 1
  timeout 10 tail -s 0.05 --pid="$supervisor" -f /dev/null || kill -KILL "$supervisor" 2>/dev/null || true
}

# Deepest first, reached through a private cgroup2 mount; a cgroup is busy for a moment after its last process.
host_remove_cgroups() {
  local list
  list=$(host_dir "$1")/cgroups
  # shellcheck disable=SC2016  # expanded by the inner shell
  unshare --mount --propagation private bash -c '
    umount -l /sys/fs/cgroup 2>/dev/null; mount -t cgroup2 cgroup2 /sys/fs/cgroup
    for _ in 1 2 3 4 5 6 7 8 9 10; do
      [ -d "/sys/fs/cgroup/$1/$2" ] || break
      find "/sys/fs/cgroup/$1/$2" -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.1
    done
    rmdir "/sys/fs/cgroup/$1" 2>/dev/null || true' _ "$LAB_TABLE" "$1" || true
  [ -f "$list" ] || return 0
  local cgroup
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    while read -r cgroup; do
      [ ! -d "$cgroup" ] || find "$cgroup" -depth -type d -exec rmdir {} + 2>/dev/null || true
    done <"$list"
    [ -n "$(while read -r cgroup; do [ ! -d "$cgroup" ] || echo "$cgroup"; done <"$list")" ] || break
    sleep 0.1
  done
  rmdir "/sys/fs/cgroup/systemd/$LAB_TABLE" "/sys/fs/cgroup/unified/$LAB_TABLE" 2>/dev/null || true
}

lab_shell() {
  [ $# -ge 1 ] || die "usage: lab shell NAME [COMMAND …]"
  local address
  address=$(cat "$(host_dir "$1")/ip" 2>/dev/null) || die "no host $1"
  shift
  # a host that lost its network ends a command in half a minute instead of never
  exec ssh -q -i "$LAB_KEY" -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o ConnectTimeout=10 \
    -o ServerAliveInterval=10 -o ServerAliveCountMax=3 "root@$address" "$@"
}

lab_fleet() {
  local self=$1 action=${2:-}
  shift
  case $action in
    up)
      local count=${2:-} prefix=${3:-f} suite=${4:-$LAB_SUITE} i
      [[ $count =~ ^(1?[0-9]{1,2})$ && $count -le 150 ]] || die "usage: lab fleet up N [PREFIX] [SUITE]; N is at most 150"
      lab_build_rootfs "$suite" >&2
      with_lock host_prepare_lab
      # shellcheck disable=SC2016  # expanded by the inner shell
      seq 1 "$count" | xargs -P 4 -I{} bash -c '"$0" up "$1$2" "$((100 + $2))" "$3" >&2' "$self" "$prefix" {} "$suite"
      echo "[sglang_hosts]"
      for i in $(seq 1 "$count"); do
        echo "$prefix$i ansible_host=$LAB_NET.$((100 + i)) ansible_control_path_dir=$(host_dir "$prefix$i")/ssh"
      done
      printf '[sglang_hosts:vars]\nansible_user=root\nansible_ssh_private_key_file=%s\nansible_python_interpreter=/usr/bin/python3\n' "$LAB_KEY"
      echo "ansible_ssh_common_args=-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
      ;;
    down)
      local dir prefix=${2:-f}
      for dir in "$SGLANG_LAB"/hosts/"$prefix"[0-9]*; do
        [ ! -d "$dir" ] || basename "$dir"
      done | xargs -r -P 4 -n1 "$self" down
      ;;
    *) die "usage: lab fleet up N [PREFIX] [SUITE] | lab fleet down [PREFIX]" ;;
  esac
}

lab_clean() {
  local dir
  for dir in "$SGLANG_LAB"/hosts/*/; do
    [ ! -d "$dir" ] || lab_down "$(basename "$dir")"
  done
  if [ ! -d "$SGLANG_LAB" ]; then
    say "nothing to clean"
    return 0
  fi
  with_lock hub_down
  with_lock network_down
  if [ "${1:-}" = --keep-state ]; then return 0; fi
  packages_purge
  state_remove
  say "removed $SGLANG_LAB"
}
