package labtest

import (
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/lab"
	"plimsoll/internal/testkit/hosttest"
)

// capture prints the digests that are asked for and agreed on in the first packets of connections over TCP, one
// "icreq BITS" or "icresp BITS" a line: bit 0 is of headers, bit 1 of data (NVMe/TCP Transport Specification 1.0,
// section 3.6.2). The kernel has them in no file.
const capture = `$| = 1;
$SIG{INT} = sub { exit 0 };
socket(my $s, 17, 3, unpack("n", pack("S", 3))) or die "socket: $!";
print "captures\n";
while (defined recv($s, my $p, 65536, 0)) {
	next unless length $p > 34 and unpack("n", substr($p, 12, 2)) == 0x0800 and unpack("C", substr($p, 23, 1)) == 6;
	my $ip = 14 + 4 * (unpack("C", substr($p, 14, 1)) & 15);
	next if length $p < $ip + 20;
	my $tcp = $ip + 4 * (unpack("C", substr($p, $ip + 12, 1)) >> 4);
	next if length $p < $tcp + 128;
	my ($type, $flags, $header, $data, $length) = unpack("CCCCV", substr($p, $tcp, 8));
	next unless $type < 2 and $header == 128 and $length == 128;
	printf "%s %d\n", $type ? "icresp" : "icreq", unpack("C", substr($p, $tcp + 11, 1)) & 3;
}
`

// ofNVMeTCP shows what the initiator's kernel has of a connection: the queues and their entries, the bytes of data in a
// capsule as the controller identifies itself, whether the namespace's path can be polled, and the queues by kind.
const ofNVMeTCP = `set -e
c=$(grep -lx %s /sys/class/nvme/*/subsysnqn | head -n 1 | xargs dirname); name=${c##*/}
echo queues $(cat $c/queue_count) of $(($(cat $c/sqsize) + 1))
ioccsz=$(nvme id-ctrl /dev/$name | awk '$1 == "ioccsz" { print $3 }')
echo capsule $((ioccsz * 16 - 64))
echo polled $(cat /sys/class/nvme/$name/nvme*n*/queue/io_poll)
dmesg | grep "nvme $name: mapped" | tail -n 1 | sed 's/.*mapped //'`

// TestOptionsOfAConnection: what a source says of its connection over TCP is what both kernels have. What the target
// does not grant is refused, and no connection is left.
func TestOptionsOfAConnection(t *testing.T) {
	hosttest.Soak(t)
	const size = 256 << 20
	g := start(t,
		lab.Machine{Name: lab.Server, CPUs: 2, Memory: 1 << 30, Peers: []string{lab.Target}},
		lab.Machine{Name: lab.Target, CPUs: 2, Memory: 1 << 30, Peers: []string{lab.Server},
			Drives: drives(lab.Target, 1<<30, size)})
	f := fabric{g[0], g[1]}
	f.server.do(t, "mkdir -p /etc/nvme && echo "+initiatorNQN+" >/etc/nvme/hostnqn")
	f.target.do(t, overTCP.export()+" --in-capsule-data 8KiB")
	f.target.ends(t, 0, "cat /sys/kernel/config/nvmet/ports/*/param_inline_data_size", "8192")
	exported := f.look(t)
	f.server.put(t, "capture.pl", capture)
	for i, c := range []struct{ options, has, digests string }{
		{"", "queues 3 of 128\ncapsule 8192\npolled 0\n2/0/0 default/read/poll queues", "0"},
		{"nr-io-queues=1, queue-size=32, hdr-digest=on, in-capsule=8KiB",
			"queues 2 of 32\ncapsule 8192\npolled 0\n1/0/0 default/read/poll queues", "1"},
		{"nr-io-queues=1, nr-poll-queues=1, queue-size=64, data-digest=on",
			"queues 3 of 64\ncapsule 8192\npolled 1\n1/0/1 default/read/poll queues", "2"},
		{"hdr-digest=on, data-digest=on", "queues 3 of 128\ncapsule 8192\npolled 0\n2/0/0 default/read/poll queues", "3"},
	} {
		name := fmt.Sprintf("options-%d", i)
		t.Run(name, func(t *testing.T) {
			source := overTCP.source()
			if c.options != "" {
				source = strings.TrimSuffix(source, ")") + ", " + c.options + ")"
			}
			f.experiment(t, name, source, "10m")
			packets := f.server.serve(t, "capture-"+name, "perl capture.pl")
			packets.says(t, "captures")
			run := f.server.serve(t, name, "plimsoll run "+name+".yaml --quiet --destroy uuid:"+overTCP.uuid)
			f.server.until(t, "the trial writes",
				"cat $(pgrep -f '[j]ob.fio' | sed 's,.*,/proc/&/io,') | grep '^write_bytes: [1-9]'")
			got := strings.TrimSpace(f.server.do(t, fmt.Sprintf(ofNVMeTCP, overTCP.nqn())))
			if got = strings.TrimSuffix(got, "."); got != c.has {
				t.Errorf("%s: the kernel has\n%s\nwant\n%s", c.options, got, c.has)
			}
			run.interrupt(t)
			seen := map[string]int{}
			for line := range strings.Lines(packets.interrupt(t)) {
				seen[strings.TrimSpace(line)]++
			}
			delete(seen, "captures")
			if len(seen) != 2 || seen["icreq "+c.digests] == 0 || seen["icresp "+c.digests] == 0 {
				t.Errorf("%s: packets have digests %v, want %s", c.options, seen, c.digests)
			}
			f.server.do(t, "plimsoll clean")
			f.same(t, exported)
		})
	}
	t.Run("refused", func(t *testing.T) {
		f.experiment(t, "capsule", strings.TrimSuffix(overTCP.source(), ")")+", in-capsule=4KiB)", "200ms")
		f.server.ends(t, 0, "! plimsoll run capsule.yaml --destroy uuid:"+overTCP.uuid+" -o capsule-run && "+
			"cat capsule-run/run.json", "the target takes 8192 bytes of data in a capsule, not 4096")
		f.server.do(t, "plimsoll clean")
		f.same(t, exported)
	})
}
