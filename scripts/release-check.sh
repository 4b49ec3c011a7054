#!/usr/bin/env bash
# Makes the release of what is committed in two clones, in directories whose names differ in length, under
# different masks and time zones, and fails unless all files are the same. The first clone's are in bin/release then.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scratch=$(mktemp -d)
trap 'chmod -R u+w "$scratch" && rm -rf "$scratch"' EXIT
commit=$(git rev-parse HEAD)

make_in() { # make_in DIRECTORY
	mkdir -p "$(dirname "$1")"
	git clone --quiet --no-hardlinks --no-checkout . "$1"
	git -C "$1" checkout --quiet --detach "$commit"
	make --no-print-directory -C "$1" release
}
(umask 022 && TZ=UTC LC_ALL=C make_in "$scratch/one")
(umask 077 && TZ=Asia/Kathmandu LC_ALL=C.UTF-8 make_in "$scratch/another/directory with blanks")

if ! diff "$scratch/one/bin/release/SHA256SUMS" "$scratch/another/directory with blanks/bin/release/SHA256SUMS"; then
	echo "release-check: the same commit made different files: see above" >&2
	exit 1
fi
rm -rf bin/release
mkdir -p bin
cp -r "$scratch/one/bin/release" bin/release
(cd bin/release && sha256sum --check --quiet SHA256SUMS && cat SHA256SUMS && du -ch ./* | sort -h)
echo "release-check: two clones made the same $(wc -l <bin/release/SHA256SUMS) files"
