package apply

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Limits that somebody changed in the kernel are found: an engine sets those of processors again, and a container with
// others of I/O is made anew.
func TestLimitsOfTheKernel(t *testing.T) {
	service := Service{Name: "web", Replicas: 1, Image: "app:1", Limits: Limits{NanoCPUs: 5e8, MemoryBytes: 64 << 20,
		Device: "/dev/sda", WriteRequests: 200}}
	for _, test := range []struct {
		name   string
		change func(*held)
		want   string
	}{
		{"as planned", func(*held) {}, "[]"},
		{"rounded", func(h *held) { h.limits.NanoCPUs++ }, "[]"},
		{"of another host", func(h *held) { *h = held{} }, "[]"},
		{"processors", func(h *held) { h.limits.NanoCPUs = 2e8 }, "[limit]"},
		{"no processors", func(h *held) { h.limits.NanoCPUs = 0 }, "[limit]"},
		{"memory", func(h *held) { h.limits.MemoryBytes = 1 << 63 >> 1 }, "[limit]"},
		{"writes", func(h *held) { h.limits.WriteRequests = 500 }, "[set aside create start remove]"},
		{"no writes", func(h *held) { h.limits.WriteRequests = 0 }, "[set aside create start remove]"},
		{"writes and processors", func(h *held) { h.limits = Limits{} }, "[set aside create start remove]"},
	} {
		h := held{known: true, limits: service.Limits}
		test.change(&h)
		s := &scene{target: &Target{Deployment: Deployment{Project: "shop", Engines: []Engine{{Name: "a"}},
			Services: []Service{service}}, Digest: "0123456789abcdef", counts: [][]int{{1}}}, names: []map[string]bool{{}},
			stands: []standing{{id: "x", name: "shop-web-1", service: "web", number: 1, spec: service.spec(), running: true,
				resources: resources(service.Limits), held: h}}}
		steps, wrong := s.steps()
		var did []string
		for _, step := range steps {
			did = append(did, step.Do)
			if !strings.Contains(step.Why, "the kernel holds") {
				t.Errorf("%s: %s because %s", test.name, step.Do, step.Why)
			}
		}
		if fmt.Sprint(did) != test.want || len(wrong) > 0 {
			t.Errorf("%s: %q, %v, want %s", test.name, did, wrong, test.want)
		}
	}
}

// A process that has ended holds no limits, also while nothing has waited for it, as before its engine hears of it: its
// groups may be gone, or be those of init.
func TestAProcessThatHasEndedHoldsNothing(t *testing.T) {
	e := Engine{Name: "a", Host: "unix:///run/a.sock"}
	const inEach = ":" // of the lines of a process's groups
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	if ended(pid) {
		t.Error("a process that sleeps has ended")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for !ended(pid) { // a zombie, until Wait
		time.Sleep(time.Millisecond)
	}
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil || !strings.Contains(string(groups), inEach) {
		t.Fatalf("the zombie has no groups: %q, %v", groups, err)
	}
	if h, err := e.readHeld(inEach, pid, "/no/such/device"); h.known || err != nil {
		t.Errorf("a zombie holds %+v, %v", h, err)
	}
	_ = cmd.Wait() // it was killed
	if h, err := e.readHeld(inEach, pid, ""); h.known || err != nil || !ended(pid) {
		t.Errorf("what is gone holds %+v, %v", h, err)
	}
}
