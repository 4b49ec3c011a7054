package cost

import (
	_ "embed" // the sentences
	"slices"
	"strings"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/finding/measured"
	"plimsoll/internal/finding/prose"
	"plimsoll/internal/result"
)

//go:embed journal.tmpl
var journalText string

// JournalSentences are the sentences on what file systems write beside.
var JournalSentences = prose.NewSheet(journalText, TracedText)

// Journalled is what a file system does for each write of the application.
type Journalled struct {
	Requests fact.Estimate `json:"requests"` // of the journal
	Bytes    fact.Estimate `json:"bytes"`
	Flushes  fact.Estimate `json:"flushes"`
	Owners   []string      `json:"owners,omitempty"` // the threads of the kernel that write the journal
	Flushed  bool          `json:"flushed"`          // so often that it is worth telling
}

// journalled is how many requests of a journal, or flushes, for each write of
// the application are worth telling.
const journalled = 0.01

// Journal tells what file systems write to their journals, and how often they
// have the device write its cache out, for each write of the application.
func Journal(v *measured.View) []fact.Finding {
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
				owners = measured.AppendNew(owners, family(served.Owner))
			}
		}
		requests, bytes, flushes = append(requests, r), append(bytes, b), append(flushes, f)
	}
	facts := Journalled{
		Requests: measured.Estimate(requests), Bytes: measured.Estimate(bytes), Flushes: measured.Estimate(flushes),
		Owners: owners,
	}
	writes := facts.Requests.Median >= journalled
	facts.Flushed = facts.Flushes.Median >= journalled
	f := fact.Finding{
		ID: "journal/" + s.Stack.Name + "/" + s.Workload.Name, Case: "journal", Kind: fact.KindCaveat,
		Workload: s.Workload.Name, Stacks: []string{s.Stack.Name}, Facts: facts,
		Evidence: measured.Points(s.Cell), Caveats: marksOf(s), Remarks: tracedCaveats(s),
	}
	switch {
	case !writes && !facts.Flushed:
		return nil
	case !writes:
		f.Case = "flushes"
	case s.onXFS() && (slices.Contains(owners, kworker) || slices.Contains(owners, notAttributed)):
		f.Remarks = append(f.Remarks, fact.Remark{Case: "caveat: nameless log"})
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
	_, fileSystem, _ := measured.Split(s.Stack.Parsed)
	return fileSystem != nil && fileSystem.Name == measured.NodeXFS
}
