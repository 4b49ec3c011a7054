package nvmetarget

import (
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/host/configfs"
	"plimsoll/internal/problem"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/testkit/hosttest"
)

func TestInCapsuleDataIsChecked(t *testing.T) {
	for _, test := range []struct{ transport, bytes, wrong string }{
		{"tcp", "", ""}, {"tcp", "0", ""}, {"tcp", "16384", ""}, {"tcp", "1048576", ""}, {"rdma", "16384", ""},
		{"tcp", "1048592", "from 0 to 1048576"}, {"tcp", "17", "multiple of 16"}, {"tcp", "-16", "multiple of 16"},
		{"tcp", "NaN", "multiple of 16"}, {"tcp", "99999999999999999999", "multiple of 16"},
		{"tcp", "4096\n", "multiple of 16"}, {"rdma", "32768", "from 0 to 16384"}, {"loop", "4096", "no capsules"},
	} {
		e := Export{Hosts: []string{aHost}, Port: Port{Transport: test.transport, InCapsule: test.bytes}}
		if test.transport != "loop" {
			e.Port.Addr, e.Port.Service = "10.0.0.1", "4420"
		}
		err := e.validate()
		if (err == nil) != (test.wrong == "") || err != nil && !strings.Contains(err.Error(), test.wrong) {
			t.Errorf("%+v: %v", test, err)
		}
	}
}

// The size is set before a port listens, and one that listens keeps its size.
func TestInCapsuleDataOfAPort(t *testing.T) {
	c := hosttest.NewConfigfs(t)
	state := t.TempDir()
	targets := &Targets{State: state, Configfs: c.Root}
	listen := func(nqn, bytes string) error {
		j, err := journal.Create(state, journalPrefix+nqn[len(nqn)-1:]+bytes)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = j.Close() })
		b := &builder{Targets: targets, ctx: t.Context(), journal: j,
			export: Export{NQN: nqn, Port: Port{Transport: "tcp", Addr: "127.0.0.1", Service: "4420", InCapsule: bytes}}}
		subsystem := targets.subsystem(nqn)
		if err := configfs.Mkdir(subsystem); err != nil {
			t.Fatal(err)
		}
		return b.listen(subsystem, nil)
	}
	if err := listen("nqn.2026-01.test:a", "4096"); err != nil {
		t.Fatal(err)
	}
	port := filepath.Join(c.Root, "nvmet/ports/1")
	if got := configfs.Get(port, inCapsuleAttribute); got != "4096" {
		t.Fatalf("the port takes %q bytes", got)
	}
	if err := listen("nqn.2026-01.test:b", ""); err != nil {
		t.Errorf("an export that does not ask: %v", err)
	}
	refusal := problem.Of(listen("nqn.2026-01.test:c", "8192"), problem.Protected)
	if refusal == nil || !strings.Contains(refusal.Why, "4096 bytes") || !strings.Contains(refusal.Remedy, "--port") {
		t.Errorf("another size at the same port: %v", refusal)
	}
	if got := configfs.Get(port, inCapsuleAttribute); got != "4096" {
		t.Errorf("the port that listens was changed to %q", got)
	}
}
