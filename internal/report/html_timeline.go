package report

import (
	"cmp"
	"fmt"
	"slices"

	"plimsoll/internal/result"
)

// lane is a stack's row in the timeline of trials.
type lane struct {
	Stack string
	Cells []trialMark
}

// trialMark is a trial in its lane.
type trialMark struct {
	At    span
	Class string // shade of the workload, and status
	Title string
}

// shade names the colour of a workload in the timeline. There are four; the
// titles of the cells tell further workloads apart.
func shade(workload int) string { return fmt.Sprintf("shade-%d", workload%4+1) }

// timeline places every trial by the order in which it ran, and gives the
// borders of the random blocks.
func timeline(run *result.Run) (lanes []lane, blocks []percent) {
	if len(run.Trials) == 0 {
		return nil, nil
	}
	trials := slices.SortedStableFunc(slices.Values(run.Trials),
		func(a, b result.Trial) int { return cmp.Compare(a.Seq, b.Seq) })
	last := float64(max(trials[len(trials)-1].Seq, 1))
	index := map[string]int{}
	for _, s := range run.Stacks {
		index[s.Name] = len(lanes)
		lanes = append(lanes, lane{Stack: s.Name})
	}
	heads, block := ran(run), trials[0].Block
	for _, t := range trials {
		t.Stack = placeOf(run, t.Stack, t.Mix)
		place := span{percent(100 * float64(t.Seq-1) / last), percent(100 * float64(t.Seq) / last)}
		if t.Block != block {
			block = t.Block
			blocks = append(blocks, place.From)
		}
		i, known := index[t.Stack]
		if !known {
			i = len(lanes)
			index[t.Stack] = i
			lanes = append(lanes, lane{Stack: t.Stack})
		}
		w := slices.IndexFunc(heads, func(w result.Workload) bool { return w.Name == t.Mix })
		title := fmt.Sprintf("trial %d, round %d: %s, %s, %s", t.Seq, t.Block, t.Stack, t.Mix, t.Status)
		if t.Stop != nil {
			title += fmt.Sprintf(", %s", t.Stop.Reason)
		}
		lanes[i].Cells = append(lanes[i].Cells, trialMark{At: place, Class: shade(max(w, 0)) + " " + string(t.Status),
			Title: title})
	}
	return lanes, blocks
}
