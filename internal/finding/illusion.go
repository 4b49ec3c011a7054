package finding

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/plural"
	"plimsoll/internal/result"
	"plimsoll/internal/stack/line"
	"plimsoll/internal/units"
	"plimsoll/internal/workload/fio"
)

// illusions names every stack that answered from memory, what its number
// would make one believe, and what to do.
func illusions(v *view) []Finding {
	var out []Finding
	for _, w := range v.workloads {
		r := v.rank(w.Name)
		for _, c := range v.under(w.Name) {
			if c.source() != result.SourceMemory {
				continue
			}
			cause, remedy := cacheOf(c.stack)
			if buffered(w) {
				cause, remedy = "The workload has direct: false, so that the page cache answers what it holds: this is what was asked for.",
					"Hold it against the same load with direct: true."
			}
			f := Finding{
				ID: "illusion/" + c.stack.Name + "/" + w.Name, Kind: KindIllusion, Workload: w.Name, Stacks: []string{c.stack.Name},
				Title:    fmt.Sprintf("%s answers %s from memory: %s", c.stack.Name, w.Name, served(c)),
				Evidence: points(c),
				Caveats:  marksOf(c),
			}
			why := []string{fmt.Sprintf("Its %s IOPS say nothing about the device.", units.Rate(c.point.Median))}
			if honest, role := v.yardstick(r); honest != nil {
				if e, ok := v.compare(c, honest); ok {
					f.Effect = &e
					f.Evidence = points(c, honest)
					f.Caveats = append(f.Caveats, tooFew(e)...)
					why = []string{fmt.Sprintf("Its %s IOPS would make one believe in %s of %s, %s.",
						units.Rate(c.point.Median), shortRatio(e), honest.stack.Name, role)}
				}
			}
			if reason := judged(c); reason != "" {
				why = append(why, "In one trial, "+reason+".")
			}
			f.Why = strings.Join(append(why, cause, remedy), " ")
			out = append(out, f)
		}
	}
	return out
}

// buffered reports whether a workload goes through the page cache because it
// was told to: that memory answers is then no illusion.
func buffered(w result.Workload) bool {
	l, ok := fio.LoadOf(w.Declared)
	return ok && !l.Direct
}

// yardstick is the honest stack that an illusion is held against: the
// baseline, or else the fastest.
func (v *view) yardstick(r ranking) (c *cell, role string) {
	for _, c := range r.honest {
		if c.stack.Name == v.run.Experiment.Baseline {
			return c, "the baseline"
		}
	}
	if len(r.honest) > 0 {
		return r.honest[0], "the fastest honest stack"
	}
	return nil, ""
}

// served tells how many of fio's I/Os the device at the bottom served: in the
// median of the trials, or, where it answered some of them, in the worst one.
func served(c *cell) string {
	var bottoms []string
	lowest := math.Inf(1)
	for _, t := range c.trials {
		if t.Honesty == nil {
			continue
		}
		if r := t.Honesty.Ratio; r != nil && finite(*r) {
			lowest = min(lowest, *r)
		}
		for _, d := range t.Honesty.Served {
			if d.Device.Role == roleBottom {
				bottoms = appendNew(bottoms, d.Device.Name)
			}
		}
	}
	slices.Sort(bottoms)
	n := c.fromMemory()
	switch {
	case len(bottoms) == 0 || c.point.Ratio == nil:
		return "no device holds what it stores"
	case n == len(c.trials):
		return fmt.Sprintf("%s served %s of 100 I/Os", plural.And(bottoms), units.OfHundred(*c.point.Ratio))
	}
	return fmt.Sprintf("%s served %s of 100 I/Os in the worst, and too few in %d of %s", plural.And(bottoms), units.OfHundred(lowest), n, plural.Count(len(c.trials), "trial"))
}

// roleBottom is the role of the device that holds the bytes.
const roleBottom = "bottom"

// roles are the roles of devices, in the order of a chain.
var roles = []string{"top", "under", roleBottom}

// judged gives the honesty check's own words on the trial of which memory
// served most.
func judged(c *cell) string {
	var judgements []*result.Honesty
	for _, t := range c.trials {
		if t.Honesty != nil && t.Honesty.Source == result.SourceMemory {
			judgements = append(judgements, t.Honesty)
		}
	}
	if len(judgements) == 0 {
		return ""
	}
	byDevice := func(h *result.Honesty) float64 {
		if h.Ratio == nil || !finite(*h.Ratio) {
			return math.Inf(1)
		}
		return *h.Ratio
	}
	worst := slices.MinFunc(judgements, func(a, b *result.Honesty) int {
		return cmp.Or(cmp.Compare(byDevice(a), byDevice(b)), cmp.Compare(a.Reason, b.Reason))
	})
	return strings.TrimRight(worst.Reason, ".")
}

// cacheOf tells which part of a stack answers from memory, and what to do
// about it.
func cacheOf(s *stack) (cause, remedy string) {
	source, fileSystem, view := split(s.line)
	if source == nil {
		source = &line.Node{}
	}
	asked, _ := source.Option("direct-io")
	_, cold := source.Option("cold")
	switch {
	case view != nil && view.Name == nodeFuse:
		return "fuse-overlayfs reads and writes through the page cache, O_DIRECT or not.",
			"Use overlay2, or a data volume."
	case view != nil && view.Name == nodeDeviceMapper && fileSystem != nil:
		return "This is loop-lvm: the engine makes its thin pool of loop devices over sparse files, without direct I/O, so that the page cache of the file system below answers, O_DIRECT or not.",
			"Use overlay2, a data volume, or direct-lvm: thin(direct-lvm) on the device itself."
	case source.Name == nodeTmpfs:
		return "A tmpfs has no device: it is memory.",
			"Take it as the bound of what software alone can do, not as storage."
	case source.Name == nodeLoop && asked != "off" && fact(s, "loop direct-io", asked) == "off":
		return "The loop device works with direct-io off although the stack asks for it: the file system below refuses it.",
			"Put the loop file on a file system with direct I/O (the option dir)."
	case source.Name == nodeLoop && asked == "off" && cold:
		return "Its file was not in the page cache when a trial started, but with direct-io=off whatever is written stays there, and whatever was read once.",
			"Set direct-io=on: a cold start makes reads honest for a while, and writes never."
	case source.Name == nodeLoop && asked == "off":
		return "With direct-io=off a loop device keeps its file in the page cache, O_DIRECT or not.",
			"Set direct-io=on, or leave the option out."
	case source.Name == nodeDir:
		return "The directory lies in memory, or on a file system that caches O_DIRECT.",
			"Name a directory on a local disk, and see that the workload has direct: true."
	}
	return "Which cache answered cannot be told from the stack.",
		"See that the workload has direct: true, and make its files larger than the host's memory."
}

// fact gives what was read back from the host, or else what was declared.
func fact(s *stack, name, declared string) string {
	for _, f := range s.Facts {
		if f.Name == name {
			return f.Value
		}
	}
	return declared
}

func appendNew(words []string, word string) []string {
	if slices.Contains(words, word) {
		return words
	}
	return append(words, word)
}
