#!/bin/sh
# Schemathesis over the office's own OpenAPI document; called by `npm run fuzz`, after a build.
# Starts an office of its own in a temporary folder and takes it away again, however this ends.
#   OFFICE_FUZZ_EXAMPLES   examples per operation (25)
#   OFFICE_FUZZ_SEC        how long it may take in all (900)
#   OFFICE_FUZZ_TOOL       the command, where it is not on the PATH
set -eu
tool=${OFFICE_FUZZ_TOOL:-}
if [ -z "$tool" ]; then
  if command -v schemathesis >/dev/null 2>&1; then tool=schemathesis
  elif ! command -v python3 >/dev/null 2>&1; then
    echo 'fuzz: there is no python3, so schemathesis has not run; only our own driver has'
    exit 0
  elif python3 -c 'import schemathesis' >/dev/null 2>&1; then tool='python3 -m schemathesis.cli'
  else
    echo 'fuzz: schemathesis has not run; only our own driver has. To have it:'
    echo '  python3 -m venv .venv && .venv/bin/pip install schemathesis && OFFICE_FUZZ_TOOL=.venv/bin/schemathesis npm run fuzz'
    exit 0
  fi
fi
[ -f dist/src/main.js ] || { echo 'fuzz: needs a build (npm run build)' >&2; exit 1; }
home=$(mktemp -d)
log=$home/log
OFFICE_PORT=0 OFFICE_DATA_DIR=$home/data OFFICE_WORK_DIR=$home/work node dist/src/main.js >"$log" 2>&1 &
office=$!
close() {
  status=$?
  trap - EXIT INT TERM
  kill "$office" 2>/dev/null || true
  tries=0
  while kill -0 "$office" 2>/dev/null && [ $tries -lt 100 ]; do tries=$((tries + 1)); sleep 0.2; done
  kill -9 "$office" 2>/dev/null || true
  wait "$office" 2>/dev/null || true
  [ $status -eq 0 ] || { echo 'fuzz: what the office said of faults of its own:' >&2; grep -E '"level":(50|60)' "$log" | tail -20 >&2 || true; }
  rm -rf "$home"
  exit $status
}
trap close EXIT
trap 'exit 130' INT TERM
tries=0
until url=$(sed -n 's/.*"url":"\([^"]*\)".*"msg":"office is open".*/\1/p' "$log") && [ -n "$url" ]; do
  tries=$((tries + 1))
  if [ $tries -ge 300 ] || ! kill -0 "$office" 2>/dev/null; then
    echo 'fuzz: the office did not open:' >&2
    tail -20 "$log" >&2
    exit 1
  fi
  sleep 0.2
done
token=$(cat "$home/data/admin-token")
# Whatever is answered has to be in the document, and nothing may be a fault of ours.
# shellcheck disable=SC2086 # the command may be of several words
timeout -k 10 "${OFFICE_FUZZ_SEC:-900}" $tool run "$url/api/docs-json" --header "Authorization: Bearer $token" \
  --checks not_a_server_error,status_code_conformance,response_schema_conformance,content_type_conformance \
  --max-examples "${OFFICE_FUZZ_EXAMPLES:-25}" --request-timeout 20
