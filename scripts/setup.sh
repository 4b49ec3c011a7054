#!/usr/bin/env bash
# Installs what this host lacks to build, demonstrate or test plimsoll:
#
#     scripts/setup.sh build|demo|test
#
# Each goal includes the ones before it. Debian and Ubuntu only; elsewhere it
# names what is missing. It installs only what is missing, says what and why,
# never upgrades or removes a package, starts no service, and can be run again
# at any time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

# One need per line: goal, must or should, the programs (or files) of which one is enough,
# the package that brings the first of them, and what for. The host does
# without a "should": the stacks or tests that want it are skipped, with that
# reason.
needs='
demo|must  |fio                       |fio           |drives the load
demo|must  |mount                     |mount         |mounts the stacks
demo|must  |blkid                     |util-linux    |recognizes what a device holds
demo|should|mkfs.ext4                 |e2fsprogs     |makes ext4 stacks
demo|should|mkfs.xfs                  |xfsprogs      |makes xfs stacks
demo|should|mkfs.btrfs                |btrfs-progs   |makes btrfs stacks
demo|should|dockerd                   |docker.io     |starts the private engines of container stacks
demo|should|iptables                  |iptables      |dockerd looks for it when it starts
demo|should|fuse-overlayfs            |fuse-overlayfs|makes fuse-overlayfs stacks
demo|should|fusermount3 fusermount    |fuse3         |mounts fuse-overlayfs
test|should|chromium chromium-browser |chromium      |opens the report as a reader would
test|should|npm                      |npm           |fetches axe-core, which checks that reports are accessible
test|should|pdftoppm                 |poppler-utils |shows the printed pages of reports (scripts/screenshots.sh)
test|should|qemu-system-x86_64       |qemu-system-x86|runs the tests that need kernels and drives of their own, in virtual machines
test|should|mmdebstrap               |mmdebstrap    |makes the image that they start from
test|should|mkfs.ext4                |e2fsprogs     |makes its file system
test|should|xz                       |xz-utils      |unpacks its kernel
test|should|gcc                      |gcc           |links tests with the race detector
test|should|/usr/include/stdlib.h    |libc6-dev     |has the headers that this takes
test|should|clang                    |clang         |builds the programs that record block requests again, to compare
test|should|/usr/include/bpf/bpf_helpers.h|libbpf-dev|has the headers that they include
test|should|llvm-strip               |llvm          |strips them
test|should|promtool                 |prometheus    |tries the alerts of the chart
test|should|btt blkparse            |blktrace      |checks what plimsoll trace says against btt
'
if [ "$(id -u)" != 0 ]; then
	needs+='test|should|newuidmap                |uidmap        |makes that image without root
'
fi

say() { echo "setup: $*"; }
die() { echo "setup: $*" >&2; exit 1; }

case ${1-} in
build) goals='build' ;;
demo) goals='build demo' ;;
test) goals='build demo test' ;;
*) die "usage: scripts/setup.sh build|demo|test" ;;
esac
goal=$1

have() { # have PROGRAM...: whether one of them is there
	local program
	for program; do
		if command -v "$program" >/dev/null || [[ $program == /* && -e $program ]]; then return 0; fi
	done
	return 1
}

# wanted prints the needs of this goal that are not met.
wanted() {
	local of weight programs package why
	while IFS='|' read -r of weight programs package why; do
		[[ -n $of && " $goals " == *" $of "* ]] || continue
		# shellcheck disable=SC2086 # several programs in one field
		if ! have $programs; then
			echo "${weight// /}|${programs%% *}|${package// /}|$why"
		fi
	done <<<"$needs"
}

need_root() {
	[ "$(id -u)" = 0 ] || have sudo || die "$* needs root, and there is no sudo: run this as root"
}

# apt runs apt-get in a private mount namespace in which the programs that
# would start services do nothing: the host's own stay as they are, and nothing
# is left to put back when this is interrupted. Where there can be no such
# namespace, in a container or a chroot, there are no services to start either.
apt() {
	local command=(apt-get -qq -o DPkg::Lock::Timeout=300 "$@")
	if scripts/as-root unshare --mount true 2>/dev/null; then
		# shellcheck disable=SC2016 # expanded by the inner shell
		command=(unshare --mount bash -c '
			for starter in /usr/sbin/invoke-rc.d /usr/bin/deb-systemd-invoke; do
				if [ -e "$starter" ]; then mount --bind /bin/true "$starter"; fi
			done
			exec "$@"' apt "${command[@]}")
	fi
	scripts/as-root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 "${command[@]}" </dev/null
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
log=$scratch/log

logged() { # logged COMMAND...: quiet unless it fails
	"$@" >"$log" 2>&1 || { local code=$?; cat "$log" >&2; return $code; }
}

updated=
update() {
	[ -z "$updated" ] || return 0
	say "fetching the package lists"
	logged apt update || die "apt-get update failed: see above"
	updated=yes
}

on_offer() { grep -q '^  Candidate: [^(]' <<<"$(LC_ALL=C apt-cache policy "$1" 2>/dev/null)"; }

# additive tells whether installing packages only adds: no upgrade, no removal.
additive() {
	local plan
	plan=$(apt-get -s install --no-upgrade --no-install-recommends "$@" 2>/dev/null) || return 1
	! grep -Eq '^(Remv |Inst [^ ]+ \[)' <<<"$plan"
}

# install PACKAGE...: leaves out, and names, what cannot be had.
install() {
	local package add=()
	for package; do
		on_offer "$package" || update
		if ! on_offer "$package"; then
			say "$package: this distribution does not offer it"
		elif ! additive "$package"; then
			say "$package: left out, because apt would upgrade or remove other packages for it (see: apt-get -s install --no-install-recommends $package)"
		else
			add+=("$package")
		fi
	done
	[ ${#add[@]} -gt 0 ] || return 0
	additive "${add[@]}" || die "apt would upgrade or remove packages to install all of: ${add[*]}"

	local services=()
	if [[ " ${add[*]} " == *" docker.io "* ]]; then
		services=(docker.service docker.socket)
		have containerd || services+=(containerd.service)
	fi
	say "installing ${add[*]}"
	if ! apt install --yes --no-upgrade --no-install-recommends "${add[@]}" >"$log" 2>&1; then
		update # lists that are out of date name files that are gone
		logged apt install --yes --no-upgrade --no-install-recommends "${add[@]}" ||
			die "apt-get could not install ${add[*]}: see above"
	fi
	if [ ${#services[@]} -gt 0 ]; then
		if have systemctl; then
			scripts/as-root systemctl --quiet disable "${services[@]}" >"$log" 2>&1 || true
		elif [ -e /etc/init.d/docker ]; then
			scripts/as-root update-rc.d docker disable >"$log" 2>&1 || true
		fi
		say "plimsoll starts Docker engines of its own; the host's service is left off (systemctl enable --now docker turns it on)"
	fi
}

# ensure_go has a Go that can build this module.
ensure_go() {
	scripts/with-go true 2>/dev/null && return
	local want advice go arch dir
	want=$(sed -n 's/^go \([0-9.]*\).*/\1/p' go.mod)
	advice="install Go $want or newer, with its bin directory in PATH"
	say "Go $want is missing: it builds plimsoll"
	if ! have go && ! compgen -G '/usr/lib/go-*/bin/go' >/dev/null; then
		distribution_go
		scripts/with-go true 2>/dev/null && return
	fi

	# A Go from before 1.21 does not change its own toolchain, but it can
	# fetch one, which is a module like any other, and check its sum.
	go=$(compgen -G '/usr/lib/go-*/bin/go' | sort -V | tail -n 1) || go=$(command -v go) || die "$advice"
	arch=$("$go" env GOARCH)
	say "fetching the Go $want toolchain with $("$go" version | cut -d ' ' -f 3), which is too old by itself"
	(cd "$scratch" && "$go" mod init fetch && "$go" mod download "golang.org/toolchain@v0.0.1-go$want.linux-$arch") >"$log" 2>&1 || {
		cat "$log" >&2
		die "could not fetch it: $advice"
	}
	dir=$("$go" env GOMODCACHE)/golang.org/toolchain@v0.0.1-go$want.linux-$arch
	find "$dir/bin" "$dir/pkg/tool" -type f -exec chmod +x {} +
	scripts/with-go true
}

# distribution_go installs the newest Go that the distribution offers, backports
# included where they are set up.
distribution_go() {
	local package
	have apt-get || die "$advice"
	need_root "installing Go"
	on_offer golang-go || update
	package=$(apt-cache search --names-only '^golang-1\.[0-9]+-go$' | cut -d ' ' -f 1 | sort -V | tail -n 1)
	[ -n "$package" ] || die "this distribution offers no Go: $advice"
	install "$package"
}

ensure_programs() {
	local missing packages
	missing=$(wanted)
	[ -n "$missing" ] || return 0
	say "missing here:"
	awk -F '|' '{ printf "    %-16s %s (package %s)\n", $2, $4, $3 }' <<<"$missing"
	if ! grep -q '^must' <<<"$missing" && ! { have apt-get && { [ "$(id -u)" = 0 ] || have sudo; }; }; then
		say "goes on without: it takes apt-get, and root or sudo, to install them"
		return
	fi
	have apt-get || die "install the above with this distribution's package manager"
	packages=$(cut -d '|' -f 3 <<<"$missing" | sort -u)
	need_root "installing $(tr '\n' ' ' <<<"$packages")"
	# shellcheck disable=SC2086 # one word per package
	install $packages
	hash -r

	missing=$(wanted)
	if grep -q '^must' <<<"$missing"; then
		die "still missing: $(grep '^must' <<<"$missing" | cut -d '|' -f 2 | paste -sd ' ')"
	fi
	if [ -n "$missing" ]; then
		say "goes on without: $(cut -d '|' -f 2 <<<"$missing" | paste -sd ' '); what needs it is skipped"
	fi
}

# The tests of reports skip where it cannot be had.
axe_core() { [ "$goal" != test ] || scripts/axe-core.sh; }

if [ -z "$(wanted)" ] && scripts/with-go true 2>/dev/null; then
	axe_core
	say "nothing to install for $goal"
	exit 0
fi
ensure_go
ensure_programs
axe_core
say "ready for $goal"
