package finding

import (
	"cmp"
	"maps"
	"slices"

	"plimsoll/internal/result"
)

// Neighbours is what others did while a run was measured, as far as it matters
// to what the run found.
type Neighbours struct {
	Disks []DiskNeighbours `json:"disks,omitempty"` // those that others used most first; only where that matters
	CPU   *CPUNeighbours   `json:"cpu,omitempty"`   // nil where it does not matter
	Runs  []string         `json:"runs,omitempty"`  // ids of other runs of plimsoll that were under way
}

// DiskNeighbours is how others used a disk. Shares are of I/Os or of bytes,
// whichever is more, over the trials of a stack, from 0 to 1.
type DiskNeighbours struct {
	Device  string   `json:"device"`          // kernel name
	Least   float64  `json:"least"`           // of the stack beside which they did the smallest share
	Most    float64  `json:"most"`            // of the stack beside which they did the largest
	Beside  string   `json:"beside"`          // that stack
	Stacks  []string `json:"stacks"`          // beside which they did enough to matter
	AtLeast bool     `json:"at_least"`        // the shares are lower bounds
	Names   []string `json:"names,omitempty"` // who they are, most often met first
}

// CPUNeighbours is how others used the processors: shares of all the time that
// these had while trials ran, from 0 to 1.
type CPUNeighbours struct {
	Others float64 `json:"others"` // processes that are not the run's
	Steal  float64 `json:"steal"`  // taken by the hypervisor
}

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

// neighboursOf tells what others did; nil when nothing of it matters.
func neighboursOf(v *view) *Neighbours {
	n := Neighbours{Disks: v.diskNeighbours(), CPU: v.cpuNeighbours()}
	for _, c := range v.all() {
		for _, t := range c.trials {
			if t.Neighbours != nil {
				n.Runs = appendAllNew(n.Runs, t.Neighbours.Runs)
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
func (v *view) diskNeighbours() []DiskNeighbours {
	type met struct {
		told  DiskNeighbours
		by    map[string]use // stack
		names map[string]int
	}
	disks := map[string]*met{}
	for _, c := range v.all() {
		for _, t := range c.trials {
			if t.Neighbours == nil || t.Honesty != nil && t.Honesty.Source == result.SourceMemory {
				continue // a disk that did not answer was not disturbed
			}
			for _, s := range t.Neighbours.Disks {
				d := disks[s.Device]
				if d == nil {
					d = &met{DiskNeighbours{Device: s.Device, Least: 1}, map[string]use{}, map[string]int{}}
					disks[s.Device] = d
				}
				u := d.by[c.stack.Name]
				u.all, u.others = u.all.Add(s.All), u.others.Add(s.Others)
				u.seconds += c.seconds(t)
				d.by[c.stack.Name] = u
				d.told.AtLeast = d.told.AtLeast || s.How == result.ByCounters
				for _, name := range s.Names {
					d.names[name]++
				}
			}
		}
	}
	var out []DiskNeighbours
	for _, d := range disks {
		told := d.told
		for _, s := range v.stacks {
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
	slices.SortFunc(out, func(a, b DiskNeighbours) int {
		return cmp.Or(cmp.Compare(b.Most, a.Most), cmp.Compare(a.Device, b.Device))
	})
	return out
}

// seconds is how long others were watched in a trial.
func (c *cell) seconds(t *result.Trial) float64 {
	if cpu := t.Neighbours.CPU; cpu != nil {
		return cpu.Seconds
	}
	return t.Measurement.RuntimeSeconds
}

func (v *view) cpuNeighbours() *CPUNeighbours {
	var others, steal, capacity, seconds float64
	for _, c := range v.all() {
		for _, t := range c.trials {
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
	n := &CPUNeighbours{Others: min(1, others/capacity), Steal: min(1, steal/capacity)}
	if n.Others < mattersOnCPU && n.Steal < mattersStolen {
		return nil
	}
	return n
}

// neighbours says once what others did, where it matters.
func neighbours(v *view) []Finding {
	n := neighboursOf(v)
	if n == nil {
		return nil
	}
	f := Finding{ID: "neighbours", Kind: KindNeighbours, Title: n.Sentence(), Why: n.reason(), Neighbours: n}
	for _, d := range n.Disks {
		f.Stacks = appendAllNew(f.Stacks, d.Stacks)
	}
	return []Finding{f}
}
