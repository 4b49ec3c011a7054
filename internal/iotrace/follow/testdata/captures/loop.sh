#!/bin/bash
# Makes the captures loop*.tgz on this host, of fio on loop devices: records of
# the ftrace tracer "blk", which need neither debugfs nor blktrace.
#
#     loop.sh DIRECTORY
#
# It takes the lock that the tests take, and puts back what it changes.
set -euo pipefail
out=$1; mkdir -p "$out"
work=$(mktemp -d)
exec 9>/tmp/plimsoll-hosttest.lock; flock 9
tracing=$work/tracing; mkdir "$tracing" "$work/mnt" "$work/memory"
mount -t tracefs none "$tracing"
mount -t tmpfs -o size=600m none "$work/memory"
loop=
clean() {
	set +e
	[ -z "$loop" ] || { echo 0 >"/sys/block/$name/trace/enable"; losetup -d "$loop"; }
	echo nop >"$tracing/current_tracer"
	echo 0 >"$tracing/options/bin"; echo 1 >"$tracing/options/context-info"
	echo local >"$tracing/trace_clock"; echo 1408 >"$tracing/buffer_size_kb"
	umount "$work/memory" "$tracing"; rmdir "$work/mnt" "$work/memory" "$tracing" "$work"
}
trap clean EXIT
truncate -s 512m "$work/memory/file"
loop=$(losetup -f --show --direct-io=off "$work/memory/file"); name=${loop##*/}

echo nop >"$tracing/current_tracer"
echo mono >"$tracing/trace_clock" # the same on all CPUs
echo 16384 >"$tracing/buffer_size_kb"
echo 0 >"$tracing/options/context-info"; echo 1 >"$tracing/options/bin"

cap() { # cap NAME COMMAND...: what the command makes the loop device do
	local to=$work/memory/cap; mkdir "$to"
	echo 1 >"/sys/block/$name/trace/enable"
	echo blk >"$tracing/current_tracer"
	"${@:2}" >/dev/null; sync -f "$work/mnt"; sleep 0.2
	echo 0 >"$tracing/tracing_on"
	for cpu in "$tracing"/per_cpu/cpu*; do # reads end with the buffer: a pipe would wait
		timeout 1 cat "$cpu/trace_pipe" >"$to/$name.blktrace.${cpu##*cpu}" || true
		grep -H -E '^(overrun|dropped events): [1-9]' "$cpu/stats" || true
	done
	echo nop >"$tracing/current_tracer"; echo 1 >"$tracing/tracing_on"
	echo 0 >"/sys/block/$name/trace/enable"
	tar --sort=name --mtime=2000-01-01 --owner=0 --group=0 --numeric-owner -C "$to" -cf - . | gzip -9n >"$out/$1.tgz"
	ls -l "$to" "$out/$1.tgz"; rm -r "$to"
}
job() { # job PATH ARGS...
	fio --name=j --filename="$1" --size=64m --bs=4k --direct=1 --ioengine=libaio --iodepth=8 --rw=randrw --number_ios=300 --fallocate=none "${@:2}"
}
echo none >"/sys/block/$name/queue/scheduler"
cap loop job "$loop"
echo mq-deadline >"/sys/block/$name/queue/scheduler"
cap loop-mq-deadline job "$loop"
cap loop-mq-deadline-seq job "$loop" --rw=write --iodepth=32 --iodepth_batch_submit=16 --iodepth_batch_complete_min=8
cap loop-discard blkdiscard -f "$loop"
for fs in ext4 xfs btrfs; do
	case $fs in ext4) mkfs.ext4 -q -F "$loop" ;; xfs) mkfs.xfs -q -f "$loop" ;; btrfs) mkfs.btrfs -q -f "$loop" ;; esac
	mount "$loop" "$work/mnt"
	job "$work/mnt/f" --create_only=1 --fallocate=posix >/dev/null; sync -f "$work/mnt" # writes that are split would mislead btt
	dd if=/dev/zero of="$work/mnt/f" bs=64k count=1024 conv=notrunc,fsync status=none
	cap "loop-$fs" job "$work/mnt/f" --rw=randrw --fsync=16 --overwrite=1
	umount "$work/mnt"; wipefs -aq "$loop"
done
