#!/usr/bin/env bash
# Fetches axe-core, with which tests check that reports can be used with a
# keyboard and a screen reader, and links to it from bin/axe-core:
#
#     scripts/axe-core.sh
#
# All clones of a user share it, in ${XDG_CACHE_HOME:-~/.cache}/plimsoll/axe-core.
# It is a test's tool: nothing is built with it and no report carries it. The
# tests that want it skip, and say so, where it is not.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=4.14.1
sum=29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c # sha256 of axe.min.js

cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/plimsoll/axe-core
kept=$cache/$version-${sum:0:12}

is_axe() { [ -e "$1/axe.min.js" ] && echo "$sum  $1/axe.min.js" | sha256sum --check --status; }
link() { # link: where a clone's own directory stood, too
	mkdir -p bin
	[ -L bin/axe-core ] || rm -rf bin/axe-core
	ln -sfn "$kept" bin/axe-core
}

if is_axe "$kept"; then link; exit 0; fi
command -v npm >/dev/null || { echo "axe-core: there is no npm in PATH to fetch it with: its tests will be skipped" >&2; exit 0; }
mkdir -p "$cache"
fetched=$(mktemp -d "$cache/fetching.XXXXXX")
trap 'rm -rf "$fetched"' EXIT
if ! npm pack --silent --pack-destination "$fetched" "axe-core@$version" >"$fetched/log" 2>&1; then
	cat "$fetched/log" >&2
	echo "axe-core: $version could not be fetched: see above; its tests will be skipped" >&2
	exit 0
fi
mkdir "$fetched/axe-core"
tar -xzf "$fetched/axe-core-$version.tgz" -C "$fetched/axe-core" --strip-components=1 package/axe.min.js package/LICENSE
is_axe "$fetched/axe-core" || { echo "axe-core: what was fetched as $version is not what it should be" >&2; exit 1; }
# Another clone may have put it there meanwhile, the same.
rm -rf "$kept"
mv -T "$fetched/axe-core" "$kept" 2>/dev/null || is_axe "$kept"
link
echo "axe-core: $kept/axe.min.js, $version"
