#!/bin/sh
# Runs an agent and keeps what passes between it and the office, besides the environment it was given (Linux only).
# recorded-agent.sh <folder> <program> [argument...]
folder=$1
shift
cat "/proc/$$/environ" > "$folder/environment"
tee -a "$folder/heard.ndjson" | "$@" | tee -a "$folder/said.ndjson"
