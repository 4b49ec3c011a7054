#!/usr/bin/env bash
# Bundles the report's scripts with the libraries they draw with, which npm
# fetches as web/package-lock.json pins them:
#
#     scripts/bundle.sh
#
# The bundle is web/dist/report.js; Go embeds it. Without Node there is none:
# plimsoll builds all the same, and its reports show still pictures. An old
# bundle does not stay behind, as it may not fit what Go writes today.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../web"

least=18 # of Node: what esbuild asks for

without() {
	rm -f dist/report.js
	echo "bundle: $*" >&2
	echo "bundle: goes on without: the figures of reports will be still pictures" >&2
	exit 0
}

command -v node >/dev/null || without "there is no node in PATH (scripts/setup.sh build installs it where the distribution has it)"
command -v npm >/dev/null || without "there is no npm in PATH (scripts/setup.sh build installs it where the distribution has it)"
version=$(node --version)
major=${version#v}
major=${major%%.*}
[ "$major" -ge "$least" ] || without "node $version is too old, it takes $least or newer"

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# npm's own record of what it installed is as new as the lock when nothing changed.
if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ] || [ package.json -nt node_modules/.package-lock.json ]; then
	if ! npm ci --no-progress >"$log" 2>&1; then
		cat "$log" >&2
		without "npm could not fetch what web/package-lock.json names: see above"
	fi
	touch node_modules/.package-lock.json
fi
node build.js
