#!/usr/bin/env bash
# Runs a command while two busy loops for each processor and a fio on the disk run beside it:
#
#     scripts/under-load.sh COMMAND...
#
# Tests that pass then assert no speed. The loops and fio end with the command, or with this
# script, whichever is first.
set -euo pipefail

dir=$(mktemp -d "${TMPDIR:-/tmp}/under-load-XXXXXX")
load=()
end() {
	kill "${load[@]}" 2>/dev/null || true
	wait "${load[@]}" 2>/dev/null || true
	rm -rf "$dir"
}
trap end EXIT
trap 'exit 130' INT TERM

# setpriv: the kernel ends them even where this script is killed.
for _ in $(seq $((2 * $(nproc)))); do
	setpriv --pdeathsig KILL bash -c 'while :; do :; done' &
	load+=($!)
done
setpriv --pdeathsig KILL fio --name=load --directory="$dir" --size=256m --rw=randrw --bs=16k --direct=1 \
	--ioengine=libaio --iodepth=4 --time_based --runtime=24h --thread --output=/dev/null &
load+=($!)
echo "under-load: ${#load[@]} programs keep $(nproc) processors and the disk busy" >&2
"$@"
