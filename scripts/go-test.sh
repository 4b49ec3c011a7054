#!/usr/bin/env bash
# Runs a share of the Go tests, and prints what `go test -json` does:
#
#     scripts/go-test.sh pure|host|quick
#
# pure   packages that leave the host alone, beside each other
# host   packages that touch it, which are those that use internal/hosttest: one at a
#        time, so that nothing else runs while a test measures. They need root, and
#        take it by sudo
# quick  all packages, without root, and without the tests that touch the host or take
#        long (go test -short); what did not change since it passed is not run again
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

go() { scripts/with-go go "$@"; }

hosttest=$(scripts/with-go go list -m)/internal/hosttest
# touching lists the packages that touch the host, or with "not" the others.
touching() { # touching [not]
	go list -f '{{$touches := eq .ImportPath "'"$hosttest"'"}}
		{{- range .TestImports}}{{if eq . "'"$hosttest"'"}}{{$touches = true}}{{end}}{{end}}
		{{- range .XTestImports}}{{if eq . "'"$hosttest"'"}}{{$touches = true}}{{end}}{{end}}
		{{- if '"${1-}"' $touches}}{{.ImportPath}}{{end}}' ./...
}

case ${1-} in
quick)
	exec scripts/with-go go test -json -short -timeout 10m ./...
	;;
pure)
	packages=$(touching not)
	as=$PWD/scripts/as-root
	;;
host)
	packages=$(touching | grep -v /labtest$) # which has a suite of its own
	mkdir -p bin
	# They are built beside each other all the same.
	as="flock $PWD/bin/go-test.lock $PWD/scripts/as-root"
	;;
*)
	echo "usage: scripts/go-test.sh pure|host|quick" >&2
	exit 2
	;;
esac
# Pictures of reports go to bin/screenshots.
mkdir -p bin/screenshots
export PLIMSOLL_SCREENSHOTS=$PWD/bin/screenshots
# shellcheck disable=SC2086 # one word per package
exec scripts/with-go go test -json -count=1 -timeout 45m -exec "$as" $packages
