package experiment

import (
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/stack/line"
)

func stacksOf(t *testing.T, lines ...string) *Experiment {
	t.Helper()
	e := &Experiment{Name: "there", Baseline: "s1"}
	for i, text := range lines {
		e.Stacks = append(e.Stacks, Stack{Name: fmt.Sprintf("s%d", i+1), Line: lineOf(t, text), Text: text})
	}
	return e
}

func lineOf(t *testing.T, text string) line.Line {
	t.Helper()
	l, err := line.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestReach(t *testing.T) {
	const (
		tcp  = "nvmeof(transport=tcp, addr=10.0.0.1, nqn=nqn.a)"
		rdma = "nvmeof(transport=rdma, addr=10.0.0.1, nqn=nqn.b, port=4421)"
	)
	for _, c := range []struct {
		name     string
		stacks   []string
		remotes  []string
		want     []string // what is left; none for an error
		leftOut  int
		says     string // in the error, or in what is left out
		baseline string
	}{
		{
			"each transport has its target, and keeps what the stack says",
			[]string{"serial:L1", "nvmeof(transport=tcp)", "nvmeof(transport=rdma, hostnqn=nqn.me) > xfs > volume"},
			[]string{rdma, tcp},
			[]string{"serial:L1", tcp, "nvmeof(transport=rdma, addr=10.0.0.1, nqn=nqn.b, port=4421, hostnqn=nqn.me) " +
				"> xfs > volume"}, 0, "", "s1",
		},
		{"a remote with a name is left alone", []string{"loop", tcp}, nil, []string{"loop", tcp}, 0, "", "s1"},
		{"what has no target is left out", []string{"nvmeof(transport=rdma)", "nvmeof(transport=tcp)"}, []string{tcp},
			[]string{tcp}, 1, "stack s1: no --remote says where a target is over rdma", ""},
		{"without any target there is nothing to measure", []string{"loop", "nvmeof(transport=tcp)"}, nil, nil, 0,
			"plimsoll target export", "s1"},
		{"a target that nobody waits for is a mistake", []string{"loop", "nvmeof(transport=tcp)"}, []string{tcp, rdma},
			nil, 0, "--remote " + rdma, "s1"},
		{"so is a second one over the same transport", []string{"nvmeof(transport=tcp)"},
			[]string{tcp, strings.Replace(tcp, "nqn.a", "nqn.c", 1)}, nil, 0, "nqn.c", "s1"},
		{
			"members of a stripe are sources too", []string{"nvmeof(transport=tcp) + serial:L1 > raid0"}, []string{tcp},
			[]string{tcp + " + serial:L1 > raid0"}, 0, "", "s1",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var remotes []line.Node
			for _, r := range c.remotes {
				remotes = append(remotes, lineOf(t, r).Nodes[0])
			}
			e := stacksOf(t, c.stacks...)
			leftOut, err := Reach(e, remotes)
			if (err != nil) != (c.want == nil) {
				t.Fatalf("error %v", err)
			}
			if said := fmt.Sprint(err, leftOut); !strings.Contains(said, c.says) {
				t.Errorf("says %q, not %q", said, c.says)
			}
			if err != nil {
				return
			}
			if len(leftOut) != c.leftOut || e.Baseline != c.baseline {
				t.Errorf("leaves out %q, baseline %q", leftOut, e.Baseline)
			}
			for i, want := range c.want {
				if i >= len(e.Stacks) || e.Stacks[i].Line.String() != want || e.Stacks[i].Text != want {
					t.Errorf("stacks are %+v, want %q at %d", e.Stacks, want, i)
				}
			}
			if len(e.Stacks) != len(c.want) {
				t.Errorf("%d stacks are left, want %d", len(e.Stacks), len(c.want))
			}
		})
	}
}
