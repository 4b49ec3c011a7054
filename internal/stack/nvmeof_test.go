package stack

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/host/nvme"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/testkit/hosttest"
)

const (
	nqn     = "nqn.2014-08.org.nvmexpress:uuid:ee74d12b-f0b0-4d9c-ae3f-2f8407d5d706"
	nsUUID  = "ee74d12b-f0b0-4d9c-ae3f-2f8407d5d706"
	hostNQN = "nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555"
)

// initiator returns an Env of a host whose kernel can connect over TCP.
func initiator(t *testing.T) *Env {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root, which stacks on devices do")
	}
	e := newEnv(t)
	root := t.TempDir()
	e.Host.Roots.Sys, e.Host.Etc = filepath.Join(root, "sys"), filepath.Join(root, "etc")
	if err := os.MkdirAll(filepath.Join(root, "sys/devices/system/cpu"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "sys/devices/system/cpu/online"), []byte("0-1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"sys/module/nvme_fabrics", "sys/module/nvme_tcp", "etc/nvme"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "etc/nvme/hostnqn"), []byte(hostNQN+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestARemoteNamespaceIsWrittenOnlyByItsName(t *testing.T) {
	e := initiator(t)
	l := parse(t, "nvmeof(transport=tcp, addr=10.0.0.1, nqn="+nqn+", uuid="+nsUUID+") > xfs")
	for destroy, allowed := range map[string]bool{
		"":                          false,
		"uuid:" + nsUUID:            true,
		nsUUID:                      true,
		strings.ToUpper(nsUUID):     true,
		"nguid:" + nsUUID:           true,
		nqn:                         true,
		nqn + "=signature":          true,
		"/dev/nvme2n1":              false,
		"uuid:" + nsUUID[:35] + "7": false,
		nqn + "7":                   false,
		"LAB1":                      false,
	} {
		e.Allow = nil
		if destroy != "" {
			p, err := ParsePermission(destroy)
			if err != nil {
				t.Fatal(err)
			}
			e.Allow = append(e.Allow, p)
		}
		err := e.Check(t.Context(), l, 0)
		switch {
		case allowed && err != nil:
			t.Errorf("--destroy %s: %v", destroy, err)
		case !allowed && !isProblem(err, problem.Protected, "", "--destroy uuid:"+nsUUID):
			t.Errorf("--destroy %s: got %v", destroy, err)
		}
	}
}

func TestNVMeOFThatCannotBe(t *testing.T) {
	e := initiator(t)
	e.Allow = []Permission{{Device: nqn}}
	open := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(
		open,
		[]byte("DHHC-1:00:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh+KfiaR:"),
		0o644,
	); err != nil {
		t.Fatal(err)
	}
	for options, why := range map[string]string{
		"transport=tcp, addr=target, nqn=" + nqn:                             "not an IP address",
		"transport=tcp, nqn=" + nqn:                                          "not an IP address",
		"transport=tcp, addr=10.0.0.1, port=0, nqn=" + nqn:                   "not a port",
		"transport=loop, addr=10.0.0.1, nqn=" + nqn:                          "no address",
		`transport=tcp, addr=10.0.0.1, nqn="nqn.x,hostnqn=y"`:                "blank or one of",
		"transport=tcp, addr=10.0.0.1, hostnqn=me, nqn=" + nqn:               "starts with",
		"transport=tcp, addr=10.0.0.1, secret-file=" + open + ", nqn=" + nqn: "chmod 600",
		"transport=rdma, addr=10.0.0.1, nqn=" + nqn:                          "nvme-rdma",
		"transport=tcp, addr=10.0.0.1, nr-io-queues=3, nqn=" + nqn:           "this host has 2 CPUs",
		"transport=tcp, addr=10.0.0.1, nr-poll-queues=3, nqn=" + nqn:         "this host has 2 CPUs",
		"transport=loop, nr-poll-queues=1, nqn=" + nqn:                       "no queues that are polled",
		"transport=loop, data-digest=on, nqn=" + nqn:                         "digests are of NVMe over TCP",
		"transport=rdma, addr=10.0.0.1, hdr-digest=on, nqn=" + nqn:           "digests are of NVMe over TCP",
	} {
		err := e.Check(t.Context(), parse(t, "nvmeof("+options+")"), 0)
		if !isProblem(err, problem.Unsupported, why, "") {
			t.Errorf("%s: got %v", options, err)
		}
		if err != nil && strings.Contains(err.Error(), "AAECAwQ") {
			t.Errorf("the secret is shown: %v", err)
		}
	}
	if err := os.Remove(filepath.Join(e.Host.Etc, "nvme/hostnqn")); err != nil {
		t.Fatal(err)
	}
	l := parse(t, "nvmeof(transport=tcp, addr=10.0.0.1, nqn="+nqn+")")
	if err := e.Check(t.Context(), l, 0); err == nil || !strings.Contains(err.Error(), "no NQN yet") {
		t.Errorf("without a host NQN: %v", err)
	}
	l = parse(t, "nvmeof(transport=tcp, addr=10.0.0.1, hostnqn="+hostNQN+", nqn="+nqn+")")
	if err := e.Check(t.Context(), l, 0); err != nil {
		t.Errorf("with hostnqn=: %v", err)
	}
}

// Values that the kernel would cut without a word, or refuse without a reason, are refused by their option.
func TestNVMeOFOptionsOutOfBounds(t *testing.T) {
	for _, option := range []string{"queue-size=15", "queue-size=1025", "queue-size=-1", "queue-size=1e3", "queue-size=NaN",
		"queue-size=99999999999999999999", "nr-io-queues=0", "nr-io-queues=1.5", "nr-io-queues=-2", "nr-poll-queues=x",
		"data-digest=yes", "hdr-digest=1", "in-capsule=-4KiB", "in-capsule=much", "queue-size=\"64,nqn=x\""} {
		l, err := line.Parse("nvmeof(transport=tcp, addr=10.0.0.1, nqn=" + nqn + ", " + option + ")")
		if err != nil {
			continue
		}
		if problems := Catalog().Check(l); len(problems) != 1 || problems[0].Remedy == "" {
			t.Errorf("%s: %v", option, problems)
		}
	}
	parse(t, "nvmeof(transport=tcp, addr=10.0.0.1, nqn="+nqn+", nr-io-queues=1, nr-poll-queues=0, queue-size=1024, "+
		"hdr-digest=on, data-digest=off, in-capsule=16KiB)")
}

// A remote device that somebody connected is protected alike: its path will be
// another device's.
func TestARemoteDeviceIsNotNamedByItsPath(t *testing.T) {
	root := hosttest.Recorded(t, "../host/hostinfo/testdata/initiator.txtar")
	h := hostinfo.New()
	h.Roots.Proc, h.Roots.Sys, h.Dev, h.Path = filepath.Join(
		root,
		"proc",
	), filepath.Join(
		root,
		"sys",
	), filepath.Join(
		root,
		"dev",
	), []string{
		filepath.Join(root, "bin"),
	}
	for _, c := range []struct {
		device, destroy string
		allowed         bool
	}{
		{"/dev/nvme2n1", "/dev/nvme2n1", false},
		{"uuid:" + nsUUID, "/dev/nvme2n1", false},
		{"/dev/nvme2n1", "uuid:" + nsUUID, true},
		{"nguid:" + nsUUID, "uuid:" + nsUUID, true},
		{"/dev/nvme0n1", "/dev/nvme0n1", true}, // this host's own
		{"/dev/nvme0n1", "uuid:" + nsUUID, false},
	} {
		e := &Env{Host: h, Allow: []Permission{{Device: c.destroy}}}
		_, err := e.Overwritable(c.device, 0)
		if c.allowed != (err == nil) {
			t.Errorf("%s with --destroy %s: %v", c.device, c.destroy, err)
		}
		if err != nil && strings.Contains(c.device, "2n1") && !strings.Contains(err.Error(), "--destroy uuid:"+nsUUID) {
			t.Errorf("%s: it is not shown how to name it: %v", c.device, err)
		}
	}
}

// Stacks that reach one subsystem in different ways stand on one device.
func TestASubsystemIsOccupiedWhateverTheTransport(t *testing.T) {
	e := &Env{}
	tcp := parse(t, "nvmeof(transport=tcp, addr=10.0.0.1, nqn="+nqn+") > xfs")
	rdma := parse(t, "nvmeof(transport=rdma, addr=10.0.1.1, nqn="+nqn+", uuid="+nsUUID+")")
	other := parse(t, "nvmeof(transport=tcp, addr=10.0.0.1, nqn="+nqn+"7)")
	if e.Occupies(tcp)[0] == "" || !slices.Equal(e.Occupies(tcp), e.Occupies(rdma)) ||
		slices.Equal(e.Occupies(tcp), e.Occupies(other)) {
		t.Errorf("occupied are %q, %q, %q", e.Occupies(tcp), e.Occupies(rdma), e.Occupies(other))
	}
	if marks := Marks(tcp); len(marks) != 1 || marks[0] != result.MarkRemote {
		t.Errorf("marked %v", marks)
	}
	if !WritesDevice(tcp) || WritesDevice(parse(t, "loop")) || !WritesDevice(parse(t, "uuid:"+nsUUID)) ||
		!WritesDevice(parse(t, "/dev/nvme0n1 > xfs")) {
		t.Error("which stacks overwrite a device is not shown")
	}
}

func TestCutLimitIsOfOurTimeouts(t *testing.T) {
	if nvme.CutLimit.Seconds() != 20 {
		t.Errorf("docs/how-to/nvme-over-fabrics.md says that a cut ends I/O within 20 s, and it is %s", nvme.CutLimit)
	}
}
