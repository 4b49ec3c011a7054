package labtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/host/nvme"
	"plimsoll/internal/lab"
	"plimsoll/internal/testkit/hosttest"
)

// Names of the story: who may connect, and a subsystem for each transport, with
// its namespace.
const (
	initiatorNQN = "nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555"
	targetIP     = "10.77.0.2"
)

// space is a namespace that the target exports.
type space struct {
	transport, serial, port, uuid string
}

var (
	overTCP  = space{"tcp", "TGT1", "4420", "aaaaaaaa-0000-4000-8000-000000000001"}
	overRDMA = space{"rdma", "TGT2", "4421", "bbbbbbbb-0000-4000-8000-000000000002"}
)

func (s space) nqn() string { return "nqn.2014-08.org.nvmexpress:uuid:" + s.uuid }

// export is the command that exports it.
func (s space) export() string {
	return fmt.Sprintf("plimsoll target export serial:%s --destroy %s=signature --transport %s --addr %s --port %s "+
		"--allow-host %s --nqn %s --uuid %s",
		s.serial, s.serial, s.transport, targetIP, s.port, initiatorNQN, s.nqn(), s.uuid)
}

// source is what the initiator's stacks stand on.
func (s space) source() string {
	return fmt.Sprintf("nvmeof(transport=%s, addr=%s, port=%s, nqn=%s, uuid=%s)", s.transport, targetIP, s.port,
		s.nqn(), s.uuid)
}

// fabric is the two machines.
type fabric struct {
	server, target *guest
}

// look gives what exports and connections change on either machine.
func (f fabric) look(t *testing.T) string {
	t.Helper()
	const show = `find /sys/kernel/config/nvmet -mindepth 2 2>/dev/null | grep -v -e attr_ -e /discovery | sort
		ls /sys/class/nvme; ls /sys/module | grep -e nvmet -e nvme_tcp -e nvme_rdma -e nvme_fabrics -e nvme_loop
		grep plimsoll /proc/self/mountinfo; ls -d /run/plimsoll /var/lib/plimsoll/journal /var/lib/plimsoll/journal/* 2>/dev/null; pgrep -ax fio; true`
	return "server:\n" + f.server.do(t, show) + "target:\n" + f.target.do(t, show)
}

// cutOverRDMA is what stays when a link over RDMA was cut: docs/how-to/nvme-over-fabrics.md.
const cutOverRDMA = "+ nvme_fabrics\n+ nvme_rdma"

// same tells what is not as it was, but for what may stay.
func (f fabric) same(t *testing.T, before string, mayStay ...string) {
	t.Helper()
	if diff := differs(before, f.look(t)); diff != "" && !slices.Contains(mayStay, diff) {
		t.Errorf("the machines are not as they were:\n%s", diff)
	}
}

// experiment writes one with a stack, for the initiator.
func (f fabric) experiment(t *testing.T, name, stack, runtime string) {
	t.Helper()
	f.server.put(t, name+".yaml", fmt.Sprintf(`
name: %s
question: Does it work?
repeat: 1
runtime: %s
seed: 1
stacks:
  s: '%s'
workloads:
  V: {fio: {rw: randwrite, bs: 4KiB, iodepth: 4, size: 8MiB}}
`, name, runtime, stack))
}

// TestFabric exports drives of one machine to the other.
func TestFabric(t *testing.T) {
	hosttest.Soak(t)
	const size = 256 << 20
	g := start(t,
		lab.Machine{Name: lab.Server, Memory: 1 << 30, Peers: []string{lab.Target}, Drives: drives(lab.Server, size)},
		lab.Machine{Name: lab.Target, Memory: 1 << 30, Peers: []string{lab.Server}, Drives: drives(lab.Target, 1<<30, size)})
	f := fabric{g[0], g[1]}
	f.server.do(t, "mkdir -p /etc/nvme && echo "+initiatorNQN+" >/etc/nvme/hostnqn")
	before := f.look(t)

	t.Run("refused exports", func(t *testing.T) { f.refusedExports(t); f.same(t, before) })
	t.Run("killed exports", func(t *testing.T) { f.killedExports(t, before) })
	t.Run("secret", func(t *testing.T) { f.secret(t, before) })
	if !t.Run("export", func(t *testing.T) {
		for _, s := range []space{overTCP, overRDMA} {
			f.target.ends(t, 0, s.export(), s.source())
		}
		f.target.ends(t, 0, "plimsoll target list", overTCP.nqn(), "rdma "+targetIP+":4421", initiatorNQN)
		f.target.ends(t, 4,
			"plimsoll target export serial:TGT1 --destroy TGT1 --addr "+targetIP+" --allow-host "+initiatorNQN,
			"NVMe-oF subsystem")
		f.target.ends(t, 0, "plimsoll clean", "left alone")
	}) {
		return
	}
	exported := f.look(t)
	t.Run("recorded", func(t *testing.T) { f.recordsItsRequests(t); f.same(t, exported) })
	for _, s := range []space{overTCP, overRDMA} {
		t.Run(s.transport, func(t *testing.T) {
			t.Run("verified data", func(t *testing.T) { f.verified(t, s); f.same(t, exported) })
			t.Run("traced", func(t *testing.T) { f.traced(t, s); f.same(t, exported) })
			t.Run("run", func(t *testing.T) { f.runs(t, s); f.same(t, exported) })
			if s.transport == "tcp" { // stacks do not know the transport
				t.Run("under stacks", func(t *testing.T) { f.underStacks(t, s); f.same(t, exported) })
			}
			states := []string{"1:made", "2:intent", "2:made", "3:intent", "3:made", "4:intent", "4:made"}
			if s.transport == "rdma" { // what differs from TCP is one step's doing
				states = []string{"3:made"}
			}
			t.Run("killed runs", func(t *testing.T) { f.killedRuns(t, s, exported, states...) })
			t.Run("cut link", func(t *testing.T) {
				f.cut(t, s)
				f.same(t, exported, map[string]string{"rdma": cutOverRDMA}[s.transport])
			})
		})
	}
	t.Run("unexport", func(t *testing.T) {
		f.target.do(t, "plimsoll target unexport "+f.target.device(t, overTCP.serial))
		f.target.ends(t, 0, "plimsoll target list", overRDMA.nqn())
		f.target.do(t, "plimsoll target unexport "+overRDMA.nqn())
		f.same(t, before, cutOverRDMA)
	})
}

func (f fabric) refusedExports(t *testing.T) {
	device := f.target.device(t, overTCP.serial)
	export := "plimsoll target export serial:TGT1 --addr " + targetIP + " --allow-host " + initiatorNQN
	f.target.ends(t, 4, export, "--destroy does not name it")
	f.target.ends(t, 1, "plimsoll target export serial:TGT1 --destroy TGT1 --addr 192.0.2.7 --allow-host "+initiatorNQN,
		"no interface of this host")
	f.target.do(t, "mkfs.ext4 -q "+device)
	f.target.ends(t, 4, export+" --destroy TGT1", "ext4", "=signature")
	f.target.do(t, "mkdir -p m && mount "+device+" m")
	f.target.ends(t, 4, export+" --destroy TGT1=signature", "mounted")
	f.target.do(t, "umount m && wipefs -aq "+device)
}

// verified writes data with checksums over the fabric, through a connection
// that is not plimsoll's, and reads it back. plimsoll lets go of such a one.
func (f fabric) verified(t *testing.T, s space) {
	f.server.do(t, fmt.Sprintf("modprobe nvme_%s && nvme connect -t %s -a %s -s %s -n %s -q %s", s.transport,
		s.transport, targetIP, s.port, s.nqn(), initiatorNQN))
	defer f.server.do(t, "nvme disconnect -n "+s.nqn()+" && modprobe -r nvme_"+s.transport)
	device := "/dev/" + f.head(t, s)
	f.server.do(t, "fio --name=v --filename="+device+" --rw=randwrite --bs=4k --size=4m --direct=1 --ioengine=libaio "+
		"--iodepth=4 --verify=crc32c --do_verify=1 --verify_fatal=1")
	f.experiment(t, "foreign", s.source(), "200ms")
	f.server.ends(t, 5, "plimsoll run foreign.yaml --quiet --destroy uuid:"+s.uuid, "connected to it already")
}

// head returns the name of the namespace's device on the server, once it is there.
func (f fabric) head(t *testing.T, s space) string {
	t.Helper()
	return strings.TrimSpace(f.server.until(t, "the namespace appears", `for b in /sys/class/block/nvme*; do grep -qs `+
		s.uuid+` $b/uuid && [ -b /dev/${b##*/} ] && echo ${b##*/} && exit 0; done; exit 1`))
}

// underStacks measures what containers have of a remote drive: a volume, and the writable layer of two drivers.
func (f fabric) underStacks(t *testing.T, s space) {
	for name, above := range map[string]string{
		"volume": " > ext4 > volume", "btrfs": " > btrfs > btrfs", "pool": " > thin(direct-lvm) > devicemapper",
	} {
		f.experiment(t, name, s.source()+above, "1s")
		f.server.do(t, "plimsoll run "+name+".yaml --quiet --destroy "+s.nqn()+" -o "+name+"-run")
		f.server.ends(t, 0, "cat "+name+"-run/run.json", `"status": "complete"`, s.nqn())
	}
}

func (f fabric) runs(t *testing.T, s space) {
	f.experiment(t, s.transport, s.source()+" > ext4", "1s")
	f.server.ends(t, 4, "plimsoll run "+s.transport+".yaml --quiet", "uuid:"+s.uuid)
	f.server.do(t, "plimsoll run "+s.transport+".yaml --quiet --destroy "+s.nqn()+" -o "+s.transport+"-run")
	f.server.ends(t, 0, "cat "+s.transport+"-run/run.json", `"NVMe-oF transport"`, s.nqn())
}

// killedRuns kills plimsoll at the steps that are a connection's own: 1 makes
// the work directory, 2 loads the module, 3 connects. Behind them come the
// processes of trials, which other tests crash at.
func (f fabric) killedRuns(t *testing.T, s space, exported string, states ...string) {
	f.experiment(t, "killed", s.source(), "200ms")
	for _, at := range states {
		t.Run(at, func(t *testing.T) {
			f.server.ends(t, 137, "PLIMSOLL_CRASH_AT="+at+" plimsoll run killed.yaml --quiet --destroy uuid:"+s.uuid)
			if at == states[len(states)-1] {
				f.server.killedCleans(t, "plimsoll clean", 3)
			}
			f.server.do(t, "plimsoll clean")
			f.same(t, exported)
		})
	}
}

// killedCleans kills one clean after the other, at each step of a journal: when it has
// undone a change and not noted it, then when it has noted it.
func (g *guest) killedCleans(t *testing.T, clean string, steps int) {
	t.Helper()
	for seq := steps; seq > 0; seq-- {
		for _, state := range []string{"undo", "undone"} {
			g.ends(t, 137, fmt.Sprintf("PLIMSOLL_CRASH_AT=%d:%s %s", seq, state, clean))
		}
	}
}

// cuts are what ends a link on the target, and mends it. Under soft-RoCE, an
// interface that goes down leaves Linux 6.1 with a connection that never ends;
// there, packets vanish, as when a cable is pulled behind a switch.
var cuts = map[string][2]string{
	"tcp":  {"ip link set eth0 down", "ip link set eth0 up"},
	"rdma": {"modprobe sch_netem && tc qdisc add dev eth0 root netem loss 100%", "tc qdisc del dev eth0 root"},
}

// cut cuts the link in the middle of a trial, and mends it after it.
func (f fabric) cut(t *testing.T, s space) {
	f.experiment(t, "cut", s.source(), "10m")
	f.experiment(t, "mended", s.source(), "500ms")
	wait := f.server.background(t, "plimsoll run cut.yaml --quiet --destroy uuid:"+s.uuid+" -o cut-"+s.transport)
	// Not any fio: its version is asked for, too.
	f.server.until(t, "the trial writes",
		"cat $(pgrep -f '[j]ob.fio' | sed 's,.*,/proc/&/io,') | grep '^write_bytes: [1-9]'")
	f.endsWhatIsCut(t, s)
	f.target.do(t, cuts[s.transport][0])
	began := time.Now()
	// An attempt to reconnect to an address that is still known waits two
	// minutes for the answer of the kernel's connection manager, and nobody can
	// end it: docs/how-to/nvme-over-fabrics.md. Addresses are forgotten within a minute by chance.
	f.server.do(t, "ip neigh flush to "+targetIP+" dev eth0")
	f.server.until(t, "its I/O ends", "! pgrep -f '[j]ob.fio'")
	took := time.Since(began)
	code, out := wait()
	all := time.Since(began)
	f.target.do(t, cuts[s.transport][1])
	t.Logf("I/O ended %s after the cut, of %s that are promised, and the run after %s, with status %d:\n%s",
		took.Round(100*time.Millisecond), nvme.CutLimit, all.Round(100*time.Millisecond), code, tail(out))
	if code != 5 {
		t.Errorf("the run ended with status %d, and not as one whose trial failed", code)
	}
	f.server.do(t, "grep -q '\"status\": \"failed\"' cut-"+s.transport+
		"/run.json && grep -Eiq 'why.*(input/output|I/O) error' cut-"+s.transport+"/run.json || { cat cut-"+s.transport+
		"/run.json; exit 1; }")
	f.server.do(t, "plimsoll clean")
	f.server.until(t, "the link is up", "ping -c 1 -W 1 target")
	f.server.do(t, "plimsoll run mended.yaml --quiet --destroy uuid:"+s.uuid)
}

// endsWhatIsCut checks that the kernel was told to end I/O on a link that is cut within the
// time that is promised.
func (f fabric) endsWhatIsCut(t *testing.T, s space) {
	t.Helper()
	text := f.server.do(t, "cd $(grep -l "+s.nqn()+" /sys/class/nvme/*/subsysnqn | xargs dirname) && "+
		"cat kato fast_io_fail_tmo")
	var keepAlive, fastFail time.Duration
	if _, err := fmt.Sscan(text, &keepAlive, &fastFail); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if ends := (2*keepAlive + fastFail) * time.Second; keepAlive == 0 || fastFail == 0 || ends > nvme.CutLimit {
		t.Errorf("a link that does not answer for two of %d s, and %d s more, ends I/O: later than the %s that are promised",
			keepAlive, fastFail, nvme.CutLimit)
	}
}

// killedExports kills plimsoll at each step of an export and of its end.
func (f fabric) killedExports(t *testing.T, before string) {
	export := overTCP.export()
	steps := 0
	for seq := 1; steps == 0; seq++ {
		for _, state := range []string{"intent", "made"} {
			at := strconv.Itoa(seq) + ":" + state
			t.Run(at, func(t *testing.T) {
				code, out := f.target.status(t, "PLIMSOLL_CRASH_AT="+at+" "+export)
				switch code {
				case 0:
					steps = seq - 1
					f.target.do(t, "plimsoll target unexport "+overTCP.nqn())
				case 137:
					f.target.do(t, "plimsoll clean")
				default:
					t.Fatalf("status %d: %s", code, out)
				}
				f.same(t, before)
			})
			if t.Failed() {
				return
			}
			if steps > 0 {
				break
			}
		}
	}
	// At least a subsystem, a namespace, a host, its link, a port, its link.
	if steps < 6 {
		t.Errorf("an export has %d steps", steps)
	}
	t.Run("kept", func(t *testing.T) {
		f.target.ends(t, 137, "PLIMSOLL_CRASH_AT=0:kept "+export)
		f.target.do(t, "plimsoll clean --exports")
		f.same(t, before)
	})
	t.Run("released", func(t *testing.T) {
		f.target.do(t, export)
		f.target.ends(t, 137, "PLIMSOLL_CRASH_AT=0:released plimsoll target unexport "+overTCP.nqn())
		f.target.killedCleans(t, "plimsoll clean", steps)
		f.target.do(t, "plimsoll clean")
		f.same(t, before)
	})
}

// secret has the initiator prove with DH-HMAC-CHAP who it is.
func (f fabric) secret(t *testing.T, before string) {
	f.target.do(t, "nvme gen-dhchap-key -m 1 -n "+initiatorNQN+" >secret 2>/dev/null && chmod 644 secret")
	f.target.ends(t, 2, overTCP.export()+" --secret-file secret", "chmod 600")
	f.target.do(t, "chmod 600 secret")
	code, out := f.target.status(t, overTCP.export()+" --secret-file secret")
	if code == 3 && strings.Contains(out, "DH-HMAC-CHAP") {
		f.same(t, before)
		t.Skip("SKIPPED: " + strings.TrimSpace(out))
	}
	if code != 0 {
		t.Fatalf("status %d: %s", code, out)
	}
	key := strings.TrimSpace(f.target.do(t, "cat secret"))
	f.target.ends(t, 1, "grep -rq '"+strings.Split(key, ":")[2]+"' /var/lib/plimsoll") // the kernel alone has it
	f.server.put(t, "secret", key+"\n")
	f.server.do(t, "chmod 600 secret")
	f.experiment(t, "secret", strings.TrimSuffix(overTCP.source(), ")")+", secret-file=/work/secret)", "200ms")
	f.experiment(t, "no-secret", overTCP.source(), "200ms")
	f.server.do(t, "plimsoll run secret.yaml --quiet --destroy uuid:"+overTCP.uuid)
	f.server.ends(t, 5, "plimsoll run no-secret.yaml --quiet --destroy uuid:"+overTCP.uuid)
	f.target.do(t, "plimsoll target unexport "+overTCP.nqn())
	f.same(t, before)
}
