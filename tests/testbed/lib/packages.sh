# shellcheck shell=bash
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
# Debian packages this machine needs for the lab. What was not there before is recorded, so that
# `lab clean` can take away exactly that.

LAB_PACKAGES_RECORD=$SGLANG_LAB/apt-installed

packages_installed_now() { dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' | awk '$1=="ii"{print $2}' | sort -u; }

# The ones of the arguments that are not installed.
packages_missing() {
  local package
  for package in "$@"; do
    dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep "^ii" >/dev/null || echo "$package"
  done
}

packages_install() {
  local missing before
  mapfile -t missing < <(packages_missing "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  say "installing ${missing[*]}"
  before=$(packages_installed_now)
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    -o DPkg::Lock::Timeout=120 "${missing[@]}" >/dev/null
  comm -13 <(echo "$before") <(packages_installed_now) >>"$LAB_PACKAGES_RECORD"
}

# Purge what we installed, unless that would take anything else with it (somebody has come to need it).
packages_purge() {
  local ours would
  [ -s "$LAB_PACKAGES_RECORD" ] || return 0
  mapfile -t ours < <(sort -u "$LAB_PACKAGES_RECORD" | comm -12 - <(packages_installed_now))
  while [ ${#ours[@]} -gt 0 ]; do
    would=$(apt-get -s purge "${ours[@]}" | awk '$1=="Purg"||$1=="Remv"{print $2}' | sed 's/:.*//' | sort -u)
    local extra
    extra=$(comm -13 <(printf '%s\n' "${ours[@]}" | sort -u) <(echo "$would"))
    if [ -z "$extra" ]; then
      say "removing the packages that the lab installed: ${ours[*]}"
      DEBIAN_FRONTEND=noninteractive apt-get purge -y -qq -o DPkg::Lock::Timeout=120 "${ours[@]}" >/dev/null
      break
    fi
    packages_drop_needed_by_others "$extra"
  done
  rm -f "$LAB_PACKAGES_RECORD"
}

# Take out of `ours` (the caller's) the packages whose removal would remove a package that is not ours.
packages_drop_needed_by_others() {
  local package kept=()
  for package in "${ours[@]}"; do
    if apt-get -s purge "$package" | awk '$1=="Purg"||$1=="Remv"{print $2}' | sed 's/:.*//' | grep -xF -- "$1" >/dev/null; then
      say "keeping $package: other packages need it now"
    else
      kept+=("$package")
    fi
  done
  # no progress would be an endless loop: then keep everything
  [ ${#kept[@]} -lt ${#ours[@]} ] || kept=()
  ours=("${kept[@]}")
}
