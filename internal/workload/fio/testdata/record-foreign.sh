#!/bin/sh
# Records what the real fio gives to those who run it themselves, into
# testdata/foreign: JSON with and without histograms, states of a job under
# way, client and server on a socket, and logs. Needs fio. Run it in this
# folder; the tests check plimsoll's reading against what fio itself printed.
set -eu
out=$(pwd)/foreign
mkdir -p "$out"
dir=$(mktemp -d)
servers=
cleanup() {
	for pid in $servers; do kill "$pid" 2>/dev/null || true; done
	rm -rf "$dir"
}
trap cleanup EXIT
cd "$dir"

file="--filename=data --size=16m --direct=1 --ioengine=libaio"
fio --name=layout $file --rw=write --bs=1m --end_fsync=1 >/dev/null
quick="$file --iodepth=4 --time_based=1 --runtime=400ms --eta=never"

fio $quick --output-format=json --output="$out/json.json" --name=job --rw=randread
fio $quick --output-format=json --output="$out/again.json" --name=other --rw=randread
fio $quick --output-format=json+ --output="$out/json-plus.json" --name=job --rw=randread
fio $quick --output-format=normal,json --output="$out/normal-json.txt" --name=job --rw=randread --group_reporting=1 --numjobs=2
fio $quick --output-format=normal --output="$out/normal.txt" --name=job --rw=randread
fio $quick --output-format=terse --output="$out/terse.txt" --name=job --rw=randread
fio $quick --output-format=json --output="$out/no-latencies.json" --name=job --rw=randread --gtod_reduce=1
fio $quick --output-format=json --output="$out/unified-both.json" --name=job --rw=randrw --unified_rw_reporting=both
fio $quick --output-format=json --output="$out/trim.json" --filename=data --name=job --rw=randtrim >/dev/null 2>&1 || true
fio $file --iodepth=4 --time_based=1 --runtime=3500ms --ramp_time=1200ms --status-interval=1 --eta=never \
	--output-format=json --output="$out/status.json" --name=job --rw=randread

cat >stonewall.fio <<'EOF'
[global]
filename=data
size=16m
direct=1
ioengine=libaio
iodepth=4
time_based=1
runtime=400ms
[reads]
rw=randread
[writes]
stonewall
rw=randwrite
bs=8k
numjobs=2
EOF
fio --eta=never --output-format=json --output="$out/stonewall.json" stonewall.fio

# Two servers on sockets, and one client. They end with this script.
cat >client.fio <<'EOF'
[global]
filename=data
size=16m
direct=1
ioengine=libaio
iodepth=4
time_based=1
runtime=400ms
rw=randread
[job]
numjobs=2
group_reporting=1
EOF
for name in a b; do
	fio --server=sock:"$dir/$name.sock" >"$name.log" 2>&1 &
	servers="$servers $!"
done
sleep 1
timeout 60 fio --output-format=json+ --output=client.json --client=sock:"$dir/a.sock" client.fio
timeout 60 fio --output-format=json+ --output=clients-plus.json --client=sock:"$dir/a.sock" client.fio --client=sock:"$dir/b.sock" client.fio
timeout 60 fio --output-format=json --output=clients.json --client=sock:"$dir/a.sock" client.fio --client=sock:"$dir/b.sock" client.fio
for name in client clients-plus clients; do
	sed "s|$dir/a.sock|host-a|; s|$dir/b.sock|host-b|; s|^<[^>]*>|<host>|" $name.json >"$out/$name.json"
done

# Logs: averages and histograms, a line for each I/O, and coarse histograms.
fio $file --iodepth=4 --time_based=1 --runtime=3050ms --eta=never --output-format=json+ --output="$out/logs.json" --name=job --rw=randrw \
	--write_bw_log=logs --write_iops_log=logs --write_lat_log=logs --write_hist_log=logs --log_avg_msec=500 --log_hist_msec=1000
fio $file --iodepth=4 --io_size=1600k --eta=never --output-format=json+ --output="$out/each.json" --name=each --rw=randrw --log_offset=1 \
	--write_bw_log=each --write_iops_log=each --write_lat_log=each --slat_percentiles=1 --clat_percentiles=1 --lat_percentiles=1
fio $file --iodepth=4 --time_based=1 --runtime=2050ms --eta=never --output-format=json+ --output="$out/coarse.json" --name=job --rw=randread \
	--write_hist_log=coarse --log_hist_msec=500 --log_hist_coarseness=3
mv *.log "$out"
rm -f "$out/a.log" "$out/b.log"

# Writes with fdatasync: as etcd recommends it, and with histograms of completion latency alone.
fio --rw=write --ioengine=sync --fdatasync=1 --size=1m --bs=2300 --name=etcd --disk_util=0 --output-format=json --output="$out/fdatasync.json"
fio --rw=randwrite --fdatasync=4 --ioengine=libaio --bs=4k --size=1m --name=every4 --disk_util=0 --output-format=json+ --output="$out/fdatasync-plus.json"
