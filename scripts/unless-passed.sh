#!/usr/bin/env bash
# Runs the tests of kubernetes/ that take long, unless they passed on a commit from which
# nothing differs that they are of:
#
#     scripts/unless-passed.sh make kube-test
#
# The commit is kept in the cache of the user (~/.cache/plimsoll/kube-test-passed). What is
# compared is kubernetes/, the models by which its scheduler places, the packages that those
# tests import themselves (TestWhatKubeTestDependsOn has that list be whole), the versions of
# dependencies and the linter's rules. They also run plimsoll, and packages of kubernetes/ that
# import most of it: those have tests in make test.
set -euo pipefail
cd "$(git rev-parse --show-toplevel)"
paths=(kubernetes internal/cli/buildinfo internal/model internal/placement internal/image internal/observe/metricserver internal/result internal/testkit/imagetest internal/testkit/modeltest go.mod .golangci.yml)

stamp=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/plimsoll/kube-test-passed
passed=$(cat "$stamp" 2>/dev/null || true)
if [ -z "$passed" ]; then
	why="it has not passed here yet"
elif ! git cat-file -e "$passed^{commit}" 2>/dev/null; then
	why="it passed on $passed, which this clone does not have"
elif ! git diff --quiet "$passed" HEAD -- "${paths[@]}"; then
	# The list is read to its end: a reader that leaves early ends git by SIGPIPE, and with it this script.
	changed=$(git diff --name-only "$passed" HEAD -- "${paths[@]}" | awk 'NR <= 3' | paste -sd ' ')
	why="since ${passed:0:12}, on which it passed, there are changes in: $changed"
else
	echo "$*: not run: it passed on ${passed:0:12}, and ${paths[*]} are the same"
	exit 0
fi
echo "$*: $why"
"$@"
mkdir -p "${stamp%/*}"
git rev-parse HEAD >"$stamp.new"
mv "$stamp.new" "$stamp"
