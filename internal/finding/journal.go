package finding

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/plural"
	"plimsoll/internal/result"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
)

// journalled is how many requests of a journal, or flushes, for each write of
// the application are worth telling.
const journalled = 0.01

// journal tells what file systems write to their journals, and how often they
// have the device write its cache out, for each write of the application.
func journal(v *view) []Finding {
	var out []Finding
	writes := directions[1]
	for _, c := range v.all() {
		if s := c.span(writes); s != nil && c.source() != result.SourceMemory {
			if f := s.journal(); f != nil {
				out = append(out, *f)
			}
		}
	}
	return out
}

func (s *span) journal() *Finding {
	var requests, bytes, flushes []float64
	var owners []string
	for _, t := range s.trials {
		upper, writes := t.uppermost("write")
		var r, b, f float64
		for _, served := range upper {
			switch {
			case served.Op == "flush":
				f += float64(served.Requests) / writes
			case served.Op == "write" && !served.Application && s.ofJournal(served.Owner):
				r, b = r+float64(served.Requests)/writes, b+float64(served.Bytes)/writes
				owners = appendNew(owners, family(served.Owner))
			}
		}
		requests, bytes, flushes = append(requests, r), append(bytes, b), append(flushes, f)
	}
	if stats.Median(requests) < journalled && stats.Median(flushes) < journalled {
		return nil
	}
	each := newEstimate(requests, units.Times)
	inBytes := newEstimate(bytes, func(x float64) string { return fmt.Sprintf("%.0f", x) })
	flushed := newEstimate(flushes, units.Times)
	title := fmt.Sprintf("the journal writes %s times and %.0f bytes", units.Times(each.median), inBytes.median)
	why := fmt.Sprintf("For each write of the application: %s requests and %s bytes of the journal (%s), and %s flushes.", each, inBytes, plural.And(owners), flushed)
	switch {
	case each.median < journalled:
		title = fmt.Sprintf("the device is told to flush %s times", units.Times(flushed.median))
		why = fmt.Sprintf("For each write of the application: %s flushes; no thread of a journal wrote as often.", flushed)
	case flushed.median >= journalled:
		title += fmt.Sprintf(" and flushes %s times", units.Times(flushed.median))
	}
	if each.median >= journalled {
		why += " Threads of the kernel write it, so that no application is charged, and an application that calls fsync waits for it."
	}
	caveats := tracedCaveats(s)
	if each.median >= journalled && s.onXFS() && (slices.Contains(owners, kworker) || slices.Contains(owners, notAttributed)) {
		caveats = append(caveats, "the log of xfs is written by kworkers, which nothing tells from others: all that they wrote is taken for it")
	}
	return &Finding{
		ID: "journal/" + s.stack.Name + "/" + s.workload.Name, Kind: KindCaveat, Workload: s.workload.Name, Stacks: []string{s.stack.Name},
		Title:    fmt.Sprintf("%s: for each write of %s, %s", s.stack.Name, s.workload.Name, title),
		Why:      why + " Medians over the trials, with their intervals.",
		Evidence: points(s.cell), Caveats: caveats,
	}
}

// ofJournal tells whether a thread of the kernel writes a journal: ext4's, or
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
	_, fileSystem, _ := split(s.stack.line)
	return fileSystem != nil && fileSystem.Name == nodeXFS
}
