#!/usr/bin/env bash
# Proves that the layering rules of .golangci.yml bite: breaks each of them in a
# module of its own, with the same configuration, and expects the rule's reason
# in the linter's output. A rule that no longer fits the tree, because a package
# was moved or renamed, fails here too.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD

# One case per line: where a file stands, what it does, and the words expected
# in the linter's answer; - expects none.
cases='
internal/experiment/x.go     |import _ "os"                               |pure packages
internal/experiment/x.go     |import _ "os/exec"                          |pure packages
internal/stats/x.go          |import _ "syscall"                          |pure packages
internal/steady/x.go         |import _ "os"                               |pure packages
internal/hist/x.go           |import _ "os"                               |pure packages
internal/hist/x.go           |import _ "plimsoll/internal/stats"          |leaves import nothing of ours
internal/stats/x.go          |import _ "plimsoll/internal/result"         |leaves import nothing of ours
internal/finding/x.go        |import _ "net"                              |pure packages
internal/result/x.go         |import _ "plimsoll/internal/result/store"   |pure packages
internal/fioimport/x.go      |import _ "os"                               |pure packages
internal/workload/x.go       |import _ "plimsoll/internal/journal"        |pure packages
internal/workload/fio/x.go   |import _ "os/exec"                          |pure packages
internal/workload/kinds/x.go |import _ "plimsoll/internal/container"      |pure packages
internal/stack/line/x.go     |import _ "golang.org/x/sys/unix"            |pure packages
internal/stack/line/x.go     |import _ "plimsoll/internal/stack"          |pure packages
internal/stack/fsoption/x.go |import _ "os"                               |pure packages
internal/finding/x.go        |import _ "plimsoll/internal/trial"          |pure packages
internal/report/x.go         |import _ "plimsoll/internal/trial"          |never run trials
internal/report/x.go         |import _ "plimsoll/internal/workload/fio"   |never run trials
internal/report/x.go         |import _ "os/exec"                          |never run trials
internal/report/x.go         |import _ "plimsoll/internal/lab"             |never run trials
internal/finding/x.go        |import _ "plimsoll/internal/lab"             |pure packages
internal/finding/x.go        |import _ "plimsoll/internal/owner"           |pure packages
internal/finding/x.go        |import _ "plimsoll/internal/inputfile"       |pure packages
internal/printable/x.go      |import _ "os"                               |pure packages
internal/plural/x.go         |import _ "os"                               |pure packages
internal/finding/x.go        |import _ "plimsoll/internal/cgroup"          |pure packages
internal/report/x.go         |import _ "plimsoll/internal/roster"          |never run trials
internal/trial/x.go          |import _ "plimsoll/cmd/plimsoll"            |imported by none
internal/stack/x.go          |import _ "plimsoll/internal/hosttest"       |belongs to tests
internal/stack/x.go          |import "golang.org/x/sys/unix"; var F = unix.Unmount        |only internal/journal undoes
internal/container/x.go      |import "syscall"; var F = syscall.Unmount                   |only internal/journal undoes
internal/trial/x.go          |import u "golang.org/x/sys/unix"; var F = u.LOOP_CLR_FD     |only internal/journal undoes
internal/trial/x.go          |import "os"; func F() { os.Exit(1) }                        |only main ends the process
internal/report/x.go         |import "fmt"; func F() { fmt.Println() }                    |standard output belongs
internal/experiment/x.go     |import _ "net/url"                          |-
internal/experiment/x_test.go|import _ "os"                               |-
internal/result/store/x.go   |import _ "os"                               |-
internal/workload/fio/x.go   |import _ "plimsoll/internal/stack/line"     |-
internal/report/x.go         |import _ "plimsoll/internal/result/store"   |-
internal/journal/x.go        |import "golang.org/x/sys/unix"; var F = unix.Unmount        |-
'

module=$(mktemp -d)
trap 'rm -rf "$module"' EXIT
cp go.mod go.sum .golangci.yml "$module"

# Every package that a case mentions is there, and empty.
stub() { # stub PACKAGE
	[ -d "$root/$1" ] || { echo "layers: $1 is gone: .golangci.yml and this test must follow it" >&2; exit 1; }
	mkdir -p "$module/$1"
	echo "package stub" >"$module/$1/stub.go"
}

n=0 want=()
while IFS='|' read -r file body words; do
	[ -n "$file" ] || continue
	n=$((n + 1))
	file=${file// /}
	package=${file%/*}
	suffix=${file##*/x}
	stub "$package"
	if [[ $body =~ \"plimsoll/([^\"]+)\" ]]; then stub "${BASH_REMATCH[1]}"; fi
	# Cases of one package lie side by side: what they declare is numbered.
	body=$(sed "s/ *$//; s/; /\n\n/; s/F = /F$n = /; s/func F()/func F$n()/" <<<"$body")
	broken=$package/case$n$suffix
	printf 'package stub\n\n%s\n' "$body" >"$module/$broken"
	want+=("$broken|$words")
done <<<"$cases"

answer=$(cd "$module" && "$root/scripts/with-go" "$root/bin/golangci-lint" run --allow-serial-runners --enable-only depguard,forbidigo ./... 2>&1 || true)

failed=0
for case in "${want[@]}"; do
	file=${case%%|*} words=${case#*|}
	line=$(grep -F "$file:" <<<"$answer" || true)
	if [ "$words" = - ] && [ -n "$line" ]; then
		echo "layers: allowed, but refused: $line" >&2
		failed=$((failed + 1))
	elif [ "$words" != - ] && [[ $line != *"$words"* ]]; then
		echo "layers: $file should be refused with '$words': $(tail -n 1 "$module/$file")" >&2
		failed=$((failed + 1))
	fi
done
echo "layers: $((n - failed)) of $n cases as expected"
if [ "$failed" != 0 ]; then
	printf '%s\n' "--- the linter said:" "$answer" >&2
	exit 1
fi
