#!/usr/bin/env bash
# Takes the README's picture of a real report, with a headless Chromium:
#
#     scripts/screenshots.sh [RUN]
#
# RUN is a run directory; without one, the newest in plimsoll-runs. The picture
# is docs/images/report.png. WIDTH and HEIGHT (1200x1500) are in CSS pixels.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

run=${1:-$(find plimsoll-runs -mindepth 1 -maxdepth 1 -type d -printf '%T@ %p\n' 2>/dev/null | sort -n | tail -n 1 | cut -d ' ' -f 2-)}
[ -n "$run" ] || { echo "screenshots: there is no run yet: make demo" >&2; exit 1; }
report=$(realpath "$run/report.html")

browser=
for name in chromium chromium-browser google-chrome; do
	if command -v "$name" >/dev/null; then browser=$name && break; fi
done
[ -n "$browser" ] || { echo "screenshots: needs Chromium: scripts/setup.sh test says more" >&2; exit 1; }

profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT
mkdir -p docs/images
# A browser refuses its own sandbox to root; the page is ours and offline. It
# leaves directories in TMPDIR.
TMPDIR="$profile" "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --no-first-run \
	--user-data-dir="$profile" --force-device-scale-factor=1 \
	--window-size="${WIDTH:-1200},${HEIGHT:-1500}" \
	--screenshot="$PWD/docs/images/report.png" "file://$report" 2>"$profile/log" ||
	{ cat "$profile/log" >&2; exit 1; }
echo "screenshots: docs/images/report.png, of $run"
