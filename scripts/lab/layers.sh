#!/bin/bash
# layers.sh IMAGE [TESTS]: runs the tests of stripes and thin pools in a
# virtual machine with four emulated NVMe drives, which the tests may overwrite.
# IMAGE is a directory with a kernel (vmlinux), an initrd.gz and a root.img that
# mounts the 9p share "share" at /share and runs the script of it that lab.run=
# names on the kernel's command line; Debian with fio, Docker 20.10, lvm2, mdadm,
# thin-provisioning-tools, xfsprogs and udev. Nothing of IMAGE is changed: the
# drives and the share are new, and removed.
set -euo pipefail
image=$(realpath "${1:?layers.sh IMAGE [TESTS]}")
tests=${2:-Stripe|ThinPool|Layers|EveryDevice}
cd "$(dirname "$0")/../.."

if ! command -v qemu-system-x86_64 >/dev/null; then
	echo "NOT TESTED: there is no QEMU here (apt-get install qemu-system-x86)" >&2
	exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/share"
for package in cmd/plimsoll internal/stack internal/observe; do # static: the guest has other libraries
	CGO_ENABLED=0 go test -c -o "$work/share/$(basename "$package").test" "./$package"
done
CGO_ENABLED=0 go build -o "$work/share/plimsoll" ./cmd/plimsoll

cat >"$work/share/guest.sh" <<GUEST
modprobe -a nvme loop
for i in \$(seq 100); do [ -b /dev/nvme3n1 ] && break; sleep .1; done
# Real hosts have udev, which looks at every device that comes up.
/lib/systemd/systemd-udevd --daemon
# Not in memory: loop devices there would have no disk under them.
export TMPDIR=/root/tmp PLIMSOLL_SPARE_DEVICES="/dev/nvme0n1 /dev/nvme1n1 /dev/nvme2n1 /dev/nvme3n1"
mkdir -p \$TMPDIR
${LAB_BEFORE:-}
rc=0
for package in ${LAB_PACKAGES:-observe stack plimsoll}; do
	cp /share/\$package.test \$TMPDIR # tests start themselves again and again, which is slow over 9p
	\$TMPDIR/\$package.test -test.v -test.run '$tests' || rc=\$?
done
${LAB_AFTER:-}
exit \$rc
GUEST

disks=()
for n in 1 2 3 4; do
	size=512M
	[ $n = 4 ] && size=2G
	truncate -s $size "$work/drive$n.img"
	disks+=(-drive "file=$work/drive$n.img,if=none,id=d$n,format=raw,cache=unsafe" -device "nvme,drive=d$n,serial=LAB$n")
done
log=$work/console
timeout "${LAB_TIMEOUT:-1500}" qemu-system-x86_64 -M q35 -accel tcg,thread=multi -cpu max -smp 2 -m 2048 \
	-display none -monitor none -serial stdio -no-reboot -nic none -kernel "$image/vmlinux" -initrd "$image/initrd.gz" \
	-append "console=ttyS0 quiet mitigations=off no_timer_check panic=-1 lab.run=guest.sh" \
	-drive "file=$image/root.img,if=none,id=r,format=raw,snapshot=on" -device virtio-blk-pci,drive=r \
	-fsdev "local,id=s,path=$work/share,security_model=none" -device virtio-9p-pci,fsdev=s,mount_tag=share \
	"${disks[@]}" </dev/null | stdbuf -oL tr -d "\r" | tee "$log"
grep -q '^LAB-DONE rc=0' "$log"
