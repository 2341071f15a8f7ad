# shellcheck shell=bash disable=SC2153
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
# Bridge, fail-safe route, NAT, and room in other people's firewalls.

LAB_NET=${SGLANG_LAB_NET:-}
LAB_NET_CANDIDATES=(10.97.0 10.197.0 172.29.97 192.168.197 10.233.97 172.22.197)

# --- the subnet: chosen once, written down

# Anything but our own bridge and our own fail-safe route that reaches into NET.0/24?
network_taken() {
  local net=$1 others
  others=$({
    ip -4 -o addr show | awk '{print $2, $4}' | awk -v p="$net." 'index($2, p) == 1' | sed 's/^/dev /'
    ip -4 route show table all root "$net.0/24"
    ip -4 route show table main match "$net.0/24" | sed '/^default/d'
  } | sed -e "/dev $LAB_BRIDGE\b/d" -e "/^unreachable $net.0\/24 .*metric 4096/d")
  [ -n "$others" ]
}

# Sets LAB_NET. A recorded choice stays for as long as a host is up or nobody else has taken the subnet.
network_choose() {
  local recorded candidate
  recorded=$(cat "$SGLANG_LAB/net" 2>/dev/null || true)
  if [ -n "$LAB_NET" ]; then
    [ -z "$recorded" ] || [ "$recorded" = "$LAB_NET" ] || [ -z "$(lab_list)" ] ||
      die "SGLANG_LAB_NET=$LAB_NET, but hosts are up in $recorded.0/24"
  elif [ -n "$recorded" ] && { [ -n "$(lab_list)" ] || ! network_taken "$recorded"; }; then
    LAB_NET=$recorded
  else
    for candidate in "${LAB_NET_CANDIDATES[@]}"; do
      if ! network_taken "$candidate"; then
        LAB_NET=$candidate
        break
      fi
    done
    [ -n "$LAB_NET" ] || die "every subnet that the lab knows is taken (${LAB_NET_CANDIDATES[*]}): set SGLANG_LAB_NET"
  fi
  [[ $LAB_NET =~ ^([0-9]{1,3}\.){2}[0-9]{1,3}$ ]] || die "SGLANG_LAB_NET='$LAB_NET': wanted the first three numbers of a /24"
  if [ "$recorded" != "$LAB_NET" ]; then
    echo "$LAB_NET" >"$SGLANG_LAB/net"
  fi
}

# --- up and down

network_up() {
  network_choose
  if ! ip link show "$LAB_BRIDGE" >/dev/null 2>&1; then
    ip link add "$LAB_BRIDGE" type bridge forward_delay 0
  fi
  ip addr replace "$LAB_NET.1/24" dev "$LAB_BRIDGE"
  ip link set "$LAB_BRIDGE" up
  # Without the bridge, traffic to the subnet must fail here and never leave by the default route.
  ip route replace unreachable "$LAB_NET.0/24" metric 4096
  [ "$LAB_NAT" = 1 ] || return 0
  if [ "$(cat /proc/sys/net/ipv4/ip_forward)" != 1 ]; then
    echo 0 >"$SGLANG_LAB/ip_forward.before"
    echo 1 >/proc/sys/net/ipv4/ip_forward
  fi
  network_nat
  firewall_open
}

# One table of our own, replaced atomically. Hosts may use DNS and HTTP(S) only (package registries);
# everything else towards the outside is rejected, and so is everything from a host that is "offline".
network_nat() {
  local offline
  offline=$({ cat "$SGLANG_LAB"/hosts/*/offline 2>/dev/null || true; } | paste -sd, -)
  nft -f - <<N
table ip $LAB_TABLE
delete table ip $LAB_TABLE
table ip $LAB_TABLE {
  set offline { type ipv4_addr; ${offline:+elements = { $offline \}} }
  chain nat_post { type nat hook postrouting priority srcnat; policy accept;
    ip saddr $LAB_NET.0/24 oifname != "$LAB_BRIDGE" masquerade
  }
  chain forward { type filter hook forward priority -10; policy accept;
    iifname != "$LAB_BRIDGE" oifname != "$LAB_BRIDGE" accept
    ct state established,related accept
    iifname "$LAB_BRIDGE" oifname "$LAB_BRIDGE" accept
    ip saddr @offline reject
    iifname "$LAB_BRIDGE" udp dport 53 accept
    iifname "$LAB_BRIDGE" tcp dport { 53, 80, 443 } accept
    iifname "$LAB_BRIDGE" reject
  }
}
N
}

network_down() {
  [ -z "$(lab_list)" ] || die "hosts are still up: $(lab_list | awk '{print $1}' | paste -sd' ')"
  local net
  net=$(cat "$SGLANG_LAB/net" 2>/dev/null || true)
  if command -v nft >/dev/null; then
    firewall_close
    nft delete table ip "$LAB_TABLE" 2>/dev/null || true
  fi
  ip link del "$LAB_BRIDGE" 2>/dev/null || true
  [ -z "$net" ] || ip route del unreachable "$net.0/24" metric 4096 2>/dev/null || true
  if [ -f "$SGLANG_LAB/netns.made" ] && [ -z "$(ls -A /run/netns 2>/dev/null)" ]; then
    ! mountpoint -q /run/netns || umount /run/netns
    rmdir /run/netns 2>/dev/null || true
    rm -f "$SGLANG_LAB/netns.made"
  fi
  # only what we switched on, and not under a container engine that has come to need it since
  if [ -f "$SGLANG_LAB/ip_forward.before" ]; then
    [ -e /sys/class/net/docker0 ] || cat "$SGLANG_LAB/ip_forward.before" >/proc/sys/net/ipv4/ip_forward
    rm -f "$SGLANG_LAB/ip_forward.before"
  fi
}

# --- other people's firewalls
# A packet must be accepted by every base chain on its way, so our own table cannot overrule a FORWARD or
# INPUT policy of Docker, ufw, firewalld or a hand-written ruleset. There we put rules of our own in front,
# marked with our name, and take them away by that mark.

firewall_open() {
  firewall_close
  local tool
  for tool in iptables-nft iptables-legacy; do
    command -v "$tool" >/dev/null && iptables_open "$tool"
  done
  nft_open
}

firewall_close() {
  local tool
  for tool in iptables-nft iptables-legacy; do
    command -v "$tool" >/dev/null && iptables_close "$tool"
  done
  nft_close
}

iptables_tables_in_use() { # asking the legacy tool would load its kernel modules where nobody uses them
  case $1 in
    iptables-legacy) grep -qx filter /proc/net/ip_tables_names 2>/dev/null ;;
    *) nft list table ip filter >/dev/null 2>&1 ;;
  esac
}

iptables_open() {
  local tool=$1 chain mark=(-m comment --comment "$LAB_TABLE")
  iptables_tables_in_use "$tool" || return 0
  # Docker leaves DOCKER-USER alone when it restarts, FORWARD not
  chain=FORWARD
  "$tool" -w -S DOCKER-USER >/dev/null 2>&1 && chain=DOCKER-USER
  if "$tool" -w -S | grep -E -e '^-P FORWARD DROP' -e '^-A (FORWARD|DOCKER).* -j (DROP|REJECT)' >/dev/null; then
    "$tool" -w -I "$chain" -o "$LAB_BRIDGE" -m conntrack --ctstate RELATED,ESTABLISHED "${mark[@]}" -j ACCEPT
    "$tool" -w -I "$chain" -i "$LAB_BRIDGE" "${mark[@]}" -j ACCEPT
  fi
  if "$tool" -w -S | grep -E -e '^-P INPUT DROP' -e '^-A INPUT.* -j (DROP|REJECT)' >/dev/null; then
    "$tool" -w -I INPUT -i "$LAB_BRIDGE" "${mark[@]}" -j ACCEPT
  fi
}

iptables_close() {
  local tool=$1 rule
  iptables_tables_in_use "$tool" || return 0
  { "$tool" -w -S | grep -E -- "--comment \"?$LAB_TABLE\"? " || true; } | sed 's/^-A/-D/' | while read -r rule; do
    # shellcheck disable=SC2086  # the rule is a line of arguments
    xargs "$tool" -w <<<"$rule"
  done
}

# "family table chain hook" of the base chains at forward and input that are neither ours nor left to iptables
nft_foreign_chains() {
  local iptables=0
  ! command -v iptables-nft >/dev/null || iptables=1
  nft -j list chains | python3 -c '
import json, sys
for item in json.load(sys.stdin)["nftables"]:
    chain = item.get("chain", {})
    if chain.get("hook") not in ("forward", "input") or chain.get("type") != "filter":
        continue
    if chain["family"] not in ("ip", "inet") or chain["table"].startswith("inference_sglang_lab"):
        continue
    if sys.argv[1] == "1" and (chain["family"], chain["table"]) == ("ip", "filter") and chain["name"].isupper():
        continue
    print(chain["family"], chain["table"], chain["name"], chain["hook"])
' "$iptables"
}

nft_open() {
  local family table chain hook
  nft_foreign_chains | while read -r family table chain hook; do
    nft list chain "$family" "$table" "$chain" | grep -E 'policy drop|\b(drop|reject|jump|goto)\b' >/dev/null || continue
    if [ "$hook" = forward ]; then
      nft insert rule "$family" "$table" "$chain" oifname "$LAB_BRIDGE" ct state established,related accept comment "\"$LAB_TABLE\""
    fi
    nft insert rule "$family" "$table" "$chain" iifname "$LAB_BRIDGE" accept comment "\"$LAB_TABLE\""
  done
}

nft_close() {
  local family table chain handle
  nft_foreign_chains | while read -r family table chain _; do
    nft -a list chain "$family" "$table" "$chain" |
      sed -n "s/.*comment \"$LAB_TABLE\" # handle \([0-9]*\)\$/\1/p" | while read -r handle; do
      nft delete rule "$family" "$table" "$chain" handle "$handle"
    done
  done
}
