#!/bin/bash
# nvmeof.sh PLIMSOLL [PART...]: try NVMe over Fabrics for real, in a machine that may be
# destroyed (the lab): export two NVMe drives (serials LAB1, LAB2) over TCP and
# RDMA (soft-RoCE), connect, verify data, run an experiment on each, cut the
# link in the middle of a trial, and kill plimsoll at each of its steps. It
# prints one line per check and ends with status 1 when any has failed. Parts
# are verify run crash cut secret export; all unless some are named.
set -u
P=$1; shift; PARTS=" $* "
wants() { [ "$PARTS" = "  " ] || case $PARTS in *" $1 "*) ;; *) return 1 ;; esac; }
STATE=/run/plimsoll-state
export PLIMSOLL_STATE_DIR=$STATE
W=$(mktemp -d); cd "$W" || exit 1
failed=0
pass() { echo "PASS $*"; }
fail() { echo "FAIL $*"; failed=1; }
check() { local what=$1; shift; if "$@" >out 2>&1; then pass "$what"; else fail "$what: $(tail -n 12 out)"; fi; }
status() { # WANT WHAT COMMAND...
	local want=$1 what=$2; shift 2
	"$@" >out 2>&1; local got=$?
	if [ $got = "$want" ]; then pass "$what"; else fail "$what: status $got, want $want: $(tail -n 12 out)"; fi
}
# The shell's own word on what was killed is no news.
crash() { PLIMSOLL_CRASH_AT=$1 "${@:2}" >out 2>&1; } 2>/dev/null
says() { if grep -q -- "$1" out; then pass "  says: $1"; else fail "  does not say: $1: $(cat out)"; fi; }
look() { # what a target or an initiator changes on a host
	find /sys/kernel/config/nvmet -mindepth 2 2>/dev/null | grep -v -e attr_ -e /discovery | sort
	ls /sys/class/nvme 2>/dev/null
	ls /sys/module | grep -e nvmet -e nvme_tcp -e nvme_rdma -e nvme_fabrics
	grep plimsoll /proc/self/mountinfo
	ls -d $STATE 2>/dev/null
}
same() { look >now; if diff -u "$1" now >d; then pass "$2: the host is as it was"; else fail "$2: the host is not as it was: $(cat d)"; fi; }

for m in nvme rdma_rxe dummy configfs; do modprobe -q $m; done
grep -q configfs /proc/mounts || mount -t configfs configfs /sys/kernel/config
for _ in $(seq 100); do [ -b /dev/nvme1n1 ] && break; sleep 0.1; done
ip link add dummy0 type dummy; ip addr add 10.9.9.1/24 dev dummy0; ip link set dummy0 up; rdma link add rxe0 type rxe netdev dummy0
HOST=nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555
mkdir -p /etc/nvme; echo $HOST >/etc/nvme/hostnqn
UA=$(cat /proc/sys/kernel/random/uuid); UB=$(cat /proc/sys/kernel/random/uuid)
NA=nqn.2014-08.org.nvmexpress:uuid:$UA; NB=nqn.2014-08.org.nvmexpress:uuid:$UB
TCP="transport=tcp, addr=127.0.0.1, nqn=$NA, uuid=$UA"
RDMA="transport=rdma, addr=10.9.9.1, port=4421, nqn=$NB, uuid=$UB"
export_a() { $P target export serial:LAB1 --destroy LAB1=signature --addr 127.0.0.1 --host $HOST --nqn $NA --uuid $UA "$@"; }
export_b() { $P target export serial:LAB2 --destroy LAB2=signature --transport rdma --addr 10.9.9.1 --port 4421 --host $HOST --nqn $NB --uuid $UB "$@"; }
experiment() { # NAME LINE...
	local name=$1; shift
	{ printf 'name: %s\nquestion: Does it work?\nrepeat: 1\nruntime: %s\nseed: 1\nstacks:\n' "$name" "${RUNTIME:-2s}"
	  local i=0; for l in "$@"; do i=$((i+1)); echo "  s$i: '$l'"; done
	  printf 'workloads:\n  V: {fio: {rw: randwrite, bs: 4KiB, iodepth: 4, size: 8MiB}}\n'; } >"$name.yaml"
}

echo "== refusals"; look >before
status 4 "an export without --destroy is refused" $P target export serial:LAB1 --addr 127.0.0.1 --host $HOST; says "you have not said"
mkfs.ext4 -q /dev/nvme0n1; mkdir m; mount /dev/nvme0n1 m
status 4 "a mounted device is not exported" $P target export /dev/nvme0n1 --destroy /dev/nvme0n1=signature --addr 127.0.0.1 --host $HOST; says "mounted"
umount m
status 4 "a signature is not overlooked unasked" $P target export /dev/nvme0n1 --destroy /dev/nvme0n1 --addr 127.0.0.1 --host $HOST; says "ext4"
wipefs -aq /dev/nvme0n1
status 1 "an address that is not this host's" $P target export serial:LAB1 --destroy LAB1 --addr 192.0.2.7 --host $HOST; says "no interface of this host"
same before "refusals"

echo "== export"
check "export over TCP" export_a; cat out
check "export over RDMA" export_b
check "list" $P target list; cat out; says $NA; says "rdma 10.9.9.1:4421"; says "host          $HOST"
status 4 "an exported device is held" $P target export serial:LAB1 --destroy LAB1 --addr 127.0.0.1 --host $HOST; says "NVMe-oF subsystem"
check "clean leaves exports alone" $P clean; says "left alone"
[ -d /sys/kernel/config/nvmet/subsystems/$NA ] && pass "  and it stands" || fail "  it is gone"
look >exported

if wants verify; then
echo "== verify"
for t in tcp rdma; do
	[ $t = tcp ] && a="-a 127.0.0.1 -s 4420 -n $NA" u=$UA || a="-a 10.9.9.1 -s 4421 -n $NB" u=$UB
	modprobe nvme_$t
	nvme connect -t $t $a -q $HOST >/dev/null 2>out || fail "nvme connect $t: $(cat out) $(dmesg | tail -3)"
	for _ in $(seq 50); do b=$(grep -l "$u" /sys/class/block/nvme*/uuid 2>/dev/null | grep -v c[0-9]*n | head -1); [ -n "$b" ] && break; sleep 0.1; done
	d=/dev/$(basename $(dirname $b)); for _ in $(seq 50); do [ -b $d ] && break; sleep 0.1; done
	check "fio verifies over $t ($d)" fio --name=v --filename=$d --rw=randwrite --bs=4k --size=4m --direct=1 --ioengine=libaio --iodepth=4 --verify=crc32c --do_verify=1 --verify_fatal=1
	mkdir -p /share/record
	[ $t = tcp ] && $P doctor >doctor.txt 2>&1 && sed -n '/block devices/,/plimsoll run/p' doctor.txt
	[ $t = tcp ] && [ -d /share/record ] && tar -C / -czf /share/record/sysfs.tgz --ignore-failed-read $(find /sys/class/nvme/*/ /sys/class/nvme-subsystem/*/ /sys/class/block/nvme*/ -maxdepth 2 \( -type f -o -type l \) 2>/dev/null | grep -v -e uevent -e power/ -e trace/ -e rescan -e reset -e delete | sed 's#^/##' | sort -u) $(ls -d /sys/class/nvme/* /sys/class/block/nvme* /sys/class/nvme-subsystem/* | sed 's#^/##') 2>/dev/null
	if [ $t = tcp ]; then
		experiment there "nvmeof($TCP)"
		status 5 "a connection that is there is not taken over" $P run there.yaml -q --destroy uuid:$UA -o there-run; says "connected to it already"
	fi
	nvme disconnect -n $([ $t = tcp ] && echo $NA || echo $NB) >/dev/null
	modprobe -r nvme_$t
done
same exported "verify"
fi

experiment tcp "nvmeof($TCP)"; experiment rdma "nvmeof($RDMA) > ext4"
if wants run; then
echo "== run"
status 4 "a remote namespace needs --destroy" $P run tcp.yaml -q; says "uuid:$UA"
check "run over TCP" $P run tcp.yaml -q --destroy uuid:$UA -o tcp-run; cat out
grep -o '"honesty":{[^}]*}' tcp-run/run.json | head -2; grep -o '"name":"NVMe-oF[^}]*' tcp-run/run.json
check "run over RDMA, named by NQN" $P run rdma.yaml -q --destroy $NB -o rdma-run; tail -20 out
grep -o '"name":"NVMe-oF[^}]*' rdma-run/run.json
same exported "runs"
fi

if wants crash; then
echo "== kill -9 at each step of a run"
# Emulation makes a run slow, so only the steps that are this source's own are
# crashed at when they are undone: 2 loads the module, 3 connects. Behind 8 come
# the processes of trials, which other tests crash at.
n=0; for seq in $(seq 1 8); do for s in intent made undo undone; do
	case $s in undo | undone) [ $seq = 2 ] || [ $seq = 3 ] || continue ;; esac
	crash $seq:$s $P run rdma.yaml --runtime 300ms -q --destroy uuid:$UB; rc=$?
	[ $rc = 137 ] || break 2
	n=$((n+1)); $P clean >out 2>&1 || fail "clean after $seq:$s: $(cat out)"
	look >now; diff -u exported now >d || fail "after a crash at $seq:$s: $(cat d)"
done; done
[ $n -ge 16 ] && pass "$n crashes of a run, cleaned" || fail "only $n crashes: $(cat out)"
fi

if wants cut; then
echo "== the link is cut"
modprobe -q sch_netem
RUNTIME=60s experiment cut "nvmeof($TCP)"; RUNTIME=60s experiment cut-rdma "nvmeof($RDMA)"
FILE=cut.yaml
cut() { # WHAT CUT MEND
	$P run $FILE -q --destroy uuid:$UA --destroy uuid:$UB -o "cut-$RANDOM" >out 2>&1 & local pid=$!
	for _ in $(seq 300); do pgrep -x fio >/dev/null && break; sleep 0.1; done; sleep 3
	local start=$(date +%s.%N); eval "$2"
	wait $pid; local rc=$?; local took=$(echo "$(date +%s.%N) - $start" | bc -l 2>/dev/null || awk "BEGIN{print $(date +%s.%N) - $start}")
	eval "$3"
	if [ $rc = 5 ]; then pass "$1: the trial ended $took s after, status $rc"; else fail "$1: status $rc after $took s"; fi
	awk "BEGIN{exit !($took < 40)}" || fail "$1: it took $took s"
	grep -m3 -i -e error -e fail out
	$P clean >clean.out 2>&1 || fail "clean after: $(cat clean.out)"
	ls /sys/class/nvme
	same exported "$1"
}
cut "packets vanish" "tc qdisc add dev lo root netem loss 100%" "tc qdisc del dev lo root"
cut "the port is closed" "rm /sys/kernel/config/nvmet/ports/*/subsystems/$NA" "ln -s /sys/kernel/config/nvmet/subsystems/$NA \$(dirname \$(grep -l 127.0.0.1 /sys/kernel/config/nvmet/ports/*/addr_traddr))/subsystems/$NA"
FILE=cut-rdma.yaml
cut "the interface under RDMA goes down" "ip link set dummy0 down" "ip link set dummy0 up"
check "the next run goes well" $P run tcp.yaml -q --destroy uuid:$UA -o after-cut
fi

echo "== unexport"
check "unexport by device" $P target unexport /dev/nvme0n1
check "unexport by NQN" $P target unexport $NB
same before "unexport"

if wants secret; then
echo "== DH-HMAC-CHAP"
nvme gen-dhchap-key -m 1 -n $HOST >secret 2>/dev/null; chmod 644 secret
status 2 "a secret that others can read" export_a --secret-file secret; says "chmod 600"; chmod 600 secret
export_a --secret-file secret >out 2>&1; rc=$?
if [ $rc = 0 ]; then
	grep -rq "$(cut -d: -f3 secret)" $STATE out && fail "the secret is in the journal or was printed" || pass "the secret is neither in the journal nor printed"
	experiment secret "nvmeof($TCP, secret-file=$W/secret)"
	check "run with the secret" $P run secret.yaml -q --destroy uuid:$UA -o secret-run
	$P run tcp.yaml -q --destroy uuid:$UA -o no-secret >out 2>&1; [ $? != 0 ] && pass "no connection without it" || fail "connected without the secret"
	grep -m2 -i connect out
	check "unexport" $P target unexport $UA
else
	echo "SKIP DH-HMAC-CHAP: $(tail -n1 out)"
fi
same before "DH-HMAC-CHAP"
fi

if wants export; then
echo "== kill -9 at each step of export and unexport"
n=0
for at in $(for q in $(seq 1 9); do echo $q:intent $q:made; done) 0:kept; do
	crash $at export_a; rc=$?
	[ $rc = 137 ] || { [ $rc = 0 ] && { $P target unexport $NA >/dev/null || fail "unexport"; continue; }; fail "crash at $at: status $rc: $(cat out)"; continue; }
	n=$((n+1)); [ $at = 0:kept ] && opt=--exports || opt=
	$P clean $opt >out 2>&1 || fail "clean after $at: $(cat out)"
	look >now; diff -u before now >d || fail "after a crash at $at: $(cat d)"
done
for at in 0:released $(for q in $(seq 1 9); do echo $q:undo $q:undone; done); do
	export_a >out 2>&1 || { fail "export: $(cat out)"; continue; }
	crash $at $P target unexport $NA; rc=$?
	[ $rc = 0 ] && continue; [ $rc = 137 ] || { fail "crash at $at: status $rc: $(cat out)"; continue; }
	n=$((n+1)); $P clean >out 2>&1 || fail "clean after $at: $(cat out)"
	look >now; diff -u before now >d || fail "after a crash at $at: $(cat d)"
done
[ $n -ge 20 ] && pass "$n crashes of export and unexport, cleaned" || fail "only $n crashes"
check "shared port and host: first" export_a
check "shared port and host: second" $P target export serial:LAB2 --destroy LAB2=signature --addr 127.0.0.1 --host $HOST --nqn $NB --uuid $UB
check "the first goes" $P target unexport $NA
check "the second is whole" nvme discover -t tcp -a 127.0.0.1 -s 4420 -q $HOST; says $NB
check "clean --exports" $P clean --exports
look | grep -v -e ^nvmet -e ^nvme_ >now; grep -v -e ^nvmet -e ^nvme_ before | diff -u - now >d && pass "both gone" || fail "not as it was: $(cat d)"
fi

cat /proc/uptime
[ $failed = 0 ] && echo "ALL PASS" || echo "SOME FAILED"
exit $failed
