package command

import (
	"errors"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/database"
)

// counted makes what was seen have a server that does so many operations a second, and twice of that in the last
// interval.
func (o *observed) counted(operations uint64) {
	moment := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	o.counter, o.server = failing{}, serverRates{}
	for _, n := range []uint64{0, 10, 30} {
		o.server.addAt(moment, database.Counts{Operations: n * operations, Timed: n * operations,
			Microseconds: n * operations * 1500}, nil)
		moment = moment.Add(10 * time.Second)
	}
}

// failing is a counter that is not asked.
type failing struct{ database.Counter }

// The demand is in operations of the server where one of the class does as many I/Os; else in those of the class.
func TestProposalOfServer(t *testing.T) {
	kind := kindOf(t, strings.Clone)
	for name, c := range map[string]struct {
		operations uint64
		want, not  string
	}{
		// 600 I/Os a second in the mean, of a class with 2.2 I/Os for each operation.
		"alike":  {180, "operations a second, as the server counts them", "the demand is in those of"},
		"unlike": {10, "the demand is in those of writes", "as the server counts them"},
		"idle":   {0, "I/Os a second, at", "as the server counts them"},
	} {
		o := seenOf(t, runningPod("ReplicaSet", "db-abc", "server"), 100, 300, 4096)
		o.counted(c.operations)
		text, err := o.propose(kind, "")
		if err != nil || !strings.Contains(text, c.want) || strings.Contains(text, c.not) {
			t.Errorf("%s: %v: %s", name, err, text)
		}
	}
}

// A server that goes away, or counts from the start again, leaves intervals out.
func TestServerRates(t *testing.T) {
	moment := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	var r serverRates
	add := func(operations uint64, err error) {
		r.addAt(moment, database.Counts{Operations: operations}, err)
		moment = moment.Add(time.Second)
	}
	add(100, nil)
	add(300, nil)
	add(0, errors.New("connection reset\x1b[2J"))
	add(1000, nil)
	add(5, nil) // it began again
	add(105, nil)
	if r.rate() != 150 || r.highest != 200 || r.gaps != 2 {
		t.Errorf("%+v", r)
	}
	p := proposal{}
	(&serverRates{failed: errors.New("gone\nkind: Pod"), gaps: 1}).comment(&p, 5)
	if text := p.String(); strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, "# ") {
		t.Errorf("an error is not a comment: %q", text)
	}
}
