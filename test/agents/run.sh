#!/bin/sh
# The office with real agents. `run.sh [all] [vitest's arguments]`: Codex alone, as with every change, or all that are known.
set -e
npm run -s setup:agents
if [ "$1" = all ]; then
  shift
  npm run -s setup:all-agents
  export REAL_AGENTS=all
fi
npm run -s build
exec npx vitest run --config test/agents/vitest.config.ts "$@"
