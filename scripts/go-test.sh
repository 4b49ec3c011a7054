#!/usr/bin/env bash
# Runs a share of the Go tests, and prints what `go test -json` does:
#
#     scripts/go-test.sh quick|pure|measures|host|soak
#
# quick     all packages, without root, and without the tests that touch the host or take
#           long (go test -short); what did not change since it passed is not run again
# pure      packages that leave the host alone, beside each other
# measures  tests that measure, which call hosttest.Measures themselves. Nothing else should
#           run meanwhile
# host      all other tests of packages that touch the host, which are those that use
#           internal/hosttest: one package at a time
# soak      tests that take long by nature, which call hosttest.Soak themselves, but for those
#           of the lab
#
# All but quick need root, and take it by sudo.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

go() { scripts/with-go go "$@"; }

hosttest=$(go list -m)/internal/hosttest
# touching lists the packages that touch the host, or with "not" the others.
touching() { # touching [not]
	go list -f '{{$touches := eq .ImportPath "'"$hosttest"'"}}
		{{- range .TestImports}}{{if eq . "'"$hosttest"'"}}{{$touches = true}}{{end}}{{end}}
		{{- range .XTestImports}}{{if eq . "'"$hosttest"'"}}{{$touches = true}}{{end}}{{end}}
		{{- if '"${1-}"' $touches}}{{.ImportPath}}{{end}}' ./...
}

# calling lists the tests, each behind its file's directory, which call a function of hosttest.
calling() { # calling FUNCTION
	find . -name '*_test.go' -not -path './labtest/*' -not -path './bin/*' -exec awk -v "call=hosttest.$1(t)" '
		/^func Test/ { name = substr($2, 1, index($2, "(") - 1) }
		/^}/ { name = "" }
		name && index($0, call) { dir = FILENAME; sub("/[^/]*$", "", dir); print dir, name }' {} + | sort -u
}

# pattern is the regular expression of such tests, for go test -run and -skip.
pattern() { awk '{ print $2 }' <<<"$1" | paste -sd '|' | sed 's/.*/^(&)$/'; }

flags=(-json -count=1 -timeout 45m)
mkdir -p bin/tests
as="flock $PWD/bin/go-test.lock $PWD/scripts/as-root"
case ${1-} in
quick)
	exec scripts/with-go go test -json -short -timeout 10m ./...
	;;
pure)
	packages=$(touching not)
	as=$PWD/scripts/as-root
	;;
measures | soak)
	if [ "$1" = soak ]; then export PLIMSOLL_TEST_SOAK=1 function=Soak; else function=Measures; fi
	tests=$(calling $function)
	[ -n "$tests" ] || { echo "go-test.sh: no test calls hosttest.$function" >&2; exit 1; }
	packages=$(awk '{ print $1 }' <<<"$tests" | sort -u)
	flags+=(-run "$(pattern "$tests")")
	;;
host)
	packages=$(touching | grep -v /labtest$) # which has a suite of its own
	flags+=(-skip "$(pattern "$(calling Measures)")")
	;;
*)
	echo "usage: scripts/go-test.sh quick|pure|measures|host|soak" >&2
	exit 2
	;;
esac
# Packages are built beside each other, whatever waits for the lock.
# shellcheck disable=SC2086 # one word per package
exec scripts/with-go go test "${flags[@]}" -exec "$as" $packages
