package placement

import (
	"strings"
	"testing"

	"plimsoll/internal/model"
)

// TestVerdictOfCrowdedHosts: hosts carry containers of which each does at least half of what it does alone.
func TestVerdictOfCrowdedHosts(t *testing.T) {
	plan := func(kept ...float64) *Plan {
		p := &Plan{Used: len(kept), Of: 3, Kept: model.Number(kept[0])}
		for _, k := range kept {
			p.Hosts = append(p.Hosts, Filled{Hosts: []string{"h"}, Stands: []Stands{{Containers: "C", Count: 4, Kept: k}}})
			p.Placed += 4
		}
		return p
	}
	for _, c := range []struct {
		plan *Plan
		want string
	}{
		{plan(0.9, 0.5), "2 of 3 hosts carry 8 containers, which would do"},
		{plan(0.016, 0.9), "2 of 3 hosts cannot carry 8 containers: 4 would do less than 50% of what each does alone, " +
			"1.6% at worst. All would do"},
		{plan(0.3, 0.4, 0.2), "3 hosts cannot carry 12 containers: 12 would do less"},
	} {
		if got := c.plan.Verdict(); !strings.HasPrefix(got, c.want) {
			t.Errorf("%q does not begin with %q", got, c.want)
		}
	}
}
