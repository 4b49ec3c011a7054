#!/usr/bin/env bash
# Has the scheduler of each minor version of Kubernetes place pods with an API server of the same minor version and, if
# there is one here, of the next, and prints a table. Each API server also gives pods the default classes of namespaces.
# The first time, it compiles Kubernetes once for each.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

default=$(awk '$1 == "k8s.io/kubernetes" { print $2; exit }' kubernetes/go.mod)
default=${default%.*}
default=${default#v}
minors=("$default")
for file in kubernetes/go-*.mod; do
	file=${file##*/go-}
	minors+=("${file%.mod}")
done

# program MINOR and modfile MINOR print the scheduler that is built for it, and what it is compiled by.
program() { [ "$1" = "$default" ] && echo bin/plimsoll-kubernetes || echo "bin/plimsoll-kubernetes-$1"; }
modfile() { [ "$1" = "$default" ] && echo go.mod || echo "go-$1.mod"; }

table=
failed=0
previous=
for minor in "${minors[@]}"; do
	make --no-print-directory kube-build MINOR="${minor#"$default"}"
	test=$PWD/bin/tests/skew-$minor.test
	version=$(awk '$1 == "k8s.io/kubernetes" { print $2; exit }' "kubernetes/$(modfile "$minor")")
	set="-X k8s.io/component-base/version."
	mkdir -p bin/tests
	(cd kubernetes && nice ../scripts/with-go go test -c -modfile="$(modfile "$minor")" -o "$test" \
		-ldflags "${set}gitVersion=$version ${set}gitMajor=1 ${set}gitMinor=${minor#*.}" ./scheduler)
	for of in $previous "$minor"; do
		answer=places
		(cd kubernetes/scheduler && PLIMSOLL_KUBE_PROGRAM=$OLDPWD/$(program "$of") "$test" -test.run '^Test(Skew|DefaultClass)$' -test.v) ||
			{ answer=fails; failed=1; }
		table+="| $of | $version | $answer |"$'\n'
	done
	previous=$minor
done
printf '\n| scheduler of | API server | pods |\n|---|---|---|\n%s' "$table"
exit "$failed"
