#!/bin/sh
# Schemathesis over the office's own OpenAPI document, where Python has it (pip install schemathesis); called by `npm run fuzz`.
# Starts an office of its own in a temporary folder and takes it away again.
set -eu
if ! python3 -m schemathesis.cli --version >/dev/null 2>&1 && ! command -v schemathesis >/dev/null 2>&1; then
  echo 'schemathesis is not installed (pip install schemathesis): only our own driver has run'
  exit 0
fi
command -v schemathesis >/dev/null 2>&1 && tool=schemathesis || tool='python3 -m schemathesis.cli'
home=$(mktemp -d)
log=$home/log
OFFICE_PORT=0 OFFICE_DATA_DIR=$home/data OFFICE_WORK_DIR=$home/work node dist/src/main.js >"$log" 2>&1 &
office=$!
trap 'kill $office; wait $office || true; rm -rf "$home"' EXIT
tries=0
until url=$(sed -n 's/.*"url":"\([^"]*\)".*"msg":"office is open".*/\1/p' "$log") && [ -n "$url" ]; do
  tries=$((tries + 1))
  [ $tries -lt 300 ] || { cat "$log"; exit 1; }
  sleep 0.2
done
token=$(cat "$home/data/admin-token")
# Whatever is answered has to be in the document, and nothing may be a fault of ours.
$tool run "$url/api/docs-json" --header "Authorization: Bearer $token" \
  --checks not_a_server_error,status_code_conformance,response_schema_conformance,content_type_conformance \
  --max-examples "${OFFICE_FUZZ_EXAMPLES:-25}" --request-timeout 20
