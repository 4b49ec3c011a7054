package reattach

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/problem"
)

// world is a target, two hosts, and a file system that must have one writer. Every call can fail.
type world struct {
	t       *testing.T
	allowed []string
	exists  bool
	half    bool
	hosts   map[string]*machine
	onDrive map[int]bool // writes that are there
	acked   int          // writes that the service acknowledged: 1 to acked

	calls, failAt int
	mode          failure
	dead          bool // of the mover: every later call fails
	revoked       bool
}

type failure int

const (
	lostBefore failure = iota // the request does not arrive
	lostAfter                 // it is done, and the answer does not arrive
	killed                    // the mover ends before the call
	killedDone                // the mover ends after it
)

var errLost = errors.New("the link is lost")

// machine is a host of the world.
type machine struct {
	*world
	nqn                         string
	running, mounted, connected bool
	cache                       []int // writes that are not on the drive
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, exists: true, allowed: []string{"old"}, hosts: map[string]*machine{}, onDrive: map[int]bool{}}
	w.hosts["old"] = &machine{world: w, nqn: "old", running: true, mounted: true, connected: true}
	w.hosts["new"] = &machine{world: w, nqn: "new"}
	return w
}

func (w *world) mover() *Mover {
	return &Mover{
		Move: &Move{From: "ssh://a@old", To: "ssh://a@new", Target: Here, FromNQN: "old", ToNQN: "new", Dir: "/data",
			Drive:   Drive{NQN: "nqn.x", UUID: "u", Transport: "tcp"},
			Service: Service{"container", "db"}, Boot: "b"},
		Old: w.hosts["old"],
		New: w.hosts["new"],
		At:  w,
	}
}

// call does one request, or fails as the test wants, and looks whether the world is whole.
func (w *world) call(do func() error) error {
	w.calls++
	if w.dead {
		return errLost
	}
	fails := w.calls == w.failAt
	w.dead = fails && w.mode >= killed
	for _, h := range w.hosts { // services go on meanwhile
		if h.running {
			w.acked++
			h.cache = append(h.cache, w.acked)
		}
	}
	if fails && (w.mode == lostBefore || w.mode == killed) {
		return errLost
	}
	err := do()
	w.check()
	if fails {
		return errLost
	}
	return err
}

func (w *world) check() {
	w.t.Helper()
	a, b := w.hosts["old"], w.hosts["new"]
	if a.mounted && a.connected && b.mounted && b.connected {
		w.t.Fatalf("call %d: two writers", w.calls)
	}
	if a.connected && b.connected {
		w.t.Fatalf("call %d: both are connected", w.calls)
	}
	if len(w.allowed) > 1 {
		w.t.Fatalf("call %d: the target allows %v", w.calls, w.allowed)
	}
}

// lost returns the acknowledged writes that neither the drive nor the host that runs the service has.
func (w *world) lost() (all []int) {
	for n := 1; n <= w.acked; n++ {
		exists := w.onDrive[n]
		for _, h := range w.hosts {
			exists = exists || h.running && slices.Contains(h.cache, n)
		}
		if !exists {
			all = append(all, n)
		}
	}
	return all
}

func (h *machine) Look(context.Context) (s HostState, err error) {
	err = h.call(func() error {
		s = HostState{HostNQN: h.nqn, Running: h.running}
		if h.mounted {
			s.Mounts = []Mount{{Dir: "/data"}}
		}
		if h.connected {
			s.Controllers = []string{"nvme0"}
		}
		return nil
	})
	return s, err
}

func (h *machine) Stop(context.Context) error {
	return h.call(func() error { h.running = false; return nil })
}

func (h *machine) Unmount(context.Context) error {
	return h.call(func() error {
		if h.running {
			return errors.New("busy")
		}
		if h.mounted && h.connected {
			for _, n := range h.cache {
				h.onDrive[n] = true
			}
			h.cache = nil
		}
		h.mounted = false
		return nil
	})
}

func (h *machine) Disconnect(context.Context) error {
	return h.call(func() error {
		if h.mounted {
			return errors.New("busy")
		}
		h.connected = false
		return nil
	})
}

func (h *machine) Connect(context.Context) error {
	return h.call(func() error {
		if !h.exists || h.half || !slices.Contains(h.allowed, h.nqn) {
			return errors.New("not allowed")
		}
		h.connected = true
		return nil
	})
}

func (h *machine) Mount(context.Context) error {
	return h.call(func() error {
		if !h.connected {
			return errors.New("no device")
		}
		h.mounted = true
		return nil
	})
}

func (h *machine) Start(context.Context) error {
	return h.call(func() error {
		if !h.mounted {
			return errors.New("no data")
		}
		h.running = true
		return nil
	})
}

// at is the target's side of the world: it has a Look of its own.
func (w *world) Look(context.Context) (s TargetState, err error) {
	err = w.call(func() error {
		s = TargetState{Boot: "b", Exists: w.exists, Half: w.half, Hosts: slices.Clone(w.allowed)}
		return nil
	})
	return s, err
}

func (w *world) Revoke(context.Context) error {
	return w.call(func() error {
		w.allowed, w.exists, w.half, w.revoked = nil, false, false, true
		for _, h := range w.hosts {
			h.connected = false
		}
		return nil
	})
}

func (w *world) Allow(context.Context) error {
	return w.call(func() error {
		w.allowed, w.exists = []string{"new"}, true
		return nil
	})
}

// runsOnlyOn fails unless a host has the service, the other one nothing, and no acknowledged write is lost.
func (w *world) runsOnlyOn(name string) {
	w.t.Helper()
	for _, h := range w.hosts {
		on := h.nqn == name
		if h.running != on || h.mounted != on || h.connected != on {
			w.t.Errorf("%s: running %t, mounted %t, connected %t", h.nqn, h.running, h.mounted, h.connected)
		}
	}
	if lost := w.lost(); len(lost) > 0 {
		w.t.Errorf("acknowledged writes are lost: %v of %d", lost, w.acked)
	}
}

// A move that is cut short at any call, in any way, and settled, once more cut short at any call, ends on one host.
func TestAMoveThatIsCutShort(t *testing.T) {
	whole := newWorld(t)
	if err := whole.mover().Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	whole.runsOnlyOn("new")
	sides := map[string]int{}
	for first := 1; first <= whole.calls; first++ {
		for mode := lostBefore; mode <= killedDone; mode++ {
			for second := 0; second <= 8; second++ {
				for again := lostBefore; again <= killedDone; again++ {
					t.Run(fmt.Sprintf("%d-%d-%d-%d", first, mode, second, again), func(t *testing.T) {
						w := newWorld(t)
						w.failAt, w.mode = first, mode
						if err := w.mover().Run(t.Context()); err == nil {
							t.Fatal("the fault was not met")
						}
						revoked := w.revoked
						w.dead, w.mode = false, again
						w.failAt = w.calls + second
						_, _ = w.mover().Settle(t.Context())
						w.dead, w.failAt = false, 0
						moved, err := w.mover().Settle(t.Context())
						if err != nil || moved != revoked {
							t.Fatalf("revoked %t, moved %t: %v", revoked, moved, err)
						}
						side := "old"
						if revoked {
							side = "new"
						}
						sides[side]++
						w.runsOnlyOn(side)
					})
				}
			}
		}
	}
	if sides["old"] == 0 || sides["new"] == 0 {
		t.Errorf("not both ways were taken: %v", sides)
	}
}

// A host that is gone had no time to unmount. When it comes back, it is not let in.
func TestTheOldHostStaysOut(t *testing.T) {
	w := newWorld(t)
	m := w.mover()
	m.FromGone = true
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if old := w.hosts["old"]; old.connected || old.Connect(t.Context()) == nil {
		t.Error("the old host is connected")
	}
	if h := w.hosts["new"]; !h.running || !h.mounted || !h.connected {
		t.Errorf("the new host: %+v", h)
	}
}

func TestSettleRefuses(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(w *world, m *Mover)
		why     string
	}{
		{"another host", func(w *world, _ *Mover) { w.allowed = []string{"third"} }, "allows third"},
		{"a booted target", func(w *world, m *Mover) { w.exists, m.Boot = false, "before" }, "it was booted since"},
		{"no answer", func(w *world, _ *Mover) { w.dead = true }, "whether old is revoked is unknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			m := w.mover()
			c.prepare(w, m)
			if _, err := m.Settle(t.Context()); err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("it says %v", err)
			}
		})
	}
}

func TestSettleEndsWhatIsHalfDone(t *testing.T) {
	w := newWorld(t)
	old := w.hosts["old"]
	old.running, old.mounted, old.connected, w.half = false, false, false, true
	if moved, err := w.mover().Settle(t.Context()); err != nil || !moved {
		t.Fatal(moved, err)
	}
	w.runsOnlyOn("new")
}

func TestCheckRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(m *Mover, at *TargetState, old, next *HostState)
		why    string
	}{
		{"fit", func(*Mover, *TargetState, *HostState, *HostState) {}, ""},
		{"gone host", func(m *Mover, _ *TargetState, old, _ *HostState) { m.FromGone, *old = true, HostState{} }, ""},
		{"same NQN", func(m *Mover, _ *TargetState, _, _ *HostState) { m.ToNQN = m.FromNQN }, "both hosts have it"},
		{"any host", func(_ *Mover, at *TargetState, _, _ *HostState) { at.AllowAny = true }, "any host"},
		{"two hosts", func(_ *Mover, at *TargetState, _, _ *HostState) { at.Hosts = []string{"old", "x"} }, "old, x"},
		{"foreign", func(_ *Mover, at *TargetState, _, _ *HostState) { at.Foreign = true }, "did not export it"},
		{"secret", func(_ *Mover, at *TargetState, _, _ *HostState) { at.Secret = true }, "secret"},
		{"rdma", func(m *Mover, _ *TargetState, _, _ *HostState) { m.Drive.Transport = "rdma" }, "over rdma"},
		{"read-only", func(_ *Mover, _ *TargetState, old, _ *HostState) { old.Mounts[0].ReadOnly = true }, "read-only"},
		{"two mounts", func(_ *Mover, _ *TargetState, old, _ *HostState) {
			old.Mounts = append(old.Mounts, Mount{Dir: "/x"})
		}, "[/data /x]"},
		{"holder", func(_ *Mover, _ *TargetState, old, _ *HostState) { old.Holders = []string{"dm-0"} }, "dm-0 holds it"},
		{"stopped", func(_ *Mover, _ *TargetState, old, _ *HostState) { old.Running = false }, "does not run"},
		{"runs there", func(_ *Mover, _ *TargetState, _, next *HostState) { next.Running = true }, "runs there already"},
		{"connected there", func(_ *Mover, _ *TargetState, _, next *HostState) { next.Controllers = []string{"nvme0"} },
			"connected to it already"},
		{"lacks", func(_ *Mover, _ *TargetState, _, next *HostState) { next.Lacks = []string{"no container"} },
			"no container"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newWorld(t).mover()
			target := TargetState{Exists: true, Hosts: []string{"old"}}
			old := HostState{Running: true, Mounts: []Mount{{Dir: "/data"}}}
			var next HostState
			c.change(m, &target, &old, &next)
			err := m.Check(target, old, next)
			if (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
				t.Errorf("it says %v", err)
			}
			if err != nil && !errors.Is(err, problem.Protected) && !errors.Is(err, problem.Unsupported) {
				t.Errorf("%v has no kind", err)
			}
		})
	}
}
