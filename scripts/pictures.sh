#!/usr/bin/env bash
# Makes the pictures of the documentation, docs/pictures, from real runs, and keeps these in docs/runs: the pages quote
# them, and TestOutputsOfPages holds the pages to them:
#
#     scripts/pictures.sh [DIRECTORY]
#
# DIRECTORY (bin/pictures) has NAME.log, what the terminal showed of a run, plimsoll-runs with the runs, and NAME.run, the
# name of each there. What is missing is measured first, which takes twenty minutes, and root. How it works is drawn
# by hand (how-it-works.svg). Each picture is also left in bin/screenshots as a desk and a phone show it, to be looked
# at.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
as_root=$PWD/scripts/as-root
dir=$(realpath -m "${1:-bin/pictures}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$dir" bin/screenshots
scripts/with-go go build -o "$work/plimsoll" ./cmd/plimsoll
scripts/with-go go build -o "$work/" ./scripts/pictures ./scripts/cast

# measured NAME EXPERIMENT [FLAG...]: the run that NAME.run names, which is made if there is none
measured() {
	local name=$1
	if [ ! -f "$dir/$name.run" ]; then
		(cd "$dir" && stty cols 100 2>/dev/null || true
		cd "$dir" && script -q --log-out "$name.log" -c "$as_root $work/plimsoll run ${*:2}" >/dev/null)
		find "$dir/plimsoll-runs" -mindepth 1 -maxdepth 1 -printf '%T@ %f\n' | sort -n | tail -n 1 | cut -d ' ' -f 2 >"$dir/$name.run"
	fi
	echo "$dir/plimsoll-runs/$(<"$dir/$name.run")"
}
tutorials=docs/tutorials
awk '/^```/ { take = /yaml/ ; next } take' $tutorials/1-*.md >"$dir/my-containers.yaml"
quick=$(measured quick quick)
density=$(measured density density --budget 6m)
measured density-2100MiB density --host memory=2100MiB --records 200000 --budget 3m >/dev/null
measured my-containers my-containers.yaml --budget 4m >/dev/null
mkdir -p docs/runs
for run in "$dir"/*.run; do
	name=$(basename "$run" .run)
	"$work/pictures" keep "$dir/plimsoll-runs/$(<"$run")" >"$work/kept" && mv "$work/kept" "docs/runs/$name.db.gz"
done

browser=
for name in chromium chromium-browser google-chrome; do
	if command -v "$name" >/dev/null; then browser=$name && break; fi
done
[ -n "$browser" ] || { echo "pictures: needs Chromium: scripts/setup.sh test says more" >&2; exit 1; }

browse() { # browse PAGE WIDTH HEIGHT PICTURE [SCALE]
	TMPDIR="$work" "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --no-first-run --force-prefers-reduced-motion \
		--user-data-dir="$work/profile" --force-device-scale-factor="${5:-1}" --window-size="$2,$3" --screenshot="$4" "file://$1" \
		>/dev/null 2>"$work/log" || { cat "$work/log" >&2; exit 1; }
}

make_svg() { # make_svg NAME COMMAND...: nothing is overwritten by a command that fails
	"${@:2}" >"$work/$1.svg"
	mv "$work/$1.svg" "docs/pictures/$1.svg"
}
# The program that measured may have stood anywhere.
make_svg quick "$work/cast" -lines 32 '$ sudo plimsoll run quick' < <(sed -E 's#[^ ]*/plimsoll( --state-dir [^ ]+)? run#sudo plimsoll run#' "$dir/quick.log")
make_svg stack "$work/pictures" stack "$quick"
make_svg verdict "$work/pictures" verdict < <("$work/plimsoll" show "$quick")
make_svg timeline "$work/pictures" timeline "$quick"
"$work/pictures" figure "$density" >"$work/figure.html"
browse "$work/figure.html" 560 720 "$PWD/docs/pictures/load-line.png" 2
"$work/plimsoll" show --report "$quick" >/dev/null
browse "$(realpath "$quick")/report.html" 1200 1500 "$PWD/docs/pictures/report.png"

for picture in docs/pictures/*.{svg,png}; do
	for width in 960 343; do
		name=$(basename "$picture")
		printf '<meta name="viewport" content="width=device-width"><body style="margin:0"><div style="width:%spx"><img src="file://%s" style="max-width:100%%">' \
			"$width" "$PWD/$picture" >"$work/page.html"
		browse "$work/page.html" "$((width < 500 ? 500 : width))" 900 "$PWD/bin/screenshots/${name%.*}-$width.png"
	done
done
echo "pictures: docs/pictures; as they are shown: bin/screenshots"
