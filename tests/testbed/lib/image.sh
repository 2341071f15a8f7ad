# shellcheck shell=bash
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
# Images: one Debian root directory a suite (bookworm: systemd 252, Python 3.11; trixie: systemd 257, Python 3.13).

LAB_HOST_PACKAGES=(mmdebstrap systemd-container iproute2 nftables openssh-client util-linux procps python3)
LAB_IMAGE_PACKAGES=systemd,systemd-sysv,dbus,libpam-systemd,libnss-systemd,python3,python3-apt,openssh-server,ca-certificates,iproute2,procps,sudo

lab_build_rootfs() {
  local suite=$LAB_SUITE force='' argument
  for argument in "$@"; do
    case $argument in
      --force) force=1 ;;
      -*) die "build-rootfs: unknown option $argument" ;;
      *) suite=$argument ;;
    esac
  done
  with_lock image_build "$suite" "$force"
}

image_build() {
  local suite=$1 force=$2 out stamp
  out=$(rootfs_of "$suite")
  stamp="2 $suite $LAB_IMAGE_PACKAGES" # raise the number when image_adapt changes
  if [ -z "$force" ] && [ "$(cat "$out/etc/.lab-image" 2>/dev/null)" = "$stamp" ]; then
    say "the image $out is there"
    return 0
  fi
  packages_install "${LAB_HOST_PACKAGES[@]}"
  say "building the image of $suite (about a minute)"
  # dpkg's many fsyncs are what makes this slow on a busy disk (8 minutes against 50 s): build in memory, then copy
  local memory=/dev/shm
  [ "$(df -Pm /dev/shm | awk 'NR==2{print $4}')" -gt 900 ] || memory=$SGLANG_LAB
  LAB_TMP=$(mktemp -d -p "$memory" inference-sglang-image.XXXXXX)
  trap 'rm -rf --one-file-system "$LAB_TMP"' EXIT
  chmod 755 "$LAB_TMP"
  image_bootstrap "$suite" "$LAB_TMP"
  image_adapt "$LAB_TMP"
  echo "$stamp" >"$LAB_TMP/etc/.lab-image"
  rm -rf --one-file-system "$out.new"
  cp -a "$LAB_TMP" "$out.new"
  image_retire "$out"
  mv "$out.new" "$out"
  rm -rf --one-file-system "$LAB_TMP"
  say "built $out ($(du -sm "$out" | cut -f1) MB)"
}

# Hosts that are up stand on the old image: then it only steps aside, until `lab clean`.
image_retire() {
  [ -e "$1" ] || return 0
  if grep -F "lowerdir=$1," /proc/mounts >/dev/null; then
    mv "$1" "$(mktemp -u "$1.old.XXXXXX")"
  else
    rm -rf --one-file-system "$1"
  fi
}

# The address of Debian's archive that this machine's own apt uses: a site's mirror is the one it reaches.
image_mirror() { # image_mirror PATTERN DEFAULT
  local found=''
  if grep -qx 'ID=debian' /etc/os-release; then
    found=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
      awk '$1=="URIs:"{print $2} $1=="deb"{for(i=2;i<=NF;i++) if($i ~ /^http/){print $i; break}}' |
      sed 's#/*$##' | grep -E "^https?://.*$1\$" | head -n1 || true)
  fi
  echo "${found:-$2}"
}

image_bootstrap() {
  local suite=$1 root=$2 mirror security
  mirror=$(image_mirror '/debian' http://deb.debian.org/debian)
  security=$(image_mirror '/debian-security' http://deb.debian.org/debian-security)
  [ -s /usr/share/keyrings/debian-archive-keyring.gpg ] || packages_install debian-archive-keyring
  mmdebstrap --quiet --mode=root --variant=minbase --format=directory --include="$LAB_IMAGE_PACKAGES" \
    --dpkgopt=force-unsafe-io --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    "$suite" "$root" \
    "deb $mirror $suite main" "deb $mirror $suite-updates main" "deb $security $suite-security main"
}

# What makes a plain Debian a good target.
image_adapt() {
  local root=$1 unit
  rm -f "$root"/etc/ssh/ssh_host_* # each host makes its own
  : >"$root/etc/machine-id"
  printf 'PermitRootLogin prohibit-password\nUseDNS no\n' >"$root/etc/ssh/sshd_config.d/10-lab.conf"
  # no background apt jobs that hold the dpkg lock in the middle of a test; no ttys; a persistent journal
  for unit in apt-daily.timer apt-daily-upgrade.timer getty.target console-getty.service; do
    ln -sf /dev/null "$root/etc/systemd/system/$unit"
  done
  mkdir -p "$root/var/log/journal"
  echo 'nameserver 127.0.0.1' >"$root/etc/resolv.conf" # each host gets this machine's
  touch "$root/etc/default/locale"
  # hosts are thrown away: dpkg need not wait for the disk (on a busy one that is minutes)
  echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/90lab"
  cat >"$root/etc/apt/apt.conf.d/90lab" <<'A'
Acquire::Languages "none";
APT::Install-Recommends "false";
DPkg::Lock::Timeout "60";
A
}
