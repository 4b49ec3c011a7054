package experiment

import (
	"testing"

	"plimsoll/internal/result"
)

// Each instance that is pinned gets processors that no other has, of the scaled-down host's where that has a list.
func TestPin(t *testing.T) {
	for _, c := range []struct {
		pinned       []int
		host, online string
		want         []string
		fails        bool
	}{
		{[]int{1, 0, 2}, "", "0-3", []string{"0", "", "1,2"}, false},
		{[]int{2, 2}, "4-6,9", "0-15", []string{"4,5", "6,9"}, false},
		{[]int{1, 1}, "", "0,7", []string{"0", "7"}, false},
		{[]int{2, 1}, "", "0-1", nil, true},
		{[]int{1, 1}, "3", "0-3", nil, true},
		{[]int{0}, "", "", []string{""}, false},
	} {
		var instances []*Instance
		for _, n := range c.pinned {
			instances = append(instances, &Instance{Limits: result.Limits{Pinned: n}})
		}
		err := Pin(instances, &result.Limits{CPUSet: c.host}, c.online)
		if (err != nil) != c.fails {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		for i, want := range c.want {
			if instances[i].Limits.CPUSet != want || instances[i].Limits.Pinned != 0 {
				t.Errorf("%+v: instance %d is limited to %+v, want processors %s", c, i, instances[i].Limits, want)
			}
		}
	}
}

// A mix whose instances take more processors than there are is left out; the others run.
func TestUnpinned(t *testing.T) {
	e := builtIn(t, "cassandra-policies")
	before := len(e.Mixes)
	leftOut := e.Unpinned("0")
	if len(leftOut) != 1 || len(e.Mixes) != before-1 ||
		leftOut[0] != "mix C-pin-2: its instances take 2 processors of their own, and there are 1" {
		t.Errorf("left out are %q", leftOut)
	}
	if leftOut = e.Unpinned("0"); len(leftOut) != 0 {
		t.Errorf("left out again are %q", leftOut)
	}
}
