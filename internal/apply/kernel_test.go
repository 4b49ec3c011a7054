package apply

import (
	"fmt"
	"strings"
	"testing"
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
