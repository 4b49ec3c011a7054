#!/usr/bin/env bash
# Proves that a new workload, layer, file system, sampler, finding, question of a verdict
# or column with a metric of its own is one new file (or folder) and one line of a
# table, and a new database two of each: adds a toy of each to a copy of the tree,
# counts what changed, and shows that the program knows it and that the tests of the
# tables still pass. A line that imports the new folder is not
# counted; a page of docs that a test writes with -update is not either, and is named.
#
# The toys, in scripts/testdata/toys, are also the least that each of them takes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
toys=$root/scripts/testdata/toys
copy=$root/bin/toys # always there, so that what was built before is used again
trap 'rm -rf "$copy"' EXIT

fail() { echo "toys: $*" >&2; exit 1; }
go() { "$root/scripts/with-go" go "$@"; }
git() { command git -c user.name=toys -c user.email=toys@localhost -c commit.gpgsign=false "$@"; }

rm -rf "$copy"
mkdir -p "$copy"
command git ls-files -z --cached --others --exclude-standard |
	while IFS= read -r -d '' file; do if [ -e "$file" ]; then printf '%s\0' "$file"; fi; done |
	xargs -0 cp -p --parents -t "$copy"
cd "$copy"

# What each toy has to show. None of it names the toys' code.
cp "$toys/sampler_test.go" internal/observe/toy_test.go
cp "$toys/finding_test.go" internal/finding/toy_test.go
cp "$toys/client_test.go" internal/database/client/toy_test.go
cp "$toys/filesystem_test.go" internal/lab/toy_test.go
cp "$toys/question_test.go" internal/finding/verdict/toy_test.go
cp "$toys/column_test.go" internal/report/toy_test.go
git init -q
git add -A
git commit -qm "the tree, and what the toys have to show"

shows_program() { go build -o "$copy/bin/plimsoll" ./cmd/plimsoll && bin/plimsoll validate "$toys/experiment.yaml" 2>&1; }
shows_sampler() { go test -run '^TestToy$' ./internal/observe; }
shows_client() { go test -run '^TestToy$' ./internal/database/client; }
shows_finding() { go test -run '^TestToy$' ./internal/finding; }
shows_recipe() { go test -run '^TestToy$' ./internal/lab; }
shows_question() { go test -run '^TestToy$' ./internal/finding/verdict; }
shows_column() { go test -run '^TestToy$' ./internal/report; }
# Doctor and init name it, whatever this host can.
shows_filesystem() {
	local said
	go build -o "$copy/bin/plimsoll" ./cmd/plimsoll
	said=$(bin/plimsoll doctor --json || true)
	grep -q '"name": "toyfs"' <<<"$said" || { echo "doctor does not name the file system"; return 1; }
	said=$(bin/plimsoll init -)
	grep -q toyfs <<<"$said" || { echo "init does not name the file system"; return 1; }
}

# Without the toys, all of that fails, and for that reason.
lacks() { # lacks WORDS COMMAND...
	local words=$1 said
	shift
	if said=$("$@" 2>&1); then fail "$1 passes without its toy: it proves nothing"; fi
	[[ $said == *"$words"* ]] || fail "$1 fails without its toy, but not with '$words': $said"
}
lacks 'unknown kind "toy"' shows_program
lacks 'unknown layer "toy"' shows_program
lacks 'unknown database "toy"' shows_program
lacks "no client of the toy" shows_client
lacks "no series of the toy" shows_sampler
lacks "no finding of the toy" shows_finding
lacks "no package of the toy" shows_recipe
lacks "no verdict of the toy" shows_question
lacks "no column of the toy" shows_column
lacks "doctor does not name" shows_filesystem

places=0 # that all toys touched

# added counts what was changed since the last toy, of so many parts (1), and makes it the last.
added() { # added WHAT [PARTS]
	local parts=${2-1}
	git add -A
	local status news tables lines
	status=$(git diff --cached --no-renames --name-status)
	# A folder of its own counts as one.
	news=$(awk '$1 == "A" { sub("/[^/]*$", "/", $2); print $2 }' <<<"$status" | wc -l)
	tables=$(awk '$1 != "A" { print $2 }' <<<"$status")
	lines=$(git diff --cached --no-renames --diff-filter=a -U0 | grep -E '^[-+]([^-+]|$)' | grep -vE '^\+[[:space:]]*"plimsoll/[^"]*"$' || true)
	if [ "$news" != "$parts" ] || [ "$(wc -l <<<"$tables")" != "$parts" ] || [ "$(grep -c '^+' <<<"$lines")" != "$parts" ] ||
		[ "$(wc -l <<<"$lines")" != "$parts" ]; then
		fail "a $1 is to be a new file and a line of a table, $parts of each, but takes:"$'\n'"$status"$'\n'"$lines"
	fi
	places=$((places + 2 * parts))
	printf '%-11s %s places: %s, and in %s: %s\n' "$1" "$((2 * parts))" "$(awk '$1 == "A" { print $2 }' <<<"$status")" "$tables" "$(sed 's/^+[[:space:]]*//' <<<"$lines")"
	git commit -qm "a $1"
}

# insert puts a line behind, or with "before" in front of, the only one that matches.
insert() { # insert FILE [before] PATTERN LINE
	local file=$1 where=a
	shift
	if [ "$1" = before ]; then where=i; shift; fi
	[ "$(grep -cE "$1" "$file")" = 1 ] || fail "$file has no line, or several, like '$1': this test must follow the table"
	sed -i -E "\|$1|$where\\$2" "$file"
}

# table returns the file with a line like the pattern.
table() { # table FOLDER PATTERN
	local found
	found=$(grep -lrE --include='*.go' --exclude='*_test.go' "$2" "$1") || fail "no file in $1 has a line like '$2': this test must follow the table"
	[ "$(wc -l <<<"$found")" = 1 ] || fail "several files in $1 have a line like '$2': $found"
	echo "$found"
}

mkdir internal/workload/toy
cp "$toys/workload.go" internal/workload/toy/toy.go
kinds=$(table internal/workload/kinds '^	+fio\.Kind,$')
insert "$kinds" '^	+fio\.Kind,$' '		toy.Kind,'
insert "$kinds" '^	"plimsoll/internal/workload/fio"$' '	"plimsoll/internal/workload/toy"'
added workload

cp "$toys/database.go" internal/database/toy.go
insert "$(table internal/database '^	+pebbleKind,$')" '^	+pebbleKind,$' '		toyKind,'
cp "$toys/client.go" internal/database/client/toy.go
insert "$(table internal/database/client '^var protocols = ')" '^var protocols = ' '	"toy": {dial: dialToy},'
added database 2

cp "$toys/layer.go" internal/stack/layer_toy.go
insert "$(table internal/stack '\[\]\*layer\{$')" '\[\]\*layer\{$' '		toy,'
added layer

cp "$toys/filesystem.go" internal/stack/fs_toyfs.go
insert "$(table internal/stack '^	+ext4, xfs, btrfs, zfs,$')" '^	+ext4, xfs, btrfs, zfs,$' '		toyFS,'
added 'file system'

cp "$toys/sampler.go" internal/observe/host_toy.go
insert "$(table internal/observe '^var samplers = ')" '^var samplers = ' '	toy,'
added sampler

mkdir internal/finding/toy
cp "$toys/finding.go" internal/finding/toy/toy.go
last='^	\{name: "missing", ' # of the table
insert "$(table internal/finding "$last")" before "$last" '	{name: "toy", draw: toy.Find},'
insert internal/finding/rules.go '^	"plimsoll/internal/finding/published"$' '	"plimsoll/internal/finding/toy"'
added finding

mkdir internal/finding/toyquestion
cp "$toys/question.go" internal/finding/toyquestion/toyquestion.go
questions=$(table internal/finding/verdict '^	asked\(importedPoints\),$')
insert "$questions" '^	asked\(importedPoints\),$' '	asked(toyquestion.Verdict),'
insert "$questions" '^	"plimsoll/internal/finding/tenants"$' '	"plimsoll/internal/finding/toyquestion"'
added question

cp "$toys/metric.go" internal/runview/metric_toy.go
last='^		\{section.Column\{Head: "source", ' # of the columns
insert "$(table internal/finding/workloads "$last")" before "$last" '		{section.Column{Head: "toy s", Key: "toy_s"}, metric(runview.Toy, section.Count)},'
added column

go test -run 'Docs|Schema' ./internal/observe ./internal/stack ./internal/experiment -update >/dev/null
git add -A
written=$(git diff --cached --name-only)
if grep -qv '^docs/' <<<"${written:-docs/}"; then fail "-update is to write docs only, but wrote $written"; fi
echo "written by -update: ${written//$'\n'/, }"

shows_program || fail "the program does not know the workload or the layer"
# Into a variable: grep -q closes a pipe at the first match, and the program that is
# still writing into it then fails.
schema=$(bin/plimsoll schema)
grep -q '"toy": {' <<<"$schema" || fail "the schema of experiment files does not know the workload"
shows_filesystem
shows_recipe
shows_client
shows_sampler
shows_finding
shows_question
shows_column
# Of the tables, and of what lists what stands in them. Those of databases want a story and a page of
# the documentation of each.
# Steps of stacks have control groups, which tests of the host that run meanwhile would see.
go test -short -run 'Docs|Options|Writes|NoAccepted' ./internal/stack
go test -short ./internal/workload/kinds ./internal/observe ./internal/finding ./internal/finding/verdict ./internal/finding/workloads ./internal/runview ./internal/experiment |
	{ grep -v 'no test files' || true; }
echo "toys: a workload, layer, file system, sampler, finding, question of a verdict and column are one new file and one line of a" \
	"table each, a database two: $places places in all"
