#!/usr/bin/env bash
# Takes pictures of real reports, with a headless Chromium:
#
#     scripts/screenshots.sh [RUN...]
#
# RUN is a run directory; without one, the newest in plimsoll-runs. Of each,
# bin/screenshots gets EXPERIMENT-desktop.png, EXPERIMENT-phone.png (375 CSS pixels
# wide), and EXPERIMENT.pdf, A4, with its pages as EXPERIMENT-print-NN.png where
# pdftoppm is (poppler-utils). scripts/pictures.sh makes docs/pictures.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [ $# = 0 ]; then
	set -- "$(find plimsoll-runs -mindepth 1 -maxdepth 1 -type d -printf '%T@ %p\n' 2>/dev/null | sort -n | tail -n 1 | cut -d ' ' -f 2-)"
fi
[ -n "$1" ] || { echo "screenshots: there is no run yet: make demo" >&2; exit 1; }

browser=
for name in chromium chromium-browser google-chrome; do
	if command -v "$name" >/dev/null; then browser=$name && break; fi
done
[ -n "$browser" ] || { echo "screenshots: needs Chromium: scripts/setup.sh test says more" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=bin/screenshots
mkdir -p "$out"

# A browser refuses its own sandbox to root; the page is ours and offline. It
# leaves directories in TMPDIR.
browse() {
	TMPDIR="$work" "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --no-first-run \
		--user-data-dir="$work/profile" --force-device-scale-factor=1 "$@" 2>"$work/log" >/dev/null ||
		{ cat "$work/log" >&2; exit 1; }
}

for run; do
	report=$(realpath "$run/report.html")
	name=$(basename "$run")
	name=$out/${name%%-20[0-9]*} # the experiment, without the time
	browse --window-size="1280,${HEIGHT:-6000}" --screenshot="$PWD/$name-desktop.png" "file://$report"
	# A window is never as narrow as a phone: the report stands in a frame.
	printf '<body style="margin:0"><iframe src="file://%s" style="border:0;width:375px;height:%spx"></iframe>' \
		"$report" "${HEIGHT:-12000}" >"$work/phone.html"
	browse --window-size="500,${HEIGHT:-12000}" --screenshot="$PWD/$name-phone.png" "file://$work/phone.html"
	browse --print-to-pdf="$PWD/$name.pdf" --no-pdf-header-footer "file://$report"
	if command -v pdftoppm >/dev/null; then
		rm -f "$name"-print-*.png
		pdftoppm -r 60 -png "$name.pdf" "$name-print"
	fi
	echo "screenshots: $name-desktop.png, -phone.png, .pdf, of $run"
done
