#!/usr/bin/env bash
# Runs a share of the Go tests, and prints what `go test -json` does:
#
#     scripts/go-test.sh quick|pure|measures|host|attack|chart|evidence|race|kuberace
#     scripts/go-test.sh kubernetes PACKAGE...
#
# quick     all packages, without root, and without the tests that touch the host or take
#           long (go test -short); what did not change since it passed is not run again
# pure      packages that leave the host alone, beside each other
# measures  tests that measure, which call hosttest.Measures themselves. Nothing else should
#           run meanwhile
# host      all other tests of packages that touch the host, which are those that use
#           internal/testkit/hosttest: one package at a time
# attack    of both, those that do what an adversary would
# kubernetes  packages of the module that has its own dependencies; what did not change since it
#           passed is not run again
# evidence  the module that measures plimsoll itself; what did not change since it passed is not run again
# chart     the Helm chart of kubernetes/manifests, by Helm's own engine
# race      of quick, the packages with goroutines or locks that leave the host alone, what applies plans, watches, and
#           speaks to virtual machines: under Go's race detector, which takes cgo, a C compiler, and ten times as long.
#           Simulations are left out (soak.WithoutRace): pure has them
# kuberace  evictions and limits of the module kubernetes under the race detector
#
# All but quick, kubernetes, evidence, chart, race and kuberace need root, and take it by sudo.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

go() { scripts/with-go go "$@"; }

module=$(go list -m)
hosttest=$module/internal/testkit/hosttest
# touching lists the packages that touch the host, or with "not" the others.
touching() { # touching [not]
	go list -f '{{$touches := eq .ImportPath "'"$hosttest"'"}}
		{{- range .TestImports}}{{if eq . "'"$hosttest"'"}}{{$touches = true}}{{end}}{{end}}
		{{- range .XTestImports}}{{if eq . "'"$hosttest"'"}}{{$touches = true}}{{end}}{{end}}
		{{- if '"${1-}"' $touches}}{{.ImportPath}}{{end}}' ./...
}

# The tests that measure, each behind the directory of its file, and the pattern of their names
# for go test.
measuring=$(find . -name '*_test.go' -not -path './labtest/*' -not -path './bin/*' -exec awk '
	/^func Test/ { name = substr($2, 1, index($2, "(") - 1) }
	/^}/ { name = "" }
	name && /hosttest\.Measures\(t\)/ { dir = FILENAME; sub("/[^/]*$", "", dir); print dir, name }' {} + | sort -u)
pattern=$(awk '{ print $2 }' <<<"$measuring" | paste -sd '|' | sed 's/.*/^(&)$/')

limit=45m
[ -z "${PLIMSOLL_TEST_SOAK-}" ] || limit=6h
flags=(-json -count=1 -timeout "$limit")
mkdir -p bin/tests
# -o: what a test leaves running does not keep the lock.
as="flock -o $PWD/bin/go-test.lock $PWD/scripts/as-root"
case ${1-} in
quick)
	exec scripts/with-go go test -json -short -timeout 10m ./...
	;;
kubernetes)
	# Many packages are compiled the first time: whoever works meanwhile goes first.
	exec nice scripts/with-go go test -C kubernetes -json -timeout 45m "${@:2}"
	;;
race | kuberace)
	if ! command -v gcc >/dev/null || ! [ -e /usr/include/stdlib.h ]; then
		echo "TESTS SKIPPED: the race detector takes gcc and the headers of libc: scripts/setup.sh test installs them"
		exit 0
	fi
	race=(nice scripts/with-go env CGO_ENABLED=1 go test)
	flags=(-race -short -json -timeout 10m)
	[ "$1" = race ] || exec "${race[@]}" -C kubernetes "${flags[@]}" ./evict ./limits
	# A package without goroutines has no race. database/pebble would compile its store's C, too.
	shared=$(grep -rlE --include='*.go' '\bgo func\(|\bgo [a-z.]+\(|\.Go\(|\bsync\.|\batomic\.' internal | grep -v '_test\.go$' |
		xargs -n 1 dirname | sort -u | sed "s,^,$module/,")
	packages=$(touching not | grep -Fxf - <(echo "$shared") | grep -Ev "internal/(report|testkit|cli|database/pebble)(/|\$)")
	# shellcheck disable=SC2086 # one word per package
	exec "${race[@]}" "${flags[@]}" $packages ./internal/apply ./internal/lab ./internal/observe ./internal/state/journal ./internal/watch
	;;
evidence)
	exec nice scripts/with-go go test -C evidence -json -timeout 45m ./...
	;;
chart)
	exec nice scripts/with-go go test -C kubernetes/helm -json -timeout 10m ./...
	;;
pure)
	packages=$(touching not)
	as=$PWD/scripts/as-root
	;;
measures)
	[ -n "$measuring" ] || { echo "go-test.sh: no test calls hosttest.Measures" >&2; exit 1; }
	packages=$(awk '{ print $1 }' <<<"$measuring" | sort -u)
	flags+=(-run "$pattern")
	;;
attack)
	# Their packages alone, so that little is compiled.
	packages=$(grep -rl --include='*_test.go' '^func TestAttack' cmd internal | xargs -n 1 dirname | sort -u | sed 's,^,./,')
	flags+=(-run '^TestAttack')
	;;
host)
	packages=$(touching | grep -v /labtest$) # which has a suite of its own
	flags+=(-skip "$pattern")
	;;
*)
	echo "usage: scripts/go-test.sh quick|pure|measures|host|attack|chart|evidence|race|kuberace|kubernetes PACKAGE..." >&2
	exit 2
	;;
esac
# Packages are built beside each other, whatever waits for the lock.
# shellcheck disable=SC2086 # one word per package
exec scripts/with-go go test "${flags[@]}" -exec "$as" $packages
