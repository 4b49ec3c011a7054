package cost

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/fact"
	"plimsoll/internal/fact/threshold"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/units"
	"plimsoll/internal/units/plural"
)

// Journalled counts the journal's requests for each write of the application.
type Journalled struct {
	Requests fact.Estimate `json:"requests"` // of the journal
	Bytes    fact.Estimate `json:"bytes"`
	Flushes  fact.Estimate `json:"flushes"`
	Owners   []string      `json:"owners,omitempty"` // the threads of the kernel that write the journal
	Flushed  bool          `json:"flushed"`          // so often that it is worth mention
}

// Journal finds what file systems write to their journals, and how often they
// have the device write its cache out, for each write of the application.
func Journal(v *runview.View) []fact.Finding {
	var out []fact.Finding
	writes := Directions[1]
	for _, c := range v.All() {
		if s := SpanOf(c, writes); s != nil && c.Source() != result.SourceMemory {
			if f := s.journal(); f != nil {
				out = append(out, *f)
			}
		}
	}
	return out
}

func (s *span) journal() *fact.Finding {
	var requests, bytes, flushes []float64
	var owners []string
	for _, t := range s.Trials {
		upper, writes := t.uppermost("write")
		var r, b, f float64
		for _, served := range upper {
			switch {
			case served.Op == "flush":
				f += float64(served.Requests) / writes
			case served.Op == "write" && !served.Application && s.ofJournal(served.Owner):
				r, b = r+float64(served.Requests)/writes, b+float64(served.Bytes)/writes
				owners = runview.AddNew(owners, family(served.Owner))
			}
		}
		requests, bytes, flushes = append(requests, r), append(bytes, b), append(flushes, f)
	}
	facts := Journalled{
		Requests: runview.Estimate(requests), Bytes: runview.Estimate(bytes), Flushes: runview.Estimate(flushes),
		Owners: owners,
	}
	writes := facts.Requests.Median >= threshold.Journal
	facts.Flushed = facts.Flushes.Median >= threshold.Journal
	f := fact.Finding{
		ID: "journal/" + s.Stack.Name + "/" + s.Workload.Name, Case: "journal", Kind: fact.KindCaveat,
		Workload: s.Workload.Name, Stacks: []string{s.Stack.Name}, Facts: facts,
		Evidence: runview.Points(s.Cell), Caveats: marksOf(s),
	}
	remark(&f, tracedCaveats(s))
	f.Title, f.Why = facts.title(f), facts.why()
	switch {
	case !writes && !facts.Flushed:
		return nil
	case !writes:
		f.Case, f.Title, f.Why = "flushes", facts.flushTitle(f), facts.flushWhy()
	case s.onXFS() && (slices.Contains(owners, kworker) || slices.Contains(owners, notAttributed)):
		prose.Remark(&f, "caveat: nameless log", nil,
			"the log of xfs is written by kworkers, which nothing distinguishes from others: all that they wrote is taken for it")
	}
	return &f
}

// ofJournal reports whether a thread of the kernel writes a journal: ext4's, or
// the log of xfs, whose threads may bear the name of a kworker only.
func (s *span) ofJournal(owner string) bool {
	switch name := family(owner); name {
	case "jbd2", "xfs-log", "xfs-cil":
		return true
	case kworker, notAttributed:
		return strings.Contains(owner, "xfs-log") || strings.Contains(owner, "xfs-cil") || s.onXFS()
	}
	return false
}

func (s *span) onXFS() bool {
	_, fileSystem, _ := runview.Split(s.Stack.Parsed)
	return fileSystem != nil && fileSystem.Name == runview.NodeXFS
}

func (j Journalled) title(f fact.Finding) string {
	text := fmt.Sprintf("%s: for each write of %s, the journal writes %s times and %.0f bytes", f.Stacks[0], f.Workload,
		units.Times(j.Requests.Median), j.Bytes.Median)
	if j.Flushed {
		text += fmt.Sprintf(" and flushes %s times", units.Times(j.Flushes.Median))
	}
	return text
}

func (j Journalled) why() string {
	return fmt.Sprintf("For each write of the application: %s requests and %s bytes of the journal (%s), and %s flushes. Threads of "+
		"the kernel write it, so that no application is charged, and an application that calls fsync waits for it. Medians over "+
		"the trials, with their intervals.", prose.Estimate("times", j.Requests), prose.Estimate("whole", j.Bytes),
		plural.And(j.Owners), prose.Estimate("times", j.Flushes))
}

// flushTitle, and flushWhy, are of a file system whose journal is not seen.
func (j Journalled) flushTitle(f fact.Finding) string {
	return fmt.Sprintf("%s: for each write of %s, the device is asked to flush %s times", f.Stacks[0], f.Workload,
		units.Times(j.Flushes.Median))
}

func (j Journalled) flushWhy() string {
	return fmt.Sprintf("For each write of the application: %s flushes; no thread of a journal wrote as often. Medians over the "+
		"trials, with their intervals.", prose.Estimate("times", j.Flushes))
}
