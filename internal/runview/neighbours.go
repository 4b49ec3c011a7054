package runview

import (
	"cmp"
	"maps"
	"slices"

	"plimsoll/internal/fact"
	"plimsoll/internal/fact/threshold"
	"plimsoll/internal/result"
)

const (
	mostNeighbours = 2 // that are named of a disk
	minCPUSeconds  = 1 // of trials, below which the resolution of the clock dominates
)

// Neighbours returns the use of the host by other processes; nil when it is too small to matter.
func (v *View) Neighbours() *fact.Neighbours {
	n := fact.Neighbours{Disks: diskNeighbours(v), CPU: cpuNeighbours(v)}
	for _, c := range v.All() {
		for _, t := range c.Trials {
			if t.Neighbours != nil {
				n.Runs = AddNew(n.Runs, t.Neighbours.Runs...)
			}
		}
	}
	if len(n.Disks) == 0 && n.CPU == nil && len(n.Runs) == 0 {
		return nil
	}
	return &n
}

// Disturbed reports whether other processes used as much of the processors or of a disk during a trial as matters.
func Disturbed(t *result.Trial) bool {
	if t.Neighbours == nil {
		return false
	}
	if cpu := t.Neighbours.CPU; cpu != nil {
		others, _ := cpu.OthersShare()
		if others >= threshold.CPUShareOfOthers {
			return true
		}
	}
	return slices.ContainsFunc(t.Neighbours.Disks, func(d result.DiskShare) bool {
		return diskUse{d.All, d.Others, watchedSeconds(t)}.matters()
	})
}

// Busy reports whether so many I/Os of other processes in so many seconds are enough to matter to a trial that uses
// the disk as well.
func Busy(others result.IOCount, seconds float64) bool {
	return float64(others.IOs()) >= threshold.IOsOfOthers*seconds ||
		float64(others.Bytes()) >= threshold.BytesOfOthers*seconds
}

// diskUse is the sum of a disk's I/O over the trials of a stack.
type diskUse struct {
	total, neighbors result.IOCount
	seconds          float64
}

func (u diskUse) share() float64 {
	ios, bytes := result.DiskShare{All: u.total, Others: u.neighbors}.OthersShare()
	return max(ios, bytes)
}

func (u diskUse) matters() bool {
	return Busy(u.neighbors, u.seconds) && u.share() >= threshold.DiskShareOfOthers
}

// diskNeighbours returns the others' use of each disk on which it matters.
func diskNeighbours(v *View) []fact.DiskNeighbours {
	type met struct {
		facts    fact.DiskNeighbours
		perStack map[string]diskUse
		names    map[string]int
	}
	disks := map[string]*met{}
	for _, c := range v.All() {
		for _, t := range c.Trials {
			if t.Neighbours == nil || t.Honesty() != nil && t.Honesty().Source == result.SourceMemory {
				continue // a disk that did not answer was not disturbed
			}
			for _, s := range t.Neighbours.Disks {
				d := disks[s.Device]
				if d == nil {
					d = &met{fact.DiskNeighbours{Device: s.Device, Least: 1}, map[string]diskUse{}, map[string]int{}}
					disks[s.Device] = d
				}
				u := d.perStack[c.Stack.Name]
				u.total, u.neighbors = u.total.Add(s.All), u.neighbors.Add(s.Others)
				u.seconds += watchedSeconds(t)
				d.perStack[c.Stack.Name] = u
				d.facts.AtLeast = d.facts.AtLeast || s.How == result.ByCounters
				for _, name := range s.Names {
					d.names[name]++
				}
			}
		}
	}
	var out []fact.DiskNeighbours
	for _, d := range disks {
		facts := d.facts
		for _, s := range v.Stacks {
			u, ok := d.perStack[s.Name]
			if !ok {
				continue
			}
			facts.Least = min(facts.Least, u.share())
			if u.matters() {
				facts.Stacks = append(facts.Stacks, s.Name)
			}
			if u.share() > facts.Most {
				facts.Most, facts.Beside = u.share(), s.Name
			}
		}
		if len(facts.Stacks) == 0 {
			continue
		}
		names := slices.SortedFunc(maps.Keys(d.names), func(a, b string) int {
			return cmp.Or(cmp.Compare(d.names[b], d.names[a]), cmp.Compare(a, b))
		})
		facts.Names = names[:min(len(names), mostNeighbours)]
		out = append(out, facts)
	}
	slices.SortFunc(out, func(a, b fact.DiskNeighbours) int {
		return cmp.Or(cmp.Compare(b.Most, a.Most), cmp.Compare(a.Device, b.Device))
	})
	return out
}

// watchedSeconds returns how long other processes were watched in a trial.
func watchedSeconds(t *result.Trial) float64 {
	if cpu := t.Neighbours.CPU; cpu != nil {
		return cpu.Seconds
	}
	return t.Counts().Seconds
}

func cpuNeighbours(v *View) *fact.CPUNeighbours {
	var othersTime, steal, capacity, seconds float64
	for _, c := range v.All() {
		for _, t := range c.Trials {
			if t.Neighbours == nil || t.Neighbours.CPU == nil {
				continue
			}
			cpu := t.Neighbours.CPU
			othersTime, steal = othersTime+cpu.OthersSeconds, steal+cpu.StealSeconds
			capacity, seconds = capacity+cpu.Capacity(), seconds+cpu.Seconds
		}
	}
	if !(capacity > 0) || seconds < minCPUSeconds {
		return nil
	}
	n := &fact.CPUNeighbours{Others: min(1, othersTime/capacity), Steal: min(1, steal/capacity)}
	n.OthersMatter, n.StealMatters = n.Others >= threshold.CPUShareOfOthers, n.Steal >= threshold.StolenShare
	if !n.OthersMatter && !n.StealMatters {
		return nil
	}
	return n
}
