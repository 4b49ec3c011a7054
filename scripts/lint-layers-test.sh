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
internal/stats/stopping/x.go         |import _ "os"                               |pure packages
internal/result/hist/x.go           |import _ "os"                               |pure packages
internal/result/hist/x.go           |import _ "plimsoll/internal/stats"          |leaves import nothing of ours
internal/stats/x.go          |import _ "plimsoll/internal/result"         |leaves import nothing of ours
internal/runview/x.go        |import _ "os"                               |pure packages
internal/result/export/x.go         |import _ "os"                               |pure packages
internal/section/x.go        |import _ "os"                               |pure packages
internal/section/x.go        |import _ "plimsoll/internal/fact"           |knows neither
internal/report/x.go         |import _ "plimsoll/internal/finding/overload"|no rule
internal/report/x.go         |import _ "plimsoll/internal/finding/loadline"|no rule
internal/report/x.go         |import _ "plimsoll/internal/finding/noise"|no rule
internal/report/x.go         |import _ "plimsoll/internal/finding/missing"|no rule
internal/runview/x.go|import _ "plimsoll/internal/finding/overload"|knows no rule
internal/report/x.go         |import _ "plimsoll/internal/finding/elasticity"|no rule
internal/runview/x.go|import _ "plimsoll/internal/finding/elasticity"|knows no rule
internal/report/x.go         |import _ "plimsoll/internal/finding/policies"|no rule
internal/runview/x.go|import _ "plimsoll/internal/finding/policies"|knows no rule
internal/report/x.go         |import _ "plimsoll/internal/finding/tenants"|no rule
internal/runview/x.go|import _ "plimsoll/internal/finding/tenants"|knows no rule
internal/report/x.go         |import _ "plimsoll/internal/finding/unbound"|no rule
internal/runview/x.go|import _ "plimsoll/internal/finding/unbound"|knows no rule
internal/runview/x.go|import _ "plimsoll/internal/finding/loadline"|knows no rule
internal/runview/x.go|import _ "plimsoll/internal/finding/noise"|knows no rule
internal/runview/x.go|import _ "plimsoll/internal/finding/missing"|knows no rule
internal/runview/x.go|import _ "plimsoll/internal/finding/timeseries"|knows no rule
internal/runview/x.go|import _ "plimsoll/internal/finding/instances"|knows no rule
internal/runview/x.go|import _ "plimsoll/internal/finding/latency"|knows no rule
internal/runview/x.go|import _ "plimsoll/internal/finding/ratios"|knows no rule
internal/runview/x.go|import _ "plimsoll/internal/finding/traced"|knows no rule
internal/report/x.go         |import _ "plimsoll/internal/iotrace"        |know no trace
internal/report/x.go         |import _ "plimsoll/internal/iotrace/show"   |know no trace
internal/report/x.go         |import _ "plimsoll/internal/iotrace/capture"|know no trace
internal/iotrace/show/x.go   |import _ "os"                               |pure packages
internal/section/x.go        |import _ "plimsoll/internal/iotrace"        |knows neither
internal/host/devmapper/x.go      |import _ "plimsoll/internal/state/journal"        |leaves import nothing of ours
internal/finding/x.go        |import _ "plimsoll/internal/host/devmapper"      |pure packages
internal/report/x.go         |import _ "plimsoll/internal/host/devmapper"      |never run trials
internal/observe/honesty/x.go        |import _ "plimsoll/internal/host/blockdev"        |pure packages
internal/finding/x.go        |import _ "plimsoll/internal/observe/interference"      |pure packages
internal/finding/x.go        |import _ "plimsoll/internal/observe"        |pure packages
internal/report/x.go         |import _ "plimsoll/internal/host/blockdev"       |never run trials
internal/finding/x.go        |import _ "net"                              |pure packages
internal/finding/verdict/x.go|import _ "os"                               |pure packages
internal/finding/cost/x.go   |import _ "plimsoll/internal/trial"          |pure packages
internal/finding/published/x.go|import _ "os"                             |pure packages
internal/finding/compare/x.go|import _ "plimsoll/internal/result/store"   |pure packages
internal/runview/x.go|import _ "plimsoll/internal/finding/verdict"|knows no rule
internal/fact/x.go           |import _ "plimsoll/internal/finding/cost"   |knows no rule
internal/finding/prose/x.go  |import _ "plimsoll/internal/finding/published"|knows no rule
internal/finding/verdict/x.go|import _ "plimsoll/internal/testkit/runtest"  |belongs to tests
internal/testkit/runtest/x.go  |import _ "plimsoll/internal/stack"          |-
internal/finding/cost/x.go   |import _ "plimsoll/internal/runview"|-
internal/result/x.go         |import _ "plimsoll/internal/result/store"   |pure packages
internal/workload/fio/fiofiles/x.go      |import _ "os"                               |pure packages
internal/workload/x.go       |import _ "plimsoll/internal/state/journal"        |pure packages
internal/workload/fio/x.go   |import _ "os/exec"                          |pure packages
internal/workload/ycsb/x.go  |import _ "plimsoll/internal/workload/loadgen"           |pure packages
internal/workload/ycsb/x.go  |import _ "plimsoll/internal/database/client"|pure packages
internal/workload/ycsb/x.go  |import _ "net"                              |pure packages
internal/workload/ycsb/x.go  |import _ "plimsoll/internal/database"       |-
internal/workload/loadgen/x.go           |import _ "plimsoll/internal/trial"          |nothing but its plan
internal/workload/loadgen/x.go           |import _ "plimsoll/internal/database/client"|-
internal/workload/kinds/x.go |import _ "plimsoll/internal/stack/container"      |pure packages
internal/database/x.go       |import _ "os"                               |pure packages
internal/database/x.go       |import _ "plimsoll/internal/database/pebble"|pure packages
internal/database/wire/x.go  |import _ "net"                              |pure packages
internal/database/client/x.go|import _ "plimsoll/internal/database/pebble"|by its protocol alone
internal/database/client/x.go|import _ "github.com/cockroachdb/pebble/v2" |only internal/database/pebble links
internal/trial/x.go          |import _ "github.com/cockroachdb/pebble/v2" |only internal/database/pebble links
internal/database/pebble/x.go|import _ "github.com/cockroachdb/pebble/v2" |-
internal/database/client/x.go|import _ "net"                              |-
internal/trial/plan/x.go     |import _ "os"                               |what is planned follows
internal/trial/plan/x.go     |import _ "context"                          |what is planned follows
internal/trial/plan/x.go     |import _ "plimsoll/internal/result/store"   |what is planned follows
internal/trial/plan/x.go     |import _ "plimsoll/internal/state/journal"  |what is planned follows
internal/trial/plan/x.go     |import _ "plimsoll/internal/stack"          |what is planned follows
internal/trial/plan/x.go     |import _ "plimsoll/internal/host/cgroup"    |what is planned follows
internal/trial/plan/x.go     |import _ "plimsoll/internal/trial"          |what is planned follows
internal/trial/plan/x.go     |import _ "plimsoll/internal/finding"        |what is planned follows
internal/trial/plan/x.go     |import _ "plimsoll/internal/runview"        |-
internal/trial/plan/x.go     |import _ "plimsoll/internal/result"         |-
internal/trial/plan/x.go     |import _ "plimsoll/internal/stats/stopping" |-
internal/trial/plan/x.go     |import _ "plimsoll/internal/trial/plan/rounds" |-
internal/trial/plan/rounds/x.go     |import _ "plimsoll/internal/result/store"   |what is planned follows
internal/trial/plan/x_test.go|import _ "plimsoll/internal/testkit/plantest"|-
internal/trial/x.go          |import _ "plimsoll/internal/testkit/plantest"|belongs to tests
internal/trial/site/x.go     |import _ "plimsoll/internal/trial/plan"     |know neither
internal/trial/site/x.go     |import _ "plimsoll/internal/trial/plan/rounds"|know neither
internal/trial/site/x.go     |import _ "plimsoll/internal/result/store"   |know neither
internal/trial/site/x.go     |import _ "plimsoll/internal/trial"          |know neither
internal/trial/drive/x.go    |import _ "plimsoll/internal/trial/plan"     |know neither
internal/trial/drive/x.go    |import _ "plimsoll/internal/result/store"   |know neither
internal/trial/drive/x.go    |import _ "plimsoll/internal/trial"          |know neither
internal/trial/drive/x.go    |import _ "plimsoll/internal/trial/site"     |-
internal/trial/drive/x.go    |import _ "plimsoll/internal/stack"          |-
internal/stack/line/x.go     |import _ "golang.org/x/sys/unix"            |pure packages
internal/stack/line/x.go     |import _ "plimsoll/internal/stack"          |pure packages
internal/stack/fsoption/x.go |import _ "os"                               |pure packages
internal/finding/x.go        |import _ "plimsoll/internal/trial"          |pure packages
internal/report/x.go         |import _ "plimsoll/internal/trial"          |never run trials
internal/report/x.go         |import _ "plimsoll/internal/finding/cost"   |facts of findings
internal/report/x.go         |import _ "plimsoll/internal/fact"   |-
internal/report/x.go         |import _ "plimsoll/internal/workload/fio"   |never run trials
internal/report/x.go         |import _ "os/exec"                          |never run trials
internal/report/x.go         |import _ "plimsoll/internal/lab"             |never run trials
internal/finding/x.go        |import _ "plimsoll/internal/lab"             |pure packages
internal/finding/x.go        |import _ "plimsoll/internal/state/sudouser"           |pure packages
internal/finding/x.go        |import _ "plimsoll/internal/state/inputfile"       |pure packages
internal/printable/x.go      |import _ "os"                               |pure packages
internal/units/plural/x.go         |import _ "os"                               |pure packages
internal/problem/x.go        |import _ "os"                               |pure packages
internal/problem/x.go        |import _ "plimsoll/internal/units/plural"         |leaves import nothing of ours
internal/finding/x.go        |import _ "plimsoll/internal/host/cgroup"          |pure packages
internal/report/x.go         |import _ "plimsoll/internal/state/activeruns"          |never run trials
internal/trial/x.go          |import _ "plimsoll/cmd/plimsoll"            |imported by none
internal/stack/x.go          |import _ "plimsoll/internal/testkit/hosttest"       |belongs to tests
internal/stack/x.go          |import _ "plimsoll/internal/testkit/soak"           |belongs to tests
internal/stack/x.go          |import _ "plimsoll/internal/testkit/disturbance"    |belongs to tests
internal/stack/x.go          |import "golang.org/x/sys/unix"; var F = unix.Unmount        |an undo lives in the Undo method
internal/stack/container/x.go      |import "syscall"; var F = syscall.Unmount                   |an undo lives in the Undo method
internal/trial/x.go          |import u "golang.org/x/sys/unix"; var F = u.LOOP_CLR_FD     |an undo lives in the Undo method
internal/trial/x.go          |import "os"; func F() { os.Exit(1) }                        |only main ends the process
internal/report/x.go         |import "fmt"; func F() { fmt.Println() }                    |standard output belongs
internal/experiment/x.go     |import _ "net/url"                          |-
internal/experiment/x_test.go|import _ "os"                               |-
internal/result/store/x.go   |import _ "os"                               |-
internal/workload/fio/x.go   |import _ "plimsoll/internal/stack/line"     |-
internal/report/x.go         |import _ "plimsoll/internal/result/store"   |-
internal/state/journal/x.go        |import "golang.org/x/sys/unix"; var F = unix.Unmount        |-
internal/host/hostinfo/x.go        |import _ "plimsoll/internal/workload/fio"   |known before anything
internal/host/hostinfo/x.go        |import _ "plimsoll/internal/stack/container"|known before anything
internal/host/version/x.go         |import _ "os"                               |pure packages
internal/workload/fio/x.go         |import _ "plimsoll/internal/host/version"   |-
internal/image/x.go                |import _ "plimsoll/internal/stack"             |an image is files
internal/database/loader/x.go      |import _ "plimsoll/internal/stack/container"   |knows no stack
internal/result/store/x.go         |import _ "plimsoll/internal/workload/fio"   |whatever drove it
internal/state/journal/x.go        |import _ "plimsoll/internal/result"         |state knows no result
internal/state/journal/x.go        |import _ "plimsoll/internal/state/runid"    |-
internal/stack/change_x.go   |import "golang.org/x/sys/unix"; var F = unix.LOOP_CLR_FD    |-
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
	name=${file##*/} # PREFIXxSUFFIX
	prefix=${name%%x*} suffix=${name#*x}
	stub "$package"
	if [[ $body =~ \"plimsoll/([^\"]+)\" ]]; then stub "${BASH_REMATCH[1]}"; fi
	# Cases of one package lie side by side: what they declare is numbered.
	body=$(sed "s/ *$//; s/; /\n\n/; s/F = /F$n = /; s/func F()/func F$n()/" <<<"$body")
	broken=$package/${prefix}case$n$suffix
	printf 'package stub\n\n%s\n' "$body" >"$module/$broken"
	want+=("$broken|$words")
done <<<"$cases"

answer=$(cd "$module" && "$root/scripts/with-go" go tool "-modfile=$root/tools/go.mod" golangci-lint run --allow-serial-runners --enable-only depguard,forbidigo ./... 2>&1 || true)

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
