package measured

import (
	"cmp"
	"maps"
	"slices"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/result"
)

// What others did matters from these shares on. A disk that is otherwise idle
// has large shares of next to nothing, which do not.
const (
	mattersOnDisk   = 0.05
	mattersOnCPU    = 0.10
	mattersStolen   = 0.03
	mattersIOs      = 20      // per second
	mattersBytes    = 1 << 20 // per second
	mostNeighbours  = 2       // that are named of a disk
	leastCPUSeconds = 1       // of trials, below which ticks of the clock are most of what is counted
)

// Neighbours tells what others did; nil when nothing of it matters.
func (v *View) Neighbours() *fact.Neighbours {
	n := fact.Neighbours{Disks: diskNeighbours(v), CPU: cpuNeighbours(v)}
	for _, c := range v.All() {
		for _, t := range c.Trials {
			if t.Neighbours != nil {
				n.Runs = AppendAllNew(n.Runs, t.Neighbours.Runs)
			}
		}
	}
	if len(n.Disks) == 0 && n.CPU == nil && len(n.Runs) == 0 {
		return nil
	}
	return &n
}

// use is what was counted of a disk over the trials of a stack.
type use struct {
	all, others result.IOCount
	seconds     float64
}

func (u use) share() float64 {
	ios, bytes := result.DiskShare{All: u.all, Others: u.others}.OthersShare()
	return max(ios, bytes)
}

func (u use) matters() bool {
	busy := float64(u.others.IOs()) >= mattersIOs*u.seconds || float64(u.others.Bytes()) >= mattersBytes*u.seconds
	return busy && u.share() >= mattersOnDisk
}

// diskNeighbours tells how others used each disk on which it matters.
func diskNeighbours(v *View) []fact.DiskNeighbours {
	type met struct {
		told  fact.DiskNeighbours
		by    map[string]use // stack
		names map[string]int
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
					d = &met{fact.DiskNeighbours{Device: s.Device, Least: 1}, map[string]use{}, map[string]int{}}
					disks[s.Device] = d
				}
				u := d.by[c.Stack.Name]
				u.all, u.others = u.all.Add(s.All), u.others.Add(s.Others)
				u.seconds += seconds(t)
				d.by[c.Stack.Name] = u
				d.told.AtLeast = d.told.AtLeast || s.How == result.ByCounters
				for _, name := range s.Names {
					d.names[name]++
				}
			}
		}
	}
	var out []fact.DiskNeighbours
	for _, d := range disks {
		told := d.told
		for _, s := range v.Stacks {
			u, ok := d.by[s.Name]
			if !ok {
				continue
			}
			told.Least = min(told.Least, u.share())
			if u.matters() {
				told.Stacks = append(told.Stacks, s.Name)
			}
			if u.share() > told.Most {
				told.Most, told.Beside = u.share(), s.Name
			}
		}
		if len(told.Stacks) == 0 {
			continue
		}
		names := slices.SortedFunc(maps.Keys(d.names), func(a, b string) int {
			return cmp.Or(cmp.Compare(d.names[b], d.names[a]), cmp.Compare(a, b))
		})
		told.Names = names[:min(len(names), mostNeighbours)]
		out = append(out, told)
	}
	slices.SortFunc(out, func(a, b fact.DiskNeighbours) int {
		return cmp.Or(cmp.Compare(b.Most, a.Most), cmp.Compare(a.Device, b.Device))
	})
	return out
}

// seconds is how long others were watched in a trial.
func seconds(t *result.Trial) float64 {
	if cpu := t.Neighbours.CPU; cpu != nil {
		return cpu.Seconds
	}
	return t.Measured().Seconds
}

func cpuNeighbours(v *View) *fact.CPUNeighbours {
	var others, steal, capacity, seconds float64
	for _, c := range v.All() {
		for _, t := range c.Trials {
			if t.Neighbours == nil || t.Neighbours.CPU == nil {
				continue
			}
			cpu := t.Neighbours.CPU
			others, steal = others+cpu.OthersSeconds, steal+cpu.StealSeconds
			capacity, seconds = capacity+cpu.Capacity(), seconds+cpu.Seconds
		}
	}
	if !(capacity > 0) || seconds < leastCPUSeconds {
		return nil
	}
	n := &fact.CPUNeighbours{Others: min(1, others/capacity), Steal: min(1, steal/capacity)}
	n.OthersMatter, n.StealMatters = n.Others >= mattersOnCPU, n.Steal >= mattersStolen
	if !n.OthersMatter && !n.StealMatters {
		return nil
	}
	return n
}
