#!/usr/bin/env bash
# Runs every fuzz target for FUZZTIME (30s), one after the other: go test takes
# one at a time. What it finds lands in the package's testdata/fuzz, from where
# every later test run repeats it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

targets=0 failed=0
while IFS=: read -r file target; do
	echo "fuzz: $target in ./${file%/*} for ${FUZZTIME:=30s}"
	scripts/with-go go test -run '^$' -fuzz "^$target\$" -fuzztime "$FUZZTIME" "./${file%/*}" </dev/null || failed=$((failed + 1))
	targets=$((targets + 1))
done < <(grep -rEo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' cmd internal | sed 's/func //' | sort)

echo "fuzz: $targets targets, $failed failed"
[ "$targets" -gt 0 ] && [ "$failed" = 0 ]
