#!/usr/bin/env bash
# Makes the lab's image and runs the tests that need virtual machines: package
# labtest. What more it is given goes to go test:
#
#     scripts/lab-test.sh [-run TestFabric]
#     scripts/lab-test.sh --image    makes the image, and runs no test
#
# All clones of a user share the image, in ${XDG_CACHE_HOME:-~/.cache}/plimsoll/lab.
# It is made anew each week, for newer packages, and when what makes it changes.
#
# Where QEMU or the image cannot be had, it says so, with the reason, and ends
# well; set PLIMSOLL_LAB_REQUIRED=1 where that is a failure.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
lab=$PWD/bin/lab

skip() { # skip WHY...
	printf '\n%s\n' '==================================================================' \
		"LAB TESTS SKIPPED: $*" "Layers on real drives, NVMe over Fabrics and cgroup v2 are NOT TESTED." \
		'==================================================================' >&2
	[ -z "${PLIMSOLL_LAB_REQUIRED-}" ] || exit 1
	exit 0
}

[ "$(uname -m)" = x86_64 ] || skip "the lab's machines are x86-64, and this host is $(uname -m)"
command -v qemu-system-x86_64 >/dev/null || skip "QEMU is not installed (apt-get install qemu-system-x86)"

# Held until the last test has ended, so that no other clone removes it. Images of
# weeks that are over go, once nobody holds them.
cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/plimsoll/lab
week=$(date +%G-W%V)
sources=$(cat internal/lab/{image,initrd,recipe}.go | sha256sum)
images=$cache/$week-${sources:0:12}
mkdir -p "$cache"
exec {turn}<"$cache"
flock "$turn"
mkdir -p "$images"
exec {held}<"$images"
flock --shared "$held"
for old in "$cache"/*; do
	[[ $old = "$cache/$week"-* ]] || flock --nonblock "$old" rm -rf "$old" || true
done
exec {turn}<&-

mkdir -p "$lab"
[ -L "$lab/images" ] || rm -rf "$lab/images" # one of the clone's own
ln -sfn "$images" "$lab/images"
log=$lab/build.log
status=0
./plimsoll lab build --dir "$lab" 2>&1 | tee "$log" || status=$?
if [ $status = 3 ]; then
	skip "the image cannot be made: $(tail -n 1 "$log")"
elif [ $status != 0 ] && grep -Eiq 'could not resolve|temporary failure|unable to connect|could not connect|connection (failed|refused|timed out)|network is unreachable|failed to fetch' "$log"; then
	skip "the image cannot be made, because the distribution's packages cannot be fetched: see above"
elif [ $status != 0 ]; then
	exit $status
fi

[ "${1-}" != --image ] || exit 0
limit=60m
[ -z "${PLIMSOLL_TEST_SOAK-}" ] || limit=6h # all that the tests can show

# Verbose, so that the minutes under emulation show where they go.
PLIMSOLL_TEST_LAB=$lab exec scripts/with-go go test -count=1 -timeout $limit -parallel 16 -v "$@" ./labtest
