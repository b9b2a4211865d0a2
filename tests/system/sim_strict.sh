#!/usr/bin/env bash
# Starts the server and plays requests against it in strict mode: the shortest proof that the whole path, from an engine's socket to a
# router's answer, is exact. Usage: sim_strict.sh KV_CONDUCTOR KV_CONDUCTOR_SIM [flags of the simulator]
set -euo pipefail

server=$1
simulator=$2
shift 2
folder=$(mktemp -d)
server_pid=
cleanup() {
  if [[ -n $server_pid ]]; then
    kill -KILL "$server_pid" 2>/dev/null || true
  fi
  rm -rf "$folder"
}
trap cleanup EXIT

is_open() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# Ports below the range the kernel gives away by itself, so that only another server can be in the way.
for _ in 1 2 3 4 5; do
  port=$((20000 + RANDOM % 10000))
  if is_open "$port"; then continue; fi
  env -u CONDUCTOR_CONFIG_PATH "$server" --http-host 127.0.0.1 --http-ports "$port" >"$folder/log" 2>&1 &
  server_pid=$!
  deadline=$((SECONDS + 60))
  while kill -0 "$server_pid" 2>/dev/null && ((SECONDS < deadline)) && ! is_open "$port"; do sleep 0.05; done
  if is_open "$port" && kill -0 "$server_pid" 2>/dev/null; then break; fi
  kill -KILL "$server_pid" 2>/dev/null || true
  wait "$server_pid" 2>/dev/null || true
  server_pid=
done
if [[ -z $server_pid ]]; then
  echo "the server did not start; its log:" >&2
  cat "$folder/log" >&2
  exit 1
fi

code=0
"$simulator" --server "127.0.0.1:$port" --strict --plain "$@" || code=$?
kill -TERM "$server_pid"
server_code=0
wait "$server_pid" || server_code=$?
server_pid=
if ((code != 0 || server_code != 0)); then
  echo "the simulator exited with $code, the server with $server_code; the server's log:" >&2
  cat "$folder/log" >&2
  exit 1
fi
