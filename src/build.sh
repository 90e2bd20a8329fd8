#!/bin/sh
# Builds what has changed since the last build that succeeded: `npm start`, `npm test` and their like all begin with a build, of ten seconds.
set -e
[ -f dist/.built ] && [ -z "$(find -L src migrations ormconfig.ts nest-cli.json tsconfig.json package-lock.json -newer dist/.built)" ] && exit 0
mkdir -p dist
# As old as its beginning, so that what is changed while it builds is built the next time.
touch dist/.building
nest build
mv dist/.building dist/.built
