// Package operations answers where the time of operations on files goes, and how long each kind of them takes.
package operations

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/section"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
	"plimsoll/internal/workload/fio"
	"plimsoll/internal/workload/metadata"
	"plimsoll/internal/workload/ycsb"
)

// Facts are the operations on files of a workload, by stack.
type Facts struct {
	Workload string  `json:"workload"`
	Stacks   []Stack `json:"stacks"` // in the order of the experiment

	direct bool // writes wait for the device themselves
}

// Stack has the operations on one stack.
type Stack struct {
	Name       string      `json:"name"`
	Operations []Operation `json:"operations"` // in the order in which a file meets them
	Most       string      `json:"most"`       // the one that most of the time goes to
	// the option by which fsync waits for nothing; "" for none
	LosesOnCrash string `json:"loses_on_crash,omitempty"`
}

// Operation is one kind of operation. Values are medians of setups.
type Operation struct {
	Name  string  `json:"name"`
	Rate  float64 `json:"rate"`  // a second
	Share float64 `json:"share"` // of the time of all operations, 0 to 1
	P50NS float64 `json:"p50_ns"`
	P99NS float64 `json:"p99_ns"`
}

// names are the operations on files and their blocks, in the order in which a file meets them.
var names = slices.Concat([]string{result.Read, result.Write}, ycsb.OfFiles)

// Find says where the time of operations on files goes.
func Find(v *runview.View) (out []fact.Finding) {
	for _, w := range v.Workloads {
		cells := v.Under(w.Name)
		f := Facts{Workload: w.Name, direct: w.Kind == fio.Kind.Name && !runview.Buffered(w)}
		for _, c := range cells {
			f.Stacks = append(f.Stacks, stackOf(c))
		}
		synced := slices.ContainsFunc(f.Stacks, func(s Stack) bool { return s.find(result.Fsync) != nil })
		counted := w.Kind == metadata.Kind.Name || w.Kind == fio.Kind.Name && synced
		if len(cells) == 0 || !counted {
			continue
		}
		out = append(out, fact.Finding{
			ID: "operations/" + w.Name, Case: "by kind", Kind: fact.KindTime, Workload: w.Name, Facts: f, Title: f.title(),
			Why: f.why(), Section: f.section(), Evidence: runview.Points(cells...), Caveats: runview.MarksOf(cells...),
		})
	}
	return out
}

func stackOf(c *runview.Cell) Stack {
	s := Stack{Name: c.Stack.Name, LosesOnCrash: c.Stack.LosesOnCrash()}
	largest := 0.0
	for _, name := range names {
		rate := c.Sample(runview.RateOf(name)).Median()
		if rate == 0 {
			continue
		}
		o := Operation{Name: name, Rate: rate, Share: c.Sample(runview.TimeShareOf(name)).Median(),
			P50NS: c.Sample(runview.PercentileOf(name, 50)).Median(), P99NS: c.Sample(runview.PercentileOf(name, 99)).Median()}
		s.Operations = append(s.Operations, o)
		if o.Share > largest {
			largest, s.Most = o.Share, name
		}
	}
	return s
}

// title names what most of the time goes to: "under synced, most of the time goes to fsync on A and B, and to create on
// C".
func (f Facts) title() string {
	var parts []string
	for _, name := range names {
		var on []string
		for _, s := range f.Stacks {
			if s.Most == name {
				on = append(on, s.Name)
			}
		}
		switch {
		case len(on) == len(f.Stacks):
			parts = append(parts, "to "+name+" on every stack")
		case len(on) > 0:
			parts = append(parts, "to "+name+" on "+plural.And(on))
		}
	}
	return fmt.Sprintf("Under %s, most of the time goes %s", f.Workload, strings.Join(parts, ", and "))
}

// waits says what is waited for.
func (f Facts) waits() string {
	cached := "done in the page cache, which the journal writes back later."
	if slices.ContainsFunc(f.Stacks, func(s Stack) bool { return s.find(ycsb.Fsync) != nil }) {
		text := "Fsync alone waits for the device"
		if f.direct {
			text = "Fsync waits for the device's cache and the journal"
		}
		for _, s := range f.Stacks {
			if s.LosesOnCrash != "" {
				text += fmt.Sprintf(", and on %s, by %s, not until data is safe", s.Name, s.LosesOnCrash)
			}
		}
		if f.direct {
			return text + ". Reads and writes go to the device themselves."
		}
		return text + ". All else is " + cached
	}
	return "All of it is " + cached
}

// why has a line for each stack.
func (f Facts) why() string {
	text := f.waits()
	for _, s := range f.Stacks {
		o := s.find(s.Most)
		if o != nil {
			text += fmt.Sprintf("\nOn %s, %s takes %s of it", s.Name, o.Name, units.Percent(o.Share))
			if o.P50NS > 0 {
				text += ": p50 is " + units.Latency(o.P50NS)
			}
			if o.P99NS > 0 {
				text += ", p99 " + units.Latency(o.P99NS)
			}
			text += "."
		}
	}
	return text
}

// find returns the operation of a name; nil for none.
func (s *Stack) find(name string) *Operation {
	for i := range s.Operations {
		if s.Operations[i].Name == name {
			return &s.Operations[i]
		}
	}
	return nil
}

// section has a row for each operation on each stack.
func (f Facts) section() *section.Section {
	t := section.Table{Caption: "medians over setups", Columns: []section.Column{
		{Head: "stack", Text: true},
		{Head: "operation", Text: true},
		{Head: "a second", Means: "how many were done"},
		{Head: "p50"},
		{Head: "p99"},
		{Head: "time", Means: "the operation's share of the time that all took"},
	}}
	for _, s := range f.Stacks {
		for _, o := range s.Operations {
			t.Rows = append(t.Rows, section.Row{Stack: s.Name, Cells: []section.Cell{
				section.Text(s.Name), section.Text(o.Name), section.Count.Cell(o.Rate), section.Latency.Positive(o.P50NS),
				section.Latency.Positive(o.P99NS), section.Share.Cell(o.Share),
			}})
		}
	}
	return &section.Section{Title: f.Workload + ", by kind of operation",
		Note: f.waits(), Tables: []section.Table{t}}
}
