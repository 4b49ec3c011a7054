#!/bin/bash
# Runs in a lab machine with three drives: makes captures with blktrace.
set -eu
mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
mkdir -p plimsoll-runs/captures; cd plimsoll-runs/captures
echo '{}' >run.json
job() { # job PATH ARGS...: I/O with depth, reads and writes, syncs
	fio --name=j --filename="$1" --size=64m --bs=4k --direct=1 --ioengine=libaio --iodepth=8 --rw=randrw --number_ios=250 --output=/dev/null --fallocate=none "${@:2}"
}
cap() { # cap NAME "DEV..." PATH ARGS...
	local name=$1 devs=$2; shift 2
	local args=(); for d in $devs; do args+=(-d "$d"); done
	blktrace -b 512 -n 8 "${args[@]}" -D . >"$name.log" 2>&1 &
	local pid=$!
	for _ in $(seq 100); do ls ./*.blktrace.0 >/dev/null 2>&1 && break; sleep 0.1; done; sleep 1
	job "$@" || echo "$name: fio failed"
	sync; sleep 0.3
	kill -INT $pid; wait $pid || true
	mkdir -p "$name"; mv ./*.blktrace.* "$name"/
	echo "$name: $(ls "$name" | tr '\n' ' ')"; tail -n 8 "$name.log"
}
modprobe -a dm_mod raid0 dm_thin_pool 2>/dev/null || true
cap nvme /dev/nvme0n1 /dev/nvme0n1
echo mq-deadline >/sys/block/nvme0n1/queue/scheduler
cap nvme-mq-deadline-seq /dev/nvme0n1 /dev/nvme0n1 --rw=write --iodepth=16 --iodepth_batch_submit=8 --iodepth_batch_complete_min=4
echo none >/sys/block/nvme0n1/queue/scheduler
cap nvme-fsync /dev/nvme0n1 /dev/nvme0n1 --rw=randwrite --fsync=8 --iodepth=1 --ioengine=psync
cap nvme-big /dev/nvme0n1 /dev/nvme0n1 --rw=read --bs=4m --number_ios=12 --iodepth=2
blkdiscard -f /dev/nvme0n1
# LVM stripe
pvcreate -qq -y -ff /dev/nvme0n1 /dev/nvme1n1 /dev/nvme2n1; vgcreate -qq vg /dev/nvme0n1 /dev/nvme1n1 /dev/nvme2n1
lvcreate -qq -y -i 3 -I 64k -L 384m -n striped vg
cap lvm-stripe "/dev/dm-0 /dev/nvme0n1 /dev/nvme1n1 /dev/nvme2n1" /dev/vg/striped
cap lvm-stripe-split "/dev/dm-0 /dev/nvme0n1 /dev/nvme1n1 /dev/nvme2n1" /dev/vg/striped --bs=256k --number_ios=60
lvremove -qq -y vg/striped
lvcreate -qq -y -L 256m -T vg/pool -V 200m -n thin
top=$(basename "$(readlink -f /dev/vg/thin)")
cap dm-thin "/dev/$top /dev/nvme0n1 /dev/nvme1n1 /dev/nvme2n1" /dev/vg/thin
vgremove -qq -y -f vg; pvremove -qq -y /dev/nvme0n1 /dev/nvme1n1 /dev/nvme2n1
mdadm --create /dev/md0 --run --level=0 --raid-devices=3 --chunk=64 /dev/nvme0n1 /dev/nvme1n1 /dev/nvme2n1 2>&1
cap md-raid0 "/dev/md0 /dev/nvme0n1 /dev/nvme1n1 /dev/nvme2n1" /dev/md0
mkfs.xfs -q -f /dev/md0; mkdir -p /mnt/x; mount /dev/md0 /mnt/x
cap md-raid0-xfs "/dev/md0 /dev/nvme0n1 /dev/nvme1n1 /dev/nvme2n1" /mnt/x/f --rw=randwrite --fsync=16
umount /mnt/x; mdadm --stop /dev/md0; mdadm --zero-superblock /dev/nvme0n1 /dev/nvme1n1 /dev/nvme2n1
for fs in ext4 btrfs; do
	case $fs in ext4) mkfs.ext4 -q -F /dev/nvme0n1 ;; btrfs) mkfs.btrfs -q -f /dev/nvme0n1 ;; esac
	mount /dev/nvme0n1 /mnt/x
	cap nvme-$fs /dev/nvme0n1 /mnt/x/f --rw=randwrite --fsync=16
	umount /mnt/x; wipefs -aq /dev/nvme0n1
done
# a partition, and a loop device on it
printf 'label: gpt\nsize=200MiB\n' | sfdisk -q /dev/nvme0n1
cap nvme-partition "/dev/nvme0n1" /dev/nvme0n1p1
