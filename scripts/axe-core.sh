#!/usr/bin/env bash
# Fetches axe-core, with which tests check that reports can be used with a
# keyboard and a screen reader, into bin/axe-core:
#
#     scripts/axe-core.sh
#
# It is a test's tool: nothing is built with it and no report carries it. The
# tests that want it skip, and say so, where it is not.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=4.14.1
sum=29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c # sha256 of axe.min.js

has() { [ -e bin/axe-core/axe.min.js ] && echo "$sum  bin/axe-core/axe.min.js" | sha256sum --check --status; }
if has; then exit 0; fi
command -v npm >/dev/null || { echo "axe-core: there is no npm in PATH to fetch it with: its tests will be skipped" >&2; exit 0; }
mkdir -p bin/axe-core
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! npm pack --silent --pack-destination bin/axe-core "axe-core@$version" >"$log" 2>&1; then
	cat "$log" >&2
	echo "axe-core: $version could not be fetched: see above; its tests will be skipped" >&2
	exit 0
fi
tar -xzf "bin/axe-core/axe-core-$version.tgz" -C bin/axe-core --strip-components=1 package/axe.min.js package/LICENSE
rm "bin/axe-core/axe-core-$version.tgz"
has || { rm -f bin/axe-core/axe.min.js; echo "axe-core: what was fetched as $version is not what it should be" >&2; exit 1; }
echo "axe-core: bin/axe-core/axe.min.js, $version"
