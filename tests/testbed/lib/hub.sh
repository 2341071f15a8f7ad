# shellcheck shell=bash disable=SC2154  # here: the folder of `lab`
# Copyright (c) 2026, inference.sglang maintainers
# SPDX-License-Identifier: Apache-2.0
# The hub on the bridge: $SGLANG_LAB/hub as models, $SGLANG_LAB/wheelhouse as pages of links.

LAB_HUB_PORT=8900

hub_pid() {
  local pid
  pid=$(cat "$SGLANG_LAB/hub.pid" 2>/dev/null) || return 0
  ! tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -F mockhub.py >/dev/null || echo "$pid"
}

hub_up() {
  network_up
  local url=http://$LAB_NET.1:$LAB_HUB_PORT pid
  if [ -n "$(hub_pid)" ]; then
    say "the hub is already up at $url"
    return 0
  fi
  mkdir -p "$SGLANG_LAB/hub" "$SGLANG_LAB/wheelhouse"
  setsid python3 "$here/../support/hub/mockhub.py" --host "$LAB_NET.1" --port "$LAB_HUB_PORT" \
    --root "$SGLANG_LAB/hub" --wheelhouse "$SGLANG_LAB/wheelhouse" "$@" </dev/null >"$SGLANG_LAB/hub.log" 2>&1 9>&- &
  pid=$!
  echo "$pid" >"$SGLANG_LAB/hub.pid"
  if ! hub_wait "$pid"; then
    cat "$SGLANG_LAB/hub.log" >&2
    die "the hub did not start"
  fi
  say "the hub is up at $url"
}

# Read the hub's log until the line that it prints once it listens; false when it ends before.
hub_wait() {
  local line reader status=1
  exec 8< <(exec tail -s 0.05 --pid="$1" -n +1 -f "$SGLANG_LAB/hub.log")
  reader=$!
  while [ $status = 1 ] && IFS= read -r -t 120 -u 8 line; do
    [[ $line != HF_ENDPOINT=* ]] || status=0
  done
  kill "$reader" 2>/dev/null || true
  exec 8<&-
  return $status
}

hub_down() {
  local pid
  pid=$(hub_pid)
  if [ -n "$pid" ]; then
    kill "$pid"
    timeout 10 tail -s 0.05 --pid="$pid" -f /dev/null || kill -KILL "$pid"
  fi
  rm -f "$SGLANG_LAB/hub.pid"
}
