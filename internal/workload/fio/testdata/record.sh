#!/bin/sh
# Records outputs of the real fio into testdata/outputs. Needs root (a small
# tmpfs is mounted), fio and python3. Run it in this folder; the tests then
# check plimsoll's reading against what fio itself printed.
set -eu
out=$(pwd)/outputs
dir=$(mktemp -d)
trap 'umount "$dir/small" 2>/dev/null || true; rm -rf "$dir"' EXIT
cd "$dir"
mkdir small

record() { # record NAME OPTION...: prints fio's exit code
	name=$1
	shift
	code=0
	fio --eta=never --output-format=json+ --output="$out/$name.json" "$@" >"$dir/log" 2>&1 || code=$?
	echo "$name: exit $code"
}
all="--slat_percentiles=1 --clat_percentiles=1 --lat_percentiles=1 --disk_util=0"
timed="--time_based=1 --runtime=400ms --ramp_time=100ms"
file="--filename=data --size=16m"

fio --name=layout $file --rw=write --bs=1m --end_fsync=1 >/dev/null
record libaio-randread $all $timed $file --direct=1 --ioengine=libaio --iodepth=8 --numjobs=2 --thread=1 --group_reporting=1 --name=job --rw=randread
record libaio-randwrite $all $timed $file --direct=1 --ioengine=libaio --iodepth=4 --name=job --rw=randwrite
record libaio-randrw $all $timed $file --direct=1 --ioengine=libaio --iodepth=4 --name=job --rw=randrw --rwmixread=70
record psync-randread $all $timed $file --direct=1 --ioengine=psync --name=job --rw=randread
record io_uring-write $all $timed $file --direct=1 --ioengine=io_uring --iodepth=4 --bs=64k --name=job --rw=write
record ungrouped $all $timed $file --direct=1 --ioengine=psync --numjobs=3 --name=job --rw=randrw
record fsync $all $timed $file --ioengine=psync --fsync=2 --numjobs=2 --thread=1 --group_reporting=1 --name=job --rw=randwrite
record layout-only $all $file --create_only=1 --name=job --rw=randread

# What is watched while it runs: fio tells of itself again and again, in a ramp
# too, and ends well at SIGINT. Slow, so that the histograms stay small.
slow="--filename=data --size=4m --direct=1 --ioengine=psync --iodepth=4 --rate_iops=100 --time_based=1 --status-interval=100ms --name=job"
record watched $all $slow --rw=randrw --numjobs=2 --thread=1 --group_reporting=1 --ramp_time=200ms --runtime=400ms
fio --eta=never --output-format=json+ --output="$out/interrupted.json" $all $slow --rw=randread --thread=1 --group_reporting=1 --runtime=60 >/dev/null 2>&1 &
sleep 0.75 && kill -INT $!
code=0
wait $! || code=$?
echo "interrupted: exit $code"

# What fails.
mount -t tmpfs -o size=4m none small
record enospc $all --filename=small/data --size=16m --bs=1m --ioengine=libaio --iodepth=2 --direct=1 --name=layout --rw=write
umount small
record enospc-none $all --filename=/dev/full --size=1m --name=job --rw=write
record einval $all $file --direct=1 --bs=1000 --ioengine=libaio --name=job --rw=randread
record file-gone $all --filename=gone --size=1m --allow_file_create=0 --name=job --rw=randread
record no-engine --filename=data --size=1m --ioengine=nosuch --name=job
record bad-option "$dir/none.fio"
record no-histograms --gtod_reduce=1 $timed $file --ioengine=psync --name=job --rw=randread
record one-percentile $timed $file --ioengine=psync --name=job --rw=randread
record unified $all --unified_rw_reporting=1 $timed $file --ioengine=psync --name=job --rw=randrw
printf '[job]\nnosuch=1\n' >none.fio
record bad-option none.fio

fio --eta=never --output-format=json+ --output="$out/terminated.json" $all $file --time_based=1 --runtime=60 --ioengine=psync --name=job --rw=randread >/dev/null 2>&1 &
sleep 3 && kill -TERM $!
code=0
wait $! || code=$?
echo "terminated: exit $code"

# A seccomp filter that answers io_uring_setup with EPERM, as containers do.
code=0
python3 - "$out/io_uring-eperm.json" $all $file <<'PY' >/dev/null 2>&1 || code=$?
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
ins = lambda code, jt, jf, k: struct.pack("HBBI", code, jt, jf, k)
prog = ins(0x20, 0, 0, 0) + ins(0x15, 0, 1, 425) + ins(6, 0, 0, 0x00050001) + ins(6, 0, 0, 0x7fff0000)
buf = ctypes.create_string_buffer(prog)
fprog = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(prog) // 8, ctypes.addressof(buf)))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, fprog) == 0
os.execvp("fio", ["fio", "--eta=never", "--output-format=json+", "--output=" + sys.argv[1], *sys.argv[2:],
                  "--ioengine=io_uring", "--direct=1", "--name=job", "--rw=randread"])
PY
echo "io_uring-eperm: exit $code"
